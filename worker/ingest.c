/* Owns the way of audit records from the node's spool and the store's outbox into the chain.
 * Knows the spool's contract (core/audit/spool.h), but not the meaning of records. */
#include "worker/ingest.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/audit/spool.h"

#define CHUNK (256 * 1024) /* bytes read and committed in one transaction */
#define BATCH_MAX 2048     /* records of one transaction */
/* bytes of one segment in one pass, so that a segment which keeps growing does not delay the
 * others */
#define SHARE (16 * 1024 * 1024)
/* after its minute a segment is not written any more: httpd closes it within seconds */
#define HELD_MS 300000
#define OUTBOX_BATCH 500

typedef struct pass {
    store *audit;
    ida_ctx *c;
    apr_pool_t *pool; /* of the current segment; cleared after each chunk */
    const char *directory, *spool;
    int all;
    ingest_summary *summary;
    int64_t budget;    /* bytes of the current segment that this pass may still read */
    int spoiled;       /* the current segment cannot be read: it stays, the others are read */
    const char *fault; /* of the first such segment; NULL: none */
    const char *first_torn, *first_forged; /* segments; NULL: none. Logged once for each pass, so
                                              that an attacker who fills the spool does not fill
                                              the log */
} pass;

/* Notes a fault of one file, to be logged at the end of the pass. */
static ida_kind spoiled(pass *p, const char *segment, const char *what)
{
    p->spoiled = 1;
    if (!p->fault) {
        p->fault = apr_psprintf(p->c->pool, "%s/%s %s: %s", p->directory, segment, what,
                                strerror(errno));
    }
    return IDA_OK;
}

/* A forged record must not pass for the worker's, or for an administrator's on the machine. */
static audit_record *believed(pass *p, ida_ctx *c, audit_record *record, const char *json,
                              size_t len, int64_t *forged)
{
    if (audit_spool_may_hold(record)) {
        return record;
    }
    ++*forged;
    p->summary->forged++;
    return audit_damaged(c, record->rid, record->tenant, AUDIT_SPOOL_CATEGORY, "httpd", json, len);
}

/* One chunk from `position` on, in one transaction with its new position. *read_to = where it
 * ended; equal to `position`: nothing whole was there. */
static ida_kind take_chunk(pass *p, const char *segment, int fd, int64_t position, int final,
                           int64_t *read_to)
{
    ida_ctx *c = ida_ctx_make(p->c->env, p->pool);
    char *bytes = apr_palloc(p->pool, CHUNK);
    ssize_t got;
    *read_to = position;
    do {
        got = pread(fd, bytes, CHUNK, (off_t)position);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return spoiled(p, segment, "cannot be read");
    }
    if (got == 0) {
        return IDA_OK;
    }
    /* Only a chunk that reaches the end of a sealed segment may call an unended record torn. */
    audit_spool_scan scan = {.bytes = bytes, .len = (size_t)got, .final = final && got < CHUNK};
    audit_record **records = apr_palloc(p->pool, sizeof *records * BATCH_MAX);
    int count = 0;
    int64_t unreadable = 0, forged = 0;
    const char *json;
    size_t len;
    while (count < BATCH_MAX && audit_spool_next(&scan, &json, &len)) {
        audit_record *record = audit_decode(p->pool, json, len);
        if (record) {
            records[count++] = believed(p, c, record, json, len, &forged);
        } else {
            unreadable++;
        }
    }
    if (scan.at == 0) {
        return IDA_OK;
    }
    int64_t torn = scan.torn + unreadable;
    ida_kind kind = store_audit_spool_batch(p->audit, c, p->spool, segment,
                                            position + (int64_t)scan.at, torn, records, count);
    if (kind) {
        return ida_fail(p->c, kind, "%s/%s: %s", p->directory, segment,
                        c->message ? c->message : ida_kind_text(kind));
    }
    p->first_torn = torn && !p->first_torn ? apr_pstrdup(p->c->pool, segment) : p->first_torn;
    p->first_forged = forged && !p->first_forged ? apr_pstrdup(p->c->pool, segment)
                                                 : p->first_forged;
    p->summary->records += count;
    p->summary->torn += torn;
    *read_to = position + (int64_t)scan.at;
    return IDA_OK;
}

