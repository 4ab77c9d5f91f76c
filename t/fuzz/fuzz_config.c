/* idadmin.conf: read as the programs read it, from a file without a name. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/text.h"
#include "t/fuzz/fuzz_copy.h"
#include "worker/base/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char name[64];
    ida_ctx *c = fuzz_context();
    if (fd < 0) {
        fd = memfd_create("idadmin.conf", MFD_CLOEXEC);
        FUZZ_HOLDS(fd >= 0);
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        unsetenv("IDADMIN_STORE");
    }
    FUZZ_HOLDS(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    worker_config config;
    ida_kind kind = worker_config_read(c, c->pool, name, NULL, &config);
    fuzz_told(c, kind);
    if (kind) {
        FUZZ_HOLDS(ida_utf8_valid(c->message, strlen(c->message)));
    } else {
        FUZZ_HOLDS(config.store && config.spool && config.seal_key && config.threads >= 1 &&
                   config.threads <= 64);
        FUZZ_HOLDS(config.stop_timeout >= 0 && worker_level_parse(config.log_level) >= 0);
    }
    char *text = fuzz_text(data, size);
    FUZZ_HOLDS(worker_duration_parse(text) >= -1);
    free(text);
    return 0;
}
