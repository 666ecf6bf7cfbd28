/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * manager.h - one owner for all the spaces of a program, with its books.
 * Included by slabdev.h, whose conventions hold here.
 *
 * A *manager* opens a space for each kind of memory and device when it is asked
 * for that pair the first time, and closes them all at the end. A pair means
 * one thing: it is served exactly as asked, or refused with the reason that
 * discovery has (device.h). No pair stands for another, and there is no default
 * device.
 *
 * A *ledger* is a manager's account of one of its spaces, or of all. What was
 * allocated and freed, and what is live, are the space's own counters, which
 * follow the memory whoever calls: a free that was refused is in no ledger.
 *
 * A token is as that of a buffer (buf.h): it is not the address of anything,
 * two copies of it are the same manager, and after slabdev_manager_destroy() it
 * is stale, and refused for ever. A process may have several managers, each
 * with spaces of its own.
 */
#ifndef SLABDEV_MANAGER_H
#define SLABDEV_MANAGER_H

#include <stdio.h>

#include <slabdev/base.h>
#include <slabdev/block.h>

#ifdef __cplusplus
extern "C" {
#endif

struct slabdev_attr;
struct slabdev_manager;

/** enum slabdev_memory_kind - as enum slabdev_block_kind */
enum slabdev_memory_kind {
	SLABDEV_MEMORY_HOST = SLABDEV_BLOCK_HOST,	/* "host" */
	SLABDEV_MEMORY_DEVICE = SLABDEV_BLOCK_DEVICE,	/* "cuda:N" */
	SLABDEV_MEMORY_PINNED = SLABDEV_BLOCK_PINNED,	/* "cuda-host:N" */
	SLABDEV_MEMORY_MANAGED = SLABDEV_BLOCK_MANAGED,	/* "cuda-managed:N" */
};

/** The device of SLABDEV_MEMORY_HOST: it is of none. */
#define SLABDEV_NO_DEVICE (-1)

/**
 * struct slabdev_manager_attr - how to make a manager
 * @size: sizeof(struct slabdev_manager_attr), set by SLABDEV_MANAGER_ATTR_INIT
 * @name: 1 to SLABDEV_NAME_MAX printable characters, for reports; its spaces
 *        are called "name/spec" then. NULL: "manager", and spaces have the name
 *        of their spec
 */
struct slabdev_manager_attr {
	size_t size;
	const char *name;
};
#ifdef __cplusplus
#define SLABDEV_MANAGER_ATTR_INIT \
	{ sizeof(struct slabdev_manager_attr), nullptr }
#else
#define SLABDEV_MANAGER_ATTR_INIT \
	{ sizeof(struct slabdev_manager_attr), NULL }
#endif

/**
 * slabdev_manager_create - make a manager, which has no space yet
 * @manager: set to the token; untouched on failure
 * @attr: NULL for the defaults
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL @manager NULL or a bad name, -E2BIG unknown attribute,
 * -ENOMEM no host memory, -ENOSPC 1,024 managers exist.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_manager_create(struct slabdev_manager **manager,
		       const struct slabdev_manager_attr *attr);

/**
 * slabdev_manager_destroy - close all of its spaces, and end
 * @manager: the manager; NULL is fine
 * @flags: 0 or SLABDEV_CLOSE_FORCE, as for slabdev_close()
 *
 * All spaces are asked before any is closed. No other thread may still be
 * inside a call on @manager or on its spaces.
 *
 * Context: one thread. Driver: slow path.
 * Return: 0; -EBUSY slabdev_close() would refuse one of them: something is
 * live, which a report for each such space lists, or a stream is captured; all
 * of them stay, unless something was allocated while they were being closed:
 * some are closed then, and the next use opens them with default attributes;
 * -EALREADY destroyed before; -EINVAL never was a manager, or an unknown flag;
 * -EDEADLK called from the function that receives the log, while this manager
 * opens a space; -EIO some memory could not be given back and is lost (the
 * manager has ended).
 */
SLABDEV_API int slabdev_manager_destroy(struct slabdev_manager *manager,
					unsigned int flags);

/**
 * slabdev_manager_space - the space of a kind of memory and a device
 * @manager: the manager
 * @kind: an enum slabdev_memory_kind
 * @device: ordinal of the CUDA device, as CUDA_VISIBLE_DEVICES counts;
 *          SLABDEV_NO_DEVICE for SLABDEV_MEMORY_HOST
 * @sd: set to the space, the same each time; untouched on failure
 *
 * The first time the space is opened with default attributes. It is the
 * manager's: caches, arenas, buffers and plain allocations may be made in it,
 * but slabdev_close() is not for it.
 *
 * Context: any thread. Driver: slow path.
 * Return: 0; -EINVAL @sd NULL, no such kind, or a device that the kind has not;
 * -EALREADY @manager was destroyed; -EDEADLK called from the function that
 * receives the log, while this manager opens a space; -ENODEV, -ENOTSUP,
 * -ENOMEM and the others of slabdev_open().
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_manager_space(struct slabdev_manager *manager, uint32_t kind,
		      int device, struct slabdev **sd);

/**
 * slabdev_manager_open - the same, when the space is to have attributes
 * @manager: the manager
 * @kind: an enum slabdev_memory_kind
 * @device: as for slabdev_manager_space()
 * @attr: as for slabdev_open(); NULL for the defaults
 * @sd: set to the space; NULL: not wanted
 *
 * Context: any thread. Driver: slow path.
 * Return: as slabdev_manager_space(), -E2BIG unknown attribute; -EEXIST the
 * manager has opened that space already.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_manager_open(struct slabdev_manager *manager, uint32_t kind, int device,
		     const struct slabdev_attr *attr, struct slabdev **sd);

/**
 * slabdev_manager_alloc - allocate memory of a kind, on a device
 * @manager: the manager
 * @kind: an enum slabdev_memory_kind
 * @device: as for slabdev_manager_space()
 * @bytes: not 0
 * @align: a power of two up to 1 GiB; 0: SLABDEV_ALIGN
 *
 * Costs two atomic additions more than slabdev_alloc_ex(), for the peaks.
 *
 * Context: any thread. Driver: slow path.
 * Return: the address; NULL with errno as slabdev_manager_space() and
 * slabdev_alloc_ex(), EINVAL also when @bytes is 0. Then no figure has changed
 * but that of failures.
 */
SLABDEV_API SLABDEV_MUST_CHECK void *
slabdev_manager_alloc(struct slabdev_manager *manager, uint32_t kind,
		      int device, size_t bytes, size_t align);

/**
 * slabdev_manager_free - free an object of any of its spaces
 * @manager: the manager
 * @p: the object; NULL is fine
 *
 * Context: any thread. Driver: as slabdev_free().
 * Return: as slabdev_free(); -EINVAL also when no space of @manager has that
 * address, with a report that says what it is instead. What fails has changed
 * nothing.
 */
SLABDEV_API int slabdev_manager_free(struct slabdev_manager *manager, void *p);

/**
 * slabdev_manager_space_of - whose memory is that?
 * @manager: the manager
 * @p: any address
 *
 * Context: any thread. Driver: never.
 * Return: the space of @manager that has this address; NULL with errno ENOENT
 * none has, EINVAL or EALREADY @manager is none.
 */
SLABDEV_API struct slabdev *
slabdev_manager_space_of(struct slabdev_manager *manager, const void *p);

/* ---- Ledgers ---------------------------------------------------------- */

/**
 * struct slabdev_ledger - what was done in a space, or in all of a manager's
 * @allocs: successful allocations since the space was opened
 * @frees: objects freed
 * @active: objects that are live, @allocs - @frees
 * @failed: allocations that failed, in the space or before it was found
 * @alloc_bytes: bytes asked for since the space was opened
 * @free_bytes: bytes of those that were freed
 * @current: bytes that live objects asked for, @alloc_bytes - @free_bytes
 * @peak: the highest @current so far, of what slabdev_manager_alloc() gave and
 *        slabdev_manager_free() took. It is exact if a program uses these
 *        alone; what it allocates from the space itself counts as far as it was
 *        live when a ledger was read
 * @reused: of @allocs, those that the space had memory for: no slab had to be
 *          made, and nothing to be mapped
 * @reused_bytes: of @alloc_bytes, what those asked for
 * @arena_bytes: bytes that arenas have mapped, in none of the figures above
 * @spaces: how many spaces it is about
 * @kind: an enum slabdev_memory_kind; 0 in a total
 * @device: its device; SLABDEV_NO_DEVICE for host memory, and in a total
 * @reserved: 0
 * @spec: what slabdev_open() calls it; "" in a total
 *
 * Figures are exact when no operation is in flight. A space that was closed
 * takes its figures with it.
 */
struct slabdev_ledger {
	uint64_t allocs;
	uint64_t frees;
	uint64_t active;
	uint64_t failed;
	uint64_t alloc_bytes;
	uint64_t free_bytes;
	uint64_t current;
	uint64_t peak;
	uint64_t reused;
	uint64_t reused_bytes;
	uint64_t arena_bytes;
	uint32_t spaces;
	uint32_t kind;
	int32_t device;
	uint32_t reserved;
	char spec[64];
};

/**
 * slabdev_manager_ledger - the figures of one space
 * @manager: the manager
 * @kind: an enum slabdev_memory_kind
 * @device: as for slabdev_manager_space()
 * @ledger: filled in
 * @size: sizeof(*@ledger)
 *
 * Context: any thread. Driver: never.
 * Return: 0; -ENOENT @manager has not opened that space; -EINVAL an argument;
 * -EALREADY @manager was destroyed; -EIO, -EOWNERDEAD the space is dead.
 */
SLABDEV_API int slabdev_manager_ledger(struct slabdev_manager *manager,
				       uint32_t kind, int device,
				       struct slabdev_ledger *ledger,
				       size_t size);

/**
 * slabdev_manager_count - how many spaces it has opened
 * @manager: the manager
 *
 * Context: any thread. Driver: never.
 * Return: the number; -EINVAL or -EALREADY @manager is none.
 */
SLABDEV_API int slabdev_manager_count(struct slabdev_manager *manager);

/**
 * slabdev_manager_ledger_at - the same as slabdev_manager_ledger(), by number
 * @manager: the manager
 * @index: 0 .. slabdev_manager_count() - 1, in the order of opening
 * @ledger: filled in
 * @size: sizeof(*@ledger)
 *
 * Context: any thread. Driver: never.
 * Return: as slabdev_manager_ledger(); -ENOENT there is no such number.
 */
SLABDEV_API int slabdev_manager_ledger_at(struct slabdev_manager *manager,
					  int index,
					  struct slabdev_ledger *ledger,
					  size_t size);

/**
 * slabdev_manager_total - the sum over all of its spaces
 * @manager: the manager
 * @ledger: filled in
 * @size: sizeof(*@ledger)
 *
 * The peak of a total is that of the sum, not the sum of the peaks. @failed has
 * also what reached no space.
 *
 * Context: any thread. Driver: never.
 * Return: as slabdev_manager_ledger().
 */
SLABDEV_API int slabdev_manager_total(struct slabdev_manager *manager,
				      struct slabdev_ledger *ledger,
				      size_t size);

/**
 * slabdev_manager_report - print a table of the ledgers
 * @manager: the manager
 * @out: where to
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EIO when @out could not be written, or a space is dead; -EINVAL,
 * -EALREADY, -EOWNERDEAD as slabdev_manager_ledger().
 */
SLABDEV_API int slabdev_manager_report(struct slabdev_manager *manager,
				       FILE *out);

/**
 * slabdev_ledger_efficiency - how much of the peak is in use
 * @ledger: from one of the functions above
 * @efficiency: set to @current / @peak, 0 to 1; untouched on failure
 *
 * Context: any thread. Driver: never.
 * Return: 0; -ENODATA nothing was allocated yet, and there is no answer;
 * -EINVAL an argument is NULL.
 */
SLABDEV_API int slabdev_ledger_efficiency(const struct slabdev_ledger *ledger,
					  double *efficiency);

/**
 * slabdev_ledger_average - bytes of an average request
 * @ledger: from one of the functions above
 * @bytes: set to @alloc_bytes / @allocs; untouched on failure
 *
 * Context: any thread. Driver: never.
 * Return: as slabdev_ledger_efficiency().
 */
SLABDEV_API int slabdev_ledger_average(const struct slabdev_ledger *ledger,
				       double *bytes);

/**
 * slabdev_ledger_hit_rate - how much was served by memory that was there
 * @ledger: from one of the functions above
 * @by_calls: set to @reused / @allocs; NULL: not wanted
 * @by_bytes: set to @reused_bytes / @alloc_bytes; NULL: not wanted
 *
 * Context: any thread. Driver: never.
 * Return: as slabdev_ledger_efficiency(); -EINVAL @ledger is NULL.
 */
SLABDEV_API int slabdev_ledger_hit_rate(const struct slabdev_ledger *ledger,
					double *by_calls, double *by_bytes);

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_MANAGER_H */
