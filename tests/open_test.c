// SPDX-License-Identifier: BSD-2-Clause
/*
 * open_test.c - spaces come and go: attributes, limits, leaks.
 *
 * What the environment says is in open_env.c.
 */
#include <stdio.h>

#include "slab/slab.h"
#include "tests/descriptors.h"
#include "tests/open_try.h"
#include "tests/sanitizers.h"

/* ---- What is opened --------------------------------------------------- */

static void specs(struct kunit *test)
{
	const char *unknown[] = {
		"", "hos", "host0", "host:", "host:0", "HOST", " host", "cpu",
		"cuda", "device", "%s%s%s%n",
	};
	const char *other_builds[] = {
		"cuda:0", "cuda:GPU-0", "cuda-host:0", "cuda-managed:0",
	};

	KUNIT_EXPECT_EQ(test, try_open(test, "host", NULL), 0);
	KUNIT_EXPECT_EQ(test, try_open(test, NULL, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_open(NULL, "host", NULL), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		KUNIT_EXPECT_EQ_MSG(test, try_open(test, unknown[i], NULL),
				    -EINVAL, "%s", unknown[i]);
	for (size_t i = 0; i < ARRAY_SIZE(other_builds) &&
	     !IS_ENABLED(CONFIG_BACKEND_CUDA); i++)
		KUNIT_EXPECT_EQ_MSG(test, try_open(test, other_builds[i], NULL),
				    -ENOTSUP, "%s", other_builds[i]);
}

static void bad_attributes(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.flags = 0x40;
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), &attr), -EINVAL);
	attr.flags = 0;
	attr.ranks = 1;
	attr.limit_permille = 1001;
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), &attr), -EINVAL);
	attr.limit_permille = 0;
	attr.size = 0;
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), &attr), -EINVAL);
	attr.size = sizeof(attr);
	attr.limit = 1;
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), &attr), -EDQUOT);
	attr.limit = 2 * MIB - 1;
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), &attr), -EDQUOT);
	attr.limit = 2 * MIB;
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), &attr), 0);
}

/* Reports are read by people and by programs, line by line. */
static void names_are_fit_for_reports(struct kunit *test)
{
	static const char *const bad[] = { "a\nb", "\x1b[31m", "a\x7f", "\t" };
	static const char *const good[] = { "", "two words", "\xc3\xa9" };
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		attr.name = bad[i];
		KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), &attr),
				-EINVAL);
		KUNIT_EXPECT_NOT_NULL(test, strstr(slabdev_last_error(),
						   "attr.name: character"));
	}
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		attr.name = good[i];
		KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), &attr), 0);
	}
}

static void refuse_open(struct kunit *test, const struct slabdev_attr *attr,
			const char *text)
{
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), attr), -EINVAL);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(slabdev_last_error(), text),
				  "%s", slabdev_last_error());
}

/* What is wrong is named, and nothing else. */
static void bad_attributes_are_named(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;

	attr.policy.mode = 4;
	refuse_open(test, &attr, "attr.policy.mode 4 ");
	attr.policy.mode = 0;
	attr.policy.flags = 2;
	refuse_open(test, &attr, "attr.policy.flags 0x2 ");
	attr.policy.flags = 0;
	attr.reserved = 5;
	refuse_open(test, &attr, "attr.reserved 5 ");
	attr.reserved = 0;
	attr.ordering = 3;
	refuse_open(test, &attr, "attr.ordering 3 ");
	attr.ordering = 0;
	sd = must_open(test, &attr);
	policy.mode = SLABDEV_TRIM;
	policy.flags = 2;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(sd, &policy), -EINVAL);
	KUNIT_EXPECT_NOT_NULL(test, strstr(slabdev_last_error(),
					   "policy.flags 0x2 "));
	KUNIT_EXPECT_NULL(test, strstr(slabdev_last_error(), "policy.mode"));
	close_space(test, sd);
}

