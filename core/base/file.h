/* Files that the first process to come creates and others use. */
#ifndef CORE_BASE_FILE_H
#define CORE_BASE_FILE_H

#include <sys/types.h>

/* Gives a file that was just made its mode, group and, as root, its owner; changes nothing that is
 * so already. 0 or errno. */
int ida_file_place(int fd, mode_t mode, uid_t owner, gid_t group);

#endif
