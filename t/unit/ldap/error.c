/* Codes and texts of servers and library as failure classes; the schema reader that decides what
 * can be sent. */
#include <ldap.h>

#include "t/unit/setup.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/schema.h"

static const struct {
    int code;
    ld_phase phase;
    const char *text;
    directory_class class;
    const char *field;
} cases[] = {
    {0, LD_WRITE, NULL, DIRECTORY_OK, NULL},
    {-1, LD_READ, NULL, DIRECTORY_TRANSIENT, NULL},
    {-1, LD_WRITE, NULL, DIRECTORY_UNSURE, NULL},
    {-5, LD_MEMBER, NULL, DIRECTORY_UNSURE, NULL},
    {-5, LD_TLS, NULL, DIRECTORY_TRANSIENT, NULL},
    {-11, LD_TLS, "(unknown error code)", DIRECTORY_CONFIG, NULL},
    {-11, LD_TLS, "The TLS connection was non-properly terminated.", DIRECTORY_TRANSIENT, NULL},
    {-11, LD_READ, NULL, DIRECTORY_TRANSIENT, NULL},
    {-10, LD_READ, NULL, DIRECTORY_LOCAL, NULL},
    {51, LD_WRITE, NULL, DIRECTORY_TRANSIENT, NULL},
    {52, LD_BIND, NULL, DIRECTORY_TRANSIENT, NULL},
    {3, LD_READ, NULL, DIRECTORY_TRANSIENT, NULL},
    {1, LD_READ, "0000200E: SvcErr: busy", DIRECTORY_TRANSIENT, NULL},
    {1, LD_READ, "000004DC: LdapErr: a successful bind must be completed", DIRECTORY_TRANSIENT,
     NULL},
    {1, LD_READ, "something else", DIRECTORY_INVALID, NULL},
    {118, LD_READ, NULL, DIRECTORY_TRANSIENT, NULL},
    {20, LD_MEMBER, NULL, DIRECTORY_ALREADY, NULL},
    {16, LD_MEMBER, NULL, DIRECTORY_ALREADY, NULL},
    {16, LD_WRITE, NULL, DIRECTORY_INVALID, NULL},
    {53, LD_MEMBER, "00000561: SvcErr", DIRECTORY_ALREADY, NULL},
    {53, LD_WRITE, "00000561: SvcErr", DIRECTORY_FORBIDDEN, NULL},
    {68, LD_WRITE, NULL, DIRECTORY_CONFLICT, NULL},
    {19, LD_WRITE, "non-unique attributes found with (|(mail=a@b))", DIRECTORY_CONFLICT, "mail"},
    {19, LD_WRITE, "non-unique attributes found with (uid=a)", DIRECTORY_CONFLICT, "uid"},
    {19, LD_WRITE, "000021C8: AtrErr", DIRECTORY_CONFLICT, NULL},
    {19, LD_WRITE, "Password fails quality checking policy", DIRECTORY_INVALID, "password"},
    {53, LD_WRITE, "0000052D: SvcErr: DSID", DIRECTORY_INVALID, "password"},
    {21, LD_WRITE, "c: value #0 invalid per syntax", DIRECTORY_INVALID, "c"},
    {65, LD_WRITE, "attribute 'c' not allowed", DIRECTORY_INVALID, "c"},
    {34, LD_WRITE, "invalid DN", DIRECTORY_INVALID, NULL},
    {34, LD_BIND, "invalid DN", DIRECTORY_CONFIG, NULL},
    {49, LD_BIND, NULL, DIRECTORY_CREDENTIALS, NULL},
    {48, LD_BIND, NULL, DIRECTORY_CREDENTIALS, NULL},
    {8, LD_BIND, NULL, DIRECTORY_CREDENTIALS, NULL},
    {13, LD_READ, NULL, DIRECTORY_CREDENTIALS, NULL},
    {53, LD_BIND, "unauthenticated bind (DN with no password) disallowed", DIRECTORY_CREDENTIALS,
     NULL},
    {50, LD_WRITE, "no write access to parent", DIRECTORY_FORBIDDEN, NULL},
    {53, LD_WRITE, "no global superior knowledge", DIRECTORY_FORBIDDEN, NULL},
    {53, LD_WRITE, "operation restricted", DIRECTORY_CONFIG, NULL},
    {10, LD_READ, NULL, DIRECTORY_CONFIG, NULL},
    {12, LD_READ, NULL, DIRECTORY_CONFIG, NULL},
    {32, LD_BASE, NULL, DIRECTORY_CONFIG, NULL},
    {32, LD_READ, NULL, DIRECTORY_NOT_FOUND, NULL},
    {32, LD_WRITE, NULL, DIRECTORY_NOT_FOUND, NULL},
    {4, LD_READ, NULL, DIRECTORY_CONFIG, NULL},
    {11, LD_READ, NULL, DIRECTORY_CONFIG, NULL},
    {4096, LD_BASE, NULL, DIRECTORY_TOKEN_LOST, NULL},
    {53, LD_BASE, "consumer state is newer than provider!", DIRECTORY_TOKEN_LOST, NULL},
    {12345, LD_READ, NULL, DIRECTORY_INVALID, NULL},
};

