/* Owns AuthType IdAdmin: the three headers or the bearer secret, judging them, the principal of the
 * request. Must not know what a principal may do.
 *
 * Every refusal gets the same answer; the reason is for the error log alone. An unknown user and a
 * wrong key cost the same statement and the same comparison. */
#include "mod_idadmin/module.h"

#include <mod_ssl.h>
#include <openssl/crypto.h>
#include <string.h>

#include "core/base/host.h"
#include "core/tenant/credentials.h"

APLOG_USE_MODULE(idadmin);

#define AUTH_TYPE "IdAdmin"

static const char nobody[] = "-"; /* how a record names a caller who gave no valid name */

/* Recorded in the log of the named company if it exists: a key of no company belongs to no log. */
static void count_refusal(request_rec *r, const char *reason, const char *company,
                          const char *username)
{
    const ida_refused one = {IDA_REFUSAL_OF_ADDRESS,  company,           username, "",
                             request_address_name(r), spool_endpoint(r), reason};
    ida_refusals_count(shm_refusals(), ida_ctx_make(&child->env, r->pool), &one, spool_write);
}

static int challenge(request_rec *r, const char *reason, const char *company, const char *username)
{
    const char *realm = ap_auth_name(r);
    int status = rates_failure(r);
    if (status == HTTP_UNAUTHORIZED) {
        request_refuse(r, IDA_UNAUTHORIZED, NULL, 0);
        const char *scheme = request_face(r) == FACE_MCP ? "Bearer" : AUTH_TYPE;
        apr_table_setn(r->err_headers_out, "WWW-Authenticate",
                       apr_psprintf(r->pool, "%s realm=\"%s\"", scheme,
                                    realm ? ap_escape_quotes(r->pool, realm) : "idadmin"));
        request_say(r, APLOG_WARNING,
                    "IDA0210: credentials refused (%s), company \"%.64s\", user \"%.64s\", from %s",
                    reason, company ? ida_key_masked(r->pool, company) : "",
                    username ? ida_key_masked(r->pool, username) : "", r->useragent_ip);
    } else {
        request_say(r, APLOG_DEBUG, "credentials refused (%s) from %s beyond the failures limit",
                    reason, r->useragent_ip);
    }
    return status;
}

static void set_principal(request_rec *r, request_state *state)
{
    const ida_principal *p = &state->caller->principal;
    state->principal = p;
    request_trust(r);
    r->user = apr_pstrcat(r->pool, p->company, ":", p->username, NULL);
    r->ap_auth_type = (char *)AUTH_TYPE;
    apr_table_setn(r->notes, "idadmin-company", p->company);
    apr_table_setn(r->notes, "idadmin-user", p->username);
    if (*p->label) {
        apr_table_setn(r->notes, "idadmin-label", p->label);
    }
}

static void wipe(char *secret)
{
    if (secret) {
        OPENSSL_cleanse(secret, strlen(secret));
    }
}

/* Reads the credentials. A bearer secret takes precedence over the three headers. The caller
 * wipes the key. Returns what is wrong, or NULL. */
static const char *read_credentials(request_rec *r, request_state *state, const char **company,
                                    const char **username, char **key)
{
    char *bearer = state->bearer, *said_company = NULL, *said_username = NULL;
    *company = bearer ? NULL : request_single_header(r, "X-Company-ID");
    *username = bearer ? NULL : request_single_header(r, "X-Api-User");
    *key = state->key;
    state->key = NULL;
    if (bearer) {
        wipe(*key);
        *key = NULL;
        state->bearer = NULL;
        int split = ida_secret_split(r->pool, bearer, &said_company, &said_username, key);
        wipe(bearer);
        if (!split) {
            return "bearer secret not of the shape companyId:username:apiKey";
        }
        *company = said_company;
        *username = said_username;
    }
    if (!*company || !*username || !*key) {
        return "header missing";
    }
    return ida_name_valid(*company) && ida_name_valid(*username) && ida_key_well_formed(*key)
               ? NULL
               : "malformed";
}

