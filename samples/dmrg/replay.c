// SPDX-License-Identifier: BSD-2-Clause
/*
 * replay.c - ask several allocators for the same
 *
 * The calls of one sweep, recorded in the run, are made again by one thread,
 * in the same order and with the same sizes, once against each allocator.
 * Nothing is computed in between and the memory is not touched, in any of the
 * cases: what is timed is the allocator and the loop around it. The loop is
 * one inline function, so each allocator is called directly.
 *
 * The rounds of the allocators take turns, so that a busy neighbour disturbs
 * all alike; the first round of each warms it up and does not count; the
 * figure is the median of the others.
 *
 * The comparison is fair to malloc() in two ways: posix_memalign() promises
 * the alignment that slabdev_alloc() does, and plain malloc(), which does not,
 * is shown too. It is unfair in one: the heap has held the program's other
 * objects before.
 */
#include "replay.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <slabdev/slabdev.h>

#include "mem.h"
#include "trace.h"

#define ROUNDS_MIN 3
#define ROUNDS_MAX 15
#define SECONDS_MAX 3.0

typedef void *(*alloc_fn)(void *arg, size_t size);
typedef void (*free_fn)(void *arg, void *p);

struct replay {
	struct script script;
	void **slots;
	struct slabdev *space;
	double ns[REPLAY_TARGETS][ROUNDS_MAX];
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Return: nanoseconds, or -1 when an allocation failed; no slot is left. */
static inline __attribute__((always_inline)) double
replay_round(struct replay *rp, alloc_fn get, free_fn put, void *arg)
{
	const struct op *op = rp->script.ops, *end = op + rp->script.nr;
	void **slots = rp->slots;
	double start = now_ns();
	uint32_t i;

	for (; op < end; op++) {
		if (op->size) {
			slots[op->slot] = get(arg, op->size);
			if (!slots[op->slot])
				break;
		} else {
			put(arg, slots[op->slot]);
			slots[op->slot] = NULL;
		}
	}
	if (op == end)
		return now_ns() - start;
	for (i = 0; i < rp->script.slots; i++) {
		put(arg, slots[i]);
		slots[i] = NULL;
	}
	return -1;
}

static inline void *slabdev_get(void *arg, size_t size)
{
	return slabdev_alloc(arg, size);
}

static inline void slabdev_put(void *arg, void *p)
{
	slabdev_free(arg, p);
}

static inline void *aligned_get(void *arg, size_t size)
{
	void *p;

	(void)arg;
	return posix_memalign(&p, MEM_ALIGN, size) ? NULL : p;
}

static inline void *malloc_get(void *arg, size_t size)
{
	(void)arg;
	return malloc(size);
}

static inline void malloc_put(void *arg, void *p)
{
	(void)arg;
	free(p);
}

static double replay_target(struct replay *rp, enum replay_target target)
{
	switch (target) {
	case REPLAY_SLABDEV:
		return replay_round(rp, slabdev_get, slabdev_put, rp->space);
	case REPLAY_ALIGNED:
		return replay_round(rp, aligned_get, malloc_put, NULL);
	default:
		return replay_round(rp, malloc_get, malloc_put, NULL);
	}
}

/* Round -1 is the one that does not count. */
static int replay_rounds(struct replay *rp, struct replay_result *r)
{
	const double start = now_ns();
	double ns;
	int round, target;

	for (round = -1; round < ROUNDS_MAX; round++) {
		if (round >= ROUNDS_MIN && now_ns() - start > SECONDS_MAX * 1e9)
			break;
		for (target = 0; target < REPLAY_TARGETS; target++) {
			ns = replay_target(rp, (enum replay_target)target);
			if (ns < 0)
				return -ENOMEM;
			if (round >= 0)
				rp->ns[target][round] = ns;
		}
	}
	r->rounds = round;
	return 0;
}

static int compare_ns(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static void replay_medians(struct replay *rp, struct replay_result *r)
{
	int target;

	for (target = 0; target < REPLAY_TARGETS; target++) {
		qsort(rp->ns[target], (size_t)r->rounds,
		      sizeof(rp->ns[target][0]), compare_ns);
		r->ns[target] = rp->ns[target][r->rounds / 2] /
				(double)r->pairs;
	}
}

static int replay_open(struct replay *rp, int policy)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.name = "replay";
	attr.policy.mode = (uint32_t)policy;
	attr.flags = SLABDEV_OPEN_PRIVATE_STATS;
	return slabdev_open(&rp->space, "host", &attr);
}

int replay_run(const struct trace *t, int policy, struct replay_result *r)
{
	struct replay rp = { 0 };
	int err, close_err;

	err = trace_compile(t, &rp.script);
	if (err)
		return err;
	r->pairs = rp.script.pairs;
	err = r->pairs ? -ENOMEM : -ENODATA;
	rp.slots = calloc(rp.script.slots + (size_t)1, sizeof(*rp.slots));
	if (!rp.slots || !r->pairs)
		goto free_script;
	err = replay_open(&rp, policy);
	if (err)
		goto free_script;
	err = replay_rounds(&rp, r);
	if (!err)
		replay_medians(&rp, r);
	close_err = slabdev_close(rp.space, 0);
	if (!err)
		err = close_err;
free_script:
	free(rp.slots);
	free(rp.script.ops);
	return err;
}
