/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * explore.h - runs the library's own code through every order of its steps.
 *
 * 1. Concepts. The library is compiled a second time with -fsanitize=thread,
 *    which puts a call in front of each access to memory, and linked with
 *    callbacks of our own (access.c) instead of the sanitizer's. Two or three
 *    *routines*, coroutines of one thread, play the threads of a *scenario*.
 *    A callback may switch to another routine: so the program decides in which
 *    order the *steps* (accesses, locks, waits) of all routines happen.
 *
 * 2. A *schedule* is the list of the decisions that were not the first choice:
 *    "132p1" says that at step 132 the first of the other routines went on. A
 *    run is a function of its schedule, so every failure can be repeated.
 *    Each run is a fork of the process in which the scenario was prepared: it
 *    begins with the same memory at the same addresses, and may crash.
 *
 * 3. search.c goes through all schedules with at most so many *preemptions*, a
 *    switch away from a routine that could have gone on; first those with none,
 *    then those with one: what is found is shortest in that sense. (Musuvathi
 *    and Qadeer, "Iterative context bounding", PLDI 2007: real races need two
 *    at most, as a rule.) Switches from a routine that waits are free.
 *
 * 4. Where a switch can matter. Steps that only one routine is concerned with
 *    commute with those of the others. So there are decisions only in front of
 *    the locks that several routines take, and of accesses to *contended*
 *    words: those that two routines accessed, one of them writing, with no
 *    order between the two by locks or by acquire and release. Vector clocks
 *    (model.c) tell. A membarrier is no such order: had it come a step earlier,
 *    it would order something else. Which words these are is learned: when a
 *    run finds another one, the search begins anew. If one of such two accesses
 *    is not atomic, they are a data race, and that is a failure of its own.
 *
 * 5. Memory. Runs are sequentially consistent, except that a scenario may have
 *    *delays*: an atomic store to a contended word then stays in the store
 *    buffer of its routine, with the atomic stores that follow it, as on
 *    x86-64. The buffer empties, oldest first, when its routine executes an
 *    atomic exchange or the like, takes or leaves a lock, makes a plain store,
 *    or ends; when another one issues a membarrier; or just before another
 *    routine looks at a buffered word, which is a decision. Reordering that
 *    only weaker processors do is not explored.
 *
 * 6. Waiting. A routine that yields or sleeps goes on when another one has
 *    changed something, or when nobody else can. All waiting for a lock, or all
 *    sleeping for ever, is a failure.
 *
 * 7. What shows that all this finds mistakes: a *breakage* spoils one thing of
 *    the protocol while the library runs, for instance the membarrier. Each
 *    must be found (breakage.h).
 *
 * 8. Limits. Calls that the compiler makes of memcpy, memset and memmove are
 *    not seen. What was not run in one of the schedules is not known.
 */
#ifndef TESTS_EXPLORE_EXPLORE_H
#define TESTS_EXPLORE_EXPLORE_H

#include <stdnoreturn.h>

#define ROUTINES_MAX 3
#define DECISIONS_MAX 4096u
#define CONTENDED_MAX 4096u	/* a power of two */
#define REASON_MAX 400u

/* ---- Scenarios (scenarios.c) ------------------------------------------ */

struct scenario {
	const char *name;
	void (*prepare)(void);			/* before all runs */
	void (*routine[ROUTINES_MAX])(int i);	/* NULL: no more */
	void (*check)(void);			/* after each run */
	bool ends[ROUTINES_MAX];	/* the thread exits when it is done */
};

const struct scenario *scenario_find(const char *name);
extern const struct scenario scenarios[];

/* ---- Decisions (search.c) --------------------------------------------- */

enum decision_kind {
	DECIDE_SWITCH = 's',	/* which routine goes on, this one cannot */
	DECIDE_PREEMPT = 'p',	/* 0: this one goes on; else another one */
	DECIDE_DELAY = 'd',	/* 1: the store stays in the buffer */
	DECIDE_SEE = 'v',	/* 1: a buffered store of another is seen */
};

struct decision {
	u32 step;
	u8 kind;		/* enum decision_kind */
	u8 pick, of;		/* pick < of */
	int8_t routine;		/* that was running */
	int8_t next;		/* that goes on */
	u64 where;		/* an address of code */
};

