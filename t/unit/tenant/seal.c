/* What makes a tenant document trustworthy: its seal, the newest revision seen, and the files it
 * names. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/beside.h"
#include "core/base/web_user.h"
#include "core/tenant/value.h"
#include "t/unit/tenant_documents.h"

static ida_stored_tenant sealed(const unsigned char *key, const char *canonical, int64_t revision)
{
    ida_stored_tenant out = {.document = canonical, .revision = revision};
    out.seal = ida_seal_make(pool, key, "contoso", &out);
    return out;
}

/* The row with one value changed. */
static int holds(const unsigned char *key, ida_stored_tenant row, const char *document,
                 const char *seal, int64_t revision)
{
    row.document = document ? document : row.document;
    row.seal = seal;
    row.revision = revision;
    return ida_seal_valid(pool, key, "contoso", &row);
}

static void sealing(void)
{
    unsigned char key[IDA_SEAL_KEY_LEN] = {1}, other[IDA_SEAL_KEY_LEN] = {2};
    ida_tenant *t, *changed;
    char *canonical, *ignored;
    apply(fresh(), full, NULL, &t, &canonical);
    is_str(t->id, "contoso", "the company");
    ida_stored_tenant row = sealed(key, canonical, 3);
    is_int((int64_t)strlen(row.seal), 64, "a seal has 64 digits");
    ok(holds(key, row, NULL, row.seal, 3), "it is right");
    ok(!holds(other, row, NULL, row.seal, 3), "not under another key");
    ok(!ida_seal_valid(pool, key, "fabrikam", &row), "nor of another company");
    ok(!holds(key, row, NULL, NULL, 3) && !holds(key, row, NULL, "", 3) &&
           !holds(key, row, NULL, "ab", 3),
       "nor when absent");
    ok(!holds(key, row, NULL, row.seal, 2) && !holds(key, row, NULL, row.seal, 4) &&
           !holds(key, row, NULL, row.seal, 0),
       "nor of another revision");
    char *older = apr_pstrdup(pool, canonical);
    for (char *at = older; (at = strstr(at, "\"userCreate\"")) != NULL;) {
        memcpy(at, "\"userUpdate\"", 12);
    }
    ok(strcmp(older, canonical) != 0 && ida_tenant_load(fresh(), older, &changed) == IDA_OK,
       "stored before a rule came that it breaks: served on");
    ok(apply(fresh(), older, NULL, &changed, &ignored) != IDA_OK, "but not applied again");
    static const char *const breaking[] = {
        "{\"directories\":{\"cloud\":{\"apiUrl\":\"https://evil.example\"}}}",
        "{\"directories\":{\"onPremises\":{\"protectedAccounts\":[]}}}",
        "{\"directories\":{\"onPremises\":null}}",
        "{\"workflows\":[]}",
        "{\"notifications\":[{\"url\":\"https://evil.example\",\"secretFile\":\"/etc/w\","
        "\"events\":[\"task.done\"]}]}",
        "{\"roleTemplates\":[{\"name\":\"Sales\",\"groups\":[\"Domain Admins\"]}]}",
        "{\"accessCatalog\":[{\"service\":\"CRM\",\"group\":\"Domain Admins\",\"approvers\":"
        "[\"eve@corp.example\"]}]}",
        "{\"retention\":{\"auditDays\":1000,\"taskHistoryDays\":1}}",
        "{\"brake\":{\"offboardingsPerHour\":9999}}",
        "{\"upnDomain\":\"evil.example\"}",
        "{\"emailDomain\":\"evil.example\"}",
        "{\"usernameFormat\":\"{surname}\"}",
        "{\"displayNameFormat\":\"{surname}\"}",
        "{\"seatLimit\":7777}",
        "{\"timeZone\":\"Asia/Tokyo\"}",
        "{\"keys\":{\"defaultDays\":3000}}",
        "{\"modules\":{\"publicApi\":true}}",
        "{\"rateLimits\":{\"key\":\"7/7s\"}}",
        "{\"hygiene\":{\"staleAfterDays\":7}}",
        "{\"name\":\"Evil\"}",
    };
    for (size_t i = 0; i < sizeof breaking / sizeof *breaking; i++) {
        char *text;
        ok(apply(fresh(), breaking[i], canonical, &changed, &text) == IDA_OK &&
               strcmp(text, canonical) != 0 && !holds(key, row, text, row.seal, 3),
           "%s breaks it", breaking[i]);
    }
}

