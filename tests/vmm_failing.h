/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vmm_failing.h - a space of vmm_space.h whose calls of the backend may fail.
 */
#ifndef TESTS_VMM_FAILING_H
#define TESTS_VMM_FAILING_H

#include "tests/vmm_space.h"
#include "vmm/fault.h"

/* Not open yet; @f is between it and the host. */
static inline struct space *failing_space_new(struct kunit *test,
					      struct vmm_fault *f)
{
	struct space *s = space_new(test);

	vmm_fault_init(f, s->host_ops, s->host_dev);
	s->ops = &f->table;
	s->dev = f;
	return s;
}

/* Everything that was made is gone. */
static inline void failing_space_end(struct space *s, struct vmm_fault *f)
{
	struct kunit *test = s->test;

	space_end(s);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(f));
	vmm_fault_fini(f);
}

#endif /* TESTS_VMM_FAILING_H */