/* Shared by the search and the runs that it forks. */
struct search {
	/* The search tells the run: */
	u32 nr_planned;		/* decisions that it has to repeat */
	bool replay;		/* they are a user's, found by their steps */
	u32 preemptions, delays;	/* that it may have */
	/* The run tells the search: */
	struct decision taken[DECISIONS_MAX];
	u32 nr_taken;
	u64 where;		/* the program is: an address of its code */
	bool grown;		/* there are new contended words */
	u64 race_at;		/* where there was one; 0: none */
	enum { RUN_DIED, RUN_GOOD, RUN_FAILED } verdict;
	char reason[REASON_MAX];
	/* Of all runs: */
	u64 contended[CONTENDED_MAX];	/* address / 8, hashed */
	u32 nr_contended;
};
extern struct search *search;

/*
 * Pick one of @of ways to go on; 0 when the run has no more of that kind. @who
 * goes on by each, or NULL: the running one does.
 */
u32 decide(enum decision_kind kind, u32 of, const int *who);
/* A race is noted, and the run goes on: it may come to something worse. */
void note_race(void);
/* The run has failed, and ends here. */
noreturn void run_failed(const char *fmt, ...) __printf(1, 2);

/* ---- Routines (routine.c) --------------------------------------------- */

/* Which one runs; -1: none, the scenario is prepared or checked. */
extern int running;
/* Steps of this run so far. */
extern u32 nr_steps;

void routines_init(const struct scenario *sc);
/* All to their end, in an order that decide() gives. */
void routines_run(void);
/* How many barriers the kernel refuses, the first ones. */
extern u32 barriers_refused;

/* Outside of a run: have thread @i call @fn(@i). */
void as_thread(int i, void (*fn)(int i));
/* Is it on a routine's stack, or otherwise a routine's own? */
bool is_private(const volatile void *addr);
/* A step that others may see comes next: perhaps somebody else's first. */
void routine_point(const void *where);
/* A change that a waiting routine may be waiting for: of an atomic variable, or
 * under a lock. */
void routine_progress(void);

/* ---- What is accessed (model.c) --------------------------------------- */

enum access {
	ACCESS_READ = 0,
	ACCESS_WRITE = 1,
	ACCESS_ATOMIC = 2,	/* with one of the others */
};

/* Is there a decision before a step at @addr: contended, or a replay? */
bool is_point(const volatile void *addr);
/* A counter that nothing decides on: never contended. */
void model_ignore(const void *addr, u32 size);
void model_access(const volatile void *addr, u32 size, unsigned int access);
/* Order by locks and by acquire and release. */
void model_acquire(const volatile void *addr);
void model_release(const volatile void *addr);
/* A store, not an exchange: what was released there before is gone. */
void model_forget_releases(const volatile void *addr);
void model_lock(const volatile void *lock);

/* ---- Store buffers (buffer.c) ----------------------------------------- */

/* By the running one: to memory, or into its buffer. */
void buffer_store(volatile void *addr, u32 size, u64 value, bool release);
/* The youngest own store to @addr, if there is one in the buffer. */
bool buffer_forward(const volatile void *addr, u32 size, u64 *value);
/* Before the running one looks at memory that others may have stores for. */
void buffer_see(const volatile void *addr, u32 size);
void buffer_flush(int routine);
void buffer_flush_others(void);

/* ---- Breakages (breakage.c) ------------------------------------------- */

enum breakage {
	BREAK_NOTHING,
	BREAK_BARRIER,	/* membarrier does nothing */
	BREAK_BUSY,	/* a thief does not wait for a busy owner */
	BREAK_SENTINEL,	/* routines but the first leave a sheaf they take */
	BREAK_EXCHANGE,	/* an exchange of pointers is a load and a store */
	BREAK_TAG,	/* an exchange of tags is a load and a store */
	BREAK_BYPASS,	/* an owner never learns that sheaves are forbidden */
	BREAK_BARN,	/* no barn lock */
	BREAK_CLASS,	/* no class lock */
	BREAK_HEAPS,	/* no heaps lock */
	BREAK_REGISTRY,	/* no registry lock */
	BREAK_VISIT,	/* visit_wait() does not wait */
	NR_BREAKAGES
};
extern enum breakage breakage;

/* By its name, or NR_BREAKAGES. */
enum breakage breakage_find(const char *name);
/* The words that BREAK_BUSY and BREAK_BYPASS are about. */
void breakage_word(enum breakage b, const void *word, int owner);
/* Does the running routine read 0 at @addr, whatever is there? */
bool breakage_hides(const volatile void *addr);
/* Is the exchange of @size bytes torn in two? */
bool breakage_tears(u32 size);
/* Does an exchange for @value leave in memory what is there? */
bool breakage_leaves(u32 size, u64 value);
/* Is @lock, a struct lock, no lock? */
bool breakage_opens(const void *lock);

#endif /* TESTS_EXPLORE_EXPLORE_H */
