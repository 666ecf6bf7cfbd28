// SPDX-License-Identifier: BSD-2-Clause
/*
 * vmm_import_test.c - handles that leave and enter the process, step by step:
 * vmm/share.c.
 *
 * Imports are made by a backend that has nothing but a memory of what it was
 * called for, a letter each, and fails where a case says so. share_test.c has
 * what two processes make of it.
 */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "tests/vmm_space.h"
#include "vmm/internal.h"

/*
 *   g granularity   R reserve   I import   M map   A set_access
 *   q quiesce       h health    u unmap    r release   x unreserve
 */
static struct far {
	struct kunit *test;
	char calls[64];
	u32 nr;
	char fails, undo_fails;		/* which letter, */
	u32 undo_times;			/* so often from now on */
	int err;
	int quiesce_err, health_err;
	u64 granularity;
	char log[512];
} far;

#define FAR_ADDR ((u64)3 << 40)
#define FAR_BYTES (4 * MIB)
#define FAR_HANDLE 77u

static int step(char letter)
{
	far.calls[far.nr++] = letter;
	if (letter == far.fails)
		return error_set(far.err, "far says no");
	if (letter == far.undo_fails && far.undo_times) {
		far.undo_times--;
		return error_set(-EPERM, "far does not undo");
	}
	return 0;
}

static int far_granularity(void *dev, u64 *bytes)
{
	KUNIT_EXPECT_PTR_EQ(far.test, dev, &far);
	*bytes = far.granularity;
	return step('g');
}

static int far_reserve(void *dev, u64 size, u64 align, u64 *addr)
{
	KUNIT_EXPECT_PTR_EQ(far.test, dev, &far);
	KUNIT_EXPECT_EQ(far.test, size, FAR_BYTES);
	KUNIT_EXPECT_EQ(far.test, align, max(far.granularity, 2 * MIB));
	*addr = FAR_ADDR;
	return step('R');
}

static int far_import(void *dev, const struct slabdev_share *share, u64 *handle)
{
	KUNIT_EXPECT_PTR_EQ(far.test, dev, &far);
	KUNIT_EXPECT_EQ(far.test, share->handle_bytes, FAR_BYTES);
	*handle = FAR_HANDLE;
	return step('I');
}

static void expect_place(const void *dev, u64 addr, u64 size)
{
	KUNIT_EXPECT_PTR_EQ(far.test, dev, &far);
	KUNIT_EXPECT_EQ(far.test, addr, FAR_ADDR);
	KUNIT_EXPECT_EQ(far.test, size, FAR_BYTES);
}

static int far_map(void *dev, u64 addr, u64 size, u64 handle)
{
	expect_place(dev, addr, size);
	KUNIT_EXPECT_EQ(far.test, handle, FAR_HANDLE);
	return step('M');
}

static int far_set_access(void *dev, u64 addr, u64 size)
{
	expect_place(dev, addr, size);
	return step('A');
}

static int far_unmap(void *dev, u64 addr, u64 size)
{
	expect_place(dev, addr, size);
	return step('u');
}

static int far_release(void *dev, u64 handle, u64 size)
{
	expect_place(dev, FAR_ADDR, size);
	KUNIT_EXPECT_EQ(far.test, handle, FAR_HANDLE);
	return step('r');
}

static int far_unreserve(void *dev, u64 addr, u64 size)
{
	expect_place(dev, addr, size);
	return step('x');
}

static int far_quiesce(void *dev)
{
	KUNIT_EXPECT_PTR_EQ(far.test, dev, &far);
	(void)step('q');
	return far.quiesce_err;
}

static int far_health(void *dev)
{
	KUNIT_EXPECT_PTR_EQ(far.test, dev, &far);
	(void)step('h');
	return far.health_err;
}

static struct vmm_ops far_ops;
static const struct slabdev_share far_share = { .handle_bytes = FAR_BYTES };

static void keep_log(int level, int kind, const char *text, void *arg)
{
	(void)level;
	(void)kind;
	(void)arg;
	snprintf(far.log, sizeof(far.log), "%s", text);
}

static void begin(struct kunit *test)
{
	far = (struct far){ .test = test, .granularity = 64 * KIB,
			    .err = -EIO };
	far_ops = (struct vmm_ops){
		.name = "far",
		.granularity = far_granularity,
		.reserve = far_reserve,
		.unreserve = far_unreserve,
		.release = far_release,
		.map = far_map,
		.set_access = far_set_access,
		.unmap = far_unmap,
		.import = far_import,
		.quiesce = far_quiesce,
		.health = far_health,
	};
}

static int import_init(struct kunit *test)
{
	begin(test);
	log_set_sink(keep_log, NULL);
	return 0;
}