static void put_file(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, mode) != 0 ||
        close(fd) != 0) {
        ok(0, "%s is written", path);
    }
}

static ida_seal_state judged(const char *key_file, const char *canonical, const unsigned char *key,
                             int64_t revision, const char **why)
{
    ida_seal_state state = IDA_SEAL_BROKEN;
    ida_ctx *c = fresh();
    const ida_stored_tenant stored = sealed(key, canonical, revision);
    is_int(ida_seal_judge(c, key_file, "contoso", &stored, &state, why), IDA_OK, "judged");
    return state;
}

/* A store in which another process applies a document right after the first read. */
typedef struct shelf {
    ida_stored_tenant row, next;
    const char *note_in; /* key file beside which the next revision is noted; NULL: none */
    int reads;
} shelf;

static ida_kind read_shelf(ida_ctx *c, const char *tenant, ida_stored_tenant *stored, void *baton)
{
    shelf *of = baton;
    *stored = of->reads++ && of->next.document ? of->next : of->row;
    return of->note_in ? ida_seal_note(c, of->note_in, tenant, of->next.revision) : IDA_OK;
}

static ida_kind followed_from(const char *key_file, shelf *from, ida_stored_tenant *row)
{
    ida_ctx *c = fresh();
    ida_kind kind = ida_seal_follow(c, key_file, "contoso", read_shelf, from, row);
    ok(!kind == !c->reason, "a reason is given when there is one");
    return kind;
}

static ida_kind followed(const char *key_file, ida_stored_tenant row)
{
    ida_stored_tenant read;
    return followed_from(key_file, &(shelf){.row = row}, &read);
}

/* The row is read before the file of revisions: a document applied between the two does not
 * count as an old one. */
static void applied_meanwhile(const char *key_file, const unsigned char *key, const char *canonical)
{
    shelf of = {sealed(key, canonical, 7), sealed(key, canonical, 8), key_file, 0};
    ida_stored_tenant row;
    is_int(followed_from(key_file, &of, &row), IDA_OK, "applied between two looks: followed");
    is_int(of.reads, 2, "after a second read");
    is_int(row.revision, 8, "which is the new one");
    of = (shelf){.row = sealed(key, canonical, 7)};
    is_int(followed_from(key_file, &of, &row), IDA_INTERNAL_ERROR, "an old one put back is not");
    is_int(of.reads, 2, "and is read no third time");
    unlink(apr_pstrcat(pool, key_file, ".revisions", NULL));
}

/* A judgement is cached, and no longer valid than its basis. */
static void following(const char *key_file, const unsigned char *key, const char *canonical)
{
    int64_t seen;
    ida_stored_tenant five = sealed(key, canonical, 5), six = sealed(key, canonical, 6),
                      forged = six;
    forged.document = "{\"companyId\":\"contoso\"}";
    for (int i = 0; i < 3; i++) {
        is_int(followed(key_file, five), IDA_OK, "followed");
    }
    is_int(ida_seal_seen(fresh(), key_file, "contoso", &seen), IDA_OK, "read");
    is_int(seen, 5, "and noted");
    is_int(followed(key_file, six), IDA_OK, "a newer one");
    is_int(followed(key_file, six), IDA_OK, "again");
    is_int(followed(key_file, forged), IDA_INTERNAL_ERROR, "not a changed one");
    is_int(followed(key_file, five), IDA_INTERNAL_ERROR, "nor the older one any more");
    is_int(ida_seal_note(fresh(), key_file, "contoso", 7), IDA_OK,
           "another process saw a newer one");
    is_int(followed(key_file, six), IDA_INTERNAL_ERROR, "at once this is an older one");
    unlink(apr_pstrcat(pool, key_file, ".revisions", NULL));
    is_int(followed(key_file, six), IDA_OK, "nothing was seen: a good seal is enough");
    is_int(followed("/nonexistent/key", six), IDA_INTERNAL_ERROR, "nothing without a key");
    unlink(apr_pstrcat(pool, key_file, ".revisions", NULL));
}

