// SPDX-License-Identifier: BSD-2-Clause
/* failslab_programs.c - programs walk through all of their error paths. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/log.h"
#include "tests/failslab_space.h"
#include "tests/program.h"

/* A little program as they are: what it has, it has to give back. */
struct matrix {
	struct slabdev_cache *rows;
	void *row[6];
	void *index, *values, *work;
};

static void matrix_free(struct slabdev *sd, struct matrix *m)
{
	int i;

	(void)slabdev_free(sd, m->work);
	for (i = 0; i < 6; i++)
		(void)slabdev_cache_free(m->rows, m->row[i]);
	(void)slabdev_cache_destroy(m->rows);
	(void)slabdev_free(sd, m->values);
	(void)slabdev_free(sd, m->index);
}

static int matrix_make(struct slabdev *sd, struct matrix *m)
{
	*m = (struct matrix){ .index = slabdev_zalloc(sd, 5000) };
	if (!m->index)
		return -errno;
	m->values = slabdev_alloc(sd, 3 * MIB);
	if (!m->values)
		goto free_index;
	if (slabdev_cache_create(&m->rows, sd, "rows", 700, NULL))
		goto free_values;
	if (slabdev_cache_alloc_bulk(m->rows, 6, m->row))
		goto destroy_rows;
	m->work = slabdev_alloc(sd, 100);
	m->work = m->work ? slabdev_realloc(sd, m->work, 10000) : NULL;
	if (!m->work)
		goto free_rows;
	return 0;

free_rows:
	(void)slabdev_cache_free_bulk(m->rows, 6, m->row);
destroy_rows:
	(void)slabdev_cache_destroy(m->rows);
free_values:
	(void)slabdev_free(sd, m->values);
free_index:
	(void)slabdev_free(sd, m->index);
	return -ENOMEM;
}

/*
 * Its ten allocations, in the way that fault.h tells. There is a mistake in it,
 * and this finds it: what realloc could not have is lost.
 */
void every_unwinding_path_is_walked(struct kunit *test)
{
	struct slabdev_fault f = SLABDEV_FAULT_INIT;
	struct slabdev *sd = test->priv;
	u32 leaks = 0, runs = 0;
	struct matrix m;
	u64 live;
	int err;

	do {
		f.nth++;
		runs++;
		set_fault(test, sd, &f);
		err = matrix_make(sd, &m);
		KUNIT_EXPECT_EQ(test, err, get_fault(test, sd).nth ? 0 :
								     -ENOMEM);
		if (!err)
			matrix_free(sd, &m);
		live = figures(test, sd).live_objects;
		if (!live)
			continue;
		leaks++;
		KUNIT_EXPECT_EQ(test, f.nth, 10);
		KUNIT_EXPECT_EQ(test, live, 1);
		kunit_expect_report(test, REPORT_LIVE_OBJECTS);
		KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EBUSY);
		KUNIT_ASSERT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE),
				0);
		sd = test->priv = open_space(test, GIB);
	} while (!get_fault(test, sd).nth && runs < 100);
	KUNIT_EXPECT_EQ(test, runs, 11);
	KUNIT_EXPECT_EQ(test, leaks, 1);
}

void program_fails_by_its_environment(struct kunit *test)
{
	static const char told[] = "slabdev: space host: failslab made an "
		"allocation of 4096 bytes from alloc-4096 fail: interval 1, "
		"probability 100, space 0, times -1\n  ";
	const char *const argv[] = { "samples/hello/hello", NULL };
	struct program p;

	host_only(test, "so is the sample");
	program_run(test, &p, argv, "SLABDEV_FAILSLAB=nth=1,verbose=0");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.err, "hello: failslab: an allocation of "
			   "4096 bytes from alloc-4096 was made to fail\n");
	program_run(test, &p, argv, "SLABDEV_FAILSLAB=1,100,0,-1");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_MEMEQ(test, p.err, told, sizeof(told) - 1);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "[hello+0x"), "%s",
				  p.err);
	program_run(test, &p, argv, "SLABDEV_FAILSLAB=nth=2");
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
}

void environment_is_for_every_space(struct kunit *test)
{
	struct slabdev *sd;
	int i;

	setenv("SLABDEV_FAILSLAB", "nth=2,verbose=0", 1);
	for (i = 0; i < 2; i++) {
		sd = case_space(test, 64 * MIB);
		EXPECT_FREED(test, sd, must_alloc(test, sd, 100));
		expect_failure(test, sd, slabdev_alloc(sd, 100), "alloc-256");
		EXPECT_FREED(test, sd, must_alloc(test, sd, 100));
		KUNIT_EXPECT_EQ(test, get_fault(test, sd).fired, 1);
	}
}

struct told {
	u32 count;
	char text[1024];
};

static void keep_text(int level, int kind, const char *text, void *arg)
{
	struct told *t = arg;

	(void)level;
	(void)kind;
	t->count++;
	snprintf(t->text, sizeof(t->text), "%s", text);
}

/* Nothing, a line, or the line with the stack, as much as fits. */
void fault_is_told(struct kunit *test)
{
	static const char line[] = "space test: failslab made an allocation of "
		"100 bytes from alloc-256 fail: interval 1, probability 100, "
		"space 0, times -1";
	struct slabdev_fault f = SLABDEV_FAULT_INIT;
	struct slabdev *sd = open_space(test, GIB);
	struct told t = { 0 };

	log_set_sink(keep_text, &t);
	f.probability = 100;
	for (f.verbose = 0; f.verbose < 3; f.verbose++) {
		t.count = 0;
		set_fault(test, sd, &f);
		expect_failure(test, sd, slabdev_alloc(sd, 100), "alloc-256");
		KUNIT_EXPECT_EQ(test, t.count, f.verbose != 0);
		if (f.verbose == 1)
			KUNIT_EXPECT_STREQ(test, t.text, line);
	}
	KUNIT_EXPECT_MEMEQ(test, t.text, line, sizeof(line) - 1);
	KUNIT_EXPECT_MEMEQ(test, t.text + sizeof(line) - 1, "\n  ", 3);
	KUNIT_EXPECT_LT(test, strlen(t.text), 1000);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
}
