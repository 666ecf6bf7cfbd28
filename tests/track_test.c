// SPDX-License-Identifier: BSD-2-Clause
/*
 * track_test.c - who allocated and who freed what (slab/track.h).
 *
 * The functions are called as the hooks of debugging do. Most cases need no
 * objects for it: an offset is a number.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/depot.h"
#include "core/stack.h"
#include "slab/hazard_watch.h"
#include "slab/trace.h"
#include "slab/track.h"
#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/random.h"

static struct slabdev *tracked_space(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);

	KUNIT_ASSERT_EQ(test, tracks_init(sd), 0);
	return sd;
}

/* The two callers whose stacks are told apart. */
static void __attribute__((noinline)) first_alloc(struct slabdev *sd,
						  u64 offset, u64 size)
{
	struct order o = order_plain(sd);

	hazard_keep_site(NULL);
	track_alloc(sd, NULL, offset, size, &o);
}

static void __attribute__((noinline)) second_alloc(struct slabdev *sd,
						   u64 offset, u64 size)
{
	struct order o = order_plain(sd);

	hazard_keep_site(NULL);
	track_alloc(sd, sd->class[3], offset, size, &o);
}

static void __attribute__((noinline)) first_free(struct slabdev *sd,
						 u64 offset, u64 size)
{
	struct order o = order_plain(sd);

	hazard_keep_site(NULL);
	track_free(sd, NULL, offset, size, &o);
}

/* ---- One object ---------------------------------------------------------- */

static void both_events_are_kept(struct kunit *test)
{
	struct slabdev *sd = tracked_space(test);
	u64 before = track_now();
	struct track t;

	KUNIT_EXPECT_FALSE(test, track_find(sd, 4096, &t));
	second_alloc(sd, 4096, 640);
	KUNIT_ASSERT_TRUE(test, track_find(sd, 4096, &t));
	KUNIT_EXPECT_TRUE(test, t.live);
	KUNIT_EXPECT_TRUE(test, t.alloc.known);
	KUNIT_EXPECT_FALSE(test, t.free.known);
	KUNIT_EXPECT_EQ(test, t.size, 640);
	KUNIT_EXPECT_EQ(test, t.class, 3);
	KUNIT_EXPECT_EQ(test, t.alloc.tid, (u32)os_gettid());
	KUNIT_EXPECT_GE(test, t.alloc.time, before);
	KUNIT_EXPECT_LE(test, t.alloc.time, track_now());
	KUNIT_EXPECT_NE(test, t.alloc.stack, 0);
	first_free(sd, 4096, 640);
	KUNIT_ASSERT_TRUE(test, track_find(sd, 4096, &t));
	KUNIT_EXPECT_FALSE(test, t.live);
	KUNIT_EXPECT_TRUE(test, t.alloc.known);
	KUNIT_EXPECT_TRUE(test, t.free.known);
	KUNIT_EXPECT_NE(test, t.free.stack, t.alloc.stack);
	first_alloc(sd, 4096, 100);
	KUNIT_ASSERT_TRUE(test, track_find(sd, 4096, &t));
	KUNIT_EXPECT_TRUE(test, t.live);
	KUNIT_EXPECT_TRUE(test, t.free.known);
	KUNIT_EXPECT_EQ(test, t.class, CLASS_LARGE);
	KUNIT_EXPECT_FALSE(test, track_find(sd, 4096 + 256, &t));
}

/* The lines of @offset in a report, which nobody sees. */
static void told(struct slabdev *sd, u64 offset, struct report *r)
{
	report_start(r, REPORT_CORRUPT, sd->name, "of a test");
	track_tell(r, sd, offset);
}

#define EXPECT_TOLD(test, r, ...)					\
do {									\
	char line_[128];						\
									\
	snprintf(line_, sizeof(line_), __VA_ARGS__);			\
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr((r)->text, line_),	\
				  "\"%s\" is not in\n%s", line_,	\
				  (r)->text);				\
} while (0)

