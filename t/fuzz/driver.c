/* Runs a fuzz target where there is no libFuzzer: replays every file of the given directories, then
 * feeds random mutations of them until the time is over or so many inputs were run. Each input lies
 * in a heap block of exactly its size, so that the address sanitizer sees an overrun of one byte.
 *
 *     fuzz_NAME [-max_total_time=SECONDS] [-runs=N] [-seed=N] DIRECTORY...
 *
 * The input in hand stands in the shared mapping crash-input of the first directory; the file
 * survives a crash and is removed otherwise. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define INPUT_MAX (1u << 20)
#define CORPUS_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
    __attribute__((weak)); /* of a target that knows its structure */

typedef struct input {
    uint8_t *bytes;
    size_t size;
} input;

static input corpus[CORPUS_MAX];
static size_t corpus_count;
static uint64_t random_state;

/* crash-input: the length of the input as 8 bytes of this machine, then its bytes. */
static uint8_t *in_hand;

static uint64_t random_next(void) /* xorshift64* */
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(2685821657736338717);
}

static size_t random_below(size_t n)
{
    return n ? (size_t)(random_next() % n) : 0;
}

static void die(const char *what, const char *name)
{
    fprintf(stderr, "fuzz: %s %s\n", what, name);
    exit(2);
}

static void run(const uint8_t *bytes, size_t size)
{
    uint64_t length = size;
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact) {
        die("no memory for", "an input");
    }
    memcpy(in_hand, &length, sizeof(length));
    if (size) {
        memcpy(in_hand + sizeof(length), bytes, size);
        memcpy(exact, bytes, size);
    }
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static void load_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    struct stat about;
    if (!in || fstat(fileno(in), &about) != 0) {
        die("cannot read", path);
    }
    if (S_ISREG(about.st_mode) && corpus_count < CORPUS_MAX) {
        input *item = &corpus[corpus_count++];
        size_t size = about.st_size > INPUT_MAX ? INPUT_MAX : (size_t)about.st_size;
        item->bytes = malloc(size ? size : 1);
        item->size = item->bytes ? fread(item->bytes, 1, size, in) : 0;
    }
    fclose(in);
}

static void load_directory(const char *directory)
{
    DIR *dir = opendir(directory);
    struct dirent *entry;
    if (!dir) {
        die("cannot read", directory);
    }
    while ((entry = readdir(dir)) != NULL) {
        char path[4096];
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "crash-input") == 0) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        load_file(path);
    }
    closedir(dir);
}

/* Each changes `bytes` (capacity INPUT_MAX) in place and returns the new size. */
static size_t flip(uint8_t *bytes, size_t size)
{
    if (size) {
        bytes[random_below(size)] ^= (uint8_t)(1u << random_below(8));
    }
    return size;
}

static size_t replace(uint8_t *bytes, size_t size)
{
    static const uint8_t telling[] = {0,   1,    0x7f, 0x80, 0xc0, 0xed, 0xf4, 0xff,
                                      '"', '\\', '{',  '}',  '[',  ']',  ':',  ',',
                                      '%', '/',  '.',  '-',  ' ',  '\n'};
    if (size) {
        bytes[random_below(size)] = random_below(2) ? telling[random_below(sizeof(telling))]
                                                    : (uint8_t)random_next();
    }
    return size;
}

static size_t remove_part(uint8_t *bytes, size_t size)
{
    size_t at = random_below(size),
           length = size ? 1 + random_below(size - at < 32 ? size - at : 32) : 0;
    memmove(bytes + at, bytes + at + length, size - at - length);
    return size - length;
}

static size_t repeat_part(uint8_t *bytes, size_t size)
{
    size_t at = random_below(size),
           length = size ? 1 + random_below(size - at < 64 ? size - at : 64) : 0;
    if (size + length > INPUT_MAX) {
        return size;
    }
    memmove(bytes + at + length, bytes + at, size - at);
    return size + length;
}

static size_t join_other(uint8_t *bytes, size_t size)
{
    const input *other = &corpus[random_below(corpus_count)];
    size_t keep = random_below(size + 1), from = random_below(other->size + 1),
           length = other->size - from;
    if (keep + length > INPUT_MAX) {
        length = INPUT_MAX - keep;
    }
    memcpy(bytes + keep, other->bytes + from, length);
    return keep + length;
}

static size_t (*const mutations[])(uint8_t *, size_t) = {flip,        replace,     replace,
                                                         remove_part, repeat_part, join_other};

/* One to eight of them, as a target's own mutator asks for; what is over `max` is cut off. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    static uint8_t bytes[INPUT_MAX];
    memcpy(bytes, data, size);
    for (size_t n = 1 + random_below(8); n; n--) {
        size = mutations[random_below(sizeof(mutations) / sizeof(mutations[0]))](bytes, size);
    }
    size = size < max ? size : max;
    memcpy(data, bytes, size);
    return size;
}

int main(int argc, char **argv)
{
    static uint8_t bytes[INPUT_MAX];
    const char *first = NULL;
    char crash[4096];
    double seconds = 0;
    uint64_t runs = 0, most = 0;
    struct timespec start, now;

    clock_gettime(CLOCK_MONOTONIC, &start);
    random_state = (uint64_t)time(NULL) * 2654435761u + 1;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-max_total_time=", 16) == 0) {
            seconds = atof(argv[i] + 16);
        } else if (strncmp(argv[i], "-runs=", 6) == 0) {
            most = strtoull(argv[i] + 6, NULL, 10);
        } else if (strncmp(argv[i], "-seed=", 6) == 0) {
            random_state = strtoull(argv[i] + 6, NULL, 10) | 1;
        } else if (argv[i][0] == '-') {
            die("unknown option", argv[i]);
        } else {
            first = first ? first : argv[i];
            load_directory(argv[i]);
        }
    }
    if (!first || !corpus_count) {
        die("no input found; usage: fuzz_NAME [-max_total_time=SECONDS] [-runs=N] [-seed=N]",
            "DIRECTORY...");
    }
    snprintf(crash, sizeof(crash), "%s/crash-input", first);
    int fd = open(crash, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, INPUT_MAX + 8) != 0) {
        die("cannot write", crash);
    }
    in_hand = mmap(NULL, INPUT_MAX + 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (in_hand == MAP_FAILED) {
        die("cannot map", crash);
    }
    printf("seed %" PRIu64 ", %zu inputs\n", random_state, corpus_count);
    fflush(stdout);
    for (size_t i = 0; i < corpus_count; i++, runs++) {
        run(corpus[i].bytes, corpus[i].size);
    }
    for (; !most || runs < most; runs++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 >=
                seconds &&
            !most) {
            break;
        }
        const input *from = &corpus[random_below(corpus_count)];
        size_t size = from->size;
        memcpy(bytes, from->bytes, size);
        size = LLVMFuzzerCustomMutator
                   ? LLVMFuzzerCustomMutator(bytes, size, INPUT_MAX, (unsigned)random_next())
                   : LLVMFuzzerMutate(bytes, size, INPUT_MAX);
        run(bytes, size);
    }
    printf("%" PRIu64 " runs, no crash\n", runs);
    munmap(in_hand, INPUT_MAX + 8);
    close(fd);
    unlink(crash);
    for (size_t i = 0; i < corpus_count; i++) {
        free(corpus[i].bytes);
    }
    return 0;
}
