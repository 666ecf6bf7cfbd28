// SPDX-License-Identifier: BSD-2-Clause
/*
 * fence.c - memory is unmapped only when the device is done with it.
 *
 * A driver does not wait for work in flight when it unmaps: what still runs
 * there faults, and takes the process with it. Nobody says when the work on a
 * freed object ends, but all of it was submitted before the free, in the order
 * of the bound stream. So a point recorded in that stream after the free is
 * reached only when the memory is quiet.
 *
 * The clock counts those points. A handle that falls idle gets its time as a
 * stamp; recording the event moves the clock on; once the event is done,
 * everything with a stamp up to its own is quiet. One event is enough: it is
 * recorded again only when it was reached, and then covers all that fell idle
 * meanwhile.
 *
 *        clock   1 . . . . 1 | 2 . . 2          | 3
 *                free A   fence         free B    fence reached: A is quiet;
 *                                                 recorded again, for B
 *
 * Idle memory that is used again in that order needs no fence, since its next
 * use is ordered behind the last by the same stream. Neither does memory that
 * was mapped but never handed out, in an undo. slab/ has stamps too, for memory
 * that another stream may want (slab/stamp.h).
 *
 * Waiting is done without vmm->lock, since what the device is waiting for may
 * be a thread that needs it. A caller finds that the memory it wants is not
 * quiet, leaves with -EAGAIN and nothing changed, waits here, and begins anew.
 *
 * Where a stream is being captured no event can be recorded, and nothing can be
 * proved: the memory stays idle, which is always safe.
 *
 * Backends whose work is done when the call returns need none of this: for
 * them everything is quiet, always.
 *
 * Locking: vmm->lock, but for the wait.
 */
#include <errno.h>

#include "core/os.h"
#include "vmm/internal.h"

/* Of vmm_settle_briefly(): a millisecond. */
#define BRIEF_TRIES 20
#define BRIEF_US 50

int vmm_fence_init(struct vmm *v)
{
	int err;

	v->clock = 1;
	if (v->ops->synchronous) {
		v->quiet = VMM_ALWAYS_QUIET;
		return 0;
	}
	err = vmm_call_event_create(v, &v->event);
	if (err)
		vmm_incident_op(v, VMM_OP_EVENT, 0);
	return err;
}

void vmm_fence_fini(struct vmm *v)
{
	if (!v->ops->synchronous)
		vmm_event_destroy(v, v->event);
}

void vmm_fence_stamp(struct vmm *v, struct vmm_handle *h)
{
	h->stamp = v->last_stamp = v->clock;
}

/*
 * A capture that began between asking and recording has the event, and so has
 * every launch of its graph, which would record it again. It proves nothing any
 * more: another takes its place.
 */
static int replace_event(struct vmm *v)
{
	u64 fresh;

	/* The last of those who wait for it does this. */
	if (v->nr_waiting || vmm_call_event_create(v, &fresh))
		return -EAGAIN;
	vmm_event_destroy(v, v->event);
	v->event = fresh;
	v->fence_stamp = 0;
	return -EAGAIN;
}

/*
 * The clock moves on first: who reads the old one without the lock has
 * submitted its work before, and the event covers it. If none is recorded, a
 * point was passed over, which does no harm.
 */
static int record(struct vmm *v)
{
	u64 stamp = v->clock;
	int err;

	__atomic_store_n(&v->clock, stamp + 1, __ATOMIC_SEQ_CST);
	err = vmm_event_record(v, v->event, NULL);
	if (!err)
		v->fence_stamp = stamp;
	return err == -EXDEV ? replace_event(v) : err;
}

static void reached(struct vmm *v, u64 stamp)
{
	store_release(&v->quiet, max(v->quiet, stamp));
	if (v->fence_stamp == stamp)
		v->fence_stamp = 0;
}

/* At most twice: a fence from before, and one for what came after it. */
int vmm_fence_try(struct vmm *v)
{
	int err = 0;

	while (!err && !vmm_all_quiet(v)) {
		if (!v->fence_stamp)
			err = record(v);
		if (!err)
			err = vmm_event_query(v, v->event);
		if (!err)
			reached(v, v->fence_stamp);
	}
	return err == -EXDEV ? replace_event(v) : err;
}

/* Wait for the event that is recorded, without the lock. */
static int wait_unlocked(struct vmm *v)
{
	u64 stamp = v->fence_stamp, event = v->event;
	/* What others note meanwhile is theirs. */
	struct vmm_incident noted = v->incident;
	int err;

	v->nr_waiting++;
	lock_release(&v->lock);
	err = vmm_event_wait(v, event);
	lock_acquire(&v->lock);
	v->nr_waiting--;
	v->incident = noted;
	if (!err)
		reached(v, stamp);
	return err == -EXDEV && event == v->event ? replace_event(v) : err;
}

/* At most twice, as vmm_fence_try(). */
int vmm_fence_wait(struct vmm *v)
{
	int err = 0;

	for (u32 i = 0; i < 2 && !err && !vmm_all_quiet(v); i++) {
		if (!v->fence_stamp)
			err = record(v);
		if (!err)
			err = wait_unlocked(v);
	}
	return err;
}

int vmm_quiesce(struct vmm *v)
{
	int err;

	if (v->ops->synchronous)
		return 0;
	vmm_enter(v);
	/* What is in use counts too. */
	v->last_stamp = v->clock;
	err = vmm_fence_wait(v);
	if (err)
		vmm_incident_op(v, VMM_OP_EVENT, 0);
	v->is_quiet = !err;
	return vmm_leave(v, err);
}

int vmm_settle(struct vmm *v, bool wait)
{
	int err;

	lock_acquire(&v->lock);
	v->last_stamp = v->clock;
	err = wait ? vmm_fence_wait(v) : vmm_fence_try(v);
	lock_release(&v->lock);
	return err;
}

/* One clock for all tries: what is freed meanwhile would put off the end. */
int vmm_settle_briefly(struct vmm *v)
{
	u32 i;
	int err;

	lock_acquire(&v->lock);
	v->last_stamp = v->clock;
	err = vmm_fence_try(v);
	for (i = 0; i < BRIEF_TRIES && err == -EBUSY; i++) {
		lock_release(&v->lock);
		os_sleep_us(BRIEF_US);
		lock_acquire(&v->lock);
		err = vmm_fence_try(v);
	}
	lock_release(&v->lock);
	return err;
}

int vmm_wait_for_bound(struct vmm *v, slabdev_stream_t stream)
{
	u64 event;
	int err;

	if (v->ops->synchronous)
		return 0;
	err = vmm_event_create(v, &event);
	if (err)
		return err;
	err = vmm_event_record(v, event, NULL);
	if (!err)
		err = vmm_stream_wait(v, stream, event);
	/* Legal at once: the wait has what it needs. */
	vmm_event_destroy(v, event);
	return err;
}
