// SPDX-License-Identifier: BSD-2-Clause
/* failslab.c - see failslab.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/stack.h"
#include "core/symbol.h"
#include "core/usercopy.h"
#include "slab/debug_set.h"
#include "slab/failslab.h"
#include "slab/health.h"
#include "slab/slab.h"

#define FAULT_FLAGS (SLABDEV_FAULT_CACHE_FILTER | SLABDEV_FAULT_THIS_THREAD)
/* What a message of the log holds. */
#define TOLD_MAX 1000

/* Does every class have to ask? */
static bool wants_all_locked(const struct failslab *f)
{
	return f->on && !f->setup.marked_only;
}

void failslab_init(struct slabdev *sd, const struct fault_setup *setup)
{
	struct failslab *f = &sd->failslab;

	f->setup = *setup;
	f->on = fault_is_on(&setup->attr);
	if (wants_all_locked(f))
		sd->debug_always |= DEBUG_FAIL;
}

/* ---- Hits ------------------------------------------------------------- */

/* One line a frame, as many as there is room for. */
static void add_stack(char *text, size_t len)
{
	const void *pc[STACK_MAX];
	u32 n = stack_capture(pc, STACK_MAX, thread_self->site), i;
	char frame[256];

	for (i = 0; i < n; i++) {
		symbol_describe(pc[i], frame, sizeof(frame));
		if (len + strlen(frame) + sizeof("\n  ") > TOLD_MAX)
			break;
		len += (size_t)snprintf(text + len, TOLD_MAX - len, "\n  %s",
					frame);
	}
}

static void tell(const struct slabdev *sd, const char *name, u64 size,
		 const struct fault_attr *a)
{
	char text[TOLD_MAX];
	int len;

	len = snprintf(text, sizeof(text), "space %s: failslab made an "
		       "allocation of %llu bytes from %s fail: interval %llu, "
		       "probability %u, space %llu, times %lld", sd->name,
		       (unsigned long long)size, name,
		       (unsigned long long)a->interval, a->probability,
		       (unsigned long long)a->space, (long long)a->times);
	if (a->verbose > 1 && len > 0)
		add_stack(text, (size_t)len);
	pr_warn("%s", text);
}

static bool is_meant_locked(const struct failslab *f, const char *name)
{
	return f->on && fault_is_for(&f->setup, name) &&
	       (!f->one_thread || pthread_equal(f->thread, pthread_self()));
}

bool failslab_hit(struct slabdev *sd, const char *name, u64 size)
{
	struct failslab *f = &sd->failslab;
	struct fault_attr now;
	bool hit;

	if (!READ_ONCE(f->on))
		return false;
	lock_acquire(&sd->lock);
	hit = is_meant_locked(f, name) &&
	      fault_should_fail(&f->setup.attr, size);
	now = f->setup.attr;
	lock_release(&sd->lock);
	if (!hit)
		return false;
	if (now.verbose)
		tell(sd, name, size, &now);
	error_set(-ENOMEM, "failslab: an allocation of %llu bytes from %s was "
		  "made to fail", (unsigned long long)size, name);
	return true;
}

/* ---- The public calls ------------------------------------------------- */

static int check_cache(const char *cache)
{
	const char *star = strchr(cache, '*');

	if (strlen(cache) >= FAULT_NAME_MAX || (star && star[1]))
		return error_set(-EINVAL, "fault.cache '%.80s' is no name of "
				 "at most %d bytes, with nothing behind a *",
				 cache, FAULT_NAME_MAX - 1);
	return 0;
}

static int check_fault(const struct slabdev_fault *user)
{
	if (user->probability > 100)
		return error_set(-EINVAL, "fault.probability %u is more than "
				 "100 per cent", user->probability);
	if (user->verbose > 2)
		return error_set(-EINVAL, "fault.verbose %u is more than 2",
				 user->verbose);
	if (user->times < -1)
		return error_set(-EINVAL, "fault.times %lld is less than -1, "
				 "which has no end", (long long)user->times);
	if (user->flags & ~FAULT_FLAGS)
		return error_set(-EINVAL, "fault.flags %#x has bits that this "
				 "version does not know", user->flags);
	if (user->reserved)
		return error_set(-EINVAL, "fault.reserved %u is not 0",
				 user->reserved);
	return user->cache ? check_cache(user->cache) : 0;
}

