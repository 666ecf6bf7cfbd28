// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_check_test.c - the kernel that looks at memory, and who asks it.
 *
 * The kernel is run from its text by the model, and what it says is compared
 * with a loop over the same bytes here: ranges of all small lengths at all
 * small distances from a multiple of 16, of the lengths at which it is cut into
 * pieces and batches, and random ones. Then what it saves: with letters, memory
 * that is clean is not read.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/check_yard.h"
#include "tests/kunit/spawn.h"
#include "tests/random.h"

/* Memory of a device is looked at by the device, the CPU's own is read. */
static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

static void need_kernel(struct kunit *test)
{
	const struct cuda_kind_param *kind = test->param_value;

	if (kind && kind_is_for_the_cpu(kind))
		kunit_skip(test, "memory of the CPU is read");
}

/* ---- What it finds ---------------------------------------------------- */

/* What is beside a range is wrong, and so is one byte in it, or none. */
static void every_short_range(struct kunit *test)
{
	struct yard *y;
	u64 at, size, bad;
	u32 n;

	need_kernel(test);
	y = yard_open(test);
	for (at = 0; at < 17; at++) {
		n = 0;
		memset(y->copy, 0, YARD_BYTES);
		for (size = 0; size <= 40; size++)
			for (bad = 0; bad <= size; bad++, n++) {
				memset(y->copy + n * 64 + at + 1, YARD_GOOD,
				       size);
				y->range[n] = yard_range(y, n * 64 + at + 1,
						       size);
				if (bad < size)
					y->copy[n * 64 + at + 1 + bad] ^= 0x80;
			}
		mem_write(y->s.sd, y->p, y->copy, n * 64 + 64);
		yard_expect(y, y->range, n);
	}
	yard_close(y);
}

static const u64 lengths[] = {
	0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 511, 512, 513, 527, 528, 4095, 16383,
	16384, 16385, 16399, 32768, 65536, 65537, 300000,
};

/* One byte of a range is wrong: the first, the last, one in the middle. */
static void boundaries(struct kunit *test)
{
	struct yard *y;
	u64 at, bad[4];
	u32 i, j;

	need_kernel(test);
	y = yard_open(test);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		at = 4096 + i * 5;
		bad[0] = at + lengths[i];
		bad[1] = at;
		bad[2] = bad[0] - (lengths[i] > 0);
		bad[3] = at + lengths[i] / 2;
		yard_put(y, at - 1, 0);
		for (j = 0; j < ARRAY_SIZE(bad); j++) {
			yard_put(y, bad[j], YARD_GOOD ^ 1);
			y->range[0] = yard_range(y, at, lengths[i]);
			yard_expect(y, y->range, 1);
			yard_put(y, bad[j], YARD_GOOD);
		}
		yard_put(y, at - 1, YARD_GOOD);
	}
	yard_close(y);
}

static void the_lowest_of_several(struct kunit *test)
{
	static const u64 bad[] = {
		511999, 400000, 131072 + 16384, 131072, 70000, 40016, 40008,
		40007, 40001, 17, 16, 15, 1, 0,
	};
	struct yard *y;
	u32 i;

	need_kernel(test);
	y = yard_open(test);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		yard_put(y, bad[i], 0xff);
		y->range[0] = yard_range(y, 0, 512000);
		yard_expect(y, y->range, 1);
		KUNIT_EXPECT_EQ(test, y->range[0].first_bad, bad[i]);
	}
	yard_close(y);
}

/* As many as fit into a batch, and one more or less; side by side. */
static void many_ranges(struct kunit *test)
{
	static const u32 nr[] = { 0, 1, 2, 3, 4, 5, 511, 512, 513, YARD_RANGES };
	struct yard *y;
	u32 i, j;

	need_kernel(test);
	y = yard_open(test);
	for (i = 0; i < 40; i++)
		yard_put(y, i * 1237, (u8)i);
	for (i = 0; i < ARRAY_SIZE(nr); i++) {
		for (j = 0; j < nr[i]; j++)
			y->range[j] = yard_range(y, j * 25, 25);
		yard_expect(y, y->range, nr[i]);
	}
	yard_close(y);
}

