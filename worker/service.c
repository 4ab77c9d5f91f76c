/* Owns the messages to systemd. A message that cannot be sent is lost: the service goes on. */
#include "worker/service.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void service_tell(const char *message)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = path ? strlen(path) : 0;
    if (len < 2 || len >= sizeof to.sun_path || !strchr("/@", path[0])) {
        return;
    }
    memcpy(to.sun_path, path, len);
    if (path[0] == '@') {
        to.sun_path[0] = '\0'; /* an abstract name */
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&to,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
        close(fd);
    }
}

int64_t service_watchdog_ms(void)
{
    const char *text = getenv("WATCHDOG_USEC");
    char *end = NULL;
    long long microseconds = text ? strtoll(text, &end, 10) : 0;
    return text && end != text && !*end && microseconds >= 2000 ? microseconds / 2000 : 0;
}
