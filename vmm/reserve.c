// SPDX-License-Identifier: BSD-2-Clause
/*
 * reserve.c - addresses: how many to reserve, and how they are numbered.
 *
 * 1. How many. A reservation cannot be extended, and what lies in two of them
 *    is never adjacent, so the first should be large: eight times the limit,
 *    which makes it unlikely that free addresses, cut up by what is live, fail
 *    to hold a request that the limit allows. Addresses cost nothing, but are
 *    not endless: VMM_MAX_OFFSET bounds what slab/ can index; RLIMIT_AS
 *    (batch systems set it) counts them like memory, so no more than half of
 *    what it leaves is taken; and small platforms refuse, so a refusal halves
 *    the wish, down to 64 MiB or the limit.
 *
 * 2. Further ones. When no run of free numbers is long enough, another
 *    reservation is made: the second as large as the first, each later one
 *    twice as large as the one before, up to the end of all numbering. One
 *    number is left out between two of them and never becomes free, so no run
 *    spans them.
 *
 *        number  0 ........ n-1   n   n+1 ........
 *                reservation 0  (gap) reservation 1
 *
 * 3. max_chunks, the end of all numbering, decides how large the tables of
 *    slab/ are (a hundredth of the bytes that it covers), so it is not simply
 *    the greatest possible: it leaves room to grow, and stays within what
 *    RLIMIT_AS would ever allow.
 *
 * 4. Opening. The numbers of a reservation enter the range of free numbers in
 *    steps, so that host memory for them is committed as they come into use.
 *
 * Where a reservation is memory, region.c decides how long the further ones
 * are, and gives them back.
 *
 * With the same layout in every process there is one reservation, as long as it
 * was asked for: whether a further one is to be had depends on the machine, and
 * so does what lies how far from what.
 *
 * Alignment: a chunk may be larger than what a backend aligns to, and a driver
 * may not honour the alignment asked for, so one chunk more is reserved and
 * the first whole chunk in it begins the numbering.
 *
 * Locking: vmm->lock, but vmm_addr() and vmm_offset(), which read the first
 * reservation, that is constant, and the others under a sequence count.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/cancel.h"
#include "core/log.h"
#include "core/os.h"
#include "vmm/internal.h"

#define RESERVE_FACTOR 8
#define RESERVE_MIN (64 * MIB)
/* Numbers opened at once; 1 GiB where a chunk is 2 MiB. */
#define OPEN_STEP 512

/* Bytes of addresses that this process has, or 0 when it cannot be told. */
static u64 address_space_used(void)
{
	NO_CANCELLATION;
	char text[64] = "";
	ssize_t len;
	int fd;

	fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	return len > 0 ? strtoull(text, NULL, 10) * os_page_size() : 0;
}

/* Bytes of addresses that RLIMIT_AS leaves. */
static u64 address_space_left(void)
{
	struct rlimit rl;
	u64 used;

	if (getrlimit(RLIMIT_AS, &rl) || rl.rlim_cur == RLIM_INFINITY)
		return ~(u64)0;
	used = address_space_used();
	return used < rl.rlim_cur ? rl.rlim_cur - used : 0;
}

/* ---- One reservation -------------------------------------------------- */

static int reserve_raw(struct vmm *v, u64 size, u64 *addr)
{
	int err = vmm_call_reserve(v, size, addr);

	if (err)
		vmm_incident_op(v, VMM_OP_RESERVE, size);
	return err;
}

/* Addresses that hold @chunks, aligned. Memory is not to be wasted on that, and
 * is in practice aligned by itself. */
int vmm_reserve_aligned(struct vmm *v, u32 chunks, u64 *addr, u64 *size)
{
	int err;

	*addr = 0;
	*size = vmm_bytes(v, chunks);
	if (v->ops->backed) {
		err = reserve_raw(v, *size, addr);
		if (err || is_aligned(*addr, v->chunk_size))
			return err;
		err = vmm_call_unreserve(v, *addr, *size);
		if (err) {
			vmm_incident_op(v, VMM_OP_UNRESERVE, *size);
			return err;
		}
	}
	*size += v->chunk_size;
	return reserve_raw(v, *size, addr);
}

