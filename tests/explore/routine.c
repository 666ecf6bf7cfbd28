// SPDX-License-Identifier: BSD-2-Clause
/*
 * routine.c - the threads of a scenario, as coroutines; see explore.h.
 *
 * Also what a thread asks of the outside world: locks, thread-specific data,
 * yield and sleep. The linker puts the functions here in front of libc's
 * (--wrap), for the library's second copy and nothing else.
 *
 * A routine that waits for a lock can go on when nobody has it. One that yields
 * can when another one has changed something since (routine_progress), or
 * when nobody else can go on: then time passes for it.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "core/thread.h"
#include "tests/explore/explore.h"
#include "tests/explore/wrap.h"

#define STACK_SIZE ((size_t)256 * KIB)
/* A library that waits longer than this with nobody working waits for ever. */
#define PATIENCE 10000u

enum state { READY, WANTS_LOCK, RESTING, ENDED };

struct routine {
	ucontext_t context;
	enum state state;
	pthread_mutex_t *lock;	/* wanted */
	u32 seen;		/* progress when it began to rest */
	bool ends;
	void (*body)(int i);
	/* What a thread has for itself. */
	struct thread *self;
	int error;
	void *specific;
};

int running = -1;
u32 nr_steps;
u32 barriers_refused;

static struct routine routines[ROUTINES_MAX];
static u32 nr_routines;
static char *stacks;
static ucontext_t home;
static u32 progress, idle;
/* Whom as_thread() plays, or -1. */
static int acting = -1;
/* The library makes one key. */
static void (*destructor)(void *value);

/* ---- Switching -------------------------------------------------------- */

/* thread_self and errno are thread-local, and all routines are one thread. */
static void leave(struct routine *r)
{
	r->self = thread_self;
	r->error = errno;
	running = -1;
}

static void enter(int i)
{
	thread_self = routines[i].self;
	errno = routines[i].error;
	running = i;
}

static void switch_to(int i)
{
	int from = running;

	if (i == from)
		return;
	leave(&routines[from]);
	routines[i].state = READY;
	enter(i);
	swapcontext(&routines[from].context, &routines[i].context);
}

static bool can_go_on(const struct routine *r)
{
	switch (r->state) {
	case READY:
		return true;
	case RESTING:
		return r->seen != progress;
	case WANTS_LOCK:
		if (pthread_mutex_trylock(r->lock))
			return false;
		pthread_mutex_unlock(r->lock);
		return true;
	case ENDED:
		break;
	}
	return false;
}

/* Those that can go on, without the running one. */
static u32 list_others(int *list)
{
	u32 n = 0, i;

	for (i = 0; i < nr_routines; i++)
		if ((int)i != running && can_go_on(&routines[i]))
			list[n++] = (int)i;
	return n;
}

void routine_point(const void *where)
{
	int list[ROUTINES_MAX + 1] = { running };
	u32 n;

	search->where = (u64)(uintptr_t)where;
	n = 1 + list_others(list + 1);
	switch_to(list[decide(DECIDE_PREEMPT, n, list)]);
}

void routine_progress(void)
{
	progress++;
	idle = 0;
}

/* Nobody can go on: those that sleep wake up. */
static void pass_time(void)
{
	u32 i, n = 0;

	for (i = 0; i < nr_routines; i++) {
		if (routines[i].state != RESTING)
			continue;
		routines[i].seen = progress - 1;
		n++;
	}
	if (!n)
		run_failed("deadlock: each routine waits for a lock");
	if (++idle > PATIENCE)
		run_failed("livelock: who does not wait for a lock waits for "
			   "something that nobody does");
}

/* The running routine cannot go on, or does not want to. */
static void give_way(void)
{
	int list[ROUTINES_MAX];
	u32 n = list_others(list);

	if (!n && can_go_on(&routines[running]))
		return;
	if (!n) {
		pass_time();
		n = list_others(list);
		if (!n)
			return;
	}
	switch_to(list[decide(DECIDE_SWITCH, n, list)]);
}

/* ---- Life ------------------------------------------------------------- */

static bool all_ended(void)
{
	u32 i;

	for (i = 0; i < nr_routines; i++)
		if (routines[i].state != ENDED)
			return false;
	return true;
}