static void other_versions_of_the_attributes(struct kunit *test)
{
	struct {
		struct slabdev_attr attr;
		u64 unknown;
	} newer = { .attr = SLABDEV_ATTR_INIT };
	struct slabdev_attr older = SLABDEV_ATTR_INIT;
	struct slabdev *sd;

	newer.attr.size = sizeof(newer);
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), &newer.attr), 0);
	newer.unknown = 1;
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), &newer.attr), -E2BIG);
	older.size = offsetof(struct slabdev_attr, reserve);
	older.limit = 8 * MIB;
	older.flags = 0xffff;
	sd = must_open(test, &older);
	KUNIT_EXPECT_EQ(test, figures(test, sd).limit, 8 * MIB);
	close_space(test, sd);
}

static void limit_is_whole_chunks(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 5 * MIB);
	void *p;

	KUNIT_EXPECT_EQ(test, figures(test, sd).limit, 4 * MIB);
	p = must_alloc(test, sd, 4 * MIB);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(sd, 1), EDQUOT);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

static void reservation_is_chosen_or_given(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;

	attr.limit = 64 * MIB;
	sd = must_open(test, &attr);
	if (has_regions(sd)) {
		close_space(test, sd);
		kunit_skip(test, "a reservation is memory there");
	}
	KUNIT_EXPECT_GE(test, figures(test, sd).reserved, 8 * 64 * MIB);
	close_space(test, sd);
	attr.reserve = 128 * MIB;
	sd = must_open(test, &attr);
	KUNIT_EXPECT_EQ(test, figures(test, sd).reserved, 128 * MIB);
	close_space(test, sd);
}

static void opening_maps_nothing(struct kunit *test)
{
	struct slabdev *sd = must_open(test, NULL);
	struct slabdev_stats st = figures(test, sd);

	KUNIT_EXPECT_EQ(test, st.mapped, 0);
	KUNIT_EXPECT_EQ(test, st.handles, 0);
	KUNIT_EXPECT_GT(test, st.limit, 0);
	close_space(test, sd);
}

static void flags_have_an_effect(struct kunit *test)
{
	const u32 flags[] = {
		SLABDEV_OPEN_PRIVATE_STATS, SLABDEV_OPEN_HUGE_PAGES,
		SLABDEV_OPEN_NO_SHEAVES, 0x7,
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct slabdev_attr attr = SLABDEV_ATTR_INIT;
		struct slabdev_stats st;
		struct slabdev *sd;

		attr.flags = flags[i];
		attr.limit = GIB;
		if (!on_host() && (flags[i] & SLABDEV_OPEN_HUGE_PAGES)) {
			KUNIT_EXPECT_EQ(test, try_open(test, test_spec(),
						       &attr), -ENOTSUP);
			continue;
		}
		sd = must_open(test, &attr);
		for (u32 k = 0; k < 10; k++)
			EXPECT_FREED(test, sd, must_alloc(test, sd, 1000));
		st = figures(test, sd);
		/* What sheaves hold was handed to the thread. */
		if (flags[i] & SLABDEV_OPEN_NO_SHEAVES)
			KUNIT_EXPECT_EQ(test, st.peak_live, 1024);
		else
			KUNIT_EXPECT_GT(test, st.peak_live, 1024);
		close_space(test, sd);
	}
}

/* ---- How many --------------------------------------------------------- */

static void as_many_as_256(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd[256];
	void *p[256];

	attr.limit = 4 * MIB;
	attr.flags = SLABDEV_OPEN_PRIVATE_STATS;
	for (u32 i = 0; i < 256; i++) {
		sd[i] = must_open(test, &attr);
		p[i] = must_alloc(test, sd[i], 100 + i);
	}
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), &attr), -ENFILE);
	for (u32 i = 0; i < 256; i++)
		KUNIT_EXPECT_EQ(test, figures(test, sd[i]).live, 100 + i);
	EXPECT_FREED(test, sd[77], p[77]);
	close_space(test, sd[77]);
	KUNIT_EXPECT_EQ(test, try_open(test, test_spec(), &attr), 0);
	for (u32 i = 0; i < 256; i++) {
		if (i == 77)
			continue;
		EXPECT_FREED(test, sd[i], p[i]);
		KUNIT_EXPECT_EQ(test, slabdev_close(sd[i], 0), 0);
	}
}

