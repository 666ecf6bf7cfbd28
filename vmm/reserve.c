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
 * Alignment: a chunk may be larger than what a backend aligns to, and a driver
 * may not honour the alignment asked for, so one chunk more is reserved and
 * the first whole chunk in it begins the numbering.
 *
 * Locking: vmm->lock, but vmm_addr() and vmm_offset(), which read only what
 * is constant once nr_res was released.
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

/* Reserve @chunks, numbered from @first on; it becomes visible. */
static int reserve(struct vmm *v, u32 first, u32 chunks)
{
	struct vmm_reservation *res = &v->res[v->nr_res];
	u64 size = vmm_bytes(v, (u64)chunks + 1);
	u64 addr = 0;
	int err;

	err = vmm_call_reserve(v, size, &addr);
	if (err) {
		vmm_incident_op(v, VMM_OP_RESERVE, size);
		return err;
	}
	*res = (struct vmm_reservation){
		.addr = align_up(addr, v->chunk_size),
		.raw_addr = addr,
		.raw_size = size,
		.first_chunk = first,
		.nr_chunks = chunks,
	};
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

static int reserve_further(struct vmm *v, u32 nr)
{
	const struct vmm_reservation *last = &v->res[v->nr_res - 1];
	u64 first = (u64)last->first_chunk + last->nr_chunks + 1;
	u64 chunks = max(v->reserve_next >> v->chunk_shift, (u64)nr);
	int err;

	if (v->nr_res == VMM_MAX_RANGES || first + nr > v->max_chunks) {
		vmm_incident_lack(v, "no run of addresses is long enough, and "
				  "no more may be reserved");
		return -ENOMEM;
	}
	chunks = min(chunks, v->max_chunks - first);
	err = reserve_halving(v, (u32)first, (u32)chunks, nr);
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

int vmm_run_alloc(struct vmm *v, u32 nr, u32 *first)
{
	u32 step = max(nr, (u32)OPEN_STEP);
	const struct vmm_reservation *res;
	u32 closed;
	int err;

	while ((*first = range_alloc(&v->addresses, nr, 1)) == RANGE_NONE) {
		res = &v->res[v->nr_res - 1];
		closed = res->nr_chunks - res->nr_open;
		err = closed ? open_numbers(v, min(closed, step)) :
			       reserve_further(v, nr);
		if (err)
			return err;
	}
	return 0;
}

/* ---- The end ---------------------------------------------------------- */

/* A reservation may be freed only after everything in it was unmapped. */
static bool is_unmapped(const struct vmm *v, const struct vmm_reservation *res)
{
	for (u32 i = 0; i < res->nr_open; i++)
		if (*vmm_chunk(v, res->first_chunk + i))
			return false;
	return true;
}

int vmm_unreserve_all(struct vmm *v)
{
	const struct vmm_reservation *res;
	int err = 0;

	for (u32 i = v->nr_res; i--;) {
		res = &v->res[i];
		if (!is_unmapped(v, res)) {
			err = -EIO;
			continue;
		}
		if (vmm_call_unreserve(v, res->raw_addr, res->raw_size)) {
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

u64 vmm_addr(const struct vmm *v, u64 offset)
{
	u32 chunk = (u32)(offset >> v->chunk_shift);
	u32 i;

	if (likely(offset < v->base_bytes))
		return v->base + offset;
	i = load_acquire(&v->nr_res) - 1;
	while (i && chunk < v->res[i].first_chunk)
		i--;
	return v->res[i].addr + offset -
	       vmm_chunk_offset(v, v->res[i].first_chunk);
}

bool vmm_offset(const struct vmm *v, u64 addr, u64 *offset)
{
	const struct vmm_reservation *res;
	u32 nr_res;

	if (likely(addr - v->base < v->base_bytes)) {
		*offset = addr - v->base;
		return true;
	}
	nr_res = load_acquire(&v->nr_res);
	for (u32 i = 1; i < nr_res; i++) {
		res = &v->res[i];
		if (addr - res->addr < vmm_bytes(v, res->nr_chunks)) {
			*offset = addr - res->addr +
				  vmm_chunk_offset(v, res->first_chunk);
			return true;
		}
	}
	return false;
}
