// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_fail_test.c - any call of the driver may fail, once or for ever.
 *
 * The tour of cuda_tour.h is taken again and again, and each time another call
 * of the driver fails, counted over all its functions, with a code of choice.
 * Whatever fails, after each call all books agree, and what the space says that
 * it holds is what the model has given out. When the failure is over everything
 * works, and all goes back: what was lost was counted, and is found again.
 *
 * A failure for ever spoils the process, so that each has one of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/cuda_tour.h"
#include "tests/sanitizers.h"

#define LIMIT (192 * MIB)

/* ---- One failure ------------------------------------------------------ */

struct failure {
	const struct cuda_kind_param *kind;
	CUresult code;
};

#define EACH_KIND(code)							\
	{ &cuda_kinds[0], code }, { &cuda_kinds[1], code },		\
	{ &cuda_kinds[2], code }, { &cuda_kinds[3], code },		\
	{ &cuda_kinds[4], code }

static const struct failure failures[] = {
	EACH_KIND(CUDA_ERROR_OUT_OF_MEMORY),
	EACH_KIND(CUDA_ERROR_INVALID_VALUE),
	EACH_KIND(CUDA_ERROR_UNKNOWN),
	EACH_KIND(CUDA_ERROR_NOT_SUPPORTED),
	EACH_KIND(CUDA_ERROR_OPERATING_SYSTEM),
};

static const char *name_of(CUresult code)
{
	const char *name = "?";

	cu.cuGetErrorName(code, &name);
	return name;
}

static void describe_failure(const struct failure *f, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, %d", f->kind->name,
		 (int)f->code);
}
KUNIT_ARRAY_PARAM(failure, failures, describe_failure);

struct run {
	struct kunit *test;
	const struct failure *failure;
	struct cuda_tour tour;
	struct slabdev *sd;
	u64 bytes;		/* of the model, before */
	u32 reports[REPORT_NR_KINDS];
	bool is_armed;
};

/* Lost memory, a lack of it, and the end are to be reported, nothing else. */
static void count_report(int level, int kind, const char *text, void *arg)
{
	struct run *run = arg;

	(void)level;
	if (kind < 0)
		return;
	run->reports[kind]++;
	if (kind != REPORT_LOST && kind != REPORT_OUT_OF_MEMORY &&
	    kind != REPORT_DEAD)
		KUNIT_FAIL(run->test, "%s", text);
}

static u64 model_bytes(void)
{
	struct model_leaks leaks;

	cu.model_leaks(&leaks);
	return leaks.bytes;
}

/* The driver's function and its answer are in the words of an -EIO. */
static void expect_words(struct run *run, const char *call)
{
	const char *text = slabdev_last_error();
	const char *name = name_of(run->failure->code);

	/* To ask for a feature and get an error is not to have it. */
	if (strstr(call, "slabdev_open") && strstr(text, "has no"))
		return;
	if (!strstr(text, name) || !strstr(text, "cu"))
		KUNIT_FAIL(run->test, "%s: no %s in: %s", call, name, text);
}

static void expect_books_agree(struct cuda_tour *tour, const char *call,
			       int err)
{
	struct run *run = tour->arg;
	struct slabdev_stats st;

	if (!run->sd || !strncmp(call, "slabdev_close", 13))
		return;
	if (run->is_armed && err == -EIO)
		expect_words(run, call);
	st = expect_sound(run->test, run->sd);
	if (tour->kind == CUDA_KIND_VMM)
		KUNIT_EXPECT_EQ_MSG(run->test, model_bytes() - run->bytes,
				    st.mapped, "%s", call);
}

/* A call that failed may have been the one that sets the caller's state back:
 * nobody can do that then. */
static void set_back(struct run *run)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
	CUcontext ctx;

	cu.model_fail("*", 0, 0, 0);
	run->is_armed = false;
	while (!cu.cuCtxGetCurrent(&ctx) && ctx)
		MUST(run->test, cuCtxPopCurrent(&ctx));
	MUST(run->test, cuCtxPushCurrent(bench_of(run->test)->ctx));
	MUST(run->test, cuThreadExchangeStreamCaptureMode(&mode));
}

static int try_open(struct run *run)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = LIMIT;
	attr.backing = run->failure->kind->backing;
	attr.name = "test";
	run->sd = NULL;
	return slabdev_open(&run->sd, run->failure->kind->spec, &attr);
}

