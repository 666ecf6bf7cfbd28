// SPDX-License-Identifier: BSD-2-Clause
/*
 * group_order_test.c - groups with what an object may have besides: streams,
 * captures, letters, guards, and other processes. On the host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/group_space.h"
#include "tests/guard_space.h"

static const size_t sizes[] = { 400, 200 };

static struct slabdev_group *group_on(struct kunit *test, struct slabdev *sd,
				      slabdev_stream_t stream, void **ptrs)
{
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct slabdev_req req = SLABDEV_REQ_INIT;

	attr.req = &req;
	req.stream = stream;
	return must_group_ex(test, sd, sizes, 2, ptrs, &attr);
}

/* ---- Streams ------------------------------------------------------------ */

static void nothing(void *arg)
{
	(void)arg;
}

/* A queue with work in it that stays until the case runs it. */
static slabdev_stream_t busy_queue(struct kunit *test)
{
	slabdev_stream_t q = NULL;

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, SLABDEV_QUEUE_MANUAL),
			0);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(q, nothing, NULL), 0);
	return q;
}

#define EXPECT_FREED_ON(test, g, stream) \
	KUNIT_EXPECT_EQ_MSG(test, slabdev_group_free_async(g, stream), 0, \
			    "%s", slabdev_last_error())

/* What a queue still uses nobody else gets; the queue itself does. */
static void free_waits_for_its_stream(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 32 * MIB);
	slabdev_stream_t q = busy_queue(test);
	struct slabdev_group *g, *other;
	void *base;

	KUNIT_ASSERT_EQ(test, slabdev_stream_attach(sd, q), 0);
	g = group_on(test, sd, q, NULL);
	base = slabdev_group_base(g);
	EXPECT_FREED_ON(test, g, q);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).groups, 0);
	other = must_group(test, sd, sizes, 2, 0, NULL);
	KUNIT_EXPECT_PTR_NE(test, slabdev_group_base(other), base);
	g = group_on(test, sd, q, NULL);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_group_base(g), base);
	EXPECT_FREED_ON(test, g, q);
	EXPECT_GROUP_FREED(test, other);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(sd, q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
	close_space(test, sd);
}

/* slabdev_use() takes any block's group by its base: the free waits for both
 * queues. */
static void use_of_the_base_is_waited_for(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 32 * MIB);
	slabdev_stream_t q = busy_queue(test);
	struct slabdev_group *g = must_group(test, sd, sizes, 2, 0, NULL);
	void *base = slabdev_group_base(g);

	KUNIT_EXPECT_EQ(test, slabdev_use(sd, base, q), 0);
	EXPECT_GROUP_FREED(test, g);
	g = must_group(test, sd, sizes, 2, 0, NULL);
	KUNIT_EXPECT_PTR_NE(test, slabdev_group_base(g), base);
	KUNIT_EXPECT_NE(test, stats_of(test, sd).pending, 0);
	EXPECT_GROUP_FREED(test, g);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).pending, 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
	close_space(test, sd);
}

/* Nothing is freed, and the group is what it was. */
static void wrong_stream_changes_nothing(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 32 * MIB);
	struct slabdev_group *g = must_group(test, sd, sizes, 2, 0, NULL);
	slabdev_stream_t wrong = (slabdev_stream_t)test;

	KUNIT_EXPECT_EQ(test, slabdev_group_free_async(g, wrong), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_group_size(g), 712);
	KUNIT_EXPECT_EQ(test, figures(test, sd).groups, 1);
	EXPECT_GROUP_FREED(test, g);
	close_space(test, sd);
}

/* The graph has the group's memory until it is released. */
static void capture_keeps_what_it_used(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 32 * MIB);
	struct slabdev_group *g, *other;
	struct slabdev_graph *graph;
	slabdev_stream_t q = NULL;
	void *base;

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, 0), 0);
	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(sd, q, &graph), 0);
	g = group_on(test, sd, q, NULL);
	base = slabdev_group_base(g);
	EXPECT_FREED_ON(test, g, q);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(graph), 0);
	KUNIT_EXPECT_NE(test, stats_of(test, sd).held, 0);
	other = must_group(test, sd, sizes, 2, 0, NULL);
	KUNIT_EXPECT_PTR_NE(test, slabdev_group_base(other), base);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(graph), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).held, 0);
	EXPECT_GROUP_FREED(test, other);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
	close_space(test, sd);
}

/* ---- Other processes ---------------------------------------------------- */

