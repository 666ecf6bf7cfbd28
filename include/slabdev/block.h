/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * block.h - descriptions of objects that can be asked whether they still hold.
 * Included by slabdev.h, whose conventions hold here.
 *
 * A *block* describes a live object: where it is, how long, what memory. It is
 * a copy of facts, and may be copied; it does not remember whether the object
 * is live. That is asked of the space, which knows by the block's number: the
 * object has it until it is freed, by whichever call, and no other object, at
 * the same address or not, will ever have it. slabdev_realloc() that leaves
 * the object where it is leaves it its number too.
 */
#ifndef SLABDEV_BLOCK_H
#define SLABDEV_BLOCK_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** enum slabdev_block_kind - who can touch the memory */
enum slabdev_block_kind {
	SLABDEV_BLOCK_HOST = 1,		/* "host": the CPU */
	SLABDEV_BLOCK_DEVICE = 2,	/* "cuda:N": the device */
	SLABDEV_BLOCK_PINNED = 3,	/* "cuda-host:N": both */
	SLABDEV_BLOCK_MANAGED = 4,	/* "cuda-managed:N": both */
};

/**
 * struct slabdev_block - a live object, as it was when it was asked for
 * @size: sizeof(struct slabdev_block), set by SLABDEV_BLOCK_INIT
 * @ptr: its address
 * @bytes: as asked for
 * @usable: slabdev_usable_size()
 * @align: the largest power of two that divides the address, at most 1 GiB
 * @id: its number, never 0
 * @kind: an enum slabdev_block_kind
 * @device: of CUDA memory the ordinal; -1: host memory
 * @space: a number of the space, which no other one has in this process
 */
struct slabdev_block {
	size_t size;
	void *ptr;
	uint64_t bytes;
	uint64_t usable;
	uint64_t align;
	uint64_t id;
	uint32_t kind;
	int32_t device;
	uint64_t space;
};
#ifdef __cplusplus
#define SLABDEV_BLOCK_INIT \
	{ sizeof(struct slabdev_block), nullptr, 0, 0, 0, 0, 0, 0, 0 }
#else
#define SLABDEV_BLOCK_INIT \
	{ sizeof(struct slabdev_block), NULL, 0, 0, 0, 0, 0, 0, 0 }
#endif

/**
 * slabdev_block_get - describe a live object
 * @sd: the space
 * @p: its address
 * @block: filled in; initialise it with SLABDEV_BLOCK_INIT
 *
 * The first time, the object gets a number, which costs a note of host memory
 * and makes its free a slow one.
 *
 * Context: any thread; nobody may free the object meanwhile. Driver: never.
 * Return: 0; -EINVAL no live object begins at @p, @sd or @block NULL, or @block
 * not initialised; -E2BIG @block has fields that this version does not know,
 * and they are not zero; -ENOMEM no host memory; -EIO, -EOWNERDEAD the space is
 * dead.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_block_get(struct slabdev *sd, void *p, struct slabdev_block *block);

/**
 * slabdev_block_check - is it still the same object?
 * @sd: the space
 * @block: from slabdev_block_get(), or a copy
 *
 * Context: any thread. Driver: never.
 * Return: 0 the object is live; -ESTALE it was freed, also when another object
 * is at its address now; -EINVAL @block was never filled in, or not by this
 * space; -E2BIG as slabdev_block_get(); -EIO, -EOWNERDEAD the space is dead.
 */
SLABDEV_API int slabdev_block_check(struct slabdev *sd,
				    const struct slabdev_block *block);

/**
 * slabdev_block_free - free the object, if it is still the same
 * @sd: the space
 * @block: from slabdev_block_get(), or a copy
 *
 * Of several frees by copies of a block, also at the same time, one frees.
 *
 * Context: any thread. Driver: as slabdev_free().
 * Return: 0; -EALREADY it was freed before, with a report, and nothing has
 * changed; -EINVAL, -E2BIG as slabdev_block_check(), -EINVAL also where the
 * object belongs to a buffer, a group or an arena; -EBUSY it is exported.
 */
SLABDEV_API int slabdev_block_free(struct slabdev *sd,
				   const struct slabdev_block *block);

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_BLOCK_H */
