// SPDX-License-Identifier: BSD-2-Clause
/*
 * group_life_test.c - groups from their beginning to their end: tokens that
 * are none any more, frees that go another way, spaces that close, threads,
 * forks, and a want of memory at each step.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/token.h"
#include "tests/crew.h"
#include "tests/group_space.h"

static const size_t sizes[] = { 300, 5000, 1, 256 };
#define NR ARRAY_SIZE(sizes)

static struct slabdev_group *any_group(struct kunit *test, struct slabdev *sd,
				       void **ptrs)
{
	return must_group(test, sd, sizes, NR, 0, ptrs);
}

/* ---- Tokens ------------------------------------------------------------- */

/* Every question and both frees say the same of it. */
static void expect_refused(struct kunit *test, void *token, int err,
			   const char *text)
{
	enum report_kind kind = err == -EALREADY ? REPORT_DOUBLE_FREE :
						   REPORT_INVALID_POINTER;
	struct slabdev_group *g = token;

	errno = 0;
	KUNIT_EXPECT_NULL(test, slabdev_group_base(g));
	KUNIT_EXPECT_EQ(test, errno, -err);
	EXPECT_ERROR_HAS(test, text);
	errno = 0;
	KUNIT_EXPECT_EQ(test, slabdev_group_size(g), 0);
	KUNIT_EXPECT_EQ(test, errno, -err);
	errno = 0;
	KUNIT_EXPECT_EQ(test, slabdev_group_count(g), 0);
	KUNIT_EXPECT_EQ(test, errno, -err);
	errno = 0;
	KUNIT_EXPECT_EQ(test, slabdev_group_stride(g), 0);
	KUNIT_EXPECT_EQ(test, errno, -err);
	EXPECT_ERROR_HAS(test, "slabdev_group_stride");
	if (!token)
		return;
	kunit_expect_report(test, kind);
	kunit_expect_report(test, kind);
	KUNIT_EXPECT_EQ(test, slabdev_group_free(g), err);
	EXPECT_ERROR_HAS(test, text);
	KUNIT_EXPECT_EQ(test, slabdev_group_free_async(g, NULL), err);
	EXPECT_ERROR_HAS(test, "slabdev_group_free_async");
}

/* The second free frees nothing, and neither does one after the entry of the
 * table has a new use. */
static void stale_token_is_refused_for_ever(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_group *old, *g;
	struct slabdev_stats before;
	u32 i;

	old = any_group(test, sd, NULL);
	EXPECT_GROUP_FREED(test, old);
	before = figures(test, sd);
	expect_refused(test, old, -EALREADY, "is there no more");
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
	for (i = 0; i < 3; i++) {
		g = any_group(test, sd, NULL);
		KUNIT_EXPECT_PTR_NE(test, g, old);
		expect_refused(test, old, -EALREADY, "is there no more");
		KUNIT_EXPECT_EQ(test, slabdev_group_count(g), NR);
		EXPECT_GROUP_FREED(test, g);
	}
}

static void foreign_tokens_never_were_groups(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_stats before;
	struct slabdev_group *g;
	char *later;

	g = any_group(test, sd, NULL);
	before = figures(test, sd);
	/* A use that has not come yet, and an entry beyond the last. */
	later = (char *)(uintptr_t)((uintptr_t)g + ((u64)1 << 40));
	expect_refused(test, NULL, -EINVAL, "NULL");
	expect_refused(test, later, -EINVAL, "never was a group");
	expect_refused(test, (char *)g + 100000, -EINVAL, "never was a group");
	expect_refused(test, test, -EINVAL, "never was a group");
	expect_refused(test, sd, -EINVAL, "never was a group");
	expect_refused(test, slabdev_group_base(g), -EINVAL,
		       "never was a group");
	expect_refused(test, (void *)UINTPTR_MAX, -EINVAL,
		       "never was a group");
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
	EXPECT_GROUP_FREED(test, g);
}

/* ---- Frees that go another way ------------------------------------------ */

/* By its base, by a block, and from the inside of one. */
static void memory_is_the_groups_own(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	struct slabdev_stats before;
	char *ptrs[NR], name[64];
	void *at[4];
	u32 i;

	g = any_group(test, sd, (void **)ptrs);
	snprintf(name, sizeof(name), "group %p", (void *)g);
	before = figures(test, sd);
	at[0] = slabdev_group_base(g);
	at[1] = ptrs[1];
	at[2] = ptrs[1] + 100;
	at[3] = ptrs[3] + 255;
	for (i = 0; i < 4; i++) {
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, at[i]), -EINVAL);
		EXPECT_ERROR_HAS(test, name);
		EXPECT_ERROR_HAS(test, "slabdev_group_free()");
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_EQ(test, slabdev_free_async(sd, at[i], NULL),
				-EINVAL);
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, at[i], 6144),
				-EINVAL);
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_NULL(test, slabdev_realloc(sd, at[i], 10));
		KUNIT_EXPECT_EQ(test, errno, EINVAL);
	}
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
	EXPECT_GROUP_FREED(test, g);
}

