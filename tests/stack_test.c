// SPDX-License-Identifier: BSD-2-Clause
/*
 * stack_test.c - stacks of calls that are known: who called, from where on, and
 * how many; on threads, on small stacks, from a loaded library, in a child, and
 * without an unwinder.
 *
 * The calls are of functions that are neither inlined nor made jumps; each says
 * where it returns to.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/dynlib.h"
#include "core/stack.h"
#include "core/stack_private.h"
#include "core/thread.h"
#include "tests/crew.h"
#include "tests/kunit/kunit.h"
#include "tests/loaded_code.h"
#include "tests/sanitizers.h"

#define NOT_INLINED __attribute__((noinline, used))
#define NR_CALLS 5u

/* What is to be captured, and what was. */
struct calls {
	u32 begin;		/* the call to begin at, or NONE */
	const void *foreign;	/* with NONE: instead */
	u32 max;
	const void *returns[NR_CALLS];	/* of each call, innermost first */
	const void *pc[STACK_MAX];
	u32 n;
	int error;
};
#define NONE UINT_MAX

/* Keeps a call from being a jump. */
static __thread volatile int calls_done;

NOT_INLINED static void call_0(struct calls *c)
{
	const void *from;

	c->returns[0] = __builtin_return_address(0);
	from = c->begin == NONE ? c->foreign : c->returns[c->begin];
	errno = 77;
	c->n = stack_capture(c->pc, c->max, from);
	c->error = errno;
	calls_done++;
}

#define CALL(i, next)							\
	NOT_INLINED static void call_##i(struct calls *c)		\
	{								\
		c->returns[i] = __builtin_return_address(0);		\
		call_##next(c);						\
		calls_done++;						\
	}
CALL(1, 0)
CALL(2, 1)
CALL(3, 2)
CALL(4, 3)

/* @i is where the call @first is. */
static void expect_calls_at(struct kunit *test, const struct calls *c, u32 i,
			    u32 first)
{
	KUNIT_EXPECT_EQ(test, c->error, 77);
	KUNIT_EXPECT_LE(test, c->n, c->max);
	KUNIT_ASSERT_GE(test, c->n, min(c->max, i + NR_CALLS - first));
	for (; i < c->n && first < NR_CALLS; i++, first++)
		KUNIT_EXPECT_PTR_EQ_MSG(test, c->pc[i], c->returns[first],
					"%u of %u", i, c->n);
}

static void expect_calls(struct kunit *test, const struct calls *c, u32 first)
{
	expect_calls_at(test, c, 0, first);
}

/* Not with a call, but with the function that captured. */
static void expect_all_calls(struct kunit *test, const struct calls *c)
{
	uintptr_t place = (uintptr_t)c->pc[0];

	KUNIT_EXPECT_GT(test, place, (uintptr_t)call_0);
	KUNIT_EXPECT_LT(test, place, (uintptr_t)call_0 + 300);
	expect_calls_at(test, c, 1, 0);
}

static struct calls capture(u32 begin, u32 max)
{
	struct calls c = { .begin = begin, .max = max };

	call_4(&c);
	return c;
}

/* ---- Where it begins, and ends ---------------------------------------- */

static void begins_at_each_call(struct kunit *test)
{
	struct calls c;
	u32 begin;

	for (begin = 0; begin < NR_CALLS; begin++) {
		c = capture(begin, STACK_MAX);
		expect_calls(test, &c, begin);
	}
}

/* Without a call to begin at. */
static void begins_at_caller(struct kunit *test)
{
	struct calls c = capture(NONE, STACK_MAX);

	expect_all_calls(test, &c);
}

/* Nothing returns to where the library was never called from. */
static void begins_at_caller_for_foreign_address(struct kunit *test)
{
	struct calls c = { .begin = NONE, .max = STACK_MAX,
			   .foreign = test };

	call_4(&c);
	expect_all_calls(test, &c);
}

static void as_many_as_asked_for(struct kunit *test)
{
	struct calls c;
	u32 begin, max;

	for (max = 1; max <= NR_CALLS; max++) {
		for (begin = 0; begin < NR_CALLS; begin++) {
			c = capture(begin, max);
			KUNIT_EXPECT_EQ(test, c.n, max);
			expect_calls(test, &c, begin);
			KUNIT_EXPECT_NULL(test, c.pc[max]);
		}
	}
}

