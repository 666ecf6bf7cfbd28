// SPDX-License-Identifier: BSD-2-Clause
/*
 * hostmem_test.c - the host refuses memory for the library's own tables.
 *
 * Each call for it fails in turn: below an open, of which then nothing may be
 * left, neither a mapping nor a descriptor; below a growth, after which some
 * tables reach further than others and every address of the reservation may
 * still be asked about; and from some moment on for good, while caches, objects
 * and threads become more.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/slab.h"
#include "tests/damage.h"
#include "tests/descriptors.h"
#include "tests/open_space.h"
#include "tests/sanitizers.h"

static u64 calls, first_failure, last_failure;

static bool fails(void)
{
	calls++;
	return calls >= first_failure && calls <= last_failure;
}

static void fail_calls(u64 first, u64 last)
{
	calls = 0;
	first_failure = first;
	last_failure = last;
}

/* Stand in for the wrappers; what does not fail is done by hand. */
static int reserve_or_not(size_t size, void **addr)
{
	void *p;

	if (fails())
		return -ENOMEM;
	p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		 MAP_NORESERVE, -1, 0);
	*addr = p;
	return p == MAP_FAILED ? -ENOMEM : 0;
}

static int commit_or_not(void *addr, size_t size)
{
	if (fails() || mprotect(addr, size, PROT_READ | PROT_WRITE))
		return -ENOMEM;
	return 0;
}

static int no_segment(const char *name, size_t size, void **addr)
{
	(void)name;
	(void)size;
	(void)addr;
	return -ENOSYS;
}

static struct slabdev *device_of;

/* Memory for the user's objects, and none for tables. */
static int commit_objects_only(void *addr, size_t size)
{
	u64 at = (u64)(uintptr_t)addr - device_of->base;

	if (at >= device_of->vmm.base_bytes)
		return -ENOMEM;
	return mprotect(addr, size, PROT_READ | PROT_WRITE) ? -ENOMEM : 0;
}

/*
 * Objects that begin in the last free slices: growth continues the mapping just
 * there, until the tables cannot follow.
 */
static void extension_is_undone(struct kunit *test)
{
	struct slabdev *sd = case_space(test, GIB);
	struct slabdev_stats before;
	static void *p[300];
	u32 n = 0;

	p[n++] = must_alloc(test, sd, 3 * MIB);
	device_of = sd;
	kunit_activate_static_stub(test, os_commit, commit_objects_only);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	do {
		before = figures(test, sd);
		p[n] = slabdev_alloc(sd, 3 * MIB);
	} while (p[n] && ++n < ARRAY_SIZE(p));
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(slabdev_last_error(), "tables"),
				  "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).live, before.live);
	KUNIT_EXPECT_EQ(test, figures(test, sd).lost, 0);
	kunit_deactivate_static_stub(test, os_commit);
	while (n)
		EXPECT_FREED(test, sd, p[--n]);
	expect_empty(test, sd);
}

/* ---- Failed opens ----------------------------------------------------- */

static u64 mapped_bytes(struct kunit *test, u32 *lines)
{
	unsigned long from, to;
	char line[512], mode[5];
	u64 bytes = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	KUNIT_ASSERT_NOT_NULL(test, f);
	for (*lines = 0; fgets(line, sizeof(line), f); ++*lines)
		if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3)
			bytes += to - from;
	fclose(f);
	return bytes;
}

struct footprint {
	u32 descriptors, lines;
	u64 bytes;
};

static struct footprint footprint(struct kunit *test)
{
	struct footprint f;

	f.descriptors = count_descriptors(test);
	f.bytes = mapped_bytes(test, &f.lines);
	return f;
}

static void expect_footprint(struct kunit *test, const struct footprint *want,
			     u64 n)
{
	struct footprint now = footprint(test);

	/* A driver maps and opens what it likes. */
	if (!on_host())
		return;
	KUNIT_EXPECT_EQ_MSG(test, now.descriptors, want->descriptors,
			    "call %llu", (unsigned long long)n);
	/* A sanitizer maps memory of its own as it goes. */
	if (IS_SANITIZED)
		return;
	KUNIT_EXPECT_EQ_MSG(test, now.bytes, want->bytes, "call %llu",
			    (unsigned long long)n);
	KUNIT_EXPECT_EQ_MSG(test, now.lines, want->lines, "call %llu",
			    (unsigned long long)n);
}