/* Statements signed under the key, and by other keys. */
static void statements(const char *key_file)
{
    ida_env with_key = env;
    with_key.seal_key = key_file;
    ida_ctx *c = ida_ctx_make(&with_key, pool);
    const char *proof = ida_seal_statement(c, "event", "evt_1", "{}");
    ok(proof && ida_seal_statement_holds(c, "event", "evt_1", "{}", proof), "a statement holds");
    ok(!ida_seal_statement_holds(c, "event", "evt_2", "{}", proof) &&
           !ida_seal_statement_holds(c, "other", "evt_1", "{}", proof) &&
           !ida_seal_statement_holds(c, "event", "evt_1", "{ }", proof) &&
           !ida_seal_statement_holds(c, "event", "evt_1", "{}", NULL),
       "and nothing else by its proof");
    with_key.seal_key = "/nonexistent/key";
    ok(!ida_seal_statement(c, "event", "evt_1", "{}") &&
           !ida_seal_statement_holds(c, "event", "evt_1", "{}", proof),
       "without the key nothing is said, and nothing believed");
}

/* A process that cannot record what it sees: it keeps it itself, and what it judged before counts
 * no more. */
static void lent(const char *key_file, const unsigned char *key, const char *canonical)
{
    int64_t seen;
    ida_stored_tenant five = sealed(key, canonical, 15), six = sealed(key, canonical, 16);
    put_file(apr_pstrcat(pool, key_file, ".revisions", NULL), "{\"contoso\":15}", 0600);
    env.seal_key_is_lent = 1;
    for (int i = 0; i < 3; i++) {
        is_int(followed(key_file, five), IDA_OK, "followed under a lent key");
    }
    is_int(followed(key_file, six), IDA_OK, "a newer one");
    is_int(followed(key_file, five), IDA_INTERNAL_ERROR, "the older one no more");
    env.seal_key_is_lent = 0;
    ida_beside file = {"file", key_file, ".revisions"};
    const char *text = NULL;
    is_int(ida_beside_read(fresh(), &file, &text), IDA_OK, "the file is read");
    ok(text && strcmp(text, "{\"contoso\":15}") == 0, "and was not written");
    is_int(ida_seal_seen(fresh(), key_file, "contoso", &seen), IDA_OK, "asked");
    is_int(seen, 16, "the newest seen is what it keeps");
    unlink(apr_pstrcat(pool, key_file, ".revisions", NULL));
}

/* Where the writer has a group of its own, that reads key and revisions, also those that are made
 * later, and no other key. */
static void shared(const char *key_file)
{
    struct stat key, record;
    const char *path = apr_pstrcat(pool, key_file, ".revisions", NULL);
    if (geteuid() != 0) {
        return; /* only root can give a file to a group that it is not in */
    }
    ida_writer_group_set("64797");
    is_int(ida_seal_key_make(fresh(), key_file, (uid_t)-1, (gid_t)-1), IDA_OK, "shared");
    is_int(ida_seal_note(fresh(), key_file, "shared", 99), IDA_OK, "a revision is noted");
    ok(stat(key_file, &key) == 0 && stat(path, &record) == 0, "both are there");
    is_int(key.st_gid, 64797, "the key has the group");
    is_int(key.st_mode & 07777, 0440, "which reads it");
    is_int(record.st_gid, 64797, "as has the record beside it");
    is_int(record.st_mode & 07777, 0640, "which it reads too");
    ida_writer_group_set("no such group");
    ok(ida_writer_group() == (gid_t)-1, "a group that there is not");
    unlink(path);
    is_int(chown(key_file, (uid_t)-1, getegid()), 0, "given back");
    chmod(key_file, 0400);
}

