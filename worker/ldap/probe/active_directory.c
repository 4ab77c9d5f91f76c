/* Owns the doctor's checks of Active Directory, which reports our account's rights before
 * anything is written. Writes nothing. */
#include <apr_strings.h>

#include "worker/base/password.h"
#include "worker/ldap/probe/probe.h"
#include "worker/ldap/sync/sync.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

static const ld_entry *read_entry(ld_call *k, const char *dn, const char *attribute,
                                  const char *doing, directory_class *class)
{
    const char *const attributes[] = {attribute, NULL};
    const ld_entry *entry = NULL;
    *class = ld_read(k, dn, attributes, doing, &entry);
    if (!*class && !entry) {
        *class = ld_fail(k, DIRECTORY_FORBIDDEN, NULL, "our account may not read %s", dn);
    }
    return entry;
}

static void check_container(ld_call *k, report *r)
{
    static const char *const effective = "allowedChildClassesEffective";
    const char *in = k->d->create_in;
    directory_class class;
    const ld_entry *entry = read_entry(k, in, effective, "look at our rights in createIn", &class);
    if (!class && !ld_holds(entry, effective, k->d->dialect->user_class)) {
        class = ld_fail(
            k, DIRECTORY_FORBIDDEN, NULL,
            "our account may not create users in %s: grant \"Create User objects\" there", in);
    }
    directory_report_judge(r, "creating accounts", class,
                           apr_pstrcat(k->pool, "our account may create users in ", in, NULL));
}

/* Attributes of one entry below `base` that our account may not write, as text; NULL if it may
 * write all of them, or there is no entry to check. */
static directory_class lacking(ld_call *k, const char *base, const char *filter,
                               const char *const *needed, const char **dn, const char **names)
{
    static const char *const effective[] = {"allowedAttributesEffective", NULL};
    const ld_entry *entry;
    directory_class class = ld_below(k, base, filter, effective, "look at our rights", &entry);
    *dn = entry ? entry->dn : NULL;
    *names = NULL;
    for (; *dn && *needed; needed++) {
        if (!ld_holds(entry, effective[0], *needed)) {
            *names = *names ? apr_pstrcat(k->pool, *names, ", ", *needed, NULL) : *needed;
        }
    }
    return class;
}

static void check_writes(ld_call *k, report *r, const char *check, const char *base,
                         const char *filter, const char *const *needed)
{
    const char *dn, *names;
    directory_class class = lacking(k, base, filter, needed, &dn, &names);
    if (!class && names) {
        class = ld_fail(
            k, DIRECTORY_FORBIDDEN, NULL,
            "our account may not write %s of %s: grant \"Write\" of these attributes below %s",
            names, dn, base);
    }
    directory_report_judge(
        r, check, class,
        dn ? apr_pstrcat(k->pool, "our account may write what it needs, looked at with ", dn, NULL)
           : "there is none yet to look at");
}

static void check_dirsync(ld_call *k, report *r)
{
    int deletions = 0;
    directory_class class = ld_dirsync_right(k, &deletions);
    if (class == DIRECTORY_FORBIDDEN) {
        directory_report_line(
            r, "DirSync", 1,
            "not allowed to our account: changes are read by uSNChanged and deletions every ten "
            "minutes; grant \"Replicating Directory Changes\" on the domain for better");
        return;
    }
    if (directory_report_judge(r, "DirSync", class,
                               "our account has the right \"Replicating Directory Changes\"")) {
        directory_report_line(
            r, "deletions", 1,
            deletions
                ? "shown to our account"
                : "the container of deleted objects cannot be read by our account: should the "
                  "server not tell them by DirSync either, they are found within ten minutes");
    }
}

static void check_policy(ld_call *k, report *r)
{
    static const char *const attributes[] = {"minPwdLength", "pwdProperties", NULL};
    const ld_entry *entry = NULL;
    directory_class class = ld_read(k, apr_pstrdup(k->pool, k->d->root), attributes,
                                    "read the password policy", &entry);
    long least = entry ? ld_number(k->pool, entry, attributes[0]) : 0;
    if (!class && least > PASSWORD_LEN) {
        class = ld_fail(k, DIRECTORY_CONFIG, NULL,
                        "the domain asks for passwords of %ld characters, ours have %d", least,
                        PASSWORD_LEN);
    }
    directory_report_judge(
        r, "password policy", class,
        apr_psprintf(
            k->pool,
            "the domain asks for %ld characters%s; initial passwords have %d of four classes",
            least, entry && ld_number(k->pool, entry, attributes[1]) & 1 ? " and complexity" : "",
            PASSWORD_LEN));
}

static void check_clock(ld_call *k, report *r)
{
    directory_class class;
    const ld_entry *root = read_entry(k, "", "currentTime", "read the server's clock", &class);
    int64_t at = root ? ld_time(ld_text(k->pool, root, "currentTime")) : 0,
            ahead = at - ida_now(k->d->env);
    if (class || !at) {
        directory_report_line(r, "clock", 1, "not told by the server");
        return;
    }
    ld_probe_clock(k, r, ahead, CLOCK_TOLERANCE_MS, "behind ours");
}

void ld_probe_active_directory(ld_call *k, report *r)
{
    const directory *d = k->d;
    const ld_dialect *t = d->dialect;
    apr_array_header_t *written = apr_array_make(k->pool, 24, sizeof(const char *));
    const char *const always[] = {t->lock, t->password_age,  t->manager,   t->photo,
                                  t->mail, d->upn_attribute, "displayName"};
    const char *const member[] = {t->member, NULL};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        APR_ARRAY_PUSH(written, const char *) = always[i];
    }
    for (const ld_field *f = t->fields; f->name; f++) {
        APR_ARRAY_PUSH(written, const char *) = f->attribute;
    }
    APR_ARRAY_PUSH(written, const char *) = NULL;
    check_container(k, r);
    /* Accounts of administrators have rights of their own. */
    check_writes(k, r, "changing accounts", d->user_base,
                 apr_pstrcat(k->pool, "(&", t->user_filter, "(!(adminCount=1)))", NULL),
                 (const char *const *)written->elts);
    check_writes(k, r, "changing groups", d->group_base,
                 apr_pstrcat(k->pool, "(&", t->group_filter, "(!(adminCount=1)))", NULL), member);
    check_dirsync(k, r);
    check_policy(k, r);
    check_clock(k, r);
}
