/* What the cloud directory's statuses and codes mean as failure classes. Pure. */
#ifndef WORKER_GRAPH_ERROR_H
#define WORKER_GRAPH_ERROR_H

#include "worker/graph/request.h"

/* Class of an answer. `field` (or NULL) for a conflict: "upn", "mail". Empty texts if the body
 * contains none. */
directory_class graph_classify(graph_effect effect, int status, const char *code,
                               const char *detail_code, const char *detail_target,
                               const char **field);

/* What to do about a failure that people have to mend, or NULL. */
const char *graph_advice(int status, const char *code);

/* The same for the token endpoint: class by status, `error` and AADSTS number (0: none), and the
 * advice. */
directory_class graph_token_classify(int status, const char *error, int64_t aadsts,
                                     const char **advice);

#endif
