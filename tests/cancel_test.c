// SPDX-License-Identifier: BSD-2-Clause
/*
 * cancel_test.c - a thread that is to be cancelled first finishes its calls.
 *
 * The request is pending when the thread begins: any cancellation point on the
 * way, in the library or in a function of the user that it calls, would end the
 * thread there, with whatever it holds. It must get to the end of its work, and
 * end at the cancellation point behind it.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/open_space.h"
#include "tests/sanitizers.h"

/* They do not clean up after a thread whose stack was unwound. */
static int cancel_test_init(struct kunit *test)
{
	if (IS_SANITIZED)
		kunit_skip(test, "sanitizers take no cancelled threads");
	return 0;
}

struct doomed {
	struct kunit *test;
	FILE *out;
	bool got_through;
};

/* The user's functions, each with a cancellation point inside. */

static int slow_ctor(void *base, size_t stride, size_t n,
		     slabdev_stream_t stream, void *arg)
{
	(void)base, (void)stride, (void)n, (void)stream, (void)arg;
	usleep(1);
	return 0;
}

static uint64_t slow_shrinker(struct slabdev *sd, uint64_t bytes, void *arg)
{
	(void)sd, (void)bytes, (void)arg;
	usleep(1);
	return 0;
}

static void use_cache(struct kunit *test, struct slabdev *sd)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *cache = NULL;
	void *p;

	args.ctor = slow_ctor;
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, sd, "slow", 1000,
						   &args), 0);
	p = slabdev_cache_alloc(cache);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(cache, 1000), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

/* Every slow path that waits for something. */
static void use_space(struct kunit *test, FILE *out)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	void *p, *large;

	KUNIT_ASSERT_EQ(test, slabdev_register_shrinker(sd, slow_shrinker,
							NULL), 0);
	use_cache(test, sd);
	p = slabdev_alloc(sd, 100);
	large = slabdev_alloc(sd, 3 * MIB);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_NULL(test, slabdev_alloc(sd, 70 * MIB));
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, (char *)p + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_report(sd, out), 0);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
	EXPECT_FREED(test, sd, p);
	EXPECT_FREED(test, sd, large);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	close_space(test, sd);
}

static void *doomed_thread(void *arg)
{
	struct doomed *d = arg;
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
	pthread_cancel(pthread_self());
	use_space(d->test, d->out);
	d->got_through = true;
	pthread_testcancel();
	return NULL;
}

static void finishes_its_calls(struct kunit *test)
{
	struct doomed d = { .test = test, .out = fopen("/dev/null", "we") };
	void *result = NULL;
	pthread_t t;

	KUNIT_ASSERT_NOT_NULL(test, d.out);
	KUNIT_ASSERT_EQ(test, pthread_create(&t, NULL, doomed_thread, &d), 0);
	KUNIT_ASSERT_EQ(test, pthread_join(t, &result), 0);
	KUNIT_EXPECT_TRUE(test, d.got_through);
	KUNIT_EXPECT_TRUE(test, result == PTHREAD_CANCELED);
	fclose(d.out);
}

/* A worker that is cancelled where it waits by itself. */

static void *worker(void *arg)
{
	struct slabdev *sd = arg;
	void *p = slabdev_alloc(sd, 200);

	if (slabdev_free(sd, p))
		return NULL;
	for (;;)
		pause();
}

/* At whatever moment it comes, nothing is held, and nothing lost. */
static void cancelled_anywhere(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	void *p, *result;
	pthread_t t;

	for (u32 i = 0; i < 500; i++) {
		KUNIT_ASSERT_EQ(test, pthread_create(&t, NULL, worker, sd), 0);
		if (i % 2)
			usleep(i);
		KUNIT_ASSERT_EQ(test, pthread_cancel(t), 0);
		KUNIT_ASSERT_EQ(test, pthread_join(t, &result), 0);
		KUNIT_ASSERT_TRUE(test, result == PTHREAD_CANCELED);
		p = must_alloc(test, sd, 200);
		EXPECT_FREED(test, sd, p);
	}
	KUNIT_EXPECT_EQ(test, figures(test, sd).live_objects, 0);
	expect_sound(test, sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(finishes_its_calls),
	KUNIT_CASE_ISOLATED(cancelled_anywhere),
	{ 0 }
};

static const struct kunit_suite cancel_suite = {
	.name = "cancel",
	.init = cancel_test_init,
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(cancel_suite);
