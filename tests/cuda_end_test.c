// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_end_test.c - the end of a device's memory while a space is open: the
 * device is reset, the driver shuts down, the process is forked.
 *
 * Each says what happened from then on, and can be closed; host spaces, other
 * processes, and new spaces go on.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/cuda_space.h"
#include "tests/kunit/spawn.h"

static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

/* What the model holds on to is not the space's fault. */
static void forgive_leaks(struct kunit *test)
{
	bench_of(test)->leaks = cu.model_leaks(NULL);
}

static void expect_host_works(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	char *p = must_alloc(test, sd, 5000);

	memset(p, 1, 5000);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

/* A new space works as if nothing had been. */
static void expect_new_space_works(struct kunit *test,
				   const struct cuda_kind_param *kind)
{
	struct slabdev *sd = cuda_open_kind(test, kind, 64 * MIB, NULL);
	void *p = slabdev_zalloc(sd, 3 * MIB);

	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(test, cuda_byte(test, p), 0);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	cuda_close(test, sd);
}

/* Each call says the same from now on, in the same words. */
static void expect_dead(struct kunit *test, struct slabdev *sd, void *live,
			int err, const char *text)
{
	struct slabdev_cache *cache;
	struct slabdev_stats st;

	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(sd, 100), -err);
	EXPECT_LAST_ERROR_HAS(test, text);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(sd, 20 * MIB), -err);
	KUNIT_EXPECT_ERRNO(test, slabdev_zalloc(sd, 100), -err);
	KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, live, 9 * MIB), -err);
	EXPECT_LAST_ERROR_HAS(test, text);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, live), err);
	EXPECT_LAST_ERROR_HAS(test, text);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), err);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), err);
	KUNIT_EXPECT_EQ(test, slabdev_prime(sd, 4 * MIB), err);
	KUNIT_EXPECT_EQ(test, slabdev_cache_create(&cache, sd, "new", 100,
						   NULL), err);
	KUNIT_EXPECT_EQ(test, slabdev_stats(sd, &st, sizeof(st)), err);
	EXPECT_LAST_ERROR_HAS(test, text);
}

/* ---- A reset ---------------------------------------------------------- */

static void reset_device_is_said(struct kunit *test)
{
	const struct cuda_kind_param *kind = test->param_value;
	struct slabdev *sd = cuda_open_kind(test, kind, 256 * MIB, NULL);
	void *live = must_alloc(test, sd, 5 * MIB);

	EXPECT_FREED(test, sd, must_alloc(test, sd, 9 * MIB));
	MUST(test, cuDevicePrimaryCtxReset(0));
	kunit_expect_report(test, REPORT_DEAD);
	/* Noticed by the first call that needs the driver. */
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(sd, 120 * MIB), EOWNERDEAD);
	EXPECT_LAST_ERROR_HAS(test, "reset");
	expect_dead(test, sd, live, -EOWNERDEAD, "reset");
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE), 0);
	expect_host_works(test);
	expect_new_space_works(test, kind);
	forgive_leaks(test);
}

/* Another context is there, under the same name: that of the reset is not. */
static void new_context_is_not_the_old_one(struct kunit *test)
{
	const struct cuda_kind_param *kind = test->param_value;
	struct slabdev *sd = cuda_open_kind(test, kind, 256 * MIB, NULL);
	void *live = must_alloc(test, sd, 5 * MIB);
	CUcontext ctx;

	MUST(test, cuDevicePrimaryCtxReset(0));
	MUST(test, cuDevicePrimaryCtxRetain(&ctx, 0));
	kunit_expect_report(test, REPORT_DEAD);
	KUNIT_EXPECT_EQ(test, slabdev_prime(sd, 120 * MIB), -EOWNERDEAD);
	expect_dead(test, sd, live, -EOWNERDEAD, "reset");
	expect_new_space_works(test, kind);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE), 0);
	MUST(test, cuDevicePrimaryCtxRelease(0));
	forgive_leaks(test);
}

