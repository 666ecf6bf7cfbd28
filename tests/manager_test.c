// SPDX-License-Identifier: BSD-2-Clause
/*
 * manager_test.c - managers, on what every machine has: host memory.
 *
 * A pair of kind and device is served as it was asked for, or refused; a token
 * is never a value, and a stale one never reaches another manager; nothing that
 * fails leaves anything behind. manager_life.c has tokens, frees, and the end,
 * manager_threads.c who else may call; cuda_manager has the pairs of a machine
 * with devices.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/manager.h"
#include "tests/manager_space.h"

/* ---- Pairs -------------------------------------------------------------- */

static void host_memory_is_opened_at_first_use(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, NULL);
	struct slabdev_ledger l;
	struct slabdev *sd;
	void *p;

	KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), 0);
	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger(m, HOST, &l, sizeof(l)),
			-ENOENT);
	p = slabdev_manager_alloc(m, HOST, 1000, 0);
	KUNIT_ASSERT_NOT_NULL(test, p);
	memset(p, 1, 1000);
	KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), 1);
	sd = host_of(test, m);
	KUNIT_EXPECT_STREQ(test, sd->spec, "host");
	KUNIT_EXPECT_PTR_EQ(test, host_of(test, m), sd);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_manager_space_of(m, p), sd);
	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger(m, HOST, &l, sizeof(l)),
			0);
	KUNIT_EXPECT_STREQ(test, l.spec, "host");
	KUNIT_EXPECT_EQ(test, l.kind, SLABDEV_MEMORY_HOST);
	KUNIT_EXPECT_EQ(test, l.device, SLABDEV_NO_DEVICE);
	KUNIT_EXPECT_EQ(test, l.spaces, 1);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), 1);
	end_manager(test, m);
}

struct pair {
	u32 kind;
	int device;
	int err;
	const char *text;
};

static const struct pair pairs_of_nothing[] = {
	{ 0, 0, EINVAL, "kind 0 is none" },
	{ 0, -1, EINVAL, "kind 0 is none" },
	{ 5, 0, EINVAL, "kind 5 is none" },
	{ UINT_MAX, 0, EINVAL, "kind 4294967295 is none" },
	{ SLABDEV_MEMORY_HOST, 0, EINVAL, "host memory on device 0" },
	{ SLABDEV_MEMORY_HOST, 1, EINVAL, "host memory on device 1" },
	{ SLABDEV_MEMORY_HOST, -2, EINVAL, "host memory on device -2" },
	{ SLABDEV_MEMORY_DEVICE, -1, EINVAL, "device memory on device -1" },
	{ SLABDEV_MEMORY_PINNED, -1, EINVAL, "pinned memory on device -1" },
	{ SLABDEV_MEMORY_MANAGED, INT_MIN, EINVAL, "managed memory on device" },
	{ SLABDEV_MEMORY_DEVICE, 10000, ENODEV, "device memory on device" },
	{ SLABDEV_MEMORY_PINNED, INT_MAX, ENODEV, "there is no such device" },
};

static void describe_pair(const struct pair *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "kind %u device %d", p->kind,
		 p->device);
}
KUNIT_ARRAY_PARAM(nothing, pairs_of_nothing, describe_pair)

/* Every call that takes a pair says the same of it, and opens nothing. */
static void expect_refused(struct kunit *test, struct slabdev_manager *m,
			   const struct pair *p)
{
	struct slabdev *sd = NULL;

	KUNIT_EXPECT_EQ(test, slabdev_manager_space(m, p->kind, p->device, &sd),
			-p->err);
	EXPECT_ERROR_HAS(test, p->text);
	KUNIT_EXPECT_EQ(test, slabdev_manager_open(m, p->kind, p->device, NULL,
						   &sd), -p->err);
	EXPECT_ERROR_HAS(test, p->text);
	KUNIT_EXPECT_ERRNO(test, slabdev_manager_alloc(m, p->kind, p->device,
						       100, 0), p->err);
	EXPECT_ERROR_HAS(test, p->text);
	KUNIT_EXPECT_NULL(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), 0);
}

static void pairs_of_nothing_are_refused(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, NULL);
	const struct pair *p = test->param_value;
	struct slabdev_ledger l, none = { .failed = 1, .device = -1 };

	expect_refused(test, m, p);
	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger(m, p->kind, p->device, &l,
						     sizeof(l)), -p->err);
	/* No figure but that of failures. */
	l = total_of(test, m);
	KUNIT_EXPECT_MEMEQ(test, &l, &none, sizeof(l));
	end_manager(test, m);
}

