// SPDX-License-Identifier: BSD-2-Clause
/* fork.c - taking all locks, and rebuilding in the child; see fork.h. */
#include <errno.h>
#include <unistd.h>

#include "core/debuginfo.h"
#include "core/depot.h"
#include "core/log.h"
#include "core/os.h"
#include "slab/alloc.h"
#include "slab/arena.h"
#include "slab/barn.h"
#include "slab/class.h"
#include "slab/comm.h"
#include "slab/debug_large.h"
#include "slab/fork.h"
#include "slab/guard.h"
#include "slab/hazard.h"
#include "slab/health.h"
#include "slab/heap.h"
#include "slab/note.h"
#include "slab/quarantine.h"
#include "slab/reclaim.h"
#include "slab/segment.h"
#include "slab/shrinker.h"
#include "slab/space.h"
#include "slab/token.h"
#include "slab/track.h"
#include "slab/validate.h"

/* ---- Locks ------------------------------------------------------------ */

static void for_each_class(struct slabdev *sd, void (*fn)(struct class *c))
{
	u32 id;

	for (id = 0; id < CLASS_MAX; id++)
		if (sd->class[id])
			fn(sd->class[id]);
}

static void lock_class(struct class *c)
{
	lock_acquire_for_fork(&c->lock);
}

static void lock_barn(struct class *c)
{
	lock_acquire_for_fork(&c->barn_lock);
}

static void unlock_class(struct class *c)
{
	lock_release_for_fork(&c->barn_lock);
	lock_release_for_fork(&c->lock);
}

static void for_each_metapool(struct slabdev *sd, void (*fn)(struct lock *l))
{
	u32 i;

	for (i = 0; i < NR_SHEAF_POOLS; i++)
		fn(&sd->sheaf_pool[i].lock);
	fn(&sd->heap_pool.lock);
	fn(&sd->bin_pool.lock);
	fn(&sd->class_pool.lock);
	fn(&sd->tiny_pool.lock);
	fn(&sd->stream_pool.lock);
	fn(&sd->pending_pool.lock);
	fn(&sd->note_pool.lock);
	fn(&sd->work_pool.lock);
	fn(&sd->graph_pool.lock);
	fn(&sd->peek_pool.lock);
	fn(&sd->quarantine_pool.lock);
	fn(&sd->vmm.handles.lock);
}

static void lock_space(struct slabdev *sd)
{
	lock_acquire_for_fork(&sd->lock);
}

/* No thread holds locks of two spaces below this rank. */
static void lock_inside(struct slabdev *sd)
{
	lock_acquire_for_fork(&sd->heaps_lock);
	for_each_class(sd, lock_class);
	for_each_class(sd, lock_barn);
	lock_acquire_for_fork(&sd->streams.lock);
	lock_acquire_for_fork(&sd->notes.lock);
	lock_acquire_for_fork(&sd->pendings.lock);
	lock_acquire_for_fork(&sd->pool.lock);
	lock_acquire_for_fork(&sd->vmm.lock);
	tracks_lock_for_fork(sd);
	for_each_metapool(sd, lock_acquire_for_fork);
	segments_before_fork(sd);
}

static void unlock_inside(struct slabdev *sd)
{
	for_each_metapool(sd, lock_release_for_fork);
	tracks_unlock_for_fork(sd);
	lock_release_for_fork(&sd->vmm.lock);
	lock_release_for_fork(&sd->pool.lock);
	lock_release_for_fork(&sd->pendings.lock);
	lock_release_for_fork(&sd->notes.lock);
	lock_release_for_fork(&sd->streams.lock);
	for_each_class(sd, unlock_class);
	lock_release_for_fork(&sd->heaps_lock);
}

static void unlock_space(struct slabdev *sd)
{
	lock_release_for_fork(&sd->lock);
}

/* Under all locks: can nobody else be at work, at a fork? */
static bool alone;

static void lock_everything(void)
{
	debuginfo_lock_for_fork();
	registry_lock_for_fork();
	space_each_for_fork(lock_space);
	validate_lock_for_fork();
	space_each_for_fork(lock_inside);
	hazard_lock_for_fork();
	guard_lock_for_fork();
	thread_fork_prepare();
	tokens_lock_for_fork();
	depot_lock_for_fork();
	log_fork_prepare();
	alone = os_is_alone() && !vmm_queue_any();
}

/* All but the log and the thread records, which differ in the child. */
static void unlock_spaces(void)
{
	space_each_for_fork(unlock_inside);
	validate_unlock_for_fork();
	space_each_for_fork(unlock_space);
	registry_unlock_for_fork();
	debuginfo_unlock_for_fork();
}

static void unlock_in_parent(void)
{
	space_each_for_fork(segments_in_parent);
	log_fork_done();
	depot_unlock_for_fork();
	tokens_unlock_for_fork();
	thread_fork_parent();
	guard_unlock_for_fork();
	hazard_unlock_for_fork(false);
	unlock_spaces();
}

/* ---- The child -------------------------------------------------------- */

/* Every later call must reach a slow path, which says why. What may still be
 * the parent's pages is not to be written to. */
static void give_up(struct slabdev *sd)
{
	heap_abandon(sd);
	segments_privatize(sd);
	space_orphan(sd);
}

