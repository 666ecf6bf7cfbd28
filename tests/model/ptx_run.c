// SPDX-License-Identifier: BSD-2-Clause
/*
 * ptx_run.c - the threads of a launch, one after the other.
 *
 * It runs with the lock held, in the thread that runs all work. A kernel that
 * does not end would hold it for ever, so that each thread, and each launch,
 * has a number of instructions that it may execute.
 */
#include <stdio.h>

#include "tests/model/ptx_insn.h"

#define THREAD_STEPS_MAX ((u64)1 << 26)
#define LAUNCH_STEPS_MAX ((u64)1 << 33)
#define WARP 32u
/* In a register that nothing was written to. */
#define GARBAGE 0xdbdbdbdbdbdbdbdbu

const struct ptx_step *ptx_fail(struct ptx_thread *t, const struct ptx_step *s,
				CUresult code, const char *what, u64 addr)
{
	const struct ptx_place *p = t->places;
	char why[WHY_MAX];

	t->failed = true;
	if (code == CUDA_ERROR_ILLEGAL_ADDRESS && (broken(93) || broken(103)))
		return NULL;
	snprintf(why, sizeof(why), "kernel %.64s, line %u, thread (%u,%u,%u) "
		 "of block (%u,%u,%u): %s %#llx", t->kernel->name, s->line,
		 (u32)p[PTX_TID_X].v, (u32)p[PTX_TID_Y].v,
		 (u32)p[PTX_TID_Z].v, (u32)p[PTX_CTAID_X].v,
		 (u32)p[PTX_CTAID_Y].v, (u32)p[PTX_CTAID_Z].v, what,
		 (unsigned long long)addr);
	device_fault(t->op->device, code, why);
	return NULL;
}

void ptx_unset(const struct ptx_thread *t, const struct ptx_step *s,
	       struct ptx_place *reg)
{
	violation("kernel %.64s, line %u: a register is read that nothing "
		  "was written to", t->kernel->name, s->line);
	reg->v = GARBAGE & reg->mask;
}

/* ---- Threads -------------------------------------------------------- */

/* What the launch may execute yet, in @steps. Returns false: it has failed. */
static bool run_thread(struct ptx_thread *t, u64 *steps)
{
	const struct ptx_step *s = t->kernel->steps;
	u64 may = min(*steps, THREAD_STEPS_MAX), left = may;

	t->serial++;
	while (s && left) {
		left--;
		s = s->fn(t, s);
	}
	*steps -= may - left;
	if (s && s != t->kernel->steps + t->kernel->nr_insns)
		ptx_fail(t, s, CUDA_ERROR_LAUNCH_TIMEOUT,
			 "does not end after instructions:", may);
	return !t->failed;
}

/* ---- Launches ------------------------------------------------------- */

/* The index of the next thread or block, x first. */
static void step_index(struct ptx_place *index, const u32 *dims)
{
	u32 i;

	for (i = 0; i < PTX_DIMS; i++) {
		if (++index[i].v < dims[i])
			return;
		index[i].v = 0;
	}
}

static u64 nr_of(const u32 *dims)
{
	return (u64)dims[0] * dims[1] * dims[2];
}

static bool run_block(struct ptx_thread *t, u64 *steps)
{
	u64 n = nr_of(t->op->block), i;

	for (i = 0; i < n; i++) {
		t->places[PTX_LANEID].v = i % WARP;
		if (!run_thread(t, steps))
			return false;
		step_index(&t->places[PTX_TID_X], t->op->block);
	}
	return true;
}

static struct ptx_thread *new_thread(const struct op *op)
{
	const struct ptx_kernel *k = op->text;
	size_t bytes = k->nr_places * sizeof(k->places[0]);
	struct ptx_thread *t = malloc(sizeof(*t) + bytes);
	u32 i;

	if (!t)
		undefined(0, "the host has no memory for registers");
	*t = (struct ptx_thread){
		.op = op, .kernel = k,
		.windows = calloc((size_t)k->nr_windows + 1,
				  sizeof(t->windows[0])),
	};
	if (!t->windows)
		undefined(0, "the host has no memory for registers");
	memcpy(t->places, k->places, bytes);
	for (i = 0; i < PTX_DIMS; i++) {
		t->places[PTX_NTID_X + i].v = op->block[i];
		t->places[PTX_NCTAID_X + i].v = op->grid[i];
	}
	return t;
}

void ptx_run(const struct op *op)
{
	struct ptx_thread *t = new_thread(op);
	u64 blocks = nr_of(op->grid), steps = LAUNCH_STEPS_MAX, i;

	for (i = 0; i < blocks && run_block(t, &steps); i++)
		step_index(&t->places[PTX_CTAID_X], op->grid);
	free(t->windows);
	free(t);
}
