// SPDX-License-Identifier: BSD-2-Clause
/* order.c - what an allocation may have, and where a free goes, in the order of
 * a stream; see stream.h. */
#include <errno.h>

#include "core/log.h"
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/graph.h"
#include "slab/heap.h"
#include "slab/pending.h"

/*
 * NULL is the legacy default stream, as for the driver. In host spaces the
 * default streams are the CPU: NULL.
 */
slabdev_stream_t stream_canonical(const struct slabdev *sd,
				  slabdev_stream_t stream)
{
	if (sd->stream)
		return stream ? stream : SLABDEV_STREAM_LEGACY;
	if (stream == SLABDEV_STREAM_LEGACY ||
	    stream == SLABDEV_STREAM_PER_THREAD)
		return NULL;
	return stream;
}

struct order order_plain(const struct slabdev *sd)
{
	struct stream *st = READ_ONCE(sd->bound);

	return (struct order){ st ? st->handle : NULL, st };
}

struct order order_to_have(const struct slabdev *sd, const struct order *o)
{
	if (o->stream && o->stream == sd->bound &&
	    !load_acquire(&o->stream->graph))
		return (struct order){ 0 };
	return *o;
}

/* The stream of one of the thread's heaps, found without a lock. */
static struct stream *find_own(const struct slabdev *sd,
			       slabdev_stream_t handle)
{
	const struct heap *h = thread_self->heap[sd->id];

	for (; h; h = READ_ONCE(h->next))
		if (READ_ONCE(h->key) == handle)
			return h->stream;
	return NULL;
}

int order_of(struct slabdev *sd, slabdev_stream_t stream, const char *call,
	     struct order *o)
{
	int err;

	stream = stream_canonical(sd, stream);
	if (!stream || stream == sd->stream) {
		*o = order_plain(sd);
		return 0;
	}
	o->handle = stream;
	o->stream = find_own(sd, stream);
	if (o->stream)
		return 0;
	o->stream = stream_find(sd, stream);
	if (o->stream)
		return 0;
	err = vmm_check_stream(&sd->vmm, stream);
	return err ? error_set(err, "%s: %s: %p is no stream of it: %s", call,
			       sd->name, (void *)stream, error_get()) : 0;
}

/* ---- Frees -------------------------------------------------------------- */

/* The heap for the sheaves of an order; NULL: there is none. */
static struct heap *heap_for(struct heap *own, const struct order *o)
{
	if (order_is_bound(o))
		return own;
	if (!o->stream || !READ_ONCE(o->stream->users))
		return NULL;
	return heap_of_stream(own, o->stream);
}

void order_put(struct heap *own, struct class *c, slot_t slot,
	       const struct order *o)
{
	struct heap *h;
	struct bin *b;

	/* First: a heap would let the fast paths find the stream again. */
	if (o->stream && load_acquire(&o->stream->graph)) {
		graph_put(o->stream->graph, o, slot_offset(c, slot),
			  NULL);
		return;
	}
	h = heap_for(own, o);
	if (!h) {
		pending_add_slot(c, slot, o, NULL, 0);
		return;
	}
	b = heap_bin(h, c);
	if (!b || !sheaf_push(h, b, slot))
		heap_free_slow(h, c, slot);
}

/* ---- Allocations --------------------------------------------------------- */

int order_after_bound(struct slabdev *sd, const struct order *o)
{
	int err = vmm_wait_for_bound(&sd->vmm, o->handle);

	if (!err)
		shared_add(&sd->rec->stream_waits, 1);
	return err;
}

static bool is_lack_of_memory(int err)
{
	return err == -ENOMEM || err == -EDQUOT;
}

/* What others have, and the stream of @o would have to wait for. How many. */
static u32 get_by_waiting(struct class *c, slot_t *to, u32 most,
			  const struct order *o)
{
	int n = class_is_debugged(c) ? 0 : (int)pending_adopt(c, o, to, most);

	if (n || order_is_bound(o))
		return (u32)n;
	n = class_get(c, to, 1, most, GET_NO_GROW);
	if (n <= 0 || !order_after_bound(c->sd, o))
		return n < 0 ? 0 : (u32)n;
	class_put(c, to, (u32)n, c->sd->domain);
	return 0;
}

/* Without a stream memory is handed out to whom no stream can wait for. */
static bool is_for_cpu(const struct slabdev *sd)
{
	return !sd->stream || sd->host_order;
}

int order_get(struct class *c, slot_t *to, u32 least, u32 most,
	      unsigned int flags, const struct order *o)
{
	char text[ERROR_TEXT_MAX];
	u32 got;
	int n;

	if (!order_is_bound(o)) {
		flags |= GET_QUIET;
		pending_notice_capture(c->sd, o->handle);
	}
	if (!(READ_ONCE(c->sd->policy_flags) & SLABDEV_POLICY_STREAM_WAITS) ||
	    (order_is_bound(o) && is_for_cpu(c->sd)) ||
	    READ_ONCE(c->sd->streams.nr_captures))
		return class_get(c, to, least, most, flags);
	error_save(text);
	n = class_get(c, to, least, most, flags | GET_NO_WAIT | GET_NO_REPORT);
	if (n >= 0 || !is_lack_of_memory(n))
		return n;
	got = get_by_waiting(c, to, most, o);
	if (!got)
		return class_get(c, to, least, most, flags);
	error_restore(text);
	return (int)got;
}

int order_get_one(struct heap *own, struct class *c, unsigned int flags,
		  const struct order *o, slot_t *slot)
{
	struct heap *h = heap_for(own, o);
	struct bin *b;
	int n;

	if (!h) {
		n = order_get(c, slot, 1, 1, flags, o);
		return n < 0 ? n : 1;
	}
	b = heap_bin(h, c);
	if (b && sheaf_pop(h, b, slot))
		return 0;
	return heap_alloc_slow(h, c, flags, slot);
}
