// SPDX-License-Identifier: BSD-2-Clause
/*
 * fork_test.c - the library in the child of a fork.
 *
 * A host space is the child's own copy, whatever the parent's threads were
 * doing when it was made. Where the kernel refuses the copy of the statistics,
 * the space is dead in the child: each call says so, and nothing that the child
 * does reaches the parent's figures.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os.h"
#include "slab/slab.h"
#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/reserved.h"
#include "tests/sanitizers.h"

/* Run @fn(@arg) in a child, which must end well within ten seconds. */
static void in_child(struct kunit *test, void (*fn)(void *), void *arg)
{
	pid_t pid = fork();
	int status = -1;

	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		alarm(10);
		fn(arg);
		_exit(0);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ_MSG(test, status, 0, "wait status %#x", status);
}

/* ---- Shrinkers around a fork ------------------------------------------ */

struct shrinking {
	struct kunit *test;
	struct slabdev *sd;
	u32 inside, leave;	/* atomic */
	bool forks;
	bool child;
};

static u64 stay_inside(struct slabdev *sd, u64 bytes, void *arg)
{
	struct shrinking *s = arg;

	(void)sd;
	(void)bytes;
	store_release(&s->inside, 1);
	while (!load_acquire(&s->leave))
		os_yield();
	return 0;
}

static void run_out(void *arg)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct shrinking *s = arg;

	req.flags = SLABDEV_REQ_NO_REPORT;
	KUNIT_EXPECT_NULL(s->test, slabdev_alloc_ex(s->sd, 9 * MIB, &req));
}

static void unregister_in_child(void *arg)
{
	struct shrinking *s = arg;

	KUNIT_EXPECT_EQ(s->test,
			slabdev_unregister_shrinker(s->sd, stay_inside, s), 0);
	KUNIT_EXPECT_EQ(s->test,
			slabdev_register_shrinker(s->sd, stay_inside, s), 0);
	KUNIT_EXPECT_EQ(s->test,
			slabdev_unregister_shrinker(s->sd, stay_inside, s), 0);
	KUNIT_EXPECT_EQ(s->test, slabdev_close(s->sd, 0), 0);
}

static void shrinker_of_a_thread_that_is_gone(struct kunit *test)
{
	struct crew *crew = crew_new(test, 1);
	struct shrinking s = { .test = test, .sd = case_space(test, 8 * MIB) };

	KUNIT_ASSERT_EQ(test, slabdev_register_shrinker(s.sd, stay_inside, &s),
			0);
	crew_start(crew, 0, run_out, &s);
	while (!load_acquire(&s.inside))
		os_yield();
	in_child(test, unregister_in_child, &s);
	store_release(&s.leave, 1);
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test,
			slabdev_unregister_shrinker(s.sd, stay_inside, &s), 0);
}

/* In the child the thread goes on inside, and comes out in the end. */
static u64 fork_inside(struct slabdev *sd, u64 bytes, void *arg)
{
	struct shrinking *s = arg;
	int status = -1;
	pid_t pid;

	(void)bytes;
	s->inside++;
	pid = fork();
	KUNIT_ASSERT_GE(s->test, pid, 0);
	if (!pid) {
		alarm(10);
		s->child = true;
		KUNIT_EXPECT_EQ(s->test, slabdev_unregister_shrinker(sd,
				fork_inside, s), -EDEADLK);
		return 0;
	}
	KUNIT_EXPECT_EQ(s->test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ_MSG(s->test, status, 0, "wait status %#x", status);
	return 0;
}

static void fork_from_a_shrinker(struct kunit *test)
{
	struct shrinking s = { .test = test, .sd = case_space(test, 8 * MIB) };

	KUNIT_ASSERT_EQ(test, slabdev_register_shrinker(s.sd, fork_inside, &s),
			0);
	run_out(&s);
	KUNIT_EXPECT_EQ(test, s.inside, 1);
	KUNIT_EXPECT_EQ(test,
			slabdev_unregister_shrinker(s.sd, fork_inside, &s), 0);
	expect_empty(test, s.sd);
	if (s.child)
		_exit(0);
}

/* ---- A space that did not survive ------------------------------------- */

struct dead {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache, *tiny;
	void *small, *large, *huge, *object, *bit;
};

static pid_t parent;

static int no_move(void *from, void *to, size_t size)
{
	(void)from;
	(void)to;
	(void)size;
	return -ENOMEM;
}

static int no_segment(const char *name, size_t size, void **addr)
{
	(void)name;
	(void)size;
	(void)addr;
	return -ENOSYS;
}

static int no_reserve(size_t size, void **addr)
{
	(void)size;
	(void)addr;
	return -ENOMEM;
}

static int no_commit(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return -ENOMEM;
}

/* Stands in for the wrapper; what is not refused is done by hand. */
static int no_reserve_in_child(size_t size, void **addr)
{
	if (getpid() != parent)
		return -ENOMEM;
	*addr = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		     MAP_NORESERVE, -1, 0);
	return *addr == MAP_FAILED ? -ENOMEM : 0;
}

