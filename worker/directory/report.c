/* Owns the form of the doctor's report. Must not know what is checked. */
#include "worker/directory/report.h"

#include "core/base/json.h"

void directory_report_line(report *r, const char *check, int good, const char *detail)
{
    json_t *one = json_object();
    ida_json_put(one, "check", check);
    json_object_set_new(one, "ok", json_boolean(good));
    ida_json_put(one, "detail", detail);
    json_array_append_new(r->lines, one);
}

int directory_report_judge(report *r, const char *check, directory_class class, const char *good)
{
    directory_report_line(r, check, class == DIRECTORY_OK,
                          class == DIRECTORY_OK ? good : r->last->message);
    if (class != DIRECTORY_OK && r->first == DIRECTORY_OK) {
        r->first = class;
        r->error = *r->last;
    }
    return class == DIRECTORY_OK;
}
