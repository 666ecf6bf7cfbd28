// SPDX-License-Identifier: BSD-2-Clause
/*
 * api.c - general allocations with details: alignment, flags, zeroing,
 * realloc, and the questions about an object.
 */
#include <errno.h>

#include "core/log.h"
#include "core/overflow.h"
#include "core/usercopy.h"
#include "slab/alloc.h"
#include "slab/annotate.h"
#include "slab/badfree.h"
#include "slab/comm.h"
#include "slab/debug_large.h"
#include "slab/guard.h"
#include "slab/hazard_watch.h"
#include "slab/heap.h"
#include "slab/note.h"
#include "slab/rank.h"
#include "slab/visit.h"
#include "slab/track.h"

#define ALIGN_MAX GIB
#define REQ_FLAGS (SLABDEV_REQ_ZERO | SLABDEV_REQ_NO_GROW | \
		   SLABDEV_REQ_NO_REPORT | SLABDEV_REQ_COMM)

static void *fail(int err)
{
	errno = -err;
	return NULL;
}

static int check_req(const struct slabdev_req *req)
{
	if (req->align && (!is_power_of_2(req->align) ||
			   req->align > ALIGN_MAX))
		return error_set(-EINVAL, "req.align %zu is not a power of two "
				 "up to 1 GiB", req->align);
	if ((req->flags & ~REQ_FLAGS) || req->reserved)
		return error_set(-EINVAL, "req.flags %#x has bits that this "
				 "version does not know", req->flags);
	return 0;
}

/* In whose order a request is; NULL is the bound stream here. */
static int req_order(struct slabdev *sd, slabdev_stream_t stream,
		     struct order *o)
{
	if (stream)
		return order_of(sd, stream, "req.stream", o);
	*o = order_plain(sd);
	return 0;
}

/* Undo an allocation that its caller will not see. */
static void alloc_undo(struct slabdev *sd, void *p, size_t size,
		       const struct order *o)
{
	struct class *c;
	struct place at;

	lookup(sd, p, &at);
	c = at.class ? at.class : sd->class[CLASS_LARGE];
	(void)free_in_order(sd, p, o);
	heap_uncount(heap_get(sd), c, size);
}

/* What the backend said of it, if it did, and at what. */
static int work_failed(const struct slabdev *sd, int err, const char *what)
{
	return error_set(err, "%s: %s failed%s%s", sd->name, what,
			 sd->ops->explains ? ": " : "",
			 sd->ops->explains ? error_get() : "");
}

/* With host order what is handed out may be used anywhere at once. */
static int finish_work(struct slabdev *sd, const struct order *o)
{
	if (!sd->host_order || o->stream != sd->bound)
		return 0;
	return vmm_settle(&sd->vmm, true);
}

static void *zero(struct slabdev *sd, void *p, size_t size,
		  const struct order *o)
{
	int err = vmm_fill(&sd->vmm, (u64)(uintptr_t)p, size, 0, o->handle);

	if (!err)
		err = finish_work(sd, o);
	if (!err)
		return p;
	err = work_failed(sd, err, "zeroing the object");
	alloc_undo(sd, p, size, o);
	return alloc_failed(sd, NULL, err);
}

void *alloc_req(struct slabdev *sd, size_t size,
		const struct slabdev_req *user_req, const char *call)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct order o;
	void *p;
	int err;

	err = space_check(sd, call);
	if (err)
		return fail(err);
	err = copy_struct_from_user(&req, sizeof(req), user_req, "req");
	if (!err)
		err = check_req(&req);
	if (!err)
		err = rank_check_align(sd, req.align);
	if (!err)
		err = req_order(sd, req.stream, &o);
	if (err || !size)
		return fail(err);
	p = alloc_any(sd, size, req.align, req.flags, &o);
	if (p && (req.flags & SLABDEV_REQ_ZERO))
		p = zero(sd, p, size, &o);
	return p;
}

void *slabdev_alloc_ex(struct slabdev *sd, size_t size,
		       const struct slabdev_req *req)
{
	watch_site(sd);
	return alloc_req(sd, size, req, "slabdev_alloc_ex");
}

