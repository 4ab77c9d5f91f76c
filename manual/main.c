/* Writes one page or completion to standard output: make-manual NAME DATE. */
#include <apr_general.h>
#include <stdio.h>
#include <string.h>

#include "core/base/context.h"
#include "manual/page.h"

static const struct {
    const char *name;
    page_writer *write;
} pages[] = {
    {"idadminctl.1", page_idadminctl},          {"idadmin-worker.8", page_worker},
    {"idadmin-writer.8", page_writer_process},  {"idadmin.conf.5", page_config},
    {"idadmin-tenant.5", page_tenant},          {"mod_idadmin.8", page_module},
    {"idadminctl.bash", completion_idadminctl}, {"idadmin-worker.bash", completion_worker},
    {"tenant-schema.json", schema_tenant},      {"openapi.json", openapi},
};

int main(int argc, char **argv)
{
    apr_pool_t *pool;
    size_t i = 0;
    while (argc == 3 && i < sizeof pages / sizeof *pages && strcmp(pages[i].name, argv[1]) != 0) {
        i++;
    }
    if (argc != 3 || i == sizeof pages / sizeof *pages || apr_initialize() != APR_SUCCESS) {
        fputs("usage: make-manual NAME DATE\n", stderr);
        return 2;
    }
    apr_pool_create(&pool, NULL);
    pages[i].write(pool, argv[2]);
    apr_terminate();
    return fflush(stdout) || ferror(stdout);
}
