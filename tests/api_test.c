// SPDX-License-Identifier: BSD-2-Clause
/*
 * api_test.c - the calls that tell: version, errors, devices, explain, report.
 */
#include <pthread.h>
#include <stdio.h>

#include "slab/slab.h"
#include "tests/open_space.h"

/* ---- The library ------------------------------------------------------ */

static void version_is_the_header_s(struct kunit *test)
{
	char numbers[32];

	snprintf(numbers, sizeof(numbers), "%d.%d.%d", SLABDEV_VERSION_MAJOR,
		 SLABDEV_VERSION_MINOR, SLABDEV_VERSION_PATCH);
	KUNIT_EXPECT_STREQ(test, slabdev_version(), SLABDEV_VERSION);
	KUNIT_EXPECT_STREQ(test, slabdev_version(), numbers);
}

static void *other_thread(void *arg)
{
	struct kunit *test = arg;

	KUNIT_EXPECT_STREQ(test, slabdev_last_error(), "");
	KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(NULL), -EINVAL);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "shrink"));
	return NULL;
}

static void errors_belong_to_their_thread(struct kunit *test)
{
	pthread_t thread;

	KUNIT_EXPECT_EQ(test, slabdev_trim(NULL, 0), -EINVAL);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "trim"));
	KUNIT_ASSERT_EQ(test, pthread_create(&thread, NULL, other_thread, test),
			0);
	pthread_join(thread, NULL);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "trim"));
}

static void no_space_is_einval_everywhere(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	KUNIT_EXPECT_EQ(test, slabdev_set_policy(NULL, &policy), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(test->priv, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_prime(NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_poll(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_validate(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_report(NULL, stderr), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_report(test->priv, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_register_shrinker(NULL, NULL, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_register_shrinker(test->priv, NULL, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_unregister_shrinker(NULL, NULL, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_unregister_shrinker(test->priv, NULL,
							  NULL), -EINVAL);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "unregister"));
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(NULL, 0, NULL), EINVAL);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(NULL, 3 * MIB, NULL), EINVAL);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "alloc_ex"));
}

/* ---- The log ---------------------------------------------------------- */

struct heard {
	char text[1000];
	int level;
	u32 nr;
};

static void hear(int level, const char *text, void *arg)
{
	struct heard *h = arg;

	h->level = level;
	h->nr++;
	snprintf(h->text, sizeof(h->text), "%s", text);
}

static void reports_go_to_the_user(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct heard h = { .nr = 0 };
	void *p = must_alloc(test, sd, 1000);

	/* Without the harness, whose ear comes before the user's. */
	log_set_sink(NULL, NULL);
	slabdev_set_log(hear, &h);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, (char *)p + 256), -EINVAL);
	slabdev_set_log(NULL, NULL);
	KUNIT_EXPECT_EQ(test, h.nr, 1);
	KUNIT_EXPECT_EQ(test, h.level, SLABDEV_LOG_ERROR);
	KUNIT_EXPECT_TRUE_MSG(test, strstr(h.text, "BUG slabdev"), "%s",
			      h.text);
	EXPECT_FREED(test, sd, p);
}

static void policies_are_checked(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct {
		struct slabdev_policy policy;
		u64 unknown;
	} newer = { .policy = SLABDEV_POLICY_INIT };

	newer.policy.size = sizeof(newer);
	for (u32 mode = SLABDEV_RETAIN; mode <= SLABDEV_AGGRESSIVE; mode++) {
		newer.policy.mode = mode;
		KUNIT_EXPECT_EQ(test, slabdev_set_policy(sd, &newer.policy), 0);
	}
	newer.unknown = 1;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(sd, &newer.policy), -E2BIG);
	newer.unknown = 0;
	newer.policy.mode = 0;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(sd, &newer.policy), -EINVAL);
	newer.policy.mode = 4;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(sd, &newer.policy), -EINVAL);
	newer.policy.mode = SLABDEV_RETAIN;
	newer.policy.flags = 2;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(sd, &newer.policy), -EINVAL);
}

/* ---- Devices ---------------------------------------------------------- */

static void devices_can_be_opened(struct kunit *test)
{
	struct slabdev_device_info info;
	struct slabdev *sd = NULL;
	int n = slabdev_device_count();

	KUNIT_ASSERT_GE(test, n, 1);
	for (int i = 0; i < n; i++) {
		KUNIT_ASSERT_EQ(test, slabdev_device_get(i, &info,
							 sizeof(info)), 0);
		KUNIT_EXPECT_TRUE(test, strlen(info.name) > 0);
		KUNIT_EXPECT_EQ(test, info.usable, info.reason[0] == '\0');
		if (!info.usable)
			continue;
		KUNIT_EXPECT_GT(test, info.memory_total, 0);
		KUNIT_EXPECT_LE(test, info.memory_free, info.memory_total);
		KUNIT_EXPECT_EQ(test, info.granularity > 0,
				!i || (info.features & SLABDEV_DEVICE_VMM));
		KUNIT_EXPECT_EQ(test, info.granularity & (info.granularity - 1),
				0);
		KUNIT_ASSERT_EQ(test, slabdev_open(&sd, info.spec, NULL), 0);
		close_space(test, sd);
	}
}

