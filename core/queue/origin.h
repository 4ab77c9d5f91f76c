/* Tasks that no audit record queued. */
#ifndef CORE_QUEUE_ORIGIN_H
#define CORE_QUEUE_ORIGIN_H

#include "core/store/origin.h"

ida_kind queue_origins(store *s, ida_ctx *c, const char *tenant, store_origins *out);

#endif
