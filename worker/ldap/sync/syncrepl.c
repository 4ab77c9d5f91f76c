/* Owns content synchronisation (RFC 4533), refreshOnly: request, what follows from its messages,
 * both phases. Must not know how these are encoded, nor what users and groups are made of. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/text.h"
#include "worker/ldap/sync/sync.h"
#include "worker/ldap/sync/sync_message.h"
#include "worker/ldap/wire/ber.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

typedef struct refresh {
    ld_run *r;
    const ld_kind *kind;
    apr_pool_t *pool;        /* of the stream */
    apr_pool_t *item_pool;   /* cleared after every message */
    struct berval cookie;    /* the latest one, in `pool`; bv_val NULL: none */
    apr_pool_t *cookie_pool; /* cookies may come with every entry: only the last is kept */
    int present_ended;       /* a present phase ended: what was not named is gone */
    int64_t messages, told;  /* all, and those that belong to the synchronisation */
} refresh;

static void keep_cookie(refresh *f, const struct berval *cookie)
{
    if (cookie->bv_val) {
        apr_pool_clear(f->cookie_pool);
        f->cookie = ld_bytes(f->cookie_pool, cookie);
    }
}

static directory_class broken(ld_call *k)
{
    return ld_fail(k, DIRECTORY_LOCAL, NULL, "%s: a sync message cannot be read",
                   ld_server_url(k->d));
}

static directory_class gone(refresh *f, const char *id)
{
    f->r->changes++;
    return ld_stored(f->r, cache_sync_delete(f->r->run, f->r->c, f->kind->name, id));
}

static directory_class still_there(refresh *f, const char *id)
{
    return ld_stored(f->r, cache_sync_present(f->r->run, f->r->c, f->kind->name, id));
}

static directory_class take_entry(ld_call *k, LDAPMessage *message, refresh *f)
{
    ld_run *r = f->r;
    LDAPControl **controls = NULL;
    ld_sync_state state = {0};
    int told = ldap_get_entry_controls(k->d->ld, message, &controls) == LDAP_SUCCESS
                   ? ld_sync_state_read(f->item_pool, controls, &state)
                   : -1;
    ldap_controls_free(controls);
    if (told < 0) {
        return broken(k);
    }
    if (!told) {
        /* slapd's dynlist adds its groups to every search, outside the synchronisation: news of
         * nothing, but a proof that they are there. */
        const ld_entry *extra = ld_entry_read(k->d->ld, message, f->item_pool);
        return extra ? f->kind->item(r, f->item_pool, extra) : ld_unreadable(k);
    }
    f->told++;
    keep_cookie(f, &state.cookie);
    if (state.state == LDAP_SYNC_DELETE) {
        return gone(f, state.id);
    }
    if (state.state == LDAP_SYNC_PRESENT) {
        return still_there(f, state.id);
    }
    const ld_entry *entry = ld_entry_read(k->d->ld, message, f->item_pool);
    r->changes++;
    return entry ? f->kind->item(r, f->item_pool, entry) : ld_unreadable(k);
}

static directory_class take_info(ld_call *k, LDAPMessage *message, refresh *f)
{
    char *oid = NULL;
    struct berval *data = NULL;
    ld_sync_info info = {0};
    int code = ldap_parse_intermediate(k->d->ld, message, &oid, &data, NULL, 0);
    int ours = code != LDAP_SUCCESS || (oid && strcmp(oid, LDAP_SYNC_INFO) == 0);
    int good = code == LDAP_SUCCESS && ours && ld_sync_info_read(f->item_pool, data, &info);
    ldap_memfree(oid);
    ber_bvfree(data);
    if (!ours) {
        return DIRECTORY_OK; /* another kind of message: not ours to understand */
    }
    if (!good) {
        return broken(k);
    }
    f->told++;
    keep_cookie(f, &info.cookie);
    f->present_ended = f->present_ended || info.present_ends;
    directory_class class = DIRECTORY_OK;
    /* A named UUID may be unknown, or of an entry that lives outside the filter: no-ops for the
     * cache. */
    for (const char **id = info.ids; !class && id && *id; id++) {
        class = info.deleted ? gone(f, *id) : still_there(f, *id);
    }
    return class;
}

static directory_class take(ld_call *k, int type, LDAPMessage *message, void *baton)
{
    refresh *f = baton;
    f->messages++;
    directory_class class = type == LDAP_RES_SEARCH_ENTRY ? take_entry(k, message, f)
                                                          : take_info(k, message, f);
    apr_pool_clear(f->item_pool);
    return class;
}

static LDAPControl *request_control(const struct berval *cookie)
{
    LDAPControl *control = NULL;
    struct berval value = {0};
    BerElement *ber = ber_alloc_t(LBER_USE_DER);
    if (ber && ber_printf(ber, "{e", LDAP_SYNC_REFRESH_ONLY) != -1 &&
        (!cookie->bv_len || ber_printf(ber, "O", cookie) != -1) && ber_printf(ber, "N}") != -1 &&
        ber_flatten2(ber, &value, 0) == 0) {
        ldap_control_create(LDAP_CONTROL_SYNC, 1, &value, 1, &control);
    }
    ber_free(ber, 1);
    return control;
}