static void reports_tell_both(struct kunit *test)
{
	struct slabdev *sd = tracked_space(test);
	u32 tid = (u32)os_gettid();
	struct report r;
	size_t nothing;

	told(sd, 512, &r);
	nothing = strlen(r.text);
	first_alloc(sd, 512, 640);
	told(sd, 512, &r);
	EXPECT_TOLD(test, &r, "\nAllocated by thread %u age ", tid);
	EXPECT_TOLD(test, &r, ", size 640:\n  ");
	KUNIT_EXPECT_NULL(test, strstr(r.text, "Freed"));
	first_free(sd, 512, 640);
	told(sd, 512, &r);
	EXPECT_TOLD(test, &r, "\nAllocated by thread %u age ", tid);
	EXPECT_TOLD(test, &r, "\nFreed by thread %u age ", tid);
	first_alloc(sd, 512, 640);
	told(sd, 512, &r);
	EXPECT_TOLD(test, &r, "\nFreed before that by thread %u age ", tid);
	track_forget(sd, 0, 1024);
	told(sd, 512, &r);
	KUNIT_EXPECT_EQ(test, strlen(r.text), nothing);
}

static u64 much_later(void)
{
	return (u64)1 << 62;
}

/* The names of the first stack took their time. */
static void ages_are_those_of_the_report(struct kunit *test)
{
	struct slabdev *sd = tracked_space(test);
	char line[TRACK_LINE_MAX];
	struct report r;

	first_alloc(sd, 512, 640);
	first_free(sd, 512, 640);
	report_start(&r, REPORT_CORRUPT, sd->name, "of a test");
	kunit_activate_static_stub(test, os_monotonic_ns, much_later);
	r.time = 0;
	track_tell(&r, sd, 512);
	track_describe(&r, sd, 512, line);
	kunit_deactivate_static_stub(test, os_monotonic_ns);
	EXPECT_TOLD(test, &r, "\nAllocated by thread %u age 0.000 s ",
		    (u32)os_gettid());
	EXPECT_TOLD(test, &r, "\nFreed by thread %u age 0.000 s ",
		    (u32)os_gettid());
	KUNIT_EXPECT_EQ_MSG(test, strncmp(line, "age 0.000 s ", 12), 0, "%s",
			    line);
}

/* The wrapper that all allocations of a program go through says nothing. */
static void a_line_has_callers(struct kunit *test)
{
	struct slabdev *sd = tracked_space(test);
	char line[TRACK_LINE_MAX];
	struct report r;
	const char *at;
	u32 n = 0;

	first_alloc(sd, 512, 640);
	report_start(&r, REPORT_CORRUPT, sd->name, "of a test");
	track_describe(&r, sd, 512, line);
	for (at = line; (at = strstr(at, " < ")); at++)
		n++;
	KUNIT_EXPECT_EQ_MSG(test, n, TRACK_LINE_FRAMES - 1, "%s", line);
}

static void streams_have_names(struct kunit *test)
{
	char text[STREAM_NAME_MAX];

	stream_name(NULL, text);
	KUNIT_EXPECT_STREQ(test, text, "CPU");
	stream_name(SLABDEV_STREAM_LEGACY, text);
	KUNIT_EXPECT_STREQ(test, text, "legacy");
	stream_name(SLABDEV_STREAM_PER_THREAD, text);
	KUNIT_EXPECT_STREQ(test, text, "per-thread");
	stream_name((slabdev_stream_t)(uintptr_t)0x1230, text);
	KUNIT_EXPECT_STREQ(test, text, "0x1230");
}

/* Who never was told of tracking does not have it. */
static void nothing_without_beginning(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	char line[TRACK_LINE_MAX];
	struct report r;
	struct track t;

	first_alloc(sd, 0, 100);
	first_free(sd, 0, 100);
	track_forget(sd, 0, GIB);
	KUNIT_EXPECT_FALSE(test, track_find(sd, 0, &t));
	report_start(&r, REPORT_CORRUPT, sd->name, "of a test");
	track_describe(&r, sd, 0, line);
	KUNIT_EXPECT_STREQ(test, line, "");
	KUNIT_EXPECT_EQ(test, tracks_host_bytes(sd), 0);
	KUNIT_EXPECT_EQ(test, slabdev_traces(sd, SLABDEV_TRACE_ALLOC, 0,
					     stdout), -ENODATA);
	/* A free may be the first that is seen of an object. */
	KUNIT_ASSERT_EQ(test, tracks_init(sd), 0);
	KUNIT_ASSERT_EQ(test, tracks_init(sd), 0);
	first_free(sd, 0, 100);
	KUNIT_ASSERT_TRUE(test, track_find(sd, 0, &t));
	KUNIT_EXPECT_FALSE(test, t.alloc.known);
	KUNIT_EXPECT_TRUE(test, t.free.known);
	KUNIT_EXPECT_GT(test, tracks_host_bytes(sd), 64 * KIB);
}

