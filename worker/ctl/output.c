/* Owns how answers are printed: one JSON document, or tables and lines for people. Must not know
 * any command. */
#include "worker/ctl/ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int ctl_json(ctl_call *ctl, const json_t *document)
{
    if (!ctl->json) {
        return 0;
    }
    char *text = json_dumps(document, JSON_INDENT(2) | JSON_ENCODE_ANY);
    if (text) {
        puts(text);
        free(text);
    }
    return 1;
}

__attribute__((format(printf, 2, 0))) static void say(const ctl_call *ctl, const char *format,
                                                      va_list args)
{
    if (!ctl->json) {
        vprintf(format, args);
        putchar('\n');
    }
}

void ctl_say(ctl_call *ctl, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(ctl, format, args);
    va_end(args);
}

int ctl_answer(ctl_call *ctl, json_t *document, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(ctl, format, args);
    va_end(args);
    ctl_json(ctl, document);
    json_decref(document);
    return CTL_DONE;
}

void ctl_table(ctl_call *ctl, const json_t *rows, const ctl_column *columns, const char *none)
{
    fputs(json_array_size(rows) ? ida_text_table(ctl->pool, rows, columns, ctl_width())
                                : ida_printf(ctl->pool, "%s\n", none),
          stdout);
}

void ctl_fields(ctl_call *ctl, const json_t *object, const ctl_column *columns)
{
    fputs(ida_text_fields(ctl->pool, object, columns), stdout);
}

int ctl_width(void)
{
    struct winsize size = {0};
    int known = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return known ? size.ws_col : 0;
}
