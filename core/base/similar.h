/* Which name was probably meant by one that does not exist. */
#ifndef CORE_BASE_SIMILAR_H
#define CORE_BASE_SIMILAR_H

/* 1 if one becomes the other by at most two letters that are changed, added, left out or swapped
 * with their neighbour, whatever their case; for names of four letters and more. */
int ida_similar(const char *a, const char *b);

#endif
