/* Owns which identities of requests are accepted, and the making of one. Must not know where they
 * are written. */
#include "core/base/correlation.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/key.h"

#define MADE_BYTES 16 /* a trace's ID has as many, so one made here may become one */
#define HEX "0123456789abcdef"
#define TRACE_ID_AT 3
#define TRACE_ID_LEN 32
#define SPAN_AT 36
#define SPAN_LEN 16
#define FLAGS_AT 53

/* A key in the wrong header must not be repeated in answers and logs. */
static int acceptable(const char *id)
{
    char copy[IDA_CORRELATION_MAX + 1];
    size_t len = id ? strlen(id) : 0;
    if (!len || len > IDA_CORRELATION_MAX) {
        return 0;
    }
    for (size_t i = 0; i < len; i++) {
        if (!isascii((unsigned char)id[i]) ||
            (!isalnum((unsigned char)id[i]) && !strchr("-_.:+/=", id[i]))) {
            return 0;
        }
    }
    strcpy(copy, id);
    return !ida_key_mask(copy);
}

static int is_number(const char *at, size_t len)
{
    return strspn(at, HEX) >= len && strspn(at, "0") < len;
}

/* A later version is passed on as the one that is known here, with its sampled flag alone. */
static int take_trace(const char *trace, char out[IDA_TRACE_LEN + 1])
{
    size_t len = trace ? strlen(trace) : 0;
    if (len < IDA_TRACE_LEN || strspn(trace, HEX) != 2 || strncmp(trace, "ff", 2) == 0 ||
        trace[2] != '-' || !is_number(trace + TRACE_ID_AT, TRACE_ID_LEN) ||
        trace[SPAN_AT - 1] != '-' || !is_number(trace + SPAN_AT, SPAN_LEN) ||
        trace[FLAGS_AT - 1] != '-' || strspn(trace + FLAGS_AT, HEX) != 2) {
        return 0;
    }
    int later = strncmp(trace, "00", 2) != 0;
    if (len > IDA_TRACE_LEN && (!later || trace[IDA_TRACE_LEN] != '-')) {
        return 0;
    }
    memcpy(out, trace, IDA_TRACE_LEN);
    if (later) {
        const char *last = strchr(HEX, out[IDA_TRACE_LEN - 1]);
        memcpy(out, "00", 2);
        memcpy(out + FLAGS_AT, (last - HEX) & 1 ? "01" : "00", 2);
    }
    return 1;
}

void ida_correlation_take(const ida_env *env, const char *id, const char *trace,
                          ida_correlation *out)
{
    memset(out, 0, sizeof *out);
    int traced = take_trace(trace, out->trace);
    if (acceptable(id)) {
        strcpy(out->id, id);
    } else if (traced) {
        memcpy(out->id, out->trace + TRACE_ID_AT, TRACE_ID_LEN);
    } else {
        unsigned char bytes[MADE_BYTES];
        ida_random(env, bytes, sizeof bytes);
        bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40); /* the digits of a UUID, version 4: */
        bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80); /* Graph is told one */
        for (size_t i = 0; i < sizeof bytes; i++) {
            snprintf(out->id + 2 * i, 3, "%02x", bytes[i]);
        }
    }
}

ida_env ida_env_correlated(const ida_env *env, const ida_correlation *correlation)
{
    ida_env own = *env;
    own.lasting = ida_env_lasting(env);
    own.correlation = correlation;
    return own;
}

const char *ida_correlation_id(const ida_env *env)
{
    return env->correlation ? env->correlation->id : NULL;
}

const char *ida_correlation_trace(const ida_env *env)
{
    return env->correlation && *env->correlation->trace ? env->correlation->trace : NULL;
}
