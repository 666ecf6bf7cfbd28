// SPDX-License-Identifier: BSD-2-Clause
/*
 * range.c - a set of integers, handed out in runs.
 *
 * 1. Runs. The integers 0 .. end-1 are cut into runs, each marked by one bit
 *    in heads[] where it begins; one more bit at `end` closes the last. A run
 *    is free, or allocated, or *outside* (never added, or removed). A free one
 *    has its bit in is_free[] too, and its length at both ends; two are never
 *    adjacent, range_free() merges them. The node of an allocation has a length
 *    that is not 0 and says no more; that of an outside run has length 0.
 *
 *        heads    1 . . . 1 . 1 1 . . . . 1
 *        is_free  0 . . . 1 . 0 0 . . . . 0
 *        len      4 . . . 2 2 1 0 . . . .
 *                 alloc   free a outside  end
 *
 * 2. Boundary tags. The first and the last node of a free run carry its
 *    length. The node before an integer may be stale, from a run that is gone;
 *    it is believed only when the run that it points back to is a free one of
 *    that length now, which is true exactly if it ends there.
 *
 * 3. Bins. Lengths below 16 have a bin each, longer ones eight to a doubling,
 *    so a bin holds lengths [b, b * 9/8). A search for n begins where every run
 *    is at least n long; the bin of n itself also holds shorter runs if n is
 *    not its lower bound, and is searched for a limited number of steps before
 *    (a close fit spares a longer run), and in full when all else failed. In a
 *    random replacement of mixed lengths those steps save some 5 % of the
 *    integers; more of them save nothing.
 *
 * 4. Low integers first. A bin is a list sorted by position as far as is
 *    cheap: a run looks for its place among the first SORT_STEPS, and goes to
 *    the end when it belongs behind them. What is taken, the head, is then the
 *    lowest or nearly so, and the high end of the range empties by itself.
 *    Sorting in full keeps no more of it empty than that; first fit over all
 *    lengths, which lets long runs be cut up, keeps less.
 *
 * Limits: 2^26 integers are tested, 2^31 would work. Everything is O(1) but
 * what asks from the middle of a run (range_head(), range_has() and the like)
 * or for the length of an allocation, a word scan of 64 integers a step, and
 * the last resort of range_alloc().
 */
#include <errno.h>

#include "core/bitmap.h"
#include "core/overflow.h"
#include "core/range.h"

#define NODE_STEP (64 * KIB)
#define BITS_STEP (4 * KIB)

#define SORT_STEPS 8
#define FIT_STEPS 8

static struct range_node *node(const struct range *r, u32 i)
{
	return (struct range_node *)(void *)r->nodes.base + i;
}

static u64 *heads(const struct range *r)
{
	return (u64 *)(void *)r->heads.base;
}

static u64 *is_free(const struct range *r)
{
	return (u64 *)(void *)r->is_free.base;
}

/* ---- Bins ------------------------------------------------------------- */

/* The bin that runs of length @n are in. */
static u32 bin_of(u64 n)
{
	unsigned int shift;

	if (n < 8)
		return (u32)n;
	shift = ilog2(n) - 3;
	return shift * 8 + (u32)(n >> shift);
}

/* The first bin in which no run is shorter than @n. */
static u32 bin_certain(u64 n)
{
	u64 up;

	if (n < 8)
		return (u32)n;
	up = n + ((u64)1 << (ilog2(n) - 3)) - 1;
	return bin_of(up);
}

static u32 bin_next(const struct range *r, u32 from)
{
	return (u32)bitmap_next(r->bin_map, RANGE_NR_BINS, from);
}

static void bin_link(struct range *r, u32 bin, u32 run, u32 prev, u32 next)
{
	node(r, run)->prev = prev;
	node(r, run)->next = next;
	if (prev == RANGE_NONE)
		r->bin[bin] = run;
	else
		node(r, prev)->next = run;
	if (next == RANGE_NONE)
		r->bin_tail[bin] = run;
	else
		node(r, next)->prev = run;
}

