// SPDX-License-Identifier: BSD-2-Clause
/*
 * slabinfo_check_test.c - slabinfo -v, of statistics that are known
 *
 * What fake_job.h publishes holds together; each statement is then broken by
 * one figure that is changed.
 */
#include <stdio.h>

#include "tests/fake_job.h"
#include "tests/kunit/kunit.h"
#include "tests/slabinfo_run.h"

/* Number of the class "blocks" of the fake job. */
static unsigned int blocks(const struct fake_job *s)
{
	unsigned int i = 0;

	while (i < SLABDEV_SEG_WINDOW - 1 &&
	       strcmp(s->file[1].window->cls[i].name, "blocks"))
		i++;
	return i;
}

static struct slabdev_seg_class *blocks_of(struct fake_job *s)
{
	return &s->file[1].window->cls[blocks(s)];
}

static void whole_space_holds(struct kunit *test)
{
	struct program p;
	struct fake_job s;
	pid_t pid;

	fake_job_init(test, &s);
	pid = fake_job_start(test, &s);
	slabinfo_run(test, &p, pid, "-v");
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s%s", p.out, p.err);
	expect_text(test, p.out, " statements looked at, 0 do not hold\n");
	expect_text(test, p.out, "Not to be proved from outside: ");
	program_run(test, &p, (const char *const[]){ "tools/slabinfo", "-v",
		    decimal(test, pid), NULL }, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	slabinfo_run(test, &p, pid, "-v", "--json");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "\"broken\":[]");
	expect_readable(test, "--json", p.out);
}

static void spoil_frees(struct fake_job *s)
{
	s->file[1].window->retired[blocks(s)].frees += 1000000;
}

static void spoil_objects(struct fake_job *s)
{
	s->file[1].window->retired[blocks(s)].allocs += 1000000;
}

static void spoil_bytes(struct fake_job *s)
{
	s->file[1].window->retired[blocks(s)].alloc_bytes += 1u << 30;
}

static void spoil_slabs(struct fake_job *s)
{
	blocks_of(s)->slab_allocs++;
}

static void spoil_lists(struct fake_job *s)
{
	blocks_of(s)->empty += 100;
}

static void spoil_shape(struct fake_job *s)
{
	blocks_of(s)->align = 768;
}

static void spoil_mapped(struct fake_job *s)
{
	s->file[0].space->pool_free += 4096;
}

static void spoil_peak(struct fake_job *s)
{
	s->file[0].space->vmm.peak_created = 1;
}

static void spoil_chunks(struct fake_job *s)
{
	s->file[0].space->vmm.reserved += 4096;
}

static void spoil_out(struct fake_job *s)
{
	s->file[0].space->out_bytes = s->file[0].space->peak_out + 1;
}

static void spoil_pending(struct fake_job *s)
{
	s->file[0].space->held_bytes = s->file[0].space->pending_bytes + 1;
}

static const struct spoil_param {
	const char *name;
	void (*spoil)(struct fake_job *s);
	const char *said;
} spoils[] = {
	{ "frees", spoil_frees,
	  ", cache blocks: does not hold: "
	  "a cache freed no more than it "
	  "allocated\n" },
	{ "objects", spoil_objects,
	  ", cache blocks: does not hold: "
	  "a cache has slabs for its objects\n" },
	{ "bytes", spoil_bytes,
	  ", cache blocks: does not hold: "
	  "live bytes are no more than live "
	  "objects have\n" },
	{ "slabs", spoil_slabs,
	  ", cache blocks: does not hold: "
	  "slabs are those made less those given "
	  "back\n" },
	{ "lists", spoil_lists,
	  ", cache blocks: does not hold: "
	  "partial and empty slabs are slabs\n" },
	{ "shape", spoil_shape,
	  ", cache blocks: does not hold: "
	  "the objects of a slab fit it, one "
	  "behind the other\n" },
	{ "mapped", spoil_mapped,
	  "space main: does not hold: "
	  "the bytes of all parts are those that are "
	  "mapped\n" },
	{ "peak", spoil_peak,
	  "space main: does not hold: "
	  "idle and lost memory is mapped, as much "
	  "as ever was at most\n" },
	{ "chunks", spoil_chunks,
	  "space main: does not hold: "
	  "memory is mapped and reserved in whole "
	  "chunks\n" },
	{ "out", spoil_out,
	  "space main: does not hold: "
	  "what is out of slabs was in them\n" },
	{ "pending", spoil_pending,
	  "space main: does not hold: "
	  "what graphs hold, and large objects, are "
	  "part of what is pending\n" },
};

static void describe_spoil(const struct spoil_param *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", s->name);
}
KUNIT_ARRAY_PARAM(spoil, spoils, describe_spoil);

static void says_what_is_not_possible(struct kunit *test)
{
	const struct spoil_param *of = test->param_value;
	struct program p;
	struct fake_job s;
	pid_t pid;

	fake_job_init(test, &s);
	of->spoil(&s);
	pid = fake_job_start(test, &s);
	slabinfo_run(test, &p, pid, "-v");
	KUNIT_EXPECT_EQ(test, p.status, 4);
	expect_text(test, p.out, of->said);
	slabinfo_run(test, &p, pid, "-v", "--json");
	KUNIT_EXPECT_EQ(test, p.status, 4);
	expect_text(test, p.out, "\"statement\":\"");
	expect_readable(test, "--json", p.out);
}

static void goes_with_few_options(struct kunit *test)
{
	static const char *const others[] = {
		"-T", "-S", "-e", "-D", "-t", "--devices", "--watch", "-N1",
	};
	struct program p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		program_run(test, &p, (const char *const[]){ "tools/slabinfo",
			    "-v", others[i], NULL }, NULL);
		KUNIT_EXPECT_EQ_MSG(test, p.status, 2, "%s", others[i]);
	}
	program_run(test, &p, (const char *const[]){ "tools/slabinfo", "-v",
		    "name", NULL }, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 2);
	expect_text(test, p.err, "process numbers");
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(whole_space_holds),
	KUNIT_CASE_PARAM(says_what_is_not_possible, spoil_gen_params),
	KUNIT_CASE(goes_with_few_options),
	{ 0 }
};

static const struct kunit_suite slabinfo_check_suite = {
	.name = "slabinfo_check",
	.cases = cases,
};
kunit_test_suite(slabinfo_check_suite);
