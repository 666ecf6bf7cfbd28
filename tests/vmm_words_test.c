// SPDX-License-Identifier: BSD-2-Clause
/*
 * vmm_words_test.c - what is said when a backend fails: vmm/incident.c; and
 * that the wrapper which makes it fail changes nothing else: vmm/fault.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tests/vmm_failing.h"
#include "vmm/fault.h"
#include "vmm/internal.h"

struct words {
	struct space *s;
	struct vmm *v;
	struct vmm_fault f;
};

static int words_init(struct kunit *test)
{
	struct words *t = kunit_kzalloc(test, sizeof(*t));

	test->priv = t;
	t->s = failing_space_new(test, &t->f);
	t->v = &t->s->v;
	return 0;
}

static void words_exit(struct kunit *test)
{
	struct words *t = test->priv;

	if (t)
		failing_space_end(t->s, &t->f);
}

/* ---- Errors -------------------------------------------------------------- */

static const struct {
	enum vmm_op op;
	u32 handle_chunks;
	const char *text;
} failing[] = {
	{ VMM_OP_RESERVE, 9, "test: reserve of 20480 KiB by backend fault: "
	  "Input/output error" },
	{ VMM_OP_CREATE, 2, "test: create of 4096 KiB by backend fault: "
	  "Input/output error" },
	{ VMM_OP_MAP, 2, "test: map of 4096 KiB by backend fault: "
	  "Input/output error" },
	{ VMM_OP_SET_ACCESS, 2, "test: set_access of 18432 KiB by backend "
	  "fault: Input/output error" },
};

static void the_call_is_named(struct kunit *test)
{
	struct words *t = test->priv;
	u32 first;

	space_open(t->s, 16, 8);
	for (u32 i = 0; i < ARRAY_SIZE(failing); i++) {
		vmm_fault_arm(&t->f, failing[i].op, 1, 8, -EIO);
		KUNIT_EXPECT_EQ(test, vmm_map(t->v, 9, failing[i].handle_chunks,
					      &first), -EIO);
		KUNIT_EXPECT_STREQ(test, error_get(), failing[i].text);
		vmm_fault_arm(&t->f, failing[i].op, 0, 0, 0);
	}
}

/* What the backend has to say is passed on. */
static void the_backend_has_its_say(struct kunit *test)
{
	struct words *t = test->priv;
	u32 first;

	space_open(t->s, 16, 8);
	t->f.table.explains = true;
	error_set(0, "the moon is full");
	vmm_fault_arm(&t->f, VMM_OP_CREATE, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 1, 1, &first), -EIO);
	KUNIT_EXPECT_STREQ(test, error_get(), "test: create of 2048 KiB by "
			   "backend fault: Input/output error: the moon is "
			   "full");
	t->f.table.explains = false;
	vmm_fault_arm(&t->f, VMM_OP_CREATE, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 1, 1, &first), -EIO);
	KUNIT_EXPECT_STREQ(test, error_get(), "test: create of 2048 KiB by "
			   "backend fault: Input/output error");
}

/* The last failing step is what failed the call, not one before. */
static void the_last_failure_counts(struct kunit *test)
{
	struct words *t = test->priv;
	u32 first;

	space_open(t->s, 4, 8);
	space_unmap(t->s, space_map(t->s, 2, 2), VMM_KEEP_MAPPED);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 5, 1, &first), -EDQUOT);
	KUNIT_EXPECT_STREQ(test, error_get(), "test: limit 8192 KiB, in use 0 "
			   "KiB, asked for 10240 KiB more");
	vmm_fault_arm(&t->f, VMM_OP_CREATE, 1, 2, -ENOMEM);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 1, 1, &first), -ENOMEM);
	EXPECT_ERROR_HAS(t->s, "create of 2048 KiB by backend fault: Cannot "
			 "allocate memory");
	KUNIT_EXPECT_EQ(test, t->s->cnt.created, 0);
	KUNIT_EXPECT_EQ(test, vmm_unmap(t->v, 3, VMM_RELEASE), -EINVAL);
	KUNIT_EXPECT_STREQ(test, error_get(), "test: no handle in use begins "
			   "at this chunk");
}

