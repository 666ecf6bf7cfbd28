// SPDX-License-Identifier: BSD-2-Clause
/* stats.c - sums of counters, and the calls that return them; see stats.h. */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "core/usercopy.h"
#include "slab/alloc.h"
#include "slab/heap.h"
#include "slab/segment.h"
#include "slab/stats.h"
#include "slab/track.h"
#include "slab/visit.h"

void space_count_out(struct slabdev *sd, u64 bytes)
{
	u64 out = __atomic_add_fetch(&sd->rec->out_bytes, bytes,
				     __ATOMIC_RELAXED);
	u64 peak = READ_ONCE(sd->rec->peak_out);

	while (out > peak &&
	       !__atomic_compare_exchange_n(&sd->rec->peak_out, &peak, out,
					    true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

/* The figures of a class, from records that others write meanwhile. */
static void class_figures(const struct class *c,
			  const struct slabdev_seg_counters *sum,
			  struct slabdev_seg_figures *f)
{
	const struct slabdev_seg_space *space = c->sd->rec;
	const struct slabdev_seg_class rec = {
		.type = c->rec->type,
		.per_slab = c->rec->per_slab,
		.stride = c->rec->stride,
		.slab_bytes = c->rec->slab_bytes,
		.slabs = READ_ONCE(c->rec->slabs),
		.pending = READ_ONCE(c->rec->pending),
	};
	const struct slabdev_seg_space large = {
		.large_bytes = READ_ONCE(space->large_bytes),
		.large_slack = READ_ONCE(space->large_slack),
		.large_pending = READ_ONCE(space->large_pending),
	};

	slabdev_seg_figures(&rec, sum, &large, f);
}

static void each_in_window(struct slabdev *sd, u32 window,
			   void (*each)(const struct class_figures *, void *),
			   void *arg)
{
	struct slabdev_seg_counters sum[SLABDEV_SEG_WINDOW];
	u32 i;

	segment_sum(sd, window, sum);
	for (i = 0; i < CLASS_WINDOW; i++) {
		struct class_figures cf = { .sum = sum[i] };

		cf.class = load_acquire(&sd->class[window * CLASS_WINDOW + i]);
		if (!cf.class && !sum[i].allocs)
			continue;
		if (cf.class)
			class_figures(cf.class, &sum[i], &cf.f);
		each(&cf, arg);
	}
}

void stats_each_class(struct slabdev *sd,
		      void (*each)(const struct class_figures *cf, void *arg),
		      void *arg)
{
	u32 side = visit_begin(sd), window;

	for (window = 0; window < NR_WINDOWS; window++)
		if (load_acquire(&sd->window[window]))
			each_in_window(sd, window, each, arg);
	visit_end(sd, side);
}

static void add_class(const struct class_figures *cf, void *arg)
{
	struct slabdev_stats *st = arg;

	st->allocs += cf->sum.allocs;
	st->frees += cf->sum.frees;
	st->alloc_bytes += cf->sum.alloc_bytes;
	st->free_bytes += cf->sum.free_bytes;
	st->live += cf->f.live;
	st->rounding += cf->f.rounding;
	st->cached += cf->f.cached;
	st->slack += cf->f.slack;
	st->pending += cf->f.pending;
	st->live_objects += cf->f.live_objects;
	if (cf->class) {
		st->refills += READ_ONCE(cf->class->rec->refills);
		st->flushes += READ_ONCE(cf->class->rec->flushes);
	}
}

static u64 resv_bytes(const struct resv *r)
{
	return READ_ONCE(r->committed);
}

static u64 range_bytes(const struct range *r)
{
	return resv_bytes(&r->nodes) + resv_bytes(&r->heads) +
	       resv_bytes(&r->is_free);
}

static u64 segment_bytes(struct slabdev *sd)
{
	u64 bytes = 0;
	u32 i;

	lock_acquire(&sd->heaps_lock);
	for (i = 0; i < sd->nr_segments; i++)
		bytes += sd->segment[i].size;
	lock_release(&sd->heaps_lock);
	return bytes;
}

static u64 stream_bytes(const struct slabdev *sd)
{
	return READ_ONCE(sd->stream_pool.bytes) +
	       READ_ONCE(sd->pending_pool.bytes) +
	       READ_ONCE(sd->note_pool.bytes) +
	       READ_ONCE(sd->work_pool.bytes) +
	       READ_ONCE(sd->graph_pool.bytes) +
	       resv_bytes(&sd->notes.buckets);
}

/* Everything that is committed on the host for this space. */
u64 stats_host_bytes(struct slabdev *sd)
{
	const struct pool *p = &sd->pool;
	const struct vmm *v = &sd->vmm;
	u64 bytes = sizeof(*sd) + segment_bytes(sd);
	u32 i;

	for (i = 0; i < NR_SHEAF_POOLS; i++)
		bytes += READ_ONCE(sd->sheaf_pool[i].bytes);
	bytes += READ_ONCE(sd->heap_pool.bytes) + READ_ONCE(sd->bin_pool.bytes);
	bytes += READ_ONCE(sd->class_pool.bytes);
	bytes += READ_ONCE(sd->tiny_pool.bytes);
	bytes += stream_bytes(sd) + tracks_host_bytes(sd);
	bytes += range_bytes(&p->slices) + resv_bytes(&p->chunks);
	bytes += resv_bytes(&p->vacant) + resv_bytes(&p->tags);
	bytes += resv_bytes(&p->rounding);
	bytes += resv_bytes(&p->slabs);
	bytes += range_bytes(&v->addresses) + range_bytes(&v->idle_runs);
	bytes += resv_bytes(&v->chunks);
	bytes += READ_ONCE(v->handles.bytes);
	WRITE_ONCE(sd->rec->host_bytes, bytes);
	return bytes;
}

static void add_backend(struct slabdev *sd, struct slabdev_stats *st)
{
	struct vmm_counters *v = sd->vmm.cnt;
	u32 op;

	for (op = 0; op < VMM_NR_MANAGEMENT_OPS; op++) {
		st->backend_calls += READ_ONCE(v->calls[op]);
		st->backend_fails += READ_ONCE(v->fails[op]);
	}
	st->mapped = READ_ONCE(v->created);
	st->retained = READ_ONCE(sd->rec->pool_free) + READ_ONCE(v->idle);
	st->lost = READ_ONCE(v->lost);
	st->reserved = READ_ONCE(v->reserved);
	st->limit = READ_ONCE(v->limit);
	st->peak_mapped = READ_ONCE(v->peak_created);
	st->handles = READ_ONCE(v->handles);
	st->cached_handles = READ_ONCE(v->spare_handles);
}

static void add_streams(const struct slabdev *sd, struct slabdev_stats *st)
{
	const struct slabdev_seg_space *rec = sd->rec;

	st->held = READ_ONCE(rec->held_bytes);
	st->streams = READ_ONCE(rec->nr_streams);
	st->graphs = READ_ONCE(rec->nr_graphs);
	st->event_records = READ_ONCE(rec->event_records);
	st->event_queries = READ_ONCE(rec->event_queries);
	st->stream_waits = READ_ONCE(rec->stream_waits);
	st->host_waits = READ_ONCE(rec->host_waits);
	st->exported = READ_ONCE(rec->nr_exported);
	st->exported_bytes = READ_ONCE(rec->exported_bytes);
}

static void add_owners(const struct slabdev *sd, struct slabdev_stats *st)
{
	const struct slabdev_seg_space *rec = sd->rec;

	st->arenas = READ_ONCE(rec->nr_arenas);
	st->arena_bytes = READ_ONCE(rec->arena_bytes);
	st->live += st->arena_bytes;
	st->buffers = READ_ONCE(rec->nr_buffers);
	st->groups = READ_ONCE(rec->nr_groups);
}

/* Counted in different places: of an allocation that is under way, or was
 * undone, the miss may be there and the allocation not. */
static void add_reused(const struct slabdev *sd, struct slabdev_stats *st)
{
	u64 misses = READ_ONCE(sd->rec->misses);
	u64 bytes = READ_ONCE(sd->rec->miss_bytes);

	st->reused = st->allocs - min(misses, st->allocs);
	st->reused_bytes = st->alloc_bytes - min(bytes, st->alloc_bytes);
}

void stats_collect(struct slabdev *sd, struct slabdev_stats *st)
{
	*st = (struct slabdev_stats){ 0 };
	stats_each_class(sd, add_class, st);
	st->refills += READ_ONCE(sd->window[0]->cls[GONE_CLASS].refills);
	st->flushes += READ_ONCE(sd->window[0]->cls[GONE_CLASS].flushes);
	add_backend(sd, st);
	add_streams(sd, st);
	add_owners(sd, st);
	add_reused(sd, st);
	st->in_flight = (s64)(st->mapped - st->live - st->cached -
			      st->pending - st->retained - st->rounding -
			      st->slack - st->lost);
	st->failed = READ_ONCE(sd->rec->failed);
	st->peak_live = READ_ONCE(sd->rec->peak_out);
	st->threads = READ_ONCE(sd->rec->nr_threads);
	st->caches = READ_ONCE(sd->rec->nr_caches);
	st->host_bytes = stats_host_bytes(sd);
}

int slabdev_stats(struct slabdev *sd, struct slabdev_stats *st, size_t size)
{
	int err = space_check(sd, "slabdev_stats");
	struct slabdev_stats own;

	if (err)
		return err;
	stats_collect(sd, &own);
	return copy_struct_to_user(st, size, &own, sizeof(own), "st");
}

int slabdev_cache_stats(struct slabdev_cache *cache,
			struct slabdev_cache_stats *st, size_t size)
{
	struct slabdev_seg_counters sum[SLABDEV_SEG_WINDOW], *n;
	struct slabdev_seg_figures f = { 0 };
	struct slabdev_cache_stats own = { .name = "" };
	struct class *c = cache_class(cache);
	int err = cache_check(c, "slabdev_cache_stats");

	if (err)
		return err;
	segment_sum(c->sd, c->id / CLASS_WINDOW, sum);
	n = &sum[c->id % CLASS_WINDOW];
	class_figures(c, n, &f);
	memcpy(own.name, c->rec->name, sizeof(own.name));
	own.object_size = c->object_size;
	own.stride = c->stride;
	own.slab_bytes = c->span * SLICE_SIZE;
	own.objects_per_slab = c->nr;
	own.sheaf_objects = c->sheaf_cap;
	own.slabs = READ_ONCE(c->rec->slabs);
	own.live = f.live_objects;
	own.cached = f.cached_objects;
	own.allocs = n->allocs;
	own.frees = n->frees;
	own.refills = READ_ONCE(c->rec->refills);
	own.flushes = READ_ONCE(c->rec->flushes);
	own.failed = READ_ONCE(c->rec->failed);
	own.pending = READ_ONCE(c->rec->pending);
	return copy_struct_to_user(st, size, &own, sizeof(own), "st");
}

int slabdev_meminfo(struct slabdev *sd, u64 *free_bytes, u64 *total_bytes)
{
	u64 free_now = 0, total = 0;
	int err = space_check(sd, "slabdev_meminfo");

	if (!err)
		err = space_failed(sd, vmm_meminfo(&sd->vmm, &free_now,
						&total));
	if (err)
		return err;
	if (free_bytes)
		*free_bytes = free_now;
	if (total_bytes)
		*total_bytes = total;
	return 0;
}
