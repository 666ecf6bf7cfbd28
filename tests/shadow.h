/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shadow.h - an allocator that cannot be wrong: a bit for each 16 bytes.
 *
 * A set bit says that the bytes are somebody's. Whoever gets an object claims
 * all of its bytes, whoever frees one gives them up before, so an object that
 * overlaps another one, of any thread and of any kind, is found at once.
 *
 * An object is marked at both ends with a word of its own, to be found there
 * when it is freed or has moved.
 *
 * Only the pages of the map that are used take memory. All of it is atomic;
 * no lock.
 */
#ifndef TESTS_SHADOW_H
#define TESTS_SHADOW_H

#include "slab/slab.h"
#include "tests/kunit/kunit.h"

#define SHADOW_UNIT 16u

struct shadow {
	const struct slabdev *sd;
	u64 units;
	u64 *map;		/* atomic */
};

/* Of eight times a space's limit, which is where its first reservation ends;
 * goes with the case. */
void shadow_init(struct kunit *test, struct shadow *s, struct slabdev *sd);
/* False: some of the @size bytes were somebody's, or are no memory at all. */
bool shadow_claim(struct shadow *s, const void *p, u64 size);
/* False: some of them were nobody's. */
bool shadow_release(struct shadow *s, const void *p, u64 size);
/* Bytes that are somebody's. */
u64 shadow_claimed(const struct shadow *s);

/* Write @word at both ends of @size bytes; both fit if there are 16. */
void shadow_mark(const struct shadow *s, void *p, u64 size, u64 word);
/* Is it still there, when @size bytes became @now and perhaps moved to @p? Of
 * less than 16 bytes, only the end was marked. */
bool shadow_is_marked(const struct shadow *s, const void *p, u64 size, u64 now,
		      u64 word);

#endif /* TESTS_SHADOW_H */