static const u32 cuda_kinds_of_memory[] = {
	SLABDEV_MEMORY_DEVICE, SLABDEV_MEMORY_PINNED, SLABDEV_MEMORY_MANAGED,
};
KUNIT_ARRAY_PARAM(cuda_kind, cuda_kinds_of_memory, NULL)

/*
 * Where there is no device, there is none: with or without CUDA in the build,
 * for the reason that discovery gives. "Device memory of device 0" was host
 * memory once.
 */
static void no_device_is_refused_as_discovery_says(struct kunit *test)
{
	struct pair pair = { *(const u32 *)test->param_value, 0, ENODEV, "" };
	struct slabdev_device_info info;
	struct slabdev_manager *m;

	setenv("SLABDEV_LIBCUDA", "/nonexistent", 1);
	m = new_manager(test, NULL);
	if (!IS_ENABLED(CONFIG_BACKEND_CUDA))
		pair.err = ENOTSUP;
	KUNIT_ASSERT_EQ(test, slabdev_device_count(), 2);
	KUNIT_ASSERT_EQ(test, slabdev_device_get(1, &info, sizeof(info)), 0);
	KUNIT_EXPECT_EQ(test, info.usable, 0);
	KUNIT_EXPECT_STRNEQ(test, info.reason, "");
	pair.text = info.reason;
	expect_refused(test, m, &pair);
	KUNIT_EXPECT_EQ(test, total_of(test, m).failed, 1);
	end_manager(test, m);
}

/* ---- Attributes --------------------------------------------------------- */

static void space_has_the_attributes_it_was_opened_with(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_manager *m = new_manager(test, NULL);
	struct slabdev *sd = NULL;

	attr.limit = 8 * MIB;
	attr.name = "small";
	KUNIT_EXPECT_EQ(test, slabdev_manager_open(m, HOST, &attr, &sd), 0);
	KUNIT_ASSERT_NOT_NULL(test, sd);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).limit, 8 * MIB);
	KUNIT_EXPECT_STREQ(test, sd->name, "small");
	KUNIT_EXPECT_PTR_EQ(test, host_of(test, m), sd);
	KUNIT_EXPECT_EQ(test, slabdev_manager_open(m, HOST, &attr, NULL),
			-EEXIST);
	EXPECT_ERROR_HAS(test, "has opened host already");
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_ERRNO(test, slabdev_manager_alloc(m, HOST, 9 * MIB, 0),
			   EDQUOT);
	KUNIT_EXPECT_EQ(test, total_of(test, m).failed, 1);
	end_manager(test, m);
}

/* What could not be opened is not there, and can be opened better. */
static void bad_attributes_open_nothing(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_manager *m = new_manager(test, NULL);
	struct slabdev *sd = NULL;

	attr.flags = 1u << 31;
	KUNIT_EXPECT_EQ(test, slabdev_manager_open(m, HOST, &attr, &sd),
			-EINVAL);
	attr.flags = 0;
	attr.backing = SLABDEV_BACKING_POOL;
	KUNIT_EXPECT_EQ(test, slabdev_manager_open(m, HOST, &attr, &sd),
			-ENOTSUP);
	attr.size = 1;
	KUNIT_EXPECT_EQ(test, slabdev_manager_open(m, HOST, &attr, &sd),
			-EINVAL);
	KUNIT_EXPECT_NULL(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), 0);
	KUNIT_EXPECT_EQ(test, slabdev_manager_open(m, HOST, NULL, &sd), 0);
	KUNIT_EXPECT_EQ(test, slabdev_manager_count(m), 1);
	end_manager(test, m);
}

static void name_is_in_the_names_of_spaces(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, "sim");

	KUNIT_EXPECT_STREQ(test, host_of(test, m)->name, "sim/host");
	end_manager(test, m);
	m = new_manager(test, NULL);
	KUNIT_EXPECT_STREQ(test, host_of(test, m)->name, "host");
	end_manager(test, m);
}

