// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_steady_test.c - a workload that repeats does not call the driver
 * (promise P1), counted by the model rather than by the library itself.
 *
 * Two workloads: the blocks of a DMRG sweep over a chain, whose sizes grow
 * until the bonds are as wide as they may be, and random steps with a seed.
 * What they cost until then is printed, by the clock of the model: these
 * figures are modelled, from published costs of the driver's calls.
 */
#include <stdio.h>

#include "tests/cuda_space.h"
#include "tests/random.h"

static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

/* Of the driver, and those of them that manage memory. */
struct calls {
	u64 all, management, ns;
};

static struct calls calls_now(void)
{
	return (struct calls){ cu.model_calls("*"), cuda_management_calls(),
			       cu.model_clock_ns() };
}

static void tell_cost(struct kunit *test, const char *what,
		      const struct calls *before)
{
	struct calls now = calls_now();

	kunit_info(test, "%s: %llu calls, %llu of them memory management, "
		   "%.1f ms (modelled)", what,
		   (unsigned long long)(now.all - before->all),
		   (unsigned long long)(now.management - before->management),
		   (double)(now.ns - before->ns) / 1e6);
}

#define EXPECT_NO_CALLS(test, before)					\
do {									\
	struct calls now_ = calls_now();				\
									\
	KUNIT_EXPECT_EQ(test, now_.management, (before).management);	\
	KUNIT_EXPECT_EQ(test, now_.all, (before).all);			\
} while (0)

/* ---- A sweep ---------------------------------------------------------- */

#define SITES 24u
#define SECTORS 7u		/* of the quantum number on a bond */
#define WIDTH 160u		/* of a bond, at most */
#define STEADY_SWEEPS 3u

struct chain {
	struct kunit *test;
	struct slabdev *sd;
	u32 width;		/* of this sweep */
	void *site[SITES][SECTORS];
	void *environment[SITES][SECTORS];
};

/* States of sector @q on bond @bond: most in the middle, of both. */
static u32 states(const struct chain *c, u32 bond, u32 q)
{
	u32 from_end = min(bond, SITES - bond);
	u32 all = from_end < 8 ? min(1u << from_end, c->width) : c->width;
	u32 away = q > SECTORS / 2 ? q - SECTORS / 2 : SECTORS / 2 - q;

	return all >> (1 + away);
}

static size_t block_bytes(const struct chain *c, u32 bond, u32 q, u32 factor)
{
	return sizeof(double) * factor * states(c, bond, q) *
	       states(c, min(bond + 1, SITES), q);
}

static void replace_blocks(struct chain *c, void *blocks[SECTORS], u32 bond,
			   u32 factor)
{
	size_t bytes;

	for (u32 q = 0; q < SECTORS; q++) {
		EXPECT_FREED(c->test, c->sd, blocks[q]);
		bytes = block_bytes(c, bond, q, factor);
		blocks[q] = bytes ? must_alloc(c->test, c->sd, bytes) : NULL;
	}
}

/* Two sites are joined, solved for with some vectors, and split again. */
static void optimise(struct chain *c, u32 bond)
{
	void *vectors[6][SECTORS] = { { NULL } };

	for (u32 i = 0; i < ARRAY_SIZE(vectors); i++)
		replace_blocks(c, vectors[i], bond, 4);
	replace_blocks(c, c->site[bond], bond, 2);
	replace_blocks(c, c->environment[bond], bond, 5);
	for (u32 i = 0; i < ARRAY_SIZE(vectors); i++)
		for (u32 q = 0; q < SECTORS; q++)
			EXPECT_FREED(c->test, c->sd, vectors[i][q]);
}

static void sweep(struct chain *c)
{
	for (u32 bond = 1; bond < SITES; bond++)
		optimise(c, bond);
	for (u32 bond = SITES - 1; bond; bond--)
		optimise(c, bond);
}

static void end_chain(struct chain *c)
{
	for (u32 bond = 0; bond < SITES; bond++) {
		for (u32 q = 0; q < SECTORS; q++) {
			EXPECT_FREED(c->test, c->sd, c->site[bond][q]);
			EXPECT_FREED(c->test, c->sd, c->environment[bond][q]);
		}
	}
}

/* As wide as it gets after a few sweeps, and one more for what is kept. */
static void sweeps_become_steady(struct kunit *test)
{
	struct calls before = calls_now();
	struct chain c = { .test = test };

	c.sd = cuda_open_kind(test, test->param_value, GIB, NULL);
	for (c.width = 20; c.width <= WIDTH; c.width *= 2)
		sweep(&c);
	c.width = WIDTH;
	for (u32 i = 0; i < 3; i++)
		sweep(&c);
	tell_cost(test, "warm-up", &before);
	before = calls_now();
	for (u32 i = 0; i < STEADY_SWEEPS; i++)
		sweep(&c);
	EXPECT_NO_CALLS(test, before);
	end_chain(&c);
	cuda_close(test, c.sd);
}

/* ---- Random steps ----------------------------------------------------- */

#define NR_OBJECTS 300u
#define NR_STEPS 4000u

static void random_loop(struct kunit *test, struct slabdev *sd, u64 seed)
{
	void *objects[NR_OBJECTS] = { NULL };
	u32 i;

	for (u32 step = 0; step < NR_STEPS; step++) {
		i = random_below(&seed, NR_OBJECTS);
		EXPECT_FREED(test, sd, objects[i]);
		objects[i] = must_alloc(test, sd, random_size(&seed,
				random_below(&seed, 100) ? 1 << 20 : 9 << 20));
	}
	for (i = 0; i < NR_OBJECTS; i++)
		EXPECT_FREED(test, sd, objects[i]);
}

