/* Shared by the tests against a real slapd: the server (through t/unit/with-slapd.pl), a tenant
 * that uses it, and misbehaving peers. */
#ifndef T_UNIT_SLAPD_H
#define T_UNIT_SLAPD_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/store/store.h"
#include "t/unit/setup.h"
#include "worker/directory/directory.h"

static FILE *slapd_in, *slapd_out;
static pid_t slapd_script;
static char slapd_dir[] = "/tmp/idadmin-ldap-XXXXXX";

/* Evaluates perl with the server in $s; the value as text in pool. */
__attribute__((format(printf, 1, 2), unused)) static char *perl(const char *format, ...)
{
    char line[65536];
    va_list args;
    va_start(args, format);
    vfprintf(slapd_in, format, args);
    va_end(args);
    fputc('\n', slapd_in);
    fflush(slapd_in);
    if (!fgets(line, sizeof line, slapd_out)) {
        printf("Bail out! the slapd script ended\n");
        exit(1);
    }
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "died:", 5) == 0) {
        printf("# %s\n", line);
    }
    return apr_pstrdup(pool, line);
}

static void slapd_end(void)
{
    if (slapd_script > 0) {
        fclose(slapd_in);
        waitpid(slapd_script, NULL, 0);
        slapd_script = 0;
        char command[128];
        snprintf(command, sizeof command, "rm -rf %s", slapd_dir);
        if (system(command) != 0) {
            printf("# %s is left behind\n", slapd_dir);
        }
    }
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(name, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0 || chmod(name, mode) != 0) {
        printf("Bail out! cannot write %s\n", name);
        exit(1);
    }
}

static const char *slapd_file(const char *name)
{
    return apr_pstrcat(pool, slapd_dir, "/", name, NULL);
}