static void random_ranges(struct kunit *test)
{
	u64 seed = random_seed(test), at;
	struct yard *y;
	u32 i, j, n;

	need_kernel(test);
	y = yard_open(test);
	for (i = 0; i < 30; i++) {
		n = 1 + random_below(&seed, 700);
		for (j = 0; j < n; j++) {
			at = random_below(&seed, YARD_BYTES);
			y->range[j] = yard_range(y, at, random_below(&seed, 8) ?
				random_below(&seed, 64) :
				random_size(&seed, YARD_BYTES));
			y->range[j].size = min(y->range[j].size, YARD_BYTES - at);
			y->range[j].byte ^= !random_below(&seed, 20);
		}
		yard_expect(y, y->range, n);
		yard_put(y, random_below(&seed, YARD_BYTES),
		    (u8)(YARD_GOOD ^ 1 << random_below(&seed, 8)));
	}
	yard_close(y);
}

/* ---- What it costs ------------------------------------------------------ */

struct cost {
	u64 launches, reads, waits, loads, all;
};

static struct cost cost_now(void)
{
	return (struct cost){
		cu.model_calls("cuLaunchKernel"),
		cu.model_calls("cuMemcpyDtoHAsync_v2"),
		cu.model_calls("cuStreamSynchronize"),
		cu.model_calls("cuModuleLoadData"), cu.model_calls("*"),
	};
}

/* Of what was done since. */
static struct cost cost_since(const struct cost *before)
{
	struct cost now = cost_now();

	return (struct cost){
		now.launches - before->launches, now.reads - before->reads,
		now.waits - before->waits, now.loads - before->loads,
		now.all - before->all,
	};
}

static u64 nr_slabs(const struct slabdev *sd)
{
	u64 n = 0;
	u32 id;

	for (id = 1; id < CLASS_MAX; id++)
		if (sd->class[id] && sd->class[id]->rec)
			n += sd->class[id]->rec->slabs;
	return n;
}

/* Of a walk over a space with five objects of a size; *@slabs: it has. */
static struct cost walk(struct kunit *test, const struct cuda_kind_param *kind,
			size_t size, bool kernel, u64 *slabs)
{
	struct stream_space s;
	struct cost cost;
	void *p[5];
	u32 i;

	if (!kernel)
		cu.model_fail("cuModuleLoadData", 1, CUDA_ERROR_INVALID_PTX, 0);
	debug_letters_are("ZP");
	stream_space_open(&s, test, kind, GIB, SLABDEV_ORDER_STREAM);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = must_alloc(test, s.sd, size);
	KUNIT_EXPECT_EQ(test, slabdev_validate(s.sd), 0);
	cost = cost_now();
	KUNIT_EXPECT_EQ(test, slabdev_validate(s.sd), 0);
	cost = cost_since(&cost);
	*slabs = nr_slabs(s.sd);
	kunit_info(test, "%zu bytes, %llu slabs, %s: %llu launches, %llu reads, "
		   "%llu waits, %llu calls", size,
		   (unsigned long long)*slabs, kernel ? "kernel" : "read",
		   (unsigned long long)cost.launches,
		   (unsigned long long)cost.reads,
		   (unsigned long long)cost.waits,
		   (unsigned long long)cost.all);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		EXPECT_FREED(test, s.sd, p[i]);
	stream_space_close(&s);
	return cost;
}

/* One launch a slab, and what is clean is not read. */
static void a_walk_reads_nothing(struct kunit *test)
{
	static const size_t sizes[] = { 256, 5000, 300000, 1000000 };
	const struct cuda_kind_param *kind = test->param_value;
	struct cost cost, before;
	u64 slabs;
	u32 i;

	need_debug(test);
	need_kernel(test);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		cost = walk(test, kind, sizes[i], true, &slabs);
		KUNIT_EXPECT_EQ(test, cost.launches, slabs);
		KUNIT_EXPECT_EQ(test, cost.waits, slabs);
		KUNIT_EXPECT_EQ(test, cost.reads, 0);
		KUNIT_EXPECT_EQ(test, cost.loads, 0);
		before = walk(test, kind, sizes[i], false, &slabs);
		KUNIT_EXPECT_EQ(test, before.launches, 0);
		KUNIT_EXPECT_LE(test, cost.all, before.all);
	}
}

