/* Files that the first process creates and all use. */
#ifndef CORE_BASE_FILE_H
#define CORE_BASE_FILE_H

#include <sys/types.h>

/* Sets the mode, group and, as root, the owner of a file that was just created; changes nothing
 * that is already so. 0 or errno. */
int ida_file_place(int fd, mode_t mode, uid_t owner, gid_t group);

#endif
