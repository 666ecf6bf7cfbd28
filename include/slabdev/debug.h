/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debug.h - which checks are made of which objects. Included by slabdev.h,
 * whose conventions hold here.
 *
 * Each check is a letter, the kernel's where it has one:
 *
 *   F  consistency: what a free says is compared with what is known
 *   Z  red zones: bytes around each object that nobody may change
 *   P  poison: free memory is filled, and looked at before it is used again
 *   U  user tracking: who allocated and freed each object, and when
 *   T  trace: a line in the log for each allocation and free
 *   A  fault injection may fail allocations here
 *   O  no Z for caches whose objects would take more memory with it
 *   Q  quarantine: freed objects are held back for a while
 *   G  guard: objects of their own mapping, beside unmapped memory
 *   H  hazards of streams, see hazard.h; of spaces, not of caches
 *
 * Letters come from the environment (SLABDEV_DEBUG), from the flags of a cache,
 * and from the calls below. Their grammar is that of the kernel's slab_debug=:
 * blocks with ";" between them, each of letters ("-" takes back those before
 * it) and, behind ",", the names of caches for which it holds. An empty text,
 * and a block that begins with ",", mean FZPU. Of blocks without names the last
 * one counts; of those with names a cache takes the first that has its name,
 * "name*" stands for all that begin with it, and no other block then. General
 * classes are named "alloc-4096" and the like, larger objects "large".
 *
 *   FZ              all caches are checked, and have red zones
 *   P,matrix*,dmrg  poison in these
 *   FZ;-,scratch    all but this one
 *   ,matrix         FZPU for this one
 *
 * Objects of a class with letters have no fast paths. A build without
 * CONFIG_SLAB_DEBUG refuses all letters but H, and one without
 * CONFIG_SLAB_GUARD refuses G.
 */
#ifndef SLABDEV_DEBUG_H
#define SLABDEV_DEBUG_H

#include <slabdev/base.h>
#include <slabdev/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Cache flag: SLABDEV_DEBUG, slabdev_set_debug() are not for this cache. */
#define SLABDEV_CACHE_NO_USER_FLAGS 0x10u
/** Cache flag: F, consistency checks. */
#define SLABDEV_CACHE_CONSISTENCY_CHECKS 0x100u
/** Cache flag: Z, red zones. */
#define SLABDEV_CACHE_RED_ZONE 0x200u
/** Cache flag: P, poison. */
#define SLABDEV_CACHE_POISON 0x400u
/** Cache flag: U, user tracking. */
#define SLABDEV_CACHE_STORE_USER 0x800u
/** Cache flag: T, trace. */
#define SLABDEV_CACHE_TRACE 0x1000u
/** Cache flag: A, fault injection. */
#define SLABDEV_CACHE_FAILSLAB 0x2000u
/** Cache flag: Q, quarantine. */
#define SLABDEV_CACHE_QUARANTINE 0x10000u
/** Cache flag: G, guard. */
#define SLABDEV_CACHE_GUARD 0x20000u

/** Room for the letters of any cache. */
#define SLABDEV_DEBUG_LETTERS_MAX 16

/**
 * slabdev_set_debug - what is checked in a space from now on
 * @sd: the space
 * @spec: as SLABDEV_DEBUG; up to 1,023 characters
 *
 * F, U, T, A and Q are switched at once for all classes of the space; objects
 * that are live are freed as they would have been. Z, P and G decide how
 * memory is laid out and filled: they hold for caches that are created later,
 * and those that exist keep what they have. Letters that a cache was created
 * with, or got from slabdev_cache_set_debug(), stay its own.
 *
 * Takes back what the sheaves of all threads hold.
 *
 * Context: any thread. Driver: slow path.
 * Return: 0; -EINVAL @spec is not accepted, or has H in a space that was
 * opened without, -ENOMEM no host memory for Q; the space is as it was then.
 */
SLABDEV_API int slabdev_set_debug(struct slabdev *sd, const char *spec);

/**
 * slabdev_cache_set_debug - what is checked in one cache from now on
 * @cache: the cache
 * @letters: of F, U, T, A and Q those that shall be on, the others are off; Z,
 *           P and G may be among them if the cache has them; "-" for none
 *
 * Context: any thread. Driver: slow path.
 * Return: 0; -EINVAL other letters, or those of a layout that the cache does
 * not have, -ENOMEM.
 */
SLABDEV_API int slabdev_cache_set_debug(struct slabdev_cache *cache,
					const char *letters);

/**
 * slabdev_cache_debug - what is checked in a cache
 * @cache: the cache
 * @buf: set to its letters, "-" for none
 * @len: room there; SLABDEV_DEBUG_LETTERS_MAX is enough
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL @buf is NULL, -ERANGE too little room.
 */
SLABDEV_API int slabdev_cache_debug(const struct slabdev_cache *cache,
				    char *buf, size_t len);

#ifdef __cplusplus
}
#endif
#endif /* SLABDEV_DEBUG_H */
