// SPDX-License-Identifier: BSD-2-Clause
/* segment.c - memory for counters, thread blocks, folding; see segment.h. */
#include <errno.h>
#include <string.h>

#include "core/bitmap.h"
#include "core/log.h"
#include "core/os.h"
#include "core/overflow.h"
#include "slab/publish.h"
#include "slab/segment.h"

/* The vmm writes its counters into the space's record. */
static_assert(sizeof(struct slabdev_seg_vmm) == sizeof(struct vmm_counters),
	      "same counters, same order");
static_assert(SLABDEV_SEG_NR_OPS == VMM_NR_OPS, "same operations");
static_assert(offsetof(struct slabdev_seg_vmm, limit) ==
	      offsetof(struct vmm_counters, limit), "same order");

static size_t segment_size(u32 nr_records, size_t record_size)
{
	return align_up(sizeof(struct slabdev_seg_header) +
			nr_records * record_size, os_page_size());
}

static int map_segment(struct slabdev *sd, struct segment *g)
{
	int fd = sd->publish ? publish_segment(g->size, &g->addr) : -1;
	int err;

	g->file = os_file_of(fd);
	if (g->file.fd >= 0)
		return 0;
	sd->publish_err = fd;
	err = os_reserve(g->size, &g->addr);
	if (err)
		return err;
	err = os_commit(g->addr, g->size);
	if (err)
		os_unreserve(g->addr, g->size);
	return err;
}

static void write_header(struct slabdev *sd, struct slabdev_seg_header *h,
			 u32 kind, u32 index, u32 nr, size_t record_size,
			 size_t size)
{
	h->version = SLABDEV_SEG_VERSION;
	h->kind = kind;
	h->size = size;
	h->start_time = os_start_time();
	h->open_id = sd->open_id;
	h->pid = (u32)sd->pid;
	h->index = index;
	h->nr_records = nr;
	h->record_size = (u32)record_size;
	/* The magic last: a reader that sees it sees the rest. */
	store_release(&h->magic, SLABDEV_SEG_MAGIC);
}

/* The records of a new segment, zeroed; NULL: no host memory. */
static void *segment_new_locked(struct slabdev *sd, u32 kind, u32 index, u32 nr,
				size_t record_size)
{
	struct segment *g = &sd->segment[sd->nr_segments];
	int err = -ENFILE;

	if (sd->nr_segments < SEGMENT_MAX) {
		g->size = segment_size(nr, record_size);
		err = map_segment(sd, g);
	}
	if (err) {
		error_set(-ENOMEM, "no host memory for statistics of space %s",
			  sd->name);
		return NULL;
	}
	write_header(sd, g->addr, kind, index, nr, record_size, g->size);
	sd->nr_segments++;
	return (char *)g->addr + sizeof(struct slabdev_seg_header);
}

static void segment_free(struct segment *g)
{
	os_unmap(g->addr, g->size);
	os_file_close(&g->file);
}

static void segment_drop_copy(struct segment *g)
{
	if (g->copy)
		os_unreserve(g->copy, g->size);
	g->copy = NULL;
}

int segments_init(struct slabdev *sd)
{
	int err = 0;

	lock_acquire(&sd->heaps_lock);
	sd->rec = segment_new_locked(sd, SLABDEV_SEG_SPACE, 0, 1,
				     sizeof(struct slabdev_seg_space));
	if (!sd->rec)
		err = -ENOMEM;
	lock_release(&sd->heaps_lock);
	if (err)
		return err;
	memcpy(sd->rec->name, sd->name, sizeof(sd->name));
	memcpy(sd->rec->spec, sd->spec, sizeof(sd->spec));
	sd->rec->slice_size = SLICE_SIZE;
	err = segment_window(sd, 0);
	if (err)
		segments_fini(sd);
	return err;
}