/* What called _start is not a place, as some unwinders have it. */
static void ends_where_the_program_begins(struct kunit *test)
{
	const void *pc[64];
	u32 n = stack_capture(pc, ARRAY_SIZE(pc), NULL);

	KUNIT_ASSERT_GT(test, n, 2);
	KUNIT_EXPECT_LT(test, n, ARRAY_SIZE(pc));
	KUNIT_EXPECT_NOT_NULL(test, pc[n - 1]);
}

NOT_INLINED static void recurse(struct calls *c, u32 depth)
{
	if (depth)
		recurse(c, depth - 1);
	else
		call_4(c);
	calls_done++;
}

/* Of equal frames the innermost is where it begins. */
static void recursion(struct kunit *test)
{
	struct calls c = { .begin = 4, .max = STACK_MAX };
	u32 i;

	recurse(&c, 1000);
	KUNIT_ASSERT_EQ(test, c.n, STACK_MAX);
	KUNIT_EXPECT_PTR_EQ(test, c.pc[0], c.returns[4]);
	for (i = 2; i < STACK_MAX; i++)
		KUNIT_EXPECT_PTR_EQ(test, c.pc[i], c.pc[1]);

	/* Above what is looked through, it is not found. */
	c = (struct calls){ .begin = NONE, .max = STACK_MAX,
			    .foreign = __builtin_return_address(0) };
	recurse(&c, 1000);
	KUNIT_ASSERT_EQ(test, c.n, STACK_MAX);
	expect_all_calls(test, &c);
}

/* ---- Threads ---------------------------------------------------------- */

#define NR_THREADS 8u
#define NR_ROUNDS 500u

struct captor {
	u32 failures;
};

static void capture_often(void *arg)
{
	struct captor *t = arg;
	u32 i, k;

	for (i = 0; i < NR_ROUNDS; i++) {
		struct calls c = capture(i % NR_CALLS, STACK_MAX);

		for (k = i % NR_CALLS; k < NR_CALLS; k++)
			t->failures += c.pc[k - i % NR_CALLS] != c.returns[k];
	}
}

/* The first captures of the process, all at once. */
static void threads_capture_at_once(struct kunit *test)
{
	struct captor captors[NR_THREADS] = { 0 };
	struct crew *crew = crew_new(test, NR_THREADS);
	u32 i;

	crew_all(crew, capture_often, captors, sizeof(captors[0]));
	for (i = 0; i < NR_THREADS; i++)
		KUNIT_EXPECT_EQ(test, captors[i].failures, 0);
}

static void *capture_on_thread(void *arg)
{
	call_4(arg);
	return NULL;
}

static void smallest_stack(struct kunit *test)
{
	struct calls c = { .begin = 0, .max = STACK_MAX };
	pthread_attr_t attr;
	pthread_t t;

	if (IS_SANITIZED)
		kunit_skip(test, "sanitizers need more stack");
	KUNIT_ASSERT_EQ(test, pthread_attr_init(&attr), 0);
	KUNIT_ASSERT_EQ(test, pthread_attr_setstacksize(&attr, 32 * KIB), 0);
	KUNIT_ASSERT_EQ(test, pthread_create(&t, &attr, capture_on_thread,
					     &c), 0);
	pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
	expect_calls(test, &c, 0);
}

static void child_captures(struct kunit *test)
{
	struct calls c;
	int status = -1;
	pid_t pid = fork();

	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		c = capture(1, STACK_MAX);
		_exit(c.n < 4 || c.pc[0] != c.returns[1] ||
		      c.pc[3] != c.returns[4]);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
}

/* ---- Code of a library that is loaded --------------------------------- */

static const char library_source[] =
	"void call_back(void (*fn)(void *), void *arg, const void **returns);\n"
	"void call_back(void (*fn)(void *), void *arg, const void **returns)\n"
	"{\n"
	"	*returns = __builtin_return_address(0);\n"
	"	fn(arg);\n"
	"	__asm__ volatile(\"\" : : : \"memory\");\n"
	"}\n";

static void call_from_library(void *arg)
{
	call_4(arg);
	calls_done++;
}