/* What was lacking first, and was found, is not what failed the call. */
static void what_was_found_is_not_lacking(struct kunit *test)
{
	struct words *t = test->priv;
	u32 first;

	space_open(t->s, 16, 8);
	t->v->max_chunks = 8;
	for (u32 i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, vmm_map_guarded(t->v, 2, &first), 0);
		KUNIT_ASSERT_EQ(test, vmm_unmap_guarded(t->v, first,
							VMM_RELEASE), 0);
	}
	vmm_fault_arm(&t->f, VMM_OP_CREATE, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 8, 8, &first), -EIO);
	KUNIT_EXPECT_STREQ(test, error_get(), "test: create of 16384 KiB by "
			   "backend fault: Input/output error");
	/* And a call that succeeds says nothing. */
	error_set(0, "as it was");
	KUNIT_EXPECT_EQ(test, space_map(t->s, 8, 8), 0);
	space_unmap(t->s, 0, VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(t->v, 0, true), 0);
	KUNIT_EXPECT_STREQ(test, error_get(), "as it was");
}

static void what_a_space_is_made_of(struct kunit *test)
{
	struct words *t = test->priv;
	char buf[8] = "";

	space_open(t->s, 4, 8);
	vmm_describe(t->v, buf, sizeof(buf));
	KUNIT_EXPECT_STREQ(test, buf, "fault");
	vmm_describe(t->v, buf, 3);
	KUNIT_EXPECT_STREQ(test, buf, "fa");
	KUNIT_EXPECT_EQ(test, vmm_health(t->v), 0);
}

/* ---- Lost memory --------------------------------------------------------- */

static bool report_has(struct kunit *test, const char *text)
{
	return strstr(kunit_report_text(test), text);
}

static u32 report_lines(struct kunit *test)
{
	const char *c = kunit_report_text(test);
	u32 n = 0;

	while (*c)
		n += *c++ == '\n';
	return n;
}

static void lose_one(struct words *t, enum vmm_op op, u32 first)
{
	kunit_expect_report(t->s->test, REPORT_LOST);
	vmm_fault_arm(&t->f, op, 1, 1, -EPERM);
	KUNIT_EXPECT_EQ(t->s->test, vmm_unmap(t->v, first, VMM_RELEASE), -EIO);
	EXPECT_VALID(t->s);
}

static void lost_mappings_are_told(struct kunit *test)
{
	struct words *t = test->priv;
	char where[64];
	u32 lines;

	space_open(t->s, 16, 8);
	space_map(t->s, 4, 2);
	snprintf(where, sizeof(where), "still mapped at 0x%" PRIx64,
		 t->v->base + 4 * MIB);
	t->f.table.explains = true;
	error_set(0, "the moon is full");
	lose_one(t, VMM_OP_UNMAP, 2);
	KUNIT_EXPECT_TRUE(test, report_has(test, "4096 KiB are lost"));
	KUNIT_EXPECT_TRUE(test, report_has(test, "did not take them back"));
	KUNIT_EXPECT_TRUE(test, report_has(test, "unmap: Operation not "
		"permitted (error -1) on the first of 1 handles"));
	KUNIT_EXPECT_TRUE(test, report_has(test, "the moon is full"));
	KUNIT_EXPECT_TRUE(test, report_has(test, where));
	KUNIT_EXPECT_TRUE(test, report_has(test, "count against the limit"));
	KUNIT_EXPECT_STREQ(test, error_get(), "test: memory could not be given "
			   "back and is lost: the moon is full");
	lines = report_lines(test);
	t->f.table.explains = false;
	lose_one(t, VMM_OP_RELEASE, 0);
	KUNIT_EXPECT_EQ(test, report_lines(test), lines - 2);
	KUNIT_EXPECT_FALSE(test, report_has(test, "the moon is full"));
	KUNIT_EXPECT_FALSE(test, report_has(test, "still mapped"));
	KUNIT_EXPECT_TRUE(test, report_has(test, "release: Operation not"));
	KUNIT_EXPECT_STREQ(test, error_get(), "test: memory could not be given "
			   "back and is lost");
}

