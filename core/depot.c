// SPDX-License-Identifier: BSD-2-Clause
/*
 * depot.c - a table of stacks that only grows; see depot.h.
 *
 * One reservation: the buckets of the table, then the records, in the order in
 * which they came. A handle is where a record begins, in words of 8 bytes, so
 * that 0, where the table is, is none. Records of a bucket are linked, the
 * newest first. A record is complete before its bucket leads to it, and is
 * never changed: so the table is searched without the lock, and again with it
 * before something is added.
 */
#include <string.h>

#include "core/depot.h"
#include "core/lock.h"
#include "core/overflow.h"
#include "core/resv.h"
#include "core/stack.h"

#define NR_BUCKETS (1u << 16)
#define TABLE_BYTES (NR_BUCKETS * sizeof(u32))
#define STACKS_MAX (1u << 20)
#define STEP_BYTES (256 * KIB)

struct record {
	u32 next;		/* handle, or 0 */
	u32 key;		/* bits of the hash, and the depth */
	const void *pc[];
};
#define RECORD_BYTES(n) (sizeof(struct record) + (n) * sizeof(void *))
#define MOST_BYTES (TABLE_BYTES + STACKS_MAX * RECORD_BYTES(STACK_MAX))
#define DEPTH_BITS 8
static_assert(STACK_MAX < 1 << DEPTH_BITS, "a depth fits");
static_assert(sizeof(void *) == sizeof(u64), "records are words");

static struct lock depot_lock = LOCK_INIT(LOCK_DEPOT, "stack depot");
/* Locking: depot_lock; its base does not change once words points there. */
static struct resv memory;
/* Bytes, the table's included. Locking: depot_lock. */
static u64 used;
/* memory.base, or NULL; atomic: released when the table is there. */
static u64 *words;

static struct record *record_at(u64 *base, u32 handle)
{
	return (struct record *)(void *)(base + handle);
}

static u64 hash_of(const void *const *pc, u32 n)
{
	u64 hash = n;
	u32 i;

	for (i = 0; i < n; i++) {
		hash = (hash ^ (u64)(uintptr_t)pc[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return hash;
}

static u32 *bucket_of(u64 *base, u64 hash)
{
	return (u32 *)(void *)base + hash % NR_BUCKETS;
}

static u32 key_of(u64 hash, u32 n)
{
	return (u32)(hash >> 32) << DEPTH_BITS | n;
}

static u32 find(u64 *base, u64 hash, const void *const *pc, u32 n)
{
	/* Pairs with add_locked(). */
	u32 handle = load_acquire(bucket_of(base, hash));
	u32 key = key_of(hash, n);

	while (handle) {
		const struct record *r = record_at(base, handle);

		if (r->key == key && !memcmp(r->pc, pc, n * sizeof(*pc)))
			break;
		handle = r->next;
	}
	return handle;
}

/* ---- What is new ------------------------------------------------------ */

/* As much as there are addresses for. */
static bool reserve_locked(void)
{
	u64 bytes;

	for (bytes = MOST_BYTES; bytes >= TABLE_BYTES + STEP_BYTES; bytes /= 2)
		if (!resv_init(&memory, bytes, STEP_BYTES))
			return true;
	return false;
}

static bool begin_locked(void)
{
	if (words)
		return true;
	if (!reserve_locked())
		return false;
	if (resv_grow(&memory, TABLE_BYTES)) {
		resv_fini(&memory);
		return false;
	}
	used = TABLE_BYTES;
	/* Pairs with depot_save() and depot_fetch(). */
	store_release(&words, (u64 *)(void *)memory.base);
	return true;
}

static u32 add_locked(u64 hash, const void *const *pc, u32 n)
{
	u32 *bucket = bucket_of(words, hash);
	u32 handle = (u32)(used / sizeof(u64));
	struct record *r = record_at(words, handle);

	if (resv_grow(&memory, used + RECORD_BYTES(n)))
		return 0;
	used += RECORD_BYTES(n);
	r->next = *bucket;
	r->key = key_of(hash, n);
	memcpy(r->pc, pc, n * sizeof(*pc));
	/* Pairs with find(). */
	store_release(bucket, handle);
	return handle;
}

static __cold u32 save_new(u64 hash, const void *const *pc, u32 n)
{
	u32 handle = 0;

	lock_acquire(&depot_lock);
	if (begin_locked()) {
		handle = find(words, hash, pc, n);
		if (!handle)
			handle = add_locked(hash, pc, n);
	}
	lock_release(&depot_lock);
	return handle;
}

/* ---- For all ---------------------------------------------------------- */

u32 depot_save(const void *const *pc, u32 n)
{
	u64 *base = load_acquire(&words);	/* pairs with begin_locked() */
	u32 depth = min(n, (u32)STACK_MAX);
	u64 hash = hash_of(pc, depth);
	u32 handle;

	if (!depth)
		return 0;
	handle = base ? find(base, hash, pc, depth) : 0;
	return handle ? handle : save_new(hash, pc, depth);
}

u32 depot_fetch(u32 handle, const void *const **pc)
{
	u64 *base = load_acquire(&words);	/* pairs with begin_locked() */
	const struct record *r;

	*pc = NULL;
	if (!handle || !base)
		return 0;
	r = record_at(base, handle);
	*pc = r->pc;
	return r->key & ((1u << DEPTH_BITS) - 1);
}

u64 depot_bytes(void)
{
	/* Pairs with begin_locked(). */
	return load_acquire(&words) ? READ_ONCE(memory.committed) : 0;
}

void depot_lock_for_fork(void)
{
	lock_acquire_for_fork(&depot_lock);
}

void depot_unlock_for_fork(void)
{
	lock_release_for_fork(&depot_lock);
}
