/* Files that the first process creates and all use, and copies of files. */
#ifndef CORE_BASE_FILE_H
#define CORE_BASE_FILE_H

#include <sys/types.h>

/* Sets the mode, group and, as root, the owner of a file that was just created; changes nothing
 * that is already so. If the group cannot be set, no group may write. 0 or errno. */
int ida_file_place(int fd, mode_t mode, uid_t owner, gid_t group);

/* Sets group and mode of a regular file with one name that others may be using. Does not open it,
 * because closing a file of SQLite frees the locks that the process holds on it. 0 or errno. */
int ida_file_share(const char *path, gid_t group, mode_t mode);

/* Copies to a file that must not be there yet, with mode, owner and group as above; it is on the
 * disk when the function returns. Nothing is left after a failure. 0 or errno. */
int ida_file_copy(const char *from, const char *to, mode_t mode, uid_t owner, gid_t group);
/* Writes the bytes to such a file. */
int ida_file_write(const char *to, const void *bytes, size_t len, mode_t mode, uid_t owner,
                   gid_t group);

#endif