/* As pthread_exit() would; a destructor may set a new value. */
static void run_destructor(struct routine *r)
{
	int round;

	for (round = 0; r->specific && round < 4; round++) {
		void *value = r->specific;

		r->specific = NULL;
		destructor(value);
	}
}

static void live(void)
{
	struct routine *r = &routines[running];

	r->body(running);
	if (r->ends)
		run_destructor(r);
	buffer_flush(running);
	r->state = ENDED;
	routine_progress();
	if (!all_ended())
		give_way();
	leave(r);
	setcontext(&home);
}

static bool in(const volatile void *addr, const void *start, size_t size)
{
	return (uintptr_t)addr - (uintptr_t)start < size;
}

bool is_private(const volatile void *addr)
{
	return in(addr, stacks, ROUTINES_MAX * STACK_SIZE) ||
	       in(addr, &thread_self, sizeof(void *));
}

void routines_init(const struct scenario *sc)
{
	struct routine *r;
	u32 i;

	stacks = mmap(NULL, ROUTINES_MAX * STACK_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stacks == MAP_FAILED)
		run_failed("no memory for stacks");
	for (i = 0; i < ROUTINES_MAX; i++) {
		r = &routines[i];
		r->self = &thread_none;
		r->state = ENDED;
		r->body = sc->routine[i];
		if (!r->body)
			continue;
		nr_routines = i + 1;
		r->state = READY;
		r->ends = sc->ends[i];
		getcontext(&r->context);
		r->context.uc_stack.ss_sp = stacks + i * STACK_SIZE;
		r->context.uc_stack.ss_size = STACK_SIZE;
		makecontext(&r->context, live, 0);
	}
}

void routines_run(void)
{
	struct thread *mine = thread_self;
	int first[ROUTINES_MAX];
	u32 n = list_others(first);

	enter(first[decide(DECIDE_SWITCH, n, first)]);
	swapcontext(&home, &routines[running].context);
	thread_self = mine;
}

void as_thread(int i, void (*fn)(int i))
{
	struct thread *mine = thread_self;

	thread_self = routines[i].self;
	acting = i;
	fn(i);
	acting = -1;
	routines[i].self = thread_self;
	thread_self = mine;
}

/* ---- The outside world ------------------------------------------------ */

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	struct routine *r;

	if (running < 0 || breakage_opens(m))
		return running < 0 ? __real_pthread_mutex_lock(m) : 0;
	r = &routines[running];
	nr_steps++;
	buffer_flush(running);
	if (is_point(m))
		routine_point(__builtin_return_address(0));
	while (pthread_mutex_trylock(m)) {
		r->state = WANTS_LOCK;
		r->lock = m;
		give_way();
	}
	model_lock(m);
	model_acquire(m);
	return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (running < 0)
		return __real_pthread_mutex_unlock(m);
	if (breakage_opens(m))
		return 0;
	nr_steps++;
	buffer_flush(running);
	model_release(m);
	routine_progress();
	return __real_pthread_mutex_unlock(m);
}

static int rest(void)
{
	struct routine *r = &routines[running];

	nr_steps++;
	r->seen = progress;
	r->state = RESTING;
	give_way();
	r->state = READY;
	return 0;
}

int __wrap_sched_yield(void)
{
	return running < 0 ? __real_sched_yield() : rest();
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	return running < 0 ? __real_nanosleep(time, left) : rest();
}

/* membarrier; gettid is the only other one, and all are one thread. */
long __wrap_syscall(long number, long arg1, long arg2)
{
	if (running < 0 || number != SYS_membarrier)
		return __real_syscall(number, arg1, arg2);
	nr_steps++;
	routine_point(__builtin_return_address(0));
	if (breakage == BREAK_BARRIER)
		return 0;
	if (barriers_refused) {
		barriers_refused--;
		errno = EPERM;
		return -1;
	}
	buffer_flush(running);
	buffer_flush_others();
	return 0;
}

int __wrap_pthread_key_create(pthread_key_t *key, void (*fn)(void *value))
{
	*key = 0;
	destructor = fn;
	return 0;
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	int i = running < 0 ? acting : running;

	(void)key;
	if (i >= 0)
		routines[i].specific = (void *)(uintptr_t)value;
	return 0;
}

/* The forks of the search are no business of the library's. */
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void),
			  void (*child)(void))
{
	(void)prepare;
	(void)parent;
	(void)child;
	return 0;
}
