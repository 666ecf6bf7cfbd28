// SPDX-License-Identifier: BSD-2-Clause
/* guard.c - guarded objects come and go; see guard.h. */
#include <errno.h>
#include <stdio.h>

#include "core/cancel.h"
#include "core/log.h"
#include "core/overflow.h"
#include "slab/alloc.h"
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/guard.h"
#include "slab/guard_record.h"
#include "slab/guard_zone.h"
#include "slab/hazard_watch.h"
#include "slab/heap.h"
#include "slab/miss.h"
#include "slab/probe.h"
#include "slab/trace.h"
#include "slab/track.h"

void guards_init(struct slabdev *sd, const struct params *p)
{
	sd->guards.every = p->guard_every;
	sd->guards.least = p->guard_min;
	sd->guards.most = p->guard_max ? p->guard_max : UINT64_MAX;
}

void guards_begin(struct slabdev *sd)
{
	struct guards *g = &sd->guards;

	g->possible = !sd->ops->backed && !sd->same_layout && !sd->comm_only;
	g->limit = READ_ONCE(sd->vmm.cnt->limit) / 2;
}

void guards_fini(struct slabdev *sd)
{
	guard_records_forget(sd);
}

/* ---- Which -------------------------------------------------------------- */

bool guard_chooses(struct slabdev *sd, const struct class *c, u64 size)
{
	struct guards *g = &sd->guards;

	if (READ_ONCE(c->debug) & DEBUG_GUARD)
		return true;
	if (!g->every || size < g->least || size > g->most)
		return false;
	return !(__atomic_fetch_add(&g->nr_seen, 1, __ATOMIC_RELAXED) %
		 g->every);
}

static bool is_possible(const struct slabdev *sd, const struct class *c,
			u64 align, unsigned int flags, const struct order *o)
{
	return sd->guards.possible && !c->comm && align <= SLICE_SIZE &&
	       !(flags & GET_NO_GROW) && !READ_ONCE(sd->streams.nr_captures) &&
	       !(o->stream && load_acquire(&o->stream->graph));
}

/* ---- Coming ------------------------------------------------------------- */

/* A guarded object on its way. */
struct making {
	struct slabdev *sd;
	struct class *class;
	u64 size;
	u64 room;		/* with the slack */
	const struct order *o;
	u32 chunks;
	u32 slice;		/* the first of its run */
	u32 slices;
	u32 record;
};

static u64 mapped_bytes(const struct making *m)
{
	return (u64)m->chunks << m->sd->vmm.chunk_shift;
}

static u64 object_offset(const struct making *m)
{
	return slice_offset(m->slice + m->slices) - m->room;
}

static bool take_share(struct making *m)
{
	struct guards *g = &m->sd->guards;
	u64 bytes = mapped_bytes(m);

	if (__atomic_add_fetch(&g->bytes, bytes, __ATOMIC_RELAXED) <=
	    g->limit)
		return true;
	shared_sub(&g->bytes, bytes);
	return false;
}

/* The constructor's object is the one, and no byte more. */
static int construct(const struct making *m)
{
	struct class *c = m->class;
	NO_CANCELLATION;
	int err;

	if (!c->ctor)
		return 0;
	err = c->ctor(to_ptr(space_addr(m->sd, object_offset(m))), m->size, 1,
		      m->sd->stream, c->ctor_arg);
	if (!err && (m->sd->host_order || !order_is_bound(m->o)))
		err = vmm_settle(&m->sd->vmm, true);
	return err;
}

static void remember(const struct making *m)
{
	struct slabdev *sd = m->sd;
	struct guard_record r = {
		.state = GUARD_LIVE,
		.to = space_addr(sd, slice_offset(m->slice)) +
		      slice_offset(m->slices),
		.wall = sd->vmm.chunk_size,
		.object = space_addr(sd, object_offset(m)),
		.size = m->size,
		.space = sd,
	};

	r.from = r.to - mapped_bytes(m);
	snprintf(r.name, sizeof(r.name), "%s", sd->name);
	snprintf(r.class, sizeof(r.class), "%s", m->class->rec->name);
	guard_who(&r.alloc);
	guard_record_set(m->record, &r);
}

static void add_guarded(struct class *c, u32 n)
{
	__atomic_fetch_add(&c->nr_guarded, n, __ATOMIC_RELAXED);
}

static void publish(const struct making *m)
{
	struct slabdev *sd = m->sd;
	struct slab *s = sd->slabs + m->slice;
	bool cached = m->class->rec->type == SLABDEV_SEG_CACHE;

	s->record = m->record;
	WRITE_ONCE(s->nr, 0);
	WRITE_ONCE(s->back, 0);
	slab_publish(s, cached ? m->class->id : CLASS_LARGE, SLAB_GUARD);
	large_book(sd, true, large_roundup(m->size));
	if (cached)
		add_guarded(m->class, 1);
	heap_count_alloc(heap_get(sd), sd->class[CLASS_LARGE], m->size);
	tag_store(&sd->tags[object_offset(m) >> GRANULE_SHIFT],
		  tag_make(CODE_LARGE));
}

