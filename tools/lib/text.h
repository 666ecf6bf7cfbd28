/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h - names, sizes, and shares as people read them.
 */
#ifndef SLABINFO_TEXT_H
#define SLABINFO_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest name, 63 bytes, each of them escaped, and the zero. */
#define TEXT_ESCAPED 256
/* The longest number, a sign, and the zero. */
#define TEXT_SIZE 24

/*
 * Structures to be returned by value: an argument of printf() may then be
 * escaped(name).text.
 */
struct escaped {
	char text[TEXT_ESCAPED];
};

struct size_text {
	char text[TEXT_SIZE];
};

/*
 * @name with every byte that is not printable ASCII, and the backslash, as
 * \xNN: what a process calls its caches cannot move our cursor.
 */
struct escaped escaped(const char *name);

/* "12.3M": powers of 1,024, rounded down; with @bytes the number itself. */
struct size_text size_text(uint64_t bytes_count, bool bytes);
struct size_text signed_size_text(int64_t bytes_count, bool bytes);

/* @part in percent of @whole, rounded down; 0 of nothing, at most 9,999. */
unsigned int percent(uint64_t part, uint64_t whole);
/* The same in hundredths of a percent. */
unsigned int hundredths(uint64_t part, uint64_t whole);

/* @a - @b, or 0: counters read at different times can seem to run backwards. */
static inline uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

const char *policy_name(uint32_t mode);
/* For programs: of an enum slabdev_seg_class_type. */
const char *class_type_key(uint32_t type);

#endif /* SLABINFO_TEXT_H */
