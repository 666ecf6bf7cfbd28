/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * child.h - the process that measures one subject in one cell.
 *
 * It says what came of it in lines of text on standard output, the words of
 * each separated by a blank:
 *
 *   version TEXT	of the subject
 *   sample NS READING	one
 *   value X		a figure
 *   checked N		objects that were looked at
 *   done		all is well, and nothing follows
 *   absent TEXT	the subject cannot be opened here
 *   failed TEXT	it was, and then something went wrong
 */
#ifndef SLABBENCH_CHILD_H
#define SLABBENCH_CHILD_H

#include "options.h"

/* Never comes back. */
void child_run(const struct options *opt) __attribute__((noreturn));

#endif /* SLABBENCH_CHILD_H */
