// SPDX-License-Identifier: BSD-2-Clause
/*
 * space.c - opening and closing spaces; see space.h.
 *
 * Opening acquires in one order and undoes in the other. Closing first makes
 * sure that nothing is live, then takes every heap away from its thread under
 * the registry lock (against threads that exit), and only then, without it,
 * gives memory back.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "core/param.h"
#include "slab/annotate.h"
#include "slab/arena.h"
#include "slab/attr.h"
#include "slab/barn.h"
#include "slab/class.h"
#include "slab/comm.h"
#include "slab/debug.h"
#include "slab/debug_set.h"
#include "slab/fork.h"
#include "slab/hazard.h"
#include "slab/hazard_watch.h"
#include "slab/heap.h"
#include "slab/graph.h"
#include "slab/guard.h"
#include "slab/token.h"
#include "slab/live.h"
#include "slab/note.h"
#include "slab/pending.h"
#include "slab/peek.h"
#include "slab/policy.h"
#include "slab/quarantine.h"
#include "slab/rank.h"
#include "slab/segment.h"
#include "slab/space.h"
#include "slab/stats.h"
#include "slab/steal.h"
#include "slab/tiny.h"
#include "slab/track.h"

#define THREAD_SHEAF_BYTES (8 * MIB)
#define PENDING_BYTES (64 * MIB)

static struct lock registry = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.rank = LOCK_REGISTRY,
	.name = "registry",
};
/* Locking: registry. */
static struct slabdev *space[SPACE_MAX];
static struct metapool space_pool;
static u64 nr_opens;
static bool initialised;
static bool have_membarrier;

void registry_lock_for_fork(void)
{
	lock_acquire_for_fork(&registry);
	if (initialised)
		lock_acquire_for_fork(&space_pool.lock);
}

void registry_unlock_for_fork(void)
{
	if (initialised)
		lock_release_for_fork(&space_pool.lock);
	lock_release_for_fork(&registry);
}

void space_each_for_fork(void (*each)(struct slabdev *sd))
{
	u32 i;

	for (i = 0; i < SPACE_MAX; i++)
		if (space[i] && !space[i]->closing)
			each(space[i]);
}

void space_each(bool (*each)(struct slabdev *sd, void *arg), void *arg)
{
	bool done = false;
	u32 i;

	lock_acquire(&registry);
	for (i = 0; i < SPACE_MAX && !done; i++)
		if (space[i] && !space[i]->closing)
			done = each(space[i], arg);
	lock_release(&registry);
}

static void thread_exit(struct thread *t)
{
	lock_acquire(&registry);
	heap_thread_exit(t);
	lock_release(&registry);
}

/* What the first open of a process sets up. */
static int library_init_locked(void)
{
	int err;

	err = thread_init_once(&heap_none, thread_exit);
	if (err)
		return error_set(err, "no thread-specific key is left");
	if (initialised)
		return 0;
	err = fork_init();
	if (err)
		return error_set(err, "no memory for the fork handlers");
	layout_init();
	metapool_init(&space_pool, sizeof(struct slabdev), "spaces");
	have_membarrier = !os_membarrier_register();
	initialised = true;
	return 0;
}

/* ---- Open ------------------------------------------------------------- */

static void init_space(struct slabdev *sd, const char *spec,
			 const struct slabdev_attr *attr,
			 const struct params *p)
{
	snprintf(sd->spec, sizeof(sd->spec), "%s", spec);
	snprintf(sd->name, sizeof(sd->name), "%s",
		 attr->name ? attr->name : spec);
	sd->pid = getpid();
	sd->publish = !(attr->flags & SLABDEV_OPEN_PRIVATE_STATS);
	sd->assert_steady = p->assert_steady;
	sd->same_layout = attr->flags & SLABDEV_OPEN_SAME_LAYOUT;
	sd->comm_only = attr->flags & SLABDEV_OPEN_COMM;
	sd->debug_spec = p->debug;
	sd->hazard = debug_spec_global(&p->debug) & DEBUG_HAZARD;
	sd->slow_frees = sd->hazard;
	if (sd->hazard)
		hazard_begin();
	guards_init(sd, p);
	sd->use_sheaves = have_membarrier && p->membarrier && !sd->hazard &&
			  !sd->guards.every &&
			  !(attr->flags & SLABDEV_OPEN_NO_SHEAVES);
	sd->bypass = !sd->use_sheaves;
	/* Objects that touch each other would leave nothing to hide. */
	if (annotate_wanted(sd, !p->no_annotations))
		sd->debug_always |= DEBUG_ANNOTATE |
				    (sd->ops->synchronous ? DEBUG_RED_ZONE : 0);
	failslab_init(sd, &p->failslab);
	lock_init(&sd->lock, LOCK_SPACE, "space");
	lock_init(&sd->heaps_lock, LOCK_HEAPS, "heaps");
	list_init(&sd->heaps);
	list_init(&sd->caches);
	list_init(&sd->comm.classes);
}

