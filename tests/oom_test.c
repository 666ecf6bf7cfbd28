// SPDX-License-Identifier: BSD-2-Clause
/*
 * oom_test.c - the way to the limit, and what happens there (promise P6).
 *
 * A request may fail only when the handles that hold live objects leave no
 * room for it; until then idle chunks, sheaves and shrinkers must have been
 * asked, in this order. What fails leaves a space that works.
 */
#include <stdio.h>

#include "core/os.h"
#include "slab/slab.h"
#include "slab/visit.h"
#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/random.h"
#include "vmm/internal.h"

#define KEEP_MAX 40000u

struct kept {
	struct kunit *test;
	struct slabdev *sd;
	void **p;
	u32 n;
};

static struct kept kept_open(struct kunit *test, u64 limit)
{
	return (struct kept){
		.test = test,
		.sd = case_space(test, limit),
		.p = kunit_kzalloc(test, KEEP_MAX * sizeof(void *)),
	};
}

static bool keep(struct kept *k, u64 size)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	void *p;

	KUNIT_ASSERT_LT(k->test, k->n, KEEP_MAX);
	req.flags = SLABDEV_REQ_NO_REPORT;
	p = slabdev_alloc_ex(k->sd, size, &req);
	if (p)
		k->p[k->n++] = p;
	return p;
}

static void keep_all(struct kept *k, u64 size)
{
	while (keep(k, size))
		;
}

static void drop(struct kept *k, u32 i)
{
	KUNIT_EXPECT_EQ(k->test, slabdev_free(k->sd, k->p[i]), 0);
	k->p[i] = k->p[--k->n];
}

static void drop_all(struct kept *k)
{
	while (k->n)
		drop(k, k->n - 1);
}

static void expect_oom(struct kunit *test, struct slabdev *sd, u64 size,
		       int err)
{
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(sd, size), err);
}

/* ---- The limit -------------------------------------------------------- */

static const struct fill {
	u64 size, limit, objects;
} fills[] = {
	{ 256, 8 * MIB, 32768 },
	{ 1, 2 * MIB, 8192 },
	{ MIB, 8 * MIB, 8 },
	{ 2 * MIB, 32 * MIB, 16 },
	{ 1600 * KIB, 16 * MIB, 10 },
	{ 16 * MIB, 64 * MIB, 4 },
	{ 66 * MIB, 198 * MIB, 3 },
};
KUNIT_ARRAY_PARAM(fill, fills, NULL);

static void limit_is_reached_exactly(struct kunit *test)
{
	const struct fill *f = test->param_value;
	struct kept k = kept_open(test, f->limit);

	if (f->size > 64 * MIB)
		need_merging(test, k.sd);
	keep_all(&k, f->size);
	KUNIT_EXPECT_EQ(test, k.n, f->objects);
	KUNIT_EXPECT_EQ(test, stats_of(test, k.sd).mapped, f->limit);
	expect_oom(test, k.sd, f->size, EDQUOT);
	KUNIT_EXPECT_REPORT_HAS(test, "they do not fit the limit");
	expect_sound(test, k.sd);
	/* One goes, one comes. */
	drop(&k, k.n / 2);
	KUNIT_EXPECT_TRUE(test, keep(&k, f->size));
	KUNIT_EXPECT_FALSE(test, keep(&k, f->size));
	drop_all(&k);
	keep_all(&k, f->size);
	KUNIT_EXPECT_EQ(test, k.n, f->objects);
	drop_all(&k);
	expect_empty(test, k.sd);
}

static void quiet_requests_are_quiet(struct kunit *test)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct kept k = kept_open(test, 8 * MIB);
	struct slabdev_stats st;
	u64 calls;

	req.flags = SLABDEV_REQ_NO_GROW;
	calls = calls_of(test, k.sd);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(k.sd, 100, &req), ENOMEM);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(k.sd, 3 * MIB, &req), ENOMEM);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(k.sd, 99 * MIB, &req),
			   ENOMEM);
	KUNIT_EXPECT_EQ(test, calls_of(test, k.sd), calls);
	keep_all(&k, 2 * MIB);
	req.flags = SLABDEV_REQ_NO_REPORT;
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(k.sd, 100, &req), EDQUOT);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(k.sd, 3 * MIB, &req), EDQUOT);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(k.sd, 99 * MIB, &req),
			   EDQUOT);
	st = stats_of(test, k.sd);
	KUNIT_EXPECT_EQ(test, st.failed, 3 + 1 + 3);
	KUNIT_EXPECT_EQ(test, st.live, 8 * MIB);
}