void *slabdev_alloc_aligned(struct slabdev *sd, size_t size, size_t align)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.align = align;
	if (!align)
		return fail(error_set(-EINVAL, "an alignment of 0"));
	watch_site(sd);
	return alloc_req(sd, size, &req, "slabdev_alloc_aligned");
}

void *slabdev_zalloc(struct slabdev *sd, size_t size)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.flags = SLABDEV_REQ_ZERO;
	watch_site(sd);
	return alloc_req(sd, size, &req, "slabdev_zalloc");
}

void *slabdev_alloc_array(struct slabdev *sd, size_t n, size_t size)
{
	int err = space_check(sd, "slabdev_alloc_array");
	u64 bytes;

	if (err)
		return fail(err);
	if (mul_overflows(n, size, &bytes))
		return alloc_failed(sd, sd->class[CLASS_LARGE],
				    error_set(-EOVERFLOW, "%zu objects of %zu "
					      "bytes are more than an address "
					      "can count", n, size));
	return slabdev_alloc(sd, bytes);
}

/* ---- Questions -------------------------------------------------------- */

/* What is behind the bytes asked for is nobody's then. */
static bool has_zone(const struct slabdev *sd, const struct place *at)
{
	return at->kind == PLACE_LARGE ? sd->large_zone :
					 keeps_sizes(at->class);
}

size_t slabdev_usable_size(struct slabdev *sd, const void *p)
{
	struct place at;

	if (!p || space_check(sd, "slabdev_usable_size"))
		return 0;
	if (!lookup_live(sd, p, &at))
		return 0;
	return has_zone(sd, &at) || sd->annotated ? at.size : at.usable;
}

/* As much as an object of @size has, whoever may use it. */
static size_t roundup(const struct slabdev *sd, size_t size)
{
	size_t class;

	if (!sd || !size)
		return 0;
	if (sd->comm_only)
		return sd->large_zone ? size : comm_roundup(sd, size);
	if (size > GENERAL_MAX)
		return sd->large_zone && large_usable(sd, size) ?
		       size : large_roundup(size);
	class = layout_class(size);
	return keeps_sizes(sd->class[class]) ? size : layout_class_size[class];
}

size_t slabdev_size_roundup(struct slabdev *sd, size_t size)
{
	size_t room = roundup(sd, size);

	return room && sd->annotated ? size : room;
}

/* ---- Realloc ---------------------------------------------------------- */

/* It is no live object, or one that has an owner. */
static int refuse(struct slabdev *sd, const void *p)
{
	u32 side = visit_begin(sd);
	struct report r;
	struct place at;
	bool was_object;
	int err;

	lookup(sd, p, &at);
	was_object = at.kind == PLACE_GONE ||
		     ((at.kind == PLACE_OBJECT || at.kind == PLACE_LARGE) &&
		      at.start && !at.live);
	err = bad_free(&r, sd, NULL, p, &at, was_object ? -EALREADY : -EINVAL);
	visit_end(sd, side);
	report_end(&r);
	return err;
}

/* The same memory would be chosen for it. */
static bool fits_before_zone(struct slabdev *sd, const struct place *at,
			     size_t size)
{
	if (at->kind == PLACE_LARGE || !at->class)
		return size > GENERAL_MAX &&
		       large_usable(sd, size) == at->usable;
	if (at->class->comm)
		return comm_usable(sd, size) == at->usable;
	return size <= GENERAL_MAX &&
	       zone_class(sd, size, GRANULE) == at->class->id;
}

/*
 * The new size fits the memory that the object has, and is not so much smaller
 * that less memory would serve it.
 */
static bool fits_in_place(struct slabdev *sd, const struct place *at,
			  size_t size, const struct order *o)
{
	if (size == at->size)
		return true;
	/* It would not be at the end of its memory any more. */
	if (slab_is_guard(at->slab))
		return false;
	/* A zone is filled in the order that a plain free has, or anew. What
	 * others may be filling is looked at when they are done: after a free.
	 */
	if (has_zone(sd, at) &&
	    (note_is_used(sd, at->object) ||
	     (size < at->size && !order_is_bound(o))))
		return false;
	if (has_zone(sd, at))
		return fits_before_zone(sd, at, size);
	if (size >= at->size)
		return size <= at->usable;
	if (at->kind == PLACE_LARGE)
		return large_roundup(size) == at->usable;
	if (at->class && at->class->comm)
		return comm_roundup(sd, size) == at->usable;
	return roundup(sd, size) == at->usable;
}

