/* The audit spool: names, framing, torn records, and the races of several writing processes with a
 * reader that removes segments. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/audit/spool.h"
#include "t/unit/setup.h"

static void names(void)
{
    char name[AUDIT_SPOOL_NAME_SIZE];
    audit_spool_name(test_now_ms, name);
    is_str(name, "202611210930.audit", "the segment is named by its UTC minute");
    is_int(audit_spool_minute(name), test_now_ms, "and the name gives the minute back");
    ok(!audit_spool_is_over(name, test_now_ms + 59999), "not over in its last millisecond");
    ok(audit_spool_is_over(name, test_now_ms + 60000), "over with the next minute");
    static const char *const strange[] = {"",
                                          ".audit",
                                          "202611210930",
                                          "202611210930.audit~",
                                          "2026112109300.audit",
                                          "202602310930.audit",
                                          "202611210960.audit",
                                          "202611212430.audit",
                                          "20261121 930.audit",
                                          ".reader"};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        ok(audit_spool_minute(strange[i]) == -1 && !audit_spool_is_over(strange[i], INT64_MAX),
           "\"%s\" is no segment", strange[i]);
    }
}

/* Walks `bytes` and returns what it found: records joined by ",", then ";torn;position". */
static const char *walk(const char *bytes, size_t len, int final)
{
    char *copy = exact(bytes, len);
    audit_spool_scan scan = {.bytes = copy, .len = len, .final = final};
    const char *json, *all = "";
    size_t json_len;
    while (audit_spool_next(&scan, &json, &json_len)) {
        all = apr_psprintf(pool, "%s%s%.*s", all, *all ? "," : "", (int)json_len, json);
    }
    free(copy);
    return apr_psprintf(pool, "%s;%d;%d", all, (int)scan.torn, (int)scan.at);
}

#define WALK(text, final) walk(text, sizeof text - 1, final)

static void framing(void)
{
    char out[AUDIT_MAX], big[AUDIT_MAX];
    memset(big, 'x', sizeof big);
    is_int((int64_t)audit_spool_frame("{}", 2, out), 4, "frame: RS, text, LF");
    ok(memcmp(out, "\x1e{}\n", 4) == 0, "in these bytes");
    is_int((int64_t)audit_spool_frame(big, AUDIT_SPOOL_JSON_MAX, out), AUDIT_MAX,
           "the longest text fills 4096 bytes");
    is_int((int64_t)audit_spool_frame(big, AUDIT_SPOOL_JSON_MAX + 1, out), 0,
           "one byte more is refused");
    is_int((int64_t)audit_spool_frame("", 0, out), 0, "nothing is no record");
    is_int((int64_t)audit_spool_frame("a\nb", 3, out), 0, "nor is a text of two lines");
    is_int((int64_t)audit_spool_frame("a\x1e", 2, out), 0, "nor one with an RS");

    is_str(WALK("\x1e{1}\n\x1e{2}\n", 0), "{1},{2};0;10", "two whole records");
    is_str(WALK("\x1e{1}\n\x1e{2", 0), "{1};0;5", "an unended one stays for later");
    is_str(WALK("\x1e{1}\n\x1e{2", 1), "{1};1;8", "or is torn when nobody can end it");
    is_str(WALK("\x1e{1}\n\x1e", 0), "{1};0;5", "so does a lone RS");
    is_str(WALK("\x1e{1\x1e{2}\n", 0), "{2};1;8", "torn by a beginning of the next");
    is_str(WALK("rest}\n\x1e{2}\n", 0), "{2};1;11", "a tail without beginning");
    is_str(WALK("\x1e\n\x1e{2}\n", 0), "{2};1;7", "an empty record is torn");
    is_str(WALK("\x1e\x1e\x1e{2}\n", 0), "{2};2;7", "RS after RS");
    is_str(WALK("", 1), ";0;0", "nothing at all");
    char *full = apr_palloc(pool, AUDIT_MAX + 1);
    size_t full_len = audit_spool_frame(big, AUDIT_SPOOL_JSON_MAX, full);
    is_str(strrchr(walk(full, full_len, 0), ';'), ";4096", "the longest record is read back");
    memset(full, 'x', AUDIT_MAX + 1);
    full[0] = AUDIT_SPOOL_RS;
    is_str(walk(full, AUDIT_MAX, 0), ";1;4096", "a record that can only be too long is given up");
    full[AUDIT_MAX] = '\n';
    is_str(walk(full, AUDIT_MAX + 1, 0), ";1;4097", "one byte too long is torn");
}

static char directory[] = "/tmp/idadmin-spool-XXXXXX";

