/* The administration console's JSON as a pure function, the third face of the operation table. The
 * glue of a web server calls the stages in this order: route (405) - other sites - address limit -
 * the server's own authentication - limit of the person - open - the company's tenant - admit
 * (404, 403, 415) - body (413) - run. */
#ifndef CORE_FACE_CONSOLE_H
#define CORE_FACE_CONSOLE_H

#include "core/face/answer.h"
#include "core/face/request.h"
#include "core/face/route.h"

/* Required on every write: a page of another site cannot send it. */
#define IDA_CONSOLE_HEADER "X-IdAdmin-Console"

extern const ida_face ida_console_face;

/* Fills the question's operation, endpoint and arguments, and, for `companyId`, its tenant,
 * principal and roles; the tenant stays NULL if there is no such company, or the person has no
 * role in it. Fails as the store does. */
ida_kind ida_console_open(ida_call *call, const ida_rest_request *request);

/* 404, 403, 400, 415. On refusal `answer` is the error; call->audit is its record if the company
 * is known. */
ida_kind ida_console_admit(ida_call *call, const ida_rest_request *request,
                           ida_rest_answer *answer);

/* 1 for the first answer "nothing new" to a person, operation, company and clock hour in this
 * process: later ones need no record. */
int ida_console_first_poll(const ida_call *call);

/* After ida_console_admit. A GET whose `if_none_match` matches the answer gets 304. */
void ida_console_run(ida_call *call, const ida_rest_request *request, ida_rest_answer *answer);

#endif