/* To the end, or as far as the pass may: budget 0. */
static ida_kind read_on(pass *p, const char *segment, int fd, int64_t *position, int final)
{
    int64_t read_to = *position;
    ida_kind kind;
    do {
        p->budget -= read_to - *position;
        *position = read_to;
        kind = take_chunk(p, segment, fd, *position, final, &read_to);
        apr_pool_clear(p->pool);
    } while (!kind && read_to > *position && p->budget > 0);
    *position = kind ? *position : read_to;
    return kind;
}

static void tell(const pass *p)
{
    const ingest_summary *s = p->summary;
    if (p->first_torn) {
        ida_log(p->c->env, IDA_LOG_WARN, "IDA0600",
                "%lld torn or unreadable audit records were skipped, the first of them in %s/%s",
                (long long)s->torn, p->directory, p->first_torn);
    }
    if (p->first_forged) {
        ida_log(p->c->env, IDA_LOG_ERROR, "IDA0411",
                "%lld audit records in the spool, the first of them in %s/%s, claim to be of the "
                "worker or of an administrator, who write none there: they are kept with outcome "
                "\"damaged\"; find out who writes into the spool",
                (long long)s->forged, p->directory, p->first_forged);
    }
}

/* Where reading continues in the open segment. */
static ida_kind position_of(store *s, ida_ctx *c, const char *spool, const char *segment, int fd,
                            int64_t *position)
{
    struct stat st = {0};
    ida_kind kind = store_audit_spool_position(s, c, spool, segment, position);
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        kind = IDA_OK;
    }
    if (!kind && (fstat(fd, &st) != 0 || *position > st.st_size)) {
        *position = 0; /* another file of the same name (core/audit/spool.h "Segment"); records
                          taken before are known by their rid */
    }
    return kind;
}

/* A sealed segment: its rest, and then it goes. */
static ida_kind remove_segment(pass *p, const char *segment, const char *path, int fd,
                               int64_t position)
{
    ida_kind kind = read_on(p, segment, fd, &position, 1);
    if (kind || p->spoiled || p->budget <= 0) {
        return kind;
    }
    kind = store_audit_spool_forget(p->audit, p->c, p->spool, segment);
    if (!kind && unlink(path) != 0 && errno != ENOENT) {
        return spoiled(p, segment, "cannot be removed");
    }
    p->summary->removed += !kind;
    return kind;
}

static ida_kind take_segment(pass *p, const char *segment)
{
    char *path = apr_pstrcat(p->c->pool, p->directory, "/", segment, NULL);
    int fd = audit_spool_open(path);
    p->spoiled = 0;
    p->budget = p->all ? INT64_MAX : SHARE;
    if (fd < 0 && errno == EINVAL) {
        p->summary->strange = p->summary->strange ? p->summary->strange : path;
        p->summary->strangers++;
        return IDA_OK;
    }
    if (fd < 0) {
        return errno == ENOENT ? IDA_OK : spoiled(p, segment, "cannot be opened");
    }
    int64_t position;
    ida_kind kind = position_of(p->audit, p->c, p->spool, segment, fd, &position);
    if (!kind) {
        kind = read_on(p, segment, fd, &position, 0);
    }
    if (!kind && !p->spoiled && p->budget > 0 &&
        (p->all || audit_spool_is_over(segment, ida_now(p->c->env)))) {
        int sealed = audit_spool_seal(fd);
        if (sealed > 0) {
            kind = remove_segment(p, segment, path, fd, position);
        } else if (sealed < 0) {
            kind = spoiled(p, segment, "cannot be locked");
        }
        p->summary->held += sealed == 0;
        if (sealed == 0 && ida_now(p->c->env) > audit_spool_minute(segment) + HELD_MS) {
            p->summary->stuck = p->summary->stuck ? p->summary->stuck : path;
        }
    }
    close(fd);
    return kind;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ida_kind list_segments(ida_ctx *c, const char *directory, const char ***names, int *count)
{
    DIR *dir = opendir(directory);
    if (!dir) {
        return ida_fail(c, errno == ENOENT ? IDA_NOT_FOUND : IDA_INTERNAL_ERROR, "%s: %s",
                        directory, strerror(errno));
    }
    apr_array_header_t *found = apr_array_make(c->pool, 16, sizeof(const char *));
    const struct dirent *entry;
    // cppcheck-suppress readdirCalled ; no other thread reads this stream
    while ((entry = readdir(dir))) {
        if (audit_spool_minute(entry->d_name) >= 0) {
            *(const char **)apr_array_push(found) = apr_pstrdup(c->pool, entry->d_name);
        }
    }
    closedir(dir);
    qsort(found->elts, (size_t)found->nelts, sizeof(const char *), by_name);
    *names = (const char **)found->elts;
    *count = found->nelts;
    return IDA_OK;
}

/* Two nodes may both have /var/lib/idadmin/spool: the identity of a spool is host and real path. */
static const char *identity(apr_pool_t *pool, const char *directory)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    char *real = realpath(directory, NULL);
    const char *name = apr_pstrcat(pool, host, ":", real ? real : directory, NULL);
    free(real);
    return name;
}

