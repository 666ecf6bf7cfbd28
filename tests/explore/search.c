// SPDX-License-Identifier: BSD-2-Clause
/*
 * search.c - all schedules of a scenario, one run after the other.
 *
 * A run repeats the planned decisions and picks 0 in all that follow. The next
 * plan is the odometer's: the last decision that has another pick gets it, and
 * what came after it is forgotten. A decision has as many picks as the run has
 * left of preemptions and delays, so the bounds need no other care.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/explore/explore.h"
#include "tests/explore/search.h"

/* Seconds that a run, of a few hundred microseconds, may take. */
#define RUN_SECONDS 60

struct search *search;

/* ---- In a run --------------------------------------------------------- */

static u32 preemptions, delays;		/* had */

void run_failed(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(search->reason, sizeof(search->reason), fmt, args);
	va_end(args);
	search->verdict = RUN_FAILED;
	_exit(1);
}

void note_race(void)
{
	/* With delays, not every order is known (access.c). */
	if (!search->race_at && !search->delays)
		search->race_at = search->where;
}

/* What a user's schedule has for this step: its entries are in their order. */
static u32 replayed(enum decision_kind kind, u32 of, const int *who)
{
	struct decision *d = &search->taken[search->nr_taken];

	if (search->nr_taken == search->nr_planned || d->step != nr_steps ||
	    d->kind != kind)
		return 0;
	if (d->pick >= of)
		run_failed("the schedule has no pick %u at step %u", d->pick,
			   nr_steps);
	search->nr_taken++;
	d->routine = (int8_t)running;
	d->next = (int8_t)(who ? who[d->pick] : running);
	d->where = search->where;
	return d->pick;
}

static bool is_spent(enum decision_kind kind)
{
	return (kind == DECIDE_PREEMPT && preemptions == search->preemptions) ||
	       (kind == DECIDE_DELAY && delays == search->delays);
}

static u32 planned(enum decision_kind kind, u32 of, const int *who)
{
	struct decision *d = &search->taken[search->nr_taken];
	u32 pick = 0;

	if (is_spent(kind))
		return 0;
	if (search->nr_taken == DECISIONS_MAX)
		run_failed("more than %u decisions", DECISIONS_MAX);
	if (search->nr_taken < search->nr_planned) {
		pick = d->pick;
		if (d->step != nr_steps || d->kind != kind || d->of != of)
			run_failed("step %u: the run does not repeat itself",
				   nr_steps);
	}
	*d = (struct decision){ nr_steps, (u8)kind, (u8)pick, (u8)of,
				(int8_t)running,
				(int8_t)(who ? who[pick] : running),
				search->where };
	search->nr_taken++;
	preemptions += kind == DECIDE_PREEMPT && pick;
	delays += kind == DECIDE_DELAY && pick;
	return pick;
}

u32 decide(enum decision_kind kind, u32 of, const int *who)
{
	if (of < 2)
		return 0;
	return search->replay ? replayed(kind, of, who) :
				planned(kind, of, who);
}

/* ---- The search ------------------------------------------------------- */

void search_init(void)
{
	/* Runs may crash, and nobody wants to look at that many cores. */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	search = mmap(NULL, sizeof(*search), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (search == MAP_FAILED) {
		perror("explore: memory for the search");
		_exit(2);
	}
}

static void run_here(const struct scenario *sc)
{
	alarm(RUN_SECONDS);
	routines_run();
	sc->check();
	search->verdict = RUN_GOOD;
	_exit(0);
}

bool search_run(const struct scenario *sc)
{
	pid_t pid, got;
	int status;

	search->nr_taken = 0;
	search->grown = false;
	search->race_at = search->where = 0;
	search->verdict = RUN_DIED;
	fflush(NULL);
	pid = fork();
	if (!pid)
		run_here(sc);
	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	if (pid < 0 || got < 0) {
		perror("explore: fork");
		_exit(2);
	}
	if (search->verdict == RUN_DIED)
		snprintf(search->reason, sizeof(search->reason),
			 WIFSIGNALED(status) ? "the run died by signal %d" :
			 "the run exited with %d", WIFSIGNALED(status) ?
			 WTERMSIG(status) : WEXITSTATUS(status));
	return search->verdict == RUN_GOOD;
}

/* Plan the next one. False: that was the last. */
static bool next_plan(void)
{
	u32 n = search->nr_taken;

	while (n && search->taken[n - 1].pick + 1u == search->taken[n - 1].of)
		n--;
	if (n)
		search->taken[n - 1].pick++;
	search->nr_planned = n;
	return n;
}

/* Keep the first run with a race, in case nothing worse is found. */
static void keep_race(struct found *found)
{
	if (!search->race_at || found->race_at)
		return;
	found->race_at = search->race_at;
	found->nr = search->nr_taken;
	memcpy(found->decision, search->taken,
	       found->nr * sizeof(found->decision[0]));
}

/* All schedules within the bounds that are set. False: one failed. */
static bool search_bounded(const struct scenario *sc, struct found *found)
{
	search->nr_planned = 0;
	do {
		if (!search_run(sc))
			return false;
		found->nr_runs++;
		keep_race(found);
		/* With new points the decisions so far mean nothing. */
		if (search->grown)
			search->nr_planned = 0;
	} while (search->grown || next_plan());
	return true;
}

static void keep_failure(struct found *found)
{
	found->nr_runs++;
	found->race_at = 0;
	found->nr = search->nr_taken;
	memcpy(found->decision, search->taken,
	       found->nr * sizeof(found->decision[0]));
}

bool search_all(const struct scenario *sc, struct found *found, u32 most,
		u32 most_delays)
{
	for (search->delays = 0; search->delays <= most_delays;
	     search->delays++) {
		for (search->preemptions = 0; search->preemptions <= most;
		     search->preemptions++) {
			if (search_bounded(sc, found))
				continue;
			keep_failure(found);
			return false;
		}
	}
	if (!found->race_at)
		return true;
	snprintf(search->reason, sizeof(search->reason), "data race");
	return false;
}
