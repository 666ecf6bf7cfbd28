// SPDX-License-Identifier: BSD-2-Clause
/*
 * heap_life.c - heaps are made, given to streams, and destroyed.
 *
 * A thread has one heap of its own in a space, and behind it a list of heaps
 * for the streams that it allocates on. A heap whose stream is gone stays in
 * that list, and the next stream gets it. Its own heap has the counters and the
 * budget for all of them.
 *
 * Heaps end with their thread or with the space: what the sheaves have goes to
 * everybody first, and the counters last, so that no sum misses what is on its
 * way. The registry lock keeps the one from happening during the other.
 *
 * In the child of a fork only one thread is left. It forgets what sheaves had,
 * its own too, and the heaps of the others: slabs are then rebuilt from the
 * tags (fork.h), for which those objects are free.
 *
 * Locking: heaps lock for the list of heaps, and for whose stream one is, which
 * a thief reads.
 */
#include "slab/heap_private.h"
#include "slab/segment.h"
#include "slab/visit.h"

struct heap heap_none = {
	.key = STREAM_NONE,
	.recent = &heap_none,
	.bins = { heap_none.bin },
	.link = LIST_INIT(heap_none.link),
	.bin = {
		[0 ... CLASS_WINDOW - 1] = { &sheaf_none, &sheaf_none },
	},
};

/* ---- Life ------------------------------------------------------------- */

static void init_bins(struct bin *bins)
{
	u32 i;

	for (i = 0; i < CLASS_WINDOW; i++)
		bins[i] = (struct bin){ &sheaf_none, &sheaf_none };
}

static struct heap *new_heap(struct slabdev *sd, struct thread *t)
{
	struct heap *h = metapool_alloc(&sd->heap_pool);

	if (!h)
		return NULL;
	h->sd = sd;
	h->thread = t;
	h->own = h;
	h->key = STREAM_NONE;
	h->recent = &heap_none;
	h->bins[0] = h->bin;
	init_bins(h->bin);
	list_init(&h->link);
	return h;
}

static struct heap *heap_create(struct slabdev *sd, struct thread *t)
{
	struct heap *h = new_heap(sd, t);

	if (!h)
		return &heap_none;
	change_begin(sd);
	lock_acquire(&sd->heaps_lock);
	h->block[0] = segment_block_get_locked(sd, 0);
	if (h->block[0]) {
		h->count = h->block[0]->c;
		list_add(&h->link, &sd->heaps);
		WRITE_ONCE(sd->rec->nr_threads, sd->rec->nr_threads + 1);
	}
	lock_release(&sd->heaps_lock);
	change_end(sd);
	if (!h->block[0]) {
		metapool_free(&sd->heap_pool, h);
		return &heap_none;
	}
	t->heap[sd->id] = h;
	return h;
}

struct heap *heap_get(struct slabdev *sd)
{
	struct heap *h = thread_self->heap[sd->id];
	struct thread *t;

	if (likely(h != &heap_none))
		return h;
	t = thread_get();
	if (!t)
		return &heap_none;
	return heap_create(sd, t);
}

struct bin *heap_add_window(struct heap *h, u32 window)
{
	struct slabdev *sd = h->sd;
	struct bin *bins = metapool_alloc(&sd->bin_pool);

	if (!bins)
		return NULL;
	init_bins(bins);
	lock_acquire(&sd->heaps_lock);
	/* Its own heap counts for it, or nobody does. */
	if (h == h->own)
		h->block[window] = segment_block_get_locked(sd, window);
	if (h != h->own || h->block[window])
		h->bins[window] = bins;
	lock_release(&sd->heaps_lock);
	if (!h->bins[window]) {
		metapool_free(&sd->bin_pool, bins);
		return NULL;
	}
	return bins;
}

/* ---- Heaps for streams -------------------------------------------------- */

/* The thread's heap of that stream, or one that no stream has; NULL. */
static struct heap *find_heap(struct heap *own, const struct stream *st)
{
	struct heap *h;

	for (h = own->next; h; h = h->next)
		if (h->stream == st)
			return h;
	return NULL;
}

static struct heap *bind_heap(struct heap *own, struct stream *st)
{
	struct slabdev *sd = own->sd;
	struct heap *h = find_heap(own, NULL), *made = NULL;

	if (!h)
		h = made = new_heap(sd, own->thread);
	if (!h)
		return NULL;
	lock_acquire(&sd->heaps_lock);
	h->stream = st;
	WRITE_ONCE(h->key, st->handle);
	if (made) {
		made->own = own;
		made->next = own->next;
		WRITE_ONCE(own->next, made);
	}
	lock_release(&sd->heaps_lock);
	return h;
}

struct heap *heap_of_stream(struct heap *own, struct stream *st)
{
	struct heap *h;

	if (own == &heap_none)
		return NULL;
	h = find_heap(own, st);
	if (!h)
		h = bind_heap(own, st);
	if (h)
		own->recent = h;
	return h;
}

void heap_release_stream(struct slabdev *sd, const struct stream *st)
{
	struct heap *own, *h;

	lock_acquire(&sd->heaps_lock);
	list_for_each_entry(own, &sd->heaps, link)
		for (h = own->next; h; h = h->next)
			if (h->stream == st) {
				WRITE_ONCE(h->key, STREAM_NONE);
				h->stream = NULL;
			}
	lock_release(&sd->heaps_lock);
}