static void import_exit(struct kunit *test)
{
	(void)test;
	log_set_sink(NULL, NULL);
}

#define EXPECT_TEXT(test, text) \
	KUNIT_EXPECT_TRUE_MSG(test, strstr(error_get(), text), "%s", \
			      error_get())

/* ---- Imports ------------------------------------------------------------- */

static void steps_are_made_and_unmade(struct kunit *test)
{
	struct vmm_import m;

	KUNIT_EXPECT_EQ(test, vmm_import_open(&m, &far_ops, &far, &far_share),
			0);
	KUNIT_EXPECT_STREQ(test, far.calls, "gRIMA");
	KUNIT_EXPECT_EQ(test, m.done, VMM_IMPORT_ACCESSIBLE);
	KUNIT_EXPECT_EQ(test, m.addr, FAR_ADDR);
	KUNIT_EXPECT_EQ(test, m.bytes, FAR_BYTES);
	KUNIT_EXPECT_EQ(test, vmm_import_close(&m), 0);
	KUNIT_EXPECT_STREQ(test, far.calls, "gRIMAqurx");
	KUNIT_EXPECT_EQ(test, m.done, VMM_IMPORT_NOTHING);
	/* Nothing is left to be undone. */
	KUNIT_EXPECT_EQ(test, vmm_import_close(&m), 0);
	KUNIT_EXPECT_STREQ(test, far.calls, "gRIMAqurxq");
}

static const struct {
	char fails;
	const char *calls;
} failures[] = {
	{ 'g', "g" }, { 'R', "gR" }, { 'I', "gRIx" }, { 'M', "gRIMrx" },
	{ 'A', "gRIMAurx" },
};

static void each_failure_is_undone(struct kunit *test)
{
	struct vmm_import m;

	for (u32 i = 0; i < 2 * ARRAY_SIZE(failures); i++) {
		begin(test);
		far.fails = failures[i / 2].fails;
		far_ops.explains = i % 2;
		KUNIT_EXPECT_EQ(test, vmm_import_open(&m, &far_ops, &far,
						      &far_share), -EIO);
		KUNIT_EXPECT_STREQ(test, far.calls, failures[i / 2].calls);
		KUNIT_EXPECT_EQ(test, m.done, VMM_IMPORT_NOTHING);
		KUNIT_EXPECT_STREQ(test, error_get(), i % 2 ? "far says no" :
				   "import by backend far: Input/output error");
		KUNIT_EXPECT_STREQ(test, far.log, "");
	}
}

/* What cannot be undone is tried again, and what cannot then is told of. The
 * error is still the first. */
static void undo_is_tried_twice(struct kunit *test)
{
	struct vmm_import m;

	far.fails = 'A';
	far.undo_fails = 'u';
	far.undo_times = 1;
	far_ops.explains = true;
	KUNIT_EXPECT_EQ(test, vmm_import_open(&m, &far_ops, &far, &far_share),
			-EIO);
	KUNIT_EXPECT_STREQ(test, far.calls, "gRIMAuurx");
	KUNIT_EXPECT_STREQ(test, error_get(), "far says no");
	KUNIT_EXPECT_STREQ(test, far.log, "");

	begin(test);
	far.fails = 'M';
	far.undo_fails = 'r';
	far.undo_times = 2;
	far_ops.explains = true;
	KUNIT_EXPECT_EQ(test, vmm_import_open(&m, &far_ops, &far, &far_share),
			-EIO);
	KUNIT_EXPECT_STREQ(test, far.calls, "gRIMrr");
	KUNIT_EXPECT_STREQ(test, error_get(), "far says no");
	KUNIT_EXPECT_TRUE_MSG(test, strstr(far.log, "import of 4096 KiB") &&
			      strstr(far.log, "is lost"), "%s", far.log);
}

static void sizes_are_checked(struct kunit *test)
{
	struct vmm_import m;

	far.granularity = 8 * MIB;
	KUNIT_EXPECT_EQ(test, vmm_import_open(&m, &far_ops, &far, &far_share),
			-EINVAL);
	KUNIT_EXPECT_STREQ(test, far.calls, "g");
	begin(test);
	far.granularity = 8 * MIB;
	far_ops.explains = true;
	KUNIT_EXPECT_EQ(test, vmm_import_open(&m, &far_ops, &far, &far_share),
			-EINVAL);
	EXPECT_TEXT(test, "handle_bytes is no multiple of 8388608");
	begin(test);
	far.granularity = 4 * MIB;
	KUNIT_EXPECT_EQ(test, vmm_import_open(&m, &far_ops, &far, &far_share),
			0);
}