/* Reserve @chunks, numbered from @first on; it becomes visible. */
static int reserve(struct vmm *v, u32 first, u32 chunks)
{
	struct vmm_reservation *res = &v->res[v->nr_res];
	u64 addr, size;
	int err;

	err = vmm_reserve_aligned(v, chunks, &addr, &size);
	if (err)
		return err;
	res->raw_addr = addr;
	res->raw_size = size;
	res->nr_open = res->nr_used = 0;
	res->is_vacant = false;
	vmm_res_place(v, res, align_up(addr, v->chunk_size), first, chunks);
	vmm_count(&v->cnt->reserved, (s64)vmm_bytes(v, chunks));
	/* Pairs with the acquire in vmm_addr() and vmm_offset(). */
	store_release(&v->nr_res, v->nr_res + 1);
	return 0;
}

/* As reserve(), halving @chunks down to @least while it is refused. */
static int reserve_halving(struct vmm *v, u32 first, u32 chunks, u32 least)
{
	int err;

	for (;;) {
		err = reserve(v, first, chunks);
		if (!err || chunks <= least)
			return err;
		chunks = max(chunks / 2, least);
	}
}

/* ---- The first -------------------------------------------------------- */

static u32 wanted_chunks(const struct vmm *v, u64 left)
{
	u64 most = min(VMM_MAX_OFFSET, left / 2) >> v->chunk_shift;

	if (v->ops->backed)
		return (u32)min(v->limit_chunks, RESERVE_MIN >> v->chunk_shift);
	return (u32)min(v->limit_chunks * RESERVE_FACTOR, most);
}

static u32 least_chunks(const struct vmm *v)
{
	u64 least = max(RESERVE_MIN >> v->chunk_shift, (u64)1);

	return (u32)min(v->limit_chunks, least);
}

/* How far the numbering may ever go; see 3 above. */
static u32 max_chunks(const struct vmm *v, u64 left)
{
	u64 first = v->res[0].nr_chunks;
	u64 most = max(first * 2, v->limit_chunks * RESERVE_FACTOR);

	if (v->same_layout)
		return (u32)first;
	most = min(most + VMM_MAX_RANGES, VMM_MAX_OFFSET >> v->chunk_shift);
	most = min(most, left >> v->chunk_shift);
	return (u32)max(most, first);
}

int vmm_reserve_first(struct vmm *v, u64 bytes)
{
	u64 left = address_space_left();
	u32 chunks, least;
	int err;

	if (bytes > VMM_MAX_OFFSET) {
		vmm_incident_lack(v, "a space addresses at most 1 TiB; "
				  "reserve less");
		return -EINVAL;
	}
	if (bytes && v->ops->backed)
		bytes = min(bytes, vmm_bytes(v, v->limit_chunks));
	if (bytes) {
		chunks = (u32)div_round_up(bytes, v->chunk_size);
		least = chunks;
	} else {
		least = least_chunks(v);
		chunks = max(wanted_chunks(v, left), least);
	}
	err = reserve_halving(v, 0, chunks, least);
	if (err)
		return err;
	v->base = v->res[0].addr;
	v->base_bytes = vmm_bytes(v, v->res[0].nr_chunks);
	v->max_chunks = max_chunks(v, left);
	v->reserve_next = v->base_bytes;
	return 0;
}

/* ---- Runs of numbers -------------------------------------------------- */

int vmm_reserve_behind(struct vmm *v, u32 nr, u64 chunks)
{
	const struct vmm_reservation *last = &v->res[v->nr_res - 1];
	u64 first = (u64)last->first_chunk + last->nr_chunks + 1;

	if (v->nr_res == VMM_MAX_RANGES || first + nr > v->max_chunks) {
		vmm_incident_lack(v, "no run of addresses is long enough, and "
				  "no more may be reserved");
		return -ENOMEM;
	}
	chunks = min(chunks, v->max_chunks - first);
	return reserve_halving(v, (u32)first, (u32)chunks, nr);
}