static void bad_names_are_refused(struct kunit *test)
{
	static const char *const names[] = {
		"", "tab\there", "\x7f", "two\nlines",
		"a-name-of-32-characters-is-much-",
	};
	struct slabdev_manager_attr attr = SLABDEV_MANAGER_ATTR_INIT;
	struct slabdev_manager *m = NULL;

	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		attr.name = names[i];
		KUNIT_EXPECT_EQ_MSG(test, slabdev_manager_create(&m, &attr),
				    -EINVAL, "'%s'", names[i]);
		EXPECT_ERROR_HAS(test, "attr.name");
	}
	KUNIT_EXPECT_NULL(test, m);
	attr.name = "a-name-of-31-characters-is-okay";
	KUNIT_ASSERT_EQ(test, slabdev_manager_create(&m, &attr), 0);
	KUNIT_EXPECT_STREQ(test, host_of(test, m)->name,
			   "a-name-of-31-characters-is-okay/host");
	end_manager(test, m);
}

static void attributes_of_another_version(struct kunit *test)
{
	struct {
		struct slabdev_manager_attr attr;
		u64 more;
	} newer = { { sizeof(newer), NULL }, 0 };
	struct slabdev_manager *m = NULL;

	KUNIT_ASSERT_EQ(test, slabdev_manager_create(&m, &newer.attr), 0);
	end_manager(test, m);
	m = NULL;
	newer.more = 1;
	KUNIT_EXPECT_EQ(test, slabdev_manager_create(&m, &newer.attr), -E2BIG);
	newer.attr.size = 0;
	KUNIT_EXPECT_EQ(test, slabdev_manager_create(&m, &newer.attr), -EINVAL);
	KUNIT_EXPECT_NULL(test, m);
	KUNIT_EXPECT_EQ(test, slabdev_manager_create(NULL, NULL), -EINVAL);
}

/* ---- Ledgers ------------------------------------------------------------ */

static void ledgers_are_numbered(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, NULL);
	struct slabdev_ledger l;

	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger_at(m, 0, &l, sizeof(l)),
			-ENOENT);
	(void)host_of(test, m);
	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger_at(m, 0, &l, sizeof(l)),
			0);
	KUNIT_EXPECT_STREQ(test, l.spec, "host");
	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger_at(m, 1, &l, sizeof(l)),
			-ENOENT);
	EXPECT_ERROR_HAS(test, "has 1 spaces");
	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger_at(m, -1, &l, sizeof(l)),
			-ENOENT);
	end_manager(test, m);
}

static void ledgers_fill_what_both_know(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, NULL);
	u64 older[3] = { 7, 7, 7 };

	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, slabdev_manager_alloc(m,
			HOST, 100, 0)), 0);
	KUNIT_EXPECT_EQ(test, slabdev_manager_total(m, (void *)older, 16), 0);
	KUNIT_EXPECT_EQ(test, older[0], 1);
	KUNIT_EXPECT_EQ(test, older[1], 1);
	KUNIT_EXPECT_EQ(test, older[2], 7);
	KUNIT_EXPECT_EQ(test, slabdev_manager_total(m, NULL, 16), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_manager_total(m, (void *)older, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger(m, HOST, NULL, 16),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_manager_ledger_at(m, 0, NULL, 16),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_manager_space(m, HOST, NULL), -EINVAL);
	end_manager(test, m);
}

static void report_is_a_table(struct kunit *test)
{
	struct slabdev_manager *m = new_manager(test, "sim");
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	void *p, *q;

	KUNIT_EXPECT_EQ(test, slabdev_manager_report(m, out), 0);
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "manager sim\nspace "));
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, "\ntotal"), "%s", text);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, "0       -       -\n"),
				  "%s", text);
	p = slabdev_manager_alloc(m, HOST, 1000, 0);
	q = slabdev_manager_alloc(m, HOST, 3000, 0);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_manager_report(m, out), 0);
	fclose(out);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, "\nhost  "), "%s", text);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, " 4000  25.0 %   0.0 %\n"),
				  "%s", text);
	free(text);
	KUNIT_EXPECT_EQ(test, slabdev_manager_report(m, NULL), -EINVAL);
	out = fopen("/dev/full", "we");
	KUNIT_EXPECT_EQ(test, slabdev_manager_report(m, out), -EIO);
	fclose(out);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, p), 0);
	end_manager(test, m);
}

/* ---- No host memory ----------------------------------------------------- */

static u64 host_calls, host_fail_at;

static bool host_fails(void)
{
	return ++host_calls >= host_fail_at && host_fail_at;
}

