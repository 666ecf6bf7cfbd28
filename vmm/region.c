// SPDX-License-Identifier: BSD-2-Clause
/*
 * region.c - reservations that are memory (ops->backed).
 *
 * Where addresses cannot be had without memory, a further reservation is a
 * *region*: half as long as all there is, or as long as the request, so that
 * their number grows with the logarithm of the memory; never more than the
 * limit in all. A region in which nothing is mapped goes back. The first
 * reservation stays until the end, since its address is the base of all.
 *
 * Numbers. Those of a region that went back are kept *vacant*: allocated in
 * both ranges, with no handle. A later region that is as long or shorter takes
 * them over. Vacant neighbours are joined, the numbers between them included,
 * and what is vacant behind all others is forgotten, so that neither numbers
 * nor places in res[] run out where regions of ever new lengths come and go.
 *
 *        res[0]   res[1]      res[2]   res[3]           res[1] joined
 *        used     vacant  gap vacant   used      ->     with res[2]
 *
 * Locking: vmm->lock. res[] is read without it too, hence the sequence count.
 */
#include <errno.h>

#include "vmm/internal.h"

/* A reader that sees one field of a change sees that the count is odd. */
static void write_begin(struct vmm *v)
{
	WRITE_ONCE(v->res_seq, v->res_seq + 1);
}

static void set_place(struct vmm_reservation *res, u64 addr, u32 first_chunk,
		      u32 nr_chunks)
{
	store_release(&res->addr, addr);
	store_release(&res->first_chunk, first_chunk);
	store_release(&res->nr_chunks, nr_chunks);
}

static void move_place(struct vmm_reservation *to,
		       const struct vmm_reservation *from)
{
	set_place(to, from->addr, from->first_chunk, from->nr_chunks);
	to->raw_addr = from->raw_addr;
	to->raw_size = from->raw_size;
	to->nr_open = from->nr_open;
	to->nr_used = from->nr_used;
	to->is_vacant = from->is_vacant;
}

static void write_end(struct vmm *v)
{
	store_release(&v->res_seq, v->res_seq + 1);
}

void vmm_res_place(struct vmm *v, struct vmm_reservation *res, u64 addr,
		   u32 first_chunk, u32 nr_chunks)
{
	write_begin(v);
	set_place(res, addr, first_chunk, nr_chunks);
	write_end(v);
}

/* ---- Numbers without memory ------------------------------------------- */

/* Nobody has these numbers, and nobody can get them. */
static int add_vacant_numbers(struct vmm *v, u32 first, u32 n)
{
	int err = range_add(&v->addresses, first, n);

	if (err)
		return err;
	err = range_add(&v->idle_runs, first, n);
	if (err) {
		range_remove(&v->addresses, first, n);
		return err;
	}
	(void)range_alloc_at(&v->addresses, first, n);
	(void)range_alloc_at(&v->idle_runs, first, n);
	return 0;
}

void vmm_numbers_free(struct range *r, u32 first, u32 n)
{
	for (u32 at = first, len; at < first + n; at += len) {
		len = range_len(r, at);
		range_free(r, at, len);
	}
}

static void forget_numbers(struct vmm *v, u32 first, u32 n)
{
	vmm_numbers_free(&v->addresses, first, n);
	vmm_numbers_free(&v->idle_runs, first, n);
	range_remove(&v->addresses, first, n);
	range_remove(&v->idle_runs, first, n);
}

/* Vacant numbers are to end at @n: what is behind is not numbered any more. */
static void shorten_vacant(struct vmm *v, const struct vmm_reservation *res,
			   u32 n)
{
	u32 at = res->first_chunk + n;

	if (n == res->nr_chunks)
		return;
	range_split(&v->addresses, at);
	range_split(&v->idle_runs, at);
	forget_numbers(v, at, res->nr_chunks - n);
}

/* The last reservation is vacant: numbering ends before it. */
static void drop_last(struct vmm *v)
{
	struct vmm_reservation *res = &v->res[v->nr_res - 1];

	forget_numbers(v, res->first_chunk, res->nr_open);
	write_begin(v);
	store_release(&v->nr_res, v->nr_res - 1);
	write_end(v);
}