/* ---- The end ---------------------------------------------------------- */

static void free_sheaf_list(struct heap *h, struct sheaf *s)
{
	struct sheaf *next;

	for (; s; s = next) {
		next = s->next;
		discard(h, s);
	}
}

/* Give up everything; the owner is the caller, or is gone. */
static void heap_empty(struct heap *h)
{
	u32 window, i;

	for (window = 0; window < NR_WINDOWS; window++) {
		struct bin *bins = h->bins[window];

		for (i = 0; bins && i < CLASS_WINDOW; i++) {
			discard(h, bin_take(&bins[i].main));
			discard(h, bin_take(&bins[i].spare));
		}
	}
}

static void free_bins(struct heap *h)
{
	u32 window;

	for (window = 1; window < NR_WINDOWS; window++)
		if (h->bins[window])
			metapool_free(&h->sd->bin_pool, h->bins[window]);
}

/* The heap for a stream, of a thread that ends or a space that closes. */
static void destroy_stream_heap(struct heap *own, struct heap *h)
{
	struct slabdev *sd = own->sd;
	struct sheaf *stolen;

	heap_empty(h);
	lock_acquire(&sd->heaps_lock);
	stolen = h->stolen;
	own->next = h->next;
	lock_release(&sd->heaps_lock);
	free_sheaf_list(h, stolen);
	free_bins(h);
	metapool_free(&sd->heap_pool, h);
}

static void heap_destroy(struct heap *h)
{
	struct slabdev *sd = h->sd;
	u32 side = visit_begin(sd), window;
	struct sheaf *stolen;

	change_begin(sd);
	while (h->next)
		destroy_stream_heap(h, h->next);
	heap_empty(h);
	lock_acquire(&sd->heaps_lock);
	stolen = h->stolen;
	h->stolen = NULL;
	list_del(&h->link);
	for (window = 0; window < NR_WINDOWS; window++)
		if (h->block[window] && window)
			segment_block_put_locked(sd, h->block[window]);
	WRITE_ONCE(sd->rec->nr_threads, sd->rec->nr_threads - 1);
	lock_release(&sd->heaps_lock);
	free_sheaf_list(h, stolen);
	visit_end(sd, side);
	lock_acquire(&sd->heaps_lock);
	segment_block_put_locked(sd, h->block[0]);
	lock_release(&sd->heaps_lock);
	change_end(sd);
	h->thread->heap[sd->id] = &heap_none;
	free_bins(h);
	metapool_free(&sd->heap_pool, h);
}

/* Called with the registry lock held, so that no space closes meanwhile. */
void heap_thread_exit(struct thread *t)
{
	u32 i;

	t->ending = true;
	for (i = 0; i < SPACE_MAX; i++)
		if (t->heap[i] != &heap_none)
			heap_destroy(t->heap[i]);
	t->ending = false;
}

/* Called with the registry lock held, so that no thread exits meanwhile. */
void heap_detach_all(struct slabdev *sd)
{
	struct heap *h;

	list_for_each_entry_safe(h, &sd->heaps, link)
		heap_destroy(h);
}

/* ---- After a fork ----------------------------------------------------- */

/* The forking thread keeps its own heap's sheaves, empty. No stream is here. */
static void forget_sheaves(struct heap *h)
{
	struct sheaf *s;
	u32 window, i;

	for (window = 0; window < NR_WINDOWS; window++) {
		struct bin *bins = h->bins[window];

		for (i = 0; bins && i < CLASS_WINDOW; i++) {
			if (bins[i].main != &sheaf_none)
				bins[i].main->n = 0;
			if (bins[i].spare != &sheaf_none)
				bins[i].spare->n = 0;
		}
	}
	for (s = h->stolen; s; s = s->next)
		heap_uncharge(h, s);
	h->stolen = NULL;
}

static void forget_stream_heaps(struct heap *own)
{
	struct heap *h;

	for (h = own->next; h; h = h->next) {
		forget_sheaves(h);
		h->key = STREAM_NONE;
		h->stream = NULL;
	}
	own->recent = &heap_none;
}

static void forget_heap_locked(struct slabdev *sd, struct heap *h)
{
	u32 window;

	list_del(&h->link);
	for (window = 0; window < NR_WINDOWS; window++)
		if (h->block[window])
			segment_block_put_locked(sd, h->block[window]);
	WRITE_ONCE(sd->rec->nr_threads, sd->rec->nr_threads - 1);
}

void heap_forget_all(struct slabdev *sd)
{
	struct heap *h;
	u64 charged = 0;

	list_for_each_entry_safe(h, &sd->heaps, link) {
		if (h == thread_self->heap[sd->id]) {
			forget_stream_heaps(h);
			forget_sheaves(h);
			charged = h->charged;
		} else {
			forget_heap_locked(sd, h);
		}
	}
	/* Others may have charged one sum and not yet the other. */
	WRITE_ONCE(sd->charged, charged);
}

void heap_abandon(struct slabdev *sd)
{
	struct heap *h = thread_self->heap[sd->id];

	if (h == &heap_none)
		return;
	list_del(&h->link);
	thread_self->heap[sd->id] = &heap_none;
}
