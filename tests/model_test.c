// SPDX-License-Identifier: BSD-2-Clause
/*
 * model_test.c - random calls, compared with an allocator that cannot be wrong.
 *
 * - The model is an array of live objects: address, size, what is written.
 * - Steps: allocate (any size, alignment, zeroed, from a cache), free, resize,
 *   free something wrong, trim, shrink.
 * - After each step its result is what the model says; every so often the
 *   whole is validated: no two objects overlap, contents are kept, figures
 *   and ledgers are the model's sums. In a small space the library's own walk
 *   follows each step.
 * - KUNIT_SEED repeats a run.
 */
#include "tests/open_space.h"
#include "tests/random.h"
#include "tests/sanitizers.h"

#define SLOTS 4096u
#define CACHES 6u
#define LIVE_MAX (256 * MIB)
#define EDGE ((size_t)64)	/* bytes written at either end */
#define VALIDATED_STEPS (IS_SANITIZED || !mem_is_cheap() ? 1000u : 10000u)

struct object {
	unsigned char *p;
	size_t size;
	u32 cache;		/* CACHES: none */
	unsigned char mark;
};

struct model {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache[CACHES];
	struct object slot[SLOTS];
	struct object *sorted[SLOTS];
	u64 random;
	u64 live, objects, allocs, failed;
	/* How large it gets, and how often a step is a trim or a shrink. */
	u32 slots;
	u32 most;
	u64 live_max;
	u32 rarely;
};

static const size_t cache_size[CACHES] = { 1, 24, 100, 256, 3000, 70000 };

static u32 pick(struct model *m, u32 n)
{
	return random_below(&m->random, n);
}

/* ---- Contents --------------------------------------------------------- */

static void mark(struct model *m, struct object *o)
{
	size_t edge = min(o->size, EDGE);

	o->mark = (unsigned char)pick(m, 256);
	mem_fill(m->sd, o->p, edge, o->mark);
	mem_fill(m->sd, o->p + o->size - edge, edge, o->mark);
}

static bool is_marked(struct model *m, const struct object *o, size_t size)
{
	size_t edge = min(size, EDGE);

	return mem_is(m->sd, o->p, edge, o->mark) &&
	       (size != o->size ||
		mem_is(m->sd, o->p + size - edge, edge, o->mark));
}

static void check_content(struct model *m, const struct object *o)
{
	KUNIT_ASSERT_TRUE_MSG(m->test, is_marked(m, o, o->size),
			      "object %p of %zu bytes was overwritten",
			      (void *)o->p, o->size);
}

/* ---- Steps ------------------------------------------------------------ */

static void *model_zalloc(struct model *m, size_t size)
{
	void *p = slabdev_zalloc(m->sd, size);

	KUNIT_ASSERT_TRUE(m->test, !p || mem_is(m->sd, p, size, 0));
	return p;
}

static void *model_alloc(struct model *m, struct object *o)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;

	switch (pick(m, 8)) {
	case 0:
		req.align = (size_t)1 << pick(m, 23);
		return slabdev_alloc_ex(m->sd, o->size, &req);
	case 1:
		o->size = min(o->size, 64 * KIB);
		return model_zalloc(m, o->size);
	case 2:
	case 3:
		o->cache = pick(m, CACHES);
		o->size = cache_size[o->cache];
		return slabdev_cache_alloc(m->cache[o->cache]);
	default:
		return slabdev_alloc(m->sd, o->size);
	}
}

static void step_alloc(struct model *m, struct object *o)
{
	u32 most = pick(m, 50) ? m->most : 25 * m->most;

	o->size = random_size(&m->random, most);
	if (m->live + o->size > m->live_max)
		return;
	o->cache = CACHES;
	o->p = model_alloc(m, o);
	KUNIT_ASSERT_NOT_NULL_MSG(m->test, o->p, "%zu bytes: %s", o->size,
				  slabdev_last_error());
	KUNIT_ASSERT_GE(m->test, slabdev_usable_size(m->sd, o->p), o->size);
	m->live += o->size;
	m->objects++;
	m->allocs++;
	mark(m, o);
}

static void step_free(struct model *m, struct object *o)
{
	bool by_cache = o->cache < CACHES && pick(m, 2);
	int err;

	check_content(m, o);
	err = by_cache ? slabdev_cache_free(m->cache[o->cache], o->p) :
			 slabdev_free(m->sd, o->p);
	KUNIT_ASSERT_EQ_MSG(m->test, err, 0, "%s", slabdev_last_error());
	m->live -= o->size;
	m->objects--;
	if (!pick(m, 64))
		KUNIT_ASSERT_EQ(m->test, slabdev_usable_size(m->sd, o->p), 0);
	o->p = NULL;
}

