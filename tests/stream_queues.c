// SPDX-License-Identifier: BSD-2-Clause
/*
 * stream_queues.c - programs on host queues, see stream_program.h.
 *
 * Where the program is alone its queues are manual; else they have threads. Its
 * .priv is the struct vmm_fault below the space.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/random.h"
#include "tests/stream_program.h"
#include "vmm/fault.h"

static void run_kernel(void *arg)
{
	program_kernel_run(arg);
	free(arg);
}

static void queue_submit(struct program *p, struct program_kernel *k,
			 u32 stream)
{
	if (!stream)
		run_kernel(k);
	else
		KUNIT_ASSERT_EQ(p->test,
				slabdev_queue_submit(p->stream[stream].handle,
						     run_kernel, k), 0);
}

static void queue_begin(struct program *p, u32 i)
{
	KUNIT_ASSERT_EQ(p->test,
			slabdev_queue_create(&p->stream[i].handle, p->alone ?
					     SLABDEV_QUEUE_MANUAL : 0), 0);
}

static int run_once(struct program *p)
{
	int n, ran = 0;
	u32 i;

	for (i = 1; i < p->nr_streams; i++) {
		if (!p->stream[i].handle)
			continue;
		n = slabdev_queue_run(p->stream[i].handle, ~0u);
		ran += n;
		KUNIT_ASSERT_GE(p->test, n, 0);
	}
	return ran;
}

static void queue_run_all(struct program *p)
{
	u32 i;

	while (p->alone && run_once(p))
		;
	for (i = 1; i < p->nr_streams; i++)
		if (p->stream[i].handle)
			KUNIT_ASSERT_EQ(p->test, slabdev_queue_synchronize(
						 p->stream[i].handle), 0);
}

static void queue_run_some(struct program *p)
{
	u32 i = 1 + random_below(&p->random, p->nr_streams - 1);
	u32 most = 1 + random_below(&p->random, 16);

	if (p->alone)
		(void)slabdev_queue_run(p->stream[i].handle, most);
}

static void queue_end(struct program *p, u32 i)
{
	int err = slabdev_queue_destroy(p->stream[i].handle);

	if (err == -EDEADLK) {
		queue_run_all(p);
		err = slabdev_queue_destroy(p->stream[i].handle);
	}
	KUNIT_ASSERT_EQ(p->test, err, 0);
}

/* The CPU is ahead of all, and has to wait. */
static void queue_order(struct program *p, u32 before, u32 after)
{
	if (!before)
		return;
	if (!after)
		queue_run_all(p);
	else
		KUNIT_ASSERT_EQ(p->test,
				slabdev_queue_wait(p->stream[after].handle,
						   p->stream[before].handle),
				0);
}

static void queue_fail(struct program *p, bool fails)
{
	struct vmm_fault *f = p->priv;
	u32 n = 1 + random_below(&p->random, 20);
	u32 count = 1 + random_below(&p->random, 4);
	int error = random_below(&p->random, 2) ? -ENOMEM : -EIO;
	u32 op;

	vmm_fault_arm_any(f, fails ? n : 0, count, 1, error);
	for (op = VMM_OP_FILL; op <= VMM_OP_EVENT; op++)
		if (!fails || random_below(&p->random, 2))
			vmm_fault_arm(f, op, fails ? n : 0, count, error);
}

const struct program_driver queue_driver = {
	.places = 48,
	.backlog = 2000,
	.run_every = 3,
	.begin = queue_begin,
	.end = queue_end,
	.submit = queue_submit,
	.order = queue_order,
	.run_some = queue_run_some,
	.run_all = queue_run_all,
	.fail = queue_fail,
};
