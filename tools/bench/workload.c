// SPDX-License-Identifier: BSD-2-Clause
/*
 * workload.c - the table of workloads, and what they need before they run.
 */
#include <errno.h>
#include <stdlib.h>

#include "figure.h"
#include "random.h"
#include "workload.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define NEIGHBOURS 16u

static const struct variant pair_variants[] = {
	{ .name = "64", .min = 64, .max = 64 },
	{ .name = "256", .min = 256, .max = 256 },
	{ .name = "1K", .min = KIB, .max = KIB },
	{ .name = "4K", .min = 4 * KIB, .max = 4 * KIB },
	{ .name = "64K", .min = 64 * KIB, .max = 64 * KIB },
	{ .name = "1M", .min = MIB, .max = MIB },
	{}
};

static const struct variant batch_variants[] = {
	{ .name = "256", .min = 256, .max = 256, .live = 10000 },
	{ .name = "mixed", .min = 64, .max = MIB, .live = 10000 },
	{}
};

static const struct variant replace_variants[] = {
	{ .name = "small", .min = 64, .max = 4 * KIB, .live = 100000 },
	{ .name = "mixed", .min = 64, .max = MIB, .live = 100000 },
	{}
};

static const struct variant replace2_variants[] = {
	{ .name = "small", .min = 64, .max = 4 * KIB, .live = 50000 },
	{ .name = "mixed", .min = 64, .max = MIB, .live = 50000 },
	{}
};

static const struct variant small_variants[] = {
	{ .name = "256", .min = 256, .max = 256 },
	{}
};

static const struct variant neighbour_variants[] = {
	{ .name = "256", .min = 256, .max = 256, .live = NEIGHBOURS },
	{}
};

static const struct variant handoff_variants[] = {
	{ .name = "256", .min = 256, .max = 256 },
	{ .name = "mixed", .min = 64, .max = MIB },
	{}
};

static const struct variant teardown_variants[] = {
	{ .name = "1K", .min = 768, .max = 1280, .live = 1000 },
	{}
};

static const struct variant group_variants[] = {
	{ .name = "1e2", .min = 256, .max = 256, .live = 100 },
	{ .name = "1e3", .min = 256, .max = 256, .live = 1000 },
	{ .name = "1e4", .min = 256, .max = 256, .live = 10000 },
	{ .name = "1e6", .min = 256, .max = 256, .live = 1000000 },
	{}
};

static const struct variant mixed_group_variants[] = {
	{ .name = "1e2", .min = 64, .max = 8 * KIB, .live = 100 },
	{ .name = "1e3", .min = 64, .max = 8 * KIB, .live = 1000 },
	{ .name = "1e4", .min = 64, .max = 8 * KIB, .live = 10000 },
	{ .name = "1e6", .min = 64, .max = 8 * KIB, .live = 1000000 },
	{}
};

static const struct variant flat_variants[] = {
	{ .name = "1e3", .min = 256, .max = 256, .live = 1000 },
	{ .name = "1e4", .min = 256, .max = 256, .live = 10000 },
	{ .name = "1e5", .min = 256, .max = 256, .live = 100000 },
	{ .name = "1e6", .min = 256, .max = 256, .live = 1000000 },
	{ .name = "1e7", .min = 256, .max = 256, .live = 10000000 },
	{}
};

static const struct variant metadata_variants[] = {
	{ .name = "256", .min = 256, .max = 256, .live = 1000000 },
	{}
};

static const struct variant bytes_variants[] = {
	{ .name = "64", .min = 64, .max = 64, .live = 1000000 },
	{ .name = "256", .min = 256, .max = 256, .live = 250000 },
	{ .name = "4K", .min = 4 * KIB, .max = 4 * KIB, .live = 20000 },
	{ .name = "64K", .min = 64 * KIB, .max = 64 * KIB, .live = 2000 },
	{}
};

static const struct variant event_variants[] = {
	{ .name = "256", .min = 256, .max = 256, .live = 1000 },
	{ .name = "4K", .min = 4 * KIB, .max = 4 * KIB, .live = 1000 },
	{ .name = "64K", .min = 64 * KIB, .max = 64 * KIB, .live = 1000 },
	{}
};

static const struct variant phases_variants[] = {
	{ .name = "peak", .min = 256, .max = MIB },
	{ .name = "limit", .min = 256, .max = MIB, .finds_limit = true },
	{}
};