/* A walk may look at what becomes part of the zone meanwhile: so the zone is
 * there first. What an object gets by growing was its zone. */
static void move_zone(struct slabdev *sd, const struct place *at, size_t size,
		      const struct order *o)
{
	/* What others may be filling only has the size that it had. */
	if (!note_is_used(sd, at->object))
		debug_look(sd, at, o);
	if (size >= at->size || slab_is_guard(at->slab))
		return;
	if (at->kind == PLACE_LARGE)
		debug_prepare_large(sd, (u32)(at->object >> SLICE_SHIFT), size,
				    o);
	else
		debug_prepare(at->class, at->slot, size, o);
}

static void resize_in_place(struct slabdev *sd, const struct place *at,
			    size_t size, const struct order *o)
{
	struct class *c = at->class ? at->class : sd->class[CLASS_LARGE];

	move_zone(sd, at, size, o);
	if (at->kind == PLACE_LARGE)
		WRITE_ONCE(at->slab->size, size);
	else
		resize_object(c, at->slot, size);
	heap_count_resize(heap_get(sd), c, at->size, size);
	track_resize(sd, at->object, size);
	annotate_resize(sd, to_ptr(space_addr(sd, at->object)), at->size, size,
			at->usable);
}

static void *move_object(struct slabdev *sd, void *p, const struct place *at,
			 size_t size, const struct order *o)
{
	bool comm = at->class && at->class->comm;
	void *to = alloc_any(sd, size, 0, comm ? SLABDEV_REQ_COMM : 0, o);
	int err;

	if (!to)
		return NULL;
	err = vmm_copy(&sd->vmm, (u64)(uintptr_t)to, (u64)(uintptr_t)p,
		       min(at->size, (u64)size), o->handle);
	if (!err)
		err = finish_work(sd, o);
	if (err) {
		err = work_failed(sd, err, "copying the object");
		alloc_undo(sd, to, size, o);
		return alloc_failed(sd, NULL, err);
	}
	(void)free_in_order(sd, p, o);
	return to;
}

static void *resize(struct slabdev *sd, void *p, size_t size,
		    const struct order *o)
{
	struct place at;
	int err;

	if (!p)
		return size ? alloc_any(sd, size, 0, 0, o) : fail(0);
	if (!lookup_live(sd, p, &at) || note_refuses(sd, at.object) == -EINVAL)
		return fail(refuse(sd, p));
	if (at.class && at.class->rec->type == SLABDEV_SEG_CACHE)
		return fail(error_set(-EINVAL, "%p is an object of cache %s: "
				      "its size cannot change", p,
				      at.class->rec->name));
	if (!size) {
		err = free_in_order(sd, p, o);
		return fail(err);
	}
	if (fits_in_place(sd, &at, size, o)) {
		resize_in_place(sd, &at, size, o);
		return p;
	}
	if (note_is_exported(sd, at.object))
		return fail(error_set(-EBUSY, "slabdev_realloc: %p is exported "
				      "to another process and cannot move", p));
	return move_object(sd, p, &at, size, o);
}

void *slabdev_realloc(struct slabdev *sd, void *p, size_t size)
{
	int err = space_check(sd, "slabdev_realloc");
	struct order o;

	if (err)
		return fail(err);
	o = order_plain(sd);
	watch_site(sd);
	return resize(sd, p, size, &o);
}

#undef slabdev_realloc_async
void *slabdev_realloc_async(struct slabdev *sd, void *p, size_t size,
			    slabdev_stream_t stream)
{
	int err = space_check(sd, "slabdev_realloc_async");
	struct order o;

	if (!err)
		err = order_of(sd, stream, "slabdev_realloc_async", &o);
	watch_site(sd);
	return err ? fail(err) : resize(sd, p, size, &o);
}
