/* Counters of refusals that may come by the thousand, in memory that httpd's children share. */
#ifndef CORE_OPERATION_REFUSALS_H
#define CORE_OPERATION_REFUSALS_H

#include "core/audit/audit.h"
#include "core/base/context.h"

typedef struct ida_refusals ida_refusals;

typedef enum ida_refusal_sort {
    IDA_REFUSAL_OF_KEY,    /* 429: one record for each minute and key */
    IDA_REFUSAL_OF_ADDRESS /* invalid credentials: one record for each minute, company and
                              address */
} ida_refusal_sort;

typedef struct ida_refused {
    ida_refusal_sort sort;
    const char *company, *username, *label, *address, *endpoint,
        *reason; /* label and reason: "" if there is none */
} ida_refused;

typedef ida_kind (*ida_refusals_write)(ida_ctx *c, const audit_record *record);

size_t ida_refusals_size(void);
void ida_refusals_format(ida_refusals *all);
/* Counts a refusal; those of a minute are written as one record when it is over. */
ida_kind ida_refusals_count(ida_refusals *all, ida_ctx *c, const ida_refused *one,
                            ida_refusals_write write);
/* Writes the records that are due; `early`: all. */
void ida_refusals_flush(ida_refusals *all, ida_ctx *c, int early, ida_refusals_write write);

#endif
