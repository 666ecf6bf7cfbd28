/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slabinfo_run.h - run slabinfo on one process and look at what it said
 */
#ifndef TESTS_SLABINFO_RUN_H
#define TESTS_SLABINFO_RUN_H

#include <sys/types.h>

#include "tests/kunit/kunit.h"
#include "tests/program.h"

/* A pid as an argument; lives as long as the case. */
const char *decimal(struct kunit *test, pid_t pid);

/* slabinfo -p PID ARG... */
#define slabinfo_run(test, p, pid, ...) \
	program_run(test, p, (const char *const[]){ "tools/slabinfo", "-p", \
		    decimal(test, pid), ##__VA_ARGS__, NULL }, NULL)

/* @part is in @text, or is not. */
void expect_text(struct kunit *test, const char *text, const char *part);
void expect_no_text(struct kunit *test, const char *text, const char *part);

/* Each of @parts comes after the one before; the last is NULL. */
void expect_in_order(struct kunit *test, const char *text,
		  const char *const *parts);

/* @text is what readers of @view take: "--json", "--prometheus", or people. */
void expect_readable(struct kunit *test, const char *view, const char *text);

/*
 * Whatever the process is, slabinfo showed it or not, said why, and wrote
 * nothing that its readers cannot take.
 */
void expect_survived(struct kunit *test, const struct program *p,
		     const char *view);

#endif /* TESTS_SLABINFO_RUN_H */
