// SPDX-License-Identifier: BSD-2-Clause
/*
 * account.c - the numbers of a space, from its files.
 *
 * What the process says about itself is checked before anything is computed
 * from it: a record whose products do not fit 64 bits, or whose objects do not
 * fit its slab, is left out. The sums saturate. Mapped bytes that no figure
 * claims are "in flight", with their sign; nothing is adjusted to make the
 * figures agree.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"
#include "backend_ops.h"
#include "live.h"
#include "memory.h"
#include "origin.h"
#include "text.h"
#include "window.h"

_Static_assert(sizeof(struct slabdev_seg_space) % 8 == 0, "copied by words");

/* What the steps below have in common. */
struct reading {
	struct space *space;
	struct problems *problems;
	const struct segment *windows;
	size_t nr_windows;
	const struct segment *threads;
	size_t nr_threads;
	bool torn;
};

#define wrong(r, fmt, ...) \
	do { \
		(r)->space->complete = false; \
		problem_add((r)->problems, (r)->space->pid, \
			    "space number %" PRIu64 ": " fmt, \
			    (r)->space->open_id, ##__VA_ARGS__); \
	} while (0)

/* Ends @text, which may come without a zero; false when it did. */
static bool terminate(char *text, size_t size)
{
	if (memchr(text, '\0', size))
		return true;
	text[size - 1] = '\0';
	return false;
}

static int read_record(struct reading *r, const struct segment *seg)
{
	struct slabdev_seg_space *rec = &r->space->rec;

	live_copy(rec, segment_body(seg), sizeof(*rec));
	if (rec->state == SLABDEV_SEG_FREE)
		return -ENOENT;
	if (rec->state != SLABDEV_SEG_USED)
		wrong(r, "its state %" PRIu32 " does not exist", rec->state);
	if (!terminate(rec->name, sizeof(rec->name)))
		wrong(r, "its name has no end");
	if (!terminate(rec->spec, sizeof(rec->spec)))
		wrong(r, "its spec has no end");
	if (!terminate(rec->backing, sizeof(rec->backing)))
		wrong(r, "its backing has no end");
	return 0;
}

/* Files are sorted by index, and no index is there twice. */
static void check_files(struct reading *r, const struct segment *segs,
			size_t found, uint32_t expected, const char *what)
{
	size_t i;

	for (i = 0; i < found && segs[i].head.index == i; i++)
		;
	if (i < expected)
		wrong(r, "%s file %zu is missing", what, i);
	if (found && segs[found - 1].head.index >= expected)
		wrong(r, "%s file %" PRIu32 " is one too many: it says it has %"
		      PRIu32, what, segs[found - 1].head.index, expected);
}

static void check_blocks(struct reading *r)
{
	size_t i, b;

	for (i = 0; i < r->nr_threads; i++) {
		const struct slabdev_seg_thread *block =
			segment_body(&r->threads[i]);

		for (b = 0; b < SLABDEV_SEG_THREADS_PER_SEGMENT; b++) {
			uint32_t state = live_acquire_u32(&block[b].state);
			uint32_t window = live_u32(&block[b].window);

			if (state == SLABDEV_SEG_FREE)
				continue;
			if (state != SLABDEV_SEG_USED)
				wrong(r, "a thread's state %" PRIu32
				      " does not exist", state);
			else if (window >= r->space->rec.nr_windows)
				wrong(r, "a thread counts for window %" PRIu32
				      ", which does not exist", window);
		}
	}
}

/* NULL, or what makes @c impossible to compute with. */
static const char *nonsense(const struct slabdev_seg_class *c,
			    const struct slabdev_seg_counters *sum)
{
	uint64_t objects, bytes, live;

	if (c->type == SLABDEV_SEG_LARGE)
		return NULL;
	if (c->type != SLABDEV_SEG_GENERAL && c->type != SLABDEV_SEG_CACHE)
		return "is of a type that does not exist";
	live = sum->allocs > sum->frees ? sum->allocs - sum->frees : 0;
	if (__builtin_mul_overflow(c->slabs, (uint64_t)c->per_slab, &objects) ||
	    __builtin_mul_overflow(objects, c->stride, &bytes) ||
	    __builtin_mul_overflow(live, c->stride, &bytes) ||
	    __builtin_mul_overflow(c->slabs, c->slab_bytes, &bytes))
		return "claims more bytes than 64 bits can count";
	if (__builtin_mul_overflow((uint64_t)c->per_slab, c->stride, &bytes) ||
	    bytes > c->slab_bytes)
		return "has slabs that are smaller than their objects";
	return NULL;
}

static void add_cache(struct reading *r, const struct slabdev_seg_class *rec,
		      const struct slabdev_seg_counters *sum)
{
	struct cache *cache = space_add_cache(r->space);
	bool overflow;	/* shows in the sums of the space as well */

	cache->rec = *rec;
	cache->sum = *sum;
	slabdev_seg_figures(rec, sum, &r->space->rec, &cache->fig);
	cache->memory = rec->type == SLABDEV_SEG_LARGE ?
			r->space->rec.large_bytes :
			rec->slabs * rec->slab_bytes;
	cache->loss = cache->fig.rounding;
	add_saturated(&cache->loss, cache->fig.cached, &overflow);
	add_saturated(&cache->loss, cache->fig.slack, &overflow);
	add_saturated(&cache->loss, cache->fig.pending, &overflow);
}

static void add_ops(struct slabdev_seg_counters *to,
		    const struct slabdev_seg_counters *from, bool *overflow)
{
	add_saturated(&to->allocs, from->allocs, overflow);
	add_saturated(&to->frees, from->frees, overflow);
	add_saturated(&to->alloc_bytes, from->alloc_bytes, overflow);
	add_saturated(&to->free_bytes, from->free_bytes, overflow);
}

/* Caches that are gone: the window has told of an overflow. */
static void add_gone(struct reading *r, const struct segment *seg,
		     unsigned int i, const struct slabdev_seg_counters *sum)
{
	const struct slabdev_seg_window *body = segment_body(seg);
	struct counts *n = &r->space->counts;
	bool overflow;

	add_ops(&n->ops, sum, &overflow);
	add_saturated(&n->refills, live_u64(&body->cls[i].refills), &overflow);
	add_saturated(&n->flushes, live_u64(&body->cls[i].flushes), &overflow);
}

static void read_class(struct reading *r, const struct segment *seg,
		       unsigned int i, const struct window *w)
{
	uint64_t number = (uint64_t)seg->head.index * SLABDEV_SEG_WINDOW + i;
	struct slabdev_seg_class rec;
	int in_use = window_record(&rec, seg, i);
	const char *why;

	if (!in_use) {
		add_gone(r, seg, i, &w->sum[i]);
		return;
	}
	if (in_use == -EAGAIN) {
		wrong(r, "class %" PRIu64 " changes too fast", number);
		return;
	}
	if (in_use < 0) {
		wrong(r, "class %" PRIu64 " has a state that does not exist",
		      number);
		return;
	}
	why = nonsense(&rec, &w->sum[i]);
	if (why) {
		wrong(r, "class %" PRIu64 " %s", number, why);
		return;
	}
	if (!terminate(rec.name, sizeof(rec.name)))
		wrong(r, "the name of class %" PRIu64 " has no end", number);
	add_cache(r, &rec, &w->sum[i]);
}

static void read_window(struct reading *r, const struct segment *seg)
{
	struct window w;
	unsigned int i;

	window_sum(&w, seg, r->threads, r->nr_threads, !r->torn);
	r->torn |= w.torn;
	if (w.torn)
		wrong(r, "window %" PRIu32 " is torn: its counters kept "
		      "changing hands", seg->head.index);
	if (w.overflow)
		wrong(r, "window %" PRIu32 " has counters that overflow",
		      seg->head.index);
	for (i = 0; i < SLABDEV_SEG_WINDOW; i++)
		read_class(r, seg, i, &w);
}

/* Then as in the files, so that it is the later one that goes. */
static int compare_names(const void *a, const void *b)
{
	const struct cache *x = *(const struct cache *const *)a;
	const struct cache *y = *(const struct cache *const *)b;
	int order = strcmp(x->rec.name, y->rec.name);

	if (!order)
		order = (x->rec.type > y->rec.type) -
			(x->rec.type < y->rec.type);
	return order ? order : (x > y) - (x < y);
}

static bool is_twin(const struct cache *a, const struct cache *b)
{
	return a->rec.type == b->rec.type && !strcmp(a->rec.name, b->rec.name);
}

/*
 * Caches are told apart by name and type, and a collector refuses all that it
 * is given when two are the same. The library makes no twins; a cache that is
 * destroyed and made anew elsewhere while we look can seem to be two.
 */
static void drop_twins(struct reading *r)
{
	struct space *s = r->space;
	struct cache **sorted = zalloc((s->nr_caches + 1) *
				       sizeof(struct cache *));
	size_t i, nr = 0;

	for (i = 0; i < s->nr_caches; i++)
		sorted[i] = &s->caches[i];
	qsort(sorted, s->nr_caches, sizeof(struct cache *), compare_names);
	for (i = s->nr_caches; i-- > 1; )
		if (is_twin(sorted[i - 1], sorted[i])) {
			wrong(r, "two classes are called %s",
			      escaped(sorted[i]->rec.name).text);
			sorted[i]->rec.state = SLABDEV_SEG_FREE;
		}
	for (i = 0; i < s->nr_caches; i++)
		if (s->caches[i].rec.state == SLABDEV_SEG_USED)
			s->caches[nr++] = s->caches[i];
	s->nr_caches = nr;
	free(sorted);
}

static void sum_calls(struct counts *n, const struct slabdev_seg_vmm *vmm,
		      bool *overflow)
{
	unsigned int op;

	for (op = 0; op < NR_MANAGEMENT_OPS; op++) {
		add_saturated(&n->backend_calls, vmm->calls[op], overflow);
		add_saturated(&n->backend_fails, vmm->fails[op], overflow);
	}
}

static void sum_caches(struct space *space, bool *overflow)
{
	struct account *b = &space->bytes;
	struct counts *n = &space->counts;
	size_t i;

	for (i = 0; i < space->nr_caches; i++) {
		const struct cache *c = &space->caches[i];

		add_saturated(&b->live, c->fig.live, overflow);
		add_saturated(&b->rounding, c->fig.rounding, overflow);
		add_saturated(&b->cached, c->fig.cached, overflow);
		add_saturated(&b->slack, c->fig.slack, overflow);
		add_saturated(&b->pending, c->fig.pending, overflow);
		add_saturated(&n->live_objects, c->fig.live_objects, overflow);
		add_saturated(&n->cached_objects, c->fig.cached_objects,
			      overflow);
		add_ops(&n->ops, &c->sum, overflow);
		add_saturated(&n->refills, c->rec.refills, overflow);
		add_saturated(&n->flushes, c->rec.flushes, overflow);
	}
}

/* Mapped less everything else, as far as it fits. */
static void find_in_flight(struct account *b, bool *overflow)
{
	uint64_t claimed = 0;

	add_saturated(&claimed, b->live, overflow);
	add_saturated(&claimed, b->cached, overflow);
	add_saturated(&claimed, b->pending, overflow);
	add_saturated(&claimed, b->retained, overflow);
	add_saturated(&claimed, b->rounding, overflow);
	add_saturated(&claimed, b->slack, overflow);
	add_saturated(&claimed, b->lost, overflow);
	if (__builtin_sub_overflow(b->mapped, claimed, &b->in_flight)) {
		b->in_flight = b->mapped > claimed ? INT64_MAX : INT64_MIN;
		*overflow = true;
	}
}

static void add_up(struct reading *r)
{
	const struct slabdev_seg_space *rec = &r->space->rec;
	struct account *b = &r->space->bytes;
	bool overflow = false;

	b->mapped = rec->vmm.created;
	b->lost = rec->vmm.lost;
	b->retained = rec->pool_free;
	add_saturated(&b->retained, rec->vmm.idle, &overflow);
	b->live = rec->arena_bytes;
	sum_caches(r->space, &overflow);
	sum_calls(&r->space->counts, &rec->vmm, &overflow);
	find_in_flight(b, &overflow);
	if (overflow)
		wrong(r, "its figures overflow");
}

/* The first of @segs from @i on that is not of @kind. */
static size_t skip_kind(const struct segment *segs, size_t i, size_t nr,
			uint32_t kind)
{
	while (i < nr && segs[i].head.kind == kind)
		i++;
	return i;
}

int account_space(struct space *space, const struct segment *segs, size_t nr,
		  struct problems *problems)
{
	struct reading r = { .space = space, .problems = problems };
	size_t spaces, windows, threads, i;
	int err;

	spaces = skip_kind(segs, 0, nr, SLABDEV_SEG_SPACE);
	windows = skip_kind(segs, spaces, nr, SLABDEV_SEG_CLASSES);
	r.windows = segs + spaces;
	r.nr_windows = windows - spaces;
	threads = skip_kind(segs, windows, nr, SLABDEV_SEG_THREADS);
	r.threads = segs + windows;
	r.nr_threads = threads - windows;
	space->complete = true;
	if (!spaces) {
		wrong(&r, "the file of the space itself is missing");
		return -ENOENT;
	}
	err = read_record(&r, segs);
	if (err)
		return err;
	check_files(&r, r.windows, r.nr_windows, space->rec.nr_windows,
		    "window");
	check_files(&r, r.threads, r.nr_threads, space->rec.nr_thread_segments,
		    "thread");
	check_files(&r, segs + threads, nr - threads,
		    space->rec.nr_trace_segments, "trace");
	check_blocks(&r);
	for (i = 0; i < r.nr_windows; i++)
		read_window(&r, &r.windows[i]);
	origins_read(space, segs + threads, nr - threads, problems);
	drop_twins(&r);
	add_up(&r);
	return 0;
}
