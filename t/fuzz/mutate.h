/* Mutations that keep the structure of an input, so that what is behind a parser's first test is
 * reached too. A target names its structure:
 *
 *     FUZZ_STRUCTURE(fuzz_json, fuzz_after_nuls(data, size, 5))
 */
#ifndef T_FUZZ_MUTATE_H
#define T_FUZZ_MUTATE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Changes the structure of `size` bytes in place, at most `max`; returns its new size, 0: this is
 * none. Numbers come from `seed`. */
typedef size_t fuzz_structure(uint8_t *data, size_t size, size_t max, unsigned seed);
fuzz_structure fuzz_json, fuzz_ber;

/* Where the part behind `count` NULs begins; the end when there are fewer. */
size_t fuzz_after_nuls(const uint8_t *data, size_t size, int count);

/* Where the body behind header lines begins; the end when there is none. */
size_t fuzz_after_empty_line(const uint8_t *data, size_t size);

/* The next number of a series, below n. */
size_t fuzz_number(unsigned *series, size_t n);

/* The driver's own, of bytes. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

size_t fuzz_mutate(fuzz_structure *structure, size_t from, uint8_t *data, size_t size, size_t max,
                   unsigned seed);

#define FUZZ_STRUCTURE(structure, from)                                                   \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) \
    {                                                                                     \
        return fuzz_mutate(structure, (from), data, size, max, seed);                     \
    }

#endif