/* Of several the first is named, and all are counted. */
static void lost_handles_are_counted(struct kunit *test)
{
	struct words *t = test->priv;

	space_open(t->s, 16, 8);
	space_map(t->s, 5, 1);
	space_unmap_singles(t->s, 0, 5, VMM_KEEP_MAPPED);
	kunit_expect_report(test, REPORT_LOST);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 2, 3, -EPERM);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(t->v, 0, true), -EIO);
	KUNIT_EXPECT_TRUE(test, report_has(test, "6144 KiB are lost"));
	KUNIT_EXPECT_TRUE(test, report_has(test, "on the first of 3 handles"));
	KUNIT_EXPECT_EQ(test, t->s->cnt.lost, 6 * MIB);
	KUNIT_EXPECT_EQ(test, t->s->cnt.created, 6 * MIB);
}

/* What gets lost makes no room, and nothing is asked for twice for it. */
static void lost_memory_makes_no_room(struct kunit *test)
{
	struct words *t = test->priv;
	u32 first;

	space_open(t->s, 4, 8);
	space_unmap(t->s, space_map(t->s, 2, 2), VMM_KEEP_MAPPED);
	kunit_expect_report(test, REPORT_LOST);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 1, -EPERM);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 4, 4, &first), -EDQUOT);
	KUNIT_EXPECT_STREQ(test, error_get(), "test: limit 8192 KiB, in use "
			   "4096 KiB, asked for 8192 KiB more");
	EXPECT_VALID(t->s);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(t->v, 0, true), 0);
	space_unmap(t->s, space_map(t->s, 2, 2), VMM_KEEP_MAPPED);
	kunit_expect_report(test, REPORT_LOST);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 1, -ENOMEM);
	vmm_fault_arm(&t->f, VMM_OP_CREATE, 1, 1, -ENOMEM);
	space_mark(t->s);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 1, 1, &first), -ENOMEM);
	EXPECT_CALLS(t->s, 1, 0, 0, 1, 0);
}

/* Each is told once, however often it is tried, and once more at the end. */
static void lost_memory_is_told_once(struct kunit *test)
{
	struct words *t = test->priv;
	const struct vmm_ops *ops = &t->f.table;
	u64 id, raw_addr, raw_size, addr;

	space_open(t->s, 16, 8);
	space_map(t->s, 2, 2);
	id = (*vmm_chunk(t->v, 0))->id;
	addr = t->v->base;
	raw_addr = t->v->res[0].raw_addr;
	raw_size = t->v->res[0].raw_size;
	lose_one(t, VMM_OP_UNMAP, 0);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 100, -EPERM);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(t->v, 0, true), -EIO);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(t->v, 0, true), -EIO);
	KUNIT_EXPECT_EQ(test, kunit_report_count(test, REPORT_LOST), 1);
	kunit_expect_report(test, REPORT_LOST);
	KUNIT_EXPECT_EQ(test, space_close(t->s), -EIO);
	KUNIT_EXPECT_TRUE(test, report_has(test, "4096 KiB are lost"));
	KUNIT_EXPECT_TRUE(test, report_has(test, "of 1 handles"));
	KUNIT_EXPECT_FALSE(test, report_has(test, "slabdev_trim()"));
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, ops->unmap(&t->f, addr, 4 * MIB), 0);
	KUNIT_EXPECT_EQ(test, ops->release(&t->f, id, 4 * MIB), 0);
	KUNIT_EXPECT_EQ(test, ops->unreserve(&t->f, raw_addr, raw_size), 0);
}

/* ---- The wrapper --------------------------------------------------------- */

static void *const inner = (void *)4096;
static slabdev_stream_t stream = (slabdev_stream_t)(void *)8192;
static const char *inner_call;
static int inner_err;

/* Every number and pointer that an operation is given has one value. */
#define ADDR 11u
#define SIZE 22u
#define ALIGN 33u
#define ID 44u
#define EVENT 55u
#define PITCH 66u
#define ROWS 77u
#define BYTE 88u
#define TO 99u
static char buffer[1];
static u64 number;