static void step_resize(struct model *m, struct object *o)
{
	size_t size = random_size(&m->random, m->most);
	void *p;

	if (o->cache < CACHES || m->live + size > m->live_max)
		return;
	check_content(m, o);
	p = slabdev_realloc(m->sd, o->p, size);
	KUNIT_ASSERT_NOT_NULL_MSG(m->test, p, "%s", slabdev_last_error());
	m->allocs += p != o->p;
	m->live += size - o->size;
	o->p = p;
	KUNIT_ASSERT_TRUE(m->test, is_marked(m, o, min(size, o->size)));
	o->size = size;
	mark(m, o);
}

static void step_mistake(struct model *m, const struct object *o)
{
	struct kunit *test = m->test;
	size_t at = 1 + pick(m, (u32)min(o->size, (size_t)1 << 30));

	if (at >= o->size)
		return;
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_ASSERT_EQ(test, slabdev_free(m->sd, o->p + at), -EINVAL);
}

static void step(struct model *m)
{
	struct object *o = &m->slot[pick(m, m->slots)];
	u32 what = pick(m, 1000);

	if (!o->p)
		step_alloc(m, o);
	else if (what < 200)
		step_resize(m, o);
	else if (what < 202)
		step_mistake(m, o);
	else
		step_free(m, o);
	if (!pick(m, m->rarely))
		KUNIT_ASSERT_EQ(m->test, slabdev_trim(m->sd, pick(m, 64) * MIB),
				0);
	if (!pick(m, m->rarely))
		KUNIT_ASSERT_EQ(m->test,
				slabdev_cache_shrink(m->cache[pick(m, CACHES)]),
				0);
}

/*
 * At the limit a request fails or not; what it may not do is fail otherwise,
 * or leave a trace in the books of objects.
 */
static void step_at_limit(struct model *m)
{
	struct object *o = &m->slot[pick(m, SLOTS / 8)];
	struct slabdev_req req = SLABDEV_REQ_INIT;

	if (o->p) {
		step_free(m, o);
		return;
	}
	req.flags = SLABDEV_REQ_NO_REPORT;
	req.flags |= pick(m, 4) ? 0 : SLABDEV_REQ_NO_GROW;
	req.align = pick(m, 4) ? 0 : (size_t)1 << pick(m, 22);
	o->cache = CACHES;
	o->size = random_size(&m->random, 3 * MIB);
	o->p = slabdev_alloc_ex(m->sd, o->size, &req);
	if (!o->p) {
		/* Regions may leave of the limit what is too short. */
		bool in_pieces = req.flags & SLABDEV_REQ_NO_GROW ||
				 has_regions(m->sd);

		KUNIT_ASSERT_TRUE_MSG(m->test, errno == EDQUOT ||
				      (in_pieces && errno == ENOMEM), "%s",
				      slabdev_last_error());
		m->failed++;
		return;
	}
	m->live += o->size;
	m->objects++;
	m->allocs++;
	mark(m, o);
}

/* ---- Comparison ------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct object *x = *(struct object *const *)a;
	const struct object *y = *(struct object *const *)b;

	return x->p < y->p ? -1 : x->p > y->p;
}

static void compare(struct model *m)
{
	struct slabdev_stats st = figures(m->test, m->sd);
	size_t n = 0;

	for (u32 i = 0; i < SLOTS; i++)
		if (m->slot[i].p)
			m->sorted[n++] = &m->slot[i];
	qsort(m->sorted, n, sizeof(m->sorted[0]), by_address);
	for (size_t i = 1; i < n; i++)
		KUNIT_ASSERT_TRUE(m->test, m->sorted[i - 1]->p +
				  m->sorted[i - 1]->size <= m->sorted[i]->p);
	for (size_t i = 0; i < n; i++)
		check_content(m, m->sorted[i]);
	KUNIT_ASSERT_EQ(m->test, n, m->objects);
	KUNIT_ASSERT_EQ(m->test, st.live_objects, m->objects);
	KUNIT_ASSERT_EQ(m->test, st.live, m->live);
	KUNIT_ASSERT_EQ(m->test, st.allocs, m->allocs);
	KUNIT_ASSERT_EQ(m->test, st.failed, m->failed);
	KUNIT_ASSERT_EQ(m->test, slabdev_validate(m->sd), 0);
}

static struct model *model_start(struct kunit *test, struct slabdev *sd)
{
	struct model *m = kunit_kzalloc(test, sizeof(*m));
	char name[16];

	m->test = test;
	m->sd = sd;
	m->random = random_seed(test);
	m->slots = SLOTS;
	m->most = 200 * KIB;
	m->live_max = LIVE_MAX;
	m->rarely = 5000;
	for (u32 i = 0; i < CACHES; i++) {
		snprintf(name, sizeof(name), "model-%zu", cache_size[i]);
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&m->cache[i], m->sd,
							   name, cache_size[i],
							   NULL), 0);
	}
	return m;
}

static void model_end(struct model *m)
{
	for (u32 i = 0; i < SLOTS; i++)
		if (m->slot[i].p)
			step_free(m, &m->slot[i]);
	compare(m);
	for (u32 i = 0; i < CACHES; i++)
		KUNIT_EXPECT_EQ(m->test, slabdev_cache_destroy(m->cache[i]), 0);
	KUNIT_EXPECT_EQ(m->test, slabdev_trim(m->sd, 0), 0);
	KUNIT_EXPECT_EQ(m->test, figures(m->test, m->sd).mapped, 0);
}

static void model_run(struct kunit *test, u32 steps, u32 mode)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct model *m = model_start(test, test->priv);

	policy.mode = mode;
	policy.keep_bytes = 8 * MIB;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(m->sd, &policy), 0);
	/* Each look at an object is a call of the driver. */
	if (!mem_is_cheap())
		steps /= 20;
	for (u32 i = 1; i <= steps; i++) {
		step(m);
		if (i % min(10000u, steps / 2) == 0)
			compare(m);
	}
	model_end(m);
}

