/* Owns memory for secrets, and that memory freed by libraries contains none. Must not know what
 * secrets are for. */
#include "worker/base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/context.h"
#include "core/base/secret_path.h"
#include "core/base/web_user.h"

#ifndef __has_feature /* clang has this in place of gcc's macros */
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif

void secret_process_guard(void)
{
#ifndef SANITIZED /* the leak checker traces its own process */
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0,
          0); /* also effective if dumps are piped to a collector, which no limit stops */
#endif
}

char *secret_map(size_t size)
{
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    madvise(memory, size, MADV_DONTDUMP);
    madvise(memory, size, MADV_DONTFORK);
    mlock(memory, size);
    return memory;
}

void secret_unmap(char *memory, size_t size)
{
    if (memory) {
        OPENSSL_cleanse(memory, size);
        munmap(memory, size);
    }
}

const char *secret_file_read(apr_pool_t *pool, const char *member, const char *path, char *out,
                             size_t size, size_t *len)
{
    struct stat st;
    const char *named = path;
    *len = 0;
    if (!(path = ida_secret_path(pool, named))) {
        return ida_printf(pool,
                          "%s names %s, and this process was given no credentials: systemd gives "
                          "them to the service alone, by LoadCredential=%s:FILE",
                          member, named, ida_credential_name(named));
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        const char *fault = ida_printf(pool, "%s %s cannot be read: %s", member, path,
                                       fd < 0 ? strerror(errno) : "no plain file");
        if (fd >= 0) {
            close(fd);
        }
        return fault;
    }
    ssize_t got = 0;
    while (*len < size - 1 && (got = read(fd, out + *len, size - 1 - *len)) > 0) {
        *len += (size_t)got;
    }
    out[*len] = '\0';
    close(fd);
    if (st.st_mode & 07) {
        return ida_printf(pool, "%s %s can be read by others: chmod o= it", member, path);
    }
    if (got < 0 || *len == size - 1) {
        return ida_printf(pool, "%s %s cannot be read or holds more than %zu bytes", member, path,
                          size - 2);
    }
    const char *how = ida_web_user_may(pool, path, 1);
    if (how) {
        return ida_printf(pool, "%s %s %s", member, path, how);
    }
    return *len ? NULL : ida_printf(pool, "%s %s is empty", member, path);
}

/* --- memory of libraries --- */

void secret_free(void *memory)
{
    if (memory) {
        explicit_bzero(memory, malloc_usable_size(memory));
        free(memory);
    }
}

void *secret_realloc(void *memory, size_t size)
{
    size_t have = memory ? malloc_usable_size(memory) : 0;
    if (memory && size == 0) {
        secret_free(memory);
        return NULL;
    }
    if (memory && size <= have && size >= have / 2) {
        return memory;
    }
    void *moved = malloc(size);
    if (moved && memory) {
        memcpy(moved, memory, size < have ? size : have);
        secret_free(memory);
    }
    return moved;
}

static void *openssl_malloc(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return malloc(size);
}

static void *openssl_realloc(void *memory, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return secret_realloc(memory, size);
}

static void openssl_free(void *memory, const char *file, int line)
{
    (void)file, (void)line;
    secret_free(memory);
}

void secret_memory_init(void)
{
    json_set_alloc_funcs(malloc, secret_free);
    if (!CRYPTO_set_mem_functions(openssl_malloc, openssl_realloc, openssl_free)) {
        fputs("OpenSSL took memory before its allocator was set\n", stderr);
        abort();
    }
}