/* Revisions that a node stores beside its seal key, so that an old document with a valid seal is
 * not accepted as the present one. */
static void revisions(const char *key_file, const unsigned char *key)
{
    ida_tenant *t;
    char *canonical;
    const char *why, *record = apr_pstrcat(pool, key_file, ".revisions", NULL);
    struct stat status;
    int64_t seen;
    apply(fresh(), full, NULL, &t, &canonical);
    is_int(judged(key_file, canonical, key, 5, &why), IDA_SEAL_GOOD,
           "nothing seen yet: a good seal is enough");
    is_int(ida_seal_note(fresh(), key_file, t->id, 5), IDA_OK, "seen");
    ok(stat(record, &status) == 0 && (status.st_mode & 07777) == 0600,
       "the record is for its owner alone");
    is_int(ida_seal_note(fresh(), key_file, "other", 2), IDA_OK, "another tenant");
    is_int(ida_seal_note(fresh(), key_file, t->id, 3), IDA_OK, "an older one");
    is_int(ida_seal_seen(fresh(), key_file, t->id, &seen), IDA_OK, "read");
    is_int(seen, 5, "never lowers it");
    is_int(judged(key_file, canonical, key, 5, &why), IDA_SEAL_GOOD, "the newest is good");
    is_int(judged(key_file, canonical, key, 6, &why), IDA_SEAL_GOOD, "so is a newer one");
    is_int(judged(key_file, canonical, key, 4, &why), IDA_SEAL_OLDER,
           "an older one with its good seal is not");
    ok(strstr(why, "revision 4") && strstr(why, "revision 5") && strstr(why, "backup"),
       "the reason says what happened: %s", why);
    static const struct {
        const char *text;
        mode_t mode;
    } bad[] = {{"[]", 0600}, {"{\"contoso\":", 0600}, {"", 0600}, {"{}", 0620}, {"{}", 0602}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_file(record, bad[i].text, bad[i].mode);
        is_int(ida_seal_note(fresh(), key_file, t->id, 9), IDA_INTERNAL_ERROR,
               "a record that is damaged or open to others is refused, never replaced");
    }
    unlink(record);
    is_int(symlink(key_file, record), 0, "a link");
    is_int(ida_seal_seen(fresh(), key_file, t->id, &seen), IDA_INTERNAL_ERROR, "is not followed");
    unlink(record);
    following(key_file, key, canonical);
    applied_meanwhile(key_file, key, canonical);
    shared(key_file);
    lent(key_file, key, canonical);
}

