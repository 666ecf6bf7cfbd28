// SPDX-License-Identifier: BSD-2-Clause
/*
 * buf_random_test.c - random owners, against a count of them.
 *
 * Families of one buffer and its views, each with the reference that there is
 * no arguing about: how many owners each token has, and where its bytes are.
 * Several threads take a family, do something at random with one of its members
 * and compare. Members that nobody owns any more stay there, to be refused; a
 * family is over when all are, and its memory must then be free.
 */
#include <pthread.h>
#include <stdlib.h>

#include "core/log.h"
#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/random.h"

#define NR_THREADS 4u
#define NR_FAMILIES 24u
#define NR_MEMBERS 12u
#define STEPS 4000u
#define LONG_STEPS 200000u
#define SIZE_MOST (256u * 1024)

struct member {
	struct slabdev_buf *token;
	u64 id;
	u32 owners;		/* 0: stale */
	u64 offset, size;
};

struct family {
	pthread_mutex_t lock;
	struct member member[NR_MEMBERS];	/* the first is the buffer */
	u32 nr;			/* 0: there is none */
	char *base;
};

struct worker {
	struct kunit *test;
	struct slabdev *sd;
	struct family *families;
	slabdev_stream_t queue;
	u64 state;
	u32 steps;
};

static struct worker *reporting;	/* for the sink */
static u64 reports;	/* atomic */

static void count_report(int level, int kind, const char *text, void *arg)
{
	(void)level;
	(void)arg;
	if (kind == REPORT_DOUBLE_FREE)
		__atomic_fetch_add(&reports, 1, __ATOMIC_RELAXED);
	else if (kind >= 0)
		KUNIT_FAIL(reporting->test, "%s", text);
}

static void compare(struct worker *w, const struct family *f,
		    const struct member *m)
{
	struct kunit *test = w->test;

	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(m->token), m->owners);
	KUNIT_EXPECT_EQ(test, slabdev_buf_id(m->token), m->owners ? m->id : 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_size(m->token),
			m->owners ? m->size : 0);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_buf_ptr(m->token),
			    m->owners ? (void *)(f->base + m->offset) : NULL);
}

static void found_family(struct worker *w, struct family *f)
{
	struct member *m = &f->member[0];
	u64 size = random_size(&w->state, SIZE_MOST);

	*m = (struct member){ .owners = 1, .size = size };
	KUNIT_ASSERT_EQ_MSG(w->test, slabdev_buf_alloc(&m->token, w->sd, size,
						       NULL), 0, "%s",
			    slabdev_last_error());
	m->id = slabdev_buf_id(m->token);
	f->base = slabdev_buf_ptr(m->token);
	f->nr = 1;
}

static bool is_over(const struct family *f)
{
	u32 i;

	for (i = 0; i < f->nr; i++)
		if (f->member[i].owners)
			return false;
	return true;
}

static void get(struct worker *w, struct member *m)
{
	struct slabdev_buf *got = slabdev_buf_get(m->token);

	KUNIT_EXPECT_PTR_EQ(w->test, got, m->owners ? m->token : NULL);
	if (got)
		m->owners++;
}

static void put(struct worker *w, struct family *f, struct member *m)
{
	bool queued = w->queue && random_below(&w->state, 2);
	u64 before = __atomic_load_n(&reports, __ATOMIC_RELAXED);
	int left = queued ? slabdev_buf_put_async(m->token, w->queue) :
			    slabdev_buf_put(m->token);

	if (!m->owners) {
		KUNIT_EXPECT_EQ(w->test, left, -EALREADY);
		KUNIT_EXPECT_GT(w->test, __atomic_load_n(&reports,
							 __ATOMIC_RELAXED),
				before);
		return;
	}
	KUNIT_EXPECT_EQ(w->test, left, (int)--m->owners);
	if (is_over(f))
		f->nr = 0;
}

static void view(struct worker *w, struct family *f, struct member *m)
{
	struct member *v = &f->member[f->nr];
	u64 offset = random_below(&w->state, (u32)m->size + 2);
	u64 size = random_below(&w->state, (u32)m->size + 2);
	bool fits = size && offset + size <= m->size;
	int err;

	if (f->nr == NR_MEMBERS)
		return;
	err = slabdev_buf_view(&v->token, m->token, offset, size);
	KUNIT_EXPECT_EQ(w->test, err, !m->owners ? -EALREADY :
			fits ? 0 : -EINVAL);
	if (err)
		return;
	v->id = slabdev_buf_id(v->token);
	v->owners = 1;
	v->offset = m->offset + offset;
	v->size = size;
	f->nr++;
	compare(w, f, v);
}

