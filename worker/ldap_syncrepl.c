/* Owns RFC 4533 (content synchronisation), refreshOnly: request, sync info, both phases. Must not know what users and groups are
 * made of. */
#include <apr_strings.h>
#include <string.h>

#include "core/text.h"
#include "worker/ldap_escape.h"
#include "worker/ldap_sync.h"

typedef struct refresh {
    ld_run *r;
    const ld_kind *kind;
    apr_pool_t *pool;        /* of the stream */
    struct berval cookie;    /* the latest one, in `pool`; bv_val NULL: none */
    apr_pool_t *cookie_pool; /* cookies may come with every entry: only the last is kept */
    int present_ended;       /* a present phase ended: what was not named is gone */
    int64_t messages, told;  /* all, and those that belong to the synchronisation */
} refresh;

static void keep_cookie(refresh *f, const struct berval *cookie)
{
    apr_pool_clear(f->cookie_pool);
    f->cookie.bv_val = apr_pstrmemdup(f->cookie_pool, cookie->bv_val, cookie->bv_len);
    f->cookie.bv_len = cookie->bv_len;
}

static directory_class broken(ld_call *k)
{
    return ld_fail(k, DIRECTORY_LOCAL, NULL, "%s: a sync message cannot be read", ld_server_url(k->d));
}

static directory_class gone(refresh *f, const char *id)
{
    f->r->changes++;
    return ld_stored(f->r, sync_run_delete(f->r->run, f->r->c, f->kind->name, id));
}

static directory_class still_there(refresh *f, const char *id)
{
    return ld_stored(f->r, sync_run_present(f->r->run, f->r->c, f->kind->name, id));
}

/* Sync state control of an entry: what happened to it, its UUID, perhaps a cookie. 1 when it has one, 0 when it has none, -1 when
 * it is broken. */
static int state_of(LDAP *ld, LDAPMessage *message, refresh *f, ber_int_t *state, const char **id)
{
    LDAPControl **controls = NULL;
    int good = -1;
    if (ldap_get_entry_controls(ld, message, &controls) == LDAP_SUCCESS) {
        LDAPControl *control = ldap_control_find(LDAP_CONTROL_SYNC_STATE, controls, NULL);
        BerElement *ber = control ? ber_init(&control->ldctl_value) : NULL;
        struct berval uuid = {0}, cookie = {0};
        ber_len_t len;
        if (ber && ber_scanf(ber, "{em", state, &uuid) != LBER_ERROR) {
            *id = ld_uuid_text(f->r->item_pool, uuid.bv_val, uuid.bv_len);
            good = *id ? 1 : -1;
            if (good > 0 && ber_peek_tag(ber, &len) == LDAP_TAG_SYNC_COOKIE && ber_scanf(ber, "m", &cookie) != LBER_ERROR) {
                keep_cookie(f, &cookie);
            }
        }
        good = control ? good : 0;
        ber_free(ber, 1);
    }
    ldap_controls_free(controls);
    return good;
}

static directory_class take_entry(ld_call *k, LDAPMessage *message, refresh *f)
{
    ber_int_t state;
    const char *id;
    ld_run *r = f->r;
    int told = state_of(k->d->ld, message, f, &state, &id);
    if (told < 0) {
        return broken(k);
    }
    if (!told) {
        /* slapd's dynlist adds its groups to every search, outside the synchronisation: news of nothing, but a proof that they
         * are there. */
        const ld_entry *extra = ld_entry_read(k->d->ld, message, r->item_pool);
        return extra ? f->kind->item(r, extra) : broken(k);
    }
    f->told++;
    if (state == LDAP_SYNC_DELETE) {
        return gone(f, id);
    }
    if (state == LDAP_SYNC_PRESENT) {
        return still_there(f, id);
    }
    const ld_entry *entry = ld_entry_read(k->d->ld, message, r->item_pool);
    r->changes++;
    r->entries++;
    return entry ? f->kind->item(r, entry) : broken(k);
}

static directory_class take_ids(BerElement *ber, refresh *f, int deletes)
{
    BerVarray ids = NULL;
    directory_class class = DIRECTORY_OK;
    if (ber_scanf(ber, "[W]", &ids) == LBER_ERROR) {
        ber_bvarray_free(ids);
        return broken(f->r->k);
    }
    for (int i = 0; !class && ids && ids[i].bv_val; i++) {
        const char *id = ld_uuid_text(f->r->item_pool, ids[i].bv_val, ids[i].bv_len);
        /* A named UUID may be unknown, or of an entry that lives outside the filter: no-ops for the cache. */
        class = !id ? broken(f->r->k) : deletes ? gone(f, id) : still_there(f, id);
    }
    ber_bvarray_free(ids);
    return class;
}