/* The clock of these tests is the real one: the server's time stamps are compared with it. */
__attribute__((unused)) static int64_t real_clock(void *baton)
{
    struct timespec ts;
    (void)baton;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Starts the server with options as perl text ("overlays => [...]", "samba => 1"). Skips the
 * whole program with the reason if it is not installed. */
__attribute__((unused)) static void slapd_start(const char *options)
{
    const char *source = getenv("IDADMIN_SRC");
    int to[2], from[2];
    setup();
    env.now = real_clock;
    char *script = apr_pstrcat(pool, source ? source : ".", "/t/unit/with-slapd.pl", NULL);
    signal(SIGPIPE, SIG_IGN);
    if (!mkdtemp(slapd_dir) || pipe(to) != 0 || pipe(from) != 0 || (slapd_script = fork()) < 0) {
        printf("Bail out! no script\n");
        exit(1);
    }
    if (slapd_script == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execlp("perl", "perl", script, options, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    slapd_in = fdopen(to[1], "w");
    slapd_out = fdopen(from[0], "r");
    char line[4096] = "";
    if (!fgets(line, sizeof line, slapd_out) || strncmp(line, "skip", 4) == 0) {
        int skipped = strncmp(line, "skip", 4) == 0;
        printf(skipped ? "1..0 # SKIP %s\n" : "Bail out! slapd does not start %s\n",
               skipped ? line + 5 : line);
        exit(skipped ? 0 : 1);
    }
    atexit(slapd_end);
    write_file(slapd_file("password"), perl("Idadmin::Test::Slapd::service_password()"), 0600);
}

/* A SQLite store in the server's directory: its DSN, and a connection that synchronises. */
__attribute__((unused)) static const char *store_beside(store **cache)
{
    const char *dsn = apr_pstrcat(pool, "sqlite3:", slapd_file("store.db"), NULL);
    is_int(store_schema_upgrade(dsn, fresh(), NULL), IDA_OK, "a store");
    *cache = store_make(pool, dsn, DB_SYNC);
    return dsn;
}

/* A tenant with this on-premises directory: JSON text of its document, in which the last of two
 * members with the same name counts. */
__attribute__((unused)) static ida_tenant *tenant_of(const char *id, const char *domain,
                                                     const char *text)
{
    ida_tenant *tenant = apr_pcalloc(pool, sizeof *tenant);
    tenant->id = apr_pstrdup(pool, id);
    tenant->upn_domain = tenant->email_domain = domain;
    tenant->username_format = "{firstname}.{surname}";
    tenant->has_directory[IDA_DIR_ON_PREMISES] = 1;
    tenant->directory[IDA_DIR_ON_PREMISES] = ida_json_keep(pool, json_loads(text, 0, NULL));
    if (!tenant->directory[IDA_DIR_ON_PREMISES]) {
        printf("Bail out! no document: %s\n", text);
        exit(1);
    }
    return tenant;
}

/* A tenant on the server. `urls`: JSON text of the list; `more`: further JSON members, each with a
 * comma before it. */
__attribute__((unused)) static ida_tenant *tenant_with(const char *urls, const char *more)
{
    char *text = ida_printf(pool,
                            "{\"urls\":%s,\"dialect\":\"openLdap\",\"bind\":\"simple\",\"bindDn\":"
                            "\"%s\",\"bindPasswordFile\":\"%s/"
                            "password\",\"caFile\":\"%s\",\"userBase\":\"%s\",\"groupBase\":\"%s\","
                            "\"upnAttribute\":\"mail\",\"placeholderMember\":\"%s\"%s}",
                            urls, perl("$Idadmin::Test::Slapd::service"), slapd_dir,
                            perl("$s->ca_file"), perl("$Idadmin::Test::Slapd::people"),
                            perl("$Idadmin::Test::Slapd::groups"),
                            perl("$Idadmin::Test::Slapd::filler"), more);
    return tenant_of("nordic", "nordic.example", text);
}

/* The server restricts an attribute of the entries below `base` to `access` for everyone; and
 * removes the restriction. */
__attribute__((unused)) static void slapd_hides(const char *attribute, const char *base,
                                                const char *access)
{
    is_str(perl("$s->modify(\"dn: olcDatabase={1}mdb,cn=config\\nchangetype: modify\\nadd: "
                "olcAccess\\nolcAccess: {0}to dn.subtree=%s attrs=%s by * %s\\n\", bind => "
                "['cn=config', Idadmin::Test::Slapd::admin_password()]); 'ok'",
                base, attribute, access),
           "ok", "the server hides it");
}

__attribute__((unused)) static void slapd_shows(void)
{
    is_str(perl("$s->modify(\"dn: olcDatabase={1}mdb,cn=config\\nchangetype: modify\\ndelete: "
                "olcAccess\\nolcAccess: {0}\\n\", bind => ['cn=config', "
                "Idadmin::Test::Slapd::admin_password()]); 'ok'"),
           "ok", "and shows it again");
}

__attribute__((unused)) static directory *open_with(const ida_tenant *tenant)
{
    directory *d = NULL;
    directory_error e;
    const directory_ops *ops = directory_ops_for(IDA_DIR_ON_PREMISES);
    if (ops->open(&d, &env, tenant, IDA_DIR_ON_PREMISES, pool, &e) != DIRECTORY_OK) {
        printf("# open: %s\n", e.message);
    }
    return d;
}

__attribute__((unused)) static char *json_list(const char *one, const char *other)
{
    return other ? apr_pstrcat(pool, "[\"", one, "\",\"", other, "\"]", NULL)
                 : apr_pstrcat(pool, "[\"", one, "\"]", NULL);
}

/* The class must be the expected one; otherwise prints the message. */
__attribute__((unused)) static int is_class(directory_class got, directory_class want,
                                            const directory_error *e, const char *name)
{
    int good = ok(got == want, "%s", name);
    if (!good) {
        printf("# got: %s, want: %s; %s\n", directory_class_text(got), directory_class_text(want),
               e->message ? e->message : "(no message)");
    }
    return good;
}

/* --- peers that misbehave --- */

/* A port that accepts connections (the kernel does) and never sends anything. */
__attribute__((unused)) static int silent_port(int *fd)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(*fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(*fd, 8) != 0 ||
        getsockname(*fd, (struct sockaddr *)&address, &size) != 0) {
        printf("Bail out! no port\n");
        exit(1);
    }
    return ntohs(address.sin_port);
}

/* A wire to the server that can lose an answer: the server has done the work, the caller does
 * not know. */
typedef struct wire {
    atomic_int listener;
    int port, target;
    const char *host; /* of the target; NULL: 127.0.0.1 */
    atomic_int cut;   /* n > 0: the n-th piece from the server is dropped and the connection
                         closed; -1: close at once whatever arrives */
    atomic_int ask;   /* n > 0: the answer to the n-th request from now on is lost (a request is one
                         protected TLS record) */
    atomic_int then;  /* value of `ask` after that: counts on the next connection, where handshake
                         and bind are requests as well */
    atomic_int connections;
    atomic_int stop;
    pthread_t thread;
} wire;

static int wire_connect(const wire *w)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)w->target)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (w->host) {
        inet_pton(AF_INET, w->host, &address.sin_addr);
    }
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Progress of reading TLS records from the client. */
typedef struct wire_records {
    unsigned char head[5];
    int have;    /* of the head */
    size_t left; /* of the record */
} wire_records;