/* slapd returns the content as of its contextCSN and leaves out newer entries ("greater than
 * snapshot"): entries changed during a whole read and, after a crash, entries newer than the
 * contextCSN on its disk. The next incremental read returns them, but where an unnamed entry
 * counts as deleted they must be requested now. Servers with cookies of another form are not
 * known to leave anything out. */
static directory_class newer_than_content(refresh *f)
{
    apr_pool_t *pool = f->r->k->pool;
    const char *first = ld_cookie_earliest(pool, &f->cookie);
    if (!first) {
        return DIRECTORY_OK;
    }
    if (f->r->whole && f->r->unstamped) {
        const directory *d = f->r->k->d;
        ida_log(
            d->env, IDA_LOG_WARN, "IDA0403",
            "tenant %s: %s shows our account no entryCSN of %s: whoever changes while all %s are "
            "read counts as gone until the next sync; let the account search and read entryCSN",
            d->tenant->id, ld_server_url(d), f->r->unstamped, f->kind->token);
    }
    const char *filter = apr_pstrcat(pool, "(entryCSN>=", ld_filter_text(pool, first), ")", NULL);
    return ld_read_items(f->r, f->kind, filter, "read newest");
}

static directory_class finish(refresh *f, const ld_answer *answer, const char *cookie,
                              const char **next)
{
    ld_run *r = f->r;
    ld_sync_done done;
    directory_class class = DIRECTORY_OK;
    if (!ld_sync_done_read(f->pool, answer->controls, &done)) {
        /* The answer does not say whether an unnamed entry is deleted or unchanged, so neither
         * may be assumed. */
        return ld_fail(r->k, DIRECTORY_CONFIG, NULL,
                       "%s: the server ended a sync without saying how", ld_server_url(r->k->d));
    }
    keep_cookie(f, &done.cookie);
    int has_cookie = done.cookie.bv_len > 0;
    /* Without a cookie the server sends everything, so the name of the phase does not matter. */
    int present = !cookie || !done.deletes || f->present_ended;
    if (present) {
        class = newer_than_content(f);
        class = class ? class : ld_stored(r, cache_sync_complete(r->run, r->c, f->kind->name));
    }
    ida_log(r->k->d->env, IDA_LOG_DEBUG, NULL, "sync of %s: %lld messages, %s phase, %s",
            f->kind->token, (long long)f->told, present ? "present" : "delete",
            has_cookie ? "new token" : "no token");
    /* "Nothing changed" arrives without a cookie: the present one stays valid. Any other end
     * without a cookie leaves none. */
    *next = has_cookie ? ida_base64_encode(r->k->pool, (const unsigned char *)f->cookie.bv_val,
                                           f->cookie.bv_len)
            : !present && f->told == 0 ? cookie
                                       : NULL;
    return class;
}

static directory_class ask(ld_call *k, const ld_query *query, const struct berval *cookie,
                           ld_take each, void *baton, ld_answer *answer)
{
    LDAPControl *control = request_control(cookie), *controls[] = {control, NULL};
    ld_query with = *query;
    with.controls = controls;
    directory_class class = control ? ld_stream(k, &with, each, baton, answer)
                                    : ld_fail(k, DIRECTORY_LOCAL, NULL,
                                              "no sync control could be made");
    if (control) {
        ldap_control_free(control);
    }
    return class;
}

directory_class ld_syncrepl_look(ld_call *k, const ld_query *query, ld_take each, void *baton)
{
    const struct berval none = {0};
    ld_answer answer = {0};
    directory_class class = ask(k, query, &none, each, baton, &answer);
    return class || answer.code == LDAP_SUCCESS ? class : ld_fail_read(k, query, &answer);
}

directory_class ld_syncrepl(ld_run *r, const ld_kind *kind, const char *cookie, const char **next,
                            int *unavailable)
{
    refresh f = {.r = r, .kind = kind};
    ld_call *k = r->k;
    struct berval old = {0};
    ld_answer answer = {0};
    *next = NULL;
    *unavailable = 0;
    r->unstamped = NULL;
    apr_pool_create(&f.pool, k->pool);
    apr_pool_create(&f.item_pool, f.pool);
    apr_pool_create(&f.cookie_pool, f.pool);
    if (cookie) {
        size_t len = 0;
        old.bv_val = (char *)ida_base64_decode(f.pool, cookie, strlen(cookie), &len);
        old.bv_len = len;
        if (!old.bv_val || len == 0) {
            return ld_fail(k, DIRECTORY_TOKEN_LOST, NULL, "the stored sync token is damaged");
        }
    }
    const ld_query query = {.base = kind->base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .filter = kind->filter,
                            .attributes = kind->attributes,
                            .phase = LD_BASE,
                            .doing = apr_pstrcat(k->pool, "sync ", kind->token, NULL)};
    directory_class class = ask(k, &query, &old, take, &f, &answer);
    if (!class && answer.code == LDAP_SUCCESS) {
        class = finish(&f, &answer, cookie, next);
    } else if (!class) {
        *unavailable = answer.code == LDAP_UNAVAILABLE_CRITICAL_EXTENSION;
        class = ld_fail_read(k, &query, &answer);
    }
    apr_pool_destroy(f.pool);
    return class;
}
