// SPDX-License-Identifier: BSD-2-Clause
/*
 * stack.c - unwinding the calling thread's stack; see stack.h.
 *
 * A thread that comes back while it loads the unwinder, because that calls
 * malloc, and malloc is made of this library, does without.
 */
#include <errno.h>

#include "core/dynlib.h"
#include "core/stack.h"
#include "core/stack_private.h"
#include "core/static_stub.h"
#include "core/thread.h"

/* Where the search for the program's call ends; the library is not as deep. */
#define SEARCH_MAX 64

/* NULL where the program does not have them. */
extern __typeof__(_Unwind_Backtrace) _Unwind_Backtrace __attribute__((weak));
extern __typeof__(_Unwind_GetIP) _Unwind_GetIP __attribute__((weak));

enum { UNKNOWN, MISSING, READY };

/* Relaxed; what they say when state is READY, by its release. All threads
 * write the same. */
static unwind_backtrace_fn backtrace;
static unwind_ip_fn ip_of;
static u32 state;

/* ---- The unwinder ----------------------------------------------------- */

static bool load_unwinder(unwind_backtrace_fn *bt, unwind_ip_fn *ip)
{
	void *lib = dynlib_open("libgcc_s.so.1");

	if (!lib)
		return false;
	*(void **)bt = dynlib_symbol(lib, "_Unwind_Backtrace");
	*(void **)ip = dynlib_symbol(lib, "_Unwind_GetIP");
	return *bt && *ip;
}

bool stack_find_unwinder(unwind_backtrace_fn *bt, unwind_ip_fn *ip)
{
	STATIC_STUB_REDIRECT(stack_find_unwinder, bt, ip);
	*bt = _Unwind_Backtrace;
	*ip = _Unwind_GetIP;
	return (*bt && *ip) || load_unwinder(bt, ip);
}

static __cold bool find_unwinder(void)
{
	unwind_backtrace_fn bt = NULL;
	unwind_ip_fn ip = NULL;
	bool found;

	if (!thread_nest())
		return false;
	found = stack_find_unwinder(&bt, &ip);
	if (found) {
		WRITE_ONCE(backtrace, bt);
		WRITE_ONCE(ip_of, ip);
	}
	/* Pairs with has_unwinder(). */
	store_release(&state, found ? READY : MISSING);
	thread_unnest();
	return found;
}

static bool has_unwinder(void)
{
	u32 is = load_acquire(&state);	/* pairs with find_unwinder() */

	return is == UNKNOWN ? find_unwinder() : is == READY;
}

/* ---- The walk --------------------------------------------------------- */

struct walk {
	const void **pc;
	u32 max, nr;
	u32 nr_seen;
	const void *from, *caller;
	bool begun;		/* past what is in this file */
	bool found;		/* past what is in the library */
};

static bool is_done(const struct walk *w)
{
	return (w->found && w->nr == w->max) || w->nr_seen == SEARCH_MAX;
}

/* A frame; its address is where the one before returns to. */
static _Unwind_Reason_Code step(struct _Unwind_Context *frame, void *arg)
{
	struct walk *w = arg;
	const void *ip = (const void *)(uintptr_t)READ_ONCE(ip_of)(frame);

	w->nr_seen++;
	if (!w->begun)
		w->begun = ip == w->caller;
	if (!w->found && ip == w->from) {
		w->begun = w->found = true;
		w->nr = 0;
	}
	/* What called _start or a thread's first function is no place. */
	if (w->begun && ip && w->nr < w->max)
		w->pc[w->nr++] = ip;
	return is_done(w) ? _URC_END_OF_STACK : _URC_NO_REASON;
}

__attribute__((noinline))
u32 stack_capture(const void **pc, u32 max, const void *from)
{
	struct walk w = {
		.pc = pc, .max = max, .from = from, .found = !from,
		.caller = __builtin_return_address(0),
	};
	int before = errno;

	if (has_unwinder())
		(void)READ_ONCE(backtrace)(step, &w);
	if (!w.nr && from)
		w.pc[w.nr++] = from;
	errno = before;
	return w.nr;
}
