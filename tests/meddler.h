/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * meddler.h - what happens between two steps of a look.
 *
 * An object at whose end a read of the space begins, and what is done before
 * and behind such a read. What that reads itself is left alone. There is one at
 * a time; the space is the one that the case has as its .priv.
 */
#ifndef TESTS_MEDDLER_H
#define TESTS_MEDDLER_H

#include "tests/damage.h"

struct meddler {
	struct kunit *test;
	struct slabdev *sd;
	struct vmm_ops ops;
	const struct vmm_ops *real;
	void (*before)(struct meddler *m);
	void (*after)(struct meddler *m);
	u32 reads;
	bool busy;
	void *p;
	size_t size;
};

/* From now on reads are looked at that begin @size bytes behind @p. */
struct meddler *meddle(struct kunit *test, void *p, size_t size);
/* It must have seen one. */
void stop_meddling(struct meddler *m);

#endif /* TESTS_MEDDLER_H */
