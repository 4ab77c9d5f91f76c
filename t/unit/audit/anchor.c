/* The anchor of a chain: read and moved, and never moved by a process that compared with an older
 * one, also when only what is known of the chain has changed. */
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

    const audit_anchor first = {44, 0, HASH, 1000, "task:a run:b"},
                       accepted = {44, 0, HASH, 2000, "task:a"},
                       later = {44, 0, HASH, 3000, "task:a"},
                       longer = {45, 0, HASH, 1000, "task:a run:b"};
    ok(move(NULL, &first), "the first anchor");
    read = now();
    ok(read && read->number == 44 && read->since == 1000 && !strcmp(read->hash, HASH) &&
           !strcmp(read->known, "task:a run:b"),
       "is read as it was written");
    ok(!move(NULL, &longer) && now()->number == 44, "a second first one is none");
    ok(move(&first, &accepted) && now()->since == 2000, "accepted, the chain being no longer");
    ok(!move(&first, &longer), "who compared with the one before moves nothing");
    read = now();
    ok(read->number == 44 && read->since == 2000 && !strcmp(read->known, "task:a"),
       "the acceptance holds");
    ok(move(&accepted, &later) && now()->since == 3000, "accepted again, nothing else being new");
    ok(!move(&accepted, &longer) && now()->since == 3000, "which holds as well");
    ok(move(&later, &later), "the same anchor is there already");
    ok(move(&later, &longer) && now()->number == 45, "then the chain grows");
    return done();
}
