// SPDX-License-Identifier: BSD-2-Clause
/*
 * scarcity_test.c - limits that a batch system or an administrator sets.
 *
 * Below each limit a space either opens, or says which limit it was; one that
 * is open hands out what there is, refuses the rest in words that name the
 * limit, and loses nothing. The limits are the real ones, in a process of the
 * case's own, wherever a process can set them for itself.
 *
 * Only vm.overcommit_memory=2 is the machine's. What it counts is known: pages
 * that are private and writable. So it is shown that those are the pages that
 * the statistics count, no reservation among them, and a commit that fails
 * from some number of bytes on stands for the kernel's.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/slab.h"
#include "tests/open_space.h"
#include "tests/sanitizers.h"
#include "tests/tour.h"

#define NOBODY 65534

/* ---- Reports that may come, any number of times ----------------------- */

static void allow_reports(int level, int kind, const char *text, void *arg)
{
	struct kunit *test = arg;

	(void)level;
	if (kind >= 0 && kind != REPORT_OUT_OF_MEMORY && kind != REPORT_LOST)
		KUNIT_FAIL(test, "%s", text);
}

static int scarcity_init(struct kunit *test)
{
	log_set_sink(allow_reports, test);
	return 0;
}

/* ---- What the kernel says --------------------------------------------- */

/* A line of /proc/self/status, in bytes. */
static u64 status_bytes(struct kunit *test, const char *name)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[256];
	bool found = false;

	KUNIT_ASSERT_NOT_NULL(test, f);
	while (!found && fgets(line, sizeof(line), f))
		found = !strncmp(line, name, strlen(name)) &&
			sscanf(line + strlen(name), ": %llu", &kib) == 1;
	fclose(f);
	KUNIT_ASSERT_TRUE_MSG(test, found, "%s", name);
	return kib * KIB;
}

/* Bytes of private mappings that may be written. */
static u64 writable_bytes(struct kunit *test)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	char line[512], mode[5];
	u64 bytes = 0;

	KUNIT_ASSERT_NOT_NULL(test, f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3 &&
		    mode[1] == 'w' && mode[3] == 'p')
			bytes += to - from;
	fclose(f);
	return bytes;
}

/* The parameters of a case share a process: the hard limit stays. */
static void set_limit(struct kunit *test, int resource, u64 bytes)
{
	struct rlimit rl;

	KUNIT_ASSERT_EQ(test, getrlimit(resource, &rl), 0);
	if (bytes > rl.rlim_max)
		kunit_skip(test, "the hard limit is lower");
	rl.rlim_cur = bytes;
	KUNIT_ASSERT_EQ(test, setrlimit(resource, &rl), 0);
}

/* ---- A space that is filled until something refuses ------------------- */

#define MOST 3000u

struct hoard {
	struct kunit *test;
	struct slabdev *sd;
	void *p[MOST];
	u32 n;
};

/* Objects of @size until one is refused. The error text names @limit. */
static void fill(struct hoard *h, size_t size, const char *limit)
{
	while (h->n < MOST) {
		h->p[h->n] = slabdev_alloc(h->sd, size);
		if (!h->p[h->n])
			break;
		mem_put(h->sd, h->p[h->n], h->n);
		h->n++;
	}
	KUNIT_ASSERT_LT(h->test, h->n, MOST);
	KUNIT_EXPECT_EQ(h->test, errno, ENOMEM);
	KUNIT_EXPECT_NOT_NULL_MSG(h->test,
				  strstr(slabdev_last_error(), limit), "%s",
				  slabdev_last_error());
}

static void empty(struct hoard *h)
{
	while (h->n) {
		h->n--;
		KUNIT_EXPECT_EQ(h->test, mem_get(h->sd, h->p[h->n]), h->n);
		EXPECT_FREED(h->test, h->sd, h->p[h->n]);
	}
}

/* What was refused once may work later, and nothing is lost. */
static void use_what_there_is(struct kunit *test, struct slabdev *sd,
			      const char *limit)
{
	struct hoard *h = kunit_kzalloc(test, sizeof(*h));
	u32 round;

	h->test = test;
	h->sd = sd;
	for (round = 0; round < 3; round++) {
		fill(h, round == 1 ? 3 * MIB : MIB, limit);
		kunit_info(test, "%u objects", h->n);
		expect_sound(test, sd);
		empty(h);
	}
	expect_empty(test, sd);
	close_space(test, sd);
}

/* ---- ulimit -v, -d, -l, -n -------------------------------------------- */

