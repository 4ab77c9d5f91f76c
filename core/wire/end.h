/* Ends of sockets between httpd's processes and the writer. None of them is inherited by a program
 * that is started: they are made and received close-on-exec. Each message shows the process that
 * sent it, as the kernel vouches for it. */
#ifndef CORE_WIRE_END_H
#define CORE_WIRE_END_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "core/wire/wire.h"

/* Two ends, both of which show senders from the first message on. `type`: SOCK_STREAM or
 * SOCK_SEQPACKET. 0, or -1 with errno. */
int wire_pair(int type, int ends[2]);
void wire_close(int *end); /* and sets it to -1 */

/* Sends one message over a SOCK_SEQPACKET end, with a descriptor to pass on (-1: none). Does not
 * wait: 1, or 0 with errno. */
int wire_send(int end, const void *message, size_t len, int handed);
/* Bytes received, 0 at the end, -1 with errno (EAGAIN: there is nothing). `from`: the sender.
 * `*handed`: the attached descriptor, which the caller closes; -1: none. */
ssize_t wire_receive(int end, void *message, size_t len, struct ucred *from, int *handed);

/* --- of a SOCK_STREAM end: whole messages --- */

typedef enum wire_fate {
    WIRE_DONE,
    WIRE_SILENT, /* nothing moved for so long */
    WIRE_LOST    /* the other side has closed it, or broke the rules */
} wire_fate;

/* Writes all of it, waiting at most `silence_ms` at a time. */
wire_fate wire_write(int end, const void *bytes, size_t len, int silence_ms);
/* `from`: the sender of all these bytes; NULL: not needed. A second sender is WIRE_LOST. */
wire_fate wire_read(int end, void *bytes, size_t len, int silence_ms, struct ucred *from);
/* Head and texts, then the body. */
wire_fate wire_write_message(int end, wire_kind kind, const char *const *texts, int count,
                             const char *body, size_t body_len, int silence_ms);
/* 1 if the other side has closed it, even if unread bytes remain. Does not wait. */
int wire_is_left(int end);

#endif
