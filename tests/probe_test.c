// SPDX-License-Identifier: BSD-2-Clause
/*
 * probe_test.c - the static probes: that tools find them, that each is a nop,
 * and what a tool sees when a program runs over them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <slabdev/slabdev.h>

#include "slab/probe.h"
#include "slab/slab.h"
#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"
#include "tests/tracer.h"

static const char *const names[] = { "alloc", "free", "grow", "trim" };

static void need_probes(struct kunit *test)
{
	if (!PROBES_ARE_BUILT)
		kunit_skip(test, "built without SystemTap's sys/sdt.h");
}

/* Where users look: readelf -n on the library. */
static void readelf_lists_them(struct kunit *test)
{
	struct kunit_process p;
	char wanted[64];

	need_probes(test);
	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", "command -v readelf", NULL });
	if (p.exit_code)
		kunit_skip(test, "readelf is not installed");
	kunit_run_program(test, &p, (const char *const[]){
		"readelf", "-n", kunit_built_path(test, "libslabdev.so.0"),
		NULL });
	KUNIT_EXPECT_EQ(test, p.exit_code, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(wanted, sizeof(wanted),
			 "Provider: slabdev\n    Name: %s\n", names[i]);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, wanted),
					  "no %s in: %s", wanted, p.out);
	}
}

static void each_is_a_nop(struct kunit *test)
{
	static struct tracer t;

	need_probes(test);
	tracer_find(test, &t);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		unsigned int n = 0;

		for (unsigned int k = 0; k < t.nr_sites; k++)
			n += !strcmp(t.site[k].name, names[i]);
		KUNIT_EXPECT_GT_MSG(test, n, 0, "%s", names[i]);
	}
	for (unsigned int k = 0; k < t.nr_sites; k++)
		KUNIT_EXPECT_EQ_MSG(test, *t.site[k].addr, 0x90, "%s %s",
				    t.site[k].name, t.site[k].args);
}

/* ---- A run --------------------------------------------------------------- */

/* What the child did, for the parent to compare. */
struct story {
	u32 space;
	u64 hit, cached, large, mapped;	/* addresses; bytes */
};

static void go(void *arg)
{
	struct story *s = arg;
	struct slabdev_cache *cache;
	struct slabdev_stats st;
	struct slabdev *sd;
	void *p[3];

	if (slabdev_open(&sd, "host", NULL) ||
	    slabdev_cache_create(&cache, sd, "probed", 512, NULL))
		abort();
	s->space = sd->id;
	/* The second one is a hit. */
	(void)slabdev_free(sd, slabdev_alloc(sd, 1000));
	p[0] = slabdev_alloc(sd, 1001);
	p[1] = slabdev_cache_alloc(cache);
	p[2] = slabdev_alloc(sd, 3 * MIB);
	s->hit = (u64)(uintptr_t)p[0];
	s->cached = (u64)(uintptr_t)p[1];
	s->large = (u64)(uintptr_t)p[2];
	(void)slabdev_stats(sd, &st, sizeof(st));
	s->mapped = st.mapped;
	(void)slabdev_free(sd, p[2]);
	(void)slabdev_cache_free(cache, p[1]);
	(void)slabdev_free(sd, p[0]);
	(void)slabdev_trim(sd, 0);
	if (slabdev_cache_destroy(cache) || slabdev_close(sd, 0))
		abort();
}

static void unmap_story(void *story)
{
	munmap(story, sizeof(struct story));
}

static struct story *shared_story(struct kunit *test)
{
	void *p = mmap(NULL, sizeof(struct story), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	KUNIT_ASSERT_TRUE(test, p != MAP_FAILED);
	kunit_add_action(test, unmap_story, p);
	return p;
}

struct run {
	struct story *story;
	struct tracer_hit hit[256];
	unsigned int n;
};

/* How often a probe was hit with these arguments. */
static unsigned int count(const struct run *r, const char *name, u64 addr,
			  u64 size)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < r->n; i++)
		n += !strcmp(r->hit[i].site->name, name) &&
		     r->hit[i].arg[0] == r->story->space &&
		     r->hit[i].arg[1] == addr && r->hit[i].arg[2] == size;
	return n;
}

/* The bytes of a probe that has them in its second argument. */
static u64 sum(const struct run *r, const char *name)
{
	u64 bytes = 0;

	for (unsigned int i = 0; i < r->n; i++)
		if (!strcmp(r->hit[i].site->name, name))
			bytes += r->hit[i].arg[1];
	return bytes;
}

static void tool_sees_what_happens(struct kunit *test)
{
	static struct tracer t;
	static struct run r;

	need_probes(test);
	tracer_find(test, &t);
	r.story = shared_story(test);
	r.n = tracer_run(test, &t, go, r.story, r.hit, ARRAY_SIZE(r.hit));
	KUNIT_EXPECT_EQ(test, count(&r, "alloc", r.story->hit, 1000), 1);
	KUNIT_EXPECT_EQ(test, count(&r, "alloc", r.story->hit, 1001), 1);
	KUNIT_EXPECT_EQ(test, count(&r, "alloc", r.story->cached, 512), 1);
	KUNIT_EXPECT_EQ(test, count(&r, "alloc", r.story->large, 3 * MIB), 1);
	KUNIT_EXPECT_EQ(test, count(&r, "free", r.story->hit, 1000), 1);
	KUNIT_EXPECT_EQ(test, count(&r, "free", r.story->hit, 1001), 1);
	KUNIT_EXPECT_EQ(test, count(&r, "free", r.story->cached, 512), 1);
	KUNIT_EXPECT_EQ(test, count(&r, "free", r.story->large, 3 * MIB), 1);
	KUNIT_EXPECT_EQ(test, sum(&r, "grow"), r.story->mapped);
	KUNIT_EXPECT_EQ(test, sum(&r, "trim"), r.story->mapped);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(readelf_lists_them),
	KUNIT_CASE(each_is_a_nop),
	KUNIT_CASE(tool_sees_what_happens),
	{ 0 }
};

static const struct kunit_suite probe_suite = {
	.name = "probe",
	.cases = cases,
};
kunit_test_suite(probe_suite);
