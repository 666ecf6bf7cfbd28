/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload.h - what the allocators are made to do.
 *
 * A *workload* is a pattern of calls; a *variant* of it says how large the
 * objects are and how many live at once; both together are a *cell*, written
 * "replace/small". A process measures one subject in one cell. It prepares
 * each *worker*, one a thread, and then runs the body of the workload, which
 * makes as many operations as it is told. What an operation is, its unit says.
 *
 * No workload touches the memory of an object: what is measured is the
 * allocator, and device memory cannot be touched anyway. Only where a figure
 * is the resident memory of the process is every page written.
 */
#ifndef SLABBENCH_WORKLOAD_H
#define SLABBENCH_WORKLOAD_H

#include <pthread.h>
#include <stdbool.h>

#include "calls.h"
#include "ring.h"

#define MAX_WORKERS 2
#define NR_SIZES 16384u		/* drawn in advance; a power of two */

/**
 * struct variant - the objects of a cell
 * @name: of the variant
 * @min: bytes of the smallest object
 * @max: of the largest; sizes in between are log-uniform
 * @live: objects that live at once; 0: the workload does not care
 * @finds_limit: the figure is the smallest limit that suffices
 */
struct variant {
	const char *name;
	size_t min;
	size_t max;
	size_t live;
	bool finds_limit;
};

struct run;

/**
 * struct worker - one thread of a workload
 * @run: what all of them share
 * @index: 0 or 1
 * @calls: the allocator
 * @size: bytes of an object, where all have one size
 * @sizes: NR_SIZES sizes, used in turn
 * @block: the sizes of all blocks of a group
 * @next_size: the next of them
 * @object: what this worker holds
 * @order: in which order a batch is freed
 * @nr: entries of @object
 * @random: state of the generator
 */
struct worker {
	struct run *run;
	unsigned int index;
	struct calls calls;
	size_t size;
	const uint32_t *sizes;
	const size_t *block;
	uint32_t next_size;
	void **object;
	const uint32_t *order;
	uint32_t nr;
	uint64_t random;
};

/* @n operations: 0, or -ENOMEM when the allocator gave up. */
typedef int (*body_fn)(struct worker *w, uint64_t n);

/**
 * struct workload - a pattern of calls
 * @name: of the workload
 * @what: in words
 * @unit: of a sample
 * @variants: ends with one without a name
 * @nr_workers: threads
 * @one_way: memory goes from one thread to another and does not come back
 * @counts_events: its figure is of those
 * @counts_bytes: its figure is of the accounts that a subject keeps
 * @is_batch: what lives at once is the step; no divisor makes it shorter
 * @step: the number of operations is a multiple of it; 0: of what lives at once
 * @prepare: called in each worker's thread before the first body; may be NULL
 * @body: for each shape; NULL for one that cannot do it
 * @figure: what is measured instead of time; NULL: time
 */
struct workload {
	const char *name;
	const char *what;
	const char *unit;
	const struct variant *variants;
	unsigned int nr_workers;
	bool one_way;
	bool counts_events;
	bool counts_bytes;
	bool is_batch;
	uint64_t step;
	int (*prepare)(struct worker *w);
	const body_fn *body;
	int (*figure)(struct run *run, double *value);
};

/* A cell. */
struct cell {
	const struct workload *workload;
	const struct variant *variant;
};

struct subject;

/**
 * struct run - one subject in one cell, in a process of its own
 * @subject: who
 * @cell: what
 * @calls: the subject, open
 * @divisor: of the number of live objects, and of the bytes of a phase: 1 but
 *           for trials and under --check
 * @worker: the threads
 * @sync: all workers meet here
 * @ring: between two of them
 */
struct run {
	const struct subject *subject;
	struct cell cell;
	struct calls calls;
	size_t divisor;
	struct worker worker[MAX_WORKERS];
	pthread_barrier_t sync;
	struct ring ring;
};

/* All workloads; the last has no name. */
extern const struct workload workloads[];

/* The objects of one worker that live at once. */
size_t workload_live(const struct run *run);
/* Of what the number of operations in a cell is a multiple. */
uint64_t workload_step(const struct cell *cell, size_t divisor);
/* Fills in every worker but its calls; 0 or -ENOMEM. */
int workload_init(struct run *run);
/* @n sizes from @min to @max, log-uniform where they are powers of two. */
void workload_draw_sizes(uint32_t *sizes, size_t n, size_t min, size_t max,
			 uint64_t *random);

/* Compiles a body once for each shape, and lists the results. */
#define DEFINE_BODIES(name)                                                \
	static int name##_plain(struct worker *w, uint64_t n)              \
	{                                                                  \
		return name(w, n, SHAPE_PLAIN);                            \
	}                                                                  \
	static int name##_space(struct worker *w, uint64_t n)              \
	{                                                                  \
		return name(w, n, SHAPE_SPACE);                            \
	}                                                                  \
	static int name##_stream(struct worker *w, uint64_t n)             \
	{                                                                  \
		return name(w, n, SHAPE_STREAM);                           \
	}                                                                  \
	static int name##_cache(struct worker *w, uint64_t n)              \
	{                                                                  \
		return name(w, n, SHAPE_CACHE);                            \
	}                                                                  \
	const body_fn name##_bodies[NR_SHAPES] = {                         \
		[SHAPE_PLAIN] = name##_plain,                              \
		[SHAPE_SPACE] = name##_space,                              \
		[SHAPE_STREAM] = name##_stream,                            \
		[SHAPE_CACHE] = name##_cache,                              \
	}

extern const body_fn pair_bodies[NR_SHAPES];
extern const body_fn batch_bodies[NR_SHAPES];
extern const body_fn together_bodies[NR_SHAPES];
extern const body_fn bulk_bodies[NR_SHAPES];
extern const body_fn replace_bodies[NR_SHAPES];
extern const body_fn handoff_bodies[NR_SHAPES];

int prepare_lifo(struct worker *w);
int prepare_fifo(struct worker *w);
int prepare_together(struct worker *w);
int prepare_random(struct worker *w);
int prepare_live(struct worker *w);
int prepare_neighbours(struct worker *w);

#endif /* SLABBENCH_WORKLOAD_H */
