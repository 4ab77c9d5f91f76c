/* The anchor of a chain: read and moved, and never moved by a process that compared with an older
 * one; lines of older versions. */
#include "core/audit/anchor.h"
#include "core/store/chain_key.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static const char *path;

static int move(const audit_anchor *from, const audit_anchor *to)
{
    int moved = -1;
    ida_ctx *c = fresh();
    is_int(audit_anchor_move(c, path, "contoso", from, to, &moved), IDA_OK,
           c->message ? c->message : "the file can be written");
    return moved;
}

static const audit_anchor *now(void)
{
    const audit_anchor *anchor;
    int there;
    audit_anchor_read(fresh(), path, "contoso", &anchor, &there);
    return anchor;
}

int main(void)
{
    audit_keys keys;
    int there;
    const audit_anchor *none, *read;
    setup();
    unit_store_prepare();
    path = apr_psprintf(pool, "%s/anchor.key", unit_store.dir);
    ok(!audit_keys_make(fresh(), path, (uid_t)-1, (gid_t)-1) &&
           !audit_keys_read(fresh(), path, &keys) && !audit_keys_set_new(fresh(), path, &keys, 0),
       "an audit key");
    ok(!audit_anchor_read(fresh(), path, "contoso", &none, &there) && !none && !there,
       "no anchor yet, and no file");

    const audit_anchor first = {44, 0, HASH}, accepted = {40, 0, HASH}, longer = {45, 0, HASH};
    ok(move(NULL, &first), "the first anchor");
    read = now();
    ok(read && read->number == 44 && !strcmp(read->hash, HASH), "is read as it was written");
    ok(!move(NULL, &longer) && now()->number == 44, "a second first one is none");
    ok(move(&first, &accepted) && now()->number == 40, "an administrator accepts a shorter chain");
    ok(!move(&first, &longer) && now()->number == 40,
       "a process that compared with the one before moves nothing");
    ok(move(&accepted, &accepted), "the same anchor is there already");
    ok(move(&accepted, &longer) && now()->number == 45, "then the chain grows");

    FILE *old = fopen(apr_pstrcat(pool, path, ".heads", NULL), "w");
    fprintf(old, "contoso 44 0 %s 1000 - task:a x:b\n", HASH);
    fclose(old);
    read = now();
    ok(read && read->number == 44 && !strcmp(read->hash, HASH), "a line of an older version");
    ok(move(&first, &longer) && now()->number == 45, "moves on as any other");
    return done();
}