const struct workload workloads[] = {
	{
		.name = "pair", .what = "allocate an object and free it",
		.unit = "ns a pair", .variants = pair_variants, .nr_workers = 1,
		.step = 1, .body = pair_bodies,
	},
	{
		.name = "lifo",
		.what = "10,000 objects, the last one freed first",
		.unit = "ns a pair", .variants = batch_variants,
		.nr_workers = 1, .is_batch = true, .step = 10000,
		.prepare = prepare_lifo, .body = batch_bodies,
	},
	{
		.name = "fifo",
		.what = "10,000 objects, the first one freed first",
		.unit = "ns a pair", .variants = batch_variants,
		.nr_workers = 1, .is_batch = true, .step = 10000,
		.prepare = prepare_fifo, .body = batch_bodies,
	},
	{
		.name = "random",
		.what = "10,000 objects, freed in random order",
		.unit = "ns a pair", .variants = batch_variants,
		.nr_workers = 1, .is_batch = true, .step = 10000,
		.prepare = prepare_random, .body = batch_bodies,
	},
	{
		.name = "replace",
		.what = "100,000 objects, a random one freed and another made",
		.unit = "ns a pair", .variants = replace_variants,
		.nr_workers = 1, .step = 1, .prepare = prepare_live,
		.body = replace_bodies,
	},
	{
		.name = "pair2", .what = "pair, two threads",
		.unit = "ns a pair and thread", .variants = small_variants,
		.nr_workers = 2, .step = 1, .body = pair_bodies,
	},
	{
		.name = "neighbours2",
		.what = "two threads whose objects lie between each other's",
		.unit = "ns a pair and thread", .variants = neighbour_variants,
		.nr_workers = 2, .is_batch = true, .step = NEIGHBOURS,
		.prepare = prepare_neighbours, .body = batch_bodies,
	},
	{
		.name = "replace2",
		.what = "replace, two threads, 50,000 objects each",
		.unit = "ns a pair and thread", .variants = replace2_variants,
		.nr_workers = 2, .step = 1, .prepare = prepare_live,
		.body = replace_bodies,
	},
	{
		.name = "handoff2",
		.what = "one thread allocates, another frees",
		.unit = "ns an object", .variants = handoff_variants,
		.nr_workers = 2, .one_way = true, .step = 1,
		.body = handoff_bodies,
	},
	{
		.name = "teardown",
		.what = "1,000 objects of about 1 KiB, all freed",
		.unit = "ns a pair", .variants = teardown_variants,
		.nr_workers = 1, .is_batch = true, .step = 1000,
		.prepare = prepare_fifo, .body = batch_bodies,
	},
	{
		.name = "bulk",
		.what = "32 objects in one call, where there is one",
		.unit = "ns a pair", .variants = small_variants,
		.nr_workers = 1, .step = 32, .body = bulk_bodies,
	},
	{
		.name = "group",
		.what = "100 to 1,000,000 objects of 256 bytes, all freed",
		.unit = "ns an object", .variants = group_variants,
		.nr_workers = 1, .prepare = prepare_together,
		.body = together_bodies,
	},
	{
		.name = "groupmix",
		.what = "the same of 64 bytes to 8 KiB",
		.unit = "ns an object", .variants = mixed_group_variants,
		.nr_workers = 1, .prepare = prepare_together,
		.body = together_bodies,
	},
	{
		.name = "flat",
		.what = "replace, from 1,000 to 10,000,000 objects of 256 "
			"bytes",
		.unit = "ns a pair", .variants = flat_variants, .nr_workers = 1,
		.step = 1, .prepare = prepare_live, .body = replace_bodies,
	},
	{
		.name = "events",
		.what = "events for what a stream frees, 1,000 objects at once",
		.unit = "a sheaf", .variants = event_variants, .nr_workers = 1,
		.step = 1, .counts_events = true, .figure = figure_events,
	},
	{
		.name = "queries",
		.what = "the same, asked whether they are done",
		.unit = "a sheaf", .variants = event_variants, .nr_workers = 1,
		.step = 1, .counts_events = true, .figure = figure_queries,
	},
	{
		.name = "metadata",
		.what = "host memory beside 1,000,000 objects",
		.unit = "bytes an object", .variants = metadata_variants,
		.nr_workers = 1, .step = 1, .figure = figure_metadata,
	},
	{
		.name = "device",
		.what = "memory of the space, for many live objects",
		.unit = "bytes an object", .variants = bytes_variants,
		.nr_workers = 1, .step = 1, .counts_bytes = true,
		.figure = figure_device,
	},
	{
		.name = "host",
		.what = "host memory for the same, by the accounts",
		.unit = "bytes an object", .variants = bytes_variants,
		.nr_workers = 1, .step = 1, .counts_bytes = true,
		.figure = figure_host,
	},
	{
		.name = "phases",
		.what = "20 phases, each of other sizes; half survives each",
		.unit = "of peak live", .variants = phases_variants,
		.nr_workers = 1, .step = 1, .figure = figure_phases,
	},
	{}
};

/* ---- Sizes ------------------------------------------------------------ */

/* 2 to the power of @eighths / 256, which is less than 1. */
static double root_of_two(unsigned int eighths)
{
	static const double root[] = {	/* 2^(1/256), 2^(1/128) ... 2^(1/2) */
		1.0027112750502025, 1.0054299011128028, 1.0108892860517005,
		1.0218971486541166, 1.0442737824274138, 1.0905077326652577,
		1.1892071150027210, 1.4142135623730951,
	};
	double x = 1;
	size_t i;

	for (i = 0; i < sizeof(root) / sizeof(root[0]); i++)
		if (eighths & 1u << i)
			x *= root[i];
	return x;
}

