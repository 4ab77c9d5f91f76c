/* The writer as httpd knows it: its parent starts and follows writers, its children hand writes
 * over. */
#ifndef MOD_IDADMIN_WRITER_H
#define MOD_IDADMIN_WRITER_H

#include "mod_idadmin/module.h"

#include "core/wire/control.h"
#include "core/wire/wire.h"

/* --- writers.c: in the parent --- */

void writers_register(void);
/* 1 if there is a user and a program to write with; otherwise the reason has been logged. */
int writers_can_start(server_rec *s, writer_user *user);
/* post_config: starts a writer and a standby for the new generation; 0 if that failed, which was
 * logged. */
int writers_start(apr_pool_t *pconf, server_rec *s);
/* child_init: closes what is the parent's. */
void writers_child_init(void);
/* Of this generation, for its children: where they introduce themselves; whose hello they take. */
int writers_introductions(void);
uid_t writers_user(void);
const wire_beat *writers_beat(void); /* NULL: there is none to look at */

/* --- hand_over.c: in a child --- */

/* Hands a write over and waits for its answer. `texts`: ASKED_COUNT of them; the caller fills in
 * those of face and credentials, the request's are added. IDA_OK with `answer` filled,
 * call->task_id, and the call's record made if the writer has made none; IDA_SERVICE_UNAVAILABLE
 * in c if there is no answer. */
ida_kind writer_ask(request_rec *r, ida_call *call, const char **texts,
                    const ida_rest_request *request, ida_rest_answer *answer);
/* 1 if a writer greets a new connection within `ms`. */
int writer_answers(int ms);

/* --- handler.c: of REST and console --- */

ida_rest_request handler_request(request_rec *r, ida_question *asked);
/* Reads the body, runs a read and hands a write over with `texts` (writer_ask). OK with `answer`
 * filled, or a status for httpd with call->audit set. */
int handler_run(request_rec *r, ida_call *call, const char **texts, ida_rest_request *request,
                ida_rest_answer *answer);

#endif