static int reserve_or_not(size_t size, void **addr)
{
	void *p;

	if (host_fails())
		return -ENOMEM;
	p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		 MAP_NORESERVE, -1, 0);
	*addr = p;
	return p == MAP_FAILED ? -ENOMEM : 0;
}

static int commit_or_not(void *addr, size_t size)
{
	if (host_fails() || mprotect(addr, size, PROT_READ | PROT_WRITE))
		return -ENOMEM;
	return 0;
}

/* Of a thread that gets no memory for its texts either, this is all there is
 * to say. */
static void expect_says_why(struct kunit *test)
{
	const char *text = slabdev_last_error();

	KUNIT_EXPECT_TRUE_MSG(test, strstr(text, "no host memory") ||
			      strstr(text, "no memory for its text"), "%s",
			      text);
}

static void drop_message(int level, int kind, const char *text, void *arg)
{
	(void)level;
	(void)kind;
	(void)text;
	(void)arg;
}

/* False when all of it takes fewer than @n calls for host memory. */
static bool run_without_host(struct kunit *test, u64 n)
{
	struct slabdev_manager *m = NULL;
	bool reached;
	void *p;

	host_calls = 0;
	host_fail_at = n;
	if (slabdev_manager_create(&m, NULL)) {
		KUNIT_EXPECT_NULL(test, m);
		expect_says_why(test);
		return true;
	}
	p = slabdev_manager_alloc(m, HOST, 100, 0);
	reached = host_calls >= n;
	host_fail_at = 0;
	if (!p) {
		KUNIT_EXPECT_EQ(test, errno, ENOMEM);
		KUNIT_EXPECT_EQ(test, total_of(test, m).failed, 1);
		p = slabdev_manager_alloc(m, HOST, 100, 0);
	}
	KUNIT_EXPECT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(test, total_of(test, m).allocs, 1);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, p), 0);
	end_manager(test, m);
	return reached;
}

/* Each call for it fails, and all behind it; then there is enough again. */
static void host_memory_may_lack_anywhere(struct kunit *test)
{
	u64 n = 1;

	/* Some failures end in a report, others earlier. */
	log_set_sink(drop_message, NULL);
	kunit_activate_static_stub(test, os_reserve, reserve_or_not);
	kunit_activate_static_stub(test, os_commit, commit_or_not);
	while (run_without_host(test, n))
		n++;
	KUNIT_EXPECT_GT(test, n, 10);
}

static const struct kunit_case manager_cases[] = {
	KUNIT_CASE(host_memory_is_opened_at_first_use),
	KUNIT_CASE_PARAM(pairs_of_nothing_are_refused, nothing_gen_params),
	KUNIT_CASE_PARAM(no_device_is_refused_as_discovery_says,
			 cuda_kind_gen_params, .isolated = true),
	KUNIT_CASE(space_has_the_attributes_it_was_opened_with),
	KUNIT_CASE(bad_attributes_open_nothing),
	KUNIT_CASE(name_is_in_the_names_of_spaces),
	KUNIT_CASE(bad_names_are_refused),
	KUNIT_CASE(attributes_of_another_version),
	KUNIT_CASE(stale_token_is_refused_for_ever),
	KUNIT_CASE(what_never_was_a_manager_is_refused),
	KUNIT_CASE(copy_of_a_token_is_the_same_manager),
	KUNIT_CASE(managers_share_nothing),
	KUNIT_CASE_ISOLATED(as_many_managers_as_there_can_be),
	KUNIT_CASE(wrong_pointers_are_refused),
	KUNIT_CASE(any_object_of_its_spaces_can_be_freed),
	KUNIT_CASE(frees_of_others_do_not_lower_the_peak),
	KUNIT_CASE(destroy_refuses_while_something_is_live),
	KUNIT_CASE(destroy_insists_when_it_is_told_to),
	KUNIT_CASE_ISOLATED(space_closed_behind_its_back_is_noticed),
	KUNIT_CASE(ledgers_are_numbered),
	KUNIT_CASE(ledgers_fill_what_both_know),
	KUNIT_CASE(report_is_a_table),
	KUNIT_CASE(first_users_at_once_get_one_space),
	KUNIT_CASE(call_from_within_an_open_does_not_hang),
	KUNIT_CASE_ISOLATED(manager_survives_a_fork),
	KUNIT_CASE_ISOLATED(host_memory_may_lack_anywhere),
	{}
};

static const struct kunit_suite manager_suite = {
	.name = "manager",
	.cases = manager_cases,
};
kunit_test_suite(manager_suite);