static void writing(void)
{
    apr_pool_t *child;
    apr_pool_create(&child, pool);
    audit_spool_writer *writer = audit_spool_writer_make(child, directory);
    char path[256], bytes[64] = "";
    is_int(audit_spool_append(writer, test_now_ms, "{1}", 3), 0, "append");
    is_int(audit_spool_append(writer, test_now_ms + 59999, "{2}", 3), 0, "the same minute");
    is_int(audit_spool_append(writer, test_now_ms, "a\nb", 3), EMSGSIZE, "two lines are refused");
    snprintf(path, sizeof path, "%s/202611210930.audit", directory);
    int fd = open(path, O_RDONLY);
    ok(read(fd, bytes, sizeof bytes) == 10 && memcmp(bytes, "\x1e{1}\n\x1e{2}\n", 10) == 0,
       "both records are in the file");
    struct stat st;
    ok(fstat(fd, &st) == 0 && (st.st_mode & 0007) == 0, "others cannot read it");
    is_int(audit_spool_seal(fd), 0, "not to be sealed while the writer holds it");
    audit_spool_close_old(writer, test_now_ms + 59999);
    is_int(audit_spool_seal(fd), 0, "nor when asked to close too early");
    audit_spool_close_old(writer, test_now_ms + 60000);
    is_int(audit_spool_seal(fd), 1, "but when the minute is over and the writer let go");
    close(fd);
    is_int(audit_spool_append(writer, test_now_ms + 60000, "{3}", 3), 0, "the next minute");
    apr_pool_destroy(child);
    snprintf(path, sizeof path, "%s/202611210931.audit", directory);
    fd = open(path, O_RDONLY);
    is_int(audit_spool_seal(fd), 1, "the end of the writer lets go too");
    close(fd);

    writer = audit_spool_writer_make(pool, "/nonexistent/spool");
    is_int(audit_spool_append(writer, test_now_ms, "{}", 2), ENOENT,
           "a missing directory is an error");
    if (access("/dev/full", W_OK) == 0) {
        snprintf(path, sizeof path, "%s/full", directory);
        mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/full/202611210930.audit", directory);
        ok(symlink("/dev/full", path) == 0, "a symbolic link in the place of a segment");
        snprintf(path, sizeof path, "%s/full", directory);
        writer = audit_spool_writer_make(pool, path);
        is_int(audit_spool_append(writer, test_now_ms, "{}", 2), ELOOP, "is not followed");
    }

    int first = audit_spool_reader_lock(directory);
    ok(first >= 0, "reader lock");
    ok(audit_spool_reader_lock(directory) == -1 && errno == EWOULDBLOCK, "one reader at a time");
    close(first);
    first = audit_spool_reader_lock(directory);
    ok(first >= 0, "and the next after it");
    close(first);
}

/* --- races: writers in processes and threads on a clock of 10 ms "minutes", a reader that seals
 * and removes; some writers are killed --- */

#define WRITERS 4
#define THREADS 3
#define RECORDS 3000

static int64_t fast_clock(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000) * 6000; /* 10 ms are a minute */
}

static struct {
    audit_spool_writer *writer;
    int process;
} racing;

/* A file with the name of a segment that is not one: neither side waits for it, or accepts it. */
static void strangers(void)
{
    char name[AUDIT_SPOOL_NAME_SIZE];
    int64_t at = test_now_ms + 600000;
    audit_spool_name(at, name);
    const char *path = apr_pstrcat(pool, directory, "/", name, NULL);
    audit_spool_writer *writer = audit_spool_writer_make(pool, directory);
    alarm(PATIENCE_MS / 1000); /* ends the test if one of them waits */
    ok(mkfifo(path, 0600) == 0, "a FIFO");
    is_int(audit_spool_append(writer, at, "{}", 2), ENXIO, "is not written into");
    ok(audit_spool_open(path) == -1 && errno == EINVAL, "and not read");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    is_int(audit_spool_append(writer, at, "{}", 2), EINVAL, "nor if a process holds its other end");
    close(fd);
    unlink(path);
    ok(mkdir(path, 0700) == 0 && audit_spool_open(path) == -1 && errno == EINVAL,
       "a directory is not read");
    rmdir(path);
    ok(symlink("/etc/passwd", path) == 0 && audit_spool_open(path) == -1 && errno == EINVAL,
       "nor a link");
    unlink(path);
    ok(audit_spool_open(path) == -1 && errno == ENOENT, "nothing is nothing");
    is_int(audit_spool_append(writer, at, "{}", 2), 0, "when they are gone, writing goes on");
    fd = audit_spool_open(path);
    ok(fd >= 0, "and reading");
    close(fd);
    unlink(path);
    alarm(0);
}