/* The first in the child, the others in the parent. */
static const struct refused {
	const char *what;
	enum { MOVE, RESERVE, COMMIT } call;
} refusals[] = {
	{ "the copy cannot be moved", MOVE },
	{ "there are no addresses for the copy", RESERVE },
	{ "there is no memory for the copy", COMMIT },
};

static void describe_refused(const struct refused *r, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", r->what);
}
KUNIT_ARRAY_PARAM(refused, refusals, describe_refused);

static void refuse(struct kunit *test, const struct refused *r)
{
	switch (r->call) {
	case MOVE:
		kunit_activate_static_stub(test, os_move, no_move);
		break;
	case RESERVE:
		kunit_activate_static_stub(test, os_reserve, no_reserve);
		break;
	case COMMIT:
		kunit_activate_static_stub(test, os_commit, no_commit);
		break;
	}
}

static void refuse_nothing(struct kunit *test)
{
	kunit_deactivate_static_stub(test, os_move);
	kunit_deactivate_static_stub(test, os_reserve);
	kunit_deactivate_static_stub(test, os_commit);
}

#define EXPECT_DEAD(d, call) \
	KUNIT_EXPECT_EQ_MSG((d)->test, call, -EOWNERDEAD, "%s", \
			    slabdev_last_error())
#define EXPECT_NO_OBJECT(d, call) \
	KUNIT_EXPECT_ERRNO((d)->test, call, EOWNERDEAD)

static u64 never(struct slabdev *sd, u64 bytes, void *arg)
{
	(void)sd;
	(void)bytes;
	(void)arg;
	return 0;
}

static void commands_say_it(struct dead *d)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct slabdev_stats st;
	u64 n;

	EXPECT_DEAD(d, slabdev_set_policy(d->sd, &policy));
	policy.mode = SLABDEV_AGGRESSIVE;
	EXPECT_DEAD(d, slabdev_set_policy(d->sd, &policy));
	EXPECT_DEAD(d, slabdev_trim(d->sd, 0));
	EXPECT_DEAD(d, slabdev_prime(d->sd, 4 * MIB));
	EXPECT_DEAD(d, slabdev_poll(d->sd));
	EXPECT_DEAD(d, slabdev_register_shrinker(d->sd, never, NULL));
	EXPECT_DEAD(d, slabdev_unregister_shrinker(d->sd, never, d));
	EXPECT_DEAD(d, slabdev_stats(d->sd, &st, sizeof(st)));
	EXPECT_DEAD(d, slabdev_meminfo(d->sd, &n, &n));
	EXPECT_DEAD(d, slabdev_report(d->sd, stdout));
	EXPECT_DEAD(d, slabdev_validate(d->sd));
}