/* ---- Many objects -------------------------------------------------------- */

/* What each origin should have, from a walk. */
struct balance {
	struct origins *o;
	s64 objects[64], bytes[64], times[64];
};

static void add_to_balance(const struct track *t, void *arg)
{
	const struct track_event *e = t->live ? &t->alloc : &t->free;
	struct balance *b = arg;
	u32 i = origin_find(b->o, e->stack, t->live ? SLABDEV_SEG_TRACE_ALLOC :
						      SLABDEV_SEG_TRACE_FREE);

	b->objects[i]++;
	b->bytes[i] += (s64)t->size;
	b->times[i] += (s64)e->time;
}

/* The sums of the segment are those of the tracks. Returns how many. */
static u64 expect_balanced(struct kunit *test, struct slabdev *sd)
{
	struct balance *b = kunit_kzalloc(test, sizeof(*b));
	u64 nr = 0;
	u32 i;

	b->o = tracks_origins(sd);
	KUNIT_ASSERT_LE(test, b->o->nr, 64u);
	track_each(sd, add_to_balance, b);
	for (i = 0; i < b->o->nr; i++) {
		const struct slabdev_seg_trace *t = &b->o->block[0]->trace[i];

		KUNIT_EXPECT_EQ(test, t->objects, (u64)b->objects[i]);
		KUNIT_EXPECT_EQ(test, t->bytes, (u64)b->bytes[i]);
		KUNIT_EXPECT_EQ(test, t->time_sum, (u64)b->times[i]);
		nr += t->objects;
	}
	return nr;
}

/* The model: what is known of each unit of 16 bytes, 1 live, 2 free. */
#define UNITS (1u << 14)

static void step(struct kunit *test, struct slabdev *sd, u8 *model, u64 *seed)
{
	u32 at = random_below(seed, UNITS), n = 1, i;

	switch (random_below(seed, 50)) {
	case 0:
		n = (u32)random_size(seed, random_below(seed, 8) ? 2048 :
								   UNITS);
		n = min(n, UNITS - at);
		track_forget(sd, (u64)at * 16, (u64)n * 16);
		for (i = at; i < at + n; i++)
			model[i] = 0;
		break;
	case 1 ... 30:
		(at & 1 ? first_alloc : second_alloc)(sd, (u64)at * 16, at);
		model[at] = 1;
		break;
	default:
		first_free(sd, (u64)at * 16, at);
		model[at] = 2;
	}
	(void)test;
}

static void random_steps_agree(struct kunit *test)
{
	struct slabdev *sd = tracked_space(test);
	u8 *model = kunit_kzalloc(test, UNITS);
	u64 seed = random_seed(test), nr = 0;
	struct track t;
	u32 i;

	for (i = 0; i < 30000; i++)
		step(test, sd, model, &seed);
	for (i = 0; i < UNITS; i++) {
		bool found = track_find(sd, (u64)i * 16, &t);

		if (found != !!model[i] || (found && t.live != (model[i] == 1)))
			KUNIT_FAIL_AND_ABORT(test, "unit %u: %u", i, model[i]);
		nr += found;
	}
	KUNIT_EXPECT_EQ(test, expect_balanced(test, sd), nr);
	track_forget(sd, 0, (u64)UNITS * 16);
	KUNIT_EXPECT_EQ(test, expect_balanced(test, sd), 0);
}

/* Offsets of a space that is full: the tables grow, and no track is lost. */
static void tables_grow(struct kunit *test)
{
	struct slabdev *sd = tracked_space(test);
	u32 n = 100000, i, lost = 0;
	struct track t;

	for (i = 0; i < n; i++)
		first_alloc(sd, (u64)i * 4096, i);
	for (i = 0; i < n; i++)
		lost += !track_find(sd, (u64)i * 4096, &t) || t.size != i;
	KUNIT_EXPECT_EQ(test, lost, 0);
	KUNIT_EXPECT_EQ(test, expect_balanced(test, sd), n);
	kunit_info(test, "%llu host bytes a track", (unsigned long long)
		   (tracks_host_bytes(sd) / n));
	KUNIT_EXPECT_LE(test, tracks_host_bytes(sd) / n, 80);
}

struct worker {
	struct slabdev *sd;
	u64 seed;
};