/* Before they are handed out again, and by a walk as they are free: large ones
 * in pieces of a MiB. */
static void free_memory_is_not_read(struct kunit *test)
{
	static const size_t sizes[] = { 256, 300000, 3 * MIB, 40 * MIB };
	struct stream_space s;
	struct cost cost;
	void *p;
	u32 i;

	need_debug(test);
	need_kernel(test);
	debug_letters_are("ZP");
	stream_space_open(&s, test, test->param_value, GIB,
			  SLABDEV_ORDER_STREAM);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_FREED(test, s.sd, must_alloc(test, s.sd, sizes[i]));
		cost = cost_now();
		p = must_alloc(test, s.sd, sizes[i]);
		cost = cost_since(&cost);
		KUNIT_EXPECT_EQ(test, cost.reads, 0);
		KUNIT_EXPECT_GE(test, cost.launches, 1);
		KUNIT_EXPECT_LE(test, cost.launches,
				sizes[i] / (8 * MIB) + 2);
		EXPECT_FREED(test, s.sd, p);
	}
	cost = cost_now();
	expect_sound(test, s.sd);
	cost = cost_since(&cost);
	/* What is no longer than a read is read. */
	KUNIT_EXPECT_LE(test, cost.reads, 2);
	KUNIT_EXPECT_GE(test, cost.launches, 40);
	KUNIT_EXPECT_LE(test, cost.launches, 60);
	stream_space_close(&s);
}

/* Objects of as many slabs: two launches, since they have more than 8 MiB. */
static void frees_are_looked_at_together(struct kunit *test)
{
	struct stream_space s;
	struct cost cost;
	void *p[32];
	u32 i;

	need_debug(test);
	need_kernel(test);
	debug_letters_are("ZP");
	stream_space_open(&s, test, test->param_value, GIB,
			  SLABDEV_ORDER_STREAM);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = must_alloc(test, s.sd, 300000);
	KUNIT_EXPECT_EQ(test, slabdev_validate(s.sd), 0);
	cost = cost_now();
	for (i = 0; i < ARRAY_SIZE(p); i++)
		EXPECT_FREED(test, s.sd, p[i]);
	cost = cost_since(&cost);
	KUNIT_EXPECT_EQ(test, cost.reads, 0);
	KUNIT_EXPECT_EQ(test, cost.waits, cost.launches);
	KUNIT_EXPECT_EQ(test, cost.launches, 2);
	stream_space_close(&s);
}

/* Beside @others without damage; how often memory is read for it. */
static u64 find_damage(struct kunit *test, const struct cuda_kind_param *kind,
		       u32 others)
{
	struct stream_space s;
	struct cost cost;
	void *p, *q[9];
	u32 i;

	debug_letters_are("FZP");
	stream_space_open(&s, test, kind, GIB, SLABDEV_ORDER_STREAM);
	for (i = 0; i < others; i++)
		q[i] = must_alloc(test, s.sd, 300000);
	p = must_alloc(test, s.sd, 300000);
	cuda_submit_fill(test, p, 300001, 0x5a, s.bound);
	cost = cost_now();
	EXPECT_TOLD(test, REPORT_RED_ZONE, expect_damaged(test, s.sd, 1));
	cost = cost_since(&cost);
	expect_told(test, "First byte 0x5a instead of 0xcc");
	expect_told(test, "Object 0x%llx of ",
		    (unsigned long long)(uintptr_t)p);
	for (i = 0; i < others; i++)
		EXPECT_FREED(test, s.sd, q[i]);
	EXPECT_FREED(test, s.sd, p);
	cuda_close(test, s.sd);
	stream_space_end(&s);
	return cost.reads;
}

