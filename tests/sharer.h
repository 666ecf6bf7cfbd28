/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sharer.h - the other process of tests of sharing.
 */
#ifndef TESTS_SHARER_H
#define TESTS_SHARER_H

#include <stdint.h>

/* What tests/sharer says of the object, before it adds one to .value. */
struct sharer_answer {
	int32_t err;		/* of importing; then all else is 0 */
	uint32_t value;
	uint64_t size;
};

struct kunit;
struct slabdev_share;

/* A started tests/sharer; it ends with the case, if not before. */
struct sharer {
	int sock;
	int pid;
};

/* Start it for @spec and send it @share: its first answer. */
struct sharer_answer sharer_start(struct kunit *test, struct sharer *s,
				  const char *spec,
				  const struct slabdev_share *share);
/* Its next answer. */
struct sharer_answer sharer_next(struct kunit *test, struct sharer *s);
/* It closes its import and ends, with success. */
void sharer_end(struct kunit *test, struct sharer *s);

#endif /* TESTS_SHARER_H */
