// SPDX-License-Identifier: BSD-2-Clause
/*
 * scale_test.c - many objects, many caches, many threads, and a long time
 *
 * What costs a little more with each object, thread or hour is not seen in a
 * test of a second. So each case does something very often, looks at what the
 * process has when that has only begun, and again at the end: mapped memory,
 * the library's tables, resident pages, mappings of the kernel, descriptors.
 * The memory itself is never touched, so resident pages are tables and stacks.
 *
 * The bounds leave room for chance, such as which thread had what in its
 * sheaves, and none for a leak: what is done hundreds or thousands of times
 * between the two looks must not show.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "core/os.h"
#include "tests/clock.h"
#include "tests/crew.h"
#include "tests/descriptors.h"
#include "tests/open_space.h"
#include "tests/random.h"
#include "tests/sanitizers.h"
#include "tests/slabinfo_run.h"

/* ---- What the process has --------------------------------------------- */

struct size {
	u64 mapped;	/* bytes */
	u64 host;	/* bytes of tables */
	u64 resident;	/* bytes */
	u64 vmas;	/* mappings of the process */
	u64 fds;
};

static u64 resident_bytes(struct kunit *test)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	KUNIT_ASSERT_NOT_NULL(test, f);
	KUNIT_EXPECT_EQ(test, fscanf(f, "%*u %llu", &pages), 1);
	fclose(f);
	return pages * os_page_size();
}

