// SPDX-License-Identifier: BSD-2-Clause
/*
 * open_env.c - what the environment says about spaces, and does to them.
 *
 * It is read once in a process, at the first open, so each case that sets a
 * parameter has a process of its own.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/descriptors.h"
#include "tests/open_try.h"

/* ---- The environment -------------------------------------------------- */

void env_limit(struct kunit *test)
{
	struct slabdev *sd;

	setenv("SLABDEV_LIMIT", "8M", 1);
	sd = must_open(test, NULL);
	KUNIT_EXPECT_EQ(test, figures(test, sd).limit, 8 * MIB);
	close_space(test, sd);
	/* Read once; and the program's own limit stands. */
	setenv("SLABDEV_LIMIT", "16M", 1);
	sd = must_open(test, NULL);
	KUNIT_EXPECT_EQ(test, figures(test, sd).limit, 8 * MIB);
	close_space(test, sd);
	sd = open_space(test, 4 * MIB);
	KUNIT_EXPECT_EQ(test, figures(test, sd).limit, 4 * MIB);
	close_space(test, sd);
}

void env_limit_as_a_fraction(struct kunit *test)
{
	struct slabdev_device_info info;
	struct slabdev *sd;

	host_only(test, "a device's total is asked of it, not of the machine");
	setenv("SLABDEV_LIMIT", "25%", 1);
	sd = must_open(test, NULL);
	KUNIT_ASSERT_EQ(test, slabdev_device_get(0, &info, sizeof(info)), 0);
	KUNIT_EXPECT_LE(test, figures(test, sd).limit, info.memory_total / 4);
	KUNIT_EXPECT_GE(test, figures(test, sd).limit,
			info.memory_total / 4 - 2 * MIB - 1000);
	close_space(test, sd);
}

void env_reserve_and_policy(struct kunit *test)
{
	struct slabdev *sd;

	setenv("SLABDEV_RESERVE", "256M", 1);
	setenv("SLABDEV_LIMIT", "64M", 1);
	setenv("SLABDEV_POLICY", "aggressive", 1);
	sd = must_open(test, NULL);
	if (!has_regions(sd))
		KUNIT_EXPECT_EQ(test, figures(test, sd).reserved, 256 * MIB);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 3 * MIB));
	settle(test, sd);
	KUNIT_EXPECT_EQ(test, figures(test, sd).mapped, 0);
	close_space(test, sd);
}

/* Megabytes that the environment lets a layer keep, of a quarter more. */
#define CAP (256 * MIB)
#define OBJECTS 107u

void env_caps_what_is_kept(struct kunit *test)
{
	void *p[OBJECTS];
	struct slabdev *sd;
	u64 kept;

	setenv("SLABDEV_LIMIT", "512M", 1);
	setenv("SLABDEV_POLICY", "trim:256M", 1);
	sd = must_open(test, NULL);
	for (u32 i = 0; i < OBJECTS; i++)
		p[i] = must_alloc(test, sd, 3 * MIB);
	KUNIT_EXPECT_GE(test, figures(test, sd).mapped, OBJECTS * 3 * MIB);
	for (u32 i = 0; i < OBJECTS; i++)
		EXPECT_FREED(test, sd, p[i]);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	settle(test, sd);
	kept = figures(test, sd).mapped;
	KUNIT_EXPECT_LE(test, kept, CAP + handle_max(sd));
	KUNIT_EXPECT_GE(test, kept, CAP - handle_max(sd));
	close_space(test, sd);
}

void env_without_membarrier(struct kunit *test)
{
	struct slabdev *sd;

	setenv("SLABDEV_MEMBARRIER", "0", 1);
	sd = must_open(test, NULL);
	for (u32 i = 0; i < 10; i++)
		EXPECT_FREED(test, sd, must_alloc(test, sd, 1000));
	KUNIT_EXPECT_EQ(test, figures(test, sd).peak_live, 1024);
	close_space(test, sd);
}

void env_hides_statistics(struct kunit *test)
{
	struct slabdev *first, *sd;
	u32 before;

	setenv("SLABDEV_STATS", "0", 1);
	before = count_descriptors(test);
	first = open_first(test);
	if (on_host())
		KUNIT_EXPECT_EQ(test, count_descriptors(test), before);
	before = count_descriptors(test);
	sd = must_open(test, NULL);
	KUNIT_EXPECT_EQ(test, count_descriptors(test), before);
	close_space(test, sd);
	close_space(test, first);
}

void env_with_a_bad_value(struct kunit *test)
{
	setenv("SLABDEV_LIMIT", "lots", 1);
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), NULL), -EINVAL);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "SLABDEV_LIMIT"));
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "lots"));
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), NULL), -EINVAL);
}

void env_with_an_unknown_name(struct kunit *test)
{
	setenv("SLABDEV_LIMITS", "8M", 1);
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), NULL), -EINVAL);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "SLABDEV_LIMITS"));
}

/* ---- What the surroundings do ----------------------------------------- */

/* ulimit -f below a segment: growing the memfd would be a fatal signal. */
void small_file_limit_is_no_signal(struct kunit *test)
{
	const struct rlimit limit = { 4096, 4096 };
	struct slabdev *sd;
	void *p;

	KUNIT_ASSERT_EQ(test, setrlimit(RLIMIT_FSIZE, &limit), 0);
	sd = must_open(test, NULL);
	p = slabdev_alloc(sd, 100);
	KUNIT_EXPECT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), 0);
	close_space(test, sd);
}

/*
 * Goal: a program that closes descriptors it does not know keeps those that it
 * opens afterwards. Method: a pipe takes the numbers of all segments.
 */
void descriptors_of_others_are_left_alone(struct kunit *test)
{
	struct slabdev *sd = must_open(test, NULL);
	int own[2], taken[8];
	u32 i, n;

	KUNIT_ASSERT_EQ(test, pipe(own), 0);
	n = min(sd->nr_segments, (u32)ARRAY_SIZE(taken));
	for (i = 0; i < n; i++) {
		taken[i] = sd->segment[i].file.fd;
		if (taken[i] < 0)
			kunit_skip(test, "statistics are not published");
		KUNIT_ASSERT_EQ(test, dup2(own[0], taken[i]), taken[i]);
	}
	close_space(test, sd);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_GE(test, fcntl(taken[i], F_GETFD), 0);
}
