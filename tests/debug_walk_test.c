// SPDX-License-Identifier: BSD-2-Clause
/*
 * debug_walk_test.c - walks that look at what others have, and large objects.
 *
 * What happens between two steps of a walk is made to happen there: a read of
 * the space is a function of the test, which frees and allocates first. Where
 * another thread has to stand still, the lock that it needs is held.
 */
#include "core/os.h"
#include "slab/note.h"
#include "tests/comm_objects.h"
#include "tests/crew.h"
#include "tests/damage.h"
#include "tests/meddler.h"

#define LETTERS "FZPU"

static int letters_init(const struct kunit_suite *suite)
{
	(void)suite;
	if (IS_ENABLED(CONFIG_SLAB_DEBUG))
		debug_letters_are(LETTERS);
	return 0;
}

static int walk_init(struct kunit *test)
{
	need_debug(test);
	test->priv = debug_space(test);
	return 0;
}

static void walk_exit(struct kunit *test)
{
	if (test->priv)
		close_space(test, test->priv);
}

/* ---- Between two looks -------------------------------------------------- */

/* Its owner gives it up, and somebody has it with more bytes, .. */
static void change_owner(struct meddler *m)
{
	if (m->reads != 1)
		return;
	EXPECT_FREED(m->test, m->sd, m->p);
	KUNIT_EXPECT_PTR_EQ(m->test, slabdev_alloc(m->sd, m->size + 100),
			    m->p);
	mem_fill(m->sd, m->p, m->size + 100, 0x11);
}

/* .. and gives it up for one who has as many as the first. */
static void change_back(struct meddler *m)
{
	if (m->reads != 1)
		return;
	EXPECT_FREED(m->test, m->sd, m->p);
	KUNIT_EXPECT_PTR_EQ(m->test, slabdev_alloc(m->sd, m->size), m->p);
}

/* Before and after the first look the object is live with the same size, and
 * what is seen was an owner's of another size. */
static void one_look_is_not_enough(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct meddler *m;
	void *p;

	host_only(test, "the look is a read");
	p = must_alloc(test, sd, 500);
	m = meddle(test, p, 500);
	m->before = change_owner;
	m->after = change_back;
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
	stop_meddling(m);
	EXPECT_FREED(test, sd, p);
}

/* ---- Before it is live -------------------------------------------------- */

struct late_note {
	struct slabdev *sd;
	slabdev_stream_t q;
	void *p;
	int err;
};

static void alloc_on_queue(void *arg)
{
	struct late_note *l = arg;

	l->p = slabdev_alloc_async(l->sd, 300, l->q);
}

static void walk(void *arg)
{
	struct late_note *l = arg;

	l->err = slabdev_validate(l->sd);
}

/* Its zone is filled when the queue runs. A thread that cannot note that yet
 * has no live object that a walk could find bare. */
static void noted_before_it_is_live(struct kunit *test)
{
	struct late_note l = { .sd = test->priv, .err = -1 };
	struct crew *crew = crew_new(test, 2);
	void *warm;

	host_only(test, "queues are its streams");
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&l.q, SLABDEV_QUEUE_MANUAL),
			0);
	warm = must_alloc(test, l.sd, 300);
	lock_acquire(&l.sd->notes.lock);
	crew_start(crew, 0, alloc_on_queue, &l);
	/* That it stands at the lock by then makes the test, not its result. */
	os_sleep_us(50000);
	crew_do(crew, 1, walk, &l);
	lock_release(&l.sd->notes.lock);
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, l.err, 0);
	KUNIT_EXPECT_NOT_NULL(test, l.p);
	KUNIT_EXPECT_EQ(test, slabdev_validate(l.sd), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(l.sd, l.p, l.q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(l.q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(l.sd), 0);
	EXPECT_FREED(test, l.sd, warm);
	crew_dismiss(crew);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(l.q), 0);
}

