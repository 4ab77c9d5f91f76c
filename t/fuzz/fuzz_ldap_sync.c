/* Values of the controls and messages of content synchronisation, DirSync and post-read, and stored
 * cookies. The first byte says which. */
#include "t/fuzz/fuzz_copy.h"
#include "t/fuzz/mutate.h"
#include "worker/ldap/sync/dirsync.h"
#include "worker/ldap/sync/sync.h"
#include "worker/ldap/sync/sync_message.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/value.h"

static const char *const oids[] = {LDAP_CONTROL_SYNC_STATE, LDAP_CONTROL_SYNC_DONE,
                                   "1.2.840.113556.1.4.841", LDAP_CONTROL_POST_READ};

static void check_cookie(const struct berval *cookie)
{
    FUZZ_HOLDS(!cookie->bv_val || cookie->bv_val[cookie->bv_len] == '\0');
}

FUZZ_STRUCTURE(fuzz_ber, 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) {
        return 0;
    }
    ida_ctx *c = fuzz_context();
    size_t len = size - 1;
    char *bytes = malloc(len ? len : 1);
    FUZZ_HOLDS(bytes);
    memcpy(bytes, data + 1, len);
    struct berval value = {.bv_val = data[0] & 0x80 ? NULL : bytes,
                           .bv_len = data[0] & 0x80 ? 0 : len},
                  cookie = {0};
    LDAPControl control = {.ldctl_oid = (char *)(uintptr_t)oids[data[0] % 4], .ldctl_value = value},
                *controls[] = {&control, NULL};
    const ld_answer answer = {.controls = controls};
    ld_sync_state state;
    ld_sync_info info;
    ld_sync_done done;
    int more;
    switch (data[0] % 8) {
    case 0:
        if (ld_sync_state_read(c->pool, controls, &state) > 0) {
            FUZZ_HOLDS(strlen(state.id) == 36);
            check_cookie(&state.cookie);
        }
        break;
    case 1:
        if (ld_sync_done_read(c->pool, controls, &done)) {
            check_cookie(&done.cookie);
        }
        break;
    case 2:
        FUZZ_HOLDS(!ld_dirsync_answer(c->pool, &answer, &more, &cookie) || cookie.bv_len);
        check_cookie(&cookie);
        break;
    case 3: {
        const ld_entry *entry = ld_entry_shown(controls, c->pool);
        for (int i = 0; entry && i < entry->count; i++) {
            ld_text(c->pool, entry, entry->attributes[i].name);
        }
        break;
    }
    case 4:
        if (ld_sync_info_read(c->pool, &value, &info)) {
            check_cookie(&info.cookie);
            for (const char **id = info.ids; id && *id; id++) {
                FUZZ_HOLDS(strlen(*id) == 36);
            }
        }
        break;
    case 5: {
        const char *earliest = ld_cookie_earliest(c->pool, &value);
        FUZZ_HOLDS(!earliest || *earliest);
        break;
    }
    default: {
        char *text = fuzz_text(data + 1, len);
        FUZZ_HOLDS(!ld_dirsync_cookie(c->pool, text, &cookie) || cookie.bv_len);
        free(text);
        break;
    }
    }
    free(bytes);
    return 0;
}