/* Of whichever module does TLS; NULL where none is loaded. */
static APR_OPTIONAL_FN_TYPE(ssl_is_https) * is_https;

static void find_tls(void)
{
    is_https = APR_RETRIEVE_OPTIONAL_FN(ssl_is_https);
}

void authn_register(void)
{
    ap_hook_optional_fn_retrieve(find_tls, NULL, NULL, APR_HOOK_MIDDLE);
}

/* Whether others may have eavesdropped. Judged by the connection's own peer, not by a header
 * about a client behind a proxy. */
int authn_in_clear(request_rec *r)
{
    const conn_rec *c = r->connection;
    return config_requires_tls(r) && !(is_https && is_https(r->connection)) &&
           !ida_host_loopback(c->client_ip, strlen(c->client_ip));
}

/* Before anything is made of the credentials: an answer that depended on them would let a mistake
 * in a client's settings go unseen. */
static int refuse_clear(request_rec *r)
{
    unsigned wait;
    request_say(r, rates_count_failure(r, &wait) ? APLOG_WARNING : APLOG_DEBUG,
                "IDA0212: a request from %s came without TLS and was refused unseen; use https, "
                "or where a proxy before httpd speaks TLS say IdAdminRequireTls off",
                r->connection->client_ip);
    return request_refuse(r, IDA_FORBIDDEN,
                          "Credentials are taken over TLS only, and this request came in clear: "
                          "use https. Replace the key when others may have seen it on its way.",
                          0);
}

static int is_write(request_rec *r)
{
    const ida_operation *op = request_route(r)->operation;
    return op && op->scope == IDA_SCOPE_WRITE;
}

int authn_check(request_rec *r)
{
    const char *type = ap_auth_type(r);
    if (!type || strcasecmp(type, AUTH_TYPE) != 0) {
        return DECLINED;
    }
    if (!child || !child->callers) {
        return HTTP_SERVICE_UNAVAILABLE;
    }
    if (authn_in_clear(r)) {
        return refuse_clear(r);
    }
    request_state *state = request_state_of(r); /* has taken the secrets out of the headers */
    const char *company, *username;
    char *key;
    const char *fault = read_credentials(r, state, &company, &username, &key);
    char hash[IDA_KEY_HASH_LEN + 1] = ""; /* of a text that is no key: matches none */
    if (!fault) {
        ida_key_hash(key, hash);
    }
    if (!fault && is_write(r)) {
        state->key = key; /* the writer judges it again; wiped with the request */
    } else {
        wipe(key);
    }

    const ida_caller *caller = NULL;
    const char *name = ida_name_valid(username) ? username : nobody;
    ida_kind kind = ida_name_valid(company)
                        ? ida_caller_get(child->callers, state->c, child->source, company, name,
                                         hash, &caller)
                        : IDA_OK;
    if (kind && !fault) {
        OPENSSL_cleanse(hash, sizeof hash);
        int wait = state->c->retry_after ? state->c->retry_after : 1;
        request_say(r, APLOG_INFO, "cannot look up credentials: %s", state->c->message);
        return request_refuse(r, kind, kind == IDA_SERVICE_UNAVAILABLE ? NULL : ida_kind_text(kind),
                              wait);
    }
    const char *reason = fault ? fault
                               : ida_caller_fault(caller, hash, r->useragent_ip,
                                                  ida_now(&child->env));
    OPENSSL_cleanse(hash, sizeof hash);
    if (reason) {
        if (!kind && caller && caller->company_known) {
            count_refusal(r, reason, company, name);
        }
        if (!kind && caller) {
            ida_caller_release(caller);
        }
        return challenge(r, reason, company, username);
    }
    state->caller = caller;
    set_principal(r, state);
    return OK;
}