/* What others may be filling is not resized in place, unseen: it moves, and is
 * looked at when it is free. */
static void resize_of_what_others_use(struct kunit *test)
{
	static const size_t to[] = { 400, 480, 500 };
	struct slabdev *sd = test->priv;
	slabdev_stream_t q;
	void *p, *moved;
	u32 i;

	host_only(test, "queues are its streams");
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, SLABDEV_QUEUE_MANUAL),
			0);
	for (i = 0; i < ARRAY_SIZE(to); i++) {
		p = slabdev_alloc_async(sd, 450, q);
		KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(q), 0);
		smear(sd, p, 460, 1);
		EXPECT_TOLD(test, REPORT_RED_ZONE, {
			moved = slabdev_realloc(sd, p, to[i]);
			(void)slabdev_poll(sd);
		});
		expect_told(test, "11 bytes behind the end of the object");
		KUNIT_EXPECT_PTR_NE(test, moved, p);
		EXPECT_FREED(test, sd, moved);
	}
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
}

/* ---- Large objects ------------------------------------------------------ */

static const size_t large_sizes[] = { 512 * KIB, MIB, 3 * MIB, 5 * MIB - 100,
				      70 * MIB };

/* A live one is told of by each walk, and stays its owner's. */
static void walks_look_at_large_ones(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	size_t size;
	void *p;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(large_sizes); i++) {
		size = large_sizes[i];
		p = must_alloc(test, sd, size);
		expect_sound(test, sd);
		smear(sd, p, (s64)size + 3, 1);
		EXPECT_TOLD(test, REPORT_RED_ZONE,
			    expect_damaged(test, sd, 1));
		expect_told(test, "BUG slabdev test: large: Right Redzone");
		expect_told(test, "4 bytes behind the end of the object");
		expect_told(test, "size=%zu, live", size);
		expect_told(test, "Allocated by ");
		expect_told(test, "found by a walk; nothing was changed");
		EXPECT_TOLD(test, REPORT_RED_ZONE,
			    expect_damaged(test, sd, 1));
		EXPECT_TOLD(test, REPORT_RED_ZONE, EXPECT_FREED(test, sd, p));
		expect_sound(test, sd);
	}
}

static void free_it(struct meddler *m)
{
	if (m->reads == 1)
		EXPECT_FREED(m->test, m->sd, m->p);
}

static void free_it_and_trim(struct meddler *m)
{
	if (m->reads != 1)
		return;
	EXPECT_FREED(m->test, m->sd, m->p);
	KUNIT_EXPECT_EQ(m->test, slabdev_trim(m->sd, 0), 0);
	KUNIT_EXPECT_GT(m->test, figures(m->test, m->sd).mapped, 0);
}

/* Its memory stays for as long as a walk is at it, and is free then. */
static void freed_under_a_walk(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct meddler *m;
	u32 i;

	host_only(test, "the look is a read");
	for (i = 0; i < 2 * ARRAY_SIZE(large_sizes); i++) {
		m = meddle(test, must_alloc(test, sd, large_sizes[i / 2]),
			   large_sizes[i / 2]);
		m->before = i % 2 ? free_it : free_it_and_trim;
		KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
		stop_meddling(m);
		expect_sound(test, sd);
		KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
		expect_empty(test, sd);
	}
}

/* ---- Poison in large ones ----------------------------------------------- */

struct stale {
	struct kunit *test;
	struct slabdev *sd;
	char *p;
	size_t size;
};

static void use_again(struct stale *s)
{
	char *q = must_alloc(s->test, s->sd, s->size);

	KUNIT_EXPECT_PTR_EQ(s->test, q, s->p);
	EXPECT_FREED(s->test, s->sd, q);
}

/* By a slab of small ones. */
static void use_in_part(struct stale *s)
{
	void *q = must_alloc(s->test, s->sd, 100 * KIB);

	EXPECT_FREED(s->test, s->sd, q);
}