static void objects_say_it(struct dead *d)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	char text[200];

	EXPECT_NO_OBJECT(d, slabdev_alloc(d->sd, 100));
	EXPECT_NO_OBJECT(d, slabdev_alloc(d->sd, 3 * MIB));
	EXPECT_NO_OBJECT(d, slabdev_alloc(d->sd, 70 * MIB));
	EXPECT_NO_OBJECT(d, slabdev_alloc_ex(d->sd, 100, &req));
	EXPECT_NO_OBJECT(d, slabdev_alloc_aligned(d->sd, 100, 4096));
	EXPECT_NO_OBJECT(d, slabdev_zalloc(d->sd, 100));
	EXPECT_NO_OBJECT(d, slabdev_alloc_array(d->sd, 3, 100));
	EXPECT_NO_OBJECT(d, slabdev_realloc(d->sd, NULL, 100));
	EXPECT_NO_OBJECT(d, slabdev_realloc(d->sd, d->small, 90));
	EXPECT_NO_OBJECT(d, slabdev_realloc(d->sd, d->large, 0));
	EXPECT_DEAD(d, slabdev_free(d->sd, d->small));
	EXPECT_DEAD(d, slabdev_free(d->sd, d->large));
	EXPECT_DEAD(d, slabdev_free(d->sd, d->huge));
	EXPECT_DEAD(d, slabdev_free(d->sd, d->object));
	EXPECT_DEAD(d, slabdev_free(d->sd, d->bit));
	EXPECT_DEAD(d, slabdev_free(d->sd, d));
	/* It has no way to say it. */
	KUNIT_EXPECT_EQ(d->test, slabdev_usable_size(d->sd, d->small), 0);
	KUNIT_EXPECT_EQ(d->test, slabdev_usable_size(d->sd, d->large), 0);
	EXPECT_DEAD(d, slabdev_explain(d->small, text, sizeof(text)));
	KUNIT_EXPECT_EQ(d->test, slabdev_explain(d, text, sizeof(text)),
			-ENOENT);
}

static void cache_says_it(struct dead *d, struct slabdev_cache *cache,
			  void *object)
{
	struct slabdev_cache_stats st;
	void *p[3] = { object };

	EXPECT_NO_OBJECT(d, slabdev_cache_alloc(cache));
	EXPECT_DEAD(d, slabdev_cache_free(cache, object));
	EXPECT_DEAD(d, slabdev_cache_free_bulk(cache, 1, p));
	EXPECT_DEAD(d, slabdev_cache_alloc_bulk(cache, 3, p));
	EXPECT_DEAD(d, slabdev_cache_prefill(cache, 10));
	EXPECT_DEAD(d, slabdev_cache_shrink(cache));
	EXPECT_DEAD(d, slabdev_cache_validate(cache));
	EXPECT_DEAD(d, slabdev_cache_stats(cache, &st, sizeof(st)));
	EXPECT_DEAD(d, slabdev_cache_destroy(cache));
}

static void *call_from_a_new_thread(void *arg)
{
	objects_say_it(arg);
	return NULL;
}

static void everything_says_it(void *arg)
{
	struct dead *d = arg;
	struct slabdev_cache *cache;
	struct slabdev *other;
	pthread_t thread;

	commands_say_it(d);
	objects_say_it(d);
	cache_says_it(d, d->cache, d->object);
	cache_says_it(d, d->tiny, d->bit);
	EXPECT_DEAD(d, slabdev_cache_create(&cache, d->sd, "more", 64, NULL));
	KUNIT_EXPECT_EQ(d->test, pthread_create(&thread, NULL,
						call_from_a_new_thread, d), 0);
	pthread_join(thread, NULL);
	KUNIT_EXPECT_EQ(d->test, slabdev_close(d->sd, 0), 0);
	KUNIT_EXPECT_EQ(d->test, slabdev_close(d->sd, 0), -EINVAL);
	/* "Open a new one in this process." */
	refuse_nothing(d->test);
	other = open_space(d->test, 8 * MIB);
	EXPECT_FREED(d->test, other, must_alloc(d->test, other, 1000));
	close_space(d->test, other);
}

