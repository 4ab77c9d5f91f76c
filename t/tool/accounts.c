/* What the directory alone needs for so many new accounts: a bare LDAP client that sends the writes
 * of a creation (add, Password Modify, manager, membership) and nothing else, over as many
 * connections as the worker has threads. No look before or after, no queue, no store.
 *
 *   accounts URL CA_FILE BIND_DN PASSWORD_FILE PARENT_DN DOMAIN PREFIX COUNT CONNECTIONS
 * MANAGER_DN|- GROUP_DN|-
 *
 * Connections are bound before the clock starts. Prints one JSON line: seconds until all were
 * answered, ms after the start by which half and 99 of 100 were. Ends with 1 at the first answer
 * that is no success. */
#include <ldap.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/tool/clock.h"

#define CONNECTIONS_MAX 64
#define TEXT_MAX 512

static const char *url, *ca_file, *bind_dn, *parent, *domain, *prefix, *manager, *group;
static char password[TEXT_MAX];
static int count, connections;
static atomic_int next_one, failed;
static double *ends; /* seconds after the start, by account */
static double started;
static pthread_barrier_t ready;

static int refused(const char *doing, int code)
{
    if (code != LDAP_SUCCESS && !atomic_exchange(&failed, 1)) {
        fprintf(stderr, "accounts: %s: %s\n", doing, ldap_err2string(code));
    }
    return code != LDAP_SUCCESS;
}

static LDAP *connected(void)
{
    LDAP *ld = NULL;
    int version = LDAP_VERSION3, demand = LDAP_OPT_X_TLS_DEMAND, client = 0;
    struct berval secret = {.bv_val = password, .bv_len = strlen(password)};
    if (refused("open", ldap_initialize(&ld, url))) {
        return NULL;
    }
    ldap_set_option(ld, LDAP_OPT_PROTOCOL_VERSION, &version);
    ldap_set_option(ld, LDAP_OPT_X_TLS_CACERTFILE, ca_file);
    ldap_set_option(ld, LDAP_OPT_X_TLS_REQUIRE_CERT, &demand);
    ldap_set_option(ld, LDAP_OPT_X_TLS_NEWCTX, &client);
    return refused("bind",
                   ldap_sasl_bind_s(ld, bind_dn, LDAP_SASL_SIMPLE, &secret, NULL, NULL, NULL))
               ? NULL
               : ld;
}

typedef struct value {
    LDAPMod mod;
    char *texts[2];
} value;

static LDAPMod *mod(value *v, int op, const char *attribute, const char *text)
{
    v->texts[0] = (char *)(size_t)text;
    v->texts[1] = NULL;
    v->mod = (LDAPMod){.mod_op = op,
                       .mod_type = (char *)(size_t)attribute,
                       .mod_vals.modv_strvals = v->texts};
    return &v->mod;
}

static int change(LDAP *ld, const char *dn, int op, const char *attribute, const char *text)
{
    value v;
    LDAPMod *mods[] = {mod(&v, op, attribute, text), NULL};
    return refused(attribute, ldap_modify_ext_s(ld, dn, mods, NULL, NULL));
}

