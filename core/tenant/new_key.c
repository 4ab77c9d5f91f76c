/* Owns the rules for what a new API user may be. Must not know where it is kept. */
#include "core/tenant/new_key.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/network.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/tenant/credentials.h"
#include "core/zone/zone.h"

/* Midnight at which the day begins in the zone. */
static ida_kind check_expiry(ida_ctx *c, const char *zone_name, const char *text, int64_t *at)
{
    int year, month, day, y, m, d, used = 0;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) != 3 || used != 10 || text[10]) {
        ida_fault_add(c, "expires", "must be a date YYYY-MM-DD, or never");
        return IDA_OK;
    }
    ida_civil_from_days(ida_days_from_civil(year, month, day), &y, &m, &d);
    if (month < 1 || month > 12 || y != year || m != month || d != day) {
        ida_fault_add(c, "expires", "there is no day %s", text);
        return IDA_OK;
    }
    const zone_info *zone;
    const zone_wall wall = {.year = year, .month = month, .day = day};
    ida_kind kind = zone_get(c, zone_name, &zone);
    if (kind) {
        return kind;
    }
    *at = zone_to_utc(zone, &wall) * 1000;
    if (*at <= ida_now(c->env)) {
        ida_fault_add(c, "expires", "%s has begun already; the key would never work", text);
    }
    return IDA_OK;
}

static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++) {
        count += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return count;
}

static void check_label(ida_ctx *c, const char *text)
{
    if (!ida_utf8_valid(text, strlen(text)) || characters(text) > IDA_LABEL_MAX ||
        strcmp(text, ida_clean(c->pool, text, strlen(text), 0)) != 0) {
        ida_fault_add(c, "label", "must be UTF-8 text of at most %d visible characters",
                      IDA_LABEL_MAX);
    }
}

static void check_from(ida_ctx *c, const char *text, ida_principal *out)
{
    ida_ctx *judged = ida_ctx_make(c->env, c->pool);
    char *networks;
    if (ida_networks_parse(judged, text, &networks)) {
        ida_fault_add(c, "from", "%s", judged->message);
    } else {
        out->from = networks;
    }
}

static void check_scopes(ida_ctx *c, const char *text, ida_principal *out)
{
    if (ida_areas_parse(c->pool, text, &out->areas)) {
        ida_fault_add(c, "scopes", "must be some of " IDA_AREA_NAMES);
    } else if (out->access != IDA_ACCESS_READ_ONLY) {
        ida_fault_add(c, "scopes", "are of read-only keys; one that may write may also read all");
    }
}

/* The day that is so many days after this one, in the zone. */
static ida_kind default_expiry(ida_ctx *c, const ida_tenant *tenant, int64_t *at)
{
    const zone_info *zone;
    zone_wall wall;
    ida_kind kind = tenant->key_days ? zone_get(c, tenant->time_zone, &zone) : IDA_OK;
    if (!kind && tenant->key_days) {
        int year, month, day;
        zone_to_wall(zone, ida_now(c->env) / 1000, &wall);
        ida_civil_from_days(ida_days_from_civil(wall.year, wall.month, wall.day) + tenant->key_days,
                            &year, &month, &day);
        wall = (zone_wall){.year = year, .month = month, .day = day};
        *at = zone_to_utc(zone, &wall) * 1000;
    }
    return kind;
}

ida_kind ida_new_key_check(ida_ctx *c, const ida_tenant *tenant, const ida_new_key *given,
                           const char *name, ida_principal *out)
{
    int access = given->access ? ida_access_level_parse(given->access) : -1;
    const char *fault = given->rate ? ida_rate_parse(given->rate, &out->rate) : NULL;
    out->username = given->username;
    out->access = access < 0 ? IDA_ACCESS_READ_ONLY : (ida_access_level)access;
    out->label = given->label ? given->label : "";
    if (!ida_name_valid(given->username)) {
        ida_fault_add(c, name, "must be 1-%d characters of A-Z a-z 0-9 . _ -", IDA_NAME_MAX);
    }
    if (access < 0) {
        ida_fault_add(c, "accessLevel", "must be read-only or full");
    }
    check_label(c, out->label);
    if (fault) {
        ida_fault_add(c, "rateLimit", "%s", fault);
    }
    if (given->from) {
        check_from(c, given->from, out);
    }
    if (given->scopes) {
        check_scopes(c, given->scopes, out);
    }
    if (given->decisions && out->access != IDA_ACCESS_FULL) {
        ida_fault_add(c, "decisions", "is for keys with full access: a decision is a write");
    }
    out->concurrency = given->concurrency;
    out->decisions = given->decisions;
    if (!given->expires) {
        return default_expiry(c, tenant, &out->expires_at);
    }
    return strcmp(given->expires, "never") == 0
               ? IDA_OK
               : check_expiry(c, tenant->time_zone, given->expires, &out->expires_at);
}

json_t *ida_new_key_json(apr_pool_t *pool, const ida_principal *principal, const char *key)
{
    json_t *shown = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o}", "companyId", principal->company, "username",
        principal->username, "accessLevel", ida_access_level_text(principal->access), "label",
        principal->label, "apiKey", key, "mcpSecret",
        json_sprintf("%s:%s:%s", principal->company, principal->username, key));
    ida_json_put_time(shown, "expiresAt", principal->expires_at);
    ida_json_put(shown, "scopes", ida_areas_text(pool, principal->areas));
    if (principal->decisions) {
        json_object_set_new(shown, "decisions", json_true());
    }
    return shown;
}