static int try_open(struct slabdev **sd)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = 64 * MIB;
	return slabdev_open(sd, test_spec(), &attr);
}

/* What every process has once is had: libc's buffers, the library's pools. */
static void open_use_close(struct kunit *test)
{
	struct slabdev *sd = NULL;

	KUNIT_ASSERT_EQ_MSG(test, try_open(&sd), 0, "%s", slabdev_last_error());
	EXPECT_FREED(test, sd, must_alloc(test, sd, 1000));
	close_space(test, sd);
	footprint(test);
}

/* False when an open makes fewer than @n calls. */
static bool open_fails_at(struct kunit *test, u64 n)
{
	struct slabdev *sd = NULL;
	int err;

	fail_calls(n, n);
	err = try_open(&sd);
	fail_calls(0, 0);
	if (!err) {
		close_space(test, sd);
		return false;
	}
	KUNIT_EXPECT_EQ_MSG(test, err, -ENOMEM, "call %llu",
			    (unsigned long long)n);
	KUNIT_EXPECT_NULL(test, sd);
	KUNIT_EXPECT_STRNEQ(test, slabdev_last_error(), "");
	return true;
}

static const bool memfds[] = { true, false };
KUNIT_ARRAY_PARAM(memfd, memfds, NULL);

/* Each call of an open fails once. */
static void expect_failed_opens_leave_nothing(struct kunit *test)
{
	struct footprint before;
	u64 n;

	kunit_activate_static_stub(test, os_reserve, reserve_or_not);
	kunit_activate_static_stub(test, os_commit, commit_or_not);
	open_use_close(test);
	open_use_close(test);
	before = footprint(test);
	for (n = 1; open_fails_at(test, n) || n < 10; n++) {
		KUNIT_ASSERT_LT(test, n, 1000);
		expect_footprint(test, &before, n);
		open_use_close(test);
		expect_footprint(test, &before, n);
	}
	kunit_info(test, "%llu calls", (unsigned long long)n - 1);
	expect_footprint(test, &before, n);
}

static void failed_open_leaves_nothing(struct kunit *test)
{
	const bool *memfd = test->param_value;

	if (!*memfd)
		kunit_activate_static_stub(test, os_shared_segment, no_segment);
	expect_failed_opens_leave_nothing(test);
}

/* Quarantines and tracks of the general classes are there from the start. */
static void failed_open_with_checks_leaves_nothing(struct kunit *test)
{
	need_debug(test);
	debug_letters_are("FZPUQ");
	expect_failed_opens_leave_nothing(test);
}

/* ---- Tables of different length --------------------------------------- */

/* Beyond what the first step of the shortest table covers. */
#define RESERVED (2 * GIB)
#define STEP (61 * SLICE_SIZE + GRANULE)

struct prober {
	struct kunit *test;
	u32 reports;
};

static void count_report(int level, int kind, const char *text, void *arg)
{
	struct prober *p = arg;

	(void)level;
	if (kind == REPORT_INVALID_POINTER || kind == REPORT_DOUBLE_FREE)
		p->reports++;
	else if (kind >= 0 && kind != REPORT_OUT_OF_MEMORY)
		KUNIT_FAIL(p->test, "%s", text);
}

static void expect_no_object(struct prober *p, int err)
{
	/* One was there before, perhaps. */
	if (err != -EALREADY)
		KUNIT_EXPECT_EQ(p->test, err, -EINVAL);
}

/* Every kind of question about addresses where no object is. */
static void probe(struct prober *p, struct slabdev *sd,
		  struct slabdev_cache *cache, const void *live)
{
	char text[300];
	u32 reports = p->reports, n = 0;
	u64 at;

	for (at = 0; at < sd->vmm.base_bytes; at += STEP) {
		void *q = to_ptr(sd->base + at);

		if (q == live)
			continue;
		n += 3;
		KUNIT_EXPECT_EQ(p->test, slabdev_usable_size(sd, q), 0);
		KUNIT_EXPECT_EQ(p->test, slabdev_explain(q, text, sizeof(text)),
				1);
		expect_no_object(p, slabdev_free(sd, q));
		expect_no_object(p, slabdev_cache_free(cache, q));
		KUNIT_EXPECT_NULL(p->test, slabdev_realloc(sd, q, 10));
		expect_no_object(p, -errno);
	}
	KUNIT_EXPECT_EQ(p->test, p->reports - reports, n);
}