static void backends_may_have_no_imports(struct kunit *test)
{
	struct vmm_import m;

	far_ops.import = NULL;
	KUNIT_EXPECT_EQ(test, vmm_import_open(&m, &far_ops, &far, &far_share),
			-ENOTSUP);
	EXPECT_TEXT(test, "memory of backend far cannot be imported");
	KUNIT_EXPECT_STREQ(test, far.calls, "");
}

static void closing_waits_for_the_device(struct kunit *test)
{
	struct vmm_import m;

	KUNIT_ASSERT_EQ(test, vmm_import_open(&m, &far_ops, &far, &far_share),
			0);
	far.quiesce_err = -EAGAIN;
	KUNIT_EXPECT_EQ(test, vmm_import_close(&m), -EBUSY);
	EXPECT_TEXT(test, "captured");
	KUNIT_EXPECT_STREQ(test, far.calls, "gRIMAq");
	far.quiesce_err = -EFAULT;
	KUNIT_EXPECT_EQ(test, vmm_import_close(&m), -EFAULT);
	KUNIT_EXPECT_STREQ(test, far.calls, "gRIMAqqh");
	far_ops.health = NULL;
	KUNIT_EXPECT_EQ(test, vmm_import_close(&m), -EFAULT);
	KUNIT_EXPECT_STREQ(test, far.calls, "gRIMAqqhq");
	KUNIT_EXPECT_EQ(test, m.done, VMM_IMPORT_ACCESSIBLE);
	/* A device that is gone uses nothing. */
	far_ops.health = far_health;
	far.health_err = -EIO;
	KUNIT_EXPECT_EQ(test, vmm_import_close(&m), 0);
	KUNIT_EXPECT_STREQ(test, far.calls, "gRIMAqqhqqhurx");
}

/* Where it stopped it goes on. */
static void closing_can_be_tried_again(struct kunit *test)
{
	struct vmm_import m;

	far_ops.quiesce = NULL;
	KUNIT_ASSERT_EQ(test, vmm_import_open(&m, &far_ops, &far, &far_share),
			0);
	far.undo_fails = 'r';
	far.undo_times = 1;
	KUNIT_EXPECT_EQ(test, vmm_import_close(&m), -EIO);
	KUNIT_EXPECT_STREQ(test, far.calls, "gRIMAur");
	KUNIT_EXPECT_EQ(test, m.done, VMM_IMPORT_HANDLE);
	KUNIT_EXPECT_EQ(test, vmm_import_close(&m), 0);
	KUNIT_EXPECT_STREQ(test, far.calls, "gRIMAurrx");
}

/* ---- Exports ------------------------------------------------------------- */

static int share_err;
static u64 shared_handle, ways_of;

static u32 type_is_fd(void *dev)
{
	(void)dev;
	return SLABDEV_HANDLE_FD;
}

static int share_handle(void *dev, u64 handle, struct slabdev_share *share)
{
	(void)dev;
	share->type = SLABDEV_HANDLE_FD;
	shared_handle = handle;
	return share_err ? error_set(share_err, "it is not given away") : 0;
}

static void describe_ways(void *dev, u64 addr, char *buf, size_t len)
{
	(void)dev;
	ways_of = addr;
	snprintf(buf, len, "\n  on foot");
}

/* Two chunks of a handle each from number 0, then one handle of three. */
static struct space *shared_space(struct kunit *test, struct vmm_ops *ops)
{
	struct space *s = space_new(test);

	*ops = *s->host_ops;
	ops->share_type = type_is_fd;
	ops->share = share_handle;
	s->ops = ops;
	space_open(s, 16, 8);
	KUNIT_ASSERT_EQ(test, space_map(s, 2, 1), 0);
	KUNIT_ASSERT_EQ(test, space_map(s, 3, 3), 2);
	return s;
}

static int share(struct space *s, u64 offset, u64 bytes,
		 struct slabdev_share *out)
{
	*out = (struct slabdev_share)SLABDEV_SHARE_INIT;
	KUNIT_EXPECT_EQ(s->test, vmm_in_one_handle(&s->v, offset, bytes),
			!vmm_share(&s->v, offset, bytes, out));
	return vmm_share(&s->v, offset, bytes, out);
}