/*
 * Where objects lie differs from loop to loop until it does not matter any
 * more. The seed is fixed: how long that takes depends on it.
 */
#define SEED 20261130u
#define WARM_UP_LOOPS 60u

static void repeated_steps_become_steady(struct kunit *test)
{
	struct calls before = calls_now();
	struct slabdev *sd;
	u32 last = 0;
	u64 all;

	sd = cuda_open_kind(test, test->param_value, 2 * GIB, NULL);
	for (u32 i = 1; i <= WARM_UP_LOOPS; i++) {
		all = calls_now().all;
		random_loop(test, sd, SEED);
		if (calls_now().all != all)
			last = i;
	}
	kunit_info(test, "the last call is in loop %u", last);
	tell_cost(test, "warm-up", &before);
	before = calls_now();
	for (u32 i = 0; i < 10; i++)
		random_loop(test, sd, SEED);
	EXPECT_NO_CALLS(test, before);
	cuda_close(test, sd);
}

/* Primed, it is steady from the first. */
static void primed_space_is_steady_at_once(struct kunit *test)
{
	struct calls before;
	struct slabdev *sd;

	sd = cuda_open_kind(test, test->param_value, 2 * GIB, NULL);
	before = calls_now();
	KUNIT_EXPECT_EQ(test, slabdev_prime(sd, GIB), 0);
	tell_cost(test, "prime", &before);
	before = calls_now();
	random_loop(test, sd, SEED);
	EXPECT_NO_CALLS(test, before);
	cuda_close(test, sd);
}

/* ---- Hits ------------------------------------------------------------- */

static void hit_calls_nothing(struct kunit *test)
{
	struct slabdev_cache *cache;
	struct calls before;
	struct slabdev *sd;
	void *bulk[100];

	sd = cuda_open_kind(test, test->param_value, GIB, NULL);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, sd, "hits", 1000,
						   NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(cache, 200), 0);
	for (size_t size = 1; size <= 64 * MIB; size *= 2)
		EXPECT_FREED(test, sd, must_alloc(test, sd, size));
	before = calls_now();
	for (size_t size = 1; size <= 64 * MIB; size *= 2)
		EXPECT_FREED(test, sd, must_alloc(test, sd, size));
	for (u32 i = 0; i < 10; i++) {
		KUNIT_EXPECT_EQ(test, slabdev_cache_alloc_bulk(cache, 100,
							       bulk), 0);
		KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(cache, 100,
							      bulk), 0);
	}
	KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(cache), 0);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
	(void)stats_of(test, sd);
	EXPECT_NO_CALLS(test, before);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	cuda_close(test, sd);
}

/* ---- Growth ----------------------------------------------------------- */

static void grow(struct kunit *test, struct slabdev *sd, size_t size)
{
	u64 creates = cu.model_calls("cuMemCreate");
	u64 maps = cu.model_calls("cuMemMap");
	u64 grants = cu.model_calls("cuMemSetAccess");

	must_alloc(test, sd, size);
	creates = cu.model_calls("cuMemCreate") - creates;
	KUNIT_EXPECT_GE(test, creates, 1);
	KUNIT_EXPECT_LE(test, creates, size / (2 * MIB));
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuMemMap") - maps, creates);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuMemSetAccess") - grants, 1);
}

/* Its price is by call, whatever it covers. */
static void growth_sets_access_once(struct kunit *test)
{
	struct slabdev *sd = cuda_open_kind(test, CUDA_KIND_VMM, GIB, NULL);

	grow(test, sd, 40 * MIB);
	grow(test, sd, 64 * MIB);
	grow(test, sd, 70 * MIB);
	grow(test, sd, 300 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE), 0);
}

/* Nothing is unmapped or mapped anew to serve what idle memory would. */
static void idle_memory_serves_without_a_call(struct kunit *test)
{
	struct slabdev *sd = cuda_open_kind(test, CUDA_KIND_VMM, GIB, NULL);
	struct calls before;

	EXPECT_FREED(test, sd, must_alloc(test, sd, 60 * MIB));
	EXPECT_FREED(test, sd, must_alloc(test, sd, 100 * MIB));
	before = calls_now();
	EXPECT_FREED(test, sd, must_alloc(test, sd, 7 * MIB));
	EXPECT_FREED(test, sd, must_alloc(test, sd, 33 * MIB));
	EXPECT_FREED(test, sd, must_alloc(test, sd, 100 * MIB));
	EXPECT_NO_CALLS(test, before);
	cuda_close(test, sd);
}

static const struct kunit_case steady_cases[] = {
	KUNIT_CASE_PARAM(sweeps_become_steady, kind_gen_params, .slow = true),
	KUNIT_CASE_PARAM(repeated_steps_become_steady, kind_gen_params,
			 .slow = true),
	KUNIT_CASE_PARAM(primed_space_is_steady_at_once, kind_gen_params),
	KUNIT_CASE_PARAM(hit_calls_nothing, kind_gen_params),
	KUNIT_CASE(growth_sets_access_once),
	KUNIT_CASE(idle_memory_serves_without_a_call),
	{ 0 }
};

static const struct kunit_suite cuda_steady_suite = {
	.name = "cuda_steady",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = steady_cases,
};
kunit_test_suite(cuda_steady_suite);