static directory_class take_info(ld_call *k, LDAPMessage *message, refresh *f)
{
    char *oid = NULL;
    struct berval *data = NULL, cookie = {0};
    directory_class class = DIRECTORY_OK;
    if (ldap_parse_intermediate(k->d->ld, message, &oid, &data, NULL, 0) != LDAP_SUCCESS || !oid
        || strcmp(oid, LDAP_SYNC_INFO) != 0 || !data) {
        ldap_memfree(oid);
        ber_bvfree(data);
        return DIRECTORY_OK; /* another kind of message: not ours to understand */
    }
    f->told++;
    BerElement *ber = ber_init(data);
    ber_len_t len;
    ber_int_t flag = 0;
    ber_tag_t tag = ber ? ber_peek_tag(ber, &len) : LBER_ERROR;
    if (tag == LDAP_TAG_SYNC_NEW_COOKIE) {
        class = ber_scanf(ber, "tm", &tag, &cookie) == LBER_ERROR ? broken(k) : DIRECTORY_OK;
        if (!class) {
            keep_cookie(f, &cookie);
        }
    } else if (tag == LDAP_TAG_SYNC_REFRESH_DELETE || tag == LDAP_TAG_SYNC_REFRESH_PRESENT || tag == LDAP_TAG_SYNC_ID_SET) {
        ber_tag_t choice = tag;
        class = ber_scanf(ber, "t{", &tag) == LBER_ERROR ? broken(k) : DIRECTORY_OK;
        if (!class && ber_peek_tag(ber, &len) == LDAP_TAG_SYNC_COOKIE && ber_scanf(ber, "m", &cookie) != LBER_ERROR) {
            keep_cookie(f, &cookie);
        }
        if (!class && choice == LDAP_TAG_SYNC_ID_SET) {
            if (ber_peek_tag(ber, &len) == LDAP_TAG_REFRESHDELETES && ber_scanf(ber, "b", &flag) == LBER_ERROR) {
                class = broken(k);
            }
            class = class ? class : take_ids(ber, f, flag != 0);
        } else if (!class && choice == LDAP_TAG_SYNC_REFRESH_PRESENT) {
            f->present_ended = 1;
        }
    } else {
        class = broken(k);
    }
    ber_free(ber, 1);
    ldap_memfree(oid);
    ber_bvfree(data);
    return class;
}

static directory_class take(ld_call *k, int type, LDAPMessage *message, void *baton)
{
    refresh *f = baton;
    f->messages++;
    directory_class class = type == LDAP_RES_SEARCH_ENTRY ? take_entry(k, message, f) : take_info(k, message, f);
    apr_pool_clear(f->r->item_pool);
    if (!class && k->alive && f->messages % 200 == 0 && k->alive(k->baton)) {
        class = ld_fail(k, DIRECTORY_LOCAL, NULL, "%s: sync stopped", ld_server_url(k->d));
    }
    return class;
}

static LDAPControl *request_control(const struct berval *cookie)
{
    LDAPControl *control = NULL;
    struct berval value = {0};
    BerElement *ber = ber_alloc_t(LBER_USE_DER);
    if (ber && ber_printf(ber, "{e", LDAP_SYNC_REFRESH_ONLY) != -1 && (!cookie->bv_len || ber_printf(ber, "O", cookie) != -1)
        && ber_printf(ber, "N}") != -1 && ber_flatten2(ber, &value, 0) == 0) {
        ldap_control_create(LDAP_CONTROL_SYNC, 1, &value, 1, &control);
    }
    ber_free(ber, 1);
    return control;
}

/* The done control: *cookie set when it has one. 0 when there is no such control. */
static int done_of(const ld_answer *answer, refresh *f, int *has_cookie, int *deletes)
{
    LDAPControl *control = ldap_control_find(LDAP_CONTROL_SYNC_DONE, answer->controls, NULL);
    BerElement *ber = control ? ber_init(&control->ldctl_value) : NULL;
    struct berval cookie;
    ber_len_t len;
    ber_int_t flag = 0;
    int good = ber && ber_scanf(ber, "{") != LBER_ERROR;
    *has_cookie = *deletes = 0;
    if (good && ber_peek_tag(ber, &len) == LDAP_TAG_SYNC_COOKIE) {
        good = ber_scanf(ber, "m", &cookie) != LBER_ERROR;
        if (good) {
            keep_cookie(f, &cookie);
            *has_cookie = cookie.bv_len > 0;
        }
    }
    if (good && ber_peek_tag(ber, &len) == LDAP_TAG_REFRESHDELETES) {
        good = ber_scanf(ber, "b", &flag) != LBER_ERROR;
        *deletes = flag != 0;
    }
    ber_free(ber, 1);
    return good;
}