static u64 count_vmas(struct kunit *test)
{
	FILE *f = fopen("/proc/self/maps", "re");
	u64 n = 0;
	int c;

	KUNIT_ASSERT_NOT_NULL(test, f);
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static struct size size_of(struct kunit *test, struct slabdev *sd)
{
	struct slabdev_stats st = stats_of(test, sd);

	return (struct size){
		.mapped = st.mapped,
		.host = st.host_bytes,
		.resident = resident_bytes(test),
		.vmas = count_vmas(test),
		.fds = count_descriptors(test),
	};
}

static void show_size(struct kunit *test, const char *when,
		      const struct size *s)
{
	kunit_info(test, "%s: mapped %llu KiB, tables %llu KiB, resident %llu "
		   "KiB, %llu mappings, %llu descriptors", when,
		   (unsigned long long)s->mapped / KIB,
		   (unsigned long long)s->host / KIB,
		   (unsigned long long)s->resident / KIB,
		   (unsigned long long)s->vmas, (unsigned long long)s->fds);
}

/*
 * At most @mapped, and else at most @percent and a bit more. Sanitizers keep
 * books of their own.
 */
static void expect_no_growth(struct kunit *test, const struct size *early,
			     const struct size *late, u64 mapped, u64 percent)
{
	show_size(test, "early", early);
	show_size(test, "late", late);
	KUNIT_EXPECT_LE(test, late->mapped, mapped);
	KUNIT_EXPECT_LE(test, late->fds, early->fds + 4);
	if (IS_SANITIZED)
		return;
	KUNIT_EXPECT_LE(test, late->resident,
			early->resident * (100 + percent) / 100 + 16 * MIB);
	KUNIT_EXPECT_LE(test, late->vmas, early->vmas + 100);
}

static void expect_no_more_tables(struct kunit *test, u64 early, u64 late)
{
	KUNIT_EXPECT_LE(test, late, early * 5 / 4 + 2 * MIB);
}

/* ---- Objects ---------------------------------------------------------- */

/* 172 bytes of tables a slice of 16 KiB, and the tables' first steps. */
static u64 documented_tables(u64 mapped)
{
	return mapped / (16 * KIB) * 172 + 3 * MIB;
}

static u64 fill(struct kunit *test, struct slabdev *sd, void **p, u64 from,
		u64 to, bool mixed)
{
	u64 random = 7, i;

	for (i = from; i < to; i++) {
		size_t size = mixed ? 1 + random_below(&random, 2048) : 256;

		p[i] = slabdev_alloc(sd, size);
		if (!p[i])
			break;
	}
	KUNIT_ASSERT_EQ_MSG(test, i, to, "%s", slabdev_last_error());
	return stats_of(test, sd).host_bytes;
}

static void empty(struct kunit *test, struct slabdev *sd, void **p, u64 n)
{
	u64 i, failed = 0;

	for (i = 0; i < n; i++)
		failed += slabdev_free(sd, p[i]) != 0;
	KUNIT_EXPECT_EQ(test, failed, 0);
}

static void many_objects(struct kunit *test, u64 n, u64 limit, bool mixed)
{
	void **p = kunit_kzalloc(test, n * sizeof(*p));
	struct slabdev *sd = case_space(test, limit);
	u64 early, late, resident = resident_bytes(test);
	struct slabdev_stats st;

	early = fill(test, sd, p, 0, n / 10, mixed);
	late = fill(test, sd, p, n / 10, n, mixed);
	st = figures(test, sd);
	KUNIT_EXPECT_EQ(test, st.live_objects, n);
	kunit_info(test, "%llu objects: mapped %llu MiB, tables %llu KiB, "
		   "%.2f bytes an object", (unsigned long long)n,
		   (unsigned long long)st.mapped / MIB,
		   (unsigned long long)late / KIB, (double)late / (double)n);
	KUNIT_EXPECT_LE(test, late, documented_tables(st.mapped));
	/* The tenth object costs no more than the first. */
	KUNIT_EXPECT_LE(test, late, 10 * early + 3 * MIB);
	/* Nothing was touched but tables, and the array above. */
	if (!IS_SANITIZED)
		KUNIT_EXPECT_LE(test, resident_bytes(test), resident + late +
				n * sizeof(*p) + 16 * MIB);
	empty(test, sd, p, n);
	expect_empty(test, sd);
}

static void ten_million_objects(struct kunit *test)
{
	many_objects(test, IS_SANITIZED ? 1000000 : 10000000, 4 * GIB, false);
}

static void a_million_mixed_objects(struct kunit *test)
{
	many_objects(test, IS_SANITIZED ? 100000 : 1000000, 4 * GIB, true);
}

/* ---- Caches ----------------------------------------------------------- */

#define NR_CACHES 1000u
#define NR_USERS 8u

struct caches {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache[NR_CACHES];
};

struct user {
	struct caches *caches;
	u32 me;
	void *kept[NR_CACHES];
};

static void create_caches(struct caches *s)
{
	char name[16];
	u32 i;

	for (i = 0; i < NR_CACHES; i++) {
		snprintf(name, sizeof(name), "scale-%u", i);
		KUNIT_ASSERT_EQ_MSG(s->test, slabdev_cache_create(&s->cache[i],
			s->sd, name, 16 + i * 37 % 5000, NULL), 0, "%s",
			slabdev_last_error());
	}
}

/* Each thread in an order of its own; one object of each cache stays. */
static void use_caches(void *arg)
{
	struct user *u = arg;
	u32 step, i, k;
	void *p[5];

	for (step = 0; step < NR_CACHES; step++) {
		struct slabdev_cache *c;

		i = (step * (10 * u->me + 7) + u->me * 100) % NR_CACHES;
		if (u->kept[i])
			continue;
		c = u->caches->cache[i];
		for (k = 0; k < ARRAY_SIZE(p); k++)
			p[k] = slabdev_cache_alloc(c);
		u->kept[i] = p[0];
		for (k = 1; k < ARRAY_SIZE(p); k++)
			KUNIT_EXPECT_EQ(u->caches->test,
					slabdev_cache_free(c, p[k]), 0);
		KUNIT_EXPECT_NOT_NULL(u->caches->test, p[0]);
	}
}

/* What another thread had allocated. */
static void free_kept(void *arg)
{
	struct user *u = arg;
	u32 i;

	for (i = 0; i < NR_CACHES; i++) {
		KUNIT_EXPECT_EQ(u->caches->test,
				slabdev_free(u->caches->sd, u->kept[i]), 0);
		u->kept[i] = NULL;
	}
}

static void expect_all_shown(struct caches *s)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct program p;

	KUNIT_ASSERT_NOT_NULL(s->test, out);
	KUNIT_EXPECT_EQ(s->test, slabdev_report(s->sd, out), 0);
	fclose(out);
	KUNIT_EXPECT_NOT_NULL(s->test, strstr(text, "scale-999"));
	free(text);
	if (!IS_ENABLED(CONFIG_SLAB_SEGMENT))
		return;
	slabinfo_run(s->test, &p, getpid(), "-e", "scale-");
	KUNIT_EXPECT_EQ_MSG(s->test, p.status, 0, "%s", p.err);
	expect_text(s->test, p.out, "caches 1000");
	expect_text(s->test, p.out, "\nscale-0 ");
	expect_text(s->test, p.out, "\nscale-999 ");
}