static const u32 room_mib[] = { 0, 1, 10, 40, 90, 200, 1000 };

static void describe_room(const u32 *mib, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u MiB", *mib);
}
KUNIT_ARRAY_PARAM(room, room_mib, describe_room);

static void below(struct kunit *test, int resource, const char *name,
		  const char *usage)
{
	u64 room = *(const u32 *)test->param_value * MIB;
	struct slabdev *sd;
	int err;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer needs memory of its own");
	set_limit(test, resource, RLIM_INFINITY);
	set_limit(test, resource, status_bytes(test, usage) + room);
	err = slabdev_open(&sd, "host", NULL);
	if (!err) {
		use_what_there_is(test, sd, name);
		return;
	}
	KUNIT_EXPECT_EQ(test, err, -ENOMEM);
	KUNIT_EXPECT_LT(test, room, 100 * MIB);
	/* Without any memory there is none for a text either. */
	if (room)
		KUNIT_EXPECT_NOT_NULL_MSG(test,
				strstr(slabdev_last_error(), name), "%s",
				slabdev_last_error());
	KUNIT_EXPECT_STRNEQ(test, slabdev_last_error(), "");
}

static void below_ulimit_v(struct kunit *test)
{
	below(test, RLIMIT_AS, "ulimit -v", "VmSize");
}

static void below_ulimit_d(struct kunit *test)
{
	below(test, RLIMIT_DATA, "ulimit -d", "VmData");
}

/* No descriptor for statistics: they are private then. */
static void below_ulimit_n(struct kunit *test)
{
	FILE *out = fopen("/dev/null", "we");
	struct rlimit rl;

	KUNIT_ASSERT_NOT_NULL(test, out);
	log_set_sink(NULL, NULL);
	log_configure(LOG_NONE, NULL);
	KUNIT_ASSERT_EQ(test, getrlimit(RLIMIT_NOFILE, &rl), 0);
	set_limit(test, RLIMIT_NOFILE, 3);
	KUNIT_EXPECT_STREQ(test, tour(out) ?: "", "");
	KUNIT_EXPECT_EQ(test, setrlimit(RLIMIT_NOFILE, &rl), 0);
	fclose(out);
}

/* ---- Locked memory ---------------------------------------------------- */

static void give_up_root(struct kunit *test)
{
	if (!geteuid() && setresuid(NOBODY, NOBODY, NOBODY))
		kunit_skip(test, "root cannot become nobody: %m");
}

static void below_ulimit_l(struct kunit *test)
{
	struct slabdev *sd;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer does not lock");
	set_limit(test, RLIMIT_MEMLOCK, 4 * MIB);
	give_up_root(test);
	KUNIT_ASSERT_EQ(test, mlockall(MCL_FUTURE), 0);
	KUNIT_EXPECT_EQ(test, slabdev_open(&sd, "host", NULL), -ENOMEM);
	KUNIT_EXPECT_NOT_NULL_MSG(test,
				  strstr(slabdev_last_error(), "ulimit -l"),
				  "%s", slabdev_last_error());
	KUNIT_ASSERT_EQ(test, munlockall(), 0);
	KUNIT_ASSERT_EQ(test, slabdev_open(&sd, "host", NULL), 0);
	EXPECT_FREED(test, sd, must_alloc(test, sd, MIB));
	close_space(test, sd);
}

/* Root may, whatever ulimit -l says. */
static bool may_lock(u64 bytes)
{
	void *p = MAP_FAILED;

	if (!mlockall(MCL_FUTURE))
		p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
			 MAP_NORESERVE, -1, 0);
	munlockall();
	if (p != MAP_FAILED)
		munmap(p, bytes);
	return p != MAP_FAILED;
}

static const bool before_open[] = { true, false };

static void describe_before(const bool *before, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s the open",
		 *before ? "before" : "after");
}
KUNIT_ARRAY_PARAM(before, before_open, describe_before);

