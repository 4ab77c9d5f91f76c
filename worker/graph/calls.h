/* What the files about users, groups and licences share beyond worker/graph/graph.h: requests worth
 * repeating, users as read, refusals in words that name the permission. */
#ifndef WORKER_GRAPH_CALLS_H
#define WORKER_GRAPH_CALLS_H

#include "worker/graph/graph.h"

/* A read, repeated once when it was lost or the server failed. */
directory_class graph_read(graph_call *k, const graph_request *request, graph_answer *answer);
/* A write that may be carried out twice without harm: repeated while its outcome is unknown or it
 * collided with another, as long as the call's time lasts. */
directory_class graph_write(graph_call *k, const graph_request *request, graph_answer *answer);

/* Sleeps `ms`, less when the call's time is short; 0 when there is no time left for another
 * request. */
int graph_pause(graph_call *k, int ms);

/* The class to return: forgets the error of a success. */
directory_class graph_end(graph_call *k, directory_class class);
/* Names the application permission that a FORBIDDEN stands for; other classes stay. `privileged`:
 * the account may hold a role that needs more than a permission. */
directory_class graph_needs(graph_call *k, directory_class class, const char *permission,
                            int privileged);

/* A 400 about an object that is named but not (yet) known: contract 6, rule 4. */
int graph_missing_reference(const graph_answer *answer);
/* The message or any detail has the text (any case). */
int graph_answer_says(const graph_answer *answer, const char *text);

/* One user by ID or UPN, marker included; *raw (or NULL) gets the object. */
directory_class graph_user_get(graph_call *k, const char *key, directory_user *user, json_t **raw);
/* The same with other properties; `select` holds GRAPH_USER_SELECT. */
directory_class graph_user_select(graph_call *k, const char *key, const char *select,
                                  directory_user *user, json_t **raw);
/* The API's user as directory_user; 0 when it has no ID. */
int graph_user_read(graph_call *k, const json_t *json, directory_user *user);

/* Before any change of an account: PROTECTED with the reason when it is never changed; else OK, or
 * why that cannot be known. */
directory_class graph_guard(graph_call *k, const char *id);
/* The account is our own work of this moment: not looked at. */
void graph_guard_clear(graph *g, const char *id);

/* INVALID: the user is synchronised from an on-premises directory. `to_do` for people: "disable".
 */
directory_class graph_mastered_elsewhere(graph_call *k, const directory_user *user,
                                         const char *to_do);

/* "/directoryObjects/{id}", "/users/{id}" as @odata.id: {"@odata.id": url}. Belongs to the call's
 * pool. */
json_t *graph_reference(graph_call *k, const char *url);

/* Pages of a collection: calls `each` for every item until the end. */
typedef void (*graph_item)(graph_call *k, json_t *item, void *baton);
directory_class graph_each(graph_call *k, const graph_request *first, graph_item each, void *baton);

/* --- values (worker/graph/update.c) --- */

/* Puts a password into the body's passwordProfile; the one that was there is wiped. NULL: the
 * profile is taken out. */
void graph_put_password(json_t *body, const char *password);
/* Of a refused value sets the error's field to the payload's name for it; returns `class`. */
directory_class graph_refused_property(graph_call *k, directory_class class,
                                       const graph_answer *answer);

/* --- licences (worker/graph/license.c) --- */

/* Reads the directory's licences unless that was done lately; `force`: anyway. Their names then
 * hold for the whole process. */
directory_class graph_license_load(graph_call *k, int force);
/* Part number of a SKU, copied into `pool`; the ID itself while it is not known. */
const char *graph_license_name(const graph *g, apr_pool_t *pool, const char *sku_id);

#endif
