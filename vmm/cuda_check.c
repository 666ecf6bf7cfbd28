// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_check.c - a kernel that looks whether bytes are what they should be.
 *
 * 1. What for. To read memory in order to look at it costs a copy and a wait
 *    for each stretch, and the bytes themselves cross the bus. The kernel of
 *    check.ptx looks at some hundred ranges for one launch and one wait, and
 *    only its answers come back.
 *
 * 2. Batches. Ranges go to the device, and answers come back, through pinned
 *    host memory that both see: no copy, and no memory of the device. Each call
 *    takes a batch for itself, by a bit; who finds none reads. Ranges are cut
 *    into pieces, so that no warp has much more to do than the others.
 *
 * 3. The module is loaded by the first check, and unloaded when the space is
 *    closed. The driver compiles it then: that takes milliseconds, and some
 *    memory of the device. Who comes meanwhile reads.
 *
 * 4. Trust. A kernel that does nothing finds all memory clean. So before it is
 *    believed it is shown bytes that differ, one for each way it has to look,
 *    and has to find them.
 *
 * 5. Failure. Where the driver has no compiler, or does not take the text, or
 *    the kernel does not find those bytes, it is never tried again, and all is
 *    read: nobody notices but by the log, where it is told once. What is there
 *    already then stays until the end. After a lack of memory, or if a capture
 *    came between, the next check tries again, with what is there. Where it
 *    cannot be told that a launch has ended, its batch is not used again, since
 *    the kernel may write to it yet; and if that cannot be told at the end
 *    either, what the kernel needs is left behind.
 *
 * 6. Captures. As for fills (cuda_work.c): a stream that is being captured does
 *    not run, and nothing is put into it. A capture that begins at that very
 *    moment may get a launch: that graph looks at the same ranges each time it
 *    runs, to no end, and faults if they are not mapped any more. So what the
 *    kernel needs is left behind then, too.
 *
 * Locking: none. The state goes from untried to loading, by whoever is first,
 * and from there to ready (released with what was loaded) or to refused.
 */
#include <errno.h>
#include <string.h>

#include "core/overflow.h"
#include "vmm/cuda_dev.h"

#define KERNEL "slabdev_check"
#define WARP 32u
#define BLOCK (4 * WARP)	/* threads */
#define PIECE (16 * KIB)	/* of a range: 32 steps of a warp */
#define RECORDS 512u		/* of a batch: 8 MiB of pieces */
#define BATCHES 4u
#define ALL_TAKEN ((1u << BATCHES) - 1)

extern const char vmm_check_ptx[];

enum checker_state {
	CHECKER_UNTRIED,
	CHECKER_LOADING,
	CHECKER_READY,
	CHECKER_REFUSED,
};

/* As the kernel has it. */
struct record {
	u64 addr, size;
	u64 wanted;		/* the byte, eight times */
	u64 first_bad;
};
static_assert(sizeof(struct record) == 32, "check.ptx has 32 bytes");

struct cuda_check_batch {
	struct record record[RECORDS];
};

#define BATCH_BYTES (BATCHES * sizeof(struct cuda_check_batch))

/* ---- Batches ---------------------------------------------------------- */

static struct cuda_check_batch *take_batch(struct cuda_checker *k)
{
	u32 taken = __atomic_load_n(&k->taken, __ATOMIC_ACQUIRE), i;

