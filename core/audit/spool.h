/* The audit spool of a web node: httpd's children append to it and the worker reads it. This header
 * is the contract of both sides. Knows neither httpd nor the store.
 *
 * Place: one directory for each node (IdAdminAuditSpool, `spool` of idadmin.conf). httpd's children
 * and the worker must both be able to create and remove files in it: it belongs to the worker's
 * user and to the group that httpd's user is in, with mode 2770.
 *
 * Segment: one file for each UTC minute, "YYYYMMDDHHMM.audit" (202611210930.audit), mode 0640, to
 * which every child of the node appends. A name may be used again after its removal (a writer that
 * slept over the minute, a clock that was set back): the new file begins at position 0. A file with
 * such a name that is not a regular file is not a segment: it is skipped and logged.
 *
 * Record: RS (0x1E), JSON text of audit_encode, LF: at most AUDIT_MAX bytes in one write(2) to a
 * descriptor opened O_APPEND, so records never mix. JSON escapes control characters, so every RS
 * begins a record. A record without its LF before the next RS, or before the end of a segment that
 * has no writer any more, is torn: skipped and counted. One for which audit_spool_may_hold returns
 * 0 is recorded as damaged, and logged.
 *
 * Writer: opens with O_APPEND|O_CREAT, takes flock LOCK_SH, and opens again if the file has no name
 * left (fstat nlink 0): a reader removed it between open and lock. Holds the lock until the minute
 * is over (audit_spool_close_old) or its process ends. Writes a record before the answer that it
 * records is sent; a failed or short write is an error of that request.
 *
 * Reader: holds audit_spool_reader_lock of the directory: one reader at a time. May read any
 * segment at any time without a lock, whole records only (audit_spool_next with final 0), and
 * stores its position with the rows. May remove a segment when its minute has passed and
 * audit_spool_seal got the exclusive lock, in this order: seal, read the rest with final 1, commit,
 * delete the stored position, unlink, close (releases the lock). Deleting the position before the
 * unlink means that after a crash between the two the segment is read again from 0, which the
 * records' rid makes harmless; the other order could leave an old position for a new file with the
 * same name, and lose records. */
#ifndef CORE_AUDIT_SPOOL_H
#define CORE_AUDIT_SPOOL_H

#include <apr_pools.h>

#include "core/audit/audit.h"

/* the category of httpd's records; a record with another claim is not trusted */
#define AUDIT_SPOOL_CATEGORY "api"
#define AUDIT_CONSOLE_ENDPOINT "console " /* what the console's endpoints begin with */

/* Whether httpd can have written the record: about its API in its own category, about the
 * console, which is httpd's too, as `portal` with the console's endpoint. It changes nothing, so
 * its records have no marks. */
int audit_spool_may_hold(const audit_record *record);
#define AUDIT_SPOOL_SUFFIX ".audit"
#define AUDIT_SPOOL_NAME_SIZE 24 /* bytes of a segment name with its terminator, rounded up */
#define AUDIT_SPOOL_READER_LOCK ".reader" /* file in the directory */
#define AUDIT_SPOOL_RS '\x1e'

/* --- names --- */

void audit_spool_name(int64_t at_ms, char name[AUDIT_SPOOL_NAME_SIZE]);
/* Start of the segment's minute in ms UTC; -1 when `name` is not that of a segment. */
int64_t audit_spool_minute(const char *name);
/* 1 when the segment's minute has passed at now_ms. */
int audit_spool_is_over(const char *name, int64_t now_ms);

/* --- framing --- */

/* RS + json + LF into out; number of bytes, or 0 when they would be more than AUDIT_MAX or the text
 * holds an RS or LF. */
size_t audit_spool_frame(const char *json, size_t len, char out[AUDIT_MAX]);

/* Longest JSON text that audit_spool_frame takes: what to give audit_encode as its `max`. */
#define AUDIT_SPOOL_JSON_MAX (AUDIT_MAX - 2)

/* Walks a buffer that begins at a record's boundary (position 0 or where an earlier walk stopped).
 */
typedef struct audit_spool_scan {
    const char *bytes;
    size_t len;
    /* 1: no writer is left (sealed), an unterminated record at the end is torn; 0: the rest of
     * it may still be written, and it stays unread */
    int final;
    size_t at;    /* out: everything before is done with; what to add to the stored position */
    int64_t torn; /* out: torn records skipped so far */
} audit_spool_scan;

/* Next whole record (JSON text, not terminated, borrowed from the buffer). 0 at the end. With final
 * 0, a buffer of at least 2 * AUDIT_MAX bytes always makes progress, whatever the bytes. */
int audit_spool_next(audit_spool_scan *scan, const char **json, size_t *json_len);

/* --- writer: one a process, all threads --- */

typedef struct audit_spool_writer audit_spool_writer;

/* Makes the handle; opens nothing. To be made after fork. `pool` closes it. NULL when a mutex could
 * not be made. */
audit_spool_writer *audit_spool_writer_make(apr_pool_t *pool, const char *directory);

/* Appends one record to the segment of now_ms. 0, or an errno: EMSGSIZE (does not fit, or is not
 * one line), EIO (short write), ENOSPC, EACCES ... */
int audit_spool_append(audit_spool_writer *writer, int64_t now_ms, const char *json, size_t len);

/* Closes a segment whose minute has passed, so that the reader may remove it. Called about once
 * a second besides appending. */
void audit_spool_close_old(audit_spool_writer *writer, int64_t now_ms);

/* --- reader --- */

/* Descriptor of a segment to read, a regular file: -1 with errno, EINVAL if the name belongs to
 * something else (a FIFO, a socket, a link, a directory). Never waits. */
int audit_spool_open(const char *path);

/* Descriptor that holds the directory's reader lock until it is closed; -1 with errno
 * EWOULDBLOCK if another reader has it, otherwise the reason. Writers can create any file in the
 * directory, so only a file that they cannot open is locked: any other with the name is removed
 * and created again, mode 0600, owned by the directory's owner. */
int audit_spool_reader_lock(const char *directory);

/* Exclusive lock on an open segment without waiting: 1 when no writer is left and none can come
 * (the caller now reads to the end and unlinks before it closes fd), 0 while a writer holds it, -1
 * with errno on failure. */
int audit_spool_seal(int fd);

#endif
