/* What a directory keeps and can, as far as this depends on the connector that serves it. A
 * directory kind is a place where accounts live; which connector serves the place is decided by the
 * tables here and in worker/connectors.c alone. */
#ifndef CORE_TENANT_CONNECTOR_H
#define CORE_TENANT_CONNECTOR_H

#include <stddef.h>

#include "core/tenant/tenant.h"

typedef struct ida_connector {
    size_t photo_max; /* bytes of a photo (thumbnailPhoto: 100 KB; Graph: 4 MB) */
    int shows_writes; /* what was written is in every later answer of the server */
    int has_guests;
    int locks_out; /* each refused sign-in counts towards a lock of our own account */
} ida_connector;

const ida_connector *ida_connector_of(ida_directory_kind where);

#endif