static void device_get_checks_its_arguments(struct kunit *test)
{
	struct {
		struct slabdev_device_info info;
		u64 more;
	} newer = { .more = 9 };
	char spec[] = "xxxxxxxx";

	KUNIT_EXPECT_EQ(test, slabdev_device_get(-1, &newer.info,
						 sizeof(newer.info)), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_device_get(slabdev_device_count(),
						 &newer.info,
						 sizeof(newer.info)), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_device_get(0, NULL, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_device_get(0, &newer.info, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, newer.more, 9);
	KUNIT_EXPECT_EQ(test, slabdev_device_get(0, (void *)spec, 5), 0);
	KUNIT_EXPECT_MEMEQ(test, spec, "host\0xxx", 9);
	KUNIT_EXPECT_EQ(test, slabdev_device_get(0, &newer.info,
						 sizeof(newer)), 0);
	KUNIT_EXPECT_EQ(test, newer.more, 0);
}

/* ---- Explain ---------------------------------------------------------- */

static void explains(struct kunit *test, const void *p, int answer,
		     const char *words)
{
	char buf[256] = "";

	KUNIT_EXPECT_EQ_MSG(test, slabdev_explain(p, buf, sizeof(buf)), answer,
			    "%s", buf);
	KUNIT_EXPECT_TRUE_MSG(test, strstr(buf, words), "\"%s\" has no \"%s\"",
			      buf, words);
	/* Of what is live there are more lines: explain_test.c. */
	KUNIT_EXPECT_EQ(test, strchr(buf, '\n') != NULL, !answer);
	if (answer >= 0)
		KUNIT_EXPECT_TRUE_MSG(test, strstr(buf, "space test"), "%s",
				      buf);
}

static void explain_objects(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	char *p = must_alloc(test, sd, 1000);

	explains(test, p, 0, "is a live object of alloc-1024");
	explains(test, p, 0, "1000 bytes asked for, 1024 usable");
	explains(test, p + 1, 0, "1 bytes inside a live object of alloc-1024");
	explains(test, p + 1023, 0, "is 1023 bytes inside a live");
	explains(test, p - 1024, 1, "is a free object of alloc-1024");
	explains(test, p - 1, 1, "is 1023 bytes inside a free");
	explains(test, p + MIB, 1, "no object");
	EXPECT_FREED(test, sd, p);
	explains(test, p, 1, "is a free object of alloc-1024");
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	explains(test, p, 1, "was an object of alloc-1024");
}

static void explain_large_objects(struct kunit *test)
{
	const size_t sizes[] = { 3 * MIB + 5, 65 * MIB + 5 };
	struct slabdev *sd = test->priv;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char *p = must_alloc(test, sd, sizes[i]);
		char words[64];

		snprintf(words, sizeof(words), "%zu bytes asked for",
			 sizes[i]);
		explains(test, p, 0, words);
		explains(test, p, 0, "is a live object of large");
		explains(test, p + 2 * MIB + 1, 0,
			 "is 2097153 bytes inside a live object of large");
		EXPECT_FREED(test, sd, p);
		explains(test, p, 1, "was an object of large");
	}
}

static void explain_objects_of_caches(struct kunit *test)
{
	const size_t sizes[] = { 40, 768, 3 * MIB };
	struct slabdev *sd = test->priv;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct slabdev_cache *c = NULL;
		char *p;

		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&c, sd, "blocks",
							   sizes[i], NULL), 0);
		p = slabdev_cache_alloc(c);
		explains(test, p, 0, "is a live object of blocks");
		explains(test, p + 7, 0, "7 bytes inside a live object of "
					 "blocks");
		if (sizes[i] == 768)
			explains(test, p - (uintptr_t)p % SLICE_SIZE +
				 SLICE_SIZE - 1, 1, "unused tail");
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(c, p), 0);
		KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(c), 0);
	}
}

static void explain_what_is_not_ours(struct kunit *test)
{
	struct slabdev *sd = open_space(test, GIB);
	void *p = must_alloc(test, sd, 10);

	explains(test, p, 0, "live");
	explains(test, NULL, -ENOENT, "no address of any open space");
	explains(test, &p, -ENOENT, "no address of any open space");
	explains(test, (void *)UINTPTR_MAX, -ENOENT, "no address");
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
	explains(test, p, -ENOENT, "no address of any open space");
}

