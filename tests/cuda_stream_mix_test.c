// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_stream_mix_test.c - random programs for streams, on the model of the
 * driver; see stream_walk.h and stream_model.h.
 *
 * Each machine is a kind of memory, an order, a bound stream, a limit. A walk
 * of a machine that is one thread is the same for the same seed (KUNIT_SEED).
 */
#include <stdio.h>

#include "core/log.h"
#include "tests/crew.h"
#include "tests/stream_model.h"
#include "tests/stream_walk.h"

#define NR_THREADS 3u
#define LONGER 10u

struct machine {
	const char *name;
	const struct cuda_kind_param *kind;
	u32 ordering;
	bool legacy;		/* is the bound stream */
	bool defaults;		/* the default streams are used too */
	struct walk_settings set;
};

static const struct machine machines[] = {
	{
		.name = "scarce", .kind = CUDA_KIND_VMM,
		.set = { .limit = 24 * MIB, .nr_streams = 6, .steps = 250000 },
	},
	{
		.name = "plenty", .kind = CUDA_KIND_VMM, .defaults = true,
		.set = { .limit = 512 * MIB, .nr_streams = 10, .steps = 100000,
			 .huge = true },
	},
	{
		.name = "legacy", .kind = CUDA_KIND_VMM, .legacy = true,
		.set = { .limit = 48 * MIB, .nr_streams = 5, .steps = 100000 },
	},
	{
		.name = "for all", .kind = CUDA_KIND_VMM,
		.ordering = SLABDEV_ORDER_HOST,
		.set = { .limit = 48 * MIB, .nr_streams = 6, .steps = 100000 },
	},
	{
		.name = "for the CPU", .kind = &cuda_kinds[3],
		.set = { .limit = 48 * MIB, .nr_streams = 6, .steps = 100000 },
	},
	{
		.name = "managed", .kind = &cuda_kinds[4],
		.set = { .limit = 48 * MIB, .nr_streams = 6, .steps = 50000 },
	},
	{
		.name = "pool", .kind = &cuda_kinds[1], .defaults = true,
		.set = { .limit = 256 * MIB, .nr_streams = 8, .steps = 100000 },
	},
	{
		.name = "malloc", .kind = &cuda_kinds[2],
		.set = { .limit = 256 * MIB, .nr_streams = 6, .steps = 50000 },
	},
	{
		.name = "waiting", .kind = CUDA_KIND_VMM,
		.set = { .limit = 24 * MIB, .nr_streams = 5, .steps = 100000,
			 .waits = true },
	},
	{
		.name = "waiting, for the CPU", .kind = &cuda_kinds[3],
		.set = { .limit = 24 * MIB, .nr_streams = 5, .steps = 100000,
			 .waits = true },
	},
	{
		.name = "failing", .kind = CUDA_KIND_VMM,
		.set = { .limit = 32 * MIB, .nr_streams = 6, .steps = 100000,
			 .fails = true },
	},
};

static void describe_machine(const struct machine *m, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", m->name);
}
KUNIT_ARRAY_PARAM(machine, machines, describe_machine);

struct shared {
	struct walk_space space;
	struct stream_model model;
	struct walk_settings set;
};

/* Lost memory and a lack of it are told; nothing else may be. */
static void hear(int level, int kind, const char *text, void *arg)
{
	struct kunit *test = arg;

	(void)level;
	if (kind >= 0 && kind != REPORT_LOST && kind != REPORT_OUT_OF_MEMORY)
		KUNIT_FAIL(test, "%s", text);
}

static struct shared *begin(struct kunit *test, const struct machine *m,
			    u32 times)
{
	struct shared *s = kunit_kzalloc(test, sizeof(*s));
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	s->set = m->set;
	s->set.steps *= times;
	s->space = (struct walk_space){
		.test = test, .set = &s->set, .driver = &model_driver,
		.for_cpu = kind_is_for_the_cpu(m->kind),
	};
	s->space.for_all = s->space.for_cpu ||
			   m->ordering == SLABDEV_ORDER_HOST;
	log_set_sink(hear, test);
	stream_model_begin(&s->model, test, m->legacy, m->defaults);
	attr.limit = m->set.limit;
	attr.pending_bytes = 4 * MIB;
	attr.backing = m->kind->backing;
	attr.ordering = m->ordering;
	attr.stream = m->legacy ? NULL : s->model.bound;
	s->space.sd = cuda_open(test, m->kind->spec, &attr);
	walk_open(&s->space);
	return s;
}

