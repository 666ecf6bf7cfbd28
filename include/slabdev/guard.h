/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard.h - guard mode: an access past the end of an object, or after its free,
 * faults at the instruction that does it. Included by slabdev.h, whose
 * conventions hold here.
 *
 * A guarded object has a mapping of its own, with addresses beside it where
 * nothing is ever mapped. It ends where the mapping does, but for up to 255
 * bytes that keep its alignment; those, and 256 bytes before it, are looked at
 * when it is freed. Then its memory is unmapped.
 *
 * SLABDEV_GUARD chooses which allocations are guarded: "100", one of 100;
 * "4096-1M", those of these sizes; "100,4096-1M", one of 100 among those. The
 * letter G of SLABDEV_DEBUG does so by the name of the cache. Each takes at
 * least 2 MiB of memory and three times as many addresses, and calls of the
 * driver: choose few. All guarded objects together have at most half of the
 * limit of a space; what is beyond that is not guarded, and counted.
 *
 * Objects of more than 16 KiB of alignment, comm memory, and what is allocated
 * while a capture runs are not guarded, and nothing is in spaces whose memory
 * the library does not map itself: "cuda-host", "cuda-managed", and GPUs
 * without virtual memory management.
 *
 * On the host the fault is a signal, and slabdev_guard_handler() has it name
 * the object. A GPU stops, and its driver says of every call from then on that
 * it has failed, but not where: the report of that is followed by one of the
 * objects that were guarded then, or had been lately.
 */
#ifndef SLABDEV_GUARD_H
#define SLABDEV_GUARD_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct slabdev_guard_stats - guarded objects of a space
 * @guarded: allocations that were guarded since open
 * @refused: those that were chosen and could not be guarded
 * @live: guarded objects now, with those that are not unmapped yet
 * @bytes: what they have mapped
 */
struct slabdev_guard_stats {
	uint64_t guarded;
	uint64_t refused;
	uint64_t live;
	uint64_t bytes;
};

/**
 * slabdev_guard_stats - how many objects of a space are guarded
 * @sd: the space
 * @st: filled in
 * @size: sizeof(*@st)
 *
 * Context: any thread.
 * Return: 0; -EINVAL, -EOWNERDEAD or -EIO as for slabdev_stats().
 */
SLABDEV_API int slabdev_guard_stats(struct slabdev *sd,
				    struct slabdev_guard_stats *st,
				    size_t size);

/**
 * slabdev_guard_handler - have faults at guarded objects explained
 * @on: 1: from now on; 0: no more
 *
 * Sets a handler for SIGSEGV and SIGBUS in this process. Of a fault at guarded
 * host memory it writes to standard error which object it is, how far away, and
 * who allocated and freed it. Then, and of every other fault without a word,
 * it does what was set before: calls that handler, or lets the instruction
 * fault again without one, so that a core dump shows it. It runs on the stack
 * of sigaltstack(2), where the thread has one. What sets another handler later
 * takes its place.
 *
 * Context: any thread; not beside itself or others that set handlers.
 * Return: 0, also when nothing is to be done; -EBUSY somebody else has set a
 * handler since; -ENOTSUP this build has no guard mode; or a negative errno.
 */
SLABDEV_API int slabdev_guard_handler(int on);

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_GUARD_H */
