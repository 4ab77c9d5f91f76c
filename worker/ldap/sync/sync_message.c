/* Owns the encoding of RFC 4533 (content synchronisation). Must not know connections, nor what
 * follows from a message. */
#include "worker/ldap/sync/sync_message.h"

#include "worker/ldap/wire/ber.h"
#include "worker/ldap/wire/escape.h"

/* The optional cookie at this place. 0 when it is broken. */
static int cookie_of(apr_pool_t *pool, BerElement *ber, struct berval *cookie)
{
    struct berval bytes = {0};
    ber_len_t len;
    if (ber_peek_tag(ber, &len) != LDAP_TAG_SYNC_COOKIE) {
        return 1;
    }
    if (ber_scanf(ber, "m", &bytes) == LBER_ERROR) {
        return 0;
    }
    *cookie = ld_bytes(pool, &bytes);
    return 1;
}

/* The optional flag refreshDeletes at this place (absent: false). 0 when it is broken. */
static int deletes_of(BerElement *ber, int *deletes)
{
    ber_int_t flag = 0;
    ber_len_t len;
    int good = ber_peek_tag(ber, &len) != LDAP_TAG_REFRESHDELETES ||
               ber_scanf(ber, "b", &flag) != LBER_ERROR;
    *deletes = flag != 0;
    return good;
}

int ld_sync_state_read(apr_pool_t *pool, LDAPControl **controls, ld_sync_state *out)
{
    int there;
    BerElement *ber = ld_control_ber(controls, LDAP_CONTROL_SYNC_STATE, &there);
    struct berval uuid = {0};
    *out = (ld_sync_state){0};
    int good = ber && ber_scanf(ber, "{em", &out->state, &uuid) != LBER_ERROR &&
               (out->id = ld_uuid_text(pool, uuid.bv_val, uuid.bv_len)) &&
               cookie_of(pool, ber, &out->cookie);
    ber_free(ber, 1);
    return good ? 1 : there ? -1 : 0;
}

static int ids_of(apr_pool_t *pool, BerElement *ber, const char ***ids)
{
    BerVarray bytes = NULL;
    int good = ber_scanf(ber, "[W]", &bytes) != LBER_ERROR, count = 0;
    while (good && bytes && bytes[count].bv_val) {
        count++;
    }
    *ids = apr_pcalloc(pool, (apr_size_t)(count + 1) * sizeof **ids);
    for (int i = 0; good && i < count; i++) {
        (*ids)[i] = ld_uuid_text(pool, bytes[i].bv_val, bytes[i].bv_len);
        good = (*ids)[i] != NULL;
    }
    ber_bvarray_free(bytes);
    return good;
}

int ld_sync_info_read(apr_pool_t *pool, const struct berval *value, ld_sync_info *out)
{
    BerElement *ber = ld_ber(value);
    struct berval cookie = {0};
    ber_len_t len;
    ber_tag_t kind = ber ? ber_peek_tag(ber, &len) : LBER_ERROR, tag;
    int good = 0;
    *out = (ld_sync_info){0};
    switch (kind) {
    case LDAP_TAG_SYNC_NEW_COOKIE:
        good = ber_scanf(ber, "tm", &tag, &cookie) != LBER_ERROR;
        out->cookie = ld_bytes(pool, &cookie);
        break;
    case LDAP_TAG_SYNC_REFRESH_DELETE:
    case LDAP_TAG_SYNC_REFRESH_PRESENT:
        good = ber_scanf(ber, "t{", &tag) != LBER_ERROR && cookie_of(pool, ber, &out->cookie);
        out->present_ends = kind == LDAP_TAG_SYNC_REFRESH_PRESENT;
        break;
    case LDAP_TAG_SYNC_ID_SET:
        good = ber_scanf(ber, "t{", &tag) != LBER_ERROR && cookie_of(pool, ber, &out->cookie) &&
               deletes_of(ber, &out->deleted) && ids_of(pool, ber, &out->ids);
        break;
    }
    ber_free(ber, 1);
    return good;
}

int ld_sync_done_read(apr_pool_t *pool, LDAPControl **controls, ld_sync_done *out)
{
    int there;
    BerElement *ber = ld_control_ber(controls, LDAP_CONTROL_SYNC_DONE, &there);
    *out = (ld_sync_done){0};
    int good = ber && ber_scanf(ber, "{") != LBER_ERROR && cookie_of(pool, ber, &out->cookie) &&
               deletes_of(ber, &out->deletes);
    ber_free(ber, 1);
    return good;
}