/* Make [@first, @first + @n) a free run; its head bit is set already. */
static void run_insert(struct range *r, u32 first, u32 n)
{
	u32 bin = bin_of(n);
	u32 prev = RANGE_NONE;
	u32 next = r->bin[bin];
	u32 steps;

	for (steps = 0; next != RANGE_NONE && next < first; steps++) {
		if (steps == SORT_STEPS) {
			prev = r->bin_tail[bin];
			next = RANGE_NONE;
			break;
		}
		prev = next;
		next = node(r, next)->next;
	}
	bin_link(r, bin, first, prev, next);
	bitmap_set(r->bin_map, bin);
	bitmap_set(is_free(r), first);
	node(r, first)->len = n;
	node(r, first + n - 1)->len = n;
	r->nr_free += n;
}

/* The opposite: the run keeps its head bit, and is nobody's. */
static void run_extract(struct range *r, u32 first)
{
	struct range_node *run = node(r, first);
	u32 bin = bin_of(run->len);

	if (run->prev == RANGE_NONE)
		r->bin[bin] = run->next;
	else
		node(r, run->prev)->next = run->next;
	if (run->next == RANGE_NONE)
		r->bin_tail[bin] = run->prev;
	else
		node(r, run->next)->prev = run->prev;
	if (r->bin[bin] == RANGE_NONE)
		bitmap_clear(r->bin_map, bin);
	bitmap_clear(is_free(r), first);
	r->nr_free -= run->len;
}

/* ---- Merging and cutting ---------------------------------------------- */

/* The free run that ends just before @i, or RANGE_NONE. */
static u32 free_run_before(const struct range *r, u32 i)
{
	u32 len, head;

	if (!i)
		return RANGE_NONE;
	len = node(r, i - 1)->len;
	if (!len || len > i)
		return RANGE_NONE;
	head = i - len;
	if (!bitmap_test(is_free(r), head) || node(r, head)->len != len)
		return RANGE_NONE;
	return head;
}

/* [@first, @first + @n), a whole run, becomes free and merges. */
static void run_release(struct range *r, u32 first, u32 n)
{
	u32 before = free_run_before(r, first);
	u32 after = first + n;

	if (bitmap_test(is_free(r), after)) {
		n += node(r, after)->len;
		run_extract(r, after);
		bitmap_clear(heads(r), after);
	}
	if (before != RANGE_NONE) {
		n += node(r, before)->len;
		run_extract(r, before);
		bitmap_clear(heads(r), first);
		first = before;
	}
	run_insert(r, first, n);
}

/* Allocate [@first, @first + @n) out of the free run at @head. */
static void run_carve(struct range *r, u32 head, u32 first, u32 n)
{
	u32 end = head + node(r, head)->len;

	run_extract(r, head);
	node(r, first)->len = n;
	if (first > head) {
		bitmap_set(heads(r), first);
		run_insert(r, head, first - head);
	}
	if (first + n < end) {
		bitmap_set(heads(r), first + n);
		run_insert(r, first + n, end - (first + n));
	}
}

/* ---- Membership ------------------------------------------------------- */

int range_init(struct range *r, u32 max)
{
	int err;

	*r = (struct range){ .max = max };
	for (u32 bin = 0; bin < RANGE_NR_BINS; bin++)
		r->bin[bin] = r->bin_tail[bin] = RANGE_NONE;

	err = resv_init(&r->nodes, (u64)max * sizeof(struct range_node),
			NODE_STEP);
	if (err)
		return err;
	err = resv_init(&r->heads, BITMAP_WORDS((u64)max + 1) * sizeof(u64),
			BITS_STEP);
	if (err)
		goto fini_nodes;
	err = resv_init(&r->is_free, BITMAP_WORDS((u64)max + 1) * sizeof(u64),
			BITS_STEP);
	if (err)
		goto fini_heads;
	return 0;

fini_heads:
	resv_fini(&r->heads);
fini_nodes:
	resv_fini(&r->nodes);
	return err;
}

void range_fini(struct range *r)
{
	resv_fini(&r->is_free);
	resv_fini(&r->heads);
	resv_fini(&r->nodes);
}

int range_grow(struct range *r, u32 n)
{
	u64 bits = BITMAP_WORDS((u64)n + 1) * sizeof(u64);
	int err;

	if (n > r->max)
		return -ENOMEM;
	err = resv_grow(&r->nodes, (u64)n * sizeof(struct range_node));
	if (!err)
		err = resv_grow(&r->heads, bits);
	if (!err)
		err = resv_grow(&r->is_free, bits);
	return err ? -ENOMEM : 0;
}