static void one_handle_has_all_of_it(struct kunit *test)
{
	struct vmm_ops ops;
	struct space *s = shared_space(test, &ops);
	const u64 at = 4 * MIB;		/* of the three chunks */
	struct slabdev_share got;

	KUNIT_EXPECT_EQ(test, share(s, at, 6 * MIB, &got), 0);
	KUNIT_EXPECT_EQ(test, got.offset, 0);
	KUNIT_EXPECT_EQ(test, got.bytes, 6 * MIB);
	KUNIT_EXPECT_EQ(test, got.handle_bytes, 6 * MIB);
	KUNIT_EXPECT_EQ(test, shared_handle, vmm_handle_at(&s->v, 2)->id);
	KUNIT_EXPECT_EQ(test, share(s, at + 5 * MIB, MIB, &got), 0);
	KUNIT_EXPECT_EQ(test, got.offset, 5 * MIB);
	KUNIT_EXPECT_EQ(test, got.bytes, MIB);
	KUNIT_EXPECT_EQ(test, share(s, at + 5 * MIB, MIB + 1, &got), -EXDEV);
	EXPECT_ERROR_HAS(s, "more than one physical handle");
	KUNIT_EXPECT_EQ(test, share(s, 2 * MIB, 2 * MIB, &got), 0);
	KUNIT_EXPECT_EQ(test, share(s, MIB, 2 * MIB, &got), -EXDEV);
	/* Not in use, not mapped, not reserved. */
	space_unmap(s, 2, VMM_KEEP_MAPPED);
	KUNIT_EXPECT_EQ(test, share(s, at, MIB, &got), -EXDEV);
	KUNIT_EXPECT_EQ(test, share(s, 7 * 2 * MIB, MIB, &got), -EXDEV);
	KUNIT_EXPECT_EQ(test, share(s, 8 * 2 * MIB, MIB, &got), -EXDEV);
	KUNIT_EXPECT_EQ(test, share(s, 512 * GIB, MIB, &got), -EXDEV);
	space_end(s);
}

static void exports_that_fail_are_explained(struct kunit *test)
{
	struct vmm_ops ops;
	struct space *s = shared_space(test, &ops);
	struct slabdev_share got = SLABDEV_SHARE_INIT;

	share_err = -EMFILE;
	KUNIT_EXPECT_EQ(test, vmm_share(&s->v, 0, MIB, &got), -EMFILE);
	KUNIT_EXPECT_STREQ(test, error_get(), "test: exporting a handle: "
			   "Too many open files");
	ops.explains = true;
	KUNIT_EXPECT_EQ(test, vmm_share(&s->v, 0, MIB, &got), -EMFILE);
	KUNIT_EXPECT_STREQ(test, error_get(), "it is not given away");
	ops.explains = false;
	share_err = 0;
	ops.share_type = NULL;
	KUNIT_EXPECT_EQ(test, vmm_share_type(&s->v), SLABDEV_HANDLE_NONE);
	KUNIT_EXPECT_EQ(test, vmm_share(&s->v, 0, MIB, &got), -ENOTSUP);
	EXPECT_ERROR_HAS(s, "cannot be shared");
	space_end(s);
}

static void ways_are_those_of_the_reservation(struct kunit *test)
{
	struct vmm_ops ops;
	struct space *s = shared_space(test, &ops);
	char buf[32] = "as it was";

	vmm_describe_ways(&s->v, MIB, buf, sizeof(buf));
	KUNIT_EXPECT_STREQ(test, buf, "as it was");
	ops.describe_ways = describe_ways;
	space_map(s, 8, 8);
	KUNIT_ASSERT_EQ(test, s->v.nr_res, 2);
	vmm_describe_ways(&s->v, MIB, buf, sizeof(buf));
	KUNIT_EXPECT_STREQ(test, buf, "\n  on foot");
	KUNIT_EXPECT_EQ(test, ways_of, s->v.res[0].raw_addr);
	vmm_describe_ways(&s->v, 9 * 2 * MIB, buf, sizeof(buf));
	KUNIT_EXPECT_EQ(test, ways_of, s->v.res[1].raw_addr);
	vmm_describe_ways(&s->v, 8 * 2 * MIB, buf, sizeof(buf));
	KUNIT_EXPECT_EQ(test, ways_of, 0);
	ops.describe_ways = NULL;
	space_end(s);
}

static const struct kunit_case import_cases[] = {
	KUNIT_CASE(steps_are_made_and_unmade),
	KUNIT_CASE(each_failure_is_undone),
	KUNIT_CASE(undo_is_tried_twice),
	KUNIT_CASE(sizes_are_checked),
	KUNIT_CASE(backends_may_have_no_imports),
	KUNIT_CASE(closing_waits_for_the_device),
	KUNIT_CASE(closing_can_be_tried_again),
	KUNIT_CASE(one_handle_has_all_of_it),
	KUNIT_CASE(exports_that_fail_are_explained),
	KUNIT_CASE(ways_are_those_of_the_reservation),
	{ 0 }
};

static const struct kunit_suite import_suite = {
	.name = "vmm_import",
	.init = import_init,
	.exit = import_exit,
	.cases = import_cases,
};
kunit_test_suite(import_suite);
