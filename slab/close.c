// SPDX-License-Identifier: BSD-2-Clause
/*
 * close.c - closing spaces; see space.h.
 *
 * Closing first makes sure that the device is done and that nothing is live;
 * until then it can be refused, and the space goes on. Then it takes every heap
 * away from its thread under the registry lock (against threads that exit), and
 * only then, without it, gives memory back.
 *
 * On a device that is gone no work runs and nothing can be freed: its spaces
 * close whatever objects are live. Those that did not survive a fork only leave
 * the table.
 */
#include <errno.h>

#include "core/log.h"
#include "slab/annotate.h"
#include "slab/arena.h"
#include "slab/comm.h"
#include "slab/debug.h"
#include "slab/graph.h"
#include "slab/guard.h"
#include "slab/hazard.h"
#include "slab/heap.h"
#include "slab/live.h"
#include "slab/note.h"
#include "slab/pending.h"
#include "slab/segment.h"
#include "slab/space_private.h"
#include "slab/stats.h"
#include "slab/steal.h"
#include "slab/stream.h"
#include "slab/token.h"
#include "slab/track.h"

static u64 live_objects(struct slabdev *sd)
{
	struct slabdev_stats st;

	stats_collect(sd, &st);
	return st.live_objects;
}

/* Heaps away from their threads; the number stays taken. */
static int detach(struct slabdev *sd)
{
	bool open;

	registry_lock();
	open = registry_has_locked(sd);
	if (open) {
		WRITE_ONCE(sd->rec->state, SLABDEV_SEG_FREE);
		sd->pendings.all_done = true;
		heap_detach_all(sd);
		pending_end(sd);
		graphs_end(sd);
		notes_end(sd);
		sd->closing = true;
	}
	registry_unlock();
	return open ? 0 : error_set(-EINVAL, "slabdev_close: %p is no open "
				    "space", (const void *)sd);
}

static int demolish(struct slabdev *sd)
{
	int err;

	comm_end(sd);
	guards_fini(sd);
	space_fini_streams(sd);
	space_fini_classes(sd);
	annotate_pool_destroy(sd);
	err = vmm_close(&sd->vmm);
	pool_fini(sd);
	vmm_backend_put(sd->ops, sd->dev);
	tracks_fini(sd);
	segments_fini(sd);
	space_fini_pools(sd);
	space_fini_locks(sd);
	if (sd->hazard)
		hazard_forget_space(sd);
	registry_lock();
	registry_remove_locked(sd);
	registry_free_locked(sd);
	registry_unlock();
	return err;
}

/* Of a space that did not survive a fork there is nothing that could be given
 * back: it was never this process's. */
static int abandon(struct slabdev *sd)
{
	arenas_end(sd);
	tokens_end_space(sd);
	registry_lock();
	registry_remove_locked(sd);
	registry_unlock();
	return 0;
}

/* What streams have freed, and what the bound one has; @live: and what is live,
 * where the bound stream, the CPU, says nothing of queues. */
static int wait_for_all(struct slabdev *sd, bool live)
{
	int err;

	if (READ_ONCE(sd->streams.nr_captures))
		return -EAGAIN;
	if (READ_ONCE(sd->streams.end))
		take_back(sd, NULL);
	err = pending_wait(sd);
	if (!err && live && !sd->stream)
		err = vmm_quiesce_device(&sd->vmm);
	return err ? err : vmm_quiesce(&sd->vmm);
}

/* Wait for the device. What it may still be using cannot be given back. */
static int quiesce(struct slabdev *sd, bool live)
{
	int err = wait_for_all(sd, live);

	/* What fails once may not fail again. */
	if (err && err != -EAGAIN)
		err = wait_for_all(sd, live);
	/* Of a device that is gone nothing is in use. */
	if (!err || vmm_health(&sd->vmm))
		return 0;
	if (err == -EAGAIN)
		return error_set(-EBUSY, "slabdev_close: a stream is being "
				 "captured: end the capture first");
	return error_set(-EBUSY, "slabdev_close: it cannot be told whether the "
			 "device is done with the memory, try again: %s",
			 error_get());
}

int space_may_close(struct slabdev *sd, unsigned int flags)
{
	/* Also finds out whether the device is gone: then nothing can be freed,
	 * and what was live does not matter. */
	int err = quiesce(sd, flags & SLABDEV_CLOSE_FORCE);
	u64 live;

	if (err || flags & SLABDEV_CLOSE_FORCE)
		return err;
	if (graphs_count(sd))
		return error_set(-EBUSY, "space %s has %u graphs that were not "
				 "released", sd->name, graphs_count(sd));
	if (vmm_health(&sd->vmm))
		return 0;
	live = live_objects(sd);
	if (live)
		live_report(sd, NULL, "closing space");
	if (arenas_any(sd))
		arenas_report_live(sd);
	if (live)
		return error_set(-EBUSY, "space %s has %llu live objects",
				 sd->name, (unsigned long long)live);
	if (arenas_any(sd))
		return error_set(-EBUSY, "space %s has %u arenas that were not "
				 "destroyed", sd->name,
				 READ_ONCE(sd->rec->nr_arenas));
	return 0;
}

int slabdev_close(struct slabdev *sd, unsigned int flags)
{
	bool found;
	int err;

	if (!sd)
		return 0;
	if (flags & ~SLABDEV_CLOSE_FORCE)
		return error_set(-EINVAL, "slabdev_close: flags %#x are not "
				 "known", flags);
	registry_lock();
	found = registry_has_locked(sd);
	registry_unlock();
	if (!found)
		return error_set(-EINVAL, "slabdev_close: %p is no open space",
				 (const void *)sd);
	if (sd->orphaned)
		return abandon(sd);
	err = space_may_close(sd, flags);
	if (err)
		return err;
	if (!vmm_health(&sd->vmm))
		(void)debug_validate(sd, NULL);
	err = detach(sd);
	if (err)
		return err;
	arenas_end(sd);
	tokens_end_space(sd);
	return demolish(sd);
}