/* The close itself is the first to notice. */
static void close_after_a_reset(struct kunit *test)
{
	const struct cuda_kind_param *kind = test->param_value;
	struct slabdev *sd = cuda_open_kind(test, kind, 256 * MIB, NULL);

	EXPECT_FREED(test, sd, must_alloc(test, sd, 70 * MIB));
	MUST(test, cuDevicePrimaryCtxReset(0));
	KUNIT_EXPECT_EQ_MSG(test, slabdev_close(sd, 0), 0, "%s",
			    slabdev_last_error());
	expect_new_space_works(test, kind);
	forgive_leaks(test);
}

/* A driver that does not number its contexts, as before 12.0. */
static void reset_with_an_old_driver(struct kunit *test)
{
	struct slabdev *sd;
	void *live;

	cuda_model_age(test, "11.0");
	bench_open(test);
	sd = cuda_open(test, "cuda:0", NULL);
	live = must_alloc(test, sd, 5 * MIB);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 9 * MIB));
	MUST(test, cuDevicePrimaryCtxReset(0));
	kunit_expect_report(test, REPORT_DEAD);
	KUNIT_EXPECT_ERRNO(test, slabdev_zalloc(sd, 120 * MIB), EOWNERDEAD);
	expect_dead(test, sd, live, -EOWNERDEAD, "reset");
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE), 0);
	forgive_leaks(test);
	bench_close(test);
}

/* ---- The driver's end ------------------------------------------------- */

/* As in an exit handler that runs late: what gives back finds nobody there,
 * and that is all right. */
static void driver_shuts_down_first(struct kunit *test)
{
	const struct cuda_kind_param *kind = test->param_value;
	struct slabdev *sd = cuda_open_kind(test, kind, 256 * MIB, NULL);
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	void *p[3];

	p[0] = must_alloc(test, sd, 100);
	p[1] = must_alloc(test, sd, 5 * MIB);
	p[2] = must_alloc(test, sd, 70 * MIB);
	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(sd, &policy), 0);
	cu.model_teardown(1);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		EXPECT_FREED(test, sd, p[i]);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_close(sd, 0), 0, "%s",
			    slabdev_last_error());
	expect_host_works(test);
	cu.model_teardown(0);
	forgive_leaks(test);
}

static void nothing_opens_after_the_shutdown(struct kunit *test)
{
	struct slabdev *sd = NULL;
	int err;

	cu.model_teardown(1);
	err = slabdev_open(&sd, "cuda:0", NULL);
	KUNIT_EXPECT_TRUE_MSG(test, err == -ENODEV || err == -EIO, "%d", err);
	EXPECT_LAST_ERROR_HAS(test, "CUDA_ERROR_DEINITIALIZED");
	KUNIT_EXPECT_NULL(test, sd);
	cu.model_teardown(0);
	cuda_close(test, cuda_open(test, "cuda:0", NULL));
}

/* ---- A fork ----------------------------------------------------------- */

static struct slabdev *parents, *parents_host;
static void *parents_object;
static u64 parents_calls;

static void use_in_child(struct kunit *test)
{
	struct slabdev_device_info info;
	struct slabdev *sd = NULL;

	expect_dead(test, parents, parents_object, -EOWNERDEAD, "fork");
	KUNIT_EXPECT_EQ(test, slabdev_close(parents, 0), 0);
	KUNIT_EXPECT_EQ(test, slabdev_open(&sd, "cuda:0", NULL), -EOWNERDEAD);
	EXPECT_LAST_ERROR_HAS(test, "fork");
	KUNIT_EXPECT_NULL(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_device_count(), 2);
	KUNIT_EXPECT_EQ(test, slabdev_device_get(1, &info, sizeof(info)), 0);
	KUNIT_EXPECT_EQ(test, info.usable, 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(info.reason, "fork"), "%s",
				  info.reason);
	EXPECT_FREED(test, parents_host, must_alloc(test, parents_host, 5000));
	close_space(test, parents_host);
	expect_host_works(test);
	EXPECT_NO_VIOLATION(test);
}