static void init_pools(struct slabdev *sd)
{
	sheaf_pools_init(sd);
	metapool_init(&sd->heap_pool, sizeof(struct heap), "heaps");
	metapool_init(&sd->bin_pool, CLASS_WINDOW * sizeof(struct bin), "bins");
	metapool_init(&sd->class_pool, sizeof(struct class), "classes");
	metapool_init(&sd->tiny_pool, sizeof(struct tiny_bits), "tiny");
	metapool_init(&sd->graph_pool, sizeof(struct graph), "graphs");
	metapool_init(&sd->peek_pool, PEEK_BYTES, "pictures");
	metapool_init(&sd->quarantine_pool, sizeof(struct quarantine),
		      "quarantines");
}

static void fini_pools(struct slabdev *sd)
{
	metapool_fini(&sd->quarantine_pool);
	metapool_fini(&sd->peek_pool);
	metapool_fini(&sd->graph_pool);
	metapool_fini(&sd->tiny_pool);
	metapool_fini(&sd->class_pool);
	metapool_fini(&sd->bin_pool);
	metapool_fini(&sd->heap_pool);
	sheaf_pools_fini(sd);
}

static void general_name(u32 id, char name[SLABDEV_NAME_MAX + 1])
{
	if (id == CLASS_LARGE)
		snprintf(name, SLABDEV_NAME_MAX + 1, "large");
	else
		snprintf(name, SLABDEV_NAME_MAX + 1, "alloc-%u",
			 layout_class_size[id]);
}

/* @more: letters beside those that it is to have by its name. */
static void general_class(struct slabdev *sd, struct class *c, u32 id, u32 more)
{
	struct slab_shape shape = { 0, 0 };
	char name[SLABDEV_NAME_MAX + 1];

	general_name(id, name);
	c->sd = sd;
	c->id = (u16)id;
	c->code = id == CLASS_LARGE ? CODE_LARGE : (u8)id;
	c->shift = GRANULE_SHIFT;
	c->stride = id == CLASS_LARGE ? GRANULE : layout_class_size[id];
	if (id != CLASS_LARGE) {
		shape = layout_shape(c->stride);
		c->sheaf_cap = layout_sheaf_cap(c->stride, 0);
		sd->code_size[id] = (u32)c->stride;
	}
	c->object_size = c->stride;
	c->align = (u32)GRANULE;
	c->nr = shape.nr;
	c->span = shape.span;
	c->barn_max = barn_limit(c->stride, c->sheaf_cap);
	debug_begin(c, name);
	c->debug |= more;
	if (c->debug & DEBUG_NO_GROW)
		c->debug &= ~DEBUG_RED_ZONE;
	if (id != CLASS_LARGE)
		debug_shape(c);
	c->rec = &sd->window[0]->cls[id];
	c->rec->type = id == CLASS_LARGE ? SLABDEV_SEG_LARGE :
					   SLABDEV_SEG_GENERAL;
	list_init(&c->link);
	class_init(c);
	if (id == CLASS_LARGE)
		c->rec->stride = c->rec->object_size = 0;
	memcpy(c->rec->name, name, sizeof(name));
	store_release(&sd->class[id], c);
	store_release(&c->rec->state, SLABDEV_SEG_USED);
}

static int general_classes(struct slabdev *sd)
{
	u32 id, more = 0;
	struct class *c;
	int err;

	for (id = 1; id <= NR_GENERAL + 1; id++) {
		c = metapool_alloc(&sd->class_pool);
		if (!c)
			return error_set(-ENOMEM, "no host memory for classes");
		general_class(sd, c, id % (NR_GENERAL + 1), more);
		err = debug_ready(c, c->debug);
		if (err)
			return err;
		sd->zoned |= c->debug & DEBUG_RED_ZONE;
		/* What does not fit before a zone is of the next class. */
		more = c->debug & ~more & DEBUG_RED_ZONE;
	}
	if (sd->class[CLASS_LARGE]->debug & DEBUG_RED_ZONE)
		sd->large_zone = ZONE_MIN;
	return 0;
}

/* What plain calls mean: stream.h, section 1. */
static void choose_order(struct slabdev *sd, const struct slabdev_attr *attr)
{
	sd->domain = DOMAIN_COMPLETE;
	if (sd->ops->synchronous)
		return;
	sd->stream = attr->stream ? attr->stream : SLABDEV_STREAM_LEGACY;
	sd->host_order = attr->ordering ?
			 attr->ordering == SLABDEV_ORDER_HOST :
			 sd->ops->for_cpu;
	if (!sd->host_order)
		sd->domain = DOMAIN_BOUND;
}

