/* Buffered randomness: no number twice, neither in threads nor in forked children. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t/unit/setup.h"

#define EACH 2000

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

static void *draw(void *to)
{
    for (int i = 0; i < EACH; i++) {
        test_true_random(NULL, (unsigned char *)to + (size_t)i * 16, 16);
    }
    return NULL;
}

int main(void)
{
    setup();
    unsigned char *all = mmap(NULL, 8 * EACH * 16, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned char warm[16], large[600] = {0}, zero[600] = {0};
    pthread_t threads[4];
    test_true_random(NULL, warm, sizeof warm); /* a buffer that children would inherit */
    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            draw(all + (size_t)i * EACH * 16);
            _exit(0);
        }
    }
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, draw, all + (size_t)(4 + i) * EACH * 16);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        wait(NULL);
    }
    qsort(all, 8 * EACH, 16, by_bytes);
    int same = 0;
    for (int i = 1; i < 8 * EACH; i++) {
        same += memcmp(all + (size_t)i * 16, all + (size_t)(i - 1) * 16, 16) == 0;
    }
    is_int(same, 0, "16,000 numbers of four threads and four children: none twice");
    test_true_random(NULL, large, sizeof large);
    ok(memcmp(large, zero, sizeof large) != 0 && memcmp(large + 300, zero, 300) != 0,
       "more than the stock holds");
    return done();
}