static int make_account(LDAP *ld, int number)
{
    char uid[TEXT_MAX], mail[2 * TEXT_MAX], name[TEXT_MAX], dn[2 * TEXT_MAX], secret[TEXT_MAX],
        sn[TEXT_MAX];
    value v[9];
    snprintf(sn, sizeof sn, "Number%d", number);
    snprintf(uid, sizeof uid, "%s.number%d", prefix, number);
    snprintf(mail, sizeof mail, "%s@%s", uid, domain);
    snprintf(name, sizeof name, "%s Number%d", prefix, number);
    snprintf(dn, sizeof dn, "uid=%s,%s", uid, parent);
    snprintf(secret, sizeof secret, "Bare-Passw0rd-%d", number);
    LDAPMod *mods[] = {mod(&v[0], LDAP_MOD_ADD, "displayName", name),
                       mod(&v[1], LDAP_MOD_ADD, "mail", mail),
                       mod(&v[2], LDAP_MOD_ADD, "employeeType", uid),
                       mod(&v[3], LDAP_MOD_ADD, "givenName", prefix),
                       mod(&v[4], LDAP_MOD_ADD, "sn", sn),
                       mod(&v[5], LDAP_MOD_ADD, "title", "Clerk"),
                       mod(&v[6], LDAP_MOD_ADD, "objectClass", "inetOrgPerson"),
                       mod(&v[7], LDAP_MOD_ADD, "cn", name),
                       mod(&v[8], LDAP_MOD_ADD, "uid", uid),
                       NULL};
    struct berval who = {.bv_val = dn, .bv_len = strlen(dn)},
                  fresh = {.bv_val = secret, .bv_len = strlen(secret)}, made;
    return refused("add", ldap_add_ext_s(ld, dn, mods, NULL, NULL)) ||
           refused("set the password", ldap_passwd_s(ld, &who, NULL, &fresh, &made, NULL, NULL)) ||
           (*manager != '-' && change(ld, dn, LDAP_MOD_REPLACE, "manager", manager)) ||
           (*group != '-' && change(ld, group, LDAP_MOD_ADD, "member", dn));
}

static void *work(void *nothing)
{
    LDAP *ld = connected();
    (void)nothing;
    if (pthread_barrier_wait(&ready) == PTHREAD_BARRIER_SERIAL_THREAD) {
        started = now_s();
    }
    pthread_barrier_wait(&ready);
    for (int i; ld && !atomic_load(&failed) && (i = atomic_fetch_add(&next_one, 1)) < count;) {
        if (make_account(ld, i)) {
            break;
        }
        ends[i] = now_s() - started;
    }
    if (ld) {
        ldap_unbind_ext_s(ld, NULL, NULL);
    }
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static int read_password(const char *file)
{
    FILE *in = fopen(file, "r");
    int got = in && fgets(password, sizeof password, in);
    password[strcspn(password, "\n")] = '\0';
    if (in) {
        fclose(in);
    }
    return got && password[0];
}

int main(int argc, char **argv)
{
    pthread_t threads[CONNECTIONS_MAX];
    if (argc != 12 || (count = atoi(argv[8])) < 1 || (connections = atoi(argv[9])) < 1 ||
        connections > CONNECTIONS_MAX || !read_password(argv[4])) {
        fprintf(stderr, "accounts URL CA_FILE BIND_DN PASSWORD_FILE PARENT_DN DOMAIN PREFIX COUNT "
                        "CONNECTIONS MANAGER_DN|- GROUP_DN|-\n");
        return 2;
    }
    url = argv[1], ca_file = argv[2], bind_dn = argv[3], parent = argv[5], domain = argv[6],
    prefix = argv[7];
    manager = argv[10], group = argv[11];
    ends = calloc((size_t)count, sizeof *ends);
    if (!ends || pthread_barrier_init(&ready, NULL, (unsigned)connections)) {
        return 1;
    }
    int version = LDAP_VERSION3; /* libldap initialises itself at its first call, in one thread */
    ldap_set_option(NULL, LDAP_OPT_PROTOCOL_VERSION, &version);
    for (int i = 0; i < connections; i++) {
        if (pthread_create(&threads[i], NULL, work, NULL)) {
            fprintf(stderr, "accounts: no thread\n");
            return 1;
        }
    }
    for (int i = 0; i < connections; i++) {
        pthread_join(threads[i], NULL);
    }
    if (!atomic_load(&failed)) {
        qsort(ends, (size_t)count, sizeof *ends, by_size);
        printf("{\"seconds\":%.4f,\"p50\":%.1f,\"p99\":%.1f}\n", ends[count - 1],
               ends[count / 2] * 1000, ends[(count * 99 + 99) / 100 - 1] * 1000);
    }
    free(ends);
    return atomic_load(&failed);
}
