// SPDX-License-Identifier: BSD-2-Clause
/*
 * nvtx_test.c - what a tool that is attached by NVTX is told of memory, on the
 * model of the driver.
 *
 * The tool is tests/nvtx_recorder.c, which writes down each call. It is loaded
 * once a process, as a driver is: each case is isolated, and all runs of one
 * have the same tool.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda_space.h"
#include "tests/folder.h"
#include "tests/kunit/spawn.h"
#include "tests/random.h"

#define LIMIT (256 * MIB)

/* $1 is the library to make, $2 the build, $3 the source. */
static const char build[] =
	"cc=$(sed -n 's/^CC := //p' \"$2/.build-vars\") && "
	"$cc -std=gnu11 -fPIC -shared -o \"$1\" \"$3\" -lpthread";

static const char *(*recorder_text)(void);

static const char *recorder_path(struct kunit *test)
{
	const char *folder = new_folder(test);
	char *path = kunit_kmalloc(test, strlen(folder) + 16);
	struct kunit_process p;

	sprintf(path, "%s/recorder.so", folder);
	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", build, "sh", path, kunit_built_path(test, "."),
		kunit_source_path(test, "tests/nvtx_recorder.c"), NULL });
	KUNIT_ASSERT_EQ_MSG(test, p.exit_code, 0, "%s", p.err);
	return path;
}

/* The recorder is what the library finds at its first space of CUDA. */
static void attach(struct kunit *test)
{
	const char *path;
	void *lib;

	if (recorder_text)
		return;
	path = recorder_path(test);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	KUNIT_ASSERT_NOT_NULL_MSG(test, lib, "%s", dlerror());
	recorder_text = (const char *(*)(void))dlsym(lib, "recorder_text");
	KUNIT_ASSERT_NOT_NULL(test, recorder_text);
	setenv("NVTX_INJECTION64_PATH", path, 1);
	setenv("SLABDEV_ANNOTATE", "1", 1);
}

/* ---- What the recorder wrote ------------------------------------------- */

#define MOST 4096

struct region {
	unsigned long long addr;
	size_t size;
};

/* What the tool knows, after all lines so far. */
struct known {
	unsigned long long heap[MOST], heap_end[MOST];	/* by number; 0: gone */
	unsigned int nr_heaps;
	struct region region[MOST];
	unsigned int nr_regions;
	char text[1 << 20];
};

static struct known tool;

static struct region *region_at(unsigned long long addr)
{
	for (unsigned int i = 0; i < tool.nr_regions; i++)
		if (tool.region[i].addr == addr)
			return &tool.region[i];
	return NULL;
}

static void region_comes(struct kunit *test, unsigned long heap,
			 unsigned long long addr, size_t size)
{
	KUNIT_ASSERT_TRUE(test, heap && heap <= tool.nr_heaps);
	KUNIT_EXPECT_GE(test, addr, tool.heap[heap]);
	KUNIT_EXPECT_LE(test, addr + size, tool.heap_end[heap]);
	KUNIT_EXPECT_NULL(test, region_at(addr));
	KUNIT_ASSERT_LT(test, tool.nr_regions, MOST);
	tool.region[tool.nr_regions++] = (struct region){ addr, size };
}

static void read_line(struct kunit *test, const char *line)
{
	unsigned long long addr;
	struct region *r;
	unsigned long n;
	size_t size;

	if (sscanf(line, "heap+ %llx %zu", &addr, &size) == 2) {
		KUNIT_ASSERT_LT(test, tool.nr_heaps + 1, MOST);
		tool.heap[++tool.nr_heaps] = addr;
		tool.heap_end[tool.nr_heaps] = addr + size;
	} else if (sscanf(line, "heap- %lu", &n) == 1) {
		KUNIT_ASSERT_TRUE(test, n && n <= tool.nr_heaps);
		KUNIT_EXPECT_NE(test, tool.heap[n], 0);
		tool.heap[n] = 0;
	} else if (sscanf(line, "region+ %lu %llx %zu", &n, &addr,
			  &size) == 3) {
		region_comes(test, n, addr, size);
	} else if (sscanf(line, "region~ %llx %zu", &addr, &size) == 2) {
		r = region_at(addr);
		KUNIT_ASSERT_NOT_NULL_MSG(test, r, "%s", line);
		r->size = size;
	} else if (sscanf(line, "region- %llx", &addr) == 1) {
		r = region_at(addr);
		KUNIT_ASSERT_NOT_NULL_MSG(test, r, "%s", line);
		*r = tool.region[--tool.nr_regions];
	} else {
		KUNIT_EXPECT_STREQ(test, line, "domain slabdev");
	}
}

static void read_on(struct kunit *test)
{
	char *at, *line;

	snprintf(tool.text, sizeof(tool.text), "%s", recorder_text());
	for (line = strtok_r(tool.text, "\n", &at); line;
	     line = strtok_r(NULL, "\n", &at))
		read_line(test, line);
}

