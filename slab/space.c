// SPDX-License-Identifier: BSD-2-Clause
/*
 * space.c - opening spaces; see space.h. Closing is in close.c.
 *
 * Opening acquires in one order and undoes in the other. A space is built under
 * the registry lock, so that two opens neither get the same number nor find the
 * library half set up; what there is to say of a space is said without it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/param.h"
#include "slab/annotate.h"
#include "slab/attr.h"
#include "slab/barn.h"
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/debug_large.h"
#include "slab/debug_set.h"
#include "slab/graph.h"
#include "slab/guard.h"
#include "slab/hazard_watch.h"
#include "slab/heap.h"
#include "slab/note.h"
#include "slab/peek.h"
#include "slab/pending.h"
#include "slab/policy.h"
#include "slab/quarantine.h"
#include "slab/rank.h"
#include "slab/segment.h"
#include "slab/space_private.h"
#include "slab/stream.h"
#include "slab/tiny.h"
#include "slab/track.h"

#define THREAD_SHEAF_BYTES (8 * MIB)
#define PENDING_BYTES (64 * MIB)

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
	sd->use_sheaves = registry_has_membarrier() && p->membarrier &&
			  !sd->hazard && !sd->guards.every &&
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
	larges_init(sd);
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

void space_fini_pools(struct slabdev *sd)
{
	larges_fini(sd);
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

void space_fini_classes(struct slabdev *sd)
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

void space_fini_streams(struct slabdev *sd)
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
	space_fini_streams(sd);
	annotate_pool_destroy(sd);
fini_classes:
	space_fini_classes(sd);
	tracks_fini(sd);
	pool_fini(sd);
close_vmm:
	vmm_close(&sd->vmm);
fini_segments:
	segments_fini(sd);
fini_pools:
	space_fini_pools(sd);
	return err;
}

void space_fini_locks(struct slabdev *sd)
{
	lock_fini(&sd->heaps_lock);
	lock_fini(&sd->lock);
}

static int open_locked(struct slabdev **out, const char *spec,
		       const struct slabdev_attr *attr, const struct params *p,
		       const struct vmm_ops *ops, void *dev)
{
	struct slabdev_policy policy;
	struct slabdev *sd;
	int err;

	err = registry_new_locked(&sd);
	if (err)
		return err;
	sd->ops = ops;
	sd->dev = dev;
	init_space(sd, spec, attr, p);
	err = rank_check_space(sd, attr);
	if (!err)
		err = build_space(sd, attr);
	if (err) {
		space_fini_locks(sd);
		registry_free_locked(sd);
		return err;
	}
	policy = attr->policy;
	if (!policy.mode)
		policy.mode = SLABDEV_RETAIN;
	policy_apply(sd, &policy);
	registry_add_locked(sd);
	store_release(&sd->rec->state, SLABDEV_SEG_USED);
	*out = sd;
	return 0;
}

/* What is missing here, once a space: it goes on without. */
static void say_what_is_missing(const struct slabdev *sd,
				const struct slabdev_attr *attr)
{
	char buf[64];

	if (!registry_has_membarrier())
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
	registry_lock();
	err = open_locked(out, spec, attr, p, ops, dev);
	registry_unlock();
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