static int reserve_further(struct vmm *v, u32 nr)
{
	u64 chunks = max(v->reserve_next >> v->chunk_shift, (u64)nr);
	int err;

	if (v->same_layout) {
		vmm_incident_lack(v, "attr.reserve has no run of addresses "
				  "that is long enough, and there is no more "
				  "with SLABDEV_OPEN_SAME_LAYOUT");
		return -ENOMEM;
	}
	if (v->ops->backed)
		return vmm_reserve_region(v, nr);
	err = vmm_reserve_behind(v, nr, chunks);
	if (err)
		return err;
	v->reserve_next = vmm_bytes(v, v->res[v->nr_res - 1].nr_chunks) * 2;
	return 0;
}

/* Let @n more numbers of the newest reservation be allocated. */
static int open_numbers(struct vmm *v, u32 n)
{
	struct vmm_reservation *res = &v->res[v->nr_res - 1];
	u32 first = res->first_chunk + res->nr_open;
	u32 end = first + n;
	int err;

	if (!n)
		return 0;
	err = resv_grow(&v->chunks, (u64)end * sizeof(struct vmm_handle *));
	if (!err)
		err = range_grow(&v->idle_runs, end);
	if (!err)
		err = range_add(&v->addresses, first, n);
	if (!err)
		err = range_add(&v->idle_runs, first, n);
	if (err) {
		vmm_incident_lack(v, "no host memory for the table of chunks");
		return -ENOMEM;
	}
	/* In idle_runs a number is free only while its mapping is idle. */
	(void)range_alloc_at(&v->idle_runs, first, n);
	res->nr_open += n;
	return 0;
}

/* The first free numbers that are long enough. */
static u32 take_lowest(struct vmm *v, u32 nr)
{
	const struct vmm_reservation *res;
	u32 i, at, end, n;

	for (i = 0; i < v->nr_res; i++) {
		res = &v->res[i];
		end = res->first_chunk + res->nr_open;
		for (at = res->first_chunk; at < end; at += n) {
			n = range_len(&v->addresses, at);
			if (range_is_free(&v->addresses, at) && n >= nr &&
			    range_alloc_at(&v->addresses, at, nr))
				return at;
		}
	}
	return RANGE_NONE;
}

/* A run that fits closely; but above held numbers only if it must be. */
static u32 take_run(struct vmm *v, u32 nr)
{
	u32 first = range_alloc(&v->addresses, nr, 1);

	if (first == RANGE_NONE || !v->nr_held || first < v->lowest_held)
		return first;
	range_free(&v->addresses, first, nr);
	return take_lowest(v, nr);
}

int vmm_run_alloc(struct vmm *v, u32 nr, u32 *first)
{
	u32 step = max(nr, (u32)OPEN_STEP);
	const struct vmm_reservation *res;
	u32 closed;
	int err;

	while ((*first = take_run(v, nr)) == RANGE_NONE) {
		res = &v->res[v->nr_res - 1];
		closed = res->nr_chunks - res->nr_open;
		err = closed ? open_numbers(v, min(closed, step)) :
			       reserve_further(v, nr);
		if (err)
			return err;
	}
	return 0;
}

/* The last free numbers of a reservation that are long enough. */
static bool take_highest(struct vmm *v, const struct vmm_reservation *res,
			 u32 nr, u32 *first)
{
	u32 end = res->first_chunk + res->nr_open;
	u32 run, n;

	for (; end > res->first_chunk; end = run) {
		if (!range_free_run(&v->addresses, end - 1, &run, &n))
			run = range_head(&v->addresses, end - 1);
		else if (n >= nr) {
			*first = run + n - nr;
			return range_alloc_at(&v->addresses, *first, nr);
		}
	}
	return false;
}

int vmm_run_alloc_high(struct vmm *v, u32 nr, u32 *first)
{
	const struct vmm_reservation *res;
	u32 i;
	int err;

	for (;;) {
		res = &v->res[v->nr_res - 1];
		err = open_numbers(v, res->nr_chunks - res->nr_open);
		if (err)
			return err;
		for (i = v->nr_res; i--;)
			if (take_highest(v, &v->res[i], nr, first))
				return 0;
		err = reserve_further(v, nr);
		if (err)
			return err;
	}
}

