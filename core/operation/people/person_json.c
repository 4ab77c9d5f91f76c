/* Owns how people look in results. Must not know the store's statements. */
#include "core/operation/people/person_json.h"

#include "core/base/json.h"

static const char *status_of(int enabled, int guest)
{
    return !enabled ? "disabled" : guest ? "guest" : "active";
}

/* The reason why an account is disabled, if there is a special one. */
static const char *reason_of(int expired)
{
    return expired ? "expired" : NULL;
}

const char *const ida_person_statuses[] = {"active", "disabled", "guest", NULL};
const char *const ida_person_types[] = {"member", "guest", NULL};

const ida_field ida_person_members[] = {OUT_TEXT("id", ALWAYS),
                                        OUT_TEXT("userPrincipalName", OR_NULL),
                                        OUT_TEXT("displayName", OR_NULL), OUT_END};

#define LISTED(column, name, listed, ...) IDA_IF_##listed(OUT_TEXT(name, SOMETIMES), )
const ida_field ida_person_row_members[] = {
    OUT_TEXT("id", ALWAYS),
    IDA_PERSON(LISTED) OUT_WORD("status", ALWAYS, ida_person_statuses),
    OUT_TEXT("statusReason", SOMETIMES),
    OUT_WORD("userType", ALWAYS, ida_person_types),
    OUT_OBJECT("manager", ALWAYS | OR_NULL, ida_person_members),
    OUT_TIME("lastSignInAt", ALWAYS | OR_NULL),
    OUT_TIME("lastSuccessfulSignInAt", ALWAYS | OR_NULL),
    OUT_END};

json_t *ida_person_json(const char *id, const char *upn, const char *display_name)
{
    json_t *person = json_object();
    ida_json_put_or_null(person, "id", id);
    ida_json_put_or_null(person, "userPrincipalName", upn);
    ida_json_put_or_null(person, "displayName", display_name);
    return person;
}

json_t *ida_person_or_stored(const ida_user *user, const char *id, const char *upn)
{
    return user ? ida_person_json(user->id, user->upn, user->display_name)
                : ida_person_json(id, upn, NULL);
}

static json_t *manager_of(const char *id, const char *upn, const char *display_name)
{
    return id ? ida_person_json(id, upn, display_name) : json_null();
}

void ida_person_standing(json_t *person, int known, int enabled, int guest, const char *department)
{
    ida_json_put_or_null(person, "status", known ? status_of(enabled, guest) : NULL);
    ida_json_put_or_null(person, "department", department);
}

const ida_field ida_person_standing_members[] = {OUT_INCLUDE(ida_person_members),
                                                 OUT_TEXT("status", OR_NULL),
                                                 OUT_TEXT("department", OR_NULL), OUT_END};

static json_t *sign_ins_of(const ida_user *u)
{
    json_t *activity = json_object();
    ida_json_put_time(activity, "lastSignInAt", u->last_sign_in_at);
    ida_json_put_time(activity, "lastNonInteractiveSignInAt", u->last_noninteractive_at);
    ida_json_put_time(activity, "lastSuccessfulSignInAt", u->last_success_at);
    return activity;
}

static json_t *directories_of(const ida_user *u)
{
    json_t *names = json_array();
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        if (u->in[d]) {
            json_array_append_new(names, json_string(ida_directory_name(d)));
        }
    }
    return names;
}

#define PUT(column, name, ...) ida_json_put(out, name, u->column);
#define PUT_LISTED(column, name, listed, ...) \
    IDA_IF_##listed(ida_row_text(row, IDA_ROW_NAME(name), p->column);)

json_t *ida_user_json(const ida_user *u)
{
    json_t *out = json_object();
    IDA_PERSON_BRIEF(PUT)
    return out;
}

json_t *ida_user_details_json(const ida_user *u, json_t *licenses)
{
    json_t *out = ida_user_json(u);
    ida_json_put(out, "id", u->id);
    IDA_PERSON_MAIL(PUT)
    IDA_PERSON_PROFILE(PUT)
    ida_json_put(out, "status", status_of(u->enabled, u->guest));
    ida_json_put(out, "statusReason", reason_of(u->expired));
    ida_json_put(out, "userType", u->guest ? "guest" : "member");
    json_object_set_new(out, "accountEnabled", json_boolean(u->enabled));
    ida_json_put_time(out, "createdAt", u->created_at);
    ida_json_put_time(out, "lastSignInAt", u->last_sign_in_at);
    json_object_set_new(out, "manager", manager_of(u->manager_id, u->manager_upn, u->manager_name));
    json_object_set_new(out, "signInActivity", sign_ins_of(u));
    json_object_set(out, "licenses", licenses);
    json_object_set_new(out, "directories", directories_of(u));
    return out;
}

static void put_manager(ida_json_row *row, const cache_listed_person *p)
{
    if (!p->manager_id) {
        ida_row_text_or_null(row, IDA_ROW_NAME("manager"), NULL);
        return;
    }
    ida_row_open(row, IDA_ROW_NAME("manager"));
    ida_row_text(row, IDA_ROW_NAME("id"), p->manager_id);
    ida_row_text_or_null(row, IDA_ROW_NAME("userPrincipalName"), p->manager_upn);
    ida_row_text_or_null(row, IDA_ROW_NAME("displayName"), p->manager_name);
    ida_row_close(row);
}

void ida_person_row_begin(ida_json_row *row, apr_pool_t *pool, const cache_listed_person *p,
                          size_t max)
{
    ida_row_begin(row, pool, max);
    ida_row_text(row, IDA_ROW_NAME("id"), p->id);
    IDA_PERSON(PUT_LISTED)
    ida_row_text(row, IDA_ROW_NAME("status"), status_of(p->enabled, p->guest));
    ida_row_text(row, IDA_ROW_NAME("statusReason"), reason_of(p->expired));
    ida_row_text(row, IDA_ROW_NAME("userType"), p->guest ? "guest" : "member");
    put_manager(row, p);
    ida_row_time(row, IDA_ROW_NAME("lastSignInAt"), p->last_sign_in_at);
    ida_row_time(row, IDA_ROW_NAME("lastSuccessfulSignInAt"), p->last_success_at);
}
