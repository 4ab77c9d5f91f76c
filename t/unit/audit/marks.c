/* Marks of rows in audit records: their text there and back, what an erasure leaves, hostile texts;
 * that a record's hashes cover them, and that the spool may not hold them. */
#include "core/audit/marks.h"
#include "core/audit/chain.h"
#include "core/audit/spool.h"
#include "t/unit/setup.h"

static void text(void)
{
    const audit_mark made = {.name = "01abc",
                             .made = 1,
                             .has = 1u << AUDIT_MARK_DUE | 1u << AUDIT_MARK_MEMBERSHIPS,
                             .parts = {[AUDIT_MARK_DUE] = 0xd1e, [AUDIT_MARK_MEMBERSHIPS] = 1}};
    const char *one = audit_mark_text(pool, &made);
    is_str(one, "01abc:+D0000000000000d1eM0000000000000001", "a mark");
    const char *all = apr_pstrcat(pool, one, " key/Bo.b1:P00000000000000ff", NULL), *at = all;
    audit_mark mark;
    ok(audit_mark_next(pool, &at, &mark) && mark.made && mark.has == made.has &&
           mark.parts[AUDIT_MARK_DUE] == 0xd1e && mark.parts[AUDIT_MARK_MEMBERSHIPS] == 1,
       "is read as it was written");
    is_str(mark.name, "01abc", "under its name");
    ok(audit_mark_next(pool, &at, &mark) && !mark.made && mark.parts[AUDIT_MARK_PAYLOAD] == 0xff,
       "and the next one");
    is_str(mark.name, "key/Bo.b1", "of a key");
    ok(!audit_mark_next(pool, &at, &mark), "then there is none");
    const char *bare = audit_marks_bare(pool, all);
    is_str(bare, "01abc:+DM key/Bo.b1:P", "an erasure leaves names and letters");
    is_str(audit_marks_bare(pool, bare), bare, "once");
    ok(!audit_marks_bare(pool, NULL), "nothing of nothing");
    ok(audit_mark_next(pool, &bare, &mark) && mark.has == made.has && !mark.parts[AUDIT_MARK_DUE],
       "which tell that a part is not known any more");
    static const char *const hostile[] = {"",     " ",    "x",
                                          ":",    "x:D1", "x:D0123456789abcdef0",
                                          "x:?Z", "x:DD", " x:+ y"};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        at = hostile[i];
        while (audit_mark_next(pool, &at, &mark)) {
            ok(!mark.parts[AUDIT_MARK_DUE], "no digest in \"%s\"", hostile[i]);
        }
    }
}

static void hashes(void)
{
    ida_ctx *c = fresh();
    audit_record *r = audit_make(c, "contoso", AUDIT_SPOOL_CATEGORY);
    r->actor = "hr", r->label = "", r->action = "user.create", r->outcome = "ok";
    const char *without = audit_personal_hash(pool, "00", r);
    ok(audit_spool_may_hold(r), "httpd may have written a record without marks");
    r->marks = "";
    is_str(audit_personal_hash(pool, "00", r), without, "no marks change no hash");
    r->marks = "01abc:+D0000000000000d1e";
    ok(strcmp(audit_personal_hash(pool, "00", r), without) != 0, "marks are part of it");
    ok(!audit_spool_may_hold(r), "and none that httpd can have written");
    char *coded = audit_encode(pool, r, 0);
    const audit_record *back = audit_decode(pool, coded, strlen(coded));
    is_str(back ? back->marks : NULL, r->marks, "they come through the outbox");
    const audit_secret key = {"one", {1}};
    audit_link link = {.previous = audit_genesis, .seq = 1, .record = r, .personal_hash = without};
    const char *old = audit_chain_hash(pool, &key, &link);
    link.marks = "";
    const char *none = audit_chain_hash(pool, &key, &link);
    link.marks = audit_marks_bare(pool, r->marks);
    ok(strcmp(old, none) != 0 && strcmp(none, audit_chain_hash(pool, &key, &link)) != 0,
       "their names stay part of the chain after an erasure");
}

int main(void)
{
    setup();
    text();
    hashes();
    return done();
}