struct vmm_reservation *vmm_reservation_of(struct vmm *v, u32 chunk)
{
	struct vmm_reservation *res;

	for (u32 i = 0; i < v->nr_res; i++) {
		res = &v->res[i];
		if (chunk - res->first_chunk < res->nr_open)
			return res;
	}
	return NULL;
}

/* ---- The end ---------------------------------------------------------- */

/* What fails once may not fail again, and this is the end. */
static int unreserve_at_last(struct vmm *v, const struct vmm_reservation *res)
{
	int err = vmm_call_unreserve(v, res->raw_addr, res->raw_size);

	return err ? vmm_call_unreserve(v, res->raw_addr, res->raw_size) : 0;
}

int vmm_unreserve_all(struct vmm *v)
{
	const struct vmm_reservation *res;
	int err = 0;

	for (u32 i = v->nr_res; i--;) {
		res = &v->res[i];
		if (res->is_vacant)
			continue;
		/* It may be freed only after all in it was unmapped. */
		if (res->nr_used) {
			err = -EIO;
			continue;
		}
		if (unreserve_at_last(v, res)) {
			vmm_incident_op(v, VMM_OP_UNRESERVE, res->raw_size);
			err = -EIO;
			continue;
		}
		vmm_count(&v->cnt->reserved,
			  -(s64)vmm_bytes(v, res->nr_chunks));
	}
	return err;
}

/* ---- Translation ------------------------------------------------------ */

static u64 addr_behind(const struct vmm *v, u64 offset)
{
	u32 chunk = (u32)(offset >> v->chunk_shift);
	u32 i = load_acquire(&v->nr_res) - 1;

	while (i && chunk < load_acquire(&v->res[i].first_chunk))
		i--;
	return load_acquire(&v->res[i].addr) + offset -
	       vmm_chunk_offset(v, load_acquire(&v->res[i].first_chunk));
}

static bool offset_behind(const struct vmm *v, u64 addr, u64 *offset)
{
	const struct vmm_reservation *res;
	u32 nr_res = load_acquire(&v->nr_res);
	u64 from;

	for (u32 i = 1; i < nr_res; i++) {
		res = &v->res[i];
		from = load_acquire(&res->addr);
		if (!from || addr - from >=
			     vmm_bytes(v, load_acquire(&res->nr_chunks)))
			continue;
		*offset = addr - from +
			  vmm_chunk_offset(v, load_acquire(&res->first_chunk));
		return true;
	}
	return false;
}

u64 vmm_addr(const struct vmm *v, u64 offset)
{
	u64 addr;
	u32 seq;

	if (likely(offset < v->base_bytes))
		return v->base + offset;
	do {
		seq = vmm_res_read_begin(v);
		addr = addr_behind(v, offset);
	} while (vmm_res_read_again(v, seq));
	return addr;
}

static bool find_place(const struct vmm *v, u64 at, u64 *addr, u64 *bytes)
{
	u32 n = load_acquire(&v->nr_res);
	u32 i;

	for (i = 0; i < n; i++) {
		*addr = load_acquire(&v->res[i].addr);
		*bytes = (u64)load_acquire(&v->res[i].nr_chunks)
			 << v->chunk_shift;
		if (*addr && at - *addr < *bytes)
			return true;
	}
	return false;
}

bool vmm_reservation_at(const struct vmm *v, u64 at, u64 *addr, u64 *bytes)
{
	bool found;
	u32 seq;

	do {
		seq = vmm_res_read_begin(v);
		found = find_place(v, at, addr, bytes);
	} while (vmm_res_read_again(v, seq));
	return found;
}

bool vmm_offset(const struct vmm *v, u64 addr, u64 *offset)
{
	bool found;
	u32 seq;

	if (likely(addr - v->base < v->base_bytes)) {
		*offset = addr - v->base;
		return true;
	}
	do {
		seq = vmm_res_read_begin(v);
		found = offset_behind(v, addr, offset);
	} while (vmm_res_read_again(v, seq));
	return found;
}
