/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exit.h - the exit codes of slabinfo; they are documented and stay.
 */
#ifndef SLABINFO_EXIT_H
#define SLABINFO_EXIT_H

enum {
	EXIT_SHOWN = 0,		/* everything that was asked for was shown */
	EXIT_NOTHING = 1,	/* nothing found, or not all that was named */
	EXIT_USAGE = 2,		/* an option that makes no sense */
	EXIT_INCOMPLETE = 3,	/* something could not be read or written */
};

#endif /* SLABINFO_EXIT_H */
