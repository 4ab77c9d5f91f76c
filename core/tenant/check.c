/* Owns the rules between members of the tenant document, and the defaults that depend on other
 * members. Must not know how documents are merged or stored. */
#include "core/tenant/check.h"

#include <apr_strings.h>
#include <string.h>

#include "core/tenant/shape.h"
#include "core/tenant/value.h"

#define CLOUD_DOMAIN_MAX 48

/* Ill-typed members are named by their shape: here they read as absent. */

static const char *text_of(const json_t *object, const char *name, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : otherwise;
}

static void check_cloud(ida_tenant_checking *k, const json_t *cloud)
{
    int secret = json_object_get(cloud, "clientSecretFile") != NULL,
        certificate = json_object_get(cloud, "certificateFile") != NULL;
    if (secret + certificate != 1) {
        ida_tenant_fault(k, "directories.cloud",
                         secret ? "must have clientSecretFile or certificateFile, not both (set "
                                  "the other one to null)"
                                : "must have clientSecretFile or certificateFile");
    }
    if (!secret && json_object_get(cloud, "clientSecretExpires")) {
        ida_tenant_fault(k, "directories.cloud.clientSecretExpires",
                         "is only used with clientSecretFile");
    }
}

static void check_on_premises(ida_tenant_checking *k, const json_t *directory)
{
    static const char *const simple_only[] = {"bindDn", "bindPasswordFile"};
    int simple = strcmp(text_of(directory, "bind", "simple"), "simple") == 0;
    for (size_t i = 0; i < 2; i++) {
        int present = json_object_get(directory, simple_only[i]) != NULL;
        if (present != simple) {
            ida_tenant_fault(
                k, apr_pstrcat(k->c->pool, "directories.onPremises.", simple_only[i], NULL),
                simple ? "is required with \"bind\": \"simple\""
                       : "is only used with \"bind\": \"simple\"");
        }
    }
    int start_tls = json_is_true(json_object_get(directory, "startTls"));
    const json_t *url;
    size_t i;
    json_array_foreach (json_object_get(directory, "urls"), i, url) {
        const char *text = json_string_value(url);
        const char *at = ida_printf(k->c->pool, "directories.onPremises.urls[%zu]", i);
        if (text && strncmp(text, "ldap://", 7) == 0 && !start_tls) {
            ida_tenant_fault(k, at, "begins with ldap://, which needs \"startTls\": true");
        } else if (text && strncmp(text, "ldaps://", 8) == 0 && start_tls) {
            ida_tenant_fault(k, at,
                             "begins with ldaps://, which does not go with \"startTls\": true");
        }
    }
}

static void check_domains(ida_tenant_checking *k, const json_t *document)
{
    static const char *const names[] = {"upnDomain", "emailDomain"};
    for (size_t i = 0; i < 2; i++) {
        if (strlen(text_of(document, names[i], "")) > CLOUD_DOMAIN_MAX) {
            ida_tenant_fault(k, names[i],
                             ida_printf(k->c->pool,
                                        "must be at most %d characters for the cloud directory",
                                        CLOUD_DOMAIN_MAX));
        }
    }
}

static void check_one_value(ida_tenant_checking *k, const json_t *document)
{
    const char *domain = text_of(document, "upnDomain", ""),
               *format = text_of(document, "usernameFormat", "{firstname}.{surname}");
    if (strcasecmp(text_of(document, "emailDomain", domain), domain) != 0) {
        ida_tenant_fault(k, "emailDomain",
                         "must equal upnDomain: with upnAttribute \"mail\" both are one value");
    }
    if (strcmp(text_of(document, "emailFormat", format), format) != 0) {
        ida_tenant_fault(
            k, "emailFormat",
            "must equal usernameFormat: with upnAttribute \"mail\" both are one value");
    }
}

static json_t *template_names(const json_t *document)
{
    json_t *names = json_object();
    const json_t *one;
    size_t i;
    json_array_foreach (json_object_get(document, "roleTemplates"), i, one) {
        json_object_set_new(names, text_of(one, "name", ""), json_true());
    }
    return names;
}