static int open_vmm(struct slabdev *sd, const struct slabdev_attr *attr)
{
	struct vmm_config config = {
		.limit = attr->limit,
		.limit_permille = attr->limit_permille,
		.ranks = attr->ranks,
		.reserve = attr->reserve,
		.same_layout = sd->same_layout,
		.counters = (struct vmm_counters *)&sd->rec->vmm,
		.name = sd->name,
	};
	int err = vmm_open(&sd->vmm, sd->ops, sd->dev, &config);
	u64 limit;

	if (err)
		return err;
	choose_order(sd, attr);
	guards_begin(sd);
	sd->base = sd->vmm.base;
	sd->fast_slots = (u32)min(sd->vmm.base_bytes >> GRANULE_SHIFT,
				  (u64)UINT32_MAX);
	sd->chunk_slices = (u32)(sd->vmm.chunk_size >> SLICE_SHIFT);
	sd->rec->chunk_size = sd->vmm.chunk_size;
	vmm_describe(&sd->vmm, sd->rec->backing, sizeof(sd->rec->backing));
	limit = READ_ONCE(sd->vmm.cnt->limit);
	sd->sheaf_bytes = attr->sheaf_bytes ? attr->sheaf_bytes :
					     THREAD_SHEAF_BYTES;
	sd->sheaf_total = attr->sheaf_total_bytes ? attr->sheaf_total_bytes :
						    limit / 8;
	return 0;
}

static void fini_classes(struct slabdev *sd)
{
	u32 id;

	for (id = 0; id < CLASS_MAX; id++)
		if (sd->class[id])
			class_fini(sd->class[id]);
}

static void init_streams(struct slabdev *sd, const struct slabdev_attr *attr)
{
	streams_init(sd);
	notes_init(sd);
	pendings_init(sd, attr->pending_bytes ? attr->pending_bytes :
						PENDING_BYTES);
}

static void fini_streams(struct slabdev *sd)
{
	pendings_fini(sd);
	notes_fini(sd);
	streams_fini(sd);
}

static int build_space(struct slabdev *sd, const struct slabdev_attr *attr)
{
	int err;

	init_pools(sd);
	err = segments_init(sd);
	if (err)
		goto fini_pools;
	err = open_vmm(sd, attr);
	if (err)
		goto fini_segments;
	err = pool_init(sd);
	if (err)
		goto close_vmm;
	sd->tags = (tag_t *)(void *)sd->pool.tags.base;
	sd->rounding = (u8 *)sd->pool.rounding.base + ROUNDING_SKEW;
	sd->slabs = (struct slab *)(void *)sd->pool.slabs.base;
	err = general_classes(sd);
	if (err)
		goto fini_classes;
	annotate_pool_create(sd);
	init_streams(sd, attr);
	if (sd->host_order)
		err = stream_get(sd, sd->stream, true, &sd->bound);
	if (err)
		goto fini_streams;
	return 0;

fini_streams:
	fini_streams(sd);
	annotate_pool_destroy(sd);
fini_classes:
	fini_classes(sd);
	pool_fini(sd);
close_vmm:
	vmm_close(&sd->vmm);
fini_segments:
	segments_fini(sd);
fini_pools:
	fini_pools(sd);
	return err;
}

static void fini_locks(struct slabdev *sd)
{
	lock_fini(&sd->heaps_lock);
	lock_fini(&sd->lock);
}

static int free_number_locked(u32 *id)
{
	for (*id = 0; *id < SPACE_MAX; ++*id)
		if (!space[*id])
			return 0;
	return error_set(-ENFILE, "%d spaces are open already", SPACE_MAX);
}

static int open_locked(struct slabdev **out, const char *spec,
		       const struct slabdev_attr *attr, const struct params *p,
		       const struct vmm_ops *ops, void *dev)
{
	struct slabdev_policy policy;
	struct slabdev *sd;
	u32 id;
	int err;

	err = library_init_locked();
	if (!err)
		err = free_number_locked(&id);
	if (err)
		return err;
	sd = metapool_alloc(&space_pool);
	if (!sd)
		return error_set(-ENOMEM, "no host memory for a space");
	sd->id = id;
	sd->open_id = ++nr_opens;
	sd->ops = ops;
	sd->dev = dev;
	init_space(sd, spec, attr, p);
	err = rank_check_space(sd, attr);
	if (!err)
		err = build_space(sd, attr);
	if (err) {
		fini_locks(sd);
		metapool_free(&space_pool, sd);
		return err;
	}
	policy = attr->policy;
	if (!policy.mode)
		policy.mode = SLABDEV_RETAIN;
	policy_apply(sd, &policy);
	space[id] = sd;
	store_release(&sd->rec->state, SLABDEV_SEG_USED);
	*out = sd;
	return 0;
}

