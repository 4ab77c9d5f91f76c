/* Reads JSON where it lies, value by value and without building a tree: pages of a sync hold
 * thousands of items, and a tree of them costs more than everything else that is done with them.
 * Strict: what is no JSON (RFC 8259) is a fault, and a fault stays.
 */
#ifndef WORKER_GRAPH_READER_H
#define WORKER_GRAPH_READER_H

#include <stddef.h>

typedef struct graph_reader {
    char *at;
    size_t len; /* bytes of the name or text read last */
    int fault;  /* 1: this is no JSON; everything from here on reads as empty */
} graph_reader;

/* `bytes` end with NUL, which no JSON holds, and are changed: texts are decoded in place and stay
 * where they are. */
void graph_reader_begin(graph_reader *r, char *bytes);

/* for (int more = graph_object_begin(&r, &name); more; more = graph_object_next(&r, &name)) { read
 * or skip the value } A value of another type than asked for is skipped and reads as empty. */
int graph_object_begin(graph_reader *r, const char **name);
int graph_object_next(graph_reader *r, const char **name);
int graph_array_begin(graph_reader *r);
int graph_array_next(graph_reader *r);

/* A text, NULL for anything else. U+0000, which C cannot hold, becomes U+FFFD. */
const char *graph_read_text(graph_reader *r);
/* 1 for true, 0 for anything else. */
int graph_read_true(graph_reader *r);
void graph_skip(graph_reader *r);
/* 1 when nothing but blanks follows. */
int graph_reader_end(graph_reader *r);

#endif
