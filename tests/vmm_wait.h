/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vmm_wait.h - a device that is done when the test says so (slow_device.h),
 * behind the wrapper that fails calls, for the suites of what waits for it.
 */
#ifndef TESTS_VMM_WAIT_H
#define TESTS_VMM_WAIT_H

#include "tests/slow_device.h"
#include "vmm/fault.h"

/* Of the case; one at a time. */
static struct vmm_fault fault;

static inline int wait_init(struct kunit *test)
{
	int err = slow_device_init(test);
	struct space *s = test->priv;

	vmm_fault_init(&fault, s->ops, s->dev);
	s->ops = &fault.table;
	s->dev = &fault;
	return err;
}

static inline void wait_exit(struct kunit *test)
{
	slow_device_exit(test);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&fault));
	vmm_fault_fini(&fault);
}

static inline void look(struct space *s, int err)
{
	KUNIT_EXPECT_EQ(s->test, vmm_settle(&s->v, false), err);
}

/* It gets to the end of all that was submitted, and the vmm knows. */
static inline void pause_device(struct space *s)
{
	device_be_prompt(true);
	look(s, 0);
	device_be_prompt(false);
}

#endif /* TESTS_VMM_WAIT_H */
