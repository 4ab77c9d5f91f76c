/* Requests of the API: one authenticated exchange, what is worth repeating, lists page by page. */
#ifndef WORKER_GRAPH_REQUEST_H
#define WORKER_GRAPH_REQUEST_H

#include "worker/graph/call.h"

typedef enum graph_effect { GRAPH_READ, GRAPH_WRITE } graph_effect;

typedef struct graph_request {
    const char *method; /* "GET", "POST", "PATCH", "PUT", "DELETE" */
    const char *url;    /* absolute; refused (DIRECTORY_CONFIG) unless of the session's origin */
    const json_t *json; /* body, or NULL */
    const void *bytes;  /* body that is no JSON (a photo), with its type */
    size_t bytes_len;
    const char *bytes_type;
    const char *const *headers; /* further headers "Name: value", NULL-terminated, or NULL */
    int cost;                   /* resource units that the service counts; 0: 1 */
    int sync; /* of a sync run: gives way to others, its answer may be long, and each page has a
                 call's time to itself */
    const char *doing; /* for messages: "creating the user" */
} graph_request;

typedef struct graph_answer {
    int status;          /* 0: none came */
    json_t *json;        /* body; NULL when empty or no JSON; belongs to the call's pool */
    const char *code;    /* error.code, or "" */
    const char *message; /* error.message, cleaned, or "" */
    const char *detail_code, *detail_target; /* first of error.details, or "" */
    const char *location;                    /* header, or NULL */
    const char *used, *used_for; /* which limit is partly used, and how much, as reported; or
                                    NULL */
    int retry_after_ms;          /* -1: not told */
    int sent_before; /* of graph_write: this answers a repetition, and an earlier sending may have
                        taken effect */
} graph_answer;

/* Token, pacing, request, a 401 with one new token, classification. DIRECTORY_OK for any 2xx.
 * Every other class sets the error, and `answer` has the response, so that callers can interpret
 * a 400 or 404: 404 is DIRECTORY_NOT_FOUND, 409 and 5xx of a read DIRECTORY_TRANSIENT, a lost or
 * truncated answer and a 5xx of a write DIRECTORY_UNSURE, 429 DIRECTORY_THROTTLED with
 * retry_after_s. Repeats nothing but a 401. `answer` may not be NULL. */
directory_class graph_send(graph_call *k, graph_effect effect, const graph_request *request,
                           graph_answer *answer);
/* A read, repeated once if the answer was lost or the server failed. */
directory_class graph_read(graph_call *k, const graph_request *request, graph_answer *answer);
/* A write that may be carried out twice without harm: repeated while its outcome is unknown or it
 * collided with another, as long as the call's time lasts. */
directory_class graph_write(graph_call *k, const graph_request *request, graph_answer *answer);

/* A 400 about an object that is named but not, or not yet, known. */
int graph_missing_reference(const graph_answer *answer);
/* The message or any detail has the text (any case). */
int graph_answer_says(const graph_answer *answer, const char *text);
/* "/directoryObjects/{id}", "/users/{id}" as @odata.id: {"@odata.id": url}. Belongs to the call's
 * pool. */
json_t *graph_reference(graph_call *k, const char *url);

/* --- lists (worker/graph/page.c) --- */

/* What to do with an item; a class other than DIRECTORY_OK ends the list. The item is gone after
 * the call unless graph_keep keeps it. */
typedef directory_class (*graph_item)(void *baton, json_t *item);

typedef struct graph_list {
    graph_request request; /* of the first page; its address becomes that of each further one */
    graph_answer answer;   /* the last one; its texts last as long as the page */
    const char *next;      /* link of the next page; NULL: this was the last one */
    const char *delta;     /* link of the next round, as the last page of a delta round names it */
    int pages;             /* read */
} graph_list;

/* The page at list->request.url, in the call's pool: its items to `each`, its links to the list. */
directory_class graph_page(graph_call *k, graph_list *list, graph_item each, void *baton);
/* All pages, in memory one at a time. Links that lead in a circle are a failure. */
directory_class graph_each(graph_call *k, graph_list *list, graph_item each, void *baton);
/* The item for as long as the pool lasts. */
json_t *graph_keep(apr_pool_t *pool, json_t *item);

#endif
