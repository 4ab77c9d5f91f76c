/* Owns httpd's error log as JSON: standard input line by line, one object for each line. httpd's
 * own ErrorLogFormat cannot make JSON, because it leaves quotes in messages as they are. Must not
 * know what is logged. */
#include <apr_strings.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "writer/writer.h"

/* "[first:second] rest" -> rest, with both parts taken out; NULL: there is none. */
static char *take(char *line, char by, char **first, char **second)
{
    char *end = *line == '[' ? strchr(line, ']') : NULL;
    if (!end) {
        return NULL;
    }
    *end = '\0';
    *first = line + 1;
    *second = by ? strchr(line, by) : NULL;
    if (*second) {
        *(*second)++ = '\0';
    }
    return end[1] == ' ' ? end + 2 : end + 1;
}

static void put(json_t *object, apr_pool_t *pool, const char *member, const char *text)
{
    ida_json_put(object, member, text ? ida_clean(pool, text, strlen(text), 0) : NULL);
}

/* " [request ID]" at the end. */
static char *take_request(char *text)
{
    static const char mark[] = " [request ";
    size_t len = strlen(text);
    char *at = NULL;
    for (char *next = text; (next = strstr(next, mark)) != NULL; next++) {
        at = next;
    }
    if (!at || text[len - 1] != ']' || strcspn(at + 1, "]") != strlen(at + 1) - 1) {
        return NULL;
    }
    text[len - 1] = *at = '\0';
    return at + sizeof mark - 1;
}

/* "IDA0110: …", "AH00094: …" */
static char *take_id(char **text)
{
    size_t letters = strspn(*text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
           digits = strspn(*text + letters, "0123456789"), len = letters + digits;
    char *id = *text;
    if (!letters || !digits || strncmp(id + len, ": ", 2) != 0) {
        return NULL;
    }
    id[len] = '\0';
    *text += len + 2;
    return id;
}

static json_t *object_of(apr_pool_t *pool, char *line)
{
    json_t *out = json_object();
    char *time, *module = NULL, *level = NULL, *pid = NULL, *tid = NULL, *client, *none;
    char *copy = apr_pstrdup(pool, line), *rest = take(copy, '\0', &time, &none);
    rest = rest ? take(rest, ':', &module, &level) : NULL;
    rest = rest && level ? take(rest, ':', &pid, &tid) : NULL;
    if (!rest || strncmp(pid, "pid ", 4) != 0) {
        put(out, pool, "message", line); /* of a program that writes there in a form of its own */
        return out;
    }
    put(out, pool, "time", time);
    put(out, pool, "level", level);
    put(out, pool, "module", module);
    put(out, pool, "pid", pid + 4);
    put(out, pool, "tid", tid && strncmp(tid, "tid ", 4) == 0 ? tid + 4 : NULL);
    if (strncmp(rest, "[client ", 8) == 0 && strchr(rest, ']')) {
        rest = take(rest, '\0', &client, &none);
        put(out, pool, "client", client + 7);
    }
    put(out, pool, "requestId", take_request(rest));
    put(out, pool, "id", take_id(&rest));
    put(out, pool, "message", rest);
    return out;
}

int log_as_json(apr_pool_t *pool)
{
    char *line = NULL;
    size_t room = 0;
    apr_pool_t *own;
    apr_pool_create(&own, pool);
    for (ssize_t len; (len = getline(&line, &room, stdin)) > 0; apr_pool_clear(own)) {
        line[strcspn(line, "\n")] = '\0';
        json_t *object = object_of(own, line);
        int bad = puts(ida_json_text(own, object)) < 0 || fflush(stdout) != 0;
        json_decref(object);
        if (bad) {
            break;
        }
    }
    int failed = ferror(stdin) || ferror(stdout);
    free(line);
    return failed;
}