static int got(const char *call, bool as_given)
{
	inner_call = as_given ? call : "something else";
	return inner_err;
}

#define INNER(op, args, ...)						\
static int inner_##op args						\
{									\
	return got(#op, dev == inner && (__VA_ARGS__));			\
}
INNER(granularity, (void *dev, u64 *bytes), bytes == &number)
INNER(reserve, (void *dev, u64 size, u64 align, u64 *addr),
      size == SIZE && align == ALIGN && addr == &number)
INNER(unreserve, (void *dev, u64 addr, u64 size), addr == ADDR && size == SIZE)
INNER(create, (void *dev, u64 size, u64 *handle),
      size == SIZE && handle == &number)
INNER(release, (void *dev, u64 handle, u64 size), handle == ID && size == SIZE)
INNER(map, (void *dev, u64 addr, u64 size, u64 handle),
      addr == ADDR && size == SIZE && handle == ID)
INNER(set_access, (void *dev, u64 addr, u64 size), addr == ADDR && size == SIZE)
INNER(unmap, (void *dev, u64 addr, u64 size), addr == ADDR && size == SIZE)
INNER(fill, (void *dev, u64 addr, u64 size, u8 byte, slabdev_stream_t on),
      addr == ADDR && size == SIZE && byte == BYTE && on == stream)
INNER(fill2d, (void *dev, u64 addr, u64 pitch, u64 width, u64 height, u8 byte,
	       slabdev_stream_t on),
      addr == ADDR && pitch == PITCH && width == SIZE && height == ROWS &&
      byte == BYTE && on == stream)
INNER(read, (void *dev, void *to, u64 addr, u64 size),
      to == buffer && addr == ADDR && size == SIZE)
INNER(read2d, (void *dev, void *to, u64 to_pitch, u64 addr, u64 pitch,
	       u64 width, u64 height),
      to == buffer && to_pitch == ALIGN && addr == ADDR && pitch == PITCH &&
      width == SIZE && height == ROWS)
INNER(copy, (void *dev, u64 to, u64 from, u64 size, slabdev_stream_t on),
      to == TO && from == ADDR && size == SIZE && on == stream)
INNER(event_create, (void *dev, u64 *event), event == &number)
INNER(event_record, (void *dev, u64 event, slabdev_stream_t on),
      event == EVENT && on == stream)
INNER(event_query, (void *dev, u64 event), event == EVENT)
INNER(event_wait, (void *dev, u64 event), event == EVENT)
INNER(event_destroy, (void *dev, u64 event), event == EVENT)
INNER(stream_wait, (void *dev, slabdev_stream_t on, u64 event),
      on == stream && event == EVENT)
INNER(check_stream, (void *dev, slabdev_stream_t on), on == stream)
INNER(is_captured, (void *dev, slabdev_stream_t on), on == stream)
INNER(quiesce, (void *dev), true)
INNER(meminfo, (void *dev, u64 *free_bytes, u64 *total),
      free_bytes == &number && total == &number)
INNER(check, (void *dev, struct vmm_check *ranges, u32 nr),
      ranges == (void *)buffer && nr == ROWS)
INNER(share, (void *dev, u64 handle, struct slabdev_share *share),
      handle == ID && share)
INNER(import, (void *dev, const struct slabdev_share *share, u64 *handle),
      share->handle_bytes == SIZE && handle == &number)

static u32 inner_share_type(void *dev)
{
	return (u32)got("share_type", dev == inner);
}

#define TAKES(op) .op = inner_##op
static const struct vmm_ops inner_ops = {
	.name = "inner",
	TAKES(granularity), TAKES(reserve), TAKES(unreserve), TAKES(create),
	TAKES(release), TAKES(map), TAKES(set_access), TAKES(unmap),
	TAKES(fill), TAKES(fill2d), TAKES(read), TAKES(read2d), TAKES(copy),
	TAKES(event_create), TAKES(event_record), TAKES(event_query),
	TAKES(event_wait), TAKES(event_destroy), TAKES(stream_wait),
	TAKES(check_stream), TAKES(is_captured), TAKES(quiesce),
	TAKES(meminfo), TAKES(check), TAKES(share_type), TAKES(share),
	TAKES(import),
};

#define NEVER VMM_NR_OPS	/* made to fail by no arming */

/*
 * Once as it is; then, where the operation is made to fail, without reaching
 * the one inside. Both times the error is what the caller gets.
 */
#define EXPECT_THROUGH(test, f, op, kind, ...)				\
do {									\
	const struct vmm_ops *ops = &(f)->table;			\
									\
	inner_call = "nothing";						\
	inner_err = 5000 + __LINE__;					\
	KUNIT_EXPECT_EQ(test, (int)ops->op(f, ##__VA_ARGS__), inner_err); \
	KUNIT_EXPECT_STREQ(test, inner_call, #op);			\
	if ((kind) == NEVER)						\
		break;							\
	inner_call = "nothing";						\
	vmm_fault_arm(f, (kind) % VMM_NR_OPS, 1, 1, -EIO);		\
	KUNIT_EXPECT_EQ(test, (int)ops->op(f, ##__VA_ARGS__), -EIO);	\
	KUNIT_EXPECT_STREQ(test, inner_call, "nothing");		\
	KUNIT_EXPECT_EQ(test, (f)->calls[(kind) % VMM_NR_OPS], 1);	\
} while (0)

static void the_wrapper_passes_on(struct kunit *test)
{
	struct slabdev_share share = { .handle_bytes = SIZE };
	struct vmm_fault f;

	vmm_fault_init(&f, &inner_ops, inner);
	EXPECT_THROUGH(test, &f, granularity, NEVER, &number);
	EXPECT_THROUGH(test, &f, reserve, VMM_OP_RESERVE, SIZE, ALIGN, &number);
	EXPECT_THROUGH(test, &f, unreserve, VMM_OP_UNRESERVE, ADDR, SIZE);
	EXPECT_THROUGH(test, &f, create, VMM_OP_CREATE, SIZE, &number);
	EXPECT_THROUGH(test, &f, release, VMM_OP_RELEASE, ID, SIZE);
	EXPECT_THROUGH(test, &f, map, VMM_OP_MAP, ADDR, SIZE, ID);
	EXPECT_THROUGH(test, &f, set_access, VMM_OP_SET_ACCESS, ADDR, SIZE);
	EXPECT_THROUGH(test, &f, unmap, VMM_OP_UNMAP, ADDR, SIZE);
	EXPECT_THROUGH(test, &f, share_type, NEVER);
	EXPECT_THROUGH(test, &f, share, VMM_OP_CREATE, ID, &share);
	EXPECT_THROUGH(test, &f, import, VMM_OP_CREATE, &share, &number);
	/* Nothing has succeeded, and there is nothing in the books. */
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&f));
	vmm_fault_fini(&f);
}

static void the_wrapper_passes_work_on(struct kunit *test)
{
	struct vmm_fault f;

	vmm_fault_init(&f, &inner_ops, inner);
	EXPECT_THROUGH(test, &f, fill, VMM_OP_FILL, ADDR, SIZE, BYTE, stream);
	EXPECT_THROUGH(test, &f, fill2d, VMM_OP_FILL, ADDR, PITCH, SIZE, ROWS,
		       BYTE, stream);
	EXPECT_THROUGH(test, &f, read, VMM_OP_READ, buffer, ADDR, SIZE);
	EXPECT_THROUGH(test, &f, read2d, VMM_OP_READ, buffer, ALIGN, ADDR,
		       PITCH, SIZE, ROWS);
	EXPECT_THROUGH(test, &f, copy, VMM_OP_COPY, TO, ADDR, SIZE, stream);
	EXPECT_THROUGH(test, &f, event_create, VMM_OP_EVENT, &number);
	EXPECT_THROUGH(test, &f, event_record, VMM_OP_EVENT, EVENT, stream);
	EXPECT_THROUGH(test, &f, event_query, VMM_OP_EVENT, EVENT);
	EXPECT_THROUGH(test, &f, event_wait, VMM_OP_EVENT, EVENT);
	EXPECT_THROUGH(test, &f, event_destroy, VMM_OP_EVENT, EVENT);
	EXPECT_THROUGH(test, &f, stream_wait, VMM_OP_EVENT, stream, EVENT);
	EXPECT_THROUGH(test, &f, check, VMM_OP_READ, (void *)buffer, ROWS);
	EXPECT_THROUGH(test, &f, check_stream, NEVER, stream);
	EXPECT_THROUGH(test, &f, is_captured, NEVER, stream);
	EXPECT_THROUGH(test, &f, quiesce, VMM_OP_EVENT);
	EXPECT_THROUGH(test, &f, meminfo, VMM_OP_MEMINFO, &number, &number);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&f));
	vmm_fault_fini(&f);
}

/* The books are about what has succeeded. */
static void the_wrapper_keeps_books(struct kunit *test)
{
	struct slabdev_share share = { .handle_bytes = SIZE };
	const struct vmm_ops *ops;
	struct vmm_fault f;

	vmm_fault_init(&f, &inner_ops, inner);
	ops = &f.table;
	inner_err = 0;
	KUNIT_EXPECT_EQ(test, ops->reserve(&f, SIZE, ALIGN, &number), 0);
	KUNIT_EXPECT_EQ(test, f.reservations, 1);
	KUNIT_EXPECT_FALSE(test, vmm_fault_balanced(&f));
	KUNIT_EXPECT_EQ(test, ops->unreserve(&f, ADDR, SIZE), 0);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&f));
	KUNIT_EXPECT_EQ(test, ops->create(&f, SIZE, &number), 0);
	KUNIT_EXPECT_EQ(test, ops->import(&f, &share, &number), 0);
	KUNIT_EXPECT_EQ(test, f.handles, 2);
	KUNIT_EXPECT_EQ(test, f.created_bytes, 2 * SIZE);
	KUNIT_EXPECT_EQ(test, ops->release(&f, ID, SIZE), 0);
	KUNIT_EXPECT_EQ(test, f.handles, 1);
	KUNIT_EXPECT_EQ(test, f.created_bytes, SIZE);
	KUNIT_EXPECT_EQ(test, ops->release(&f, ID, SIZE), 0);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&f));
	KUNIT_EXPECT_EQ(test, ops->map(&f, ADDR, SIZE, ID), 0);
	KUNIT_EXPECT_EQ(test, f.mappings, 1);
	KUNIT_EXPECT_EQ(test, f.mapped_bytes, SIZE);
	KUNIT_EXPECT_FALSE(test, vmm_fault_balanced(&f));
	KUNIT_EXPECT_EQ(test, ops->unmap(&f, ADDR, SIZE), 0);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&f));
	vmm_fault_fini(&f);
}