/* It cannot go while another process may have it, and goes afterwards. */
static void exported_group_stays(struct kunit *test)
{
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_group *g;
	struct slabdev *sd;

	host_only(test, "memory that is shared by file descriptors");
	attr.limit = 32 * MIB;
	attr.handle_type = SLABDEV_HANDLE_FD;
	sd = open_space_attr(test, &attr);
	g = must_group(test, sd, sizes, 2, 0, NULL);
	KUNIT_ASSERT_EQ(test, slabdev_export(sd, slabdev_group_base(g),
					     &share), 0);
	KUNIT_EXPECT_EQ(test, share.bytes, 712);
	KUNIT_EXPECT_EQ(test, slabdev_group_free(g), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_group_free_async(g, NULL), -EBUSY);
	EXPECT_ERROR_HAS(test, "slabdev_export_end()");
	KUNIT_EXPECT_EQ(test, slabdev_group_count(g), 2);
	KUNIT_EXPECT_EQ(test, slabdev_group_size(g), 712);
	KUNIT_EXPECT_EQ(test, figures(test, sd).groups, 1);
	KUNIT_EXPECT_EQ(test, slabdev_export_end(sd, slabdev_group_base(g),
						 &share), 0);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, slabdev_group_base(g)),
			-EINVAL);
	EXPECT_GROUP_FREED(test, g);
	close_space(test, sd);
}

/* ---- Letters ------------------------------------------------------------ */

/* The parameter is read once: the case is isolated. */
static struct slabdev *open_debug(struct kunit *test, const char *letters)
{
	if (!IS_ENABLED(CONFIG_SLAB_DEBUG))
		kunit_skip(test, "built without SLAB_DEBUG");
	setenv("SLABDEV_DEBUG", letters, 1);
	return open_space(test, 64 * MIB);
}

/* The zone begins behind the last block, not behind its room. */
static void byte_behind_the_last_block_is_found(struct kunit *test)
{
	struct slabdev *sd = open_debug(test, "FZPU");
	struct slabdev_group *g;
	char *ptrs[2];

	g = must_group(test, sd, sizes, 2, 0, (void **)ptrs);
	memset(ptrs[0], 1, sizes[0]);
	memset(ptrs[1], 2, sizes[1]);
	EXPECT_GROUP_FREED(test, g);
	KUNIT_EXPECT_EQ(test, ptrs[1][0], 0x6b);
	g = must_group(test, sd, sizes, 2, 0, (void **)ptrs);
	ptrs[1][sizes[1]] = 3;
	kunit_expect_report(test, REPORT_RED_ZONE);
	EXPECT_GROUP_FREED(test, g);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).groups, 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live_objects, 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE), 0);
}

static const char *const letters[] = {
	"F", "Z", "P", "U", "Q", "FZPU", "FZPUQ",
};

static void describe_letters(const char *const *l, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", *l);
}
KUNIT_ARRAY_PARAM(letters, letters, describe_letters);

/* A group of each kind of object: with letters, its memory is its own too. */
static void letters_refuse_other_frees(struct kunit *test)
{
	static const size_t last[] = { 200, 100 * KIB, 3 * MIB };
	const char *const *l = test->param_value;
	struct slabdev *sd = open_debug(test, *l);
	struct slabdev_group *g;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(last); i++) {
		g = must_group(test, sd, (size_t[]){ 400, last[i] }, 2, 0,
			       NULL);
		kunit_expect_report(test, REPORT_INVALID_POINTER);
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, slabdev_group_base(g)),
				-EINVAL);
		EXPECT_ERROR_HAS(test, "slabdev_group_free()");
		EXPECT_GROUP_FREED(test, g);
		kunit_expect_report(test, REPORT_DOUBLE_FREE);
		KUNIT_EXPECT_EQ(test, slabdev_group_free(g), -EALREADY);
	}
	close_space(test, sd);
}

/* A wall as near behind the last block as its alignment allows. */
static void guarded_group_ends_at_a_wall(struct kunit *test)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE), end;
	struct slabdev_group *g;
	struct slabdev *sd;
	char *ptrs[2];

	if (!IS_ENABLED(CONFIG_SLAB_GUARD))
		kunit_skip(test, "built without SLAB_GUARD");
	sd = guard_open(test, 256 * MIB, 1);
	g = must_group(test, sd, sizes, 2, 8, (void **)ptrs);
	memset(ptrs[0], 1, sizes[0]);
	memset(ptrs[1], 2, sizes[1]);
	end = align_up((uintptr_t)ptrs[1] + sizes[1], SLABDEV_ALIGN);
	KUNIT_EXPECT_EQ(test, end % page, 0);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, ptrs[0]), -EINVAL);
	EXPECT_GROUP_FREED(test, g);
	close_space(test, sd);
}

static const struct kunit_case group_order_cases[] = {
	KUNIT_CASE(free_waits_for_its_stream),
	KUNIT_CASE(use_of_the_base_is_waited_for),
	KUNIT_CASE(wrong_stream_changes_nothing),
	KUNIT_CASE(capture_keeps_what_it_used),
	KUNIT_CASE(exported_group_stays),
	KUNIT_CASE_ISOLATED(byte_behind_the_last_block_is_found),
	KUNIT_CASE_PARAM(letters_refuse_other_frees, letters_gen_params,
			 .isolated = true),
	KUNIT_CASE(guarded_group_ends_at_a_wall),
	{}
};

static const struct kunit_suite group_order_suite = {
	.name = "group_order",
	.cases = group_order_cases,
};
kunit_test_suite(group_order_suite);