/* Clear the bits [@first, @end). */
static void clear_bits(u64 *map, u32 first, u32 end)
{
	while (first < end && first % 64)
		bitmap_clear(map, first++);
	for (; end - first >= 64; first += 64)
		map[first / 64] = 0;
	while (first < end)
		bitmap_clear(map, first++);
}

/* An outside run begins at @i, unless it is the end or a run does already. */
static void begin_outside(struct range *r, u32 i)
{
	if (bitmap_test(heads(r), i))
		return;
	bitmap_set(heads(r), i);
	if (i < r->end)
		node(r, i)->len = 0;
}

int range_add(struct range *r, u32 first, u32 n)
{
	int err = range_grow(r, first + n);

	if (err)
		return err;
	/* What was removed piece by piece left heads inside. */
	clear_bits(heads(r), first, first + n);
	bitmap_set(heads(r), first);
	begin_outside(r, first + n);
	r->end = max(r->end, first + n);
	r->nr_total += n;
	run_release(r, first, n);
	return 0;
}

void range_remove(struct range *r, u32 first, u32 n)
{
	if (!range_alloc_at(r, first, n))
		return;
	node(r, first)->len = 0;
	r->nr_total -= n;
}

/* ---- Allocation ------------------------------------------------------- */

/* Where @n integers aligned to @align begin in the free run at @head. */
static u32 place_in(const struct range *r, u32 head, u32 n, u32 align)
{
	u64 first = align_up(head, align);

	if (first + n > (u64)head + node(r, head)->len)
		return RANGE_NONE;
	return (u32)first;
}

/* Look through the first @steps runs of @bin; return the run that fits. */
static u32 search_bin(const struct range *r, u32 bin, u32 n, u32 align,
		      u32 steps)
{
	u32 run = r->bin[bin];

	for (; run != RANGE_NONE && steps; steps--) {
		if (place_in(r, run, n, align) != RANGE_NONE)
			return run;
		run = node(r, run)->next;
	}
	return RANGE_NONE;
}

static u32 find_run(const struct range *r, u32 n, u32 align)
{
	u32 certain = bin_certain((u64)n + align - 1);
	u32 bin, run;

	for (bin = bin_next(r, bin_of(n)); bin < certain;
	     bin = bin_next(r, bin + 1)) {
		run = search_bin(r, bin, n, align, FIT_STEPS);
		if (run != RANGE_NONE)
			return run;
	}
	if (bin < RANGE_NR_BINS)
		return r->bin[bin];
	for (bin = bin_next(r, bin_of(n)); bin < RANGE_NR_BINS;
	     bin = bin_next(r, bin + 1)) {
		run = search_bin(r, bin, n, align, RANGE_NONE);
		if (run != RANGE_NONE)
			return run;
	}
	return RANGE_NONE;
}

u32 range_alloc(struct range *r, u32 n, u32 align)
{
	u32 run, first;

	if (!n || n > r->nr_free)
		return RANGE_NONE;
	run = find_run(r, n, align);
	if (run == RANGE_NONE)
		return RANGE_NONE;
	first = place_in(r, run, n, align);
	run_carve(r, run, first, n);
	return first;
}

bool range_alloc_at(struct range *r, u32 first, u32 n)
{
	u32 run, len;

	if (!n || (u64)first + n > r->end)
		return false;
	/* At the end of a long run, its tag is quicker than a scan. */
	run = free_run_before(r, first + n);
	if (run == RANGE_NONE && !range_free_run(r, first, &run, &len))
		return false;
	if (run > first || first + n > run + node(r, run)->len)
		return false;
	run_carve(r, run, first, n);
	return true;
}

void range_free(struct range *r, u32 first, u32 n)
{
	run_release(r, first, n);
}

void range_split(struct range *r, u32 at)
{
	if (bitmap_test(heads(r), at))
		return;
	bitmap_set(heads(r), at);
	node(r, at)->len = 1;
}

/* ---- Questions -------------------------------------------------------- */

u32 range_head(const struct range *r, u32 i)
{
	return (u32)bitmap_prev(heads(r), i, RANGE_NONE);
}