static void classes(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *field;
        directory_class class = ld_classify(pool, cases[i].code, cases[i].phase, cases[i].text,
                                            &field);
        int right = class == cases[i].class &&
                    (field ? cases[i].field && strcmp(field, cases[i].field) == 0
                           : !cases[i].field);
        ok(right, "code %d, %s: %s", cases[i].code, cases[i].text ? cases[i].text : "no text",
           directory_class_text(cases[i].class));
        if (!right) {
            printf("# got: %s, field %s\n", directory_class_text(class), field ? field : "(none)");
        }
    }
    is_str(ld_code_text(pool, 32, "a\nb"), "No such object (32): a b", "a message is one line");
    ok(directory_holds(DIRECTORY_TRANSIENT) && directory_holds(DIRECTORY_THROTTLED) &&
           directory_holds(DIRECTORY_CREDENTIALS) && directory_holds(DIRECTORY_CONFIG) &&
           !directory_holds(DIRECTORY_CONFLICT) && !directory_holds(DIRECTORY_UNSURE) &&
           !directory_holds(DIRECTORY_OK) && !directory_holds((directory_class)99),
       "what holds a directory");
}

static struct berval text(const char *value)
{
    return (struct berval){.bv_val = (char *)(uintptr_t)value, .bv_len = strlen(value)};
}

static void schema(void)
{
    const struct berval types[] = {
        text("( 2.5.4.3 NAME ( 'cn' 'commonName' ) SUP name )"),
        text("( 2.5.4.6 NAME ( 'c' 'countryName' ) SUP name )"),
        text("( 1.2.3 NAME 'badge' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )"), text("nonsense"),
        text("( 1.2.4 NAME 'other' )")};
    const struct berval classes_[] = {
        text("( 2.5.6.0 NAME 'top' ABSTRACT MUST objectClass )"),
        text("( 2.5.6.6 NAME 'person' SUP top STRUCTURAL MUST cn )"),
        text("( 1.1 NAME 'worker' SUP person STRUCTURAL MAY other )"),
        text("( 1.2 NAME 'demanding' SUP top AUXILIARY MUST other MAY badge )"),
        text("( 1.3 NAME 'badged' SUP top AUXILIARY MAY badge )"),
        text("( 1.4 NAME 'loop' SUP loop STRUCTURAL )"),
        text("((")};
    ld_schema *s = ld_schema_make(pool, types, 5, classes_, 7);
    ok(ld_schema_knows(s, "CN") && ld_schema_knows(s, "commonname") &&
           ld_schema_knows(s, "2.5.4.3") && !ld_schema_knows(s, "jpegPhoto"),
       "names in any case, aliases, OIDs");
    ok(ld_schema_allows(s, "worker", "commonName") && ld_schema_allows(s, "Worker", "other"),
       "own and inherited attributes");
    ok(!ld_schema_allows(s, "worker", "c") && !ld_schema_allows(s, "nobody", "cn") &&
           !ld_schema_allows(s, "loop", "c"),
       "others are not allowed; a loop ends");
    is_str(ld_schema_auxiliary(s, "badge"), "badged",
           "the auxiliary class that demands nothing else");
    is_str(ld_schema_auxiliary(s, "c"), NULL, "none for country");
}

static void passwords(void)
{
    ok(ld_password_refused(LDAP_CONSTRAINT_VIOLATION, "Password fails quality checking policy"),
       "a policy's refusal");
    ok(!ld_password_refused(LDAP_CONSTRAINT_VIOLATION, "title: too long") &&
           !ld_password_refused(LDAP_CONSTRAINT_VIOLATION, NULL) &&
           !ld_password_refused(LDAP_INSUFFICIENT_ACCESS, "password"),
       "others are none");
    ok(ld_password_stands(LDAP_CONSTRAINT_VIOLATION, "Password is too young to change"),
       "too young: there is a password");
    ok(!ld_password_stands(LDAP_CONSTRAINT_VIOLATION, "Password fails quality checking policy") &&
           !ld_password_stands(LDAP_CONSTRAINT_VIOLATION, NULL) &&
           !ld_password_stands(LDAP_SUCCESS, "too young"),
       "other answers say nothing of one");
}

int main(void)
{
    setup();
    classes();
    passwords();
    schema();
    return done();
}