/* The space that has the address answers, whatever was opened after it. */
static void explain_among_spaces(struct kunit *test)
{
	struct slabdev *sd = open_space(test, GIB);
	void *p = must_alloc(test, test->priv, 10);
	void *q = must_alloc(test, sd, 3000);

	explains(test, p, 0, "10 bytes asked for");
	explains(test, q, 0, "3000 bytes asked for");
	EXPECT_FREED(test, test->priv, p);
	EXPECT_FREED(test, sd, q);
	close_space(test, sd);
}

/* Its tables may be gone. White-box: as they are while another thread closes
 * the space. */
static void explain_while_a_space_is_closing(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 10);

	sd->closing = true;
	explains(test, p, -ENOENT, "no address of any open space");
	sd->closing = false;
	explains(test, p, 0, "live");
	EXPECT_FREED(test, sd, p);
}

static void explain_memory_of_a_cache_that_is_gone(struct kunit *test)
{
	const size_t sizes[] = { 40, 768 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct slabdev_cache *c = NULL;
		void *p;

		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&c, test->priv,
						"blocks", sizes[i], NULL), 0);
		p = slabdev_cache_alloc(c);
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(c, p), 0);
		KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(c), 0);
		explains(test, p, 1, "there is no object");
	}
}

static void explain_cuts_to_the_buffer(struct kunit *test)
{
	void *p = must_alloc(test, test->priv, 10);
	char buf[9] = "zzzzzzzz";

	KUNIT_EXPECT_EQ(test, slabdev_explain(p, buf, 1), 0);
	KUNIT_EXPECT_EQ(test, buf[0], '\0');
	KUNIT_EXPECT_EQ(test, buf[1], 'z');
	KUNIT_EXPECT_EQ(test, slabdev_explain(p, buf, 5), 0);
	KUNIT_EXPECT_EQ(test, strlen(buf), 4);
	KUNIT_EXPECT_EQ(test, buf[5], 'z');
	KUNIT_EXPECT_EQ(test, slabdev_explain(p, NULL, 5), -EINVAL);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "buf is NULL"));
	KUNIT_EXPECT_EQ(test, slabdev_explain(p, buf, 0), -EINVAL);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "len is 0"));
	EXPECT_FREED(test, test->priv, p);
}

/* ---- Report ----------------------------------------------------------- */

static void report_says_where_the_bytes_are(struct kunit *test)
{
	char headline[100];
	const char *words[] = {
		headline, ", limit 1073741824 bytes", "mapped",
		"retained", "1 objects live, 2 allocated, 1 freed, 0 failed",
		"alloc-1024", "large", "            1000",
	};
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 1000);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	snprintf(headline, sizeof(headline), "space test (%s", test_spec());
	KUNIT_ASSERT_NOT_NULL(test, out);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 5 * MIB));
	KUNIT_EXPECT_EQ(test, slabdev_report(sd, out), 0);
	fclose(out);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		KUNIT_EXPECT_TRUE_MSG(test, strstr(text, words[i]),
				      "no \"%s\" in\n%s", words[i], text);
	free(text);
	EXPECT_FREED(test, sd, p);
}

static void report_to_a_full_device_fails(struct kunit *test)
{
	FILE *out = fopen("/dev/full", "w");

	if (!out)
		kunit_skip(test, "there is no /dev/full");
	KUNIT_EXPECT_EQ(test, slabdev_report(test->priv, out), -EIO);
	KUNIT_EXPECT_TRUE(test, strlen(slabdev_last_error()) > 0);
	setvbuf(out, NULL, _IONBF, 0);
	KUNIT_EXPECT_EQ(test, slabdev_report(test->priv, out), -EIO);
	fclose(out);
}

static const struct kunit_case api_cases[] = {
	KUNIT_CASE(version_is_the_header_s),
	KUNIT_CASE(errors_belong_to_their_thread),
	KUNIT_CASE(no_space_is_einval_everywhere),
	KUNIT_CASE_ISOLATED(reports_go_to_the_user),
	KUNIT_CASE(policies_are_checked),
	KUNIT_CASE(devices_can_be_opened),
	KUNIT_CASE(device_get_checks_its_arguments),
	KUNIT_CASE(explain_objects),
	KUNIT_CASE(explain_large_objects),
	KUNIT_CASE(explain_objects_of_caches),
	KUNIT_CASE(explain_what_is_not_ours),
	KUNIT_CASE(explain_among_spaces),
	KUNIT_CASE(explain_while_a_space_is_closing),
	KUNIT_CASE(explain_memory_of_a_cache_that_is_gone),
	KUNIT_CASE(explain_cuts_to_the_buffer),
	KUNIT_CASE(report_says_where_the_bytes_are),
	KUNIT_CASE(report_to_a_full_device_fails),
	{}
};

static const struct kunit_suite api_suite = {
	.name = "api",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = api_cases,
	.any_space = true,
};
kunit_test_suite(api_suite);