/* False when growing makes fewer than @n calls. */
static bool grow_fails_at(struct prober *p, u64 n, u32 which)
{
	static const u64 sizes[] = { 40 * MIB, 600 * MIB, 1800 * MIB };
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_cache *cache = NULL;
	struct slabdev *sd;
	void *live, *grown;
	bool reached;

	attr.limit = attr.reserve = RESERVED;
	sd = open_space_attr(p->test, &attr);
	KUNIT_ASSERT_EQ(p->test, slabdev_cache_create(&cache, sd, "cache", 100,
						      NULL), 0);
	live = must_alloc(p->test, sd, 1000);
	req.flags = SLABDEV_REQ_NO_REPORT;
	/* For good: it would be tried again. */
	fail_calls(n, UINT64_MAX);
	grown = slabdev_alloc_ex(sd, sizes[which], &req);
	reached = calls >= n;
	fail_calls(0, 0);
	EXPECT_FREED(p->test, sd, grown);
	probe(p, sd, cache, live);
	expect_sound(p->test, sd);
	EXPECT_FREED(p->test, sd, live);
	KUNIT_EXPECT_EQ(p->test, slabdev_cache_destroy(cache), 0);
	close_space(p->test, sd);
	return reached;
}

static void half_grown_tables_can_be_asked(struct kunit *test)
{
	struct prober p = { .test = test };
	u32 which;
	u64 n;

	kunit_activate_static_stub(test, os_reserve, reserve_or_not);
	kunit_activate_static_stub(test, os_commit, commit_or_not);
	log_set_sink(count_report, &p);
	for (which = 0; which < 3; which++) {
		for (n = 1; grow_fails_at(&p, n, which); n++)
			KUNIT_ASSERT_LT(test, n, 1000);
		kunit_info(test, "%llu calls", (unsigned long long)n - 1);
	}
}

/* Any one of the tables: what comes after it is not had instead. */
static void each_refusal_is_noticed(struct kunit *test)
{
	struct prober p = { .test = test };
	struct slabdev *sd;
	void *object;

	kunit_activate_static_stub(test, os_reserve, reserve_or_not);
	kunit_activate_static_stub(test, os_commit, commit_or_not);
	log_set_sink(count_report, &p);
	for (u64 n = 1; n <= 24; n++) {
		sd = open_space(test, 64 * MIB);
		fail_calls(n, n);
		object = slabdev_alloc(sd, 3 * MIB);
		fail_calls(0, 0);
		if (!object)
			KUNIT_EXPECT_EQ(test, errno, ENOMEM);
		expect_sound(test, sd);
		EXPECT_FREED(test, sd, object);
		EXPECT_FREED(test, sd, must_alloc(test, sd, 5 * MIB));
		close_space(test, sd);
	}
}

/* A large object that cannot be poisoned is freed all the same, and what cannot
 * be remembered of one is no reason to report anything. */
static void large_objects_without_tables(struct kunit *test)
{
	struct prober p = { .test = test };
	struct slabdev *sd;
	void *object;

	need_debug(test);
	debug_letters_are("FZPU");
	kunit_activate_static_stub(test, os_reserve, reserve_or_not);
	kunit_activate_static_stub(test, os_commit, commit_or_not);
	log_set_sink(count_report, &p);
	for (u64 n = 1; n <= 6; n++) {
		sd = open_space(test, 64 * MIB);
		object = must_alloc(test, sd, 3 * MIB);
		fail_calls(n, UINT64_MAX);
		EXPECT_FREED(test, sd, object);
		fail_calls(0, 0);
		expect_sound(test, sd);
		EXPECT_FREED(test, sd, must_alloc(test, sd, 3 * MIB));
		expect_sound(test, sd);
		close_space(test, sd);
	}
	KUNIT_EXPECT_EQ(test, p.reports, 0);
}

/* ---- No more memory from now on --------------------------------------- */

/* Beyond the 39 that share a window with the general classes. */
#define CACHES_MAX 400u
#define OBJECTS_MAX 40000u

struct scarce {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache[CACHES_MAX];
	u32 nr;
	void *object[OBJECTS_MAX];
};