void segments_fini(struct slabdev *sd)
{
	while (sd->nr_segments)
		segment_free(&sd->segment[--sd->nr_segments]);
	memset(sd->window, 0, sizeof(sd->window));
	sd->rec = NULL;
	memset(sd->block_free, 0, sizeof(sd->block_free));
}

int segment_window(struct slabdev *sd, u32 window)
{
	struct slabdev_seg_window *w;

	lock_acquire(&sd->heaps_lock);
	w = sd->window[window];
	if (!w) {
		w = segment_new_locked(sd, SLABDEV_SEG_CLASSES, window, 1,
				       sizeof(*w));
		store_release(&sd->window[window], w);
		if (w)
			WRITE_ONCE(sd->rec->nr_windows,
				   sd->rec->nr_windows + 1);
	}
	lock_release(&sd->heaps_lock);
	return w ? 0 : -ENOMEM;
}

struct slabdev_seg_traces *segment_traces_locked(struct slabdev *sd)
{
	u32 n = sd->rec->nr_trace_segments;
	struct slabdev_seg_traces *t;

	t = segment_new_locked(sd, SLABDEV_SEG_TRACES, n, 1, sizeof(*t));
	if (t)
		WRITE_ONCE(sd->rec->nr_trace_segments, n + 1);
	return t;
}

/* ---- Thread blocks ---------------------------------------------------- */

static bool more_blocks_locked(struct slabdev *sd)
{
	u32 i, n = sd->rec->nr_thread_segments;

	sd->blocks[n] = segment_new_locked(sd, SLABDEV_SEG_THREADS, n,
					   SLABDEV_SEG_THREADS_PER_SEGMENT,
					   sizeof(struct slabdev_seg_thread));
	if (!sd->blocks[n])
		return false;
	for (i = 0; i < SLABDEV_SEG_THREADS_PER_SEGMENT; i++)
		bitmap_set(sd->block_free,
			   n * SLABDEV_SEG_THREADS_PER_SEGMENT + i);
	WRITE_ONCE(sd->rec->nr_thread_segments, n + 1);
	return true;
}

struct slabdev_seg_thread *segment_block_get_locked(struct slabdev *sd,
						    u32 window)
{
	struct slabdev_seg_thread *b;
	u64 at;

	at = bitmap_next(sd->block_free, BLOCK_MAX, 0);
	if (at == BLOCK_MAX) {
		if (!more_blocks_locked(sd))
			return NULL;
		at = bitmap_next(sd->block_free, BLOCK_MAX, 0);
	}
	bitmap_clear(sd->block_free, at);
	b = &sd->blocks[at / SLABDEV_SEG_THREADS_PER_SEGMENT]
		       [at % SLABDEV_SEG_THREADS_PER_SEGMENT];
	b->window = window;
	b->tid = (u32)os_gettid();
	b->generation++;
	store_release(&b->state, SLABDEV_SEG_USED);
	return b;
}

/* Retired counters are shared with threads that could not have a heap. The
 * release keeps each store behind the odd sequence number. */
static void fold_word(u64 *to, u64 *from)
{
	__atomic_fetch_add(to, *from, __ATOMIC_RELEASE);
	store_release(from, 0);
}

static void fold(struct slabdev_seg_counters *to,
		 struct slabdev_seg_counters *from)
{
	fold_word(&to->allocs, &from->allocs);
	fold_word(&to->frees, &from->frees);
	fold_word(&to->alloc_bytes, &from->alloc_bytes);
	fold_word(&to->free_bytes, &from->free_bytes);
}

static void mark_free_locked(struct slabdev *sd, struct slabdev_seg_thread *b)
{
	u32 n;

	for (n = 0; n < sd->rec->nr_thread_segments; n++) {
		size_t i = (size_t)(b - sd->blocks[n]);

		if (i < SLABDEV_SEG_THREADS_PER_SEGMENT) {
			bitmap_set(sd->block_free,
				   n * SLABDEV_SEG_THREADS_PER_SEGMENT + i);
			return;
		}
	}
}