/* slapd tells the content as it was when its contextCSN was taken, and leaves out what is newer ("greater than snapshot"):
 * whoever is changed during a whole read, and after a crash whatever is newer than the contextCSN it found on its disk. As
 * changes they come the next time, but where silence means "gone" they must be asked for now. Servers with cookies of another
 * shape are not known to leave anything out. */
static directory_class newer_than_content(refresh *f)
{
    apr_pool_t *pool = f->r->k->pool;
    const char *first = ld_cookie_earliest(pool, &f->cookie);
    int64_t told = 0;
    if (!first) {
        return DIRECTORY_OK;
    }
    if (f->r->whole && f->r->unstamped) {
        const directory *d = f->r->k->d;
        ida_log(d->env, IDA_LOG_WARN, "IDA0403",
                "tenant %s: %s shows our account no entryCSN of %s: whoever changes while all %s are read counts as gone until "
                "the next sync; let the account search and read entryCSN",
                d->tenant->id, ld_server_url(d), f->r->unstamped, f->kind->token);
    }
    const char *filter = apr_pstrcat(pool, "(entryCSN>=", ld_filter_text(pool, first), ")", NULL);
    directory_class class =
        ld_read_items(f->r, f->kind, filter, NULL, apr_pstrcat(pool, "read newest ", f->kind->token, NULL), &told);
    f->r->changes += told;
    f->r->entries += told;
    return class;
}

static directory_class finish(refresh *f, const ld_answer *answer, const char *cookie, const char **next)
{
    ld_run *r = f->r;
    int has_cookie, deletes;
    directory_class class = DIRECTORY_OK;
    if (!done_of(answer, f, &has_cookie, &deletes)) {
        /* Whether silence means "gone" or "unchanged" is not told: neither may be assumed. */
        return ld_fail(r->k, DIRECTORY_CONFIG, NULL, "%s: the server ended a sync without saying how", ld_server_url(r->k->d));
    }
    /* Asked without a cookie the server sends everything, whatever it calls the phase. */
    int present = !cookie || !deletes || f->present_ended;
    /* slapd keeps deletions in memory. One that was killed takes an old checkpoint for the beginning of its empty list, believes
     * that it knows everything since our cookie, and tells of no deletion. */
    if (!present && r->restarted) {
        return ld_fail(r->k, DIRECTORY_TOKEN_LOST, NULL, "%s has been started anew and tells no deletions from before",
                       ld_server_url(r->k->d));
    }
    if (present) {
        class = newer_than_content(f);
        class = class ? class : ld_stored(r, sync_run_complete(r->run, r->c, f->kind->name));
    }
    ida_log(r->k->d->env, IDA_LOG_DEBUG, NULL, "sync of %s: %lld messages, %s phase, %s", f->kind->token, (long long)f->told,
            present ? "present" : "delete", has_cookie ? "new token" : "no token");
    /* "Nothing changed" is said without a cookie: the one we have stays good. Any other end without one leaves us with none. */
    *next = has_cookie ? ida_base64_encode(r->k->pool, (const unsigned char *)f->cookie.bv_val, f->cookie.bv_len)
          : !present && f->told == 0 ? cookie : NULL;
    return class;
}

directory_class ld_syncrepl(ld_run *r, const ld_kind *kind, const char *cookie, const char **next, int *unavailable)
{
    refresh f = {.r = r, .kind = kind};
    ld_call *k = r->k;
    struct berval old = {0};
    ld_answer answer = {0};
    *next = NULL;
    *unavailable = 0;
    r->unstamped = NULL;
    apr_pool_create(&f.pool, k->pool);
    apr_pool_create(&f.cookie_pool, f.pool);
    if (cookie) {
        size_t len = 0;
        old.bv_val = (char *)ida_base64_decode(f.pool, cookie, strlen(cookie), &len);
        old.bv_len = len;
        if (!old.bv_val || len == 0) {
            return ld_fail(k, DIRECTORY_TOKEN_LOST, NULL, "the stored sync token is damaged");
        }
    }
    LDAPControl *control = request_control(&old), *controls[] = {control, NULL};
    if (!control) {
        return ld_fail(k, DIRECTORY_LOCAL, NULL, "no sync control could be made");
    }
    const ld_query query = {.base = kind->base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = kind->filter,
                            .attributes = kind->attributes,
                            .controls = controls,
                            .phase = LD_BASE,
                            .doing = apr_pstrcat(k->pool, "sync ", kind->token, NULL)};
    directory_class class = ld_stream(k, &query, take, &f, &answer);
    ldap_control_free(control);
    if (!class && answer.code == LDAP_SUCCESS) {
        class = finish(&f, &answer, cookie, next);
    } else if (!class) {
        *unavailable = answer.code == LDAP_UNAVAILABLE_CRITICAL_EXTENSION;
        class = ld_fail_code(k, answer.code, LD_BASE, answer.text, query.doing);
    }
    apr_pool_destroy(f.pool);
    return class;
}