/* One more cache: tiny objects, or such as have a slab of 64. */
static int add_cache(struct scarce *s)
{
	char name[32];
	int err;

	snprintf(name, sizeof(name), "cache%u", s->nr);
	err = slabdev_cache_create(&s->cache[s->nr], s->sd, name,
				   s->nr % 2 ? 1000 : 16, NULL);
	if (!err)
		s->nr++;
	return err;
}

/* Objects of one cache until there are no more, or @n; then all go back. */
static void fill_and_empty(struct scarce *s, struct slabdev_cache *cache,
			   u32 n)
{
	u32 i = 0;

	while (i < n && (s->object[i] = slabdev_cache_alloc(cache)))
		i++;
	if (i < n)
		KUNIT_EXPECT_EQ(s->test, errno, ENOMEM);
	while (i--)
		KUNIT_EXPECT_EQ(s->test, slabdev_cache_free(cache,
							    s->object[i]), 0);
}

/* A thread that has nothing in the space yet. */
static void *newcomer(void *arg)
{
	struct scarce *s = arg;
	u32 i;

	for (i = 0; i < s->nr; i++)
		fill_and_empty(s, s->cache[i], 100);
	return NULL;
}

static void run_newcomer(struct scarce *s)
{
	pthread_t thread;

	KUNIT_ASSERT_EQ(s->test, pthread_create(&thread, NULL, newcomer, s), 0);
	pthread_join(thread, NULL);
}

static void without_more_memory(struct scarce *s, u64 first)
{
	u32 i;
	int err;

	fail_calls(first, UINT64_MAX);
	for (i = 0; i < s->nr; i++)
		fill_and_empty(s, s->cache[i], i % 2 ? 300 : 5000);
	run_newcomer(s);
	do
		err = add_cache(s);
	while (!err && s->nr < CACHES_MAX);
	KUNIT_EXPECT_EQ(s->test, err, -ENOMEM);
	KUNIT_EXPECT_STRNEQ(s->test, slabdev_last_error(), "");
	run_newcomer(s);
	fail_calls(0, 0);
}

/* What was refused is given when there is memory again. */
static void with_memory_again(struct scarce *s)
{
	u32 i;

	expect_sound(s->test, s->sd);
	KUNIT_EXPECT_EQ(s->test, add_cache(s), 0);
	run_newcomer(s);
	for (i = 0; i < s->nr; i++)
		EXPECT_FREED(s->test, s->sd, slabdev_cache_alloc(s->cache[i]));
	expect_sound(s->test, s->sd);
	close_space(s->test, s->sd);
}

static const u32 cache_counts[] = { 0, 1, 2, 38, 39, 40, 41, 200 };
KUNIT_ARRAY_PARAM(cache_count, cache_counts, NULL);

static void work_goes_on_with_what_is_there(struct kunit *test)
{
	const u32 *nr = test->param_value;
	struct prober p = { .test = test };
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct scarce *s = kunit_kzalloc(test, sizeof(*s));

	kunit_activate_static_stub(test, os_reserve, reserve_or_not);
	kunit_activate_static_stub(test, os_commit, commit_or_not);
	kunit_activate_static_stub(test, os_shared_segment, no_segment);
	log_set_sink(count_report, &p);
	for (u64 first = 1; first <= 4; first++) {
		attr.limit = 64 * MIB;
		*s = (struct scarce){ .test = test };
		s->sd = open_space_attr(test, &attr);
		while (s->nr < *nr)
			KUNIT_ASSERT_EQ(test, add_cache(s), 0);
		without_more_memory(s, first);
		with_memory_again(s);
	}
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(failed_open_leaves_nothing, memfd_gen_params,
			 .isolated = true),
	KUNIT_CASE_ISOLATED(failed_open_with_checks_leaves_nothing),
	KUNIT_CASE_ISOLATED(half_grown_tables_can_be_asked),
	KUNIT_CASE_ISOLATED(extension_is_undone),
	KUNIT_CASE_ISOLATED(each_refusal_is_noticed),
	KUNIT_CASE_ISOLATED(large_objects_without_tables),
	KUNIT_CASE_PARAM(work_goes_on_with_what_is_there,
			 cache_count_gen_params, .isolated = true),
	{ 0 }
};

static const struct kunit_suite hostmem_suite = {
	.name = "hostmem",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(hostmem_suite);
