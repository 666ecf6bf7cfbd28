/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reserved.h - the addresses that the library holds.
 *
 * Stands in for os_reserve() and os_unreserve(), counts, and refuses when it is
 * told to. For one thread.
 */
#ifndef TESTS_RESERVED_H
#define TESTS_RESERVED_H

#include "tests/kunit/kunit.h"

struct reserved {
	u64 held;		/* bytes, less what is given back */
	u32 refuse_at;		/* the reservation to refuse, 1: the next */
	bool refuse_unreserve;	/* while it is set */
};

extern struct reserved reserved;

/* From now on, for this case, and from 0. */
void reserved_watch(struct kunit *test);
void reserved_ignore(struct kunit *test);

#endif /* TESTS_RESERVED_H */