static u32 nr_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	u32 n = 0;
	int c;

	while (f && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

/* Small and large objects, a cache, then all is left to the close. */
static void open_use_close(struct kunit *test, u32 flags)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_cache *c;
	struct slabdev *sd;
	void *p;

	attr.limit = GIB;
	attr.flags = flags;
	sd = must_open(test, &attr);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 1000));
	EXPECT_FREED(test, sd, must_alloc(test, sd, 3 * MIB));
	EXPECT_FREED(test, sd, must_alloc(test, sd, 66 * MIB));
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&c, sd, "c", 24, NULL), 0);
	p = slabdev_cache_alloc(c);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(c, p), 0);
	KUNIT_ASSERT_EQ(test, slabdev_close(sd, 0), 0);
}

static void a_thousand_times_without_growth(struct kunit *test)
{
	const u32 flags[] = { 0, SLABDEV_OPEN_PRIVATE_STATS };
	u32 descriptors = 0, mappings = 0;

	for (u32 i = 0; i < 1000; i++) {
		if (i == 20) {
			descriptors = count_descriptors(test);
			mappings = nr_mappings();
		}
		open_use_close(test, flags[i % 2]);
	}
	KUNIT_EXPECT_EQ(test, count_descriptors(test), descriptors);
	KUNIT_EXPECT_LE(test, nr_mappings(), mappings + 4);
}

static void statistics_can_be_private(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *first = open_first(test), *sd;
	u32 before = count_descriptors(test);

	attr.flags = SLABDEV_OPEN_PRIVATE_STATS;
	sd = must_open(test, &attr);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 100));
	KUNIT_EXPECT_EQ(test, count_descriptors(test), before);
	close_space(test, sd);
	sd = must_open(test, NULL);
	if (IS_ENABLED(CONFIG_SLAB_SEGMENT))
		KUNIT_EXPECT_GT(test, count_descriptors(test), before);
	close_space(test, sd);
	KUNIT_EXPECT_EQ(test, count_descriptors(test), before);
	close_space(test, first);
}

static void count_opened(int level, int kind, const char *text, void *arg)
{
	u32 *n = arg;

	*n += level == LOG_INFO && kind < 0 && strstr(text, "test opened");
}

static void opening_is_a_message_of_the_log(struct kunit *test)
{
	struct slabdev *sd;
	u32 n = 0;

	setenv("SLABDEV_LOG", "info", 1);
	log_set_sink(count_opened, &n);
	sd = open_space(test, GIB);
	KUNIT_EXPECT_EQ(test, n, 1);
	close_space(test, sd);
}

static void opening_needs_a_key(struct kunit *test)
{
	pthread_key_t key[PTHREAD_KEYS_MAX];
	struct slabdev *sd = NULL;
	int n = 0;

	host_only(test, "a driver needs keys of its own");
	while (n < PTHREAD_KEYS_MAX && !pthread_key_create(&key[n], NULL))
		n++;
	KUNIT_EXPECT_EQ(test, slabdev_open(&sd, test_spec(), NULL),
			-EAGAIN);
	KUNIT_EXPECT_NULL(test, sd);
	while (n)
		pthread_key_delete(key[--n]);
	close_space(test, must_open(test, NULL));
}

/* ---- Close ------------------------------------------------------------ */