static void destroy_caches(struct caches *s)
{
	u32 i;

	for (i = 0; i < NR_CACHES; i++)
		KUNIT_EXPECT_EQ_MSG(s->test, slabdev_cache_destroy(
			s->cache[i * 7919 % NR_CACHES]), 0, "%s",
			slabdev_last_error());
	KUNIT_EXPECT_EQ(s->test, stats_of(s->test, s->sd).caches, 0);
}

/* A second round of all of it needs nothing new. */
static void a_thousand_caches(struct kunit *test)
{
	struct caches *s = kunit_kzalloc(test, sizeof(*s));
	struct user *u = kunit_kzalloc(test, NR_USERS * sizeof(*u));
	struct crew *crew = crew_new(test, NR_USERS);
	struct size size[3];
	u32 round, i;

	*s = (struct caches){ .test = test, .sd = case_space(test, GIB) };
	for (i = 0; i < NR_USERS; i++)
		u[i] = (struct user){ .caches = s, .me = i };
	for (round = 0; round < 3; round++) {
		create_caches(s);
		crew_all(crew, use_caches, u, sizeof(*u));
		KUNIT_EXPECT_EQ(test, stats_of(test, s->sd).live_objects,
				NR_USERS * NR_CACHES);
		if (!round)
			expect_all_shown(s);
		expect_sound(test, s->sd);
		crew_all(crew, free_kept, u, sizeof(*u));
		destroy_caches(s);
		size[round] = size_of(test, s->sd);
	}
	crew_dismiss(crew);
	expect_no_growth(test, &size[0], &size[2],
			 size[0].mapped * 11 / 10 + 16 * MIB, 10);
	expect_no_more_tables(test, size[0].host, size[2].host);
	expect_empty(test, s->sd);
}

/* ---- Threads ---------------------------------------------------------- */

#define NR_WAVES 8u
#define NR_AT_ONCE 64u
#define NR_EACH 200u

struct surfer {
	struct kunit *test;
	struct slabdev *sd;
	u64 random;
	void *p[NR_EACH];
};

static void surf(void *arg)
{
	struct surfer *s = arg;
	u32 i;

	for (i = 0; i < NR_EACH; i++) {
		s->p[i] = slabdev_alloc(s->sd, random_size(&s->random,
							   8 * KIB));
		KUNIT_EXPECT_NOT_NULL(s->test, s->p[i]);
	}
}

static void land(void *arg)
{
	struct surfer *s = arg;
	u32 i;

	for (i = 0; i < NR_EACH; i++)
		EXPECT_FREED(s->test, s->sd, s->p[i]);
}

/* All have their objects at the same time. */
static void run_wave(struct kunit *test, struct slabdev *sd, u32 wave)
{
	struct surfer *s = kunit_kzalloc(test, NR_AT_ONCE * sizeof(*s));
	struct crew *crew = crew_new(test, NR_AT_ONCE);
	u32 i;

	for (i = 0; i < NR_AT_ONCE; i++)
		s[i] = (struct surfer){ .test = test, .sd = sd,
					.random = wave * NR_AT_ONCE + i };
	crew_all(crew, surf, s, sizeof(*s));
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live_objects,
			NR_AT_ONCE * NR_EACH);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).threads, NR_AT_ONCE);
	crew_all(crew, land, s, sizeof(*s));
	crew_dismiss(crew);
}

