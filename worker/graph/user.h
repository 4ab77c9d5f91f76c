/* One user: reads, accounts that must never be changed, and what all changes have in common. */
#ifndef WORKER_GRAPH_USER_H
#define WORKER_GRAPH_USER_H

#include "worker/graph/request.h"
#include "worker/graph/value.h"

/* One user by ID or UPN, marker included; *raw (or NULL) gets the object. */
directory_class graph_user_get(graph_call *k, const char *key, directory_user *user, json_t **raw);
/* The same with other properties; `select` contains GRAPH_USER_SELECT. */
directory_class graph_user_select(graph_call *k, const char *key, const char *select,
                                  directory_user *user, json_t **raw);
/* The API's user as directory_user; 0 if it has no ID. */
int graph_user_read(graph_call *k, const json_t *json, directory_user *user);

/* Before any change of an account: PROTECTED with the reason if it must never be changed;
 * otherwise OK, or why that cannot be determined. (worker/graph/guard.c) */
directory_class graph_guard(graph_call *k, const char *id);
/* This session has just created the account itself: graph_guard need not read it. */
void graph_guard_clear(graph *g, const char *id);

/* ELSEWHERE: the user is synchronised from an on-premises directory. `to_do` for people: "disable".
 */
directory_class graph_mastered_elsewhere(graph_call *k, const directory_user *user,
                                         const char *to_do);
/* Puts a password into the body's passwordProfile and wipes the previous one (Jansson's memory
 * is wiped). NULL: removes the profile. (worker/graph/update.c) */
void graph_put_password(json_t *body, const char *password);
/* For a refused value: sets the error's field to the payload's name for it; returns `class`.
 * (worker/graph/update.c) */
directory_class graph_refused_property(graph_call *k, directory_class class,
                                       const graph_answer *answer);

#endif
