/* People for the tests of writes to a directory: creations, lookups, and checks of answers.
 * Included after slapd.h. */
#ifndef T_UNIT_LDAP_PEOPLE_H
#define T_UNIT_LDAP_PEOPLE_H

#include "t/unit/slapd.h"

/* A person with every field, with letters and characters that need escaping. */
__attribute__((
    unused)) static const ida_create asa_oberg = {.firstname = "Åsa",
                                                  .surname = "Öberg",
                                                  .middle_name = "Maria Elisabet",
                                                  .job_title = "Säljare, \"nord\" <1>",
                                                  .department = "Sales",
                                                  .company = "Nordic AB",
                                                  .office = "HQ",
                                                  .city = "Malmö",
                                                  .country = "SE",
                                                  .country_is_code = 1,
                                                  .street_address = "Storgatan 1\nc/o Lind",
                                                  .postal_code = "211 22",
                                                  .preferred_language = "sv-SE",
                                                  .employee_id = "4711",
                                                  .account_enabled = 1};

/* Bytes that begin like a JPEG and contain those that filters and DNs escape. */
__attribute__((unused)) static const unsigned char jpeg[] = {0xff, 0xd8, 0xff, 0xe0, 0,   16, 'J',
                                                             'F',  'I',  'F',  0,    1,   2,  '(',
                                                             ')',  '*',  '\\', 0xff, 0xd9};

/* A creation whose mail is its UPN. */
__attribute__((unused)) static directory_create creation(const ida_create *person,
                                                         const char *local, const char *marker)
{
    directory_create c = {.person = person,
                          .local = local,
                          .marker = marker,
                          .password = "First-Passw0rd-of-24-char"};
    c.display_name = apr_pstrcat(pool, person->firstname, " ", person->surname, NULL);
    c.upn = c.mail = apr_pstrcat(pool, local, "@nordic.example", NULL);
    return c;
}

/* ID of the account with that UPN; "nobody": there is none. */
__attribute__((unused)) static char *id_of(directory *d, const char *local)
{
    directory_error e;
    directory_user user = {0};
    directory_ops_for(IDA_DIR_ON_PREMISES)
        ->find(d, pool, NULL, apr_pstrcat(pool, local, "@nordic.example", NULL), &user, &e);
    return apr_pstrdup(pool, user.id ? user.id : "nobody");
}

/* 1 if a warning in the answer contains `text`. */
__attribute__((unused)) static int warned(const directory_user *user, const char *text)
{
    for (int i = 0; user->warnings && user->warnings[i]; i++) {
        if (strstr(user->warnings[i], text)) {
            return 1;
        }
    }
    return 0;
}

/* The membership in the group with that name; NULL: none. */
__attribute__((unused)) static const directory_membership *membership(
    const directory_membership *rows, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(rows[i].group_name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

#endif
