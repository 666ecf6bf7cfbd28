// SPDX-License-Identifier: BSD-2-Clause
/* buf_threads.c - threads that own a buffer together, and one free too many. */
#include <pthread.h>

#include "core/log.h"
#include "core/os.h"
#include "tests/buf_space.h"
#include "tests/crew.h"

#define NR_THREADS 4u
#define ROUNDS 2000u

struct sharing {
	struct kunit *test;
	struct slabdev_buf *buf;
};

static void share(void *arg)
{
	struct sharing *s = arg;
	struct slabdev_buf *view;
	u32 i;

	for (i = 0; i < ROUNDS; i++) {
		KUNIT_ASSERT_NOT_NULL(s->test, slabdev_buf_get(s->buf));
		view = must_view(s->test, s->buf, i % 1000, 1);
		KUNIT_EXPECT_GE(s->test, slabdev_buf_refs(s->buf), 1);
		KUNIT_EXPECT_GE(s->test, slabdev_buf_put(s->buf), 1);
		KUNIT_EXPECT_EQ(s->test, slabdev_buf_put(view), 0);
	}
	KUNIT_EXPECT_GE(s->test, slabdev_buf_put(s->buf), 0);
}

void many_threads_own_it(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct crew *crew = crew_new(test, NR_THREADS);
	struct sharing s[NR_THREADS];
	u32 i;

	s[0] = (struct sharing){ test, must_make(test, sd, 1000) };
	for (i = 1; i < NR_THREADS; i++) {
		s[i] = s[0];
		KUNIT_EXPECT_NOT_NULL(test, slabdev_buf_get(s[0].buf));
	}
	crew_all(crew, share, s, sizeof(s[0]));
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(s[0].buf), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live_objects, 0);
	crew_dismiss(crew);
}

struct twice {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_buf *buf;
	void *p;
	u32 arrived;		/* atomic */
	u32 won, lost, refused;	/* atomic */
};

static void count_result(struct twice *t, int err)
{
	if (!err)
		__atomic_fetch_add(&t->won, 1, __ATOMIC_RELAXED);
	else if (err == -EALREADY)
		__atomic_fetch_add(&t->lost, 1, __ATOMIC_RELAXED);
	else
		KUNIT_FAIL(t->test, "%d", err);
}

static void meet(struct twice *t)
{
	__atomic_fetch_add(&t->arrived, 1, __ATOMIC_ACQ_REL);
	while (load_acquire(&t->arrived) % 2)
		os_yield();
}

static void *put_once_too_often(void *arg)
{
	struct twice *t = arg;

	meet(t);
	count_result(t, slabdev_buf_put(t->buf));
	return NULL;
}

static void swallow(int level, int kind, const char *text, void *arg)
{
	(void)level;
	(void)kind;
	(void)text;
	(void)arg;
}

/* Two puts of one owner at once: one frees. */
void of_two_puts_one_frees(struct kunit *test)
{
	struct twice t = { .test = test, .sd = test->priv };
	pthread_t other;
	u32 i;

	log_set_sink(swallow, NULL);
	for (i = 0; i < 200; i++) {
		t.buf = must_make(test, t.sd, 300);
		t.arrived = 0;
		KUNIT_ASSERT_EQ(test, pthread_create(&other, NULL,
						     put_once_too_often, &t),
				0);
		put_once_too_often(&t);
		pthread_join(other, NULL);
	}
	KUNIT_EXPECT_EQ(test, t.won, 200);
	KUNIT_EXPECT_EQ(test, t.lost, 200);
	log_set_sink(NULL, NULL);
}

static void *free_by_address(void *arg)
{
	struct twice *t = arg;
	int err;

	meet(t);
	err = slabdev_free(t->sd, t->p);
	if (err != -EINVAL && err != -EALREADY)
		KUNIT_FAIL(t->test, "%d", err);
	return NULL;
}

/* A wrong free takes the tag, and puts it back: the last put waits for that. */
void wrong_free_beside_the_last_put(struct kunit *test)
{
	struct twice t = { .test = test, .sd = test->priv };
	pthread_t other;
	u32 i;

	log_set_sink(swallow, NULL);
	for (i = 0; i < 500; i++) {
		t.buf = must_make(test, t.sd, 300);
		t.p = slabdev_buf_ptr(t.buf);
		t.arrived = 0;
		KUNIT_ASSERT_EQ(test, pthread_create(&other, NULL,
						     free_by_address, &t), 0);
		meet(&t);
		KUNIT_EXPECT_EQ(test, slabdev_buf_put(t.buf), 0);
		pthread_join(other, NULL);
		KUNIT_EXPECT_EQ(test, stats_of(test, t.sd).live_objects, 0);
	}
	log_set_sink(NULL, NULL);
}
