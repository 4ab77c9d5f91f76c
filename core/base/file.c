/* Owns owner and mode of files that one user creates and others use. */
#include "core/base/file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

int ida_file_place(int fd, mode_t mode, uid_t owner, gid_t group)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return errno;
    }
    /* Two processes may arrive here together: both set the same owner, and the one that is not
     * the owner finds it set by the other. Only root can give a file away; a group of which the
     * process is not a member cannot be set: then the file keeps the creator's. */
    uid_t to = geteuid() == 0 ? owner : st.st_uid;
    if ((to != st.st_uid || group != st.st_gid) && fchown(fd, to, group) != 0 && errno != EPERM) {
        return errno;
    }
    return fchmod(fd, mode) == 0 || errno == EPERM ? 0 : errno;
}