/* The header in front of a window's records. */
static struct slabdev_seg_header *window_header(struct slabdev_seg_window *w)
{
	return (struct slabdev_seg_header *)(void *)w - 1;
}

void segment_block_put_locked(struct slabdev *sd, struct slabdev_seg_thread *b)
{
	struct slabdev_seg_window *w = sd->window[b->window];
	u32 *seq = &window_header(w)->fold_seq;
	u32 i;

	/* Odd while counters move; pairs with the reader's two looks. */
	WRITE_ONCE(*seq, *seq + 1);
	for (i = 0; i < SLABDEV_SEG_WINDOW; i++)
		fold(&w->retired[i], &b->c[i]);
	store_release(&b->state, SLABDEV_SEG_FREE);
	store_release(&b->sheaf_bytes, 0);
	store_release(seq, *seq + 1);
	mark_free_locked(sd, b);
}

/* ---- Sums ------------------------------------------------------------- */

static struct slabdev_seg_thread *block_at(struct slabdev *sd, u32 i)
{
	return &sd->blocks[i / SLABDEV_SEG_THREADS_PER_SEGMENT]
			  [i % SLABDEV_SEG_THREADS_PER_SEGMENT];
}

static u32 nr_blocks_locked(const struct slabdev *sd)
{
	return sd->rec->nr_thread_segments * SLABDEV_SEG_THREADS_PER_SEGMENT;
}

static void retire_record(struct slabdev_seg_class *gone,
			  struct slabdev_seg_class *r)
{
	WRITE_ONCE(gone->refills, gone->refills + r->refills);
	WRITE_ONCE(gone->flushes, gone->flushes + r->flushes);
	WRITE_ONCE(r->refills, 0);
	WRITE_ONCE(r->flushes, 0);
	WRITE_ONCE(r->slab_allocs, 0);
	WRITE_ONCE(r->slab_frees, 0);
	WRITE_ONCE(r->failed, 0);
	WRITE_ONCE(r->stolen, 0);
}

void segment_retire_class(struct slabdev *sd, u32 id)
{
	struct slabdev_seg_counters *gone = &sd->window[0]->retired[GONE_CLASS];
	u32 window = id / CLASS_WINDOW, at = id % CLASS_WINDOW, i;
	u32 *seq[2] = { &window_header(sd->window[0])->fold_seq,
			&window_header(sd->window[window])->fold_seq };

	lock_acquire(&sd->heaps_lock);
	WRITE_ONCE(*seq[0], *seq[0] + 1);
	if (window)
		WRITE_ONCE(*seq[1], *seq[1] + 1);
	fold(gone, &sd->window[window]->retired[at]);
	retire_record(&sd->window[0]->cls[GONE_CLASS],
		      &sd->window[window]->cls[at]);
	for (i = 0; i < nr_blocks_locked(sd); i++)
		if (block_at(sd, i)->window == window)
			fold(gone, &block_at(sd, i)->c[at]);
	store_release(seq[0], *seq[0] + 1);
	if (window)
		store_release(seq[1], *seq[1] + 1);
	lock_release(&sd->heaps_lock);
}

static void add_counters(struct slabdev_seg_counters *to,
			 const struct slabdev_seg_counters *from)
{
	/* Frees first: of one thread, an object freed in between is counted
	 * as live, not as freed before it was allocated. Across threads both
	 * can happen; slabdev_seg_figures() does not go below 0. */
	to->frees += READ_ONCE(from->frees);
	to->free_bytes += READ_ONCE(from->free_bytes);
	to->allocs += READ_ONCE(from->allocs);
	to->alloc_bytes += READ_ONCE(from->alloc_bytes);
}

void segment_sum(struct slabdev *sd, u32 window,
		 struct slabdev_seg_counters sum[SLABDEV_SEG_WINDOW])
{
	u32 i, n;

