/* What the operations on API keys share. */
#ifndef CORE_OPERATION_COMPANY_KEYS_H
#define CORE_OPERATION_COMPANY_KEYS_H

#include "core/operation/operation.h"

/* Gives the failure of a statement about a key its reason, so that a page can phrase it: the
 * name is taken, or there is no such key. Returns the kind. */
ida_kind ida_key_refused(ida_ctx *c, ida_kind kind);

#endif
