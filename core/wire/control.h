/* Orders of httpd's parent to a running writer. */
#ifndef CORE_WIRE_CONTROL_H
#define CORE_WIRE_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum wire_order {
    ORDER_SERVE = 1, /* take introductions */
    ORDER_STAND_BY,  /* wait until the process of the attached pidfd has ended; then serve */
    ORDER_CHILD,     /* `process` is a child of this generation */
    ORDER_CHILD_GONE,
    ORDER_RETIRE /* end when no child and no connection is left */
} wire_order;

typedef struct wire_control {
    int32_t order;
    int32_t process;
} wire_control;

/* What the serving writer of a generation shows once a second. */
typedef struct wire_beat {
    _Atomic uint64_t beats;              /* incremented, so the standby notices when it hangs */
    _Atomic uint64_t writes, body_bytes; /* under way, for the metrics */
} wire_beat;

/* Descriptors that a writer is started with. */
enum { WRITER_CONTROL = 3, WRITER_INTRODUCTIONS, WRITER_SETTINGS, WRITER_BEAT, WRITER_END };
#define WRITER_BEAT_BYTES 4096

#endif
