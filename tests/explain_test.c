// SPDX-License-Identifier: BSD-2-Clause
/*
 * explain_test.c - what slabdev_explain() says of the ways to an object of a
 * host space; those to memory of a device are in cuda_explain_test.c
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/open_space.h"

#define TEXT 1024

static struct slabdev *open_as(struct kunit *test, u32 handle_type)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd = NULL;

	attr.limit = 256 * MIB;
	attr.handle_type = handle_type;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_open(&sd, "host", &attr), 0, "%s",
			    slabdev_last_error());
	return sd;
}

static void expect_says(struct kunit *test, const void *p, const char *line)
{
	char text[TEXT];

	KUNIT_EXPECT_EQ(test, slabdev_explain(p, text, sizeof(text)), 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, line), "no '%s' in: %s",
				  line, text);
}

static void *comm_alloc(struct kunit *test, struct slabdev *sd, size_t size)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	void *p;

	req.flags = SLABDEV_REQ_COMM;
	p = slabdev_alloc_ex(sd, size, &req);
	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	return p;
}

static void memory_without_a_handle_type(struct kunit *test)
{
	struct slabdev *sd = open_as(test, SLABDEV_HANDLE_NONE);
	char *p = must_alloc(test, sd, 5000);

	expect_says(test, p, "is a live object of alloc-5120 in space host: "
		    "5000 bytes asked for, 5120 usable\n  export: no, the "
		    "space has no attr.handle_type\n  comm: no, ");
	expect_says(test, p + 100, "\n  export: no, ");
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

static void memory_with_one(struct kunit *test)
{
	struct slabdev *sd = open_as(test, SLABDEV_HANDLE_FD);
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	void *p = must_alloc(test, sd, 5000);

	expect_says(test, p, "\n  export: yes, as a file descriptor\n");
	KUNIT_ASSERT_EQ(test, slabdev_export(sd, p, &share), 0);
	expect_says(test, p, "\n  export: yes, as a file descriptor; it is "
		    "exported\n");
	KUNIT_EXPECT_EQ(test, slabdev_export_end(sd, p, &share), 0);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

/* What says no here, slabdev_export() refuses; comm memory is what helps. */
static void object_in_two_handles(struct kunit *test)
{
	struct slabdev *sd = open_as(test, SLABDEV_HANDLE_FD);
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	void *p[2], *q;

	p[0] = must_alloc(test, sd, 2 * MIB);
	p[1] = must_alloc(test, sd, 2 * MIB);
	EXPECT_FREED(test, sd, p[0]);
	EXPECT_FREED(test, sd, p[1]);
	q = must_alloc(test, sd, 3 * MIB);
	expect_says(test, q, "\n  export: no, it lies in several handles; "
		    "comm memory does not\n");
	KUNIT_EXPECT_EQ(test, slabdev_export(sd, q, &share), -EXDEV);
	EXPECT_FREED(test, sd, q);
	q = comm_alloc(test, sd, 3 * MIB);
	expect_says(test, q, "\n  export: yes, as a file descriptor\n  comm: "
		    "yes, ");
	KUNIT_EXPECT_EQ(test, slabdev_export(sd, q, &share), 0);
	KUNIT_EXPECT_EQ(test, slabdev_export_end(sd, q, &share), 0);
	EXPECT_FREED(test, sd, q);
	close_space(test, sd);
}

/*
 * Never -EXDEV, whatever lay where it lies. Method: huge objects that were
 * freed, and primed memory, leave free handles of every length behind; comm
 * objects of many sizes come and go among others.
 */
static void comm_object_is_in_one_handle(struct kunit *test)
{
	struct slabdev *sd = open_as(test, SLABDEV_HANDLE_FD);
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	void *p, *other[8];
	u32 i, k;

	KUNIT_EXPECT_EQ(test, slabdev_prime(sd, 20 * MIB), 0);
	for (i = 0; i < 40; i++) {
		for (k = 0; k < 8; k++)
			other[k] = must_alloc(test, sd, (k + i) * 300000 + 1);
		for (k = 0; k < 8; k += 2)
			EXPECT_FREED(test, sd, other[k]);
		p = comm_alloc(test, sd, (size_t)(i % 5) * 3500000 + 4096);
		KUNIT_EXPECT_EQ_MSG(test, slabdev_export(sd, p, &share), 0,
				    "%s", slabdev_last_error());
		KUNIT_EXPECT_EQ(test, share.offset, 0);
		KUNIT_EXPECT_EQ(test, slabdev_export_end(sd, p, &share), 0);
		EXPECT_FREED(test, sd, p);
		for (k = 1; k < 8; k += 2)
			EXPECT_FREED(test, sd, other[k]);
	}
	close_space(test, sd);
}

/* What is free has no ways to it; what does not fit is left out. */
static void free_memory_and_little_room(struct kunit *test)
{
	struct slabdev *sd = open_as(test, SLABDEV_HANDLE_NONE);
	void *p = must_alloc(test, sd, 5000);
	char text[TEXT];
	size_t len, whole;

	KUNIT_EXPECT_EQ(test, slabdev_explain(p, text, sizeof(text)), 0);
	whole = strlen(text);
	for (len = 1; len <= whole + 1; len++) {
		memset(text, 'x', sizeof(text));
		KUNIT_EXPECT_EQ(test, slabdev_explain(p, text, len), 0);
		KUNIT_EXPECT_EQ(test, strlen(text), len - 1);
	}
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_explain(p, text, sizeof(text)), 1);
	KUNIT_EXPECT_NULL_MSG(test, strchr(text, '\n'), "%s", text);
	close_space(test, sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(memory_without_a_handle_type),
	KUNIT_CASE(memory_with_one),
	KUNIT_CASE(object_in_two_handles),
	KUNIT_CASE(comm_object_is_in_one_handle),
	KUNIT_CASE(free_memory_and_little_room),
	{ 0 }
};

static const struct kunit_suite explain_suite = {
	.name = "explain",
	.cases = cases,
};
kunit_test_suite(explain_suite);