/* Whichever of them does not balance. */
static void each_book_counts(struct kunit *test)
{
	struct vmm_fault f;
	u64 *const books[] = {
		&f.reservations, &f.handles, &f.mappings, &f.created_bytes,
		&f.mapped_bytes,
	};

	vmm_fault_init(&f, &inner_ops, inner);
	for (u32 i = 0; i < ARRAY_SIZE(books); i++) {
		KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&f));
		*books[i] = 1;
		KUNIT_EXPECT_FALSE(test, vmm_fault_balanced(&f));
		*books[i] = 0;
	}
	vmm_fault_fini(&f);
}

static void the_wrapper_has_the_traits(struct kunit *test)
{
	struct vmm_ops ops = inner_ops;
	struct vmm_fault f;

	for (u32 bit = 0; bit < 4; bit++) {
		ops.survives_fork = bit == 0;
		ops.synchronous = bit == 1;
		ops.backed = bit == 2;
		ops.dear_handles = bit == 3;
		vmm_fault_init(&f, &ops, inner);
		KUNIT_EXPECT_EQ(test, f.table.survives_fork, bit == 0);
		KUNIT_EXPECT_EQ(test, f.table.synchronous, bit == 1);
		KUNIT_EXPECT_EQ(test, f.table.backed, bit == 2);
		KUNIT_EXPECT_EQ(test, f.table.dear_handles, bit == 3);
		KUNIT_EXPECT_NOT_NULL(test, f.table.share);
		vmm_fault_fini(&f);
	}
	ops.share = NULL;
	ops.check = NULL;
	vmm_fault_init(&f, &ops, inner);
	KUNIT_EXPECT_NULL(test, f.table.share);
	KUNIT_EXPECT_NULL(test, f.table.import);
	KUNIT_EXPECT_NULL(test, f.table.check);
	KUNIT_EXPECT_NULL(test, f.table.share_type);
	vmm_fault_fini(&f);
}