static void threads_come_and_go(struct kunit *test)
{
	struct slabdev *sd = case_space(test, GIB);
	struct slabdev_stats st;
	struct size early, late;
	u32 wave;

	for (wave = 0; wave < NR_WAVES; wave++) {
		run_wave(test, sd, wave);
		st = figures(test, sd);
		KUNIT_EXPECT_EQ(test, st.threads, 0);
		KUNIT_EXPECT_EQ(test, st.live_objects, 0);
		KUNIT_EXPECT_EQ(test, st.allocs,
				(wave + 1) * NR_AT_ONCE * NR_EACH);
		KUNIT_EXPECT_EQ(test, st.frees, st.allocs);
		late = size_of(test, sd);
		/* How many threads of one wave meet, the machine decides. */
		if (wave < NR_WAVES / 2 && (!wave ||
					    late.mapped > early.mapped))
			early = late;
	}
	expect_no_growth(test, &early, &late,
			 early.mapped * 11 / 10 + 16 * MIB, 10);
	expect_no_more_tables(test, early.host, late.host);
	expect_empty(test, sd);
}

/* ---- Time ------------------------------------------------------------- */

#define NR_WORKERS 4u
#define NR_KEPT 1000u
#define NR_STEPS 20000u
#define WARM_UP 5u	/* rounds: each object was replaced 50 times */

struct churn {
	struct kunit *test;
	struct slabdev *sd;
};

struct worker {
	struct churn *churn;
	u64 random;
	void *kept[NR_KEPT];
};

/* Most are small; what is large is the same share at all times. */
static u64 churn_size(u64 *random, u32 at)
{
	if (at < 4)
		return MIB + random_below(random, 4 * MIB);
	return random_size(random, 64 * KIB);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	u32 i, at;

	for (i = 0; i < NR_STEPS; i++) {
		at = random_below(&w->random, NR_KEPT);
		KUNIT_EXPECT_EQ(w->churn->test,
				slabdev_free(w->churn->sd, w->kept[at]), 0);
		w->kept[at] = slabdev_alloc(w->churn->sd,
					    churn_size(&w->random, at));
		KUNIT_EXPECT_NOT_NULL(w->churn->test, w->kept[at]);
	}
	return NULL;
}

/* A cache and a space that come and go. */
static void pass_by(struct churn *s)
{
	struct slabdev_cache *c;
	struct slabdev *other;
	void *p;

	KUNIT_ASSERT_EQ(s->test, slabdev_cache_create(&c, s->sd, "passing",
						      3000, NULL), 0);
	p = slabdev_cache_alloc(c);
	KUNIT_EXPECT_EQ(s->test, slabdev_cache_free(c, p), 0);
	KUNIT_EXPECT_EQ(s->test, slabdev_cache_destroy(c), 0);
	other = open_space(s->test, 64 * MIB);
	EXPECT_FREED(s->test, other, must_alloc(s->test, other, 5000));
	KUNIT_EXPECT_EQ(s->test, slabdev_close(other, 0), 0);
}

/* Threads of their own for each round. */
static void run_round(struct churn *s, struct worker *w)
{
	pthread_t thread[NR_WORKERS];
	u32 i;

	for (i = 0; i < NR_WORKERS; i++)
		KUNIT_ASSERT_EQ(s->test, pthread_create(&thread[i], NULL, work,
							&w[i]), 0);
	for (i = 0; i < NR_WORKERS; i++)
		pthread_join(thread[i], NULL);
	pass_by(s);
}

static void clear(struct churn *s, struct worker *w)
{
	u32 i, k;

	for (i = 0; i < NR_WORKERS; i++)
		for (k = 0; k < NR_KEPT; k++)
			EXPECT_FREED(s->test, s->sd, w[i].kept[k]);
}

static struct slabdev *churned_space(struct kunit *test, u32 mode)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = 2 * GIB;
	attr.policy.mode = mode;
	attr.policy.keep_bytes = 8 * MIB;
	return case_space_attr(test, &attr);
}

/*
 * Look after the warm-up and a tenth of the time, and again at the end. What
 * retain has mapped is the highest peak so far, which creeps up, ever more
 * slowly, as the threads meet in less usual ways: in most runs by a quarter, in
 * one of fifteen by a half. A leak grows with the time, to ten times.
 */
