/* Owns the form of mail addresses. Must not know how a mail is sent. */
#include "worker/base/address.h"

#include <apr_strings.h>
#include <string.h>

const char *mail_sender(apr_pool_t *pool, const char *from, const char **name)
{
    size_t len = strlen(from);
    const char *open = strrchr(from, '<');
    *name = "";
    if (!open || from[len - 1] != '>') {
        return from;
    }
    *name = apr_pstrmemdup(pool, from, (apr_size_t)(open - from));
    for (size_t end = strlen(*name); end && (*name)[end - 1] == ' '; end--) {
        ((char *)(uintptr_t)*name)[end - 1] = '\0';
    }
    return apr_pstrmemdup(pool, open + 1, (apr_size_t)(from + len - 1 - (open + 1)));
}

const char *mail_sender_fault(apr_pool_t *pool, const char *from)
{
    const char *name;
    return mail_address_fault(mail_sender(pool, from, &name))
               ? "must be an address, or a name and an address: Identity <identity@contoso.example>"
               : NULL;
}

const char *mail_address_fault(const char *address)
{
    static const char rule[] =
        "must be one mail address such as eva.berg@contoso.example, in ASCII letters";
    const char *at = strrchr(address, '@');
    size_t local = at ? (size_t)(at - address) : 0;
    if (!local || local > 64 || strlen(address) > 254 || address[0] == '.' || at[-1] == '.' ||
        address[0] == '-') {
        return rule;
    }
    for (size_t i = 0; i < local; i++) {
        unsigned char ch = (unsigned char)address[i];
        int letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
                     (ch >= '0' && ch <= '9');
        if (!letter && !strchr(".!#$%&'*+/=?^_`{|}~-", ch)) {
            return rule;
        }
    }
    size_t domain = strspn(at + 1,
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");
    return domain && !at[1 + domain] && at[1] != '.' && at[1] != '-' ? NULL : rule;
}
