/* A scripted HTTP server on loopback for the cloud connector's tests: it answers each request
 * with the next entry of its script and stores the requests. One thread for each connection. */
#ifndef T_UNIT_GRAPH_SERVER_H
#define T_UNIT_GRAPH_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SEEN_MAX 512

/* What to do with a request instead of, or after, answering. */
typedef enum act {
    ACT_ANSWER,
    ACT_RESET, /* reads the request, then resets the connection */
    ACT_HANG,  /* reads the request and does not answer */
    ACT_CUT,   /* announces more bytes than it sends, then closes */
    ACT_CLOSE  /* answers, then closes without having announced it */
} act;

typedef struct reply {
    act act;
    int status;
    const char *headers; /* further lines, each with CRLF; NULL: none */
    const char *body;    /* NULL: none */
} reply;

static struct {
    int fd, port;
    pthread_mutex_t lock;
    const reply *script; /* for all requests except those for tokens; the last entry is repeated */
    int script_len, at;
    const reply *tokens; /* for the token endpoint, likewise */
    int tokens_len, tokens_at, token_delay_ms;
    char *seen[SEEN_MAX]; /* requests, head and body */
    int seen_count, connections;
    atomic_int closed; /* connections that ACT_CLOSE has closed */
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

__attribute__((unused)) static void script(const reply *replies, int count)
{
    pthread_mutex_lock(&server.lock);
    server.script = replies;
    server.script_len = count;
    server.at = 0;
    for (int i = 0; i < server.seen_count; i++) {
        free(server.seen[i]);
    }
    server.seen_count = 0;
    pthread_mutex_unlock(&server.lock);
}

__attribute__((unused)) static void token_script(const reply *replies, int count)
{
    pthread_mutex_lock(&server.lock);
    server.tokens = replies;
    server.tokens_len = count;
    server.tokens_at = 0;
    pthread_mutex_unlock(&server.lock);
}

/* How many requests began with the text. */
__attribute__((unused)) static int seen(const char *beginning)
{
    int count = 0;
    pthread_mutex_lock(&server.lock);
    for (int i = 0; i < server.seen_count; i++) {
        count += strncmp(server.seen[i], beginning, strlen(beginning)) == 0;
    }
    pthread_mutex_unlock(&server.lock);
    return count;
}

/* The last request that began with the text, or "". */
__attribute__((unused)) static const char *last_seen(const char *beginning)
{
    const char *found = "";
    pthread_mutex_lock(&server.lock);
    for (int i = 0; i < server.seen_count; i++) {
        found = strncmp(server.seen[i], beginning, strlen(beginning)) == 0 ? server.seen[i] : found;
    }
    pthread_mutex_unlock(&server.lock);
    return found;
}

/* One request into `buffer`; its length, 0 at the end of the connection. */
static size_t read_request(int fd, char *buffer, size_t size)
{
    size_t len = 0, wanted = 0;
    for (;;) {
        buffer[len] = '\0';
        char *end = strstr(buffer, "\r\n\r\n");
        if (end && !wanted) {
            char *length = strcasestr(buffer, "content-length:");
            wanted = (size_t)(end + 4 - buffer) +
                     (length && length < end ? (size_t)atol(length + 15) : 0);
        }
        if (wanted && len >= wanted) {
            return len;
        }
        ssize_t got = len + 1 < size ? recv(fd, buffer + len, size - 1 - len, 0) : 0;
        if (got <= 0) {
            return 0;
        }
        len += (size_t)got;
    }
}

static reply next_reply(const char *request)
{
    int token = strstr(request, "/oauth2/v2.0/token") != NULL;
    pthread_mutex_lock(&server.lock);
    if (server.seen_count < SEEN_MAX) {
        server.seen[server.seen_count++] = strdup(request);
    }
    int *at = token ? &server.tokens_at : &server.at,
        len = token ? server.tokens_len : server.script_len;
    const reply *all = token ? server.tokens : server.script;
    reply one = all[*at];
    *at += *at + 1 < len;
    pthread_mutex_unlock(&server.lock);
    if (token && server.token_delay_ms) {
        usleep((useconds_t)server.token_delay_ms * 1000);
    }
    return one;
}

static void *serve_connection(void *baton)
{
    int fd = (int)(intptr_t)baton;
    static const size_t size = 1 << 20;
    char *request = malloc(size);
    int closes = 0;
    while (read_request(fd, request, size)) {
        reply r = next_reply(request);
        if (r.act == ACT_RESET) {
            struct linger now = {1, 0};
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
            break;
        }
        if (r.act == ACT_HANG) {
            while (recv(fd, request, size, 0) > 0) {}
            break;
        }
        size_t len = r.body ? strlen(r.body) : 0;
        dprintf(fd, "HTTP/1.1 %d Told\r\n%sContent-Length: %zu\r\n\r\n", r.status,
                r.headers ? r.headers : "", len + (r.act == ACT_CUT ? 100 : 0));
        for (size_t sent = 0; sent < len;) {
            ssize_t n = send(fd, r.body + sent, len - sent, MSG_NOSIGNAL);
            if (n <= 0) {
                break;
            }
            sent += (size_t)n;
        }
        closes = r.act == ACT_CLOSE;
        if (r.act == ACT_CUT || closes) {
            break;
        }
    }
    free(request);
    close(fd);
    atomic_fetch_add(&server.closed, closes);
    return NULL;
}

static void *accept_all(void *baton)
{
    (void)baton;
    for (;;) {
        int fd = accept(server.fd, NULL, NULL);
        pthread_t thread;
        if (fd < 0) {
            return NULL;
        }
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &one, sizeof one);
        pthread_mutex_lock(&server.lock);
        server.connections++;
        pthread_mutex_unlock(&server.lock);
        pthread_create(&thread, NULL, serve_connection, (void *)(intptr_t)fd);
        pthread_detach(thread);
    }
}

__attribute__((unused)) static void server_start(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    pthread_t thread;
    server.fd = socket(AF_INET, SOCK_STREAM, 0);
    bind(server.fd, (struct sockaddr *)&address, sizeof address);
    listen(server.fd, 64);
    getsockname(server.fd, (struct sockaddr *)&address, &len);
    server.port = ntohs(address.sin_port);
    pthread_create(&thread, NULL, accept_all, NULL);
    pthread_detach(thread);
}

#endif