static void trim_all(struct stale *s)
{
	KUNIT_EXPECT_EQ(s->test, slabdev_trim(s->sd, 0), 0);
}

static void validate(struct stale *s)
{
	expect_damaged(s->test, s->sd, 1);
	expect_sound(s->test, s->sd);
}

static void close_it(struct stale *s)
{
	s->test->priv = NULL;
	KUNIT_EXPECT_EQ(s->test, slabdev_close(s->sd, 0), 0);
}

static const struct stale_param {
	const char *name;
	void (*find)(struct stale *s);
	const char *found;
} stale_params[] = {
	{ "reuse", use_again, "when the object was to be handed out again; "
			      "its memory is used again" },
	{ "reuse in part", use_in_part, "when the object was to be handed out "
					"again" },
	{ "trim", trim_all, "when its memory was given back; its memory goes" },
	{ "walk", validate, "by a walk; its memory is used again" },
	{ "close", close_it, "by a walk" },
};

static void describe_stale(const struct stale_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", p->name);
}
KUNIT_ARRAY_PARAM(stale, stale_params, describe_stale);

/* Written after its free, 7 bytes into it. */
static void written_after_the_free(struct kunit *test)
{
	const struct stale_param *param = test->param_value;
	struct stale s = { .test = test, .sd = test->priv, .size = 3 * MIB };

	s.p = must_alloc(test, s.sd, s.size);
	EXPECT_FREED(test, s.sd, s.p);
	expect_sound(test, s.sd);
	smear(s.sd, s.p, 7, 2);
	EXPECT_TOLD(test, REPORT_POISON, param->find(&s));
	expect_told(test, "BUG slabdev test: large: Poison overwritten\n");
	expect_told(test, "First byte 0x5a instead of 0x6b\n");
	expect_told(test, "7 bytes into the object, which is free\n");
	expect_told(test, "Object 0x%llx of large size=",
		    (unsigned long long)(uintptr_t)s.p);
	expect_told(test, "size=%zu, free", s.size);
	expect_told(test, "Freed by ");
	expect_told(test, "found %s", param->found);
}

static const u64 owned_sizes[] = { 3048, 3 * MIB };
KUNIT_ARRAY_PARAM(owned, owned_sizes, NULL);

/* A note that says whose an object is keeps no walk from it. */
static void what_is_owned_is_looked_at(struct kunit *test)
{
	u64 size = *(const u64 *)test->param_value;
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf = NULL;

	KUNIT_ASSERT_EQ(test, slabdev_buf_alloc(&buf, sd, size, NULL), 0);
	expect_sound(test, sd);
	smear(sd, slabdev_buf_ptr(buf), (s64)size, 1);
	EXPECT_TOLD(test, REPORT_RED_ZONE, expect_damaged(test, sd, 1));
	/* What is remembered of a zone is not told again. */
	if (size > MIB)
		kunit_expect_report(test, REPORT_RED_ZONE);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
}

/* ---- While a slab is made ----------------------------------------------- */

static int walk_inside(struct slabdev *sd, void *p, size_t bytes, void *arg)
{
	struct kunit *test = arg;

	(void)p;
	(void)bytes;
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
	return 0;
}

static void ignore(struct slabdev *sd, void *p, size_t bytes, void *arg)
{
	(void)sd;
	(void)p;
	(void)bytes;
	(void)arg;
}

/* Its objects are free, and in no list: they are its maker's. */
static void slab_of_its_maker_is_left_alone(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_set_mapping_callbacks(sd, walk_inside,
							    ignore, test), 0);
	p = must_comm(test, sd, MIB);
	expect_sound(test, sd);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_set_mapping_callbacks(sd, NULL, NULL,
							    NULL), 0);
}

/* ---- In a capture ------------------------------------------------------- */

