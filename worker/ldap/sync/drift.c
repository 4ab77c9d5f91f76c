/* Owns the decision whether an incremental read can be trusted. A new, renamed, moved or
 * restored entry, links that may have changed without a report, a moved container, a restarted
 * server or invisible deletions all lead to one answer: everything is read again. Unchanged
 * entries cost the cache nothing. Must not know how directories are read. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/ldap/sync/sync.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

/* OpenLDAP updates links to a renamed entry later (overlay refint) and does not report it: a
 * read during this time may still return the old links. */
#define SETTLE_MS (30 * 1000)
#define BLIND_MS (10 * 60 * 1000) /* so often everything is read where deletions do not show */
/* A directory may need a whole read at every synchronisation. If that takes longer than
 * LIGHT_MS, it is repeated only after SHARE times as long, so that it uses a tenth of the time
 * at most. Until then incremental changes are accepted as reported. */
#define LIGHT_MS (5 * 1000)
#define SHARE 10

static int64_t number(const json_t *object, const char *member)
{
    return json_integer_value(json_object_get(object, member));
}

/* When the server was started, as slapd dates its schema, to the second: it keeps deletions in
 * memory, and one that was killed does not know that it has lost some. */
static directory_class started(ld_call *k, const char **start)
{
    static const char *const created[] = {"createTimestamp", NULL};
    const ld_entry *schema = NULL;
    *start = "";
    if (k->d->dialect->sync != LD_SYNC_SYNCREPL || !k->d->subschema) {
        return DIRECTORY_OK;
    }
    directory_class class = ld_read(k, apr_pstrdup(k->pool, k->d->subschema), created,
                                    "read since when the server runs", &schema);
    const char *text = schema ? ld_text(k->pool, schema, created[0]) : NULL;
    *start = text ? text : "";
    return class == DIRECTORY_NOT_FOUND || class == DIRECTORY_FORBIDDEN ? DIRECTORY_OK : class;
}

/* --- containers --- */

#define LANES (IDA_DIGEST_LEN / sizeof(uint64_t))

typedef struct places {
    const char *id; /* the attribute */
    uint64_t sum[LANES];
} places;

/* Adds up hashes lane by lane, so that neither order nor memory depends on the number of
 * containers. */
static directory_class add_place(const ld_entry *entry, apr_pool_t *entry_pool, void *baton)
{
    places *p = baton;
    uint64_t hash[LANES];
    const char *id = ld_text(entry_pool, entry, p->id), *key = ld_dn_key(entry_pool, entry->dn);
    if (id && key) {
        const char *place = apr_pstrcat(entry_pool, id, " ", key, NULL);
        ida_sha256(place, strlen(place), (unsigned char *)hash);
        for (size_t i = 0; i < LANES; i++) {
            p->sum[i] += hash[i];
        }
    }
    return DIRECTORY_OK;
}

directory_class ld_drift_places(ld_run *r, ld_drift *drift, const json_t *tokens,
                                const ld_kind *kinds, int count)
{
    const ld_dialect *t = r->k->d->dialect;
    const char *const attributes[] = {t->id, NULL};
    places p = {.id = t->id};
    directory_class class = DIRECTORY_OK;
    if (!t->container_filter) {
        return DIRECTORY_OK;
    }
    for (int i = 0; !class && i < count; i++) {
        if (i > 0 && strcmp(kinds[i].base, kinds[0].base) == 0) {
            break;
        }
        const ld_query query = {.base = kinds[i].base,
                                .scope = LDAP_SCOPE_SUBTREE,
                                .filter = t->container_filter,
                                .attributes = attributes,
                                .phase = LD_BASE,
                                .doing = "list containers"};
        class = ld_paged(r->k, &query, add_place, &p);
    }
    drift->places = ida_hex(r->k->pool, (const unsigned char *)p.sum, sizeof p.sum);
    const char *before = ida_json_string(tokens, "places");
    if (tokens && (!before || strcmp(before, drift->places) != 0)) {
        drift->since = drift->now;
    }
    return class;
}

/* --- from run to run --- */

directory_class ld_drift_begin(ld_run *r, ld_drift *drift, store *cache,
                               const cache_sync_state *state, const json_t *tokens, int by_dn)
{
    const char *start = ida_json_string(tokens, "start"),
               *scanned = ida_json_string(tokens, "scanned");
    int64_t now = ida_now(r->k->d->env), scanned_at = scanned ? strtoll(scanned, NULL, 10) : 0;
    int moved = 0;
    *drift = (ld_drift){.now = now,
                        .since = number(tokens, "doubt"),
                        .took = number(tokens, "took")};
    directory_class class = started(r->k, &drift->start);
    if (!class && tokens && by_dn) {
        class = ld_stored(r, cache_sync_dn_changed(cache, r->c, r->k->d->tenant->id,
                                                   IDA_DIR_ON_PREMISES, number(tokens, "run"),
                                                   &moved));
    }
    int restarted = tokens && strcmp(start ? start : "", drift->start) != 0,
        blind = scanned && (now - scanned_at >= BLIND_MS || scanned_at > now);
    if (moved || restarted || blind) {
        drift->since = now;
    }
    drift->may_read_all = drift->took <= LIGHT_MS || now < state->full_at ||
                          now - state->full_at >= SHARE * drift->took;
    return class;
}

void ld_drift_end(const ld_run *r, const ld_drift *drift, const json_t *old, int blind,
                  json_t *tokens)
{
    const directory *d = r->k->d;
    int64_t now = ida_now(d->env), settle = d->dialect->keeps_links ? 0 : SETTLE_MS,
            since = r->drift ? now : drift->since;
    const char *scanned = ida_json_string(old, "scanned");
    if (r->whole && drift->now >= since + settle) {
        since = 0;
    }
    if (r->whole || !scanned) {
        scanned = apr_psprintf(r->k->pool, "%" APR_INT64_T_FMT, r->whole ? now : 0);
    }
    json_object_set_new(tokens, "run", json_integer(cache_sync_number(r->run)));
    json_object_set_new(tokens, "took", json_integer(r->whole ? now - drift->now : drift->took));
    json_object_set_new(tokens, "doubt", json_integer(since));
    ida_json_put(tokens, "start", drift->start);
    ida_json_put(tokens, "places", drift->places ? drift->places : ida_json_string(old, "places"));
    ida_json_put(tokens, "scanned", blind ? scanned : NULL);
}