/* Addresses that are reserved get no memory, those that are used do. */
static void locked_reservations_have_no_memory(struct kunit *test)
{
	const bool *before = test->param_value;
	struct slabdev *sd;
	u64 resident;
	void *p;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer does not lock");
	if (!may_lock(8 * GIB))
		kunit_skip(test, "ulimit -l is too low here");
	if (*before)
		KUNIT_ASSERT_EQ(test, mlockall(MCL_CURRENT | MCL_FUTURE), 0);
	sd = open_space(test, 4 * GIB);
	p = must_alloc(test, sd, 1000);
	if (!*before)
		KUNIT_ASSERT_EQ(test, mlockall(MCL_CURRENT | MCL_FUTURE), 0);
	resident = status_bytes(test, "VmRSS");
	KUNIT_EXPECT_LT(test, resident, 256 * MIB);
	EXPECT_FREED(test, sd, p);
	p = must_alloc(test, sd, 32 * MIB);
	KUNIT_EXPECT_GE(test, status_bytes(test, "VmRSS"),
			resident + 31 * MIB);
	EXPECT_FREED(test, sd, p);
	expect_empty(test, sd);
	KUNIT_EXPECT_LT(test, status_bytes(test, "VmRSS"),
			resident + 16 * MIB);
	close_space(test, sd);
	KUNIT_EXPECT_EQ(test, munlockall(), 0);
}

/* ---- vm.overcommit_memory=2 ------------------------------------------- */

/* What the library has made writable is what it says to have. */
static void expect_counted(struct kunit *test, struct slabdev *sd, u64 before)
{
	struct slabdev_stats st = stats_of(test, sd);
	u64 now = writable_bytes(test);

	KUNIT_EXPECT_GE(test, now, before + st.mapped);
	/* What the process has once, and what a page rounds. */
	KUNIT_EXPECT_LE(test, now, before + st.mapped + st.host_bytes + MIB);
	kunit_info(test, "mapped %llu, tables %llu, writable %llu",
		   (unsigned long long)st.mapped,
		   (unsigned long long)st.host_bytes,
		   (unsigned long long)(now - before));
}

static void writable_is_what_is_counted(struct kunit *test)
{
	struct slabdev *sd;
	u64 before;
	void *p, *q;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer maps memory of its own");
	writable_bytes(test);
	before = writable_bytes(test);
	sd = open_space(test, 4 * GIB);
	KUNIT_EXPECT_GE(test, stats_of(test, sd).reserved, GIB);
	expect_counted(test, sd, before);
	p = must_alloc(test, sd, 1000);
	expect_counted(test, sd, before);
	q = must_alloc(test, sd, 300 * MIB);
	expect_counted(test, sd, before);
	EXPECT_FREED(test, sd, p);
	EXPECT_FREED(test, sd, q);
	/* Given back is not counted any more, as it is after a madvise(). */
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, 0);
	expect_counted(test, sd, before);
	close_space(test, sd);
	KUNIT_EXPECT_LE(test, writable_bytes(test), before + MIB);
}

static u64 budget;
/* What was refused last, and has nothing to give back when it is undone. */
static char *refused_from, *refused_to;

static int commit_within_budget(void *addr, size_t size)
{
	if (size > budget || mprotect(addr, size, PROT_READ | PROT_WRITE)) {
		refused_from = addr;
		refused_to = refused_from + size;
		return -ENOMEM;
	}
	budget -= size;
	return 0;
}