static void random_steps(struct kunit *test)
{
	model_run(test, 200000, SLABDEV_RETAIN);
}

static void random_steps_trimmed(struct kunit *test)
{
	model_run(test, 50000, SLABDEV_TRIM);
}

static void random_steps_aggressive(struct kunit *test)
{
	model_run(test, 20000, SLABDEV_AGGRESSIVE);
}

static void random_steps_at_the_limit(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 32 * MIB);
	struct model *m = model_start(test, sd);

	for (u32 i = 1, n = mem_is_cheap() ? 50000 : 10000; i <= n; i++) {
		step_at_limit(m);
		if (i % 5000 == 0)
			compare(m);
	}
	KUNIT_EXPECT_GT(test, m->failed, 0);
	model_end(m);
	close_space(test, sd);
}

/*
 * Goal: no step leaves the metadata inconsistent, not even until the next one.
 * Method: a space so small that the walk is cheap, and that is often full.
 */
static void every_step_is_validated(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct slabdev *sd = open_space(test, 32 * MIB);
	struct model *m = model_start(test, sd);

	policy.mode = *(const u32 *)test->param_value;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(sd, &policy), 0);
	m->slots = 256;
	m->most = 64 * KIB;
	m->live_max = 4 * MIB;
	m->rarely = 100;
	for (u32 i = 0; i < VALIDATED_STEPS; i++) {
		step(m);
		KUNIT_ASSERT_EQ_MSG(test, slabdev_validate(sd), 0,
				    "step %u: %s", i, slabdev_last_error());
	}
	model_end(m);
	close_space(test, sd);
}

static void every_step_at_the_limit_is_validated(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 8 * MIB);
	struct model *m = model_start(test, sd);

	for (u32 i = 0; i < VALIDATED_STEPS; i++) {
		step_at_limit(m);
		KUNIT_ASSERT_EQ_MSG(test, slabdev_validate(sd), 0,
				    "step %u: %s", i, slabdev_last_error());
	}
	KUNIT_EXPECT_GT(test, m->failed, 0);
	model_end(m);
	close_space(test, sd);
}

static const u32 modes[] = {
	SLABDEV_RETAIN, SLABDEV_TRIM, SLABDEV_AGGRESSIVE
};
KUNIT_ARRAY_PARAM(mode, modes, NULL);

static void random_steps_for_long(struct kunit *test)
{
	model_run(test, 10000000, SLABDEV_RETAIN);
}

static const struct kunit_case model_cases[] = {
	KUNIT_CASE(random_steps),
	KUNIT_CASE(random_steps_trimmed),
	KUNIT_CASE(random_steps_aggressive),
	KUNIT_CASE(random_steps_at_the_limit),
	KUNIT_CASE_PARAM(every_step_is_validated, mode_gen_params,
			 .slow = true),
	KUNIT_CASE_SLOW(every_step_at_the_limit_is_validated),
	KUNIT_CASE_LONG(random_steps_for_long, .timeout_s = 600),
	{}
};

static const struct kunit_suite model_suite = {
	.name = "model",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = model_cases,
	.any_space = true,
};
kunit_test_suite(model_suite);
