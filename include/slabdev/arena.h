/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.h - memory that is given back all at once. Included by slabdev.h, whose
 * conventions hold here.
 *
 * An *arena* hands out memory by moving a top: an allocation rounds the top up
 * to its alignment and adds its size. Single allocations are not freed; the
 * arena goes back to a *mark*, or to its beginning.
 *
 * An arena has addresses of its own for all that it may ever hold
 * (attr.max_bytes) and grows in place: memory is mapped under them as the top
 * rises, and no address ever changes. An arena of up to 1 MiB, or one in a
 * space whose memory is not mapped by the library (attr.backing), is one object
 * instead, and takes its memory when it is made.
 *
 * Every bound is checked in every build: what does not fit is refused, and
 * nothing has changed.
 *
 * Order. An arena belongs to one stream (attr.stream): its memory is used by
 * work that is in that stream, or ordered behind it. What a rewind or a reset
 * gives back is used again by later work of the same stream. Work in other
 * streams is told of with slabdev_arena_use(): a rewind, a reset, the end, and
 * slabdev_stream_detach() of such a stream make the arena's stream wait for it.
 * A graph that was captured with memory of an arena uses it in each launch: for
 * these the arena has to stay as it was.
 *
 * One thread at a time uses an arena; a thread that wants its own makes its
 * own. Any number of arenas may be used at once.
 *
 * A token is as that of a buffer (buf.h): stale after slabdev_arena_destroy(),
 * and then refused for ever. slabdev_free() of an address in an arena is
 * refused, and names the arena; slabdev_explain() says how far the address is
 * from its beginning, and whether the top has gone back behind it.
 */
#ifndef SLABDEV_ARENA_H
#define SLABDEV_ARENA_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct slabdev_arena;

/** Marks that an arena can have at once. */
#define SLABDEV_ARENA_MARKS_MAX 4096u

/**
 * struct slabdev_arena_attr - how to make an arena
 * @size: sizeof(struct slabdev_arena_attr), set by SLABDEV_ARENA_ATTR_INIT; all
 *        else may be zero, the default
 * @max_bytes: the arena never holds more, nor more than the space's limit; 0:
 *             the limit, or 64 GiB if that is less, or as many as there are
 *             addresses for; where it is one object, 16 MiB. What it got,
 *             slabdev_arena_stats() says
 * @first_bytes: mapped at the creation; 0: nothing
 * @grow_bytes: mapped at least, when more is needed, rounded up to whole
 *              chunks, if it is to be had; 0: one chunk (2 MiB on most devices)
 * @align: of slabdev_arena_alloc(): a power of two up to 1 GiB; 0: 256
 * @stream: of the memory; it outlives the arena. NULL: the bound stream of the
 *          space
 * @name: for reports, and for SLABDEV_DEBUG as that of a cache; copied, up to
 *        63 bytes; NULL: "arena"
 * @flags: 0
 * @reserved: 0
 */
struct slabdev_arena_attr {
	size_t size;
	uint64_t max_bytes;
	uint64_t first_bytes;
	uint64_t grow_bytes;
	size_t align;
	slabdev_stream_t stream;
	const char *name;
	uint32_t flags;
	uint32_t reserved;
};
#ifdef __cplusplus
#define SLABDEV_ARENA_ATTR_INIT \
	{ sizeof(struct slabdev_arena_attr), 0, 0, 0, 0, nullptr, nullptr, \
	  0, 0 }
#else
#define SLABDEV_ARENA_ATTR_INIT \
	{ sizeof(struct slabdev_arena_attr), 0, 0, 0, 0, NULL, NULL, 0, 0 }
#endif

/**
 * slabdev_arena_create - make an arena
 * @arena: set to the token; untouched on failure
 * @sd: the space
 * @attr: NULL for the defaults
 *
 * Context: any thread. Driver: slow path when attr.first_bytes is set.
 * Return: 0; -EINVAL a bad attribute, which the error text names; -E2BIG an
 * unknown one; -ENOMEM no memory, no addresses; -EDQUOT, -EIO, -EOWNERDEAD as
 * slabdev_alloc(); -ENOTSUP more than 1 MiB in a space with SLABDEV_OPEN_COMM,
 * whose memory stays; -ENOSPC 65,536 arenas exist.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_arena_create(struct slabdev_arena **arena, struct slabdev *sd,
		     const struct slabdev_arena_attr *attr);

/**
 * slabdev_arena_alloc - the next @size bytes
 * @arena: the arena
 * @size: bytes; 0 returns NULL with errno 0
 *
 * The address is a multiple of attr.align.
 *
 * Context: one thread at a time. Driver: never, but where the arena grows.
 * Return: the address; NULL with errno ENOSPC beyond attr.max_bytes, EDQUOT
 * beyond the space's limit, EOVERFLOW beyond what can be counted, ENOMEM, EIO,
 * EOWNERDEAD as slabdev_alloc(), EBUSY memory that could not be given back lies
 * where more is needed (slabdev_trim() tries again), EALREADY the arena was
 * destroyed, EINVAL it never was one.
 */
SLABDEV_API SLABDEV_MUST_CHECK void *
slabdev_arena_alloc(struct slabdev_arena *arena, size_t size);

/**
 * slabdev_arena_alloc_aligned - the same at an alignment of its own
 * @arena: the arena
 * @size: bytes; 0 returns NULL with errno 0
 * @align: a power of two up to 1 GiB; it may be below attr.align
 *
 * Context: one thread at a time. Driver: never, but where the arena grows.
 * Return: as slabdev_arena_alloc(); NULL with errno EINVAL also where @align is
 * no such power.
 */
SLABDEV_API SLABDEV_MUST_CHECK void *
slabdev_arena_alloc_aligned(struct slabdev_arena *arena, size_t size,
			    size_t align);

