/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - what the files of vmm/ share. The theory is in vmm.c.
 */
#ifndef VMM_INTERNAL_H
#define VMM_INTERNAL_H

#include "core/overflow.h"
#include "vmm/vmm.h"

/* States of a handle, and of its chunks; vmm.c draws the transitions. */
enum vmm_state {
	VMM_CREATED,		/* no address: spare, or on its way */
	VMM_MAPPED,		/* has an address, no access yet */
	VMM_ACCESSIBLE,		/* in use by the caller */
	VMM_IDLE,		/* accessible, in use by nobody */
	VMM_LOST,		/* giving it back failed */
	VMM_WALL,		/* no handle: addresses that fault, guard.c */
};

#define VMM_NO_CHUNK ((u32)-1)

/* One physical handle. Locking: vmm->lock. */
struct vmm_handle {
	struct list node;	/* in idle_singles, idle[], spare or lost */
	u64 id;			/* the backend's */
	u32 first;		/* chunk where it is mapped; VMM_NO_CHUNK */
	u32 nr;			/* chunks */
	enum vmm_state state;
	u64 stamp;		/* idle: when it fell idle, see fence.c */
	bool is_new;		/* created by the vmm_map() that runs */
	bool is_held;		/* its numbers are held: hold.c */
	bool is_told;		/* that it is lost was reported */
};

static inline struct vmm_handle **vmm_chunk(const struct vmm *v, u32 chunk)
{
	return (struct vmm_handle **)(void *)v->chunks.base + chunk;
}

/* The handle at a number, whatever its state; NULL: none. Locking:
 * vmm->lock. */
struct vmm_handle *vmm_handle_at(struct vmm *v, u32 chunk);

static inline u64 vmm_bytes(const struct vmm *v, u64 chunks)
{
	return chunks << v->chunk_shift;
}

static inline u64 vmm_chunk_addr(const struct vmm *v, u32 chunk)
{
	return vmm_addr(v, vmm_chunk_offset(v, chunk));
}

/* Counters have one writer at a time and many readers. */
static inline void vmm_count(u64 *counter, s64 delta)
{
	WRITE_ONCE(*counter, *counter + (u64)delta);
}

/* ---- calls.c: backend calls, counted ---------------------------------- */

int vmm_call_reserve(struct vmm *v, u64 size, u64 *addr);
int vmm_call_unreserve(struct vmm *v, u64 addr, u64 size);
int vmm_call_create(struct vmm *v, u64 size, u64 *id);
int vmm_call_release(struct vmm *v, u64 id, u64 size);
int vmm_call_map(struct vmm *v, u64 addr, u64 size, u64 id);
int vmm_call_set_access(struct vmm *v, u64 addr, u64 size);
int vmm_call_unmap(struct vmm *v, u64 addr, u64 size);
/* With the lock held; the other calls on events are in vmm.h. */
int vmm_call_event_create(struct vmm *v, u64 *event);

/* ---- incident.c: telling what went wrong ------------------------------ */

void vmm_incident_op(struct vmm *v, enum vmm_op op, u64 size);
void vmm_incident_lack(struct vmm *v, const char *what);
void vmm_incident_lost(struct vmm *v, const struct vmm_handle *h,
		       enum vmm_op op, int err);
/* Take the lock and begin with a clean record. */
void vmm_enter(struct vmm *v);
/* Drop the lock; report what was lost; set the error text when @err. */
int vmm_leave(struct vmm *v, int err);

/* ---- fence.c: is the device done with it? ------------------------------- */

int __must_check vmm_fence_init(struct vmm *v);
void vmm_fence_fini(struct vmm *v);
/* @h falls idle now. */
void vmm_fence_stamp(struct vmm *v, struct vmm_handle *h);
/* 0: all that is idle is quiet; -EBUSY: not yet; -EAGAIN: a capture forbids to
 * ask; or the backend's error. */
int vmm_fence_try(struct vmm *v);
/* The same after waiting, without the lock meanwhile: more may have fallen idle
 * since. */
int vmm_fence_wait(struct vmm *v);

static inline bool vmm_is_quiet(const struct vmm *v,
				const struct vmm_handle *h)
{
	return h->stamp <= v->quiet;
}

static inline bool vmm_all_quiet(const struct vmm *v)
{
	return v->last_stamp <= v->quiet;
}

/* ---- reserve.c: addresses --------------------------------------------- */

/* The first reservation; sets base, base_bytes and max_chunks. */
int __must_check vmm_reserve_first(struct vmm *v, u64 reserve);
/* Free all reservations. 0, or -EIO when some could not be. */
int vmm_unreserve_all(struct vmm *v);
/* A run of @nr chunk numbers, from the reservations that are there or from a
 * further one. 0, -ENOMEM, or the backend's error. */