/* A zone that a kernel writes is told of as ever; only that object is read. */
static void damage_is_told_as_ever(struct kunit *test)
{
	const struct cuda_kind_param *kind = test->param_value;
	u64 reads;

	need_debug(test);
	need_kernel(test);
	reads = find_damage(test, kind, 0);
	KUNIT_EXPECT_GT(test, reads, 0);
	KUNIT_EXPECT_EQ(test, find_damage(test, kind, 9), reads);
}

/* ---- Several threads ---------------------------------------------------- */

#define THREADS 8u

static void *look_again_and_again(void *arg)
{
	struct yard *y = arg;
	struct vmm_check range[3];
	u64 seen = 0;
	u32 i;
	int err;

	for (i = 0; i < 50; i++) {
		range[0] = yard_range(y, 1, 1000);
		range[1] = yard_range(y, 1000, 40000);
		range[2] = yard_range(y, 0, 33333);
		err = yard_look(y, range, ARRAY_SIZE(range));
		if (err == -EBUSY)
			continue;
		if (err || range[0].first_bad != VMM_CHECK_CLEAN ||
		    range[1].first_bad != 30000 || range[2].first_bad != 31000)
			return NULL;
		seen++;
	}
	return (void *)(uintptr_t)(seen + 1);
}

/* Each has the answers to its own question, or none. */
static void threads_look_at_once(struct kunit *test)
{
	struct yard *y = yard_open(test);
	pthread_t thread[THREADS];
	void *seen;
	u32 i;

	yard_put(y, 31000, 1);
	for (i = 0; i < THREADS; i++)
		KUNIT_ASSERT_EQ(test, pthread_create(&thread[i], NULL,
				look_again_and_again, y), 0);
	for (i = 0; i < THREADS; i++) {
		KUNIT_ASSERT_EQ(test, pthread_join(thread[i], &seen), 0);
		KUNIT_EXPECT_NOT_NULL(test, seen);
	}
	yard_close(y);
}

/* ---- The text ----------------------------------------------------------- */

static const char assemble[] =
	"PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:/usr/local/cuda/bin\n"
	"command -v ptxas >/dev/null || exit 77\n"
	"for arch in sm_75 sm_90 sm_100; do\n"
	"	ptxas --warning-as-error -arch=$arch -o /dev/null \"$1\" ||\n"
	"		exit 1\n"
	"done\n";

/* NVIDIA's assembler takes it, for old and new devices. */
static void the_text_assembles(struct kunit *test)
{
	const char *path = kunit_source_path(test, "vmm/check.ptx");
	struct kunit_process proc;

	kunit_run_program(test, &proc, (const char *[]){ "sh", "-c", assemble,
							  "sh", path, NULL });
	if (proc.exit_code == 77)
		kunit_skip(test, "there is no ptxas");
	if (proc.exit_code)
		kunit_show_process(test, &proc);
	KUNIT_EXPECT_EQ(test, proc.exit_code, 0);
}

static const struct kunit_case cuda_check_cases[] = {
	KUNIT_CASE(every_short_range),
	KUNIT_CASE_PARAM(boundaries, kind_gen_params),
	KUNIT_CASE(the_lowest_of_several),
	KUNIT_CASE(many_ranges),
	KUNIT_CASE(random_ranges),
	KUNIT_CASE_PARAM(a_walk_reads_nothing, kind_gen_params),
	KUNIT_CASE_PARAM(free_memory_is_not_read, kind_gen_params),
	KUNIT_CASE_PARAM(frees_are_looked_at_together, kind_gen_params),
	KUNIT_CASE_PARAM(damage_is_told_as_ever, kind_gen_params),
	KUNIT_CASE(threads_look_at_once),
	KUNIT_CASE(the_text_assembles),
	{}
};

static const struct kunit_suite cuda_check_suite = {
	.name = "cuda_check",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cuda_check_cases,
};
kunit_test_suite(cuda_check_suite);