static void dead_open(struct kunit *test, struct dead *d)
{
	*d = (struct dead){ .test = test, .sd = case_space(test, 256 * MIB) };
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&d->cache, d->sd, "cache",
						   2000, NULL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&d->tiny, d->sd, "tiny", 64,
						   NULL), 0);
	d->small = must_alloc(test, d->sd, 500);
	d->large = must_alloc(test, d->sd, 3 * MIB);
	d->huge = must_alloc(test, d->sd, 70 * MIB);
	d->object = slabdev_cache_alloc(d->cache);
	d->bit = slabdev_cache_alloc(d->tiny);
}

static void free_all(struct dead *d)
{
	EXPECT_FREED(d->test, d->sd, d->small);
	EXPECT_FREED(d->test, d->sd, d->large);
	EXPECT_FREED(d->test, d->sd, d->huge);
	EXPECT_FREED(d->test, d->sd, d->object);
	EXPECT_FREED(d->test, d->sd, d->bit);
	KUNIT_EXPECT_EQ(d->test, slabdev_cache_destroy(d->cache), 0);
	KUNIT_EXPECT_EQ(d->test, slabdev_cache_destroy(d->tiny), 0);
	expect_empty(d->test, d->sd);
}

static void dead_space_says_so(struct kunit *test)
{
	struct slabdev_stats before, after;
	struct dead d;

	dead_open(test, &d);
	before = figures(test, d.sd);
	refuse(test, test->param_value);
	in_child(test, everything_says_it, &d);
	refuse_nothing(test);
	after = figures(test, d.sd);
	KUNIT_EXPECT_MEMEQ(test, &after, &before, sizeof(after));
	/* And the parent goes on. */
	free_all(&d);
}

static void live_in_child(void *arg)
{
	struct dead *d = arg;

	expect_sound(d->test, d->sd);
	free_all(d);
}

/* Its copy was made in time: it needs nothing more. */
static void space_survives_without_memory(struct kunit *test)
{
	struct slabdev_stats before, after;
	struct dead d;

	dead_open(test, &d);
	before = figures(test, d.sd);
	parent = getpid();
	kunit_activate_static_stub(test, os_shared_segment, no_segment);
	kunit_activate_static_stub(test, os_reserve, no_reserve_in_child);
	in_child(test, live_in_child, &d);
	kunit_deactivate_static_stub(test, os_reserve);
	after = figures(test, d.sd);
	KUNIT_EXPECT_MEMEQ(test, &after, &before, sizeof(after));
	free_all(&d);
}

static void expect_copies(void *arg)
{
	struct dead *d = arg;

	expect_sound(d->test, d->sd);
}

/* In the parent no copy is left, however often it forks. */
static void copies_go_after_the_fork(struct kunit *test)
{
	struct dead d;

	dead_open(test, &d);
	reserved_watch(test);
	for (u32 i = 0; i < 5; i++) {
		in_child(test, expect_copies, &d);
		KUNIT_EXPECT_EQ(test, reserved.held, 0);
	}
	reserved_ignore(test);
	free_all(&d);
}

/* All locks of a space are held around a fork. */
static int fork_test_init(struct kunit *test)
{
	if (IS_THREAD_SANITIZED)
		kunit_skip(test, "the thread sanitizer ends a process that "
			   "holds more than 64 locks");
	return 0;
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(shrinker_of_a_thread_that_is_gone),
	KUNIT_CASE_ISOLATED(fork_from_a_shrinker),
	KUNIT_CASE_PARAM(dead_space_says_so, refused_gen_params,
			 .isolated = true),
	KUNIT_CASE_ISOLATED(space_survives_without_memory),
	KUNIT_CASE_ISOLATED(copies_go_after_the_fork),
	{ 0 }
};

static const struct kunit_suite fork_suite = {
	.name = "fork",
	.init = fork_test_init,
	.cases = cases,
};
kunit_test_suite(fork_suite);
