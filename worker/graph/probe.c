/* Owns the doctor's report: what prevents this service from using a cloud directory, in the
 * order in which it would fail, and which application permission is missing. Writes nothing. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/base/secret.h"
#include "worker/directory/report.h"
#include "worker/graph/client.h"
#include "worker/graph/url.h"
#include "worker/graph/value.h"

#define CLOCK_TOLERANCE_MS 60000 /* assertions and tokens are judged by both clocks */
#define DAY_MS INT64_C(86400000)
#define EXPIRY_DAYS 30 /* a certificate that ends sooner is worth a line that fails */
#define MARKER_LEN 26  /* a task ID */
#define STEP_MS 10000

typedef struct probe {
    graph_call *k;
    report report;
    int64_t until;               /* monotonic ms for all of it */
    const char *used, *used_for; /* as of the last answer */
} probe;

/* The time of one step: a silent service shall not take that of the others. */
static void step(probe *p)
{
    int64_t until = ida_monotonic(p->k->g->env) + STEP_MS;
    p->k->deadline = until < p->until ? until : p->until;
}

/* Reads one page; the message of a refusal names the missing application permission. */
static directory_class read_sample(probe *p, const char *url, const char *doing, int cost,
                                   const char *permission, graph_answer *answer)
{
    graph_call *k = p->k;
    step(p);
    const graph_request request = {.method = "GET", .url = url, .cost = cost, .doing = doing};
    directory_class class = graph_send(k, GRAPH_READ, &request, answer);
    p->used = answer->used;
    p->used_for = answer->used_for;
    if (class == DIRECTORY_FORBIDDEN) {
        class = graph_fail(
            k, class, NULL,
            "%s: refused (HTTP %d %s): grant the application permission %s and consent to it as an "
            "administrator; it holds for tokens issued after that",
            doing, answer->status, answer->code, permission);
    }
    return class;
}

static const json_t *row(const graph_answer *answer, size_t i)
{
    return json_array_get(json_object_get(answer->json, "value"), i);
}

static size_t rows(const graph_answer *answer)
{
    return json_array_size(json_object_get(answer->json, "value"));
}

static const char *read_end(apr_pool_t *pool, const char *file, int64_t *at)
{
    const size_t size = 32768;
    size_t len;
    char *pem = secret_map(size);
    const char *fault = pem ? secret_file_read(pool, "certificateFile", file, pem, size, &len)
                            : "no memory";
    fault = fault ? fault : graph_certificate_end(pem, len, at);
    secret_unmap(pem, size);
    return fault;
}

void graph_expiry(directory *d, apr_pool_t *pool, directory_expiry *out)
{
    const graph *g = (const graph *)d;
    int64_t at = 0;
    *out = (directory_expiry){0};
    if (g->certificate_file && !read_end(pool, g->certificate_file, &at)) {
        out->certificate = at;
    }
    out->password = g->secret_ends;
}

/* A line for what ends at `at` (ms); `means`: what the reader does. */
static void judge_end(probe *p, const char *check, const char *of, int64_t at, const char *means)
{
    graph_call *k = p->k;
    int64_t days = (at - ida_now(k->g->env)) / DAY_MS;
    const char *left = ida_count(k->pool, days < 0 ? -days : days, "day", "days");
    directory_class class = DIRECTORY_OK;
    if (days < 0) {
        class = graph_fail(k, DIRECTORY_CONFIG, NULL, "%s ended %s ago: %s", of, left, means);
    } else if (days < EXPIRY_DAYS) {
        class = graph_fail(k, DIRECTORY_CONFIG, NULL, "%s ends in %s: before that, %s", of, left,
                           means);
    }
    directory_report_judge(&p->report, check, class,
                           apr_pstrcat(k->pool, "holds for another ", left, NULL));
}

static void check_certificate(probe *p)
{
    graph_call *k = p->k;
    const char *file = k->g->certificate_file;
    int64_t at = 0;
    const char *fault = file ? read_end(k->pool, file, &at) : NULL;
    if (fault) {
        directory_report_judge(
            &p->report, "certificate",
            graph_fail(k, DIRECTORY_CONFIG, NULL, "certificateFile %s %s", file, fault), NULL);
    } else if (file) {
        judge_end(p, "certificate", apr_pstrcat(k->pool, "certificateFile ", file, NULL), at,
                  "upload a new one's public part");
    }
}

static void check_secret(probe *p)
{
    const graph *g = p->k->g;
    if (g->secret_ends) {
        judge_end(p, "client secret", "the client secret", g->secret_ends,
                  "make a new one and change clientSecretFile and clientSecretExpires");
    } else if (g->secret_file) {
        directory_report_line(&p->report, "client secret", 1,
                              "nothing warns before it ends: clientSecretExpires is not set");
    }
}

