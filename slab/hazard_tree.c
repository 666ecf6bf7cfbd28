// SPDX-License-Identifier: BSD-2-Clause
/* hazard_tree.c - see hazard_tree.h. */
#include "core/metapool.h"
#include "slab/hazard_tree.h"

/* Locking: hazard_lock. */
static struct record *root;
static struct metapool record_pool, access_pool;
static bool have_pools;
static u64 random_state = 1;

static u64 next_priority(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* ---- Accesses ------------------------------------------------------------ */

struct access *access_add_locked(struct record *r)
{
	struct access *a = metapool_alloc(&access_pool);

	if (!a)
		return NULL;
	a->next = r->accesses;
	r->accesses = a;
	return a;
}

void access_prune_locked(struct record *r, const struct hazard_stream *stream)
{
	struct access **at = &r->accesses, *a;

	while (*at) {
		a = *at;
		if (!clock_any_behind_locked(stream, 1, a->deed.epoch)) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		metapool_free(&access_pool, a);
	}
}

void access_drop_locked(struct record *r)
{
	struct access *a, *next;

	for (a = r->accesses; a; a = next) {
		next = a->next;
		metapool_free(&access_pool, a);
	}
	r->accesses = NULL;
}

/* ---- The tree ------------------------------------------------------------ */

/* What begins below @at, and the rest. */
static void split(struct record *r, u64 at, struct record **below,
		  struct record **rest)
{
	while (r) {
		if (r->start < at) {
			*below = r;
			below = &r->right;
			r = r->right;
		} else {
			*rest = r;
			rest = &r->left;
			r = r->left;
		}
	}
	*below = *rest = NULL;
}

/* All of @low is below all of @high. */
static struct record *merge(struct record *low, struct record *high)
{
	struct record *all, **at = &all;

	while (low && high) {
		if (low->priority > high->priority) {
			*at = low;
			at = &low->right;
			low = low->right;
		} else {
			*at = high;
			at = &high->left;
			high = high->left;
		}
	}
	*at = low ? low : high;
	return all;
}

static void discard(struct record *r)
{
	access_drop_locked(r);
	metapool_free(&record_pool, r);
}

static void discard_all(struct record *r)
{
	struct record *rest;

	for (; r; r = rest) {
		rest = merge(r->left, r->right);
		discard(r);
	}
}

/* The last one that begins at or below @addr. */
static struct record *find_below(u64 addr)
{
	struct record *r = root, *best = NULL;

	while (r) {
		if (r->start > addr) {
			r = r->left;
			continue;
		}
		best = r;
		r = r->right;
	}
	return best;
}

struct record *tree_find_locked(u64 addr)
{
	struct record *r = find_below(addr);

	return r && addr < r->end ? r : NULL;
}

void tree_forget_range_locked(u64 start, u64 end)
{
	struct record *low, *middle, *high, *first = tree_find_locked(start);

	split(root, first ? first->start : start, &low, &middle);
	split(middle, end, &middle, &high);
	discard_all(middle);
	root = merge(low, high);
}

static void init_once_locked(void)
{
	if (have_pools)
		return;
	metapool_init(&record_pool, sizeof(struct record), "hazard objects");
	metapool_init(&access_pool, sizeof(struct access), "hazard accesses");
	have_pools = true;
}

/* A tree and one record more, which overlaps none. */
static struct record *with(struct record *tree, struct record *r)
{
	struct record *low, *high;

	split(tree, r->start, &low, &high);
	return merge(merge(low, r), high);
}

struct record *tree_add_locked(const void *space, u64 start, u64 end)
{
	struct record *r;

	init_once_locked();
	tree_forget_range_locked(start, end);
	r = metapool_alloc(&record_pool);
	if (!r)
		return NULL;
	r->priority = next_priority();
	r->start = start;
	r->end = end;
	r->space = space;
	root = with(root, r);
	return r;
}

struct record *tree_next_locked(u64 addr)
{
	struct record *r = root, *best = NULL;

	while (r) {
		if (r->start < addr) {
			r = r->right;
			continue;
		}
		best = r;
		r = r->left;
	}
	return best;
}

void tree_each_locked(const void *space,
		      void (*each)(struct record *r, const void *arg),
		      const void *arg)
{
	struct record *r;

	for (r = tree_next_locked(0); r; r = tree_next_locked(r->end))
		if (!space || r->space == space)
			each(r, arg);
}

/* What is left of a tree without a space's records. */
static struct record *without(struct record *r, const void *space)
{
	struct record *kept = NULL, *rest;

	for (; r; r = rest) {
		rest = merge(r->left, r->right);
		r->left = r->right = NULL;
		if (r->space == space)
			discard(r);
		else
			kept = with(kept, r);
	}
	return kept;
}

void tree_forget_locked(const void *space)
{
	if (!have_pools)
		return;
	if (space) {
		root = without(root, space);
		return;
	}
	root = NULL;
	metapool_fini(&record_pool);
	metapool_fini(&access_pool);
	have_pools = false;
}