static unsigned int log_of_two(size_t x)
{
	return 63u - (unsigned int)__builtin_clzll(x);
}

static uint32_t draw_size(size_t min, size_t max, uint64_t *random)
{
	unsigned int octaves = log_of_two(max) - log_of_two(min);
	uint32_t at;

	if (max < 2 * min)
		return (uint32_t)min +
		       random_below(random, (uint32_t)(max - min) + 1);
	at = random_below(random, octaves * 256);
	return (uint32_t)((double)(min << (at / 256)) *
			  root_of_two(at % 256));
}

void workload_draw_sizes(uint32_t *sizes, size_t n, size_t min, size_t max,
			 uint64_t *random)
{
	size_t i;

	for (i = 0; i < n; i++)
		sizes[i] = draw_size(min, max, random);
}

/* ---- Workers ---------------------------------------------------------- */

static size_t cell_live(const struct cell *cell, size_t divisor)
{
	size_t live = cell->variant->live;

	if (!live || cell->workload->is_batch)
		return live;
	return live / divisor > 10 ? live / divisor : 10;
}

size_t workload_live(const struct run *run)
{
	return cell_live(&run->cell, run->divisor);
}

uint64_t workload_step(const struct cell *cell, size_t divisor)
{
	return cell->workload->step ? cell->workload->step :
				      cell_live(cell, divisor);
}

static int worker_init(struct run *run, unsigned int index)
{
	const struct variant *v = run->cell.variant;
	struct worker *w = &run->worker[index];
	uint32_t *sizes = malloc(NR_SIZES * sizeof(*sizes));

	w->run = run;
	w->index = index;
	w->size = v->min;
	w->random = index + 1;
	w->nr = (uint32_t)workload_live(run);
	w->object = calloc(w->nr + 1, sizeof(*w->object));
	w->sizes = sizes;
	if (!sizes || !w->object) {
		free(sizes);
		return -ENOMEM;
	}
	workload_draw_sizes(sizes, NR_SIZES, v->min, v->max, &w->random);
	return 0;
}

int workload_init(struct run *run)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < MAX_WORKERS && !err; i++)
		err = worker_init(run, i);
	return err;
}

static int set_order(struct worker *w, uint32_t first, uint32_t step)
{
	uint32_t *order = calloc(w->nr, sizeof(*order)), i;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < w->nr; i++)
		order[i] = first + i * step;
	w->order = order;
	return 0;
}

int prepare_fifo(struct worker *w)
{
	return set_order(w, 0, 1);
}

/* The sizes that the others draw one after the other. */
int prepare_together(struct worker *w)
{
	size_t *block;
	uint32_t i;

	if (w->calls.shape != SHAPE_GROUP && w->calls.shape != SHAPE_ARENA)
		return prepare_fifo(w);
	block = calloc(w->nr, sizeof(*block));
	if (!block)
		return -ENOMEM;
	for (i = 0; i < w->nr; i++)
		block[i] = w->sizes[i % NR_SIZES];
	w->block = block;
	return 0;
}

int prepare_lifo(struct worker *w)
{
	return set_order(w, w->nr - 1, (uint32_t)-1);
}

int prepare_random(struct worker *w)
{
	uint32_t *order = calloc(w->nr, sizeof(*order));

	if (!order)
		return -ENOMEM;
	random_order(order, w->nr, &w->random);
	w->order = order;
	return 0;
}

/* Fills @w->object, and then turns it over once: a heap that has aged. */
int prepare_live(struct worker *w)
{
	const struct calls *c = &w->calls;
	uint32_t i;

	for (i = 0; i < w->nr; i++) {
		w->object[i] = call_alloc(c, c->shape,
					  w->sizes[w->next_size++ % NR_SIZES]);
		if (!w->object[i])
			return -ENOMEM;
	}
	return w->run->cell.workload->body[c->shape](w, w->nr);
}

/*
 * The first worker allocates for both; each frees every other object. From
 * then on it gets those again, and what the allocator knows of them lies
 * between what it knows of the other thread's.
 */
int prepare_neighbours(struct worker *w)
{
	void *(*shared)[2] = (void *)w->run->ring.entry;
	const struct calls *c = &w->calls;
	uint32_t i, nr = 2 * w->nr;
	bool failed = false;

	for (i = 0; !w->index && i < 2 * nr; i++)
		shared[i / 2][i % 2] = call_alloc(c, c->shape, w->size);
	pthread_barrier_wait(&w->run->sync);
	for (i = 0; i < nr; i++) {
		failed |= !shared[i][w->index];
		if (shared[i][w->index])
			call_free(c, c->shape, shared[i][w->index]);
	}
	return failed ? -ENOMEM : prepare_fifo(w);
}