/* One that fits a space, and with its alignment does not. */
static void alignment_may_be_more_than_a_space_has(struct kunit *test)
{
	struct kept k = kept_open(test, 8 * MIB);
	u64 most = (u64)k.sd->pool.max_chunks * CHUNK;

	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_aligned(k.sd, most, GIB),
			   ENOMEM);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(slabdev_last_error(),
					       "more than a space"), "%s",
				  slabdev_last_error());
	expect_sound(test, k.sd);
}

/* The number after the name at the begin of a line. */
static s64 figure(struct kunit *test, const char *name)
{
	const char *at = strstr(kunit_report_text(test), name);

	KUNIT_EXPECT_NOT_NULL_MSG(test, at, "%s", name);
	return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

static void report_accounts_for_every_byte(struct kunit *test)
{
	static const char *const parts[] = {
		"\n live ", "\n rounding ", "\n cached ", "\n pending ",
		"\n retained ", "\n slack ", "\n lost ", "\n in flight ",
	};
	struct kept k = kept_open(test, 16 * MIB);
	u64 random = random_seed(test);
	s64 sum = 0;
	u32 i;

	while (keep(&k, random_size(&random, 100 * KIB)))
		;
	for (i = 0; i < k.n / 3; i++)
		drop(&k, i);
	expect_oom(test, k.sd, 14 * MIB, EDQUOT);
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		sum += figure(test, parts[i]);
	KUNIT_EXPECT_EQ(test, sum, figure(test, "\nmapped "));
	KUNIT_EXPECT_EQ(test, figure(test, "\n in flight "), 0);
	KUNIT_EXPECT_EQ(test, figure(test, "\nlimit "), 16 * MIB);
	KUNIT_EXPECT_EQ(test, figure(test, "\n live "),
			stats_of(test, k.sd).live);
	KUNIT_EXPECT_REPORT_HAS(test, "alloc-");
	expect_sound(test, k.sd);
}

/* By all bytes that a class has, whoever asked for how many of them. */
static void largest_class_comes_first(struct kunit *test)
{
	struct kept k = kept_open(test, 8 * MIB);
	const char *text;

	while (k.n < 5000)
		KUNIT_ASSERT_TRUE(test, keep(&k, k.n < 1000 ? 1 : 512));
	expect_oom(test, k.sd, 9 * MIB, EDQUOT);
	KUNIT_EXPECT_REPORT_HAS(test, "alloc-512 ");
	text = kunit_report_text(test);
	KUNIT_EXPECT_TRUE(test, strstr(text, "alloc-512 ") <
				strstr(text, "alloc-256 "));
	/* Classes without any are left out. */
	KUNIT_EXPECT_NULL(test, strstr(text, "alloc-1024 "));
}

/* ---- Reuse ------------------------------------------------------------ */

static u64 op_calls(struct slabdev *sd, enum vmm_op op)
{
	return sd->vmm.cnt->calls[op];
}

/* Handles are moved to where the run is; none is made, or a single one where
 * the calls are what costs. */
static void scattered_idle_chunks_serve_a_run(struct kunit *test)
{
	struct kept k = kept_open(test, 32 * MIB);
	u64 created;
	void *p;
	u32 i;

	need_merging(test, k.sd);
	keep_all(&k, 2 * MIB);
	KUNIT_ASSERT_EQ(test, k.n, 16);
	for (i = 0; i < 16; i += 2)
		KUNIT_EXPECT_EQ(test, slabdev_free(k.sd, k.p[i]), 0);
	created = op_calls(k.sd, VMM_OP_CREATE);
	p = slabdev_alloc(k.sd, 16 * MIB);
	KUNIT_EXPECT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, op_calls(k.sd, VMM_OP_CREATE),
			created + k.sd->ops->dear_handles);
	expect_sound(test, k.sd);
}

/* A kept mapping of the wrong length gives way. */
static void idle_long_mapping_gives_way(struct kunit *test)
{
	struct kept k = kept_open(test, 100 * MIB);

	need_merging(test, k.sd);
	KUNIT_ASSERT_TRUE(test, keep(&k, 90 * MIB));
	drop(&k, 0);
	KUNIT_EXPECT_TRUE(test, keep(&k, 95 * MIB));
	drop(&k, 0);
	keep_all(&k, 2 * MIB);
	KUNIT_EXPECT_EQ(test, k.n, 50);
	drop_all(&k);
	KUNIT_EXPECT_TRUE(test, keep(&k, 100 * MIB));
	expect_sound(test, k.sd);
}