static void expect_all_given_back(struct run *run)
{
	struct bench *b = bench_of(run->test);

	KUNIT_EXPECT_EQ(run->test, cu.model_leaks(NULL), b->leaks);
	KUNIT_EXPECT_EQ(run->test, model_bytes(), run->bytes);
	EXPECT_NO_VIOLATION(run->test);
}

/* Nothing fails any more: everything works, and all goes back. */
static void recover(struct run *run)
{
	struct kunit *test = run->test;

	KUNIT_EXPECT_EQ_MSG(test, slabdev_trim(run->sd, 0), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_EQ(test, stats_of(test, run->sd).lost, 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, run->sd).mapped, 0);
	run->tour.failures = 0;
	cuda_tour_work(&run->tour, run->sd);
	KUNIT_EXPECT_EQ(test, run->tour.failures, 1);
	close_space(test, run->sd);
	run->sd = NULL;
	expect_all_given_back(run);
}

/* False when there are fewer than @n calls. */
static bool tour_with_failure(struct run *run, u64 n)
{
	u64 before = cu.model_calls("*");
	bool reached;

	run->is_armed = true;
	cu.model_fail("*", n, (int)run->failure->code, 0);
	if (try_open(run)) {
		expect_words(run, "slabdev_open");
		KUNIT_EXPECT_NULL(run->test, run->sd);
		set_back(run);
		expect_all_given_back(run);
		return true;
	}
	cuda_tour_work(&run->tour, run->sd);
	reached = cu.model_calls("*") - before >= n;
	set_back(run);
	recover(run);
	return reached;
}

static void run_begin(struct run *run, struct kunit *test,
		      const struct failure *failure)
{
	*run = (struct run){
		.test = test,
		.failure = failure,
		.tour = {
			.test = test,
			.kind = failure->kind,
			.look = expect_books_agree,
			.arg = run,
		},
		.bytes = model_bytes(),
	};
	log_set_sink(count_report, run);
}

static void sweep(struct kunit *test, u64 first, u64 step)
{
	struct run run;
	u64 n = first;

	run_begin(&run, test, test->param_value);
	while (tour_with_failure(&run, n))
		n += step;
	kunit_info(test, "%llu calls, %u times memory was lost",
		   (unsigned long long)(n - step), run.reports[REPORT_LOST]);
	KUNIT_EXPECT_GT(test, n, 100);
}

/* Of so many calls one, and of more where they take longer. */
#define SAMPLE (IS_SANITIZED ? 137u : 23u)
#define STICKY_SAMPLE (IS_SANITIZED ? 139u : 29u)

static void calls_may_fail(struct kunit *test)
{
	sweep(test, 1 + test->param_index % SAMPLE, SAMPLE);
}

static void each_call_may_fail(struct kunit *test)
{
	sweep(test, 1, 1);
}

/* ---- The close -------------------------------------------------------- */

/* What it could not give back is gone with the space, and it says so. */
static bool close_with_failure(struct run *run, u64 n)
{
	struct bench *b = bench_of(run->test);
	u64 before;
	bool reached;
	int err;

	KUNIT_ASSERT_EQ(run->test, try_open(run), 0);
	must_alloc(run->test, run->sd, 70 * MIB);
	must_alloc(run->test, run->sd, 100);
	EXPECT_FREED(run->test, run->sd, must_alloc(run->test, run->sd,
						    5 * MIB));
	before = cu.model_calls("*");
	cu.model_fail("*", n, (int)run->failure->code, 0);
	err = slabdev_close(run->sd, SLABDEV_CLOSE_FORCE);
	reached = cu.model_calls("*") - before >= n;
	set_back(run);
	KUNIT_EXPECT_TRUE_MSG(run->test, !err || err == -EIO, "%d", err);
	if (cu.model_leaks(NULL) > b->leaks)
		kunit_info(run->test, "call %llu: %d, %llu left",
			   (unsigned long long)n, err, (unsigned long long)
			   (cu.model_leaks(NULL) - b->leaks));
	EXPECT_NO_VIOLATION(run->test);
	b->leaks = cu.model_leaks(NULL);
	run->bytes = model_bytes();
	return reached;
}

static void each_call_of_close_may_fail(struct kunit *test)
{
	const struct failure failure = { test->param_value,
					 CUDA_ERROR_UNKNOWN };
	u64 lost = model_bytes();
	struct run run;
	u64 n = 1;

	run_begin(&run, test, &failure);
	while (close_with_failure(&run, n))
		n++;
	KUNIT_EXPECT_GT(test, n, 10);
	/* What failed once works when it is tried again: of memory nothing. */
	KUNIT_EXPECT_EQ(test, model_bytes(), lost);
}

