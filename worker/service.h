/* What systemd is told of the worker over the socket that $NOTIFY_SOCKET names (sd_notify(3)),
 * where there is one. The unit has Type=notify and NotifyAccess=all, because the working process is
 * a child of the supervisor. */
#ifndef WORKER_SERVICE_H
#define WORKER_SERVICE_H

#include <stdint.h>

/* One message: "READY=1\nSTATUS=…". Nothing happens where no socket is named. */
void service_tell(const char *message);

/* How often the watchdog is to be fed, in ms: half of $WATCHDOG_USEC; 0: there is none. */
int64_t service_watchdog_ms(void);

#endif