/* What is missing here, once a space: it goes on without. */
static void say_what_is_missing(const struct slabdev *sd,
				const struct slabdev_attr *attr)
{
	char buf[64];

	if (!have_membarrier)
		pr_warn("space %s: membarrier is not available: threads work "
			"without sheaves, each operation takes a lock",
			sd->name);
	if (IS_ENABLED(CONFIG_SLAB_SEGMENT) && sd->segment[0].file.fd < 0 &&
	    !(attr->flags & SLABDEV_OPEN_PRIVATE_STATS))
		pr_warn("space %s: no sealed memfd for statistics (%s): "
			"slabinfo cannot see this process", sd->name,
			strerror_r(-sd->publish_err, buf, sizeof(buf)));
	if (sd->guards.every && !sd->guards.possible)
		pr_warn("space %s: SLABDEV_GUARD has no effect: its memory "
			"cannot be unmapped for a single object", sd->name);
	pr_info("space %s opened", sd->name);
}

static int open_on(struct slabdev **out, const char *spec,
		   const struct slabdev_attr *attr, const struct params *p,
		   const struct vmm_ops *ops, void *dev)
{
	int err;

	annotate_prepare(ops, !p->no_annotations);
	lock_acquire(&registry);
	err = open_locked(out, spec, attr, p, ops, dev);
	lock_release(&registry);
	if (!err)
		say_what_is_missing(*out, attr);
	return err;
}

int space_open_on(struct slabdev **out, const struct slabdev_attr *user_attr,
		  const struct vmm_ops *ops, void *dev)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	const struct params *p;
	int err = attr_read(&attr, &p, user_attr);

	return err ? err : open_on(out, ops->name, &attr, p, ops, dev);
}

int slabdev_open(struct slabdev **out, const char *spec,
		 const struct slabdev_attr *user_attr)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	const struct params *p;
	const struct vmm_ops *ops;
	void *dev;
	int err;

	if (!out || !spec)
		return error_set(-EINVAL, "slabdev_open: %s is NULL",
				 out ? "spec" : "sd");
	err = attr_read(&attr, &p, user_attr);
	if (!err)
		err = vmm_backend_find(spec, &attr, &ops, &dev);
	if (err)
		return err;
	err = open_on(out, spec, &attr, p, ops, dev);
	if (err)
		vmm_backend_put(ops, dev);
	return err;
}

/* ---- Close ------------------------------------------------------------ */

static u64 live_objects(struct slabdev *sd)
{
	struct slabdev_stats st;

	stats_collect(sd, &st);
	return st.live_objects;
}

static bool is_open_locked(const struct slabdev *sd)
{
	u32 i;

	for (i = 0; i < SPACE_MAX; i++)
		if (space[i] == sd && !sd->closing)
			return true;
	return false;
}

/* Heaps away from their threads; the number stays taken. */
static int detach(struct slabdev *sd)
{
	bool open;

	lock_acquire(&registry);
	open = is_open_locked(sd);
	if (open) {
		WRITE_ONCE(sd->rec->state, SLABDEV_SEG_FREE);
		sd->pendings.all_done = true;
		heap_detach_all(sd);
		pending_end(sd);
		graphs_end(sd);
		notes_end(sd);
		sd->closing = true;
	}
	lock_release(&registry);
	return open ? 0 : error_set(-EINVAL, "slabdev_close: %p is no open "
				    "space", (const void *)sd);
}

static int demolish(struct slabdev *sd)
{
	u32 id = sd->id;
	int err;

	comm_end(sd);
	guards_fini(sd);
	fini_streams(sd);
	fini_classes(sd);
	annotate_pool_destroy(sd);
	err = vmm_close(&sd->vmm);
	pool_fini(sd);
	vmm_backend_put(sd->ops, sd->dev);
	tracks_fini(sd);
	segments_fini(sd);
	fini_pools(sd);
	fini_locks(sd);
	if (sd->hazard)
		hazard_forget_space(sd);
	lock_acquire(&registry);
	space[id] = NULL;
	metapool_free(&space_pool, sd);
	lock_release(&registry);
	return err;
}

/* Of a space that did not survive a fork there is nothing that could be given
 * back: it was never this process's. */
static int abandon(struct slabdev *sd)
{
	arenas_end(sd);
	tokens_end_space(sd);
	lock_acquire(&registry);
	space[sd->id] = NULL;
	lock_release(&registry);
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
	lock_acquire(&registry);
	found = is_open_locked(sd);
	lock_release(&registry);
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