static struct failslab from_user(const struct slabdev_fault *user)
{
	struct failslab f = {
		.one_thread = user->flags & SLABDEV_FAULT_THIS_THREAD,
		.thread = pthread_self(),
		.setup.attr = {
			.probability = user->probability,
			.verbose = user->verbose,
			.interval = user->interval,
			.times = user->times,
			.space = user->space,
			.nth = user->nth,
			.seed = user->seed,
		},
		.setup.marked_only = user->flags & SLABDEV_FAULT_CACHE_FILTER,
	};

	if (user->cache)
		snprintf(f.setup.cache, sizeof(f.setup.cache), "%s",
			 user->cache);
	f.on = fault_is_on(&f.setup.attr);
	return f;
}

static void to_user_locked(const struct failslab *f,
			   struct slabdev_fault *user)
{
	const struct fault_attr *a = &f->setup.attr;

	*user = (struct slabdev_fault){
		.size = sizeof(*user),
		.probability = a->probability,
		.verbose = a->verbose,
		.interval = a->interval,
		.times = a->times,
		.space = a->space,
		.nth = a->nth,
		.seed = a->seed,
		.cache = *f->setup.cache ? f->setup.cache : NULL,
		.asked = a->asked,
		.fired = a->fired,
	};
	if (f->setup.marked_only)
		user->flags |= SLABDEV_FAULT_CACHE_FILTER;
	if (f->one_thread)
		user->flags |= SLABDEV_FAULT_THIS_THREAD;
}

static bool wants_all(struct slabdev *sd)
{
	bool wants;

	lock_acquire(&sd->lock);
	wants = wants_all_locked(&sd->failslab);
	lock_release(&sd->lock);
	return wants;
}

/* Bring the letter of all classes in line with the faults: those of the last
 * one who set some, whoever of several is last here. This letter can always be
 * switched. */
static void settle(struct slabdev *sd)
{
	bool all = wants_all(sd), was;

	do {
		if (all)
			(void)debug_switch(sd, DEBUG_FAIL, 0);
		else
			(void)debug_switch(sd, 0, DEBUG_FAIL);
		was = all;
		all = wants_all(sd);
	} while (all != was);
}

static int check_call(const struct slabdev *sd, const char *call)
{
	if (!IS_ENABLED(CONFIG_SLAB_DEBUG))
		return error_set(-ENOTSUP, "%s: this library was built without "
				 "SLAB_DEBUG", call);
	return space_check(sd, call);
}

int slabdev_set_fault(struct slabdev *sd, const struct slabdev_fault *fault)
{
	struct slabdev_fault own = SLABDEV_FAULT_INIT;
	struct failslab f;
	int err;

	err = check_call(sd, "slabdev_set_fault");
	if (!err)
		err = copy_struct_from_user(&own, sizeof(own), fault, "fault");
	if (!err)
		err = check_fault(&own);
	if (err)
		return err;
	f = from_user(&own);
	lock_acquire(&sd->lock);
	sd->failslab.one_thread = f.one_thread;
	sd->failslab.thread = f.thread;
	sd->failslab.setup = f.setup;
	WRITE_ONCE(sd->failslab.on, f.on);
	lock_release(&sd->lock);
	settle(sd);
	return 0;
}

int slabdev_get_fault(struct slabdev *sd, struct slabdev_fault *fault,
		      size_t size)
{
	struct slabdev_fault own;
	int err = check_call(sd, "slabdev_get_fault");

	if (err)
		return err;
	lock_acquire(&sd->lock);
	to_user_locked(&sd->failslab, &own);
	lock_release(&sd->lock);
	return copy_struct_to_user(fault, size, &own, sizeof(own), "fault");
}