ida_kind ingest_spool(store *audit, ida_ctx *c, const char *directory, int all,
                      ingest_summary *summary)
{
    *summary = (ingest_summary){0};
    struct stat st;
    if (stat(directory, &st) != 0) {
        return ida_fail(c, errno == ENOENT ? IDA_NOT_FOUND : IDA_INTERNAL_ERROR, "%s: %s",
                        directory, strerror(errno));
    }
    int lock = audit_spool_reader_lock(directory);
    if (lock < 0) {
        return errno == EWOULDBLOCK
                   ? ida_fail(c, IDA_CONFLICT,
                              "%s is being read by another process; nothing was done", directory)
                   : ida_fail(c, IDA_INTERNAL_ERROR, "%s/%s: %s", directory,
                              AUDIT_SPOOL_READER_LOCK, strerror(errno));
    }
    pass p = {.audit = audit,
              .c = c,
              .directory = directory,
              .spool = identity(c->pool, directory),
              .all = all,
              .summary = summary};
    apr_pool_create(&p.pool, c->pool);
    const char **names;
    int count = 0;
    ida_kind kind = list_segments(c, directory, &names, &count);
    for (int i = 0; !kind && i < count; i++) {
        kind = take_segment(&p, names[i]);
    }
    tell(&p);
    kind = kind || !p.fault ? kind : ida_fail(c, IDA_INTERNAL_ERROR, "%s", p.fault);
    apr_pool_destroy(p.pool);
    close(lock);
    return kind;
}

ida_kind ingest_backlog(store *audit, ida_ctx *c, const char *directory, ingest_waiting *waiting)
{
    const char **names, *spool = identity(c->pool, directory);
    int count = 0;
    *waiting = (ingest_waiting){0};
    ida_kind kind = list_segments(c, directory, &names, &count);
    for (int i = 0; !kind && i < count; i++) {
        struct stat st = {0};
        int64_t position = 0;
        int fd = audit_spool_open(apr_pstrcat(c->pool, directory, "/", names[i], NULL));
        if (fd < 0) {
            waiting->strangers += errno == EINVAL;
            waiting->unreadable += errno != EINVAL && errno != ENOENT;
            continue;
        }
        kind = position_of(audit, c, spool, names[i], fd, &position);
        if (!kind && fstat(fd, &st) == 0 && st.st_size > position) {
            waiting->oldest = waiting->segments++ ? waiting->oldest : audit_spool_minute(names[i]);
            waiting->bytes += st.st_size - position;
        }
        close(fd);
    }
    return kind;
}

ida_kind ingest_outbox(store *main, store *audit, ida_ctx *c, int batches, store_audit_turns *turns)
{
    apr_pool_t *each;
    ida_kind kind = IDA_OK;
    apr_pool_create(&each, c->pool);
    turns->more = 1;
    for (int i = 0; !kind && turns->more && (!batches || i < batches); i++) {
        int moved;
        ida_ctx *mine = ida_ctx_make(c->env, each);
        kind = store_audit_drain_outbox(main, audit, mine, OUTBOX_BATCH, turns, &moved);
        kind = kind ? ida_fail(c, kind, "%s", mine->message ? mine->message : ida_kind_text(kind))
                    : IDA_OK;
        apr_pool_clear(each);
    }
    apr_pool_destroy(each);
    return kind;
}
