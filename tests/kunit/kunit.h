/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kunit.h - unit tests with the names and habits of the kernel's KUnit
 *
 * 1. Concepts. A *suite* is a named table of *cases*; kunit_test_suite() puts
 *    it into a linker section where the runner finds it, so nothing registers
 *    it by hand. Its table is in one file, its cases may be in further ones. A
 *    case is a function that gets a struct kunit and says what it EXPECTs (a
 *    failure is recorded, the case goes on) and ASSERTs (the case ends there).
 *    A parameterized case runs once for each value that its generator yields
 *    and reports each as a test of its own.
 *
 * 2. Life of a case: suite->init, the case, suite->exit, then the deferred
 *    actions in reverse order, then the check that exactly the expected
 *    reports of the library came. Exit and actions run whatever went before,
 *    short of a crash. suite_init and suite_exit surround the cases.
 *
 * 3. Processes. The runner itself runs no test code. Each suite runs in a
 *    child; when a case crashes, exits or exceeds its time, that case fails
 *    and a new child goes on after it. An isolated case has a child of its
 *    own. So suite_init runs once in each child, not once in each run: it may
 *    set up only what its own process needs.
 *
 * 4. Threads. A case may start threads and must join them. They may EXPECT;
 *    a failed ASSERT or a kunit_skip() in one ends that thread only. A process
 *    that a case forks may EXPECT too, and must leave by _exit().
 *
 * 5. Output. What the code under test prints is kept back and shown only when
 *    its case fails. The library's own log is shown as diagnostics. A report
 *    of the library that no kunit_expect_report() announced fails the case.
 */
#ifndef TESTS_KUNIT_KUNIT_H
#define TESTS_KUNIT_KUNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"

/* Bytes that a parameter's description may have, with its final zero. */
#define KUNIT_PARAM_DESC_SIZE 128

struct kunit_run;

/**
 * struct kunit - one run of one case, as the case sees it
 * @name: the case's name
 * @param_value: parameterized cases: the value of this run
 * @param_index: and its index, from 0
 * @priv: for the suite; init sets it, the case and exit use it
 * @run: the harness's own
 */
struct kunit {
	const char *name;
	const void *param_value;
	unsigned int param_index;
	void *priv;
	struct kunit_run *run;
};

/**
 * struct kunit_case - one entry of a suite's table, made by KUNIT_CASE*()
 * @name: the function's name
 * @run_case: the test
 * @generate_params: yields the parameter after @prev (NULL: the first), NULL
 *                   when there is none; may write a description to @desc
 * @timeout_s: seconds that one run may take; 0: what --timeout says
 * @slow: takes more than a second; left out by --quick
 * @is_long: belongs to the long check; runs only with --long
 * @isolated: runs in a process of its own
 */
struct kunit_case {
	const char *name;
	void (*run_case)(struct kunit *test);
	const void *(*generate_params)(const void *prev, char *desc);
	unsigned int timeout_s;
	bool slow;
	bool is_long;
	bool isolated;
};

/*
 * Each takes further attributes last, as designated initializers:
 * KUNIT_CASE_PARAM(fills_slab, size_gen_params, .isolated = true).
 */