static void *write_many(void *baton)
{
    int thread = (int)(intptr_t)baton;
    for (int i = 0; i < RECORDS; i++) {
        char json[64];
        int len = snprintf(json, sizeof json, "{\"p\":%d,\"t\":%d,\"i\":%d}", racing.process,
                           thread, i);
        if (audit_spool_append(racing.writer, fast_clock(), json, (size_t)len) != 0) {
            _exit(1);
        }
        if (i % 16 == 0) {
            audit_spool_close_old(racing.writer, fast_clock());
            usleep(200);
        }
    }
    return NULL;
}

static unsigned char seen[WRITERS][THREADS][RECORDS];
static int64_t read_torn, read_bad, removed;

static void take(const char *bytes, size_t len)
{
    audit_spool_scan scan = {.bytes = bytes, .len = len, .final = 1};
    const char *json;
    size_t json_len;
    while (audit_spool_next(&scan, &json, &json_len)) {
        int p, t, i;
        char text[128];
        snprintf(text, sizeof text, "%.*s", (int)json_len, json);
        if (sscanf(text, "{\"p\":%d,\"t\":%d,\"i\":%d}", &p, &t, &i) == 3 && p < WRITERS &&
            t < THREADS && i < RECORDS) {
            seen[p][t][i]++;
        } else {
            read_bad++;
        }
    }
    read_torn += scan.torn;
}

static void sweep(const char *race_directory, int all)
{
    DIR *d = opendir(race_directory);
    for (struct dirent *e; (e = readdir(d));) {
        if (audit_spool_minute(e->d_name) < 0 ||
            (!all && !audit_spool_is_over(e->d_name, fast_clock()))) {
            continue;
        }
        char path[512];
        snprintf(path, sizeof path, "%s/%s", race_directory, e->d_name);
        int fd = open(path, O_RDONLY);
        if (fd >= 0 && audit_spool_seal(fd) == 1) {
            struct stat st;
            fstat(fd, &st);
            char *bytes = malloc((size_t)st.st_size + 1);
            ssize_t got = read(fd, bytes, (size_t)st.st_size);
            take(bytes, got > 0 ? (size_t)got : 0);
            free(bytes);
            unlink(path);
            removed++;
        }
        close(fd);
    }
    closedir(d);
}

static void races(void)
{
    char race_directory[64];
    snprintf(race_directory, sizeof race_directory, "%s/race", directory);
    mkdir(race_directory, 0700);
    pid_t pids[WRITERS];
    for (int p = 0; p < WRITERS; p++) {
        pids[p] = fork();
        if (!pids[p]) {
            pthread_t threads[THREADS];
            racing.process = p;
            racing.writer = audit_spool_writer_make(pool, race_directory);
            for (int t = 0; t < THREADS; t++) {
                pthread_create(&threads[t], NULL, write_many, (void *)(intptr_t)t);
            }
            for (int t = 0; t < THREADS; t++) {
                pthread_join(threads[t], NULL);
            }
            _exit(0);
        }
    }
    int left = WRITERS, clean = 0, killed = 0;
    for (int round = 0; left; round++) {
        sweep(race_directory, 0);
        if (round == 20) {
            kill(pids[WRITERS - 1], SIGKILL);
        }
        int status;
        while (waitpid(-1, &status, WNOHANG) > 0) {
            left--;
            clean += WIFEXITED(status) && WEXITSTATUS(status) == 0;
            killed += WIFSIGNALED(status);
        }
        usleep(1000);
    }
    sweep(race_directory, 1);
    ok(clean + killed == WRITERS && clean >= WRITERS - 1,
       "every writer that was not killed wrote without an error");
    int lost = 0, doubled = 0, gaps = 0;
    for (int p = 0; p < WRITERS; p++) {
        for (int t = 0; t < THREADS; t++) {
            for (int i = 0; i < RECORDS; i++) {
                lost += p < WRITERS - killed && seen[p][t][i] == 0;
                doubled += seen[p][t][i] > 1;
                gaps += i && seen[p][t][i] && !seen[p][t][i - 1];
            }
        }
    }
    is_int(lost, 0, "no record of a living writer was lost while segments were removed");
    is_int(doubled, 0, "none was doubled");
    is_int(gaps, 0, "a killed writer leaves no gap before its last record");
    ok(read_torn == 0 && read_bad == 0, "none was torn or mixed with another");
    ok(removed > 5, "the reader removed %d segments meanwhile", (int)removed);
}

int main(void)
{
    setup();
    names();
    framing();
    if (!mkdtemp(directory)) {
        perror(directory);
        return 1;
    }
    writing();
    strangers();
    races();
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    ok(system(command) == 0, "the directory is removed");
    return done();
}
