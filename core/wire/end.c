/* Owns sockets between processes: creating them, passing descriptors, waiting with a bound. Must
 * not know the content. */
#include "core/wire/end.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int wire_pair(int type, int ends[2])
{
    int on = 1;
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) {
        return -1;
    }
    /* Set it before the first message: the kernel adds no sender to earlier ones. */
    for (int i = 0; i < 2; i++) {
        if (setsockopt(ends[i], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
            int error = errno;
            close(ends[0]);
            close(ends[1]);
            errno = error;
            return -1;
        }
    }
    return 0;
}

void wire_close(int *end)
{
    if (*end >= 0) {
        close(*end);
    }
    *end = -1;
}

int wire_send(int end, const void *message, size_t len, int handed)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {(void *)message, len};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    if (handed >= 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof handed);
        memcpy(CMSG_DATA(c), &handed, sizeof handed);
    }
    ssize_t sent;
    do {
        sent = sendmsg(end, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)len;
}

/* Reads the sender and takes the first descriptor; further descriptors are closed. */
static void read_control(struct msghdr *m, struct ucred *from, int *handed)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET) {
            continue;
        }
        if (c->cmsg_type == SCM_CREDENTIALS) {
            memcpy(from, CMSG_DATA(c), sizeof *from);
        } else if (c->cmsg_type == SCM_RIGHTS) {
            size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t i = 0; i < count; i++) {
                int fd;
                memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
                if (*handed < 0) {
                    *handed = fd;
                } else {
                    close(fd);
                }
            }
        }
    }
}

ssize_t wire_receive(int end, void *message, size_t len, struct ucred *from, int *handed)
{
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(4 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {message, len};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    *from = (struct ucred){.pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1};
    *handed = -1;
    ssize_t got;
    do {
        got = recvmsg(end, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got >= 0) {
        read_control(&m, from, handed);
    }
    return got;
}

/* WIRE_DONE when the end is ready for `events`. */
static wire_fate ready(int end, short events, int silence_ms)
{
    struct pollfd one = {.fd = end, .events = events};
    int count;
    do {
        count = poll(&one, 1, silence_ms);
    } while (count < 0 && errno == EINTR);
    return count > 0 ? WIRE_DONE : count == 0 ? WIRE_SILENT : WIRE_LOST;
}

wire_fate wire_write(int end, const void *bytes, size_t len, int silence_ms)
{
    const char *at = bytes;
    while (len) {
        ssize_t sent = send(end, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            at += sent;
            len -= (size_t)sent;
        } else if (errno == EAGAIN) {
            wire_fate fate = ready(end, POLLOUT, silence_ms);
            if (fate) {
                return fate;
            }
        } else if (errno != EINTR) {
            return WIRE_LOST;
        }
    }
    return WIRE_DONE;
}

wire_fate wire_read(int end, void *bytes, size_t len, int silence_ms, struct ucred *from)
{
    char *at = bytes;
    while (len) {
        int handed;
        struct ucred sender;
        ssize_t got = wire_receive(end, at, len, &sender, &handed);
        wire_close(&handed); /* descriptors are not expected among bytes */
        if (got > 0) {
            if (from && at != (char *)bytes && sender.pid != from->pid) {
                return WIRE_LOST;
            }
            if (from) {
                *from = sender;
            }
            at += got;
            len -= (size_t)got;
        } else if (got < 0 && errno == EAGAIN) {
            wire_fate fate = ready(end, POLLIN, silence_ms);
            if (fate) {
                return fate;
            }
        } else {
            return WIRE_LOST;
        }
    }
    return WIRE_DONE;
}

wire_fate wire_write_message(int end, wire_kind kind, const char *const *texts, int count,
                             const char *body, size_t body_len, int silence_ms)
{
    size_t size = wire_size(texts, count);
    wire_head head = {(uint32_t)kind, (uint32_t)size, (uint32_t)body_len};
    char *message = malloc(sizeof head + size);
    if (!message) {
        abort(); /* out of memory for some kilobytes: as APR does */
    }
    memcpy(message, &head, sizeof head);
    wire_put(message + sizeof head, texts, count);
    wire_fate fate = wire_write(end, message, sizeof head + size, silence_ms);
    explicit_bzero(message, sizeof head + size); /* a key may be among the texts */
    free(message);
    return fate ? fate : wire_write(end, body, body_len, silence_ms);
}

int wire_is_left(int end)
{
    struct pollfd one = {.fd = end, .events = POLLRDHUP};
    return poll(&one, 1, 0) > 0;
}