#define KUNIT_CASE(fn, ...) { .name = #fn, .run_case = fn, ##__VA_ARGS__ }
#define KUNIT_CASE_SLOW(fn, ...) KUNIT_CASE(fn, .slow = true, ##__VA_ARGS__)
#define KUNIT_CASE_LONG(fn, ...) KUNIT_CASE(fn, .is_long = true, ##__VA_ARGS__)
#define KUNIT_CASE_ISOLATED(fn, ...) \
	KUNIT_CASE(fn, .isolated = true, ##__VA_ARGS__)
#define KUNIT_CASE_PARAM(fn, gen, ...) \
	KUNIT_CASE(fn, .generate_params = gen, ##__VA_ARGS__)

/**
 * struct kunit_suite - a table of cases and what surrounds them
 * @name: unique; no case has the same name
 * @suite_init: before the first case of a process; non-zero fails them all
 * @suite_exit: after the last, also when @suite_init failed
 * @init: before each case and each parameter; non-zero fails it
 * @exit: after each, also when @init failed
 * @cases: ended by an empty entry
 * @exclusive: with --jobs, runs while no other suite does
 * @any_space: opens its spaces on test_spec(), so that it is one of the suites
 *             that run when SLABDEV_TEST_SPEC says on what
 */
struct kunit_suite {
	const char *name;
	int (*suite_init)(const struct kunit_suite *suite);
	void (*suite_exit)(const struct kunit_suite *suite);
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	const struct kunit_case *cases;
	bool exclusive;
	bool any_space;
};

/** test_spec - what to open spaces on: SLABDEV_TEST_SPEC, else "host" */
const char *test_spec(void);

#if defined(__has_attribute)
#if __has_attribute(retain)
#define KUNIT_RETAIN , retain
#endif
#endif
#ifndef KUNIT_RETAIN
#define KUNIT_RETAIN
#endif

/*
 * The section's name is a C identifier, so the linker provides its bounds and
 * keeps it under --gc-sections; 'retain' says the same to linkers that ask.
 * With an alignment given, no compiler aligns an array more and leaves a gap.
 */
#define KUNIT_SUITES_IN(sect, line, ...)				\
	static const struct kunit_suite *const kunit_suites_##line[]	\
	__attribute__((used KUNIT_RETAIN, section(#sect),		\
		       aligned(__alignof__(void *)))) = { __VA_ARGS__ }
#define KUNIT_SUITES_AT(sect, line, ...) \
	KUNIT_SUITES_IN(sect, line, __VA_ARGS__)

/** kunit_test_suites - have the runner find these suites: &a, &b */
#define kunit_test_suites(...) \
	KUNIT_SUITES_AT(kunit_suites, __LINE__, __VA_ARGS__)

/** kunit_test_suite - the same for one, by its name: a */
#define kunit_test_suite(suite) kunit_test_suites(&(suite))

/** kunit_demo_suites - the same, for suites that only --demo runs */
#define kunit_demo_suites(...) \
	KUNIT_SUITES_AT(kunit_demos, __LINE__, __VA_ARGS__)

/**
 * KUNIT_ARRAY_PARAM - define @name_gen_params, a generator over an array
 * @gen_name: prefix of its name
 * @array: the values
 * @get_desc: void (*)(typeof(array[0]) *, char *desc), or NULL
 */
#define KUNIT_ARRAY_PARAM(gen_name, array, get_desc)			\
	static const void *gen_name##_gen_params(const void *prev,	\
						 char *desc)		\
	{								\
		typeof((array)[0]) *next = prev ?			\
			(typeof((array)[0]) *)prev + 1 : (array);	\
		void (*describe)(typeof(next), char *) = (get_desc);	\
									\
		if (next == (array) + sizeof(array) / sizeof((array)[0])) \
			return NULL;					\
		if (describe)						\
			describe(next, desc);				\
		return next;						\
	}

/* ---- Diagnostics and verdicts ----------------------------------------- */

/** kunit_info - print lines "# case: ..." */
#define kunit_info(test, fmt, ...) kunit_log(test, fmt, ##__VA_ARGS__)
#define kunit_warn(test, fmt, ...) kunit_log(test, "WARN: " fmt, ##__VA_ARGS__)
#define kunit_err(test, fmt, ...) kunit_log(test, "ERROR: " fmt, ##__VA_ARGS__)

void kunit_log(struct kunit *test, const char *fmt, ...)
	__printf(2, 3);

/** kunit_skip - end the case here; it is neither passed nor failed */
void kunit_skip(struct kunit *test, const char *reason, ...)
	__printf(2, 3) __attribute__((noreturn));

/** kunit_mark_skipped - the same verdict, but the case goes on */
void kunit_mark_skipped(struct kunit *test, const char *reason, ...)
	__printf(2, 3);

/* ---- Managed resources ------------------------------------------------ */

typedef void (*kunit_action_fn)(void *arg);

/** kunit_kmalloc - libc memory, freed after the case. Never NULL. */
void *kunit_kmalloc(struct kunit *test, size_t size);

/** kunit_kzalloc - the same, zeroed */
void *kunit_kzalloc(struct kunit *test, size_t size);

/** kunit_add_action - call @fn(@arg) after exit, in reverse order */
void kunit_add_action(struct kunit *test, kunit_action_fn fn, void *arg);

/** kunit_remove_action - forget the youngest such action */
void kunit_remove_action(struct kunit *test, kunit_action_fn fn, void *arg);

/** kunit_release_action - call the youngest such action now */
void kunit_release_action(struct kunit *test, kunit_action_fn fn, void *arg);

/* ---- Static stubs ----------------------------------------------------- */

/**
 * kunit_activate_static_stub - have calls of @real run @replacement
 *
 * @real begins with STATIC_STUB_REDIRECT() (core/static_stub.h). In force for
 * all threads, until the case ends or kunit_deactivate_static_stub(). Skips
 * the case in a build without CONFIG_STATIC_STUB.
 */
#define kunit_activate_static_stub(test, real, replacement)		\
do {									\
	typeof(&(real)) kunit_repl_ = (replacement);			\
									\
	kunit_stub_activate(test, (void *)&(real), (void *)kunit_repl_);\
} while (0)

#define kunit_deactivate_static_stub(test, real) \
	kunit_stub_deactivate(test, (void *)&(real))

void kunit_stub_activate(struct kunit *test, void *real, void *replacement);
void kunit_stub_deactivate(struct kunit *test, void *real);

/* ---- Reports of the library ------------------------------------------- */

/**
 * kunit_expect_report - one report of @kind will come before the case ends
 *
 * It is counted and not printed. Fewer at the end, or more at any time, fail
 * the case. Call it n times to expect n.
 */
void kunit_expect_report(struct kunit *test, enum report_kind kind);

/** kunit_report_count - how many reports of @kind have come so far */
unsigned int kunit_report_count(struct kunit *test, enum report_kind kind);

/** kunit_report_text - the youngest report, "" when none came; lives as long
 * as the case
 */
const char *kunit_report_text(struct kunit *test);

#include "tests/kunit/expect.h"

#endif /* TESTS_KUNIT_KUNIT_H */
