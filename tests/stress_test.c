// SPDX-License-Identifier: BSD-2-Clause
/*
 * stress_test.c - random threads, and everything else beside them.
 *
 * Workers allocate and free all kinds of objects, keep some, and hand others
 * over to each other; a manager trims, shrinks, validates, reports, and
 * switches the policy; churners create and destroy caches. Each object carries
 * its worker's word at both ends, checked when it is freed: an object that two
 * had at once, or that moved, does not pass. When all have stopped, every
 * object is freed and every byte must have come back.
 */
#include <stdio.h>

#include "core/os.h"
#include "slab/slab.h"
#include "tests/clock.h"
#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/random.h"

#define NR_CACHES 6u
#define NR_KEPT 150u
#define NR_DESKS 64u
#define MAX_WORKERS 8u
#define NR_CHURNERS 2u

static const size_t cache_sizes[NR_CACHES] = { 16, 40, 200, 256, 3000, 70000 };

struct object {
	void *p;
	u64 size;
	u64 word;
};

struct stress {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache[NR_CACHES];
	struct object *desk[NR_DESKS];	/* atomic: handed over here */
	bool stop;			/* relaxed */
	bool switches;			/* the policy */
};

struct worker {
	struct stress *s;
	u32 me;
	u64 random;
	u64 next_word;
	u64 ops, failures;
	struct object *kept[NR_KEPT];
};

/* ---- Objects ---------------------------------------------------------- */

/* The word at both ends; a small object has room for one. */
static void sign(struct stress *s, const struct object *o)
{
	mem_write(s->sd, o->p, &o->word, sizeof(o->word));
	if (o->size >= 16)
		mem_write(s->sd, (char *)o->p + o->size - 8, &o->word,
			  sizeof(o->word));
}

static u64 word_at(struct stress *s, const void *p)
{
	u64 word;

	mem_read(s->sd, &word, p, sizeof(word));
	return word;
}

static void check(struct stress *s, const struct object *o)
{
	KUNIT_EXPECT_EQ_MSG(s->test, word_at(s, o->p), o->word,
			    "%p of %llu bytes", o->p,
			    (unsigned long long)o->size);
	if (o->size < 16)
		return;
	KUNIT_EXPECT_EQ_MSG(s->test, word_at(s, (char *)o->p + o->size - 8),
			    o->word, "%p of %llu bytes", o->p,
			    (unsigned long long)o->size);
}

static u64 request_size(u64 *random)
{
	u32 what = random_below(random, 1000);

	if (what < 2)
		return 64 * MIB + random_below(random, 8 * MIB);
	if (what < 20)
		return MIB + random_below(random, 6 * MIB);
	return 8 + random_size(random, 200 * KIB);
}

static void *get_memory(struct worker *w, u64 *size)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	u32 what = random_below(&w->random, 16);

	req.flags = SLABDEV_REQ_NO_REPORT;
	if (what < NR_CACHES) {
		*size = cache_sizes[what];
		return slabdev_cache_alloc(w->s->cache[what]);
	}
	*size = request_size(&w->random);
	if (what == NR_CACHES)
		req.align = (size_t)256 << random_below(&w->random, 12);
	if (what == NR_CACHES + 1)
		req.flags |= SLABDEV_REQ_NO_GROW;
	return slabdev_alloc_ex(w->s->sd, *size, &req);
}

static struct object *make_object(struct worker *w)
{
	u64 size;
	void *p = get_memory(w, &size);
	struct object *o;

	if (!p) {
		w->failures++;
		return NULL;
	}
	o = malloc(sizeof(*o));
	*o = (struct object){ p, size, (u64)w->me << 48 | w->next_word++ };
	sign(w->s, o);
	return o;
}

static void end_object(struct stress *s, struct object *o)
{
	if (!o)
		return;
	check(s, o);
	KUNIT_EXPECT_EQ(s->test, slabdev_free(s->sd, o->p), 0);
	free(o);
}

/* ---- Workers ---------------------------------------------------------- */

/* Leave one on a desk, take what lay there. */
static void hand_over(struct worker *w, struct object **mine)
{
	struct object **desk = &w->s->desk[random_below(&w->random, NR_DESKS)];

	*mine = __atomic_exchange_n(desk, *mine, __ATOMIC_ACQ_REL);
}