static void files(void)
{
    char dir[] = "/tmp/ida-tenant-XXXXXX";
    if (!mkdtemp(dir)) {
        ok(0, "a temporary directory");
        return;
    }
    char *secret = apr_pstrcat(pool, dir, "/secret", NULL),
         *ca = apr_pstrcat(pool, dir, "/ca", NULL), *hook = apr_pstrcat(pool, dir, "/hook", NULL);
    ida_tenant *t;
    char *canonical;
    const char *text = with(
        apr_pstrcat(pool,
                    "\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{"
                    "\"type\":\"removeLicenses\"},{\"type\":\"callWebhook\",\"url\":\"https://"
                    "x.example\",\"secretFile\":\"",
                    hook, "\"}]}]", NULL));
    apply(fresh(), text, NULL, &t, &canonical);
    must_apply(apr_pstrcat(pool, "{\"directories\":{\"onPremises\":{\"bindPasswordFile\":\"",
                           secret, "\",\"caFile\":\"", ca, "\"}}}", NULL),
               canonical, &t, &canonical, "a tenant with three files");
    ida_ctx *c = fresh();
    is_int(ida_tenant_files_check(c, t), IDA_BAD_REQUEST, "missing files are refused");
    says(c, "each with member and path", "directories.onPremises.bindPasswordFile: ", secret,
         "directories.onPremises.caFile: ", ca, "workflows[0].actions[1].secretFile: ", hook,
         "No such file", NULL);
    put_file(secret, "password", 0640);
    put_file(ca, "certificate", 0644);
    put_file(hook, "whsec_x", 0600);
    c = fresh();
    is_int(ida_tenant_files_check(c, t), IDA_OK, "group may read secrets, all may read a CA");
    static const mode_t open_modes[] = {0604, 0602, 0601};
    for (size_t i = 0; i < 3; i++) {
        chmod(secret, open_modes[i]);
        c = fresh();
        is_int(ida_tenant_files_check(c, t), IDA_BAD_REQUEST, "a secret open to others is refused");
        says(c, "with the remedy", "bindPasswordFile", "chmod o=", NULL);
    }
    put_file(secret, "", 0600);
    is_int(ida_tenant_files_check(fresh(), t), IDA_BAD_REQUEST,
           "an empty password file is refused");
    unlink(secret);
    mkfifo(secret, 0600);
    is_int(ida_tenant_files_check(fresh(), t), IDA_BAD_REQUEST,
           "a pipe is refused and does not block");
    unlink(secret);
    unlink(ca);
    unlink(hook);

    unsigned char key[IDA_SEAL_KEY_LEN], again[IDA_SEAL_KEY_LEN];
    char *path = apr_pstrcat(pool, dir, "/seal.key", NULL);
    struct stat status;
    c = fresh();
    is_int(ida_seal_key_read(c, path, key), IDA_INTERNAL_ERROR, "no seal key yet");
    says(c, "the message says what makes it", path, "schema upgrade", NULL);
    is_int(ida_seal_key_make(fresh(), path, (uid_t)-1, (gid_t)-1), IDA_OK, "it is made");
    ok(stat(path, &status) == 0 && (status.st_mode & 07777) == 0400 && status.st_size == 65,
       "mode 0400, 64 digits");
    is_int(ida_seal_key_read(fresh(), path, key), IDA_OK, "read");
    is_int(ida_seal_key_make(fresh(), path, (uid_t)-1, (gid_t)-1), IDA_OK,
           "not made a second time");
    is_int(ida_seal_key_read(fresh(), path, again), IDA_OK, "read again");
    ok(memcmp(key, again, sizeof key) == 0, "the same key");
    revisions(path, key);
    statements(path);
    chmod(path, 0640);
    is_int(ida_seal_key_read(fresh(), path, again), IDA_OK, "a group may read it");
    chmod(path, 0644);
    is_int(ida_seal_key_read(fresh(), path, again), IDA_INTERNAL_ERROR, "others may not");
    static const char *const damaged[] = {
        "", "abcd", "zz", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef00"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        put_file(path, damaged[i], 0600);
        is_int(ida_seal_key_make(fresh(), path, (uid_t)-1, (gid_t)-1), IDA_OK,
               "one that is there stays");
        is_int(ida_seal_key_read(fresh(), path, again), IDA_INTERNAL_ERROR,
               "a damaged key file is refused, never replaced");
    }
    unlink(path);
    is_int(ida_seal_key_make(fresh(), "/nonexistent/dir/key", (uid_t)-1, (gid_t)-1),
           IDA_INTERNAL_ERROR, "a directory that is not there");
    ok(rmdir(dir) == 0, "nothing is left behind");
}

int main(void)
{
    setup();
    sealing();
    files();
    return done();
}
