/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * search.h - going through the schedules of a scenario (search.c), for main.c.
 */
#ifndef TESTS_EXPLORE_SEARCH_H
#define TESTS_EXPLORE_SEARCH_H

#include "tests/explore/explore.h"

/* What a search has come to. */
struct found {
	u32 nr_runs;
	u64 race_at;		/* an address of code; 0: no race */
	/* Those of the run that failed, or had the race. */
	struct decision decision[DECISIONS_MAX];
	u32 nr;
};

void search_init(void);
/* One run by the plan in search. False: it failed, for search->reason. */
bool search_run(const struct scenario *sc);
/*
 * All schedules with at most @most preemptions and @most_delays. False: one of
 * them failed, for search->reason, or had a data race.
 */
bool search_all(const struct scenario *sc, struct found *found,
		u32 most, u32 most_delays);

#endif /* TESTS_EXPLORE_SEARCH_H */