	do {
		if (taken == ALL_TAKEN)
			return NULL;
		i = (u32)__builtin_ctz(~taken);
	} while (!__atomic_compare_exchange_n(&k->taken, &taken,
					      taken | 1u << i, false,
					      __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	return &k->batch[i];
}

static void put_batch(struct cuda_checker *k, struct cuda_check_batch *b)
{
	u32 bit = 1u << (b - k->batch);

	__atomic_fetch_and(&k->taken, ~bit, __ATOMIC_RELEASE);
}

/* ---- Ranges, piece by piece ------------------------------------------- */

struct cursor {
	struct vmm_check *range, *end;
	u64 done;		/* bytes of the range */
};

/* Bytes of the next piece, which begins at at->done of at->range; 0: all is
 * done. */
static u64 next_piece(struct cursor *at)
{
	for (; at->range < at->end; at->range++, at->done = 0)
		if (at->done < at->range->size)
			return min(PIECE, at->range->size - at->done);
	return 0;
}

/* The next pieces into records: how many. */
static u32 fill_records(struct record *r, struct cursor *at)
{
	u64 size;
	u32 n;

	for (n = 0; n < RECORDS && (size = next_piece(at)); n++) {
		r[n] = (struct record){
			.addr = at->range->addr + at->done,
			.size = size,
			.wanted = at->range->byte * (~(u64)0 / 0xff),
			.first_bad = VMM_CHECK_CLEAN,
		};
		at->done += size;
	}
	return n;
}

/* The answers for the pieces that fill_records() took from @at on. */
static void read_records(const struct record *r, u32 n, struct cursor *at)
{
	u64 size;

	for (; n && (size = next_piece(at)); n--, r++) {
		if (at->range->first_bad == VMM_CHECK_CLEAN &&
		    r->first_bad != VMM_CHECK_CLEAN)
			at->range->first_bad = at->done + r->first_bad;
		at->done += size;
	}
}

/* ---- One launch ------------------------------------------------------- */

/* Some drivers compile a kernel no sooner than they launch it. */
static bool is_no_kernel(CUresult result)
{
	switch (result) {
	case CUDA_ERROR_INVALID_IMAGE:
	case CUDA_ERROR_NO_BINARY_FOR_GPU:
	case CUDA_ERROR_INVALID_PTX:
	case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
	case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
	case CUDA_ERROR_JIT_COMPILATION_DISABLED:
	case CUDA_ERROR_INVALID_SOURCE:
	case CUDA_ERROR_NOT_FOUND:
		return true;
	default:
		return false;
	}
}

static int launch(struct cuda_dev *d, struct record *records, u32 nr)
{
	CUdeviceptr addr = (CUdeviceptr)(uintptr_t)records;
	void *params[] = { &addr, &nr };
	u32 blocks = (u32)div_round_up((u64)nr * WARP, BLOCK);
	CUresult result;
	int err;

	result = d->drv->cuLaunchKernel(d->checker.kernel, blocks, 1, 1, BLOCK,
					1, 1, 0, d->bound, params, NULL);
	err = cuda_check(d, "cuLaunchKernel", result);
	return is_no_kernel(result) ? -ENOTSUP : err;
}

/* Wait for it, unless a capture that began just now has got it. */
static int finish(struct cuda_dev *d)
{
	int err = cuda_refuse_capture(d, d->bound);

	if (err == -EBUSY) {
		store_release(&d->checker.is_captured, true);
		return -EAGAIN;
	}
	return err ? err : CUDA_CALL(d, cuStreamSynchronize, d->bound);
}

static int check_batch(struct cuda_dev *d, struct cursor *at)
{
	struct cuda_check_batch *b = take_batch(&d->checker);
	struct cursor begin = *at;
	int err;
	u32 n;

	if (!b)
		return error_set(-EBUSY, "too many threads look at memory");
	n = fill_records(b->record, at);
	err = n ? launch(d, b->record, n) : 0;
	if (n && !err) {
		err = finish(d);
		if (err)
			return err;
		read_records(b->record, n, &begin);
	}
	put_batch(&d->checker, b);
	return err;
}

static int check_all(struct cuda_dev *d, struct vmm_check *ranges, u32 nr)
{
	struct cursor at = { .range = ranges, .end = ranges + nr };
	int err = 0;

	for (u32 i = 0; i < nr; i++)
		ranges[i].first_bad = VMM_CHECK_CLEAN;
	while (!err && next_piece(&at))
		err = check_batch(d, &at);
	return err;
}

/* ---- The module ------------------------------------------------------- */

#define PROOF_BYTES 1024u	/* for each */
#define PROOF_GOOD 0x5c

/* Ranges that begin so far behind a multiple of 16, and what of them differs:
 * one byte, the first of two, or (size) none. */
static const struct proof {
	u16 begin, size;
	u16 bad, also;
} proofs[] = {
	{ 5, 610, 610, 610 },
	{ 5, 610, 3, 3 },		/* before the 16s */
	{ 0, 610, 514, 514 },		/* their first half, the second step */
	{ 0, 610, 331, 331 },		/* their second half */
	{ 0, 610, 609, 609 },		/* behind the 16s */
	{ 3, 610, 300, 600 },		/* two lanes, first the higher */
	{ 3, 610, 300, 350 },		/* first the lower */
	{ 3, 610, 2, 607 },		/* one lane, both ends */
};

static struct vmm_check lay_out(const struct proof *p, u8 *bytes)
{
	memset(bytes, (u8)~PROOF_GOOD, PROOF_BYTES);
	bytes += p->begin;
	memset(bytes, PROOF_GOOD, p->size);
	bytes[p->bad] = bytes[p->also] = (u8)~PROOF_GOOD;
	return (struct vmm_check){
		.addr = (u64)(uintptr_t)bytes,
		.size = p->size,
		.byte = PROOF_GOOD,
	};
}

static u64 answer_to(const struct proof *p)
{
	return p->bad < p->size ? p->bad : VMM_CHECK_CLEAN;
}

/* In memory behind the batches. */
static int prove(struct cuda_dev *d)
{
	u8 *bytes = (u8 *)d->checker.batch + BATCH_BYTES;
	struct vmm_check r[ARRAY_SIZE(proofs)];
	u32 i;
	int err;

	for (i = 0; i < ARRAY_SIZE(proofs); i++)
		r[i] = lay_out(&proofs[i], bytes + i * PROOF_BYTES);
	err = check_all(d, r, ARRAY_SIZE(proofs));
	for (i = 0; i < ARRAY_SIZE(proofs) && !err; i++)
		if (r[i].first_bad != answer_to(&proofs[i]))
			err = error_set(-ENOTSUP, "the kernel does not find a "
					"byte that differs");
	return err;
}

/* All of it, or nothing, but what is there already. */
static int load(struct cuda_dev *d)
{
	struct cuda_checker *k = &d->checker;
	void *pinned = NULL;
	int err;

	if (k->batch)
		return 0;
	if (!d->drv->cuModuleLoadData || !d->drv->cuModuleGetFunction ||
	    !d->drv->cuModuleUnload || !d->drv->cuLaunchKernel ||
	    !d->drv->cuMemHostAlloc || !d->drv->cuMemFreeHost ||
	    !cuda_attribute(d->drv, d->device,
			    CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING))
		return error_set(-ENOTSUP, "the driver lacks a function");
	err = CUDA_CALL(d, cuModuleLoadData, &k->module, vmm_check_ptx);
	if (err) {
		k->module = NULL;
		return err;
	}
	err = CUDA_CALL(d, cuModuleGetFunction, &k->kernel, k->module, KERNEL);
	if (!err)
		err = CUDA_CALL(d, cuMemHostAlloc, &pinned,
				BATCH_BYTES + ARRAY_SIZE(proofs) * PROOF_BYTES,
				CU_MEMHOSTALLOC_PORTABLE |
				CU_MEMHOSTALLOC_DEVICEMAP);
	if (err)
		goto unload;
	k->batch = pinned;
	return 0;

unload:
	(void)CUDA_FREE_AT_LAST(d, cuModuleUnload, k->module);
	k->module = NULL;
	return err;
}

/* Not by the kernel: the next check may have what this one had not. */
static bool is_passing(int err)
{
	return err == -ENOMEM || err == -EAGAIN || err == -EBUSY;
}

/* By whoever is first. The state stays at loading where it failed for ever. */
static int make_ready(struct cuda_dev *d)
{
	struct cuda_checker *k = &d->checker;
	u32 state = CHECKER_UNTRIED;
	int err;

	if (load_acquire(&k->state) == CHECKER_READY)
		return 0;
	if (!__atomic_compare_exchange_n(&k->state, &state, CHECKER_LOADING,
					 false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return error_set(-EBUSY, "another thread loads the kernel");
	err = load(d);
	if (!err)
		err = prove(d);
	if (!err)
		store_release(&k->state, CHECKER_READY);
	else if (is_passing(err) || cuda_health(d))
		store_release(&k->state, CHECKER_UNTRIED);
	else
		err = -ENOTSUP;
	return err;
}

/* Outside of the scope: whoever is told finds the thread as it was. */
static void refuse(struct cuda_dev *d)
{
	if (__atomic_exchange_n(&d->checker.state, CHECKER_REFUSED,
				__ATOMIC_RELAXED) != CHECKER_REFUSED)
		pr_info("CUDA device %d: no kernel looks at red zones and "
			"poison, they are read: %s", (int)d->device,
			error_get());
}

/* ---- Operations ------------------------------------------------------- */

int cuda_check_ranges(void *dev, struct vmm_check *ranges, u32 nr)
{
	struct cuda_dev *d = dev;
	u32 state = load_acquire(&d->checker.state);
	struct cuda_scope scope;
	int err;

	if (state == CHECKER_REFUSED)
		return error_set(-ENOTSUP, "no kernel looks at memory here");
	if (state == CHECKER_LOADING)
		return error_set(-EBUSY, "another thread loads the kernel");
	err = cuda_enter_stream(d, &scope, d->bound);
	if (err)
		return err == -EBUSY ? -EAGAIN : err;
	err = make_ready(d);
	if (!err)
		err = check_all(d, ranges, nr);
	cuda_leave(d, &scope);
	if (err == -ENOTSUP)
		refuse(d);
	return err;
}

void cuda_check_fini(struct cuda_dev *d)
{
	struct cuda_checker *k = &d->checker;

	/* A launch that a graph has, or of which it was not known that it has
	 * ended. */
	if (k->is_captured || (k->taken && finish(d)))
		return;
	if (k->batch)
		(void)CUDA_FREE_AT_LAST(d, cuMemFreeHost, k->batch);
	if (k->module)
		(void)CUDA_FREE_AT_LAST(d, cuModuleUnload, k->module);
	k->batch = NULL;
	k->module = NULL;
}