/* First byte and end of what an object keeps in place: itself, or its slab. */
static void kept_bytes(struct kept *k, void *p, u64 *at, u64 *end)
{
	const struct slab *s;

	*at = space_offset(k->sd, p);
	*end = *at + slabdev_usable_size(k->sd, p);
	s = k->sd->slabs + *at / SLICE_SIZE;
	s -= s->back;
	if (s->state != SLAB_OBJECTS)
		return;
	*at = slab_offset(k->sd, s);
	*end = *at + k->sd->class[s->class]->span * SLICE_SIZE;
}

/* The chunks of the handle that has this one; how many were not used yet. */
static u32 use_handle(struct kept *k, u32 chunk, bool *used, u32 max)
{
	const struct vmm_handle *h = *vmm_chunk(&k->sd->vmm, chunk);
	u32 c, n = 0;

	KUNIT_ASSERT_NOT_NULL(k->test, h);
	KUNIT_ASSERT_LE(k->test, h->first + h->nr, max);
	for (c = h->first; c < h->first + h->nr; c++) {
		n += !used[c];
		used[c] = true;
	}
	return n;
}

/* Chunks of the handles that hold something live, each once. */
static u32 chunks_in_use(struct kept *k, bool *used, u32 max)
{
	u64 at, end;
	u32 i, n = 0;

	memset(used, 0, max);
	for (i = 0; i < k->n; i++) {
		kept_bytes(k, k->p[i], &at, &end);
		for (at /= CHUNK; at * CHUNK < end; at++)
			n += use_handle(k, (u32)at, used, max);
	}
	return n;
}

static void fragment(struct kept *k, u64 *random)
{
	u32 i, keep_every = 2 + random_below(random, 300);

	while (keep(k, random_size(random, 3 * MIB)))
		;
	for (i = k->n; i--;)
		if (random_below(random, keep_every))
			drop(k, i);
}

static const u64 limits[] = { 16 * MIB, 64 * MIB, 256 * MIB };
KUNIT_ARRAY_PARAM(limit, limits, NULL);

/* P6. A slab may cross from one chunk into the next; it keeps both. */
static void what_the_live_handles_leave_can_be_had(struct kunit *test)
{
	u64 limit = *(const u64 *)test->param_value;
	struct kept k = kept_open(test, limit);
	u64 random = random_seed(test), room;
	u32 max = 8 * (u32)(limit / CHUNK) + 64, round;
	bool *used = kunit_kzalloc(test, max);

	need_merging(test, k.sd);
	for (round = 0; round < 12; round++) {
		fragment(&k, &random);
		room = limit - CHUNK * chunks_in_use(&k, used, max);
		if (room)
			KUNIT_EXPECT_TRUE_MSG(test, keep(&k, room),
				"round %u: %llu of %llu: %s", round,
				(unsigned long long)room,
				(unsigned long long)limit,
				slabdev_last_error());
		expect_sound(test, k.sd);
		if (round % 3 == 2)
			drop_all(&k);
	}
	drop_all(&k);
	expect_empty(test, k.sd);
}

/* ---- Shrinkers -------------------------------------------------------- */

struct shrink {
	struct kept *k;
	u32 calls;
	u32 gives;		/* objects that each call frees */
	u64 least;		/* fewest bytes ever asked for */
	u64 lie;		/* returned although nothing was freed */
};

static u64 shrink(struct slabdev *sd, u64 bytes, void *arg)
{
	struct shrink *s = arg;
	u64 freed = s->lie;
	u32 i;

	KUNIT_EXPECT_PTR_EQ(s->k->test, sd, s->k->sd);
	s->calls++;
	s->least = s->least && s->least < bytes ? s->least : bytes;
	for (i = 0; i < s->gives && s->k->n; i++) {
		freed += slabdev_usable_size(sd, s->k->p[s->k->n - 1]);
		drop(s->k, s->k->n - 1);
	}
	return freed;
}

