/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.h - many blocks in one allocation. Included by slabdev.h, whose
 * conventions hold here.
 *
 * Codes with thousands of small blocks a step pay for each allocation, each
 * message and each kernel launch. A *group* packs the blocks into one
 * contiguous buffer, one behind the other in the caller's order, each at its
 * alignment: one allocation, one free; base and size are one message, and one
 * batched matrix product finds its operands by pointers or, where the sizes
 * are equal, by a stride.
 *
 * Every byte from the base to the end is the user's, also between blocks, so
 * that one message can fill a group: the checks of SLABDEV_DEBUG guard its two
 * ends.
 *
 * The library keeps nothing of single blocks. slabdev_free() of a group's
 * memory is refused, and names the group. A token is as that of a buffer
 * (buf.h): stale after the free, and then refused for ever.
 */
#ifndef SLABDEV_GROUP_H
#define SLABDEV_GROUP_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct slabdev_group;
struct slabdev_req;

/** Blocks that a group can have. */
#define SLABDEV_GROUP_MAX ((size_t)1 << 30)

/**
 * slabdev_group_alloc - one buffer for @n blocks
 * @group: set to the token; untouched on failure
 * @sd: the space
 * @sizes: bytes of each block; one of 0 bytes is fine: it gets NULL, and takes
 *         no room
 * @n: how many, not 0
 * @align: of each block: a power of two up to 1 GiB; 0: SLABDEV_ALIGN
 * @ptrs: set to the address of each block, in the order of @sizes; NULL: not
 *        wanted, they follow from base, sizes and alignment. Unchanged on
 *        failure
 *
 * Block i begins where block i - 1 ends, rounded up to @align. At least one
 * block must have a size.
 *
 * Context: any thread. Driver: slow path.
 * Return: 0; -EINVAL an argument, which the error text names, with the index of
 * a block; -EOVERFLOW the sum cannot be counted; -ENOMEM, -EDQUOT, -EIO,
 * -EOWNERDEAD, -EBUSY as slabdev_alloc(); -ENOSPC 16 million groups exist.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_group_alloc(struct slabdev_group **group, struct slabdev *sd,
		    const size_t *sizes, size_t n, size_t align, void **ptrs);

/**
 * struct slabdev_group_attr - the details of one group
 * @size: sizeof(struct slabdev_group_attr), set by SLABDEV_GROUP_ATTR_INIT; all
 *        else may be zero, the default
 * @aligns: alignment of each block: a power of two up to 1 GiB, or 0: @align;
 *          NULL: @align for all
 * @align: as for slabdev_group_alloc()
 * @req: flags, stream and tag as for slabdev_alloc_ex(), its align raises that
 *       of the base; NULL: defaults
 * @offsets: set to the offset of each block from the base, that of a block of 0
 *           bytes to 0; NULL: not wanted. Unchanged on failure
 * @flags: SLABDEV_GROUP_*
 * @reserved: 0
 */
struct slabdev_group_attr {
	size_t size;
	const size_t *aligns;
	size_t align;
	const struct slabdev_req *req;
	size_t *offsets;
	uint32_t flags;
	uint32_t reserved;
};
#ifdef __cplusplus
#define SLABDEV_GROUP_ATTR_INIT \
	{ sizeof(struct slabdev_group_attr), nullptr, 0, nullptr, nullptr, \
	  0, 0 }
#else
#define SLABDEV_GROUP_ATTR_INIT \
	{ sizeof(struct slabdev_group_attr), NULL, 0, NULL, NULL, 0, 0 }
#endif

/** Group flag: fail with -EDOM unless all blocks lie one stride apart. */
#define SLABDEV_GROUP_STRIDED 0x1u

/**
 * slabdev_group_alloc_ex - the same with details
 * @group: set to the token; untouched on failure
 * @sd: the space
 * @sizes: as for slabdev_group_alloc(), with @n and @ptrs
 * @n: how many, not 0
 * @ptrs: set to the address of each block; NULL: not wanted
 * @attr: the details; NULL for the defaults
 *
 * Context: any thread. Driver: slow path.
 * Return: as slabdev_group_alloc() and slabdev_alloc_ex(); -EDOM the blocks
 * have no common stride, and SLABDEV_GROUP_STRIDED was asked for.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_group_alloc_ex(struct slabdev_group **group, struct slabdev *sd,
		       const size_t *sizes, size_t n, void **ptrs,
		       const struct slabdev_group_attr *attr);

/**
 * slabdev_group_base - where the buffer begins
 * @group: the group
 *
 * Context: any thread. Driver: never.
 * Return: the address; NULL with errno EALREADY a stale token, EINVAL none.
 */
SLABDEV_API void *slabdev_group_base(const struct slabdev_group *group);

/**
 * slabdev_group_size - how long the buffer is
 * @group: the group
 *
 * Context: any thread. Driver: never.
 * Return: bytes from the base to the end of the last block; 0 with errno
 * EALREADY a stale token, EINVAL none.
 */
SLABDEV_API size_t slabdev_group_size(const struct slabdev_group *group);

/**
 * slabdev_group_count - how many blocks there are
 * @group: the group
 *
 * Context: any thread. Driver: never.
 * Return: the number, with those of 0 bytes; 0 with errno EALREADY a stale
 * token, EINVAL none.
 */
SLABDEV_API size_t slabdev_group_count(const struct slabdev_group *group);

/**
 * slabdev_group_stride - the distance between the beginnings of blocks
 * @group: the group
 *
 * Context: any thread. Driver: never.
 * Return: bytes, when every block begins so far behind the one before, however
 * long the last one is; 0 when there is no such distance, when a block has 0
 * bytes, or with errno for a stale token. Of one block: its size, rounded up
 * to its alignment.
 */
SLABDEV_API size_t slabdev_group_stride(const struct slabdev_group *group);

/**
 * slabdev_group_free - free all blocks
 * @group: the group; NULL is fine
 *
 * Context: any thread. Driver: as slabdev_free().
 * Return: 0; -EALREADY it was freed before, or its space was closed, -EINVAL it
 * never was a group, both with a report; -EBUSY its memory is exported; -EIO,
 * -EOWNERDEAD the space is dead. The group is what it was then.
 */
SLABDEV_API int slabdev_group_free(struct slabdev_group *group);

/**
 * slabdev_group_free_async - free all blocks when the work of a stream is done
 * @group: the group; NULL is fine
 * @stream: the stream that uses it last, as for slabdev_free_async()
 *
 * Context: any thread. Driver: as slabdev_free_async().
 * Return: as slabdev_group_free(); -EINVAL also no stream of this kind of
 * memory.
 */
SLABDEV_API int slabdev_group_free_async(struct slabdev_group *group,
					 slabdev_stream_t stream);

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define slabdev_group_free_async(group, stream) \
	slabdev_group_free_async(group, (stream) ? (stream) : \
					SLABDEV_STREAM_PER_THREAD)
#endif

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_GROUP_H */
