/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exit.h - the exit codes of the tools; they are documented and stay. What a
 * tool means by one of them, its manual page says.
 */
#ifndef SLABINFO_EXIT_H
#define SLABINFO_EXIT_H

enum {
	EXIT_DONE = 0,		/* everything that was asked for */
	EXIT_FAILED = 1,	/* nothing found; some of it did not succeed */
	EXIT_USAGE = 2,		/* an option that makes no sense */
	EXIT_INCOMPLETE = 3,	/* not read or written, or out of memory */
	EXIT_IMPOSSIBLE = 4,	/* slabinfo -v: what was read cannot be */
};

#endif /* SLABINFO_EXIT_H */