/* How many records of protected data end in these bytes. */
static int wire_requests(wire_records *r, const unsigned char *bytes, size_t len)
{
    int requests = 0;
    for (size_t at = 0; at < len;) {
        if (r->have < 5) {
            r->head[r->have++] = bytes[at++];
            r->left = r->have == 5 ? (size_t)r->head[3] << 8 | r->head[4] : 0;
            continue;
        }
        size_t part = r->left < len - at ? r->left : len - at;
        r->left -= part;
        at += part;
        if (r->left == 0) {
            requests += r->head[0] == 23;
            r->have = 0;
        }
    }
    return requests;
}

static int wire_pass(int from, int to, wire_records *records, int *requests)
{
    char bytes[65536];
    ssize_t got = recv(from, bytes, sizeof bytes, 0), sent = 0;
    while (got > 0 && sent < got) {
        ssize_t now = send(to, bytes + sent, (size_t)(got - sent), MSG_NOSIGNAL);
        if (now <= 0) {
            return 0;
        }
        sent += now;
    }
    if (records && got > 0) {
        *requests = wire_requests(records, (const unsigned char *)bytes, (size_t)got);
    }
    return got > 0;
}

static void *wire_run(void *baton)
{
    wire *w = baton;
    while (!atomic_load(&w->stop)) {
        struct pollfd waiting = {.fd = atomic_load(&w->listener), .events = POLLIN};
        if (poll(&waiting, 1, 50) <= 0) {
            continue;
        }
        int client = accept(atomic_load(&w->listener), NULL, NULL), server = wire_connect(w),
            open = client >= 0 && server >= 0;
        wire_records records = {.have = 0};
        int asked = 0;
        atomic_fetch_add(&w->connections, 1);
        while (open && !atomic_load(&w->stop)) {
            struct pollfd both[] = {{.fd = client, .events = POLLIN},
                                    {.fd = server, .events = POLLIN}};
            if (poll(both, 2, 50) <= 0) {
                continue;
            }
            if (atomic_load(&w->cut) < 0) {
                break;
            }
            if (asked && both[1].revents) {
                atomic_store(&w->ask, atomic_exchange(&w->then, 0));
                break;
            }
            if (both[0].revents) {
                int requests = 0;
                open = wire_pass(client, server, &records, &requests);
                for (; requests > 0 && !asked; requests--) {
                    asked = atomic_load(&w->ask) > 0 && atomic_fetch_sub(&w->ask, 1) == 1;
                }
            }
            if (open && both[1].revents) {
                int cut = atomic_load(&w->cut);
                if (cut > 0 && atomic_fetch_sub(&w->cut, 1) == 1) {
                    break;
                }
                open = wire_pass(server, client, NULL, NULL);
            }
        }
        close(client);
        close(server);
    }
    return NULL;
}

__attribute__((unused)) static wire *wire_to_at(const char *host, int target)
{
    wire *w = calloc(1, sizeof *w);
    w->target = target;
    w->host = host;
    int fd;
    w->port = silent_port(&fd);
    atomic_store(&w->listener, fd);
    pthread_create(&w->thread, NULL, wire_run, w);
    return w;
}

__attribute__((unused)) static wire *wire_to(int target)
{
    return wire_to_at(NULL, target);
}

__attribute__((unused)) static void wire_end(wire *w)
{
    atomic_store(&w->stop, 1);
    pthread_join(w->thread, NULL);
    close(atomic_load(&w->listener));
    free(w);
}

#endif
