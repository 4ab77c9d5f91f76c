/* slapd's size limit, with and without content synchronisation: the probe meets it as a sync
 * does, and the setting that both name solves it. */
#include "core/cache/freshness.h"
#include "core/cache/person.h"
#include "core/cache/sync.h"
#include "t/unit/slapd.h"

#define USERS 600 /* more than the 500 that slapd shows by default */

static const directory_ops *ops;
static store *cache;

static directory_class sync_now(const ida_tenant *tenant, cache_summary *summary,
                                directory_error *e)
{
    directory *d = open_with(tenant);
    directory_class class = ops->sync(d, pool, &(directory_sync){cache, fresh(), .full = 1},
                                      summary, e);
    ops->close(d);
    return class;
}

/* The probe's line about users and its outcome. */
static const char *doctor(const ida_tenant *tenant, directory_class want, const char *name)
{
    directory_error e;
    json_t *report = ida_json_keep(pool, json_array());
    directory *d = open_with(tenant);
    is_class(ops->probe(d, pool, report, &e), want, &e, name);
    const char *detail = "";
    size_t i;
    json_t *one;
    json_array_foreach (report, i, one) {
        if (strcmp(ida_json_string(one, "check"), "users") == 0) {
            detail = ida_json_string(one, "detail");
        }
    }
    ops->close(d);
    return detail;
}

static void limited(const char *how, const char *options)
{
    static const char line[] = "limits dn.exact=\"cn=idadmin,ou=services,dc=nordic,dc=example\" "
                               "size=unlimited time=unlimited";
    cache_summary summary = {0};
    cache_sync_info info = {0};
    directory_error e;
    is_int(cache_reset(cache, fresh(), "nordic", IDA_DIR_ON_PREMISES), IDA_OK, "an empty cache");
    is_str(perl("$main::l = Idadmin::Test::Slapd->new(users => %d, groups => 20, limits => '', "
                "%s); 'ok'",
                USERS, options),
           "ok", how);
    const ida_tenant *tenant = tenant_with(
        apr_pstrcat(pool, "[\"", perl("$main::l->ldaps_url"), "\"]", NULL), "");
    is_class(sync_now(tenant, &summary, &e), DIRECTORY_CONFIG, &e, "a sync meets the limit");
    ok(e.message && strstr(e.message, line), "and names the line to add: %s",
       e.message ? e.message : "-");
    const char *detail = doctor(tenant, DIRECTORY_CONFIG, "so does the doctor");
    ok(strstr(detail, line) != NULL, "with the same line: %s", detail);
    is_str(perl("$main::l->configure(olcLimits => '%s'); 'ok'", line + strlen("limits ")), "ok",
           "the line is added");
    detail = doctor(tenant, DIRECTORY_OK, "the doctor has nothing to say any more");
    ok(strstr(detail, "all 6") != NULL, "and has seen everybody: %s", detail);
    is_class(sync_now(tenant, &summary, &e), DIRECTORY_OK, &e, "a sync goes through");
    cache_sync_info_get(cache, fresh(), "nordic", IDA_DIR_ON_PREMISES, &info);
    ok(info.users > USERS, "with everybody (%lld)", (long long)info.users);
    perl("$main::l->stop; 'ok'");
}

int main(void)
{
    slapd_start("start => 0");
    ops = directory_ops_for(IDA_DIR_ON_PREMISES);
    store_beside(&cache);
    limited("slapd with content synchronisation", "nosync => 1");
    limited("slapd without it", "nosync => 1, overlays => [qw(memberof refint ppolicy)]");
    store_disconnect(cache);
    return done();
}