static void shrinker_is_asked_before_a_failure(struct kunit *test)
{
	struct kept k = kept_open(test, 32 * MIB);
	struct shrink first = { .k = &k, .gives = 1 };
	struct shrink second = { .k = &k, .gives = 2 };
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_register_shrinker(k.sd, shrink, &first),
			0);
	KUNIT_ASSERT_EQ(test, slabdev_register_shrinker(k.sd, shrink, &second),
			0);
	while (k.n < 16)
		KUNIT_ASSERT_TRUE(test, keep(&k, 2 * MIB));
	KUNIT_EXPECT_EQ(test, first.calls, 0);
	p = slabdev_alloc(k.sd, 10 * MIB);
	KUNIT_EXPECT_NOT_NULL(test, p);
	/* Two rounds of three objects are enough. */
	KUNIT_EXPECT_EQ(test, first.calls, 2);
	KUNIT_EXPECT_EQ(test, second.calls, 2);
	KUNIT_EXPECT_GE(test, first.least, 10 * MIB);
	KUNIT_EXPECT_EQ(test, k.n, 10);
	expect_sound(test, k.sd);
	slabdev_free(k.sd, p);
	/* When they have no more, it ends. */
	expect_oom(test, k.sd, 40 * MIB, EDQUOT);
	KUNIT_EXPECT_EQ(test, k.n, 0);
	KUNIT_EXPECT_EQ(test, slabdev_unregister_shrinker(k.sd, shrink, &first),
			0);
	KUNIT_EXPECT_EQ(test, slabdev_unregister_shrinker(k.sd, shrink,
							  &second), 0);
}

/* White-box: what lies behind the table of shrinkers is not 0 then. */
static void nobody_but_shrinkers_is_asked(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 8 * MIB);

	visit_wait(sd);
	KUNIT_ASSERT_EQ(test, sd->visit_side, 1);
	expect_oom(test, sd, 9 * MIB, EDQUOT);
	expect_sound(test, sd);
}

static void lying_shrinker_is_not_asked_for_ever(struct kunit *test)
{
	struct kept k = kept_open(test, 8 * MIB);
	struct shrink s = { .k = &k, .lie = GIB };

	KUNIT_ASSERT_EQ(test, slabdev_register_shrinker(k.sd, shrink, &s), 0);
	expect_oom(test, k.sd, 9 * MIB, EDQUOT);
	KUNIT_EXPECT_GE(test, s.calls, 1);
	KUNIT_EXPECT_LE(test, s.calls, 100);
}

/* What is already there, in whatever form, comes before a shrinker. */
static void shrinker_is_the_last_resort(struct kunit *test)
{
	struct kept k = kept_open(test, 32 * MIB);
	struct shrink s = { .k = &k, .gives = 1 };
	u32 i;

	KUNIT_ASSERT_EQ(test, slabdev_register_shrinker(k.sd, shrink, &s), 0);
	while (k.n < 30)
		KUNIT_ASSERT_TRUE(test, keep(&k, MIB));
	for (i = 0; i < 20; i++)
		drop(&k, 0);
	KUNIT_ASSERT_TRUE(test, keep(&k, 8 * MIB));
	KUNIT_EXPECT_EQ(test, s.calls, 0);
	expect_sound(test, k.sd);
}

/* A sheaf that is filled in part serves: nobody needs to be asked. */
static void part_of_a_sheaf_is_no_lack(struct kunit *test)
{
	struct kept k = kept_open(test, 2 * MIB);
	struct shrink s = { .k = &k, .gives = 1 };

	keep_all(&k, 1000);
	drop(&k, 5);
	drop(&k, 50);
	drop(&k, 500);
	KUNIT_ASSERT_EQ(test, slabdev_trim(k.sd, 0), 0);
	KUNIT_ASSERT_EQ(test, slabdev_register_shrinker(k.sd, shrink, &s), 0);
	KUNIT_EXPECT_TRUE(test, keep(&k, 1000));
	KUNIT_EXPECT_TRUE(test, keep(&k, 1000));
	KUNIT_EXPECT_TRUE(test, keep(&k, 1000));
	KUNIT_EXPECT_EQ(test, s.calls, 0);
	expect_sound(test, k.sd);
}

static u64 shrink_that_allocates(struct slabdev *sd, u64 bytes, void *arg)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct shrink *s = arg;

	(void)bytes;
	s->calls++;
	req.flags = SLABDEV_REQ_NO_REPORT;
	KUNIT_EXPECT_ERRNO(s->k->test, slabdev_alloc_ex(sd, 3 * MIB, &req),
			   EDQUOT);
	KUNIT_EXPECT_EQ(s->k->test,
			slabdev_unregister_shrinker(sd, shrink_that_allocates,
						    arg), -EDEADLK);
	return 0;
}

static void shrinker_is_not_asked_by_itself(struct kunit *test)
{
	struct kept k = kept_open(test, 8 * MIB);
	struct shrink s = { .k = &k };

	keep_all(&k, 2 * MIB);
	KUNIT_ASSERT_EQ(test, slabdev_register_shrinker(k.sd,
			shrink_that_allocates, &s), 0);
	expect_oom(test, k.sd, 2 * MIB, EDQUOT);
	KUNIT_EXPECT_EQ(test, s.calls, 1);
	KUNIT_EXPECT_EQ(test, slabdev_unregister_shrinker(k.sd,
			shrink_that_allocates, &s), 0);
}