/* When the group is gone its address is like any other. */
static void freed_group_is_free_memory(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_group *g = any_group(test, sd, NULL);
	void *base = slabdev_group_base(g), *p;

	EXPECT_GROUP_FREED(test, g);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, base), -EALREADY);
	p = must_alloc(test, sd, 6000);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live, 0);
}

/* What one writes at each block is there: blocks do not overlap. */
static void blocks_hold_what_is_written(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	void *ptrs[NR];
	u32 i;

	g = any_group(test, sd, ptrs);
	for (i = 0; i < NR; i++)
		mem_fill(sd, ptrs[i], sizes[i], 0x10 + (int)i);
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_TRUE(test, mem_is(sd, ptrs[i], sizes[i],
					       0x10 + (int)i));
	EXPECT_GROUP_FREED(test, g);
}

static void zeroed_if_asked_for(struct kunit *test)
{
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	size_t bytes;
	u32 i;

	attr.req = &req;
	req.flags = SLABDEV_REQ_ZERO;
	for (i = 0; i < 2; i++) {
		g = must_group_ex(test, sd, sizes, NR, NULL, &attr);
		bytes = slabdev_group_size(g);
		KUNIT_EXPECT_TRUE(test, mem_is(sd, slabdev_group_base(g),
					       bytes, 0));
		mem_fill(sd, slabdev_group_base(g), bytes, 0x77);
		EXPECT_GROUP_FREED(test, g);
	}
}

/* Comm memory begins with a chunk, which one message may register. */
static void comm_group_has_comm_memory(struct kunit *test)
{
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	char text[600];

	attr.req = &req;
	req.flags = SLABDEV_REQ_COMM;
	g = must_group_ex(test, sd, sizes, NR, NULL, &attr);
	KUNIT_EXPECT_EQ(test, space_offset(sd, slabdev_group_base(g)) % CHUNK,
			0);
	KUNIT_EXPECT_EQ(test, slabdev_explain(slabdev_group_base(g), text,
					      sizeof(text)), 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, "of 4 blocks"), "%s",
				  text);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, slabdev_group_base(g)),
			-EINVAL);
	EXPECT_GROUP_FREED(test, g);
}

/* ---- The space closes --------------------------------------------------- */

static void close_names_a_live_group(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	struct slabdev_group *g = any_group(test, sd, NULL);
	char name[64];

	snprintf(name, sizeof(name), "of group %p", (void *)g);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EBUSY);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(kunit_report_text(test), name),
				  "%s", kunit_report_text(test));
	KUNIT_EXPECT_EQ(test, slabdev_group_count(g), NR);
	EXPECT_GROUP_FREED(test, g);
	close_space(test, sd);
}

/* Its group is gone with the space, and is no group of the next one. */
static void forced_close_ends_its_groups(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	struct slabdev *other = test->priv;
	struct slabdev_group *g = any_group(test, sd, NULL);
	struct slabdev_group *kept = any_group(test, other, NULL);

	KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE), 0);
	expect_refused(test, g, -EALREADY, "is there no more");
	sd = open_space(test, 64 * MIB);
	expect_refused(test, g, -EALREADY, "is there no more");
	KUNIT_EXPECT_EQ(test, slabdev_group_count(kept), NR);
	EXPECT_GROUP_FREED(test, kept);
	close_space(test, sd);
}

/* ---- Threads ------------------------------------------------------------ */

struct rival {
	struct slabdev_group *g;
	int err;
};

static void free_it(void *arg)
{
	struct rival *r = arg;

	r->err = slabdev_group_free(r->g);
}

/* One of two frees at once is the second one, whichever. */
static void of_two_frees_one_is_refused(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct crew *crew = crew_new(test, 2);
	struct rival r[2];
	u32 i;

	for (i = 0; i < 200; i++) {
		r[0].g = r[1].g = any_group(test, sd, NULL);
		kunit_expect_report(test, REPORT_DOUBLE_FREE);
		crew_all(crew, free_it, r, sizeof(r[0]));
		KUNIT_EXPECT_EQ(test, min(r[0].err, r[1].err), -EALREADY);
		KUNIT_EXPECT_EQ(test, max(r[0].err, r[1].err), 0);
	}
	KUNIT_EXPECT_EQ(test, figures(test, sd).live_objects, 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).groups, 0);
	crew_dismiss(crew);
}

struct worker {
	struct kunit *test;
	struct slabdev *sd;
	u32 rounds;
};

static void alloc_and_free(void *arg)
{
	struct worker *w = arg;
	struct slabdev_group *g[4];
	u32 round, i;

	for (round = 0; round < w->rounds; round++) {
		for (i = 0; i < 4; i++)
			g[i] = any_group(w->test, w->sd, NULL);
		for (i = 0; i < 4; i++) {
			KUNIT_EXPECT_EQ(w->test, slabdev_group_count(g[i]), NR);
			EXPECT_GROUP_FREED(w->test, g[i]);
		}
	}
}