/* Which calls, of one kind: the third, and the one after it. */
static void the_wrapper_counts(struct kunit *test)
{
	static const int any[] = { 0, -EIO, 0, 0, -EIO, 0, 0, 0, 0 };
	const struct vmm_ops *ops;
	struct vmm_fault f;
	u32 i;

	vmm_fault_init(&f, &inner_ops, inner);
	ops = &f.table;
	inner_err = 0;
	vmm_fault_arm(&f, VMM_OP_MAP, 3, 2, -EIO);
	for (i = 1; i <= 6; i++)
		KUNIT_EXPECT_EQ(test, ops->map(&f, ADDR, SIZE, ID),
				i == 3 || i == 4 ? -EIO : 0);
	/* For good: not before the third, either. */
	vmm_fault_arm(&f, VMM_OP_MAP, 3, ~(u64)0, -EIO);
	for (i = 1; i <= 6; i++)
		KUNIT_EXPECT_EQ(test, ops->map(&f, ADDR, SIZE, ID),
				i < 3 ? 0 : -EIO);
	vmm_fault_arm(&f, VMM_OP_MAP, 0, 8, -EIO);
	KUNIT_EXPECT_EQ(test, ops->map(&f, ADDR, SIZE, ID), 0);
	vmm_fault_arm_any(&f, 3, ~(u64)0, 1, -EIO);
	for (i = 1; i <= 6; i++)
		KUNIT_EXPECT_EQ(test, ops->map(&f, ADDR, SIZE, ID),
				i < 3 ? 0 : -EIO);
	/* Of any kind of memory management, and no other: two, three apart. */
	vmm_fault_arm_any(&f, 2, 2, 3, -EIO);
	for (i = 0; i < ARRAY_SIZE(any); i++) {
		KUNIT_EXPECT_EQ(test, ops->fill(&f, ADDR, SIZE, BYTE, stream),
				0);
		KUNIT_EXPECT_EQ(test, i % 2 ? ops->unmap(&f, ADDR, SIZE) :
				ops->set_access(&f, ADDR, SIZE), any[i]);
	}
	vmm_fault_fini(&f);
}

static const struct kunit_case words_cases[] = {
	KUNIT_CASE(the_call_is_named),
	KUNIT_CASE(the_backend_has_its_say),
	KUNIT_CASE(the_last_failure_counts),
	KUNIT_CASE(what_was_found_is_not_lacking),
	KUNIT_CASE(what_a_space_is_made_of),
	KUNIT_CASE(lost_mappings_are_told),
	KUNIT_CASE(lost_handles_are_counted),
	KUNIT_CASE(lost_memory_makes_no_room),
	KUNIT_CASE(lost_memory_is_told_once),
	KUNIT_CASE(the_wrapper_passes_on),
	KUNIT_CASE(the_wrapper_passes_work_on),
	KUNIT_CASE(the_wrapper_keeps_books),
	KUNIT_CASE(each_book_counts),
	KUNIT_CASE(the_wrapper_has_the_traits),
	KUNIT_CASE(the_wrapper_counts),
	{ 0 }
};

static const struct kunit_suite words_suite = {
	.name = "vmm_words",
	.init = words_init,
	.exit = words_exit,
	.cases = words_cases,
};
kunit_test_suite(words_suite);
