/* The members of a create or update payload and the API's properties for them. Pure. */
#ifndef WORKER_GRAPH_FIELD_H
#define WORKER_GRAPH_FIELD_H

#include <stddef.h>

#include "core/model/payload.h"

typedef struct graph_field {
    const char *property;
    size_t value;     /* offset in ida_create */
    const char *name; /* of the payload's member */
} graph_field;

/* Ends with an entry without property. The middle name has none. */
extern const graph_field graph_fields[];

/* The value of a payload, NULL when there is none. */
const char *graph_field_value(const ida_create *person, const graph_field *field);
/* By the payload's name; NULL when the API has no property for it. */
const graph_field *graph_field_named(const char *name);
/* The payload's name of a property that the directory refuses, or NULL. */
const char *graph_field_of(const char *property);

#endif