static void loaded_library_is_passed_through(struct kunit *test)
{
	void (*call_back)(void (*)(void *), void *, const void **);
	struct calls c = { .begin = 4, .max = STACK_MAX };
	const void *returns = NULL;
	void *lib = load_code(test, "called", "-O2", library_source);

	*(void **)&call_back = code_symbol(test, lib, "call_back");
	call_back(call_from_library, &c, &returns);
	KUNIT_ASSERT_GE(test, c.n, 3);
	KUNIT_EXPECT_PTR_EQ(test, c.pc[0], c.returns[4]);
	KUNIT_EXPECT_PTR_EQ(test, c.pc[2], returns);
	KUNIT_EXPECT_EQ(test, dlclose(lib), 0);
}

/* ---- Without an unwinder ---------------------------------------------- */

static u32 nr_searches;

static bool find_none(unwind_backtrace_fn *backtrace, unwind_ip_fn *ip)
{
	(void)backtrace;
	(void)ip;
	nr_searches++;
	return false;
}

static void call_is_left_without_unwinder(struct kunit *test)
{
	struct calls c;

	kunit_activate_static_stub(test, stack_find_unwinder, find_none);
	c = capture(2, STACK_MAX);
	KUNIT_EXPECT_EQ(test, c.n, 1);
	KUNIT_EXPECT_PTR_EQ(test, c.pc[0], c.returns[2]);
	KUNIT_EXPECT_EQ(test, c.error, 77);
	/* It is looked for once. */
	c = capture(NONE, STACK_MAX);
	KUNIT_EXPECT_EQ(test, c.n, 0);
	KUNIT_EXPECT_EQ(test, nr_searches, 1);
}

static void *load_nothing(const char *name)
{
	(void)name;
	nr_searches++;
	return NULL;
}

/* A program that does not contain it. */
static void call_is_left_without_libgcc(struct kunit *test)
{
	struct calls c;

	kunit_activate_static_stub(test, dynlib_open, load_nothing);
	c = capture(2, STACK_MAX);
	if (!nr_searches)
		kunit_skip(test, "this program contains an unwinder");
	KUNIT_EXPECT_EQ(test, c.n, 1);
	KUNIT_EXPECT_PTR_EQ(test, c.pc[0], c.returns[2]);
}

static struct calls nested;

/* As malloc would, were it made of the library. */
static bool find_by_capturing(unwind_backtrace_fn *backtrace, unwind_ip_fn *ip)
{
	nr_searches++;
	nested = capture(3, STACK_MAX);
	return find_none(backtrace, ip);
}

static void finding_the_unwinder_may_capture(struct kunit *test)
{
	struct calls c;

	KUNIT_ASSERT_EQ(test, thread_init_once(NULL, NULL), 0);
	KUNIT_ASSERT_NOT_NULL(test, thread_get());
	kunit_activate_static_stub(test, stack_find_unwinder,
				   find_by_capturing);
	c = capture(2, STACK_MAX);
	KUNIT_EXPECT_EQ(test, nr_searches, 2);
	KUNIT_EXPECT_EQ(test, c.n, 1);
	KUNIT_EXPECT_EQ(test, nested.n, 1);
	KUNIT_EXPECT_PTR_EQ(test, nested.pc[0], nested.returns[3]);
	KUNIT_EXPECT_FALSE(test, thread_self->nested);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(begins_at_each_call),
	KUNIT_CASE(begins_at_caller),
	KUNIT_CASE(begins_at_caller_for_foreign_address),
	KUNIT_CASE(as_many_as_asked_for),
	KUNIT_CASE(ends_where_the_program_begins),
	KUNIT_CASE(recursion),
	KUNIT_CASE(threads_capture_at_once, .isolated = true),
	KUNIT_CASE(smallest_stack, .isolated = true),
	KUNIT_CASE(child_captures),
	KUNIT_CASE(loaded_library_is_passed_through),
	KUNIT_CASE(call_is_left_without_unwinder, .isolated = true),
	KUNIT_CASE(call_is_left_without_libgcc, .isolated = true),
	KUNIT_CASE(finding_the_unwinder_may_capture, .isolated = true),
	{ 0 }
};

static const struct kunit_suite stack_suite = {
	.name = "stack",
	.cases = cases,
};
kunit_test_suite(stack_suite);