/* Neither other threads nor the queues' are here. */
static void forget_others(struct slabdev *sd)
{
	heap_forget_all(sd);
	streams_forget(sd);
}

/* All locks are held: counters and heaps. */
static void take_over(struct slabdev *sd)
{
	sd->pid = getpid();
	/* Those who visited or changed something are not here. */
	sd->visitors[0] = sd->visitors[1] = 0;
	sd->changing = 0;
	shrinkers_forget_callers(sd);
	comm_forget_turn(sd);
	larges_forget(sd);
	if (!vmm_survives_fork(&sd->vmm) || segments_in_child(sd))
		give_up(sd);
	else
		forget_others(sd);
}

static void forget_class(struct class *c)
{
	WRITE_ONCE(c->rec->pending, 0);
	WRITE_ONCE(c->nr_guarded, 0);
	if (c->id == CLASS_LARGE)
		return;
	class_forget(c);
	barn_forget(c);
	quarantine_forget(c);
}

/* Do zones and poison belong to the books, with nothing on its way? */
static bool bytes_are_sure(const struct slabdev *sd)
{
	u32 id;

	for (id = 0; id < CLASS_MAX; id++)
		if (sd->class[id] && READ_ONCE(sd->class[id]->rec->pending))
			return false;
	return alone && !READ_ONCE(sd->notes.nr);
}

/* Those of slabs are renewed, by class_adopt(), unless a queue was to fill them
 * all. What is larger has none any more: a size that is another object's would
 * have others' bytes filled. */
static void forget_bytes(struct slabdev *sd)
{
	bool all = sd->stream != NULL;
	u32 slice, n = 0;

	for (slice = pool_next_run(sd, 0, &n); slice != RANGE_NONE;
	     slice = pool_next_run(sd, slice + n, &n))
		if (all || slab_state(&sd->slabs[slice]) >= SLAB_LARGE)
			WRITE_ONCE(sd->slabs[slice].unsure, true);
	debug_run_lost(sd, 0, sd->pool.slices.max);
	arenas_forget_bytes(sd);
}

/* A run that no live object has was some thread's, on its way. */
static void adopt_run(struct slabdev *sd, u32 slice, u32 n, bool sure)
{
	struct slab *s = sd->slabs + slice;
	enum slab_state state = slab_state(s);
	bool huge = pool_is_huge(sd, slice);

	if (state == SLAB_OBJECTS || state == SLAB_TINY) {
		class_adopt(sd->class[slab_class(s)], slice, sure);
		return;
	}
	guard_adopt(sd, slice);
	if (large_is_live(sd, slice)) {
		large_adopt(sd, slice);
		return;
	}
	if (state == SLAB_GUARD) {
		/* Whose books are begun anew; it leaves them. */
		large_book(sd, true, large_roundup(s->size));
		guard_give_back(sd, slice);
		return;
	}
	slab_unpublish(s);
	comm_forget_slab(sd, s);
	if (huge)
		pool_free_huge(sd, slice);
	else
		pool_free(sd, slice, n, stamp_now(&sd->vmm));
}

/* A mapping that the pool does not have was some thread's, on its way there or
 * back. */
static void adopt_mappings(struct slabdev *sd)
{
	enum vmm_giveback how = sd->policy == SLABDEV_AGGRESSIVE ?
				VMM_RELEASE : VMM_KEEP_MAPPED;
	struct range *slices = &sd->pool.slices;
	u32 chunk = 0, nr, slice;

	for (; vmm_next_in_use(&sd->vmm, &chunk, &nr); chunk += nr) {
		/* A guarded object has the end of its mapping. */
		slice = (chunk + nr) * sd->chunk_slices - 1;
		if (slice < slices->end && range_has(slices, slice))
			continue;
		debug_run_lost(sd, chunk * sd->chunk_slices,
			       nr * sd->chunk_slices);
		(void)vmm_unmap(&sd->vmm, chunk, how);
	}
}

/* No lock is held, and nobody else is here. */
static void rebuild(struct slabdev *sd)
{
	u32 slice, n = 0;
	bool sure;

	if (sd->dead)
		return;
	sure = bytes_are_sure(sd);
	if (!sure)
		forget_bytes(sd);
	notes_forget(sd);
	guards_forget(sd);
	for_each_class(sd, forget_class);
	segments_settle(sd);
	WRITE_ONCE(sd->rec->out_bytes, 0);
	WRITE_ONCE(sd->rec->large_bytes, 0);
	WRITE_ONCE(sd->rec->large_slack, 0);
	arenas_adopt(sd);
	adopt_mappings(sd);
	for (slice = pool_next_run(sd, 0, &n); slice != RANGE_NONE;
	     slice = pool_next_run(sd, slice + n, &n))
		adopt_run(sd, slice, n, sure);
	if (sd->policy != SLABDEV_RETAIN)
		reclaim_kept(sd);
}

static void recover_in_child(void)
{
	arenas_forget_claims();
	space_each_for_fork(take_over);
	log_fork_done();
	depot_unlock_for_fork();
	tokens_unlock_for_fork();
	thread_fork_child();
	guard_unlock_for_fork();
	hazard_unlock_for_fork(true);
	unlock_spaces();
	space_each_for_fork(rebuild);
}

int fork_init(void)
{
	return -pthread_atfork(lock_everything, unlock_in_parent,
			       recover_in_child);
}