/* res[@i] and the next one are vacant. 0, or -ENOMEM and nothing changed. */
static int join_with_next(struct vmm *v, u32 i)
{
	struct vmm_reservation *res = &v->res[i];
	u32 gap = res->first_chunk + res->nr_chunks;
	u32 end = res[1].first_chunk + res[1].nr_chunks;

	if (add_vacant_numbers(v, gap, res[1].first_chunk - gap))
		return -ENOMEM;
	write_begin(v);
	res->nr_open = end - res->first_chunk;
	set_place(res, 0, res->first_chunk, res->nr_open);
	for (u32 k = i + 1; k + 1 < v->nr_res; k++)
		move_place(&v->res[k], &v->res[k + 1]);
	store_release(&v->nr_res, v->nr_res - 1);
	write_end(v);
	return 0;
}

static void tidy_vacant(struct vmm *v)
{
	u32 i = 1;

	while (v->nr_res > 1 && v->res[v->nr_res - 1].is_vacant)
		drop_last(v);
	while (i + 1 < v->nr_res)
		if (!v->res[i].is_vacant || !v->res[i + 1].is_vacant ||
		    join_with_next(v, i))
			i++;
}

/* ---- Giving back ------------------------------------------------------ */

static void make_vacant(struct vmm *v, struct vmm_reservation *res)
{
	vmm_count(&v->cnt->reserved, -(s64)vmm_bytes(v, res->nr_chunks));
	vmm_res_place(v, res, 0, res->first_chunk, res->nr_open);
	res->is_vacant = true;
	(void)range_alloc_at(&v->addresses, res->first_chunk, res->nr_open);
}

/* Nothing is mapped, and no caller has numbers to map something at. */
static bool is_empty(const struct vmm *v, const struct vmm_reservation *res)
{
	u32 first, n;

	if (res->is_vacant || res->nr_used)
		return false;
	return res->nr_open &&
	       range_free_run(&v->addresses, res->first_chunk, &first, &n) &&
	       n == res->nr_open;
}

bool vmm_unreserve_empty(struct vmm *v)
{
	struct vmm_reservation *res;
	bool any = false;

	for (u32 i = 1; v->ops->backed && i < v->nr_res; i++) {
		res = &v->res[i];
		if (!is_empty(v, res))
			continue;
		if (vmm_call_unreserve(v, res->raw_addr, res->raw_size))
			continue;
		make_vacant(v, res);
		any = true;
	}
	if (any)
		tidy_vacant(v);
	return any;
}

/* ---- Taking ----------------------------------------------------------- */

/* Chunks of memory that the limit leaves. */
static u64 limit_left(const struct vmm *v)
{
	u64 have = v->cnt->reserved >> v->chunk_shift;

	return v->limit_chunks > have ? v->limit_chunks - have : 0;
}

/* The shortest vacant numbers that hold @nr chunks. */
static struct vmm_reservation *find_vacant(struct vmm *v, u32 nr)
{
	struct vmm_reservation *best = NULL;
	struct vmm_reservation *res;

	for (u32 i = 1; i < v->nr_res; i++) {
		res = &v->res[i];
		if (res->is_vacant && res->nr_chunks >= nr &&
		    (!best || res->nr_chunks < best->nr_chunks))
			best = res;
	}
	return best;
}

/* A region of @chunks under the first of vacant numbers. */
static int fill_vacant(struct vmm *v, struct vmm_reservation *res, u32 chunks)
{
	u64 addr, size;
	int err = vmm_reserve_aligned(v, chunks, &addr, &size);

	if (err)
		return err;
	res->raw_addr = addr;
	res->raw_size = size;
	shorten_vacant(v, res, chunks);
	vmm_numbers_free(&v->addresses, res->first_chunk, chunks);
	vmm_res_place(v, res, align_up(addr, v->chunk_size), res->first_chunk,
		      chunks);
	res->nr_open = chunks;
	res->is_vacant = false;
	vmm_count(&v->cnt->reserved, (s64)vmm_bytes(v, res->nr_chunks));
	return 0;
}

int vmm_reserve_region(struct vmm *v, u32 nr)
{
	struct vmm_reservation *vacant;
	u64 left = limit_left(v);
	u64 wanted = max((v->cnt->reserved >> v->chunk_shift) / 2, (u64)nr);

	if (nr > left) {
		vmm_incident_lack(v, "what the limit leaves is in pieces that "
				  "are too short");
		return -ENOMEM;
	}
	wanted = min(wanted, left);
	vacant = find_vacant(v, nr);
	if (vacant)
		return fill_vacant(v, vacant,
				   (u32)min(wanted, (u64)vacant->nr_chunks));
	return vmm_reserve_behind(v, nr, wanted);
}