static enum vmm_giveback how_to_unmap(const struct slabdev *sd)
{
	if (READ_ONCE(sd->streams.nr_captures))
		return VMM_KEEP_MAPPED;
	return READ_ONCE(sd->policy) == SLABDEV_AGGRESSIVE ? VMM_RELEASE :
							     VMM_KEEP_HANDLE;
}

static int map_and_fill(struct making *m)
{
	struct slabdev *sd = m->sd;
	int err;

	err = pool_alloc_guarded(sd, m->slices, &m->slice);
	if (err)
		return err;
	WRITE_ONCE(sd->slabs[m->slice].size, m->size);
	WRITE_ONCE(sd->slabs[m->slice].begin,
		   (u32)(slice_offset(m->slices) - m->room));
	err = guard_zone_fill(sd, m->slice, m->o);
	if (!err)
		err = construct(m);
	if (!err)
		return 0;
	/* What was begun there may go on. */
	pool_free_guarded(sd, m->slice, streams_quiesce(sd) ? VMM_KEEP_MAPPED :
							      how_to_unmap(sd));
	return err;
}

static bool make(struct making *m)
{
	if (!take_share(m))
		return false;
	m->record = guard_record_take();
	if (m->record == GUARD_NONE)
		goto drop_share;
	if (map_and_fill(m))
		goto drop_record;
	remember(m);
	publish(m);
	return true;

drop_record:
	guard_record_drop(m->record);
drop_share:
	shared_sub(&m->sd->guards.bytes, mapped_bytes(m));
	return false;
}

/* What is told of its free, too, by the class that it is booked in. */
static void began(const struct making *m)
{
	u32 debug = READ_ONCE(m->sd->class[CLASS_LARGE]->debug);

	if (!IS_ENABLED(CONFIG_SLAB_DEBUG))
		debug = 0;
	miss_book(m->sd, m->size);
	if (debug & DEBUG_USER)
		track_alloc(m->sd, NULL, object_offset(m), m->size, m->o);
	if (debug & DEBUG_TRACE)
		trace_alloc(m->sd, NULL, object_offset(m), m->size, m->o);
	probe_alloc(m->sd, to_ptr(space_addr(m->sd, object_offset(m))),
		    m->size);
}

bool guard_make(struct slabdev *sd, struct class *c, u64 size, u64 align,
		unsigned int flags, const struct order *o, void **p)
{
	struct making m = { .sd = sd, .class = c, .size = size, .o = o };
	char text[ERROR_TEXT_MAX];
	bool made;

	align = max(align, GRANULE);
	if (!is_possible(sd, c, align, flags, o) ||
	    align_up_overflows(size, align, &m.room) ||
	    m.room > sd->guards.limit)
		return false;
	/* What cannot be guarded after all is asked once more. */
	if (failslab_refuses(sd, c, size)) {
		*p = alloc_failed(sd, c, -ENOMEM);
		return true;
	}
	m.slices = (u32)div_round_up(m.room, SLICE_SIZE);
	m.chunks = (u32)div_round_up(m.slices, sd->chunk_slices);
	error_save(text);
	made = make(&m);
	error_restore(text);
	shared_add(made ? &sd->guards.nr_made : &sd->guards.nr_refused, 1);
	if (!made)
		return false;
	shared_add(&sd->guards.nr_mapped, 1);
	*p = to_ptr(space_addr(sd, object_offset(&m)));
	began(&m);
	*p = watch_alloc(sd, *p, size, o);
	return true;
}

/* ---- Going -------------------------------------------------------------- */

static u64 bytes_of(const struct slabdev *sd, const struct slab *s)
{
	return align_up(large_roundup(s->size), sd->vmm.chunk_size);
}

void guard_freed(struct slabdev *sd, u32 slice)
{
	const struct slab *s = sd->slabs + slice;
	struct guard_who who;

	if (!slab_is_guard(s))
		return;
	guard_who(&who);
	guard_record_freed(s->record, &who);
	if (slab_class(s) != CLASS_LARGE)
		add_guarded(sd->class[slab_class(s)], -1u);
}

void guard_give_back(struct slabdev *sd, u32 slice)
{
	struct slab *s = sd->slabs + slice;
	u64 bytes = bytes_of(sd, s);
	u32 record = s->record;

	guard_zone_check(sd, slice);
	if (IS_ENABLED(CONFIG_SLAB_DEBUG))
		track_forget(sd, large_offset(sd, slice), 1);
	large_unbook(sd, true, large_roundup(s->size));
	slab_unpublish(s);
	pool_free_guarded(sd, slice, how_to_unmap(sd));
	guard_record_unmapped(record);
	shared_sub(&sd->guards.bytes, bytes);
	shared_sub(&sd->guards.nr_mapped, 1);
}

/* ---- After a fork ------------------------------------------------------- */

void guards_forget(struct slabdev *sd)
{
	sd->guards.bytes = 0;
	sd->guards.nr_mapped = 0;
}

void guard_adopt(struct slabdev *sd, u32 slice)
{
	const struct slab *s = sd->slabs + slice;

	if (!slab_is_guard(s))
		return;
	shared_add(&sd->guards.bytes, bytes_of(sd, s));
	shared_add(&sd->guards.nr_mapped, 1);
	if (slab_class(s) != CLASS_LARGE && large_is_live(sd, slice))
		add_guarded(sd->class[slab_class(s)], 1);
}