static const struct {
	size_t first, then;
} graph_sizes[] = { { 4922, 4771 }, { 3 * MIB - 100, 3 * MIB - 1000 } };
KUNIT_ARRAY_PARAM(graph, graph_sizes, NULL);

static struct work {
	struct slabdev *sd;
	void *p;
	size_t size;
} first_work, next_work;

static void fill_it(void *arg)
{
	struct work *w = arg;

	mem_fill(w->sd, w->p, w->size, 1);
}

static void look_at_it(void *arg)
{
	struct work *w = arg;

	if (!mem_is(w->sd, w->p, w->size, 1))
		w->p = NULL;
}

/* The second object gets the memory of the first, whose work has not run. */
static void work_of_the_same_graph_is_left_alone(struct kunit *test)
{
	const typeof(graph_sizes[0]) *size = test->param_value;
	struct slabdev *sd = test->priv;
	struct slabdev_graph *graph;
	slabdev_stream_t q = NULL;
	void *p;

	host_only(test, "a host queue");
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, SLABDEV_QUEUE_MANUAL),
			0);
	KUNIT_ASSERT_EQ(test, slabdev_stream_attach(sd, q), 0);
	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(sd, q, &graph), 0);
	p = slabdev_alloc_async(sd, size->first, q);
	KUNIT_ASSERT_NOT_NULL(test, p);
	first_work = (struct work){ sd, p, size->first };
	mem_fill(sd, p, size->first, 1);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(q, look_at_it, &first_work),
			0);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(q, fill_it, &first_work), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(sd, p, q), 0);
	next_work = (struct work){ sd, slabdev_alloc_async(sd, size->then, q),
				   size->then };
	KUNIT_EXPECT_PTR_EQ(test, next_work.p, p);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(q, fill_it, &next_work), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(q), 0);
	KUNIT_EXPECT_PTR_EQ(test, first_work.p, p);
	expect_sound(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(sd, next_work.p, q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(graph), 0);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(graph), 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(sd, q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
	expect_sound(test, sd);
}

/* What is left of it, when its beginning has another owner. */
static void the_rest_is_looked_at(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	char *p = must_alloc(test, sd, 5 * MIB), *q;

	EXPECT_FREED(test, sd, p);
	q = must_alloc(test, sd, 3 * MIB);
	KUNIT_EXPECT_PTR_EQ(test, q, p);
	mem_fill(sd, q, 3 * MIB, 0x11);
	expect_sound(test, sd);
	smear(sd, p, 4 * MIB, 1);
	EXPECT_TOLD(test, REPORT_POISON, expect_damaged(test, sd, 1));
	expect_told(test, "0x%llx-0x%llx @offset=",
		    (unsigned long long)(uintptr_t)p + 4 * MIB,
		    (unsigned long long)(uintptr_t)p + 4 * MIB);
	EXPECT_FREED(test, sd, q);
	expect_sound(test, sd);
}

static const struct kunit_case walk_cases[] = {
	KUNIT_CASE(one_look_is_not_enough),
	KUNIT_CASE(noted_before_it_is_live),
	KUNIT_CASE(resize_of_what_others_use),
	KUNIT_CASE(walks_look_at_large_ones),
	KUNIT_CASE(freed_under_a_walk),
	KUNIT_CASE_PARAM(written_after_the_free, stale_gen_params),
	KUNIT_CASE(the_rest_is_looked_at),
	KUNIT_CASE_PARAM(what_is_owned_is_looked_at, owned_gen_params),
	KUNIT_CASE_PARAM(work_of_the_same_graph_is_left_alone,
			 graph_gen_params),
	KUNIT_CASE(slab_of_its_maker_is_left_alone),
	{}
};

static const struct kunit_suite debug_walk_suite = {
	.name = "debug_walk",
	.suite_init = letters_init,
	.init = walk_init,
	.exit = walk_exit,
	.cases = walk_cases,
	.any_space = true,
};
kunit_test_suite(debug_walk_suite);