static void try_realloc(struct worker *w, struct object *o)
{
	u64 size = 8 + random_size(&w->random, 100 * KIB);
	void *p;

	/* Which kind it is shows in the size: those of caches are not moved. */
	for (u32 i = 0; i < NR_CACHES; i++)
		if (o->size == cache_sizes[i])
			return;
	p = slabdev_realloc(w->s->sd, o->p, size);
	if (!p)
		return;
	KUNIT_EXPECT_EQ(w->s->test, word_at(w->s, p), o->word);
	o->p = p;
	o->size = size;
	sign(w->s, o);
}

static void work_step(struct worker *w)
{
	struct object **at = &w->kept[random_below(&w->random, NR_KEPT)];
	u32 what = random_below(&w->random, 32);

	w->ops++;
	if (what < 3) {
		hand_over(w, at);
	} else if (what == 3 && *at) {
		try_realloc(w, *at);
	} else if (*at) {
		end_object(w->s, *at);
		*at = NULL;
	} else {
		*at = make_object(w);
	}
}

static void work(void *arg)
{
	struct worker *w = arg;

	while (!READ_ONCE(w->s->stop))
		work_step(w);
}

static void clear(void *arg)
{
	struct worker *w = arg;
	u32 i;

	for (i = 0; i < NR_KEPT; i++) {
		end_object(w->s, w->kept[i]);
		w->kept[i] = NULL;
	}
}

/* ---- Beside them ------------------------------------------------------ */

static void churn_step(struct stress *s, u64 *random, const char *name)
{
	struct slabdev_cache *c;
	void *p[20];
	u32 n = 1 + random_below(random, ARRAY_SIZE(p));

	if (slabdev_cache_create(&c, s->sd, name,
				 16 + random_below(random, 5000), NULL)) {
		KUNIT_FAIL(s->test, "%s", slabdev_last_error());
		return;
	}
	if (!slabdev_cache_alloc_bulk(c, n, p))
		KUNIT_EXPECT_EQ(s->test, slabdev_cache_free_bulk(c, n, p), 0);
	KUNIT_EXPECT_EQ_MSG(s->test, slabdev_cache_destroy(c), 0, "%s",
			    slabdev_last_error());
}

static void churn(void *arg)
{
	struct worker *w = arg;
	char name[16];

	snprintf(name, sizeof(name), "churn-%u", w->me);
	for (; !READ_ONCE(w->s->stop); w->ops++)
		churn_step(w->s, &w->random, name);
}

static void switch_policy(struct stress *s, u64 *random)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = SLABDEV_RETAIN + random_below(random, 3);
	policy.keep_bytes = random_below(random, 16 * MIB);
	KUNIT_EXPECT_EQ(s->test, slabdev_set_policy(s->sd, &policy), 0);
}

static void manage_step(struct stress *s, u64 *random, FILE *null)
{
	struct slabdev_cache_stats cst;
	u32 c = random_below(random, NR_CACHES);

	switch (random_below(random, 8)) {
	case 0:
		KUNIT_EXPECT_EQ(s->test, slabdev_trim(s->sd,
				random_below(random, 32 * MIB)), 0);
		break;
	case 1:
		KUNIT_EXPECT_EQ(s->test, slabdev_cache_shrink(s->cache[c]), 0);
		break;
	case 2:
		KUNIT_EXPECT_EQ(s->test, slabdev_validate(s->sd), 0);
		break;
	case 3:
		KUNIT_EXPECT_EQ(s->test, slabdev_cache_validate(s->cache[c]),
				0);
		break;
	case 4:
		stats_of(s->test, s->sd);
		slabdev_cache_stats(s->cache[c], &cst, sizeof(cst));
		break;
	case 5:
		KUNIT_EXPECT_EQ(s->test, slabdev_report(s->sd, null), 0);
		break;
	case 6:
		KUNIT_EXPECT_EQ(s->test, slabdev_poll(s->sd), 0);
		break;
	default:
		if (s->switches)
			switch_policy(s, random);
	}
}

static void manage_for(struct stress *s, u64 seed, u64 ms)
{
	u64 end = now_ns() + ms * 1000000, random = seed;
	FILE *null = fopen("/dev/null", "we");

	KUNIT_ASSERT_NOT_NULL(s->test, null);
	while (now_ns() < end) {
		manage_step(s, &random, null);
		os_sleep_us(random_below(&random, 3000));
	}
	fclose(null);
}

