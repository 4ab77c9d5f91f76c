/* Bytes as the body of a create and of a delete request, through names, photo and storage form. */
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/model/payload.h"
#include "core/tenant/naming.h"
#include "t/fuzz/fuzz_copy.h"
#include "t/fuzz/mutate.h"

static void stored_create(ida_ctx *c, const ida_create *create)
{
    ida_create again;
    const json_t *stored = ida_create_to_json(c->pool, create);
    FUZZ_HOLDS(ida_create_from_json(c, stored, &again) == IDA_OK);
    FUZZ_HOLDS(strcmp(ida_json_sorted(c->pool, stored),
                      ida_json_sorted(c->pool, ida_create_to_json(c->pool, &again))) == 0);
    ida_name_parts parts = {create->firstname, create->middle_name, create->surname};
    char *local;
    if (ida_naming_local(c, "{firstname:1}.{middleName}.{surname}", &parts, &local) == IDA_OK) {
        FUZZ_HOLDS(*local && strlen(local) <= 64 &&
                   strspn(local, "abcdefghijklmnopqrstuvwxyz0123456789._-") == strlen(local));
        FUZZ_HOLDS(*local != '.' && !strstr(local, "..") &&
                   !strstr(ida_naming_candidate(c->pool, local, "x.example", 12), ".@"));
    }
    char *display = ida_naming_display(c->pool, "{firstname} {surname:3}", &parts);
    FUZZ_HOLDS(ida_utf8_valid(display, strlen(display)) && ida_utf16_length(display) <= 256);
}

FUZZ_STRUCTURE(fuzz_json, 0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ida_tenant tenants[] = {
        {.create_users_in = IDA_DIR_CLOUD},
        {.create_users_in = IDA_DIR_ON_PREMISES, .dialect = "openLdap"},
    };
    ida_ctx *c = fuzz_context();
    json_t *body;
    if (ida_json_object(c, (const char *)data, size, &body) == IDA_OK) {
        for (size_t i = 0; i < 2; i++) {
            ida_create create;
            ida_ctx_clear(c);
            ida_payload_create(c, &tenants[i], body, &create);
            ida_kind kind = ida_faults_raise(c);
            fuzz_told(c, kind);
            FUZZ_HOLDS(json_array_size(create.warnings) <= 22);
            if (!kind) {
                stored_create(c, &create);
            }
        }
        ida_delete del;
        ida_ctx_clear(c);
        ida_payload_delete(c, body, 0, &del);
        if (ida_faults_raise(c) == IDA_OK) {
            FUZZ_HOLDS(strcmp(del.upn, ida_json_string(ida_delete_to_json(c->pool, &del),
                                                       "userPrincipalName")) == 0);
        }
    }
    return 0;
}
