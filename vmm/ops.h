/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ops.h - the contract between the memory manager and a backend.
 *
 * A backend is a const table of these operations and a device pointer that is
 * passed to each. The model is the CUDA virtual memory management API; the
 * host backend keeps the same rules, so that what breaks them breaks there
 * first. Addresses are integers: nothing above a backend dereferences one.
 *
 * Rules for the caller (struct vmm keeps them; the contract tests check that
 * a backend refuses breaches where it can see them):
 *
 *   - every size and every address is a multiple of granularity();
 *   - a mapping covers one whole handle, in one reservation, over addresses
 *     that are not mapped; it is unmapped whole;
 *   - set_access covers one or more whole, adjacent mappings;
 *   - a handle is released after it was unmapped, a reservation freed exactly
 *     as it was made, after everything in it was unmapped.
 *
 * Rules for the backend: each operation may be called by several threads at
 * once on different addresses; returns 0 or a negative errno; on failure
 * changes nothing and leaves output parameters alone. May block; may not call
 * back. -ENOMEM means that memory is exhausted and a retry after giving some
 * back makes sense; any other error means that it does not.
 */
#ifndef VMM_OPS_H
#define VMM_OPS_H

#include <slabdev/slabdev.h>

#define VMM_CHECK_CLEAN (~(u64)0)

/* Bytes that should all be the same. */
struct vmm_check {
	u64 addr;
	u64 size;		/* may be 0 */
	u64 first_bad;		/* set: offset from @addr; VMM_CHECK_CLEAN */
	u32 tag;		/* the caller's own */
	u8 byte;
};

struct vmm_ops {
	const char *name;
	/* A child of fork() has its own copy of the memory and may go on. */
	bool survives_fork;
	/* Work is done when the call that asked for it returns: no event is
	 * needed to know that memory is not used any more. */
	bool synchronous;
	/* A reservation is memory: creating and mapping cost nothing, and only
	 * unreserve() gives anything back. Reserve no more than is needed. */
	bool backed;
	/* Creating and mapping cost by the call, not by the byte: much memory
	 * should come in few handles. */
	bool dear_handles;
	/* An operation that fails has set the error text of the thread. */
	bool explains;
	/* The CPU may touch the memory, and is who it is handed to. */
	bool for_cpu;

	/* Bytes of the smallest piece of memory; a power of two. */
	int (*granularity)(void *dev, u64 *bytes);

	/* Addresses without memory, aligned to @align (a power of two). */
	int (*reserve)(void *dev, u64 size, u64 align, u64 *addr);
	int (*unreserve)(void *dev, u64 addr, u64 size);

	/* Physical memory without an address; content undefined. */
	int (*create)(void *dev, u64 size, u64 *handle);
	int (*release)(void *dev, u64 handle, u64 size);

	/* Bring a handle to an address; not accessible yet. */
	int (*map)(void *dev, u64 addr, u64 size, u64 handle);
	int (*set_access)(void *dev, u64 addr, u64 size);
	/* Accesses end; the address is reserved again, the handle lives. */
	int (*unmap)(void *dev, u64 addr, u64 size);

	/*
	 * Work on accessible memory, in the order of @stream, NULL: the one
	 * that the device was opened with; any alignment, @size may be 0. In
	 * the 2-D forms @height rows of @width bytes lie @pitch bytes apart.
	 * read() comes after the work of that stream, and returns when the
	 * bytes are there.
	 */
	int (*fill)(void *dev, u64 addr, u64 size, u8 byte,
		    slabdev_stream_t stream);
	int (*fill2d)(void *dev, u64 addr, u64 pitch, u64 width, u64 height,
		      u8 byte, slabdev_stream_t stream);
	int (*read)(void *dev, void *to, u64 addr, u64 size);
	int (*read2d)(void *dev, void *to, u64 to_pitch, u64 addr, u64 pitch,
		      u64 width, u64 height);
	int (*copy)(void *dev, u64 to, u64 from, u64 size,
		    slabdev_stream_t stream);