static void close_refuses_while_objects_live(struct kunit *test)
{
	struct slabdev *sd = open_space(test, GIB);
	void *p = must_alloc(test, sd, 1234);
	void *q = must_alloc(test, sd, 3 * MIB);
	char line[64];

	for (u32 i = 0; i < 2; i++) {
		kunit_expect_report(test, REPORT_LIVE_OBJECTS);
		KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EBUSY);
		snprintf(line, sizeof(line), "Object %p size=1234", p);
		KUNIT_EXPECT_REPORT_HAS(test, line);
		snprintf(line, sizeof(line), "Object %p size=3145728 large", q);
		KUNIT_EXPECT_REPORT_HAS(test, line);
		KUNIT_EXPECT_REPORT_HAS(test, "2 objects are live");
		KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "2 live"));
	}
	/* It stays usable. */
	EXPECT_FREED(test, sd, must_alloc(test, sd, 1234));
	EXPECT_FREED(test, sd, p);
	EXPECT_FREED(test, sd, q);
	close_space(test, sd);
}

static void force_closes_what_is_live(struct kunit *test)
{
	struct slabdev *first = open_first(test);
	u32 descriptors = count_descriptors(test), mappings = nr_mappings();

	for (u32 i = 0; i < 20; i++) {
		struct slabdev *sd = open_space(test, GIB);
		struct slabdev_cache *c;

		must_alloc(test, sd, 100);
		must_alloc(test, sd, 2 * MIB);
		must_alloc(test, sd, 100 * MIB);
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&c, sd, "c", 50,
							   NULL), 0);
		KUNIT_EXPECT_NOT_NULL(test, slabdev_cache_alloc(c));
		KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE),
				0);
	}
	KUNIT_EXPECT_EQ(test, count_descriptors(test), descriptors);
	/* Its own tables come as they are needed. */
	if (!IS_THREAD_SANITIZED)
		KUNIT_EXPECT_LE(test, nr_mappings(), mappings + 4);
	close_space(test, first);
}

static void close_checks_its_arguments(struct kunit *test)
{
	struct slabdev *sd = open_space(test, GIB);

	KUNIT_EXPECT_EQ(test, slabdev_close(NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0x2), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_close((void *)test, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_close((void *)(uintptr_t)8, 0), -EINVAL);
	close_space(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE), -EINVAL);
}

static const struct kunit_case open_cases[] = {
	KUNIT_CASE(specs),
	KUNIT_CASE(bad_attributes),
	KUNIT_CASE(bad_attributes_are_named),
	KUNIT_CASE(names_are_fit_for_reports),
	KUNIT_CASE(other_versions_of_the_attributes),
	KUNIT_CASE(limit_is_whole_chunks),
	KUNIT_CASE(reservation_is_chosen_or_given),
	KUNIT_CASE(opening_maps_nothing),
	KUNIT_CASE(flags_have_an_effect),
	KUNIT_CASE(as_many_as_256),
	KUNIT_CASE_SLOW(a_thousand_times_without_growth),
	KUNIT_CASE(statistics_can_be_private),
	KUNIT_CASE_ISOLATED(opening_is_a_message_of_the_log),
	KUNIT_CASE_ISOLATED(opening_needs_a_key),
	KUNIT_CASE(close_refuses_while_objects_live),
	KUNIT_CASE(force_closes_what_is_live),
	KUNIT_CASE(close_checks_its_arguments),
	KUNIT_CASE_ISOLATED(small_file_limit_is_no_signal),
	KUNIT_CASE_ISOLATED(descriptors_of_others_are_left_alone),
	KUNIT_CASE_ISOLATED(env_limit),
	KUNIT_CASE_ISOLATED(env_limit_as_a_fraction),
	KUNIT_CASE_ISOLATED(env_reserve_and_policy),
	KUNIT_CASE_ISOLATED(env_caps_what_is_kept),
	KUNIT_CASE_ISOLATED(env_without_membarrier),
	KUNIT_CASE_ISOLATED(env_hides_statistics),
	KUNIT_CASE_ISOLATED(env_with_a_bad_value),
	KUNIT_CASE_ISOLATED(env_with_an_unknown_name),
	{}
};

static const struct kunit_suite open_suite = {
	.name = "open",
	.cases = open_cases,
	.any_space = true,
};
kunit_test_suite(open_suite);