int __must_check vmm_run_alloc(struct vmm *v, u32 nr, u32 *first);
/* The same, as high as there is one. */
int __must_check vmm_run_alloc_high(struct vmm *v, u32 nr, u32 *first);
/* The reservation that has this chunk number open. NULL: none. */
struct vmm_reservation *vmm_reservation_of(struct vmm *v, u32 chunk);
/* Addresses that hold @chunks aligned: where they begin, and their bytes. */
int __must_check vmm_reserve_aligned(struct vmm *v, u32 chunks, u64 *addr,
				     u64 *size);
/* A reservation of @chunks, or at least @nr, numbered behind all others. */
int __must_check vmm_reserve_behind(struct vmm *v, u32 nr, u64 chunks);

/* Around reading res[] without the lock. */
static inline u32 vmm_res_read_begin(const struct vmm *v)
{
	return load_acquire(&v->res_seq) & ~1u;
}

/* What was read between must have been loaded with acquire. */
static inline bool vmm_res_read_again(const struct vmm *v, u32 seq)
{
	return READ_ONCE(v->res_seq) != seq;
}

/* ---- region.c: reservations that are memory --------------------------- */

/* What is read without the lock of a reservation. */
void vmm_res_place(struct vmm *v, struct vmm_reservation *res, u64 addr,
		   u32 first_chunk, u32 nr_chunks);

int __must_check vmm_reserve_region(struct vmm *v, u32 nr);
/* Free allocated numbers, which are one or more whole allocations. */
void vmm_numbers_free(struct range *r, u32 first, u32 n);
/* Give those back in which nothing is mapped. True if that was any. */
bool vmm_unreserve_empty(struct vmm *v);

/* ---- handle.c: handles and their transitions -------------------------- */

int __must_check vmm_handle_create(struct vmm *v, u32 nr,
				   struct vmm_handle **out);
int vmm_handle_release(struct vmm *v, struct vmm_handle *h);
int __must_check vmm_handle_map(struct vmm *v, struct vmm_handle *h,
				u32 first);
int vmm_handle_unmap(struct vmm *v, struct vmm_handle *h);
/* Unmap and release. */
int vmm_handle_destroy(struct vmm *v, struct vmm_handle *h);
/* Try once more to give back each lost handle. 0, or -EIO if any is left. */
int vmm_lost_retry(struct vmm *v);

/* ---- guard.c: addresses at which nothing is mapped ---------------------- */

/* Allocated numbers without memory: nothing is mapped there. */
void vmm_wall_off(struct vmm *v, u32 first, u32 nr);
/* Something is going to be. */
void vmm_wall_take_away(struct vmm *v, u32 first, u32 nr);
bool vmm_is_wall(const struct vmm *v, u32 number);
/* Free the numbers of all holes. True if that was any. */
bool vmm_open_holes(struct vmm *v);
void vmm_end_walls(struct vmm *v);

/* ---- map.c: making chunks accessible ------------------------------------ */

/* Wait for the device after an -EAGAIN, but not for ever: where other threads
 * free and take memory all the time, what this one waited for may be gone. 0:
 * try again; -ENOMEM, or the backend's error. @nr_waits is 0 at first. */
int __must_check vmm_wait_again(struct vmm *v, u32 *nr_waits);

/* ---- idle.c: memory that nobody uses ---------------------------------- */

void vmm_idle_put(struct vmm *v, struct vmm_handle *h);
/* An idle run of this shape, accessible and now in use; only a quiet one when
 * @quiet. */
bool vmm_idle_take(struct vmm *v, u32 nr, u32 handle_chunks, bool quiet,
		   u32 *first);
void vmm_spare_put(struct vmm *v, struct vmm_handle *h);
struct vmm_handle *vmm_spare_take(struct vmm *v);
/* Unmap quiet single-chunk mappings until there are @nr spare handles. */
void vmm_spare_gather(struct vmm *v, u64 nr);
/* Give back one quiet piece towards @chunks that are wanted, but leave
 * @keep_spare spare handles. False when there is nothing to give back; *@err is
 * set when it got lost instead. */
bool vmm_idle_give(struct vmm *v, u64 chunks, u64 keep_spare, int *err);
/* Give back all that is quiet but @keep_spare spare handles (VMM_KEEP_SPARE:
 * but all of those). True if that was any. */
#define VMM_KEEP_SPARE (~(u64)0)
bool vmm_idle_give_all(struct vmm *v, u64 keep_spare);

/* Some idle mapping is not quiet: waiting would give more. */
bool vmm_idle_is_busy(const struct vmm *v);

static inline u64 vmm_nr_idle_singles(const struct vmm *v)
{
	return v->idle_runs.nr_free;
}

#endif /* VMM_INTERNAL_H */
