/* A load client for the benchmarks: keep-alive connections, one thread each, for a given time;
 * prints one JSON line with counts and latencies. Knows only as much HTTP as httpd's answers need
 * (Content-Length), so that it costs little beside what is measured.
 *
 *   load PORT CONNECTIONS SECONDS METHOD TARGET [BODY] [HEADER...]
 *
 * In TARGET and BODY "{n}" becomes a number that no other request has, "{u}" one of $LOAD_USERS
 * numbers of five digits or more, from 00001. Every answer but 200 counts as an error; `statuses`
 * has how many there were of each, under 0 the connections that broke before an answer. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNECTIONS 256
#define STATUSES 600

static int port;
static long users = 1;
static double seconds;
static const char *method, *target, *body;
static char headers[4096];
static atomic_long counter;

typedef struct run {
    pthread_t thread;
    uint64_t *latencies; /* ns */
    size_t count, room;
    long statuses[STATUSES];
} run;

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* `template` with each "{n}" replaced; returns the length. */
static size_t fill(char *out, size_t room, const char *template, long n)
{
    size_t len = 0;
    for (const char *at = template; *at && len + 24 < room;) {
        if (strncmp(at, "{n}", 3) == 0) {
            len += (size_t)snprintf(out + len, room - len, "%ld", n);
            at += 3;
        } else if (strncmp(at, "{u}", 3) == 0) {
            len += (size_t)snprintf(out + len, room - len, "%05ld", n * 7919 % users + 1);
            at += 3;
        } else {
            out[len++] = *at++;
        }
    }
    out[len] = '\0';
    return len;
}

static int connect_to(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static int send_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
        if (sent <= 0) {
            return -1;
        }
        bytes += sent;
        len -= (size_t)sent;
    }
    return 0;
}

/* Reads one answer; its status, or -1 when the connection is of no more use. */
static int read_answer(int fd)
{
    char buffer[65536];
    size_t have = 0;
    char *end = NULL;
    while (!end) {
        ssize_t got = recv(fd, buffer + have, sizeof buffer - 1 - have, 0);
        if (got <= 0) {
            return -1;
        }
        have += (size_t)got;
        buffer[have] = '\0';
        end = strstr(buffer, "\r\n\r\n");
        if (!end && have + 1 == sizeof buffer) {
            return -1;
        }
    }
    const char *length = strcasestr(buffer, "\r\ncontent-length:");
    size_t head = (size_t)(end - buffer) + 4;
    long rest = (length && length < end ? strtol(length + 17, NULL, 10) : 0) - (long)(have - head);
    int status = atoi(buffer + 9);
    while (rest > 0) {
        char skip[16384];
        ssize_t got = recv(fd, skip, (size_t)rest < sizeof skip ? (size_t)rest : sizeof skip, 0);
        if (got <= 0) {
            return -1;
        }
        rest -= got;
    }
    return status;
}

static void *work(void *baton)
{
    run *r = baton;
    char where[4096], what[65536], request[80000];
    uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
    int fd = connect_to();
    for (uint64_t start = now_ns(); start < end; start = now_ns()) {
        if (fd < 0) {
            r->statuses[0]++;
            usleep(10000);
            fd = connect_to();
            continue;
        }
        long n = atomic_fetch_add(&counter, 1);
        size_t len = fill(what, sizeof what, body, n);
        fill(where, sizeof where, target, n);
        int size = snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s",
                            method, where, headers);
        size += *body ? snprintf(request + size, sizeof request - (size_t)size,
                                 "Content-Length: %zu\r\n\r\n%s", len, what)
                      : snprintf(request + size, sizeof request - (size_t)size, "\r\n");
        int status = send_all(fd, request, (size_t)size) ? -1 : read_answer(fd);
        r->statuses[status > 0 && status < STATUSES ? status : 0]++;
        if (status < 0) {
            close(fd);
            fd = connect_to();
        }
        if (status != 200) {
            continue;
        }
        if (r->count == r->room) {
            r->room = r->room ? r->room * 2 : 4096;
            r->latencies = realloc(r->latencies, r->room * sizeof *r->latencies);
        }
        r->latencies[r->count++] = now_ns() - start;
    }
    if (fd >= 0) {
        close(fd);
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static run runs[MAX_CONNECTIONS];
    if (argc < 6) {
        fputs("usage: load PORT CONNECTIONS SECONDS METHOD TARGET [BODY] [HEADER...]\n", stderr);
        return 2;
    }
    int connections = atoi(argv[2]);
    port = atoi(argv[1]);
    seconds = atof(argv[3]);
    method = argv[4];
    target = argv[5];
    body = argc > 6 ? argv[6] : "";
    users = getenv("LOAD_USERS") ? atol(getenv("LOAD_USERS")) : 1;
    counter = (long)getpid() * 1000000L;
    for (int i = 7; i < argc; i++) {
        size_t used = strlen(headers);
        snprintf(headers + used, sizeof headers - used, "%s\r\n", argv[i]);
    }
    if (connections < 1 || connections > MAX_CONNECTIONS || users < 1) {
        fprintf(stderr, "load: 1 to %d connections\n", MAX_CONNECTIONS);
        return 2;
    }
    uint64_t start = now_ns();
    for (int i = 0; i < connections; i++) {
        pthread_create(&runs[i].thread, NULL, work, &runs[i]);
    }
    size_t total = 0;
    long errors = 0, statuses[STATUSES] = {0};
    for (int i = 0; i < connections; i++) {
        pthread_join(runs[i].thread, NULL);
        total += runs[i].count;
        for (int status = 0; status < STATUSES; status++) {
            statuses[status] += runs[i].statuses[status];
            errors += status == 200 ? 0 : runs[i].statuses[status];
        }
    }
    double took = (double)(now_ns() - start) / 1e9;
    uint64_t *all = malloc((total + 1) * sizeof *all);
    size_t at = 0;
    for (int i = 0; i < connections; i++) {
        memcpy(all + at, runs[i].latencies ? runs[i].latencies : all, runs[i].count * sizeof *all);
        at += runs[i].count;
    }
    qsort(all, total, sizeof *all, by_value);
    printf("{\"requests\":%zu,\"errors\":%ld,\"rate\":%.1f,\"p50\":%.4f,\"p99\":%.4f,\"max\":%.4f,"
           "\"statuses\":{",
           total, errors, (double)total / took, total ? (double)all[total / 2] / 1e6 : 0,
           total ? (double)all[total * 99 / 100] / 1e6 : 0,
           total ? (double)all[total - 1] / 1e6 : 0);
    const char *comma = "";
    for (int status = 0; status < STATUSES; status++) {
        if (statuses[status]) {
            printf("%s\"%d\":%ld", comma, status, statuses[status]);
            comma = ",";
        }
    }
    puts("}}");
    free(all);
    for (int i = 0; i < connections; i++) {
        free(runs[i].latencies);
    }
    return 0;
}