/**
 * struct slabdev_arena_mark - how far an arena was filled
 * @id: 0: none
 * @offset: of the top, in bytes
 */
struct slabdev_arena_mark {
	uint64_t id;
	uint64_t offset;
};
#define SLABDEV_ARENA_MARK_INIT { 0, 0 }

/**
 * slabdev_arena_mark - remember how far the arena is filled
 * @arena: the arena
 * @mark: set
 *
 * Marks nest. One ends when the arena is rewound to it, to an earlier one, or
 * reset, or by slabdev_arena_unmark().
 *
 * Context: one thread at a time. Driver: never.
 * Return: 0; -EINVAL, -EALREADY as above; -ENOMEM no host memory, -ENOSPC
 * SLABDEV_ARENA_MARKS_MAX marks are there.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_arena_mark(struct slabdev_arena *arena,
		   struct slabdev_arena_mark *mark);

/**
 * slabdev_arena_rewind - give back what was allocated since a mark
 * @arena: the arena
 * @mark: from slabdev_arena_mark() of this arena; it ends, and those that were
 *        made after it
 *
 * Context: one thread at a time. Driver: an event for each other stream that
 * was told of; memory stays mapped.
 * Return: 0; -EINVAL @mark is of another arena or none; -EALREADY it has ended,
 * or the arena was destroyed; -EBUSY a stream that uses the arena cannot be
 * waited for yet: nothing was given back, try again later; -EIO, -EOWNERDEAD.
 */
SLABDEV_API int slabdev_arena_rewind(struct slabdev_arena *arena,
				     const struct slabdev_arena_mark *mark);

/**
 * slabdev_arena_unmark - end a mark, and go back nowhere
 * @arena: the arena
 * @mark: from slabdev_arena_mark() of this arena; it alone ends, those that
 *        were made before it and after it hold
 *
 * What was allocated since stays, until the arena goes back behind it.
 *
 * Context: one thread at a time. Driver: never.
 * Return: 0; -EINVAL, -EALREADY as slabdev_arena_rewind(); -EIO, -EOWNERDEAD
 * the space is dead.
 */
SLABDEV_API int slabdev_arena_unmark(struct slabdev_arena *arena,
				     const struct slabdev_arena_mark *mark);

/**
 * slabdev_arena_reset - give back everything
 * @arena: the arena
 *
 * The memory stays mapped under SLABDEV_RETAIN. Under the other policies it
 * goes back to the space, all of it (SLABDEV_AGGRESSIVE) or what the space has
 * beyond policy.keep_bytes, as far as the device is done with it; the rest
 * follows at slabdev_poll(), slabdev_trim() or when memory is short.
 *
 * Context: one thread at a time. Driver: slow path.
 * Return: as slabdev_arena_rewind().
 */
SLABDEV_API int slabdev_arena_reset(struct slabdev_arena *arena);

/**
 * slabdev_arena_use - work on another stream uses the arena too
 * @arena: the arena
 * @stream: reads or writes it, until the next rewind, reset or the end
 *
 * Context: one thread at a time. Driver: never.
 * Return: 0; -EINVAL no stream of this kind of memory; -ENOSPC 14 other streams
 * use it; -EALREADY the arena was destroyed.
 */
SLABDEV_API int slabdev_arena_use(struct slabdev_arena *arena,
				  slabdev_stream_t stream);

/**
 * slabdev_arena_destroy - give back everything, and the addresses
 * @arena: the arena; NULL is fine
 *
 * Waits until the device is done with the memory, but where the arena is one
 * object: that is freed in the order of the arena's stream.
 *
 * Context: one thread at a time. Driver: slow path.
 * Return: 0; -EINVAL it never was an arena; -EALREADY it was destroyed; -EBUSY
 * its stream is captured, its memory exported, or it cannot be told whether the
 * device is done: the arena stays, try again later; -EIO what could not be
 * given back is lost, and the arena is gone; -EIO, -EOWNERDEAD the space is
 * dead, and the arena ends with it.
 */
SLABDEV_API int slabdev_arena_destroy(struct slabdev_arena *arena);

/**
 * struct slabdev_arena_stats - the figures of an arena
 * @max_bytes: it never holds more
 * @mapped: bytes of memory that it has
 * @used: bytes from its beginning to the top, padding included
 * @peak: the highest @used so far
 * @padding: of @used, bytes that alignment skipped
 * @padding_total: skipped since the creation
 * @requested_total: bytes asked for since the creation
 * @allocs: successful allocations since the creation
 * @failed: allocations that failed
 * @marks: that are there
 * @rewinds: since the creation
 * @resets: since the creation
 * @grows: times that memory was mapped
 */
struct slabdev_arena_stats {
	uint64_t max_bytes;
	uint64_t mapped;
	uint64_t used;
	uint64_t peak;
	uint64_t padding;
	uint64_t padding_total;
	uint64_t requested_total;
	uint64_t allocs;
	uint64_t failed;
	uint64_t marks;
	uint64_t rewinds;
	uint64_t resets;
	uint64_t grows;
};

/**
 * slabdev_arena_stats - read the figures of an arena
 * @arena: the arena
 * @st: filled in
 * @size: sizeof(*@st)
 *
 * Context: one thread at a time. Driver: never.
 * Return: 0; -EINVAL @st NULL or @size 0, or no arena; -EALREADY a stale one.
 */
SLABDEV_API int slabdev_arena_stats(struct slabdev_arena *arena,
				    struct slabdev_arena_stats *st,
				    size_t size);

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define slabdev_arena_use(arena, stream) \
	slabdev_arena_use(arena, (stream) ? (stream) : \
				 SLABDEV_STREAM_PER_THREAD)
#endif

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_ARENA_H */