static void step(struct worker *w, struct family *f)
{
	struct member *m;

	if (!f->nr) {
		found_family(w, f);
		return;
	}
	m = &f->member[random_below(&w->state, f->nr)];
	compare(w, f, m);
	switch (random_below(&w->state, 8)) {
	case 0:
	case 1:
		get(w, m);
		break;
	case 2:
	case 3:
		view(w, f, m);
		break;
	default:
		put(w, f, m);
		break;
	}
	if (f->nr)
		compare(w, f, m);
}

static void work(void *arg)
{
	struct worker *w = arg;
	struct family *f;
	u32 i;

	for (i = 0; i < w->steps; i++) {
		f = &w->families[random_below(&w->state, NR_FAMILIES)];
		pthread_mutex_lock(&f->lock);
		step(w, f);
		pthread_mutex_unlock(&f->lock);
	}
}

static u32 count_families(const struct family *f)
{
	u32 i, n = 0;

	for (i = 0; i < NR_FAMILIES; i++)
		n += f[i].nr != 0;
	return n;
}

/* All that is owned yet is put. */
static void end_families(struct worker *w)
{
	struct family *f = w->families;
	u32 i, j;

	for (i = 0; i < NR_FAMILIES; i++)
		for (j = 0; f[i].nr && j < f[i].nr; j++)
			while (f[i].nr && f[i].member[j].owners)
				put(w, &f[i], &f[i].member[j]);
}

static void begin(struct kunit *test, struct worker *w, u32 steps)
{
	struct family *f = kunit_kzalloc(test, NR_FAMILIES * sizeof(*f));
	u64 seed = random_seed(test);
	u32 i;

	for (i = 0; i < NR_FAMILIES; i++)
		pthread_mutex_init(&f[i].lock, NULL);
	for (i = 0; i < NR_THREADS; i++) {
		w[i] = (struct worker){ test, test->priv, f, NULL, seed + i,
					steps };
		if (on_host())
			KUNIT_ASSERT_EQ(test,
					slabdev_queue_create(&w[i].queue, 0),
					0);
		/* Half of them attached. */
		if (on_host() && i % 2)
			KUNIT_ASSERT_EQ(test,
					slabdev_stream_attach(test->priv,
							      w[i].queue), 0);
	}
}

static void end(struct kunit *test, struct worker *w)
{
	u32 i;

	for (i = 0; i < NR_THREADS && w[i].queue; i++) {
		if (i % 2)
			KUNIT_EXPECT_EQ(test,
					slabdev_stream_detach(test->priv,
							      w[i].queue), 0);
		KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(w[i].queue), 0);
	}
	for (i = 0; i < NR_FAMILIES; i++)
		pthread_mutex_destroy(&w->families[i].lock);
}

static void random_owners(struct kunit *test, u32 steps)
{
	struct crew *crew = crew_new(test, NR_THREADS);
	struct worker w[NR_THREADS];
	struct slabdev *sd = test->priv;
	u32 round;

	begin(test, w, steps / 4);
	reporting = w;
	log_set_sink(count_report, NULL);
	for (round = 0; round < 4; round++) {
		crew_all(crew, work, w, sizeof(w[0]));
		KUNIT_EXPECT_EQ(test, stats_of(test, sd).buffers,
				count_families(w->families));
		KUNIT_EXPECT_EQ(test, stats_of(test, sd).live_objects,
				count_families(w->families));
		expect_sound(test, sd);
	}
	end_families(w);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).buffers, 0);
	end(test, w);
	crew_dismiss(crew);
	expect_empty(test, sd);
	log_set_sink(NULL, NULL);
}

static void owners_are_as_counted(struct kunit *test)
{
	random_owners(test, STEPS);
}

static void owners_are_as_counted_for_long(struct kunit *test)
{
	random_owners(test, LONG_STEPS);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(owners_are_as_counted),
	KUNIT_CASE_LONG(owners_are_as_counted_for_long, .isolated = true,
			.timeout_s = 600),
	{ 0 }
};

static const struct kunit_suite buf_random_suite = {
	.name = "buf_random",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(buf_random_suite);