static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

/* ---- For ever --------------------------------------------------------- */

#define STICKY CUDA_ERROR_ILLEGAL_ADDRESS

/* Each call says that it is over, and why. */
static void expect_dead(struct run *run, void *live, int err, const char *text)
{
	struct kunit *test = run->test;
	struct slabdev *sd = run->sd;

	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(sd, 100), -err);
	EXPECT_LAST_ERROR_HAS(test, text);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(sd, 9 * MIB), -err);
	KUNIT_EXPECT_ERRNO(test, slabdev_zalloc(sd, 5000), -err);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), err);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), err);
	KUNIT_EXPECT_EQ(test, slabdev_prime(sd, MIB), err);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, live), err);
	EXPECT_LAST_ERROR_HAS(test, text);
}

static u64 sticky_n;
static const struct cuda_kind_param *sticky_kind;

/* In a process of its own. */
static void fail_for_ever(struct kunit *test)
{
	const struct failure failure = { sticky_kind, STICKY };
	struct run run;
	void *live;
	u64 before;

	cuda_space_init(test);
	run_begin(&run, test, &failure);
	run.tour.look = NULL;
	KUNIT_ASSERT_EQ(test, try_open(&run), 0);
	live = must_alloc(test, run.sd, 1000);
	before = cu.model_calls("*");
	cu.model_fail("*", sticky_n, STICKY, 1);
	cuda_tour_work(&run.tour, run.sd);
	if (cu.model_calls("*") - before < sticky_n)
		_exit(1);
	/* It may have struck where nobody looks, at the end of a call. */
	KUNIT_EXPECT_EQ(test, slabdev_prime(run.sd, 100 * MIB), -EIO);
	expect_dead(&run, live, -EIO, "CUDA_ERROR_ILLEGAL_ADDRESS");
	before = cu.model_calls("*");
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(run.sd, 70 * MIB), EIO);
	KUNIT_EXPECT_EQ_MSG(test, cu.model_calls("*"), before,
			    "a dead driver was called");
	(void)slabdev_close(run.sd, SLABDEV_CLOSE_FORCE);
	KUNIT_EXPECT_EQ(test, run.reports[REPORT_DEAD], 1);
	KUNIT_EXPECT_LE(test, run.reports[REPORT_LOST], 1);
	EXPECT_NO_VIOLATION(test);
	_exit(0);
}

static void sweep_for_ever(struct kunit *test, u64 step)
{
	int status = 0;

	sticky_kind = test->param_value;
	for (sticky_n = 1 + test->param_index; !status; sticky_n += step)
		status = in_fork(test, fail_for_ever);
	KUNIT_EXPECT_EQ_MSG(test, status, 1 << 8, "wait status %#x", status);
	KUNIT_EXPECT_GT(test, sticky_n, 100);
}

static void driver_may_fail_for_ever(struct kunit *test)
{
	sweep_for_ever(test, STICKY_SAMPLE);
}

static void driver_may_fail_for_ever_at_any_call(struct kunit *test)
{
	sweep_for_ever(test, 1);
}

static const struct kunit_case fail_cases[] = {
	KUNIT_CASE_PARAM(calls_may_fail, failure_gen_params,
			 .isolated = true, .slow = true),
	KUNIT_CASE_PARAM(each_call_may_fail, failure_gen_params,
			 .isolated = true, .is_long = true, .timeout_s = 600),
	KUNIT_CASE_PARAM(each_call_of_close_may_fail, kind_gen_params,
			 .isolated = true),
	{ 0 }
};

static const struct kunit_suite cuda_fail_suite = {
	.name = "cuda_fail",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = fail_cases,
};

/* The driver is used by the children only. */
static const struct kunit_case sticky_cases[] = {
	KUNIT_CASE_PARAM(driver_may_fail_for_ever, kind_gen_params,
			 .isolated = true, .slow = true),
	KUNIT_CASE_PARAM(driver_may_fail_for_ever_at_any_call, kind_gen_params,
			 .isolated = true, .is_long = true, .timeout_s = 600),
	{ 0 }
};

static const struct kunit_suite cuda_sticky_suite = {
	.name = "cuda_sticky",
	.cases = sticky_cases,
};
kunit_test_suites(&cuda_fail_suite, &cuda_sticky_suite);
