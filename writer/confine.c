/* Owns what the writer takes from itself at its start: new rights, other programs and processes,
 * sockets that it does not speak. Must not know what it goes on to do. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "writer/writer.h"

#ifdef __x86_64__
#define MACHINE 0xC000003E /* AUDIT_ARCH_ of linux/audit.h, whose names are taken here */
#else
#define MACHINE 0xC00000B7 /* aarch64 */
#endif

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)
#define SKIP_IF(what, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, what, yes, no)
#define COUNT(list) (sizeof list / sizeof *list)

static const unsigned refused[] = {
#ifndef __SANITIZE_ADDRESS__ /* looks for leaks by it */
    SYS_ptrace,
#endif
    /* clang-format off */
    SYS_execve, SYS_execveat, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd,
    SYS_perf_event_open, SYS_bpf, SYS_userfaultfd, SYS_io_uring_setup, SYS_keyctl, SYS_add_key,
    SYS_request_key, SYS_personality, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot,
    SYS_unshare, SYS_setns, SYS_open_by_handle_at, SYS_init_module, SYS_finit_module,
    SYS_kexec_load, SYS_reboot, SYS_bind, SYS_listen, SYS_accept, SYS_accept4,
    /* clang-format on */
};

int writer_confine(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    const struct sock_filter first[] = {LOAD(arch),
                                        SKIP_IF(MACHINE, 1, 0),
                                        ANSWER(SECCOMP_RET_KILL_PROCESS),
                                        LOAD(nr),
                                        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0,
                                                 1), /* the other ABI of x86-64 */
                                        ANSWER(SECCOMP_RET_KILL_PROCESS)};
    const struct sock_filter last[] = {
        SKIP_IF(SYS_socket, 0, 5), LOAD(args[0]), /* its lower half */
        SKIP_IF(AF_UNIX, 3, 0),    SKIP_IF(AF_INET, 2, 0),
        SKIP_IF(AF_INET6, 1, 0),   ANSWER(SECCOMP_RET_ERRNO | EAFNOSUPPORT),
        ANSWER(SECCOMP_RET_ALLOW)};
    struct sock_filter all[COUNT(first) + 2 * COUNT(refused) + COUNT(last)], *at = all;
    memcpy(at, first, sizeof first);
    at += COUNT(first);
    for (size_t i = 0; i < COUNT(refused); i++) {
        *at++ = (struct sock_filter)SKIP_IF(refused[i], 0, 1);
        *at++ = (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | EPERM);
    }
    memcpy(at, last, sizeof last);
    const struct sock_fprog program = {COUNT(all), all};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0; /* no rules for this machine */
#endif
}