/* Members that refer to other parts of the document, or contradict the trigger. */
static void check_actions(ida_tenant_checking *k, const json_t *document)
{
    const json_t *workflow, *action;
    json_t *templates = template_names(document);
    size_t w, a;
    json_array_foreach (json_object_get(document, "workflows"), w, workflow) {
        json_array_foreach (json_object_get(workflow, "actions"), a, action) {
            const char *name = json_string_value(json_object_get(action, "roleTemplate"));
            if (k->applying && strcmp(text_of(action, "type", ""), IDA_ACTION_PASSWORD) == 0 &&
                strcmp(text_of(workflow, "trigger", ""), "userCreate") != 0) {
                ida_tenant_fault(
                    k, ida_printf(k->c->pool, "workflows[%zu].actions[%zu].type", w, a),
                    "can be used with the trigger userCreate alone: an initial password is for an "
                    "account that is new, or comes back by a creation with \"rehire\"");
            }
            if (name && !json_object_get(templates, name)) {
                ida_tenant_fault(
                    k, ida_printf(k->c->pool, "workflows[%zu].actions[%zu].roleTemplate", w, a),
                    "is not the name of a role template");
            } else if (name && strcmp(text_of(workflow, "trigger", ""), "userDelete") == 0) {
                ida_tenant_fault(k,
                                 ida_printf(k->c->pool, "workflows[%zu].actions[%zu].type", w, a),
                                 "cannot be used with the trigger userDelete, which ends what role "
                                 "templates grant");
            }
        }
    }
    json_decref(templates);
}

static const char *upn_attribute(const json_t *on_premises)
{
    int openldap = strcmp(text_of(on_premises, "dialect", ""), "openLdap") == 0;
    return text_of(on_premises, "upnAttribute", openldap ? IDA_OPENLDAP_UPN : IDA_AD_UPN);
}

void ida_tenant_check(ida_ctx *c, const json_t *document, int applying)
{
    ida_tenant_checking k = {c, applying, 0};
    ida_tenant_shape_check(&k, document);

    const json_t *directories = json_object_get(document, "directories");
    const json_t *cloud = json_object_get(directories, "cloud"),
                 *on_premises = json_object_get(directories, "onPremises");
    int deleted = json_object_get(document, "deleted") != NULL;
    if (deleted && applying) {
        ida_tenant_fault(&k, "deleted", "is set by `idadminctl tenant delete` alone");
    } else if (json_is_object(directories) && !cloud && !on_premises && !deleted) {
        ida_tenant_fault(&k, "directories", "must have cloud, onPremises or both");
    }
    if (json_is_object(cloud)) {
        check_cloud(&k, cloud);
        check_domains(&k, document);
    }
    if (json_is_object(on_premises)) {
        check_on_premises(&k, on_premises);
        if (strcasecmp(upn_attribute(on_premises), "mail") == 0) {
            check_one_value(&k, document);
        }
    }
    const char *create_in = json_string_value(json_object_get(document, "createUsersIn"));
    if (!create_in && cloud && on_premises) {
        ida_tenant_fault(&k, "createUsersIn",
                         "is required with two directories: \"cloud\" or \"onPremises\"");
    } else if (create_in && ida_directory_parse(create_in) >= 0 &&
               !json_object_get(directories, create_in)) {
        ida_tenant_fault(&k, "createUsersIn", "names a directory that is not configured");
    }
    if (!k.faults) { /* of lists that are too long each pair would be looked at */
        check_actions(&k, document);
    }
}

static void fill_text(json_t *object, const char *name, const char *text)
{
    if (!json_object_get(object, name)) {
        json_object_set_new(object, name, json_string(text));
    }
}

json_t *ida_tenant_filled(const json_t *document)
{
    json_t *filled = json_deep_copy(document);
    ida_tenant_shape_fill(filled);
    fill_text(filled, "emailFormat", text_of(filled, "usernameFormat", ""));
    fill_text(filled, "emailDomain", text_of(filled, "upnDomain", ""));
    json_t *directories = json_object_get(filled, "directories"),
           *on_premises = json_object_get(directories, "onPremises");
    if (on_premises) {
        int openldap = strcmp(text_of(on_premises, "dialect", ""), "openLdap") == 0;
        fill_text(on_premises, "upnAttribute", upn_attribute(on_premises));
        fill_text(on_premises, "markerAttribute", openldap ? IDA_OPENLDAP_MARKER : IDA_AD_MARKER);
        fill_text(on_premises, "createIn", text_of(on_premises, "userBase", ""));
    }
    fill_text(filled, "createUsersIn",
              ida_directory_name(on_premises ? IDA_DIR_ON_PREMISES : IDA_DIR_CLOUD));
    return filled;
}