static void work(void *arg)
{
	struct worker *w = arg;
	u32 i, at;

	for (i = 0; i < 5000; i++) {
		at = random_below(&w->seed, 512);
		if (random_below(&w->seed, 2))
			first_alloc(w->sd, (u64)at * 256, at);
		else
			first_free(w->sd, (u64)at * 256, at);
		if (!random_below(&w->seed, 100))
			track_forget(w->sd, (u64)at * 256, 16 * KIB);
	}
}

/* Of the same offsets, too, which objects at least do not have at once. */
static void threads_agree(struct kunit *test)
{
	struct slabdev *sd = tracked_space(test);
	struct crew *crew = crew_new(test, 4);
	struct worker w[4];
	u64 seed = random_seed(test);
	u32 i;

	for (i = 0; i < 4; i++)
		w[i] = (struct worker){ sd, seed + i };
	crew_all(crew, work, w, sizeof(w[0]));
	KUNIT_EXPECT_LE(test, expect_balanced(test, sd), 512);
}

/* ---- Many stacks --------------------------------------------------------- */

/* More stacks than there are numbers for: the others count as unknown. */
static void stacks_without_number(struct kunit *test)
{
	struct slabdev *sd = tracked_space(test);
	struct origins *o = tracks_origins(sd);
	const void *pc[2] = { to_ptr(4096), NULL };
	u32 i, kind, number, handle;

	for (i = 0; i < ORIGIN_MAX + 100; i++) {
		kind = i % 2 ? SLABDEV_SEG_TRACE_FREE : SLABDEV_SEG_TRACE_ALLOC;
		pc[1] = to_ptr(UINT64_C(65536) + i / 2);
		handle = depot_save(pc, 2);
		KUNIT_ASSERT_NE(test, handle, 0);
		number = origin_get(sd, o, handle, kind);
		KUNIT_ASSERT_EQ(test, origin_find(o, handle, kind), number);
		if (i < ORIGIN_MAX - 2)
			KUNIT_ASSERT_EQ(test, number, i + 2);
		else
			KUNIT_ASSERT_EQ(test, number, i % 2);
	}
	KUNIT_EXPECT_EQ(test, o->nr, ORIGIN_MAX);
	KUNIT_EXPECT_EQ(test, sd->rec->nr_trace_segments, ORIGIN_BLOCKS);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
}

/* ---- Without memory ------------------------------------------------------ */

static int no_commit(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return -ENOMEM;
}

static void no_memory_is_no_error(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct track t;

	kunit_activate_static_stub(test, os_commit, no_commit);
	KUNIT_EXPECT_EQ(test, tracks_init(sd), -ENOMEM);
	kunit_deactivate_static_stub(test, os_commit);
	KUNIT_ASSERT_EQ(test, tracks_init(sd), 0);
	kunit_activate_static_stub(test, os_commit, no_commit);
	first_alloc(sd, 0, 100);
	first_free(sd, 0, 100);
	KUNIT_EXPECT_FALSE(test, track_find(sd, 0, &t));
	kunit_deactivate_static_stub(test, os_commit);
	first_alloc(sd, 0, 100);
	KUNIT_EXPECT_TRUE(test, track_find(sd, 0, &t));
	KUNIT_EXPECT_EQ(test, expect_balanced(test, sd), 1);
}

/* ---- After a fork -------------------------------------------------------- */

static int be_child(struct slabdev *sd)
{
	struct track t;

	alarm(60);
	if (!track_find(sd, 256, &t) || !t.live || t.size != 100)
		return 1;
	first_free(sd, 256, 100);
	first_alloc(sd, 512, 200);
	if (!track_find(sd, 256, &t) || t.live || !track_find(sd, 512, &t))
		return 2;
	return 0;
}

static void a_child_goes_on(struct kunit *test)
{
	struct slabdev *sd = tracked_space(test);
	int status = -1;
	struct track t;
	pid_t pid;

	host_only(test, "a space of a device does not survive a fork");
	first_alloc(sd, 256, 100);
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid)
		_exit(be_child(sd));
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ_MSG(test, status, 0, "wait status %#x", status);
	KUNIT_EXPECT_FALSE(test, track_find(sd, 512, &t));
	KUNIT_EXPECT_EQ(test, expect_balanced(test, sd), 1);
}

/* ---- The log ------------------------------------------------------------- */

