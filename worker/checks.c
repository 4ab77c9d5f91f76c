/* Owns the table of checks: which there are, in which order, in which walks. Must not know how one
 * is made. */
#include "worker/checks.h"

static const struct {
    unsigned scopes;
    void (*look)(check_look *look);
} rows[] = {
    {CHECK_MACHINE | CHECK_DIRECTORY | CHECK_SERVICE, check_users},
    {CHECK_MACHINE | CHECK_SERVICE, check_rights},
    {CHECK_MACHINE | CHECK_SERVICE, check_store},
    {CHECK_MACHINE | CHECK_SERVICE, check_keys},
    {CHECK_MACHINE, check_workers},
    {CHECK_MACHINE, check_database},
    {CHECK_MACHINE, check_mail},
    {CHECK_TENANT | CHECK_DIRECTORY | CHECK_SERVICE, check_secrets},
    {CHECK_TENANT | CHECK_SERVICE, check_zone},
    {CHECK_TENANT, check_api_keys},
    {CHECK_TENANT | CHECK_SERVICE, check_mastered},
    {CHECK_TENANT | CHECK_DOCUMENT | CHECK_SERVICE, check_directories},
    {CHECK_DIRECTORY, check_directory},
    {CHECK_TENANT | CHECK_DOCUMENT | CHECK_SERVICE, check_people},
    {CHECK_TENANT | CHECK_DOCUMENT, check_named},
};

void checks_walk(check_look *look, unsigned scopes)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].scopes & scopes) {
            rows[i].look(look);
            ida_ctx_clear(look->c);
        }
    }
}