static void threads_have_groups_of_their_own(struct kunit *test)
{
	struct worker w[4];
	struct crew *crew = crew_new(test, 4);
	u32 i;

	for (i = 0; i < 4; i++)
		w[i] = (struct worker){ test, test->priv, 300 };
	crew_all(crew, alloc_and_free, w, sizeof(w[0]));
	KUNIT_EXPECT_EQ(test, figures(test, test->priv).groups, 0);
	crew_dismiss(crew);
}

/* ---- Fork --------------------------------------------------------------- */

static void child_has_the_groups_of_its_space(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_group *g;
	int status = -1;
	pid_t pid;

	host_only(test, "a space on a device does not survive a fork");
	g = any_group(test, sd, NULL);
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		alarm(60);
		KUNIT_EXPECT_EQ(test, slabdev_group_count(g), NR);
		EXPECT_GROUP_FREED(test, g);
		g = any_group(test, sd, NULL);
		KUNIT_EXPECT_EQ(test, stats_of(test, sd).groups, 1);
		EXPECT_GROUP_FREED(test, g);
		KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
		_exit(0);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	KUNIT_EXPECT_EQ(test, slabdev_group_count(g), NR);
	EXPECT_GROUP_FREED(test, g);
}

/* ---- A want of memory --------------------------------------------------- */

static u64 host_calls, failing_call;

static bool fails(void)
{
	return ++host_calls == failing_call;
}

/* Stand in for the wrappers; what does not fail is done by hand. */
static int reserve_or_not(size_t size, void **addr)
{
	if (fails())
		return -ENOMEM;
	*addr = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		     MAP_NORESERVE, -1, 0);
	return *addr == MAP_FAILED ? -ENOMEM : 0;
}

static int commit_or_not(void *addr, size_t size)
{
	if (fails() || mprotect(addr, size, PROT_READ | PROT_WRITE))
		return -ENOMEM;
	return 0;
}

/* Memory is short, and reports say so. */
static void ignore(int level, int kind, const char *text, void *arg)
{
	(void)level;
	(void)kind;
	(void)text;
	(void)arg;
}

/* The first group of a space, and where @n is small of the process: its @n-th
 * call for host memory fails. False: there are fewer. */
static bool fails_at(struct kunit *test, u64 n)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	struct slabdev_group *g = NULL;
	void *ptrs[NR] = { test };
	bool reached;
	int err;

	host_calls = 0;
	failing_call = n;
	err = slabdev_group_alloc(&g, sd, sizes, NR, 0, ptrs);
	reached = host_calls >= n;
	failing_call = 0;
	if (err) {
		KUNIT_EXPECT_EQ_MSG(test, err, -ENOMEM, "call %llu",
				    (unsigned long long)n);
		KUNIT_EXPECT_STRNEQ(test, slabdev_last_error(), "");
		KUNIT_EXPECT_NULL(test, g);
		KUNIT_EXPECT_PTR_EQ(test, ptrs[0], test);
		KUNIT_EXPECT_EQ(test, figures(test, sd).groups, 0);
		KUNIT_EXPECT_EQ(test, figures(test, sd).live_objects, 0);
		KUNIT_EXPECT_EQ(test, token_count(&group_tokens, sd), 0);
		g = any_group(test, sd, NULL);
	}
	EXPECT_GROUP_FREED(test, g);
	close_space(test, sd);
	return reached;
}

/* Twice, as what fails in the table of tokens is there the next time. */
static void host_memory_fails_at_each_call(struct kunit *test)
{
	u32 round;
	u64 n;

	kunit_activate_static_stub(test, os_reserve, reserve_or_not);
	kunit_activate_static_stub(test, os_commit, commit_or_not);
	log_set_sink(ignore, NULL);
	for (round = 0; round < 2; round++) {
		for (n = 1; fails_at(test, n); n++)
			KUNIT_ASSERT_LT(test, n, 1000);
		kunit_info(test, "%llu calls", (unsigned long long)n - 1);
	}
}

static const struct kunit_case group_life_cases[] = {
	KUNIT_CASE(stale_token_is_refused_for_ever),
	KUNIT_CASE(foreign_tokens_never_were_groups),
	KUNIT_CASE(memory_is_the_groups_own),
	KUNIT_CASE(freed_group_is_free_memory),
	KUNIT_CASE(blocks_hold_what_is_written),
	KUNIT_CASE(zeroed_if_asked_for),
	KUNIT_CASE(comm_group_has_comm_memory),
	KUNIT_CASE(close_names_a_live_group),
	KUNIT_CASE(forced_close_ends_its_groups),
	KUNIT_CASE(of_two_frees_one_is_refused),
	KUNIT_CASE(threads_have_groups_of_their_own),
	KUNIT_CASE(child_has_the_groups_of_its_space),
	KUNIT_CASE_ISOLATED(host_memory_fails_at_each_call),
	{}
};

static const struct kunit_suite group_life_suite = {
	.name = "group_life",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = group_life_cases,
	.any_space = true,
};
kunit_test_suite(group_life_suite);