static void churn_for(struct kunit *test, u32 mode, u64 ms)
{
	struct churn s = { test, churned_space(test, mode) };
	struct worker *w = kunit_kzalloc(test, NR_WORKERS * sizeof(*w));
	u64 seed = random_seed(test), start = now_ns(), rounds = 0;
	struct size early = { 0 }, late;
	u32 i;

	for (i = 0; i < NR_WORKERS; i++)
		w[i] = (struct worker){ .churn = &s, .random = seed + i };
	do {
		run_round(&s, w);
		if (++rounds >= WARM_UP && !early.mapped &&
		    now_ns() - start >= ms * 100000)
			early = size_of(test, s.sd);
	} while (!early.mapped || now_ns() - start < ms * 1000000);
	late = size_of(test, s.sd);
	kunit_info(test, "%llu calls",
		   (unsigned long long)(2 * rounds * NR_STEPS * NR_WORKERS));
	expect_sound(test, s.sd);
	expect_no_growth(test, &early, &late,
			 early.mapped * 3 / 2 + 32 * MIB, 25);
	if (mode != SLABDEV_TRIM)
		expect_no_more_tables(test, early.host, late.host);
	clear(&s, w);
	expect_empty(test, s.sd);
}

static void replace_some(struct kunit *test, struct slabdev *sd, u64 *random,
			 void **kept, u32 steps)
{
	u32 i, at;

	for (i = 0; i < steps; i++) {
		at = random_below(random, 4 * NR_KEPT);
		EXPECT_FREED(test, sd, kept[at]);
		kept[at] = slabdev_alloc(sd, churn_size(random, at / 4));
		KUNIT_EXPECT_NOT_NULL(test, kept[at]);
	}
}

/*
 * What is given back leaves holes in the addresses. Growth has to use them: if
 * it always went on at the end, the tables would get longer for ever. The
 * random numbers are the same each time.
 */
static void tables_stay_under_trim(struct kunit *test)
{
	struct slabdev *sd = churned_space(test, SLABDEV_TRIM);
	void **kept = kunit_kzalloc(test, 4 * NR_KEPT * sizeof(*kept));
	u64 random = 7, early;
	u32 i;

	replace_some(test, sd, &random, kept, 400000);
	early = stats_of(test, sd).host_bytes;
	replace_some(test, sd, &random, kept, 3200000);
	kunit_info(test, "tables %llu KiB, then %llu KiB",
		   (unsigned long long)early / KIB,
		   (unsigned long long)stats_of(test, sd).host_bytes / KIB);
	expect_no_more_tables(test, early, stats_of(test, sd).host_bytes);
	for (i = 0; i < 4 * NR_KEPT; i++)
		EXPECT_FREED(test, sd, kept[i]);
	expect_empty(test, sd);
}

static const u32 modes[] = { SLABDEV_RETAIN, SLABDEV_TRIM,
			     SLABDEV_AGGRESSIVE };
KUNIT_ARRAY_PARAM(mode, modes, NULL);

static void churn(struct kunit *test)
{
	churn_for(test, *(const u32 *)test->param_value, 1000);
}

/* As many calls as a job makes in a day, if it makes a thousand a second. */
static void a_day_of_churn(struct kunit *test)
{
	churn_for(test, *(const u32 *)test->param_value, 40000);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(ten_million_objects, .slow = true),
	KUNIT_CASE_ISOLATED(a_million_mixed_objects, .slow = true),
	KUNIT_CASE_ISOLATED(a_thousand_caches, .slow = true),
	KUNIT_CASE_ISOLATED(threads_come_and_go),
	KUNIT_CASE_PARAM(churn, mode_gen_params, .isolated = true,
			 .slow = true),
	KUNIT_CASE_ISOLATED(tables_stay_under_trim, .slow = true),
	KUNIT_CASE_PARAM(a_day_of_churn, mode_gen_params, .isolated = true,
			 .is_long = true, .timeout_s = 300),
	{ 0 }
};

static const struct kunit_suite scale_suite = {
	.name = "scale",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(scale_suite);
