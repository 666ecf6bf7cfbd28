// SPDX-License-Identifier: BSD-2-Clause
/*
 * samples_test.c - the small programs in samples/, run as a newcomer does
 *
 * They are the first code that a user copies, so each must build, do what it
 * says, print nothing on standard error, and fail with words.
 */
#include <stdio.h>

#include "tests/kunit/kunit.h"
#include "tests/program.h"

static const char *const hello[] = { "samples/hello/hello", NULL };

static void hello_works(struct kunit *test)
{
	struct program p;

	program_run(test, &p, hello, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_EQ(test, strncmp(p.out, "hello from 0x", 13), 0);
	/* Its one object, in the report that follows. */
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "4096"), "%s", p.out);
}

static void hello_says_why_not(struct kunit *test)
{
	struct program p;

	program_run(test, &p, hello, "SLABDEV_LIMIT=1");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "hello: "), "%s", p.err);
	KUNIT_EXPECT_GT_MSG(test, strlen(program_last_line(test, p.err)),
			    strlen("hello: "), "%s", p.err);
}

static void open_lists_devices(struct kunit *test)
{
	struct program p;

	program_run(test, &p, (const char *const[]){ "samples/open/open",
		    NULL }, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_EQ(test, strncmp(p.out, "host     host memory (", 22), 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "\ncuda"), "%s", p.out);
}

static void open_opens_what_it_is_given(struct kunit *test)
{
	struct program p;

	program_run(test, &p, (const char *const[]){ "samples/open/open",
		    "host", NULL }, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "is a live object of "),
				  "%s", p.out);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "space host (host), "),
				  "%s", p.out);
	program_run(test, &p, (const char *const[]){ "samples/open/open",
		    "floppy", NULL }, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_EQ(test, strncmp(p.err, "open: device 'floppy' ", 22), 0);
}

/* On the model where there is one: the words are those of cuda.rst. */
static void open_opens_a_gpu(struct kunit *test)
{
	struct program p;
	char driver[4096];

	if (!IS_ENABLED(CONFIG_DRIVER_MODEL))
		kunit_skip(test, "the model of the driver was not built");
	snprintf(driver, sizeof(driver), "SLABDEV_LIBCUDA=%s",
		 program_path(test, "tests/model/libcuda.so.1"));
	program_run(test, &p, (const char *const[]){ "samples/open/open",
		    "cuda:0", NULL }, driver);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "space cuda:0 (cuda:0: "
					       "CUDA VMM), "), "%s", p.out);
}

/* What the program is told of the device, and of the driver if it has one. */
struct streams_param {
	const char *device;
	bool on_model;
};

static const struct streams_param streams_params[] = {
	{ "host", false },
	{ "cuda:0", true },
};

static void describe_streams(const struct streams_param *param, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", param->device);
}
KUNIT_ARRAY_PARAM(streams, streams_params, describe_streams);

static void streams_run(struct kunit *test, struct program *p,
			const char *option, const char *env)
{
	const struct streams_param *param = test->param_value;
	char driver[4096] = "SLABDEV_LOG=warn";

	if (param->on_model && !IS_ENABLED(CONFIG_DRIVER_MODEL))
		kunit_skip(test, "the model of the driver was not built");
	if (param->on_model)
		snprintf(driver, sizeof(driver), "SLABDEV_LIBCUDA=%s",
			 program_path(test, "tests/model/libcuda.so.1"));
	program_run_with(test, p, (const char *const[]){
			 "samples/streams/streams", "--device", param->device,
			 option, NULL }, driver, env);
	KUNIT_EXPECT_EQ_MSG(test, p->status, 0, "%s", p->err);
	KUNIT_EXPECT_STREQ(test, p->out, "64 steps, the sum is right\n");
}