static int check_token(probe *p)
{
    graph_call *k = p->k;
    step(p);
    directory_class class = graph_token_get(k, k->g->header, &k->g->number);
    return directory_report_judge(&p->report, "token", class,
                                  ida_printf(k->pool, "%s took the %s of application %s; scope %s",
                                             k->g->authority,
                                             k->g->secret_file ? "client secret" : "certificate",
                                             k->g->client_id, graph_token_scope(k->g, k->pool)));
}

static void check_clock(probe *p)
{
    graph_call *k = p->k;
    int64_t ahead = atomic_load(&k->g->client->clock_ahead), off = ahead < 0 ? -ahead : ahead;
    directory_class class = DIRECTORY_OK;
    if (off > CLOCK_TOLERANCE_MS) {
        class = graph_fail(k, DIRECTORY_CONFIG, NULL,
                           "the directory's clock is %lld s %s ours: put this machine's clock "
                           "right (NTP), or certificates and tokens are refused",
                           (long long)(off / 1000), ahead > 0 ? "ahead of" : "behind");
    }
    directory_report_judge(&p->report, "clock", class,
                           off < 2000 ? "agrees with the directory's"
                                      : ida_printf(k->pool, "%lld s off", (long long)(off / 1000)));
}

static int domain_verified(const json_t *organization, const char *domain)
{
    const json_t *domains = json_object_get(organization, "verifiedDomains"), *one;
    size_t i;
    json_array_foreach (domains, i, one) {
        const char *name = ida_json_string(one, "name");
        if (name && strcasecmp(name, domain) == 0) {
            return 1;
        }
    }
    return 0;
}

static void check_organization(probe *p)
{
    graph_call *k = p->k;
    const ida_tenant *tenant = k->g->tenant;
    graph_answer answer;
    directory_class class = read_sample(
        p, graph_url(k->g, k->pool, "/organization?$select=id,displayName,verifiedDomains"),
        "read the organization", 1, "Organization.Read.All", &answer);
    const char *name = ida_json_string(row(&answer, 0), "displayName");
    if (!directory_report_judge(&p->report, "organization", class, name ? name : "readable")) {
        return;
    }
    const char *const domains[] = {tenant->upn_domain, tenant->email_domain}, *const members[] = {
                                                                                  "upnDomain",
                                                                                  "emailDomain"};
    for (int i = 0; i < 2 && domains[i]; i++) {
        if (i == 1 && strcasecmp(domains[0], domains[1]) == 0) {
            break;
        }
        class = domain_verified(row(&answer, 0), domains[i])
                    ? DIRECTORY_OK
                    : graph_fail(k, DIRECTORY_CONFIG, NULL,
                                 "%s is no verified domain of this directory: add and verify it "
                                 "there, or change %s",
                                 domains[i], members[i]);
        directory_report_judge(&p->report, members[i], class,
                               apr_pstrcat(k->pool, domains[i], " is a verified domain", NULL));
    }
}

/* The attribute of our marker must be writable for us only, because it identifies our account
 * after a lost answer. */
static void check_marker(probe *p)
{
    graph_call *k = p->k;
    graph_answer answer;
    size_t used = 0, foreign = 0;
    directory_class class = read_sample(
        p, graph_url(k->g, k->pool, "/users?$top=50&$select=id,onPremisesExtensionAttributes"),
        "read the marker attribute", 1, "User.Read.All", &answer);
    for (size_t i = 0; !class && i < rows(&answer); i++) {
        const char *value = ida_json_string(
            json_object_get(row(&answer, i), "onPremisesExtensionAttributes"), k->g->marker);
        used += value && *value;
        foreign += value && *value && strlen(value) != MARKER_LEN;
    }
    if (foreign) {
        class = graph_fail(k, DIRECTORY_CONFIG, NULL,
                           "%s is in use by another system (%zu of %zu users checked):  choose "
                           "another markerAttribute",
                           k->g->marker, foreign, rows(&answer));
    }
    directory_report_judge(&p->report, "markerAttribute", class,
                           ida_printf(k->pool, "%s, set by us for %zu of %zu users looked at",
                                      k->g->marker, used, rows(&answer)));
}

static void check_users(probe *p)
{
    graph_call *k = p->k;
    graph_answer answer;
    directory_class class = read_sample(
        p, graph_url(k->g, k->pool, "/users?$top=1&$select=" GRAPH_USER_SELECT), "read users", 1,
        "User.Read.All (with User.ReadWrite.All for changes)", &answer);
    if (directory_report_judge(&p->report, "users", class,
                               rows(&answer) ? "readable"
                                             : "readable, but the directory shows none")) {
        check_marker(p);
    }
    class = read_sample(p, graph_url(k->g, k->pool, "/users/delta?$select=id&$deltatoken=latest"),
                        "read changes of users", 1, "User.Read.All", &answer);
    directory_report_judge(&p->report, "changes of users", class, "readable");
}

