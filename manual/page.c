/* Owns what mdoc needs of text: escapes, quotes, a line a sentence. Must not know any page. */
#include "manual/page.h"

#include <apr_strings.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_FULL 64 /* bytes after which a blank ends a line: words are shorter than 16 mostly */

void page_begin(const char *date, const char *title, const char *section, const char *name,
                const char *about)
{
    printf(".\\\" Made from the tables of the program: edit those.\n"
           ".Dd %s\n.Dt %s %s\n.Os mod_idadmin\n.Sh NAME\n.Nm %s\n.Nd %s\n",
           date, title, section, name, about);
}

void page_line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* 1: a sentence ends before this character, which is a blank. */
static int ends_sentence(const char *text, const char *at)
{
    return at > text && (at[-1] == '.' || at[-1] == '?') && isupper((unsigned char)at[1]);
}

void page_text(const char *text)
{
    int bold = 0, begun = 0; /* bytes of this line */
    for (const char *at = text; *at; at++) {
        if (*at == '\n' || (*at == ' ' && (begun > LINE_FULL || ends_sentence(text, at)))) {
            if (begun) {
                putchar('\n');
            }
            begun = 0;
            continue;
        }
        if (!begun && (*at == '.' || *at == '\'')) {
            fputs("\\&", stdout);
        }
        begun++;
        if (*at == '\\') {
            fputs("\\e", stdout);
        } else if (*at == '`') {
            fputs(bold ? "\\fP" : "\\fB", stdout);
            bold = !bold;
        } else {
            putchar(*at);
        }
    }
    if (begun) {
        putchar('\n');
    }
}

const char *page_word(apr_pool_t *pool, const char *text)
{
    char *made = apr_palloc(pool, strlen(text) * 4 + 3), *to = made;
    *to++ = '"';
    for (; *text; text++) {
        const char *piece = *text == '\\' ? "\\e" : *text == '"' ? "\\(dq" : NULL;
        if (piece) {
            to = stpcpy(to, piece);
        } else {
            *to++ = *text;
        }
    }
    *to++ = '"';
    *to = '\0';
    return made;
}

void page_item(const char *head, const char *text)
{
    printf(".It %s\n", head);
    page_text(text);
}

/* `--option VALUE` as mdoc writes it. */
static void option_item(apr_pool_t *pool, const argument_option *o)
{
    const char *head = apr_pstrcat(pool, "Fl Fl ", o->name, NULL);
    if (o->value && argument_takes_value(o)) {
        head = apr_pstrcat(pool, head, " Ar ", page_word(pool, o->value), NULL);
    } else if (o->value) {
        head = apr_pstrcat(pool, head, " Ns Op Ns =false", NULL);
    }
    page_item(head, o->help);
}

void page_options(apr_pool_t *pool, const argument_option *rows)
{
    page_line(".Bl -tag -width Ds");
    for (; rows->name; rows++) {
        option_item(pool, rows);
    }
    page_line(".El");
}
