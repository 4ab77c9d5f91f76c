/* Files made from lists, one page at a time. */
#ifndef CORE_FACE_EXPORT_H
#define CORE_FACE_EXPORT_H

#include "core/face/answer.h"
#include "core/operation/export.h"

/* Headers of the answer that begins such a file. */
void ida_export_answer(ida_call *call, ida_rest_answer *answer);
/* Its media type. */
const char *ida_export_type(const ida_export *x);

/* Text of the current page, with the header row before the first; in `pool`. */
char *ida_export_text(apr_pool_t *pool, const ida_export *x, int first);

#endif
