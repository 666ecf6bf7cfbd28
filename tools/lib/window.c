// SPDX-License-Identifier: BSD-2-Clause
/*
 * window.c - the counters and records of one window of 128 class numbers.
 *
 * When a thread ends, the process moves its counters from the thread's block
 * to the retired ones of the window. A reader in between would miss them or
 * count them twice, so fold_seq is odd meanwhile and differs afterwards: a sum
 * counts only between two equal, even readings. A process that ends threads
 * all the time, or was stopped in the middle of it, cannot keep us: after a
 * bounded number of tries the last sum is used and called torn.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "live.h"
#include "window.h"

/* Tries without a pause, then with pauses that double: 0.2 s altogether. */
#define EAGER_TRIES 20
#define MOST_TRIES 50
#define FIRST_PAUSE_NS 50000
#define LONGEST_PAUSE_NS 10000000

_Static_assert(sizeof(struct slabdev_seg_class) % 8 == 0, "copied by words");

static void add_live(uint64_t *to, const uint64_t *from, bool *overflow)
{
	add_saturated(to, live_u64(from), overflow);
}

static void add_counters(struct window *w, unsigned int i,
			 const struct slabdev_seg_counters *from)
{
	/* Frees first: what is freed meanwhile by this thread counts as live.
	 * When another thread frees it, the sum may see the free alone;
	 * slabdev_seg_figures() then counts 0. */
	add_live(&w->sum[i].frees, &from->frees, &w->overflow);
	add_live(&w->sum[i].free_bytes, &from->free_bytes, &w->overflow);
	add_live(&w->sum[i].allocs, &from->allocs, &w->overflow);
	add_live(&w->sum[i].alloc_bytes, &from->alloc_bytes, &w->overflow);
}

static void add_all(struct window *w, const struct slabdev_seg_counters *from)
{
	unsigned int i;

	for (i = 0; i < SLABDEV_SEG_WINDOW; i++)
		add_counters(w, i, &from[i]);
}

static void sum_once(struct window *w, const struct segment *classes,
		     const struct segment *threads, size_t nr_threads)
{
	const struct slabdev_seg_window *body = segment_body(classes);
	size_t i, b;

	memset(w, 0, sizeof(*w));
	add_all(w, body->retired);
	for (i = 0; i < nr_threads; i++) {
		const struct slabdev_seg_thread *block =
			segment_body(&threads[i]);

		for (b = 0; b < SLABDEV_SEG_THREADS_PER_SEGMENT; b++) {
			if (live_acquire_u32(&block[b].state) ==
			    SLABDEV_SEG_USED &&
			    live_u32(&block[b].window) == classes->head.index)
				add_all(w, block[b].c);
		}
	}
}

/* The writer may need its turn on this very processor. */
static void pause_before(unsigned int try)
{
	struct timespec pause = { .tv_nsec = LONGEST_PAUSE_NS };

	if (try < EAGER_TRIES)
		return;
	if (try < EAGER_TRIES + 8)
		pause.tv_nsec = FIRST_PAUSE_NS << (try - EAGER_TRIES);
	nanosleep(&pause, NULL);
}

void window_sum(struct window *w, const struct segment *classes,
		const struct segment *threads, size_t nr_threads, bool patient)
{
	const struct slabdev_seg_header *head = classes->data;
	unsigned int most = patient ? MOST_TRIES : EAGER_TRIES, try;
	uint32_t seq;

	for (try = 0; try < most; try++) {
		pause_before(try);
		seq = live_acquire_u32(&head->fold_seq);
		if (seq & 1)
			continue;
		sum_once(w, classes, threads, nr_threads);
		if (live_recheck_u32(&head->fold_seq) == seq)
			return;
	}
	sum_once(w, classes, threads, nr_threads);
	w->torn = true;
}

int window_record(struct slabdev_seg_class *rec, const struct segment *classes,
		  unsigned int i)
{
	const struct slabdev_seg_window *body = segment_body(classes);
	const struct slabdev_seg_class *from = &body->cls[i];
	unsigned int try;
	uint32_t state, generation;

	for (try = 0; try < EAGER_TRIES; try++) {
		state = live_acquire_u32(&from->state);
		if (state == SLABDEV_SEG_FREE)
			return 0;
		if (state != SLABDEV_SEG_USED)
			return -EINVAL;
		generation = live_u32(&from->generation);
		live_copy(rec, from, sizeof(*rec));
		if (live_recheck_u32(&from->generation) == generation &&
		    live_u32(&from->state) == SLABDEV_SEG_USED) {
			rec->state = state;
			return 1;
		}
	}
	return -EAGAIN;
}
