/* The outcome of an exchange, with or without an answer. */
#ifndef WORKER_GRAPH_ANSWER_H
#define WORKER_GRAPH_ANSWER_H

#include "worker/base/http.h"
#include "worker/graph/request.h"

/* Interprets an answer of the API; graph_send documents the result. Changes the body's bytes. */
directory_class graph_answer_read(graph_call *k, graph_effect effect, const graph_request *request,
                                  const http_answer *raw, graph_answer *answer);

/* Class and error of an exchange without answer: "URL: DOING: why". */
directory_class graph_fail_outcome(graph_call *k, http_outcome outcome, graph_effect effect,
                                   const char *url, const char *doing, const http_answer *answer);

#endif
