/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kunit_self.h - for tests that run tests/run in a child and read its output.
 *
 * RUN() gives the real runner any options. DEMO() runs the demonstration
 * suites of kunit_demo*.c; what comes out goes through the checker of KTAP,
 * and its last line and the exit status are compared with what the checker
 * counted.
 */
#ifndef TESTS_KUNIT_SELF_H
#define TESTS_KUNIT_SELF_H

#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"

void run_self(struct kunit *test, struct kunit_process *proc,
	      const char *const *args);
void check_stream(struct kunit *test, const struct kunit_process *proc);

#define RUN(test, proc, ...) \
	run_self(test, proc, (const char *const[]){ __VA_ARGS__, NULL })

#define DEMO(test, proc, ...)				\
do {							\
	RUN(test, proc, "--demo", __VA_ARGS__);		\
	check_stream(test, proc);			\
} while (0)

unsigned int count_in(const char *text, const char *part);

#define EXPECT_IN(test, text, part) \
	KUNIT_EXPECT_TRUE_MSG(test, strstr(text, part), "lacks: %s", part)
#define EXPECT_NOT_IN(test, text, part) \
	KUNIT_EXPECT_FALSE_MSG(test, strstr(text, part), "has: %s", part)

/* All these parts stand in @text, in this order. */
#define EXPECT_ORDER(test, text, ...) \
	expect_order(test, text, (const char *const[]){ __VA_ARGS__, NULL })
void expect_order(struct kunit *test, const char *text,
		  const char *const *parts);

#endif /* TESTS_KUNIT_SELF_H */
