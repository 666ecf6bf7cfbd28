/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault.h - allocations that are made to fail. Included by slabdev.h, whose
 * conventions hold here.
 *
 * The errors of a program are the part of it that never runs. Here are the
 * fault attributes of the Linux kernel for the allocations of a space, by the
 * environment,
 *
 *   SLABDEV_FAILSLAB=1,10,0,-1               10 per cent, from the start on
 *   SLABDEV_FAILSLAB=probability=10,seed=7,cache=tensor-*
 *
 * for every space of the process (the numbers are interval, probability, space
 * and times), or by slabdev_set_fault() for one. An allocation that is made to
 * fail returns NULL with ENOMEM, as if memory were short, and
 * slabdev_last_error() begins with "failslab". No memory is taken back for it,
 * no shrinker called, and nothing reported.
 *
 * To see each of a program's unwinding paths once, let the first allocation
 * fail, then the second, and so on until none is left to fail:
 *
 *   struct slabdev_fault fault = SLABDEV_FAULT_INIT;
 *
 *   do {
 *           fault.nth++;
 *           slabdev_set_fault(sd, &fault);
 *           run();                          -- must unwind, and leak nothing
 *           slabdev_get_fault(sd, &fired, sizeof(fired));
 *   } while (!fired.nth);                   -- 0: it was reached, and failed
 *
 * While faults are on, allocations have no fast path.
 */
#ifndef SLABDEV_FAULT_H
#define SLABDEV_FAULT_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Fault flag: only caches that the letter A marks (SLABDEV_DEBUG=A,NAME). */
#define SLABDEV_FAULT_CACHE_FILTER 0x1u
/** Fault flag: only allocations of the thread that sets it. */
#define SLABDEV_FAULT_THIS_THREAD 0x2u

/**
 * struct slabdev_fault - which allocations fail
 * @size: sizeof(struct slabdev_fault), set by SLABDEV_FAULT_INIT
 * @probability: per cent of the allocations that nothing below lets pass; the
 *               default, 0, leaves it to @nth
 * @verbose: 1: a line in the log for each fault, 2: with the stack; the default
 *           is 0 here, and 2 in the environment
 * @interval: of the allocations that are left, every so many-th may fail
 * @times: so many faults at most; -1, the default: no end
 * @space: so many bytes are let pass first
 * @nth: the n-th allocation from now fails, and none before it; 0: none
 * @seed: another one lets chance choose other allocations; the same one the
 *        same, as long as threads ask in the same order
 * @cache: a cache's name, the begin of some with * behind it, or NULL: all.
 *         General allocations are in caches such as alloc-4096, or in large
 * @flags: SLABDEV_FAULT_*
 * @reserved: 0
 * @asked: told by slabdev_get_fault(): allocations that were asked so far
 * @fired: told by slabdev_get_fault(): of those, how many failed
 *
 * A fault takes one off @times, also that of @nth, which is 0 then.
 */
struct slabdev_fault {
	size_t size;
	uint32_t probability;
	uint32_t verbose;
	uint64_t interval;
	int64_t times;
	uint64_t space;
	uint64_t nth;
	uint64_t seed;
	const char *cache;
	uint32_t flags;
	uint32_t reserved;
	uint64_t asked;
	uint64_t fired;
};
#ifdef __cplusplus
#define SLABDEV_FAULT_INIT \
	{ sizeof(struct slabdev_fault), 0, 0, 1, -1, 0, 0, 0, nullptr, 0, 0, \
	  0, 0 }
#else
#define SLABDEV_FAULT_INIT \
	{ sizeof(struct slabdev_fault), 0, 0, 1, -1, 0, 0, 0, NULL, 0, 0, 0, 0 }
#endif

/**
 * slabdev_set_fault - let allocations fail
 * @sd: the space
 * @fault: which; copied, and counted from now on. NULL: none any more
 *
 * Takes back what threads hold in their sheaves, so that no allocation is
 * served without being asked. Allocations that run meanwhile are asked or not.
 *
 * Context: any thread. Driver: slow path.
 * Return: 0; -EINVAL a value that is out of bounds, -E2BIG unknown tail,
 * -ENOTSUP the library was built without SLAB_DEBUG; as slabdev_alloc() for a
 * space that cannot be used.
 */
SLABDEV_API int slabdev_set_fault(struct slabdev *sd,
				  const struct slabdev_fault *fault);

/**
 * slabdev_get_fault - what is left of it
 * @sd: the space
 * @fault: filled in; @cache is valid until the next slabdev_set_fault()
 * @size: sizeof(struct slabdev_fault)
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL @sd or @fault is NULL or @size is 0, -ENOTSUP the library
 * was built without SLAB_DEBUG.
 */
SLABDEV_API int slabdev_get_fault(struct slabdev *sd,
				  struct slabdev_fault *fault, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_FAULT_H */
