/* Owns the choice between a mutation of bytes and one of the structure. Must not know targets. */
#include "t/fuzz/mutate.h"

size_t fuzz_number(unsigned *series, size_t n)
{
    *series = *series * 1664525u + 1013904223u;
    return n ? (*series >> 8) % n : 0;
}

size_t fuzz_after_nuls(const uint8_t *data, size_t size, int count)
{
    size_t at = 0;
    for (; count && at < size; at++) {
        count -= data[at] == '\0';
    }
    return at;
}

size_t fuzz_after_empty_line(const uint8_t *data, size_t size)
{
    for (size_t at = 0; at + 1 < size; at++) {
        if (data[at] == '\n' && data[at + 1] == '\n') {
            return at + 2;
        }
    }
    return size;
}

/* One in four mutations is of bytes: what no structure allows must be tried too. */
size_t fuzz_mutate(fuzz_structure *structure, size_t from, uint8_t *data, size_t size, size_t max,
                   unsigned seed)
{
    from = from < size ? from : size;
    size_t changed = fuzz_number(&seed, 4) && from < size
                         ? structure(data + from, size - from, max - from, seed)
                         : 0;
    return changed ? from + changed : LLVMFuzzerMutate(data, size, max);
}
