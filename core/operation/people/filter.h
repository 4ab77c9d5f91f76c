/* Arguments of a people search as the cache's filter, and people as its rows show them. */
#ifndef CORE_OPERATION_PEOPLE_FILTER_H
#define CORE_OPERATION_PEOPLE_FILTER_H

#include "core/cache/people.h"
#include "core/operation/operation.h"

/* Rows of the arguments that ida_people_filter reads. */
#define IDA_PEOPLE_PARAMS                                                                     \
    {"query", IDA_PARAM_STRING, .max = 256,                                                   \
     .about = "Beginnings of words of name, UPN, mail, job title, department, company or "    \
              "employee ID, e.g. \"eva ber\"; case and accents do not matter."},              \
        {"department", IDA_PARAM_STRING, .max = 256, .about = "Whole name, e.g. \"Sales\"."}, \
        {"jobTitle", IDA_PARAM_STRING, .max = 256, .about = "Whole title."},                  \
        {"company", IDA_PARAM_STRING, .max = 256, .about = "Whole name."},                    \
        {"employeeId", IDA_PARAM_STRING, .max = 256, .about = "Exactly as written."},         \
        {"manager", IDA_PARAM_STRING, .max = 256, .about = "Whose reports: ID or UPN."},      \
        {"group", IDA_PARAM_STRING, .max = 256, .right = IDA_ACCESS_READ,                     \
         .about = "Its members, nested too: ID or unique name."},                             \
        {"license", IDA_PARAM_STRING, .max = 256, .about = "Holders, e.g. \"SPE_E3\"."},      \
        {"status", IDA_PARAM_STRING, .allowed = ida_people_statuses,                          \
         .about = "active: enabled members; guest: all guests."},                             \
        {"createdAfter", IDA_PARAM_TIME, .about = "At or after this date or time."},          \
        {"createdBefore", IDA_PARAM_TIME, .about = "Before this date or time."},              \
        {"lastSignInBefore", IDA_PARAM_TIME,                                                  \
         .about = "Before this date or time, or never; e.g. 2026-06-30."},                    \
        {"lastSignInAfter", IDA_PARAM_TIME, .about = "At or after it."},                      \
    {                                                                                         \
        "inactiveDays", IDA_PARAM_INTEGER,                                                    \
            .min = 1, .max = 36500,                                                           \
            .about = "No successful sign-in, else sign-in, else creation for so many "        \
                     "days."                                                                  \
    }
extern const char *const ida_people_statuses[];

/* All people who match the arguments, from the first on. Refusals name the argument. Runs in the
 * operation's snapshot. */
ida_kind ida_people_filter(ida_call *call, cache_people_filter *filter);

#endif
