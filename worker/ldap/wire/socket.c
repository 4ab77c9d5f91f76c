/* Owns bounded connecting. Must not know LDAP. */
#include "worker/ldap/wire/socket.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* getaddrinfo waits for name servers as long as resolv.conf says, which may exceed our limit. So
 * it runs in a thread; of the thread and its caller the last one to finish frees the lookup. */
typedef struct lookup {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int done, abandoned, code;
    struct addrinfo *addresses;
    char port[8];
    char host[];
} lookup;

static void lookup_free(lookup *l)
{
    if (l->addresses) {
        freeaddrinfo(l->addresses);
    }
    pthread_cond_destroy(&l->ended);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static int resolve(const char *host, const char *port, int flags, struct addrinfo **addresses)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV | flags};
    *addresses = NULL;
    return getaddrinfo(host, port, &hints, addresses);
}

static void *lookup_run(void *baton)
{
    lookup *l = baton;
    struct addrinfo *addresses;
    int code = resolve(l->host, l->port, AI_ADDRCONFIG, &addresses);
    pthread_mutex_lock(&l->lock);
    l->code = code;
    l->addresses = code == 0 ? addresses : NULL;
    l->done = 1;
    int abandoned = l->abandoned;
    pthread_cond_signal(&l->ended);
    pthread_mutex_unlock(&l->lock);
    if (abandoned) {
        lookup_free(l);
    }
    return NULL;
}

static int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct addrinfo *look_up(apr_pool_t *pool, const char *host, const char *port, int64_t end,
                                const char **fault)
{
    struct addrinfo *addresses;
    if (resolve(host, port, AI_NUMERICHOST, &addresses) == 0) {
        return addresses;
    }
    lookup *l = calloc(1, sizeof *l + strlen(host) + 1);
    if (!l) {
        *fault = "no memory";
        return NULL;
    }
    memcpy(l->host, host, strlen(host) + 1);
    snprintf(l->port, sizeof l->port, "%s", port);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->ended, &clock);
    pthread_condattr_destroy(&clock);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int started = pthread_create(&thread, &detached, lookup_run, l);
    pthread_attr_destroy(&detached);
    if (started != 0) {
        lookup_free(l);
        *fault = "no thread for the name look-up";
        return NULL;
    }
    struct timespec until = {.tv_sec = end / 1000, .tv_nsec = end % 1000 * 1000000};
    pthread_mutex_lock(&l->lock);
    while (!l->done && pthread_cond_timedwait(&l->ended, &l->lock, &until) != ETIMEDOUT) {}
    int finished = l->done;
    l->abandoned = !finished;
    pthread_mutex_unlock(&l->lock);
    if (!finished) {
        *fault = "the look-up of its name did not end in time";
        return NULL;
    }
    addresses = l->addresses;
    l->addresses = NULL;
    if (!addresses) {
        *fault = apr_pstrcat(pool, "its name cannot be resolved: ", gai_strerror(l->code), NULL);
    }
    lookup_free(l);
    return addresses;
}

static int connect_one(apr_pool_t *pool, const struct addrinfo *a, int64_t end, const char **fault)
{
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (fd < 0) {
        *fault = apr_pstrcat(pool, "no socket: ", strerror(errno), NULL);
        return -1;
    }
    int error = connect(fd, a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        struct pollfd waiting = {.fd = fd, .events = POLLOUT};
        int ready = 0;
        for (int64_t left = end - clock_ms(); left > 0; left = end - clock_ms()) {
            ready = poll(&waiting, 1, (int)left);
            if (ready >= 0 || errno != EINTR) {
                break;
            }
        }
        socklen_t size = sizeof error;
        error = ETIMEDOUT;
        if (ready > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
            error = errno;
        }
    }
    if (error) {
        close(fd);
        *fault = apr_pstrcat(pool, "cannot connect: ", strerror(error), NULL);
        return -1;
    }
    int on = 1, idle_s = 60, interval_s = 10, probes = 3;
    unsigned unacknowledged_ms = 30000;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

int ld_socket_tcp(apr_pool_t *pool, const char *host, int port, int64_t ms, const char **fault)
{
    char service[8];
    int64_t end = clock_ms() + ms;
    snprintf(service, sizeof service, "%d", port);
    struct addrinfo *addresses = look_up(pool, host, service, end, fault);
    int fd = -1;
    for (struct addrinfo *a = addresses; a && fd < 0; a = a->ai_next) {
        if (clock_ms() >= end) {
            break;
        }
        /* Half of what is left for each but the last address, so that one black hole does not use
         * up the time of the others. */
        int64_t left = end - clock_ms();
        fd = connect_one(pool, a, a->ai_next ? clock_ms() + left / 2 : end, fault);
    }
    if (addresses) {
        freeaddrinfo(addresses);
    }
    return fd;
}

int ld_socket_local(apr_pool_t *pool, const char *path, const char **fault)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        *fault = "the path of its socket is too long";
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* A local connect waits only while the listener's queue is full; the bound on sending covers
     * that too. */
    if (fd < 0 || ld_socket_bound(fd, 5000) != 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        *fault = apr_pstrcat(pool, "cannot connect: ", strerror(errno), NULL);
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

int ld_socket_bound(int fd, int64_t ms)
{
    struct timeval bound = {.tv_sec = (time_t)(ms / 1000),
                            .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound) != 0 ||
           setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound) != 0;
}

int ld_socket_stirs(int fd)
{
    struct pollfd look = {.fd = fd, .events = POLLIN | POLLRDHUP};
    return poll(&look, 1, 0) != 0;
}