/* ---- All together ----------------------------------------------------- */

static void stress_open(struct kunit *test, struct stress *s)
{
	char name[16];
	u32 i;

	s->test = test;
	s->sd = case_space(test, 400 * MIB);
	for (i = 0; i < NR_CACHES; i++) {
		snprintf(name, sizeof(name), "stress-%u", i);
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&s->cache[i], s->sd,
			name, cache_sizes[i], NULL), 0);
	}
}

static void clear_desks(struct stress *s)
{
	u32 i;

	for (i = 0; i < NR_DESKS; i++) {
		end_object(s, s->desk[i]);
		s->desk[i] = NULL;
	}
}

static void expect_all_back(struct stress *s)
{
	u32 i;

	expect_sound(s->test, s->sd);
	for (i = 0; i < NR_CACHES; i++)
		KUNIT_EXPECT_EQ(s->test, slabdev_cache_destroy(s->cache[i]), 0);
	expect_empty(s->test, s->sd);
	KUNIT_EXPECT_EQ(s->test, stats_of(s->test, s->sd).caches, 0);
}

static void run_stress(struct kunit *test, struct stress *s, u32 nr_workers,
		       u32 nr_churners, u64 ms)
{
	u32 n = nr_workers + nr_churners, i;
	struct worker *w = kunit_kzalloc(test, n * sizeof(*w));
	struct crew *crew = crew_new(test, n);
	u64 seed = random_seed(test), ops = 0, failures = 0;

	stress_open(test, s);
	for (i = 0; i < n; i++) {
		w[i] = (struct worker){ .s = s, .me = i + 1,
					.random = seed + i * 7919 };
		crew_start(crew, i, i < nr_workers ? work : churn, &w[i]);
	}
	manage_for(s, seed, ms);
	WRITE_ONCE(s->stop, true);
	for (i = 0; i < n; i++) {
		crew_wait(crew, i);
		ops += w[i].ops;
		failures += w[i].failures;
	}
	expect_sound(test, s->sd);
	crew_all(crew, clear, w, sizeof(*w));
	clear_desks(s);
	expect_all_back(s);
	crew_dismiss(crew);
	kunit_info(test, "%llu operations, %llu found no memory",
		   (unsigned long long)ops, (unsigned long long)failures);
}

static const u32 nr_workers[] = { 1, 2, 4, MAX_WORKERS };
KUNIT_ARRAY_PARAM(workers, nr_workers, NULL);

/* Caches report a lack of memory; that they do is no failure here. */
static void drop_out_of_memory(int level, int kind, const char *text,
			       void *arg)
{
	struct stress *s = arg;

	(void)level;
	if (kind >= 0 && kind != REPORT_OUT_OF_MEMORY)
		KUNIT_FAIL(s->test, "%s", text);
}

static void stress_for(struct kunit *test, u32 nr, u32 nr_churners,
		       bool switches, u64 ms)
{
	struct stress *s = kunit_kzalloc(test, sizeof(*s));

	s->test = test;
	s->switches = switches;
	log_set_sink(drop_out_of_memory, s);
	run_stress(test, s, nr, nr_churners, ms);
}

static void one_policy(struct kunit *test)
{
	stress_for(test, *(const u32 *)test->param_value, 0, false, 400);
}

static void all_policies(struct kunit *test)
{
	stress_for(test, *(const u32 *)test->param_value, 0, true, 400);
}

static void caches_come_and_go(struct kunit *test)
{
	stress_for(test, 2, NR_CHURNERS, true, 800);
}

static void all_policies_long(struct kunit *test)
{
	stress_for(test, *(const u32 *)test->param_value, NR_CHURNERS, true,
		   60000);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(one_policy, workers_gen_params, .isolated = true,
			 .slow = true),
	KUNIT_CASE_PARAM(all_policies, workers_gen_params, .isolated = true,
			 .slow = true),
	KUNIT_CASE_ISOLATED(caches_come_and_go, .slow = true),
	KUNIT_CASE_PARAM(all_policies_long, workers_gen_params,
			 .isolated = true, .is_long = true, .timeout_s = 300),
	{ 0 }
};

static const struct kunit_suite stress_suite = {
	.name = "stress",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(stress_suite);