	memset(sum, 0, sizeof(*sum) * SLABDEV_SEG_WINDOW);
	lock_acquire(&sd->heaps_lock);
	for (n = 0; sd->window[window] && n < SLABDEV_SEG_WINDOW; n++)
		add_counters(&sum[n], &sd->window[window]->retired[n]);
	for (i = 0; i < nr_blocks_locked(sd); i++) {
		struct slabdev_seg_thread *b = block_at(sd, i);

		if (b->state != SLABDEV_SEG_USED || b->window != window)
			continue;
		for (n = 0; n < SLABDEV_SEG_WINDOW; n++)
			add_counters(&sum[n], &b->c[n]);
	}
	lock_release(&sd->heaps_lock);
}

/* ---- Around a fork ---------------------------------------------------- */

/*
 * The parent goes on counting in the shared pages while the child starts, so
 * the child's copy is made before there is a child.
 */
static void copy_segment(struct segment *g)
{
	if (os_reserve(g->size, &g->copy)) {
		g->copy = NULL;
		return;
	}
	if (os_commit(g->copy, g->size)) {
		segment_drop_copy(g);
		return;
	}
	memcpy(g->copy, g->addr, g->size);
}

void segments_before_fork(struct slabdev *sd)
{
	u32 i;

	for (i = 0; i < sd->nr_segments; i++)
		copy_segment(&sd->segment[i]);
}

void segments_in_parent(struct slabdev *sd)
{
	u32 i;

	for (i = 0; i < sd->nr_segments; i++)
		segment_drop_copy(&sd->segment[i]);
}

static void stamp(struct slabdev *sd, struct slabdev_seg_header *h)
{
	h->pid = (u32)sd->pid;
	h->start_time = os_start_time();
}

/*
 * A segment of the child's own; where memfds are refused now, the copy itself,
 * which needs nothing more.
 */
static int replace_segment(struct slabdev *sd, struct segment *g)
{
	struct segment own = { .size = g->size };
	int err;

	if (!g->copy)
		return -ENOMEM;
	if (map_segment(sd, &own) || !own.addr)
		own = (struct segment){ g->copy, g->size, OS_FILE_INIT, NULL };
	else
		memcpy(own.addr, g->copy, g->size);
	stamp(sd, own.addr);
	err = os_move(own.addr, g->addr, g->size);
	if (err && own.addr != g->copy)
		segment_free(&own);
	if (err)
		return err;
	if (own.addr == g->copy)
		g->copy = NULL;
	segment_drop_copy(g);
	os_file_close(&g->file);
	g->file = own.file;
	return 0;
}

int segments_in_child(struct slabdev *sd)
{
	u32 i;
	int err = 0;

	for (i = 0; i < sd->nr_segments && !err; i++)
		err = replace_segment(sd, &sd->segment[i]);
	return err;
}

void segments_privatize(struct slabdev *sd)
{
	u32 i;

	for (i = 0; i < sd->nr_segments; i++)
		(void)os_privatize(sd->segment[i].addr, sd->segment[i].size);
}

/* Everything ever freed stays counted, as allocated and as freed. */
static void settle(struct slabdev_seg_counters *retired,
		   const struct slabdev_seg_counters *sum)
{
	WRITE_ONCE(retired->allocs, sum->frees);
	WRITE_ONCE(retired->frees, sum->frees);
	WRITE_ONCE(retired->alloc_bytes, sum->free_bytes);
	WRITE_ONCE(retired->free_bytes, sum->free_bytes);
}

void segments_settle(struct slabdev *sd)
{
	struct slabdev_seg_counters sum[SLABDEV_SEG_WINDOW];
	u32 window, i;

	for (window = 0; window < NR_WINDOWS; window++) {
		if (!sd->window[window])
			continue;
		segment_sum(sd, window, sum);
		for (i = 0; i < SLABDEV_SEG_WINDOW; i++)
			settle(&sd->window[window]->retired[i], &sum[i]);
	}
	for (i = 0; i < nr_blocks_locked(sd); i++)
		memset(block_at(sd, i)->c, 0, sizeof(block_at(sd, i)->c));
}
