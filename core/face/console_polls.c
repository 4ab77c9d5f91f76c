/* Owns which polls of the console are recorded: an answer "nothing new" once an hour for each
 * person, operation and company, not with every poll of an open tab. Must not know people or
 * operations: it compares hashes. */
#include <stdatomic.h>

#include "core/face/console.h"

#define SLOTS 4096 /* two polls that share a slot cause a superfluous record; 32 KB */

static _Atomic uint64_t polls[SLOTS];

static uint64_t mixed(uint64_t h, const char *text)
{
    for (; *text; text++) {
        h = (h ^ (unsigned char)*text) * 1099511628211u; /* FNV-1a */
    }
    return (h ^ 0xff) * 1099511628211u;
}

int ida_console_first_poll(const ida_call *call)
{
    uint64_t hour = (uint64_t)(ida_now(call->c->env) / 3600000);
    uint64_t h = mixed(14695981039346656037u ^ hour, call->asked->principal->username);
    h = mixed(mixed(h, call->asked->operation->name), call->asked->principal->company);
    return atomic_exchange(&polls[h % SLOTS], h) != h;
}