static void child_has_no_device(struct kunit *test)
{
	const struct cuda_kind_param *kind = test->param_value;

	parents = cuda_open_kind(test, kind, 64 * MIB, NULL);
	parents_host = open_space(test, 64 * MIB);
	parents_object = must_alloc(test, parents, 3 * MIB);
	KUNIT_EXPECT_EQ(test, in_fork(test, use_in_child), 0);
	/* The parent goes on. */
	EXPECT_FREED(test, parents, must_alloc(test, parents, 9 * MIB));
	EXPECT_FREED(test, parents, parents_object);
	KUNIT_EXPECT_EQ(test, slabdev_trim(parents, 0), 0);
	cuda_close(test, parents);
	close_space(test, parents_host);
}

static void open_in_child(struct kunit *test)
{
	struct slabdev *sd = NULL;

	KUNIT_EXPECT_EQ(test, slabdev_open(&sd, "cuda:0", NULL), -EOWNERDEAD);
	EXPECT_LAST_ERROR_HAS(test, "fork");
	expect_host_works(test);
	KUNIT_EXPECT_EQ(test, cu.model_violations(), 0);
}

/* To look is to use the driver, too. */
static void discovery_is_a_use(struct kunit *test)
{
	cuda_model(test, NULL);
	KUNIT_EXPECT_EQ(test, slabdev_device_count(), 2);
	KUNIT_EXPECT_EQ(test, in_fork(test, open_in_child), 0);
	cuda_close(test, cuda_open(test, "cuda:0", NULL));
}

static void open_first_in_child(struct kunit *test)
{
	struct slabdev *sd;

	cuda_model(test, NULL);
	sd = cuda_open(test, "cuda:0", NULL);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 9 * MIB));
	cuda_close(test, sd);
	EXPECT_NO_VIOLATION(test);
	KUNIT_EXPECT_EQ(test, cu.model_leaks(NULL), 0);
	parents_calls = cu.model_calls("*");
	/* Not through the exit handlers of the runner. */
	_exit(parents_calls ? 0 : 1);
}

/* A parent with host spaces only has not used it: each child may. */
static void children_of_a_host_program(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 64 * MIB);

	setenv("SLABDEV_LIBCUDA",
	       kunit_built_path(test, "tests/model/libcuda.so.1"), 1);
	KUNIT_EXPECT_EQ(test, in_fork(test, open_first_in_child), 0);
	KUNIT_EXPECT_EQ(test, in_fork(test, open_first_in_child), 0);
	close_space(test, sd);
}

static const struct kunit_case end_cases[] = {
	KUNIT_CASE_PARAM(reset_device_is_said, kind_gen_params,
			 .isolated = true),
	KUNIT_CASE_PARAM(new_context_is_not_the_old_one, kind_gen_params,
			 .isolated = true),
	KUNIT_CASE_PARAM(close_after_a_reset, kind_gen_params,
			 .isolated = true),
	KUNIT_CASE_PARAM(driver_shuts_down_first, kind_gen_params,
			 .isolated = true),
	KUNIT_CASE_ISOLATED(nothing_opens_after_the_shutdown),
	KUNIT_CASE_PARAM(child_has_no_device, kind_gen_params,
			 .isolated = true),
	{ 0 }
};

static const struct kunit_suite cuda_end_suite = {
	.name = "cuda_end",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = end_cases,
};

/* These choose when, and which driver, is used first. */
static const struct kunit_case first_cases[] = {
	KUNIT_CASE_ISOLATED(reset_with_an_old_driver),
	KUNIT_CASE_ISOLATED(discovery_is_a_use),
	KUNIT_CASE_ISOLATED(children_of_a_host_program),
	{ 0 }
};

static const struct kunit_suite cuda_first_suite = {
	.name = "cuda_first",
	.cases = first_cases,
};
kunit_test_suites(&cuda_end_suite, &cuda_first_suite);