static void streams_is_right(struct kunit *test)
{
	struct program p;

	streams_run(test, &p, NULL, NULL);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	/* Nothing to see for hazard mode. */
	if (!IS_ENABLED(CONFIG_SLAB_HAZARD))
		return;
	streams_run(test, &p, NULL, "SLABDEV_DEBUG=H");
	KUNIT_EXPECT_STREQ(test, p.err, "");
}

/* How often a report of hazard mode is in the text. */
static unsigned int nr_hazards(const char *text)
{
	unsigned int n = 0;

	while ((text = strstr(text, "Stream hazard: "))) {
		text++;
		n++;
	}
	return n;
}

/* The broken twin works by luck; hazard mode says of each step that it is. */
static void hazard_finds_the_broken_twin(struct kunit *test)
{
	struct program p;

	streams_run(test, &p, "--broken", NULL);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	if (!IS_ENABLED(CONFIG_SLAB_HAZARD))
		kunit_skip(test, "hazard mode was not built");
	streams_run(test, &p, "--broken", "SLABDEV_DEBUG=H");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "Stream hazard: freed "
				  "while another stream may still use it\n"),
				  "%s", p.err);
	KUNIT_EXPECT_EQ(test, nr_hazards(p.err), 64);
}

static void streams_says_why_not(struct kunit *test)
{
	struct program p;

	program_run(test, &p, (const char *const[]){
		    "samples/streams/streams", "--device", "floppy", NULL },
		    NULL);
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_EQ(test, strncmp(p.err, "streams: device 'floppy' ", 25),
			0);
	program_run(test, &p, (const char *const[]){
		    "samples/streams/streams", "--device", "cuda:0", NULL },
		    "SLABDEV_LIBCUDA=/nonexistent");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.err, "streams: there is no CUDA driver\n");
	program_run(test, &p, (const char *const[]){
		    "samples/streams/streams", "--device", NULL }, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 2);
	KUNIT_EXPECT_STREQ(test, p.err, "usage: streams [--broken] "
			   "[--device SPEC]\n");
}

static void cxx_solves(struct kunit *test)
{
	struct program p;

	program_run(test, &p, (const char *const[]){ "samples/cxx/cxx", NULL },
		    NULL);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "199 blocks in 1 "
					       "allocation"), "%s", p.out);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "solved in "), "%s",
				  p.out);
}

/* Of a GPU's memory, what the CPU can touch; what it cannot is refused. */
static void cxx_solves_where_it_can(struct kunit *test)
{
	struct program p;
	char driver[4096];

	if (!IS_ENABLED(CONFIG_DRIVER_MODEL))
		kunit_skip(test, "the model of the driver was not built");
	snprintf(driver, sizeof(driver), "SLABDEV_LIBCUDA=%s",
		 program_path(test, "tests/model/libcuda.so.1"));
	program_run(test, &p, (const char *const[]){ "samples/cxx/cxx",
		    "cuda-managed:0", NULL }, driver);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	program_run(test, &p, (const char *const[]){ "samples/cxx/cxx",
		    "cuda:0", NULL }, driver);
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "cxx: a memory_resource "
					       "in a space of \"cuda:N\""),
				  "%s", p.err);
}

static const struct kunit_case samples_cases[] = {
	KUNIT_CASE(hello_works),
	KUNIT_CASE(hello_says_why_not),
	KUNIT_CASE(open_lists_devices),
	KUNIT_CASE(open_opens_what_it_is_given),
	KUNIT_CASE(open_opens_a_gpu),
	KUNIT_CASE_PARAM(streams_is_right, streams_gen_params),
	KUNIT_CASE_PARAM(hazard_finds_the_broken_twin, streams_gen_params),
	KUNIT_CASE(streams_says_why_not),
	KUNIT_CASE(cxx_solves),
	KUNIT_CASE(cxx_solves_where_it_can),
	{}
};

static const struct kunit_suite samples_suite = {
	.name = "samples",
	.cases = samples_cases,
};
kunit_test_suite(samples_suite);