	/*
	 * An event marks a point of a stream: query() is 0 once all work before
	 * it is done, -EBUSY until then; wait() returns when it is. record() is
	 * -EAGAIN where a stream capture forbids it; the capture goes on. Each
	 * of the three is -EXDEV when a capture has got hold of the event: it
	 * is of no use any more but to be destroyed.
	 */
	int (*event_create)(void *dev, u64 *event);
	int (*event_record)(void *dev, u64 event, slabdev_stream_t stream);
	int (*event_query)(void *dev, u64 event);
	int (*event_wait)(void *dev, u64 event);
	int (*event_destroy)(void *dev, u64 event);
	/* What is put into @stream from now on comes after what the event
	 * marks. Also -EAGAIN: @stream is being captured. */
	int (*stream_wait)(void *dev, slabdev_stream_t stream, u64 event);

	/* 0: @stream is one that work on this memory can be put into, as far
	 * as can be told; else -EINVAL with the error text set. */
	int (*check_stream)(void *dev, slabdev_stream_t stream);
	/* 1: what is put into @stream goes into a graph, or would spoil the
	 * capture of another one; 0: it runs; or a negative errno. */
	int (*is_captured)(void *dev, slabdev_stream_t stream);
	/* Wait for all work of the device, in whatever stream. -EAGAIN where a
	 * stream capture forbids it. */
	int (*quiesce)(void *dev);

	/* What the device has, all processes counted. */
	int (*meminfo)(void *dev, u64 *free_bytes, u64 *total_bytes);

	/*
	 * Optional: where reading costs more than letting the device look. Find
	 * in each range the first byte that differs, after the work of the
	 * stream that the device was opened with. -ENOTSUP: not here, or not
	 * any more; -EBUSY: too many look; -EAGAIN: a stream capture forbids
	 * it. After any of them the memory may be read instead.
	 */
	int (*check)(void *dev, struct vmm_check *ranges, u32 nr);

	/* Optional. Give back what the backend itself kept of freed memory. */
	int (*trim)(void *dev);
	/*
	 * Optional. 0, or the error that all operations give from now on:
	 * -EIO the driver cannot go on, -EOWNERDEAD the device was reset; the
	 * error text is set.
	 */
	int (*health)(void *dev);
	/* Optional. The device is not used any more: the opposite of what
	 * vmm_backend_find() did. */
	void (*put)(void *dev);
	/* Optional. What the memory is, in a few words. */
	void (*describe)(void *dev, char *buf, size_t len);
	/* Optional. By which ways other processes, devices and network cards
	 * reach memory of the reservation that begins at @addr, and why not: a
	 * line each, after a newline and two blanks. */
	void (*describe_ways)(void *dev, u64 addr, char *buf, size_t len);

	/*
	 * Optional, all three or none: handles that go from one process to
	 * another. share_type() is the enum slabdev_handle_type that this
	 * device has. share() fills in kind, type, fd or fabric, and uuid.
	 * import() makes a handle of what share() has filled in elsewhere, of
	 * share->handle_bytes, or fails; the numbers in it are consistent,
	 * nothing else is to be believed. The descriptor stays the caller's.
	 */
	u32 (*share_type)(void *dev);
	int (*share)(void *dev, u64 handle, struct slabdev_share *share);
	int (*import)(void *dev, const struct slabdev_share *share,
		      u64 *handle);
};

/* The operations, as they are counted and made to fail. */
enum vmm_op {
	VMM_OP_RESERVE,
	VMM_OP_UNRESERVE,
	VMM_OP_CREATE,
	VMM_OP_RELEASE,
	VMM_OP_MAP,
	VMM_OP_SET_ACCESS,
	VMM_OP_UNMAP,
	VMM_OP_FILL,
	VMM_OP_READ,
	VMM_OP_COPY,
	VMM_OP_EVENT,
	VMM_OP_MEMINFO,
	VMM_NR_OPS
};
/* The first this many are memory management (promise P1 counts them). */
#define VMM_NR_MANAGEMENT_OPS (VMM_OP_UNMAP + 1)

const char *vmm_op_name(enum vmm_op op);

#endif /* VMM_OPS_H */
