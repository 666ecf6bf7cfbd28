/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failing.h - a space whose backend fails when it is told to, and work for it.
 *
 * The workload is the same in each run: small and large objects, zeroing and
 * moving, a cache, the limit, each policy, a stream and a capture. Each of its
 * steps either works or fails cleanly, with an error of those that are
 * documented; after each failure the books of the space, and of the wrapper
 * below it, agree.
 */
#ifndef TESTS_FAILING_H
#define TESTS_FAILING_H

#include "core/log.h"
#include "slab/slab.h"
#include "tests/open_space.h"
#include "vmm/fault.h"

#define FAILING_LIMIT (100 * MIB)

struct failing {
	struct kunit *test;
	const struct vmm_ops *ops;
	void *dev;
	struct vmm_fault f;
	struct slabdev *sd;
	u32 reports[REPORT_NR_KINDS];
};

/* Of a suite: test->priv is a struct failing. Reports but those of lost memory
 * and of a lack of it fail the case. */
int failing_init(struct kunit *test);
void failing_exit(struct kunit *test);

/* 0, or the error of the open. */
int __must_check failing_open(struct failing *t);
void failing_work(struct failing *t);
/* Nothing fails any more: everything works, all goes back, the space closes. */
void failing_recover(struct failing *t);

#endif /* TESTS_FAILING_H */