static struct slabdev_stats end(struct shared *s)
{
	struct slabdev_stats st = walk_close(&s->space);

	stream_model_end(&s->model);
	return st;
}

/* ---- One thread ---------------------------------------------------------- */

static void walk_alone(struct kunit *test, const struct machine *m, u32 times)
{
	struct shared *s = begin(test, m, times);
	struct walk *w = kunit_kzalloc(test, sizeof(*w));

	stream_model_enter(&s->model, &w->p);
	walk_begin(w, &s->space, 0, true);
	walk_steps(w);
	walk_end(w);
	stream_model_leave(&w->p);
	kunit_info(test, "%llu kernels, %llu allocations got nothing",
		   (unsigned long long)w->p.done,
		   (unsigned long long)w->nothing);
	(void)end(s);
}

static void alone(struct kunit *test)
{
	const struct machine *m = test->param_value;

	walk_alone(test, m, 1);
}

static void long_alone(struct kunit *test)
{
	const struct machine *m = test->param_value;

	walk_alone(test, m, LONGER);
}

/* ---- Several ------------------------------------------------------------- */

struct job {
	struct shared *shared;
	struct walk walk;
	u32 me;
};

static void walk_in_thread(void *arg)
{
	struct job *j = arg;

	stream_model_enter(&j->shared->model, &j->walk.p);
	walk_begin(&j->walk, &j->shared->space, j->me, false);
	walk_steps(&j->walk);
	stream_model_leave(&j->walk.p);
}

static void walk_together(struct kunit *test, const struct machine *m,
			  u32 times)
{
	struct shared *s = begin(test, m, times);
	struct job *jobs = kunit_kzalloc(test, NR_THREADS * sizeof(*jobs));
	struct crew *crew = crew_new(test, NR_THREADS);
	u32 i;

	for (i = 0; i < NR_THREADS; i++) {
		jobs[i].shared = s;
		jobs[i].me = i;
	}
	crew_all(crew, walk_in_thread, jobs, sizeof(*jobs));
	crew_dismiss(crew);
	for (i = 0; i < NR_THREADS; i++)
		walk_end(&jobs[i].walk);
	(void)end(s);
}

static const struct machine crowds[] = {
	{
		.name = "scarce", .kind = CUDA_KIND_VMM,
		.set = { .limit = 48 * MIB, .nr_streams = 5, .steps = 20000 },
	},
	{
		.name = "with default streams", .kind = CUDA_KIND_VMM,
		.defaults = true,
		.set = { .limit = 64 * MIB, .nr_streams = 6, .steps = 20000,
			 .keeps_streams = true },
	},
	{
		.name = "for the CPU", .kind = &cuda_kinds[3],
		.set = { .limit = 64 * MIB, .nr_streams = 5, .steps = 10000 },
	},
};
KUNIT_ARRAY_PARAM(crowd, crowds, describe_machine);

static void together(struct kunit *test)
{
	const struct machine *m = test->param_value;

	walk_together(test, m, 1);
}

static void long_together(struct kunit *test)
{
	const struct machine *m = test->param_value;

	walk_together(test, m, LONGER);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(alone, machine_gen_params, .timeout_s = 300),
	KUNIT_CASE_PARAM(together, crowd_gen_params, .timeout_s = 300),
	KUNIT_CASE_PARAM(long_alone, machine_gen_params, .is_long = true,
			 .timeout_s = 1200),
	KUNIT_CASE_PARAM(long_together, crowd_gen_params, .is_long = true,
			 .timeout_s = 1200),
	{ 0 }
};

static const struct kunit_suite cuda_stream_mix_suite = {
	.name = "cuda_stream_mix",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cases,
};
kunit_test_suite(cuda_stream_mix_suite);