/* What a realloc leaves in place is of another size, and of the same stack. */
static void sizes_change_in_place(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct track t;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_set_debug(sd, "U"), 0);
	p = must_alloc(test, sd, 640);
	KUNIT_ASSERT_TRUE(test, track_find(sd, space_offset(sd, p), &t));
	KUNIT_EXPECT_EQ(test, t.size, 640);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_realloc(sd, p, 700), p);
	KUNIT_ASSERT_TRUE(test, track_find(sd, space_offset(sd, p), &t));
	KUNIT_EXPECT_TRUE(test, t.live);
	KUNIT_EXPECT_EQ(test, t.size, 700);
	KUNIT_EXPECT_EQ(test, expect_balanced(test, sd), 1);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, expect_balanced(test, sd), 1);
}

/* What is left says who left it. */
static void leaks_have_call_sites(struct kunit *test)
{
	struct slabdev *sd = tracked_space(test);
	struct order o = order_plain(sd);
	void *p = must_alloc(test, sd, 640), *q = must_alloc(test, sd, 640);
	char line[128];

	track_alloc(sd, sd->class[3], space_offset(sd, p), 640, &o);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EBUSY);
	snprintf(line, sizeof(line), "Object %p size=640 alloc-768 age 0", p);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(kunit_report_text(test), line),
				  "%s", kunit_report_text(test));
	snprintf(line, sizeof(line), " s thread %u in ", (u32)os_gettid());
	KUNIT_EXPECT_NOT_NULL(test, strstr(kunit_report_text(test), line));
	snprintf(line, sizeof(line), "Object %p size=640 alloc-768\n", q);
	KUNIT_EXPECT_NOT_NULL(test, strstr(kunit_report_text(test), line));
	EXPECT_FREED(test, sd, p);
	EXPECT_FREED(test, sd, q);
}

struct heard {
	u32 nr;
	int level;
	char text[512];
};

static void hear(int level, int kind, const char *text, void *arg)
{
	struct heard *h = arg;

	(void)kind;
	h->nr++;
	h->level = level;
	snprintf(h->text, sizeof(h->text), "%s", text);
}

static void be_quiet(void *arg)
{
	(void)arg;
	log_set_sink(NULL, NULL);
}

static void traces_are_lines(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct order o = order_plain(sd);
	struct heard h = { .nr = 0 };
	char line[128];

	hazard_keep_site(__builtin_return_address(0));
	kunit_add_action(test, be_quiet, NULL);
	log_set_sink(hear, &h);
	trace_alloc(sd, sd->class[3], 4096, 640, &o);
	snprintf(line, sizeof(line), "TRACE slabdev %s: alloc alloc-768 %p "
		 "size=640 stream=", sd->name, to_ptr(space_addr(sd, 4096)));
	KUNIT_EXPECT_EQ_MSG(test, strncmp(h.text, line, strlen(line)), 0, "%s",
			    h.text);
	KUNIT_EXPECT_NOT_NULL(test, strstr(h.text, " by "));
	KUNIT_EXPECT_EQ(test, h.level, LOG_WARN);
	trace_free(sd, NULL, 8192, 640, &o);
	snprintf(line, sizeof(line), "TRACE slabdev %s: free large %p size=640 "
		 "stream=", sd->name, to_ptr(space_addr(sd, 8192)));
	KUNIT_EXPECT_EQ_MSG(test, strncmp(h.text, line, strlen(line)), 0, "%s",
			    h.text);
	log_set_sink(NULL, NULL);
	KUNIT_EXPECT_EQ(test, h.nr, 2);
}

static const struct kunit_case track_cases[] = {
	KUNIT_CASE(both_events_are_kept),
	KUNIT_CASE(reports_tell_both),
	KUNIT_CASE(ages_are_those_of_the_report),
	KUNIT_CASE(a_line_has_callers),
	KUNIT_CASE(streams_have_names),
	KUNIT_CASE(nothing_without_beginning),
	KUNIT_CASE(random_steps_agree),
	KUNIT_CASE(tables_grow),
	KUNIT_CASE(threads_agree),
	KUNIT_CASE(stacks_without_number),
	KUNIT_CASE(no_memory_is_no_error),
	KUNIT_CASE(a_child_goes_on),
	KUNIT_CASE(sizes_change_in_place),
	KUNIT_CASE(leaks_have_call_sites),
	/* The sink that the harness needs is gone then. */
	KUNIT_CASE_ISOLATED(traces_are_lines),
	{ 0 }
};

static const struct kunit_suite track_suite = {
	.name = "track",
	.cases = track_cases,
};
kunit_test_suite(track_suite);
