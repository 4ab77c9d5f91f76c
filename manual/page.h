/* Writing mdoc(7) to standard output, and the pages by name. */
#ifndef MANUAL_PAGE_H
#define MANUAL_PAGE_H

#include <apr_pools.h>

#include "worker/base/arguments.h"

/* .Dd, .Dt, .Os, NAME. `date`: "November 26, 2026". */
void page_begin(const char *date, const char *title, const char *section, const char *name,
                const char *about);
/* A line as it is: a macro, or text that is mdoc already. */
void page_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Text for people: `code` in bold, a line for each sentence, long ones broken, what mdoc takes for
 * its own escaped. */
void page_text(const char *text);
/* The same within a line, for arguments of macros: quoted. In the caller's pool. */
const char *page_word(apr_pool_t *pool, const char *text);
/* .It of a tagged list: macro and words, and the text below. */
void page_item(const char *head, const char *text);

/* A list of options. */
void page_options(apr_pool_t *pool, const argument_option *rows);

typedef void page_writer(apr_pool_t *pool, const char *date);
page_writer page_idadminctl, page_worker, page_config, page_tenant, page_module,
    page_writer_process;

/* The JSON Schema of tenant documents, the OpenAPI description of the REST face. */
page_writer schema_tenant, openapi;

/* Completion of bash for idadminctl and idadmin-worker. */
page_writer completion_idadminctl, completion_worker;

#endif