static int decommit_to_budget(void *addr, size_t size)
{
	if (mmap(addr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		 MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -ENOMEM;
	if ((char *)addr < refused_from || (char *)addr >= refused_to)
		budget += size;
	return 0;
}

/* Objects of all kinds until one is refused, then with more, all of them. */
static bool live_on(struct kunit *test, u64 bytes)
{
	static const size_t sizes[] = { 300, 5000, 90000, 3 * MIB, 40, MIB };
	struct hoard *h = kunit_kzalloc(test, sizeof(*h));
	bool refused = false;
	int err;

	h->test = test;
	budget = bytes;
	err = slabdev_open(&h->sd, "host", NULL);
	if (err) {
		KUNIT_EXPECT_EQ(test, err, -ENOMEM);
		return false;
	}
	while (h->n < 60) {
		h->p[h->n] = slabdev_alloc(h->sd, sizes[h->n % 6]);
		if (!h->p[h->n]) {
			KUNIT_EXPECT_EQ(test, errno, ENOMEM);
			expect_sound(test, h->sd);
			refused = true;
			budget += 64 * MIB;
			continue;
		}
		mem_put(h->sd, h->p[h->n], h->n);
		h->n++;
	}
	empty(h);
	expect_empty(test, h->sd);
	close_space(test, h->sd);
	return !refused;
}

static void commits_fail_beyond_a_budget(struct kunit *test)
{
	u64 bytes;

	kunit_activate_static_stub(test, os_commit, commit_within_budget);
	kunit_activate_static_stub(test, os_decommit, decommit_to_budget);
	for (bytes = 0; bytes < 40 * MIB; bytes += bytes / 4 + 20 * KIB)
		KUNIT_EXPECT_FALSE_MSG(test, live_on(test, bytes), "%llu bytes",
				       (unsigned long long)bytes);
	KUNIT_EXPECT_TRUE(test, live_on(test, 128 * MIB));
}

/* ---- vm.max_map_count ------------------------------------------------- */

struct fragments {
	char *base;
	size_t pages;
};

static u64 max_map_count(void)
{
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long long n = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%llu", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

/* As many mappings as the kernel allows, but @left. */
static void use_up_mappings(struct kunit *test, struct fragments *f, u32 left)
{
	size_t page = os_page_size(), i;

	f->pages = max_map_count() + 1000;
	f->base = mmap(NULL, f->pages * page, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	KUNIT_ASSERT_PTR_NE(test, (void *)f->base, MAP_FAILED);
	for (i = 1; i < f->pages; i += 2)
		if (mprotect(f->base + i * page, page, PROT_READ))
			break;
	KUNIT_ASSERT_LT(test, i, f->pages);
	for (; left > 1; left -= 2) {
		i -= 2;
		KUNIT_ASSERT_EQ(test, mprotect(f->base + i * page, page,
					       PROT_NONE), 0);
	}
}

static const u32 mappings_left[] = { 0, 12, 24, 40, 100 };

static void describe_left(const u32 *left, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u left", *left);
}
KUNIT_ARRAY_PARAM(left, mappings_left, describe_left);

/* Every other chunk goes, as far as the kernel lets it. */
static void punch_holes(struct kunit *test, struct slabdev *sd)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	void *p[64];
	u32 n, i;

	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(sd, &policy), 0);
	for (n = 0; n < ARRAY_SIZE(p); n++) {
		p[n] = slabdev_alloc(sd, CHUNK);
		if (!p[n])
			break;
	}
	if (n < ARRAY_SIZE(p))
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(slabdev_last_error(),
					  "vm.max_map_count"), "%s",
					  slabdev_last_error());
	for (i = 0; i < n; i += 2)
		EXPECT_FREED(test, sd, p[i]);
	for (i = 1; i < n; i += 2)
		EXPECT_FREED(test, sd, p[i]);
	kunit_info(test, "%u objects, %llu bytes lost", n,
		   (unsigned long long)stats_of(test, sd).lost);
	expect_sound(test, sd);
}

static void below_max_map_count(struct kunit *test)
{
	const u32 *left = test->param_value;
	struct fragments f;
	struct slabdev *sd;
	int err;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer maps memory of its own");
	if (!max_map_count() || max_map_count() > 200000)
		kunit_skip(test, "vm.max_map_count is not known, or large");
	/* Gives the thread its record, so that what fails can be said. */
	KUNIT_EXPECT_EQ(test, slabdev_open(NULL, "host", NULL), -EINVAL);
	use_up_mappings(test, &f, *left);
	err = slabdev_open(&sd, "host", NULL);
	if (err) {
		KUNIT_EXPECT_EQ(test, err, -ENOMEM);
		KUNIT_EXPECT_LT(test, *left, 60);
		KUNIT_EXPECT_STRNEQ(test, slabdev_last_error(), "");
		kunit_info(test, "%s", slabdev_last_error());
	} else {
		punch_holes(test, sd);
	}
	/* With mappings again, what was lost is found. */
	KUNIT_EXPECT_EQ(test, munmap(f.base, f.pages * os_page_size()), 0);
	if (err)
		sd = open_space(test, GIB);
	expect_empty(test, sd);
	close_space(test, sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(below_ulimit_v, room_gen_params, .isolated = true),
	KUNIT_CASE_PARAM(below_ulimit_d, room_gen_params, .isolated = true),
	KUNIT_CASE_ISOLATED(below_ulimit_n),
	KUNIT_CASE_ISOLATED(below_ulimit_l),
	KUNIT_CASE_PARAM(locked_reservations_have_no_memory, before_gen_params,
			 .isolated = true),
	KUNIT_CASE_ISOLATED(writable_is_what_is_counted),
	KUNIT_CASE_ISOLATED(commits_fail_beyond_a_budget),
	KUNIT_CASE_PARAM(below_max_map_count, left_gen_params,
			 .isolated = true, .timeout_s = 300),
	{ 0 }
};

static const struct kunit_suite scarcity_suite = {
	.name = "scarcity",
	.init = scarcity_init,
	.cases = cases,
};
kunit_test_suite(scarcity_suite);