static void registration_says_what_is_wrong(struct kunit *test)
{
	struct kept k = kept_open(test, 8 * MIB);
	struct slabdev *sd = k.sd;
	struct shrink s[17] = { { .k = &k } };
	u32 i;

	KUNIT_EXPECT_EQ(test, slabdev_register_shrinker(sd, NULL, s), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_unregister_shrinker(sd, shrink, s),
			-ENOENT);
	for (i = 0; i < 16; i++) {
		s[i].k = &k;
		KUNIT_EXPECT_EQ(test, slabdev_register_shrinker(sd, shrink,
								&s[i]), 0);
	}
	KUNIT_EXPECT_EQ(test, slabdev_register_shrinker(sd, shrink, &s[3]),
			-EEXIST);
	KUNIT_EXPECT_EQ(test, slabdev_register_shrinker(sd, shrink, &s[16]),
			-ENOSPC);
	KUNIT_EXPECT_EQ(test, slabdev_unregister_shrinker(sd, shrink, &s[3]),
			0);
	KUNIT_EXPECT_EQ(test, slabdev_unregister_shrinker(sd, shrink, &s[3]),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, slabdev_register_shrinker(sd, shrink, &s[3]), 0);
	expect_oom(test, sd, 9 * MIB, EDQUOT);
	for (i = 0; i < 16; i++)
		KUNIT_EXPECT_EQ(test, s[i].calls, 1);
}

/* ---- Unregistering while it runs -------------------------------------- */

struct slow {
	struct kunit *test;
	struct slabdev *sd;
	u32 inside, leave, gone;	/* atomic */
};

static u64 slow_shrink(struct slabdev *sd, u64 bytes, void *arg)
{
	struct slow *s = arg;

	(void)sd;
	(void)bytes;
	store_release(&s->inside, 1);
	while (!load_acquire(&s->leave))
		os_yield();
	return 0;
}

static void run_out(void *arg)
{
	struct slow *s = arg;
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.flags = SLABDEV_REQ_NO_REPORT;
	KUNIT_EXPECT_NULL(s->test, slabdev_alloc_ex(s->sd, 9 * MIB, &req));
}

static void unregister(void *arg)
{
	struct slow *s = arg;

	KUNIT_EXPECT_EQ(s->test, slabdev_unregister_shrinker(s->sd, slow_shrink,
							     s), 0);
	store_release(&s->gone, 1);
}

static void unregistering_waits(struct kunit *test)
{
	struct crew *crew = crew_new(test, 2);
	struct slow s = { .test = test, .sd = case_space(test, 8 * MIB) };

	KUNIT_ASSERT_EQ(test, slabdev_register_shrinker(s.sd, slow_shrink, &s),
			0);
	crew_start(crew, 0, run_out, &s);
	while (!load_acquire(&s.inside))
		os_yield();
	crew_start(crew, 1, unregister, &s);
	os_sleep_us(50000);
	KUNIT_EXPECT_EQ(test, load_acquire(&s.gone), 0);
	store_release(&s.leave, 1);
	crew_wait(crew, 0);
	crew_wait(crew, 1);
	KUNIT_EXPECT_EQ(test, load_acquire(&s.gone), 1);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(limit_is_reached_exactly, fill_gen_params),
	KUNIT_CASE(quiet_requests_are_quiet),
	KUNIT_CASE(alignment_may_be_more_than_a_space_has),
	KUNIT_CASE(report_accounts_for_every_byte),
	KUNIT_CASE(largest_class_comes_first),
	KUNIT_CASE(scattered_idle_chunks_serve_a_run),
	KUNIT_CASE(idle_long_mapping_gives_way),
	KUNIT_CASE_PARAM(what_the_live_handles_leave_can_be_had,
			 limit_gen_params),
	KUNIT_CASE(shrinker_is_asked_before_a_failure),
	KUNIT_CASE(nobody_but_shrinkers_is_asked),
	KUNIT_CASE(lying_shrinker_is_not_asked_for_ever),
	KUNIT_CASE(shrinker_is_the_last_resort),
	KUNIT_CASE(part_of_a_sheaf_is_no_lack),
	KUNIT_CASE(shrinker_is_not_asked_by_itself),
	KUNIT_CASE(registration_says_what_is_wrong),
	KUNIT_CASE(unregistering_waits),
	{ 0 }
};

static const struct kunit_suite oom_suite = {
	.name = "oom",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(oom_suite);