u32 range_len(const struct range *r, u32 head)
{
	if (range_is_free(r, head))
		return node(r, head)->len;
	return (u32)bitmap_next(heads(r), (u64)r->end + 1, head + 1) - head;
}

bool range_is_free(const struct range *r, u32 head)
{
	return bitmap_test(is_free(r), head);
}

bool range_has(const struct range *r, u32 i)
{
	u32 head;

	if (i >= r->end)
		return false;
	head = range_head(r, i);
	return head != RANGE_NONE && node(r, head)->len;
}

bool range_free_run(const struct range *r, u32 i, u32 *first, u32 *n)
{
	u32 head;

	if (i >= r->end)
		return false;
	head = range_head(r, i);
	if (head == RANGE_NONE || !range_is_free(r, head))
		return false;
	*first = head;
	*n = node(r, head)->len;
	return true;
}

u32 range_next(const struct range *r, u32 from)
{
	u64 i = from;

	for (;; i++) {
		i = bitmap_next(heads(r), r->end, i);
		if (i >= r->end)
			return RANGE_NONE;
		if (!range_is_free(r, (u32)i) && node(r, (u32)i)->len)
			return (u32)i;
	}
}

/* ---- Validation ------------------------------------------------------- */

static const char *validate_run(const struct range *r, u32 head, u32 next)
{
	const struct range_node *run = node(r, head);

	if (run->len != next - head)
		return "range: a free run does not end at the next head";
	if (node(r, next - 1)->len != run->len)
		return "range: the two ends of a free run differ";
	if (bitmap_test(is_free(r), next))
		return "range: two free runs are adjacent";
	if (!bitmap_test(r->bin_map, bin_of(run->len)))
		return "range: a free run lies in a bin marked empty";
	return NULL;
}

static const char *validate_runs(const struct range *r, u32 *nr_runs)
{
	u64 head = bitmap_next(heads(r), (u64)r->end + 1, 0);
	u32 nr_free = 0;
	u32 nr_total = 0;
	const char *broken;
	u64 next;

	for (; head < r->end; head = next) {
		next = bitmap_next(heads(r), (u64)r->end + 1, head + 1);
		if (next > r->end)
			return "range: no head bit at the end";
		if (node(r, (u32)head)->len)
			nr_total += (u32)(next - head);
		if (!bitmap_test(is_free(r), head))
			continue;
		broken = validate_run(r, (u32)head, (u32)next);
		if (broken)
			return broken;
		nr_free += (u32)(next - head);
		(*nr_runs)++;
	}
	if (nr_free != r->nr_free)
		return "range: nr_free is not the sum of the free runs";
	if (nr_total != r->nr_total)
		return "range: nr_total is not the sum of the runs inside";
	return NULL;
}

static const char *validate_bin(const struct range *r, u32 bin, u32 *nr_runs)
{
	u32 prev = RANGE_NONE;
	u32 run;

	if (bitmap_test(r->bin_map, bin) != (r->bin[bin] != RANGE_NONE))
		return "range: the bin map and a bin disagree";
	for (run = r->bin[bin]; run != RANGE_NONE; run = node(r, run)->next) {
		if (run >= r->end || !bitmap_test(is_free(r), run) ||
		    !bitmap_test(heads(r), run))
			return "range: a bin holds what is no free run";
		if (bin_of(node(r, run)->len) != bin)
			return "range: a free run lies in the wrong bin";
		if (node(r, run)->prev != prev)
			return "range: a bin's list is broken";
		prev = run;
		(*nr_runs)++;
	}
	if (r->bin_tail[bin] != prev)
		return "range: a bin's list ends elsewhere";
	return NULL;
}

const char *range_validate(const struct range *r)
{
	u32 nr_runs = 0;
	u32 nr_binned = 0;
	const char *broken;

	if (!r->end)
		return NULL;
	for (u32 word = 0; word < BITMAP_WORDS((u64)r->end + 1); word++)
		if (is_free(r)[word] & ~heads(r)[word])
			return "range: a free bit without a head";
	broken = validate_runs(r, &nr_runs);
	for (u32 bin = 0; !broken && bin < RANGE_NR_BINS; bin++)
		broken = validate_bin(r, bin, &nr_binned);
	if (!broken && nr_runs != nr_binned)
		broken = "range: a free run is in no bin";
	return broken;
}