static void check_groups(probe *p)
{
    graph_call *k = p->k;
    graph_answer answer;
    const char *permission = "GroupMember.Read.All (with GroupMember.ReadWrite.All for changes)";
    directory_class class = read_sample(
        p, graph_url(k->g, k->pool, "/groups?$top=1&$select=" GRAPH_GROUP_SELECT), "read groups", 1,
        permission, &answer);
    const char *id = ida_json_string(row(&answer, 0), "id");
    if (directory_report_judge(&p->report, "groups", class,
                               id ? "readable" : "readable, but the directory shows none") &&
        id) {
        class = read_sample(p, graph_url(k->g, k->pool, "/groups/%s/members?$top=1&$select=id", id),
                            "read members of a group", 3, permission, &answer);
        directory_report_judge(&p->report, "members", class, "readable");
    }
    class = read_sample(
        p, graph_url(k->g, k->pool, "/groups/delta?$select=id,members&$deltatoken=latest"),
        "read changes of groups", 1, permission, &answer);
    directory_report_judge(&p->report, "changes of groups", class, "readable");
}

static void check_licenses(probe *p)
{
    graph_call *k = p->k;
    graph_answer answer;
    directory_class class = read_sample(
        p, graph_url(k->g, k->pool, "/subscribedSkus"), "read licences", 3,
        "LicenseAssignment.Read.All (with LicenseAssignment.ReadWrite.All for changes)", &answer);
    const char *detail = NULL;
    for (size_t i = 0; !class && i < rows(&answer); i++) {
        const json_t *sku = row(&answer, i);
        const char *name = ida_json_string(sku, "skuPartNumber");
        long long used = (long long)json_integer_value(json_object_get(sku, "consumedUnits"));
        long long all = (long long)json_integer_value(
            json_object_get(json_object_get(sku, "prepaidUnits"), "enabled"));
        detail = ida_printf(k->pool, "%s%s%s %lld of %lld used", detail ? detail : "",
                            detail ? ", " : "", name ? name : "?", used, all);
    }
    directory_report_judge(&p->report, "licences", class,
                           detail ? detail : "readable, none bought");
}

static void check_sign_ins(probe *p)
{
    graph_call *k = p->k;
    graph_answer answer;
    directory_class class = read_sample(
        p, graph_url(k->g, k->pool, "/users?$top=1&$select=id,signInActivity"), "read sign-ins", 1,
        "AuditLog.Read.All", &answer);
    if (class == DIRECTORY_FORBIDDEN &&
        strcasecmp(answer.code, "Authentication_RequestFromNonPremiumTenantOrB2CTenant") == 0) {
        directory_report_line(&p->report, "sign-ins", 1,
                              "not told: the directory has no Microsoft Entra ID P1 or P2 licence; "
                              "stale accounts count from creation");
        return;
    }
    directory_report_judge(&p->report, "sign-ins", class, "readable");
}

static void check_limits(probe *p)
{
    double part = p->used ? strtod(p->used, NULL) : 0;
    int fits = part < 1;
    const char *detail =
        part > 0 ? ida_printf(p->k->pool,
                              "this application uses %.0f %% of what the directory allows it%s%s",
                              part * 100, p->used_for ? ": " : "", p->used_for ? p->used_for : "")
                 : "below 80 % of what the directory allows this application (it tells only above)";
    directory_report_line(&p->report, "limits", fits, detail);
}

directory_class graph_probe(directory *d, apr_pool_t *pool, json_t *lines, directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    probe p = {.k = &k,
               .report = {.lines = lines, .last = e},
               .until = ida_monotonic(k.g->env) + 3 * DIRECTORY_CALL_MS};
    check_certificate(&p);
    check_secret(&p);
    if (check_token(&p)) {
        check_clock(&p);
        check_organization(&p);
        check_users(&p);
        check_groups(&p);
        check_licenses(&p);
        check_sign_ins(&p);
        check_limits(&p);
        directory_report_line(
            &p.report, "changes", 1,
            "not tried, as that would change something; they need User.ReadWrite.All, "
            "GroupMember.ReadWrite.All, LicenseAssignment.ReadWrite.All, and "
            "User.RevokeSessions.All where User.ReadWrite.All is not granted");
    } else if (atomic_load(&k.g->client->clock_ahead)) {
        check_clock(&p); /* the usual cause of a refused assertion */
    }
    *e = p.report.error;
    return p.report.first;
}