static unsigned int nr_heaps(void)
{
	unsigned int n = 0;

	for (unsigned int i = 1; i <= tool.nr_heaps; i++)
		n += tool.heap[i] != 0;
	return n;
}

static void expect_region(struct kunit *test, const void *p, size_t size)
{
	struct region *r;

	read_on(test);
	r = region_at((unsigned long long)device_ptr(p));
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->size, size);
}

/* Regions go with their heap. */
static void expect_nothing_left(struct kunit *test)
{
	read_on(test);
	KUNIT_EXPECT_EQ(test, nr_heaps(), 0);
	tool.nr_regions = 0;
}

/* ---- Cases -------------------------------------------------------------- */

static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

static void object_is_a_region(struct kunit *test)
{
	struct slabdev *sd;
	void *p, *q;

	attach(test);
	sd = cuda_open_kind(test, test->param_value, LIMIT, NULL);
	p = slabdev_alloc(sd, 1000);
	expect_region(test, p, 1000);
	KUNIT_EXPECT_EQ(test, nr_heaps(), 1);
	p = slabdev_realloc(sd, p, 1010);
	expect_region(test, p, 1010);
	q = slabdev_alloc(sd, 3 * MIB);
	expect_region(test, q, 3 * MIB);
	KUNIT_EXPECT_EQ(test, tool.nr_regions, 2);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, q), 0);
	read_on(test);
	KUNIT_EXPECT_EQ(test, tool.nr_regions, 0);
	cuda_close(test, sd);
	expect_nothing_left(test);
}

/* What the tool knows is what is live, whatever happens. */
static void regions_are_what_is_live(struct kunit *test)
{
	struct region live[64] = { 0 };
	struct slabdev *sd;
	u64 seed;

	attach(test);
	seed = random_seed(test);
	sd = cuda_open_kind(test, test->param_value, LIMIT, NULL);
	for (int i = 0; i < 600; i++) {
		struct region *r = &live[random_below(&seed, 64)];
		void *p = to_ptr(r->addr);

		KUNIT_ASSERT_EQ(test, slabdev_free(sd, p), 0);
		*r = (struct region){ 0, random_below(&seed, 8) ?
				      random_below(&seed, 20000) + 1 :
				      random_below(&seed, 4 * MIB) + 1 };
		p = slabdev_alloc(sd, r->size);
		KUNIT_ASSERT_NOT_NULL(test, p);
		r->addr = device_ptr(p);
		if (i % 100 == 99)
			KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	}
	read_on(test);
	for (size_t i = 0; i < ARRAY_SIZE(live); i++) {
		if (live[i].addr)
			expect_region(test, to_ptr(live[i].addr),
				      live[i].size);
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, to_ptr(live[i].addr)),
				0);
	}
	read_on(test);
	KUNIT_EXPECT_EQ(test, tool.nr_regions, 0);
	cuda_close(test, sd);
	expect_nothing_left(test);
}

/* Objects that are live when the space is closed go with their heap. */
static void heaps_end_with_their_space(struct kunit *test)
{
	struct slabdev *sd;

	attach(test);
	sd = cuda_open_kind(test, CUDA_KIND_VMM, LIMIT, NULL);
	expect_region(test, slabdev_alloc(sd, 1000), 1000);
	KUNIT_EXPECT_EQ(test, nr_heaps(), 1);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE), 0);
	expect_nothing_left(test);
}

/* Nobody is told, and the space has its fast paths. */
static void expect_untold(struct kunit *test, const char *spec)
{
	struct slabdev *sd = cuda_open(test, spec, NULL);
	void *p = slabdev_alloc(sd, 1000);

	KUNIT_EXPECT_EQ(test, sd->annotated, 0);
	KUNIT_EXPECT_NULL(test, strstr(recorder_text(), "heap"));
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), 0);
	cuda_close(test, sd);
}

static void tool_may_not_want_memory(struct kunit *test)
{
	attach(test);
	setenv("NVTX_RECORDER", "deaf", 1);
	expect_untold(test, "cuda:0");
}

static void tool_is_told_nothing_of_the_host(struct kunit *test)
{
	attach(test);
	expect_untold(test, "host");
}

static void tool_is_told_nothing_when_not_wanted(struct kunit *test)
{
	attach(test);
	setenv("SLABDEV_ANNOTATE", "0", 1);
	expect_untold(test, "cuda:0");
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(object_is_a_region, kind_gen_params,
			 .isolated = true),
	KUNIT_CASE_PARAM(regions_are_what_is_live, kind_gen_params,
			 .isolated = true),
	KUNIT_CASE_ISOLATED(heaps_end_with_their_space),
	KUNIT_CASE_ISOLATED(tool_may_not_want_memory),
	KUNIT_CASE_ISOLATED(tool_is_told_nothing_of_the_host),
	KUNIT_CASE_ISOLATED(tool_is_told_nothing_when_not_wanted),
	{ 0 }
};

static const struct kunit_suite nvtx_suite = {
	.name = "nvtx",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cases,
};
kunit_test_suite(nvtx_suite);
