// SPDX-License-Identifier: BSD-2-Clause
/*
 * pack.c - where the data of a tensor's blocks is
 *
 * One allocation a block, made and freed one by one: this is the load that the
 * allocator below is meant for, and the solver's usual way. With --blocks=group
 * the blocks that are made together share one allocation:
 *
 *	what one owner makes and drops as a whole is a *group*: a wave function,
 *	an environment, the products of one application of H, the factors of a
 *	split;
 *
 *	what several may own is a buffer, and each block a *view* of it: the
 *	tensors of the sites, which belong to the state in work and to the one
 *	that is kept to go back to (sweep.c). tensor_share() then is a count,
 *	and a copy where blocks are allocated one by one.
 *
 * A task that finds a block without memory gets it for itself; so tasks need
 * not know which way is taken (block_ready()).
 *
 * Whatever is in one allocation goes to another memory in one copy.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "tensor.h"

static size_t block_bytes(const struct block *b)
{
	return block_elems(b) * sizeof(double);
}

static size_t tensor_bytes(const struct tensor *t)
{
	size_t bytes = 0;
	int i;

	for (i = 0; i < t->nr; i++)
		bytes += block_bytes(&t->blocks[i]);
	return bytes;
}

/* What an allocator is asked, and what it answers, for each block. */
struct request {
	size_t *sizes;
	void **ptrs;
};

static void request_free(struct request *r)
{
	free(r->sizes);
	free(r->ptrs);
}

static int request_init(struct request *r, const struct tensor *t)
{
	int i, elems;

	r->sizes = calloc((size_t)t->nr + 1, sizeof(*r->sizes));
	r->ptrs = calloc((size_t)t->nr + 1, sizeof(*r->ptrs));
	if (!r->sizes || !r->ptrs)
		goto free_request;
	for (i = 0; i < t->nr; i++) {
		if (__builtin_mul_overflow(t->blocks[i].rows,
					   t->blocks[i].cols, &elems)) {
			request_free(r);
			return -EOVERFLOW;
		}
		r->sizes[i] = (size_t)elems * sizeof(double);
	}
	return 0;

free_request:
	request_free(r);
	return -ENOMEM;
}

static bool is_empty(const struct tensor *t)
{
	int i;

	for (i = 0; i < t->nr; i++)
		if (t->blocks[i].rows)
			return false;
	return true;
}

static int ask(struct tensor *t, struct request *r, bool shared)
{
	int err;

	if (!shared)
		return mem_group_alloc(t->mem, r->sizes, t->nr, r->ptrs,
				       &t->group);
	t->views = calloc((size_t)t->nr, sizeof(struct slabdev_buf *));
	if (!t->views)
		return -ENOMEM;
	err = mem_views_alloc(t->mem, r->sizes, t->nr, r->ptrs, t->views);
	if (err) {
		free(t->views);
		t->views = NULL;
	}
	return err;
}

static int pack(struct tensor *t, bool shared)
{
	struct request r;
	int i, err;

	if (!mem_is_grouped(t->mem) || is_empty(t))
		return 0;
	err = request_init(&r, t);
	if (err)
		return err;
	err = ask(t, &r, shared);
	for (i = 0; !err && i < t->nr; i++)
		t->blocks[i].data = r.ptrs[i];
	request_free(&r);
	return err;
}

/* One allocation for all blocks that have a shape, where they are grouped. */
int tensor_pack(struct tensor *t)
{
	return pack(t, false);
}

static int tensor_ready(struct tensor *t, bool zero)
{
	int i, err = 0;

	for (i = 0; !err && i < t->nr; i++)
		if (t->blocks[i].rows)
			err = zero ? block_ready_zero(t->mem, &t->blocks[i])
				   : block_ready(t->mem, &t->blocks[i]);
	return err;
}

/* Give memory, zeroed, to every block that has a shape. */
int tensor_alloc(struct tensor *t)
{
	int err = pack(t, false);

	return err ? err : tensor_ready(t, true);
}

/* The same, of a tensor that may get further owners. */
int tensor_alloc_shared(struct tensor *t)
{
	int err = pack(t, true);

	return err ? err : tensor_ready(t, true);
}

/* The last user of one block: it goes at once, unless it is part of more. */
void tensor_drop(struct tensor *t, struct block *b)
{
	if (!t->group && !t->views)
		block_free(t->mem, b);
}

/* The first block that has memory, and the bytes from there to the end. */
static void *tensor_extent(const struct tensor *t, size_t *extent)
{
	const struct block *b, *first = NULL;
	int i;

	*extent = 0;
	for (i = 0; i < t->nr; i++) {
		b = &t->blocks[i];
		if (!b->data)
			continue;
		if (!first)
			first = b;
		*extent = (size_t)((char *)b->data - (char *)first->data) +
			  block_bytes(b);
	}
	return first ? first->data : NULL;
}

/* The memory, but not the table. */
void tensor_release(struct tensor *t)
{
	size_t extent;
	void *base;
	int i;

	if (!t->group && !t->views) {
		for (i = 0; i < t->nr; i++)
			block_free(t->mem, &t->blocks[i]);
		return;
	}
	base = tensor_extent(t, &extent);
	if (t->group)
		mem_group_free(t->mem, t->group, base, tensor_bytes(t));
	else
		mem_views_put(t->mem, t->views, t->nr, base, tensor_bytes(t));
	free(t->views);
	t->views = NULL;
	t->group = NULL;
	for (i = 0; i < t->nr; i++)
		t->blocks[i].data = NULL;
}

static int copy_blocks(struct tensor *to, const struct tensor *from)
{
	int i, err;

	err = tensor_ready(to, false);
	for (i = 0; !err && i < to->nr; i++)
		if (to->blocks[i].rows)
			mem_device(to->mem)->copy(to->blocks[i].data,
						  from->blocks[i].data,
						  block_bytes(&to->blocks[i]));
	return err;
}

/* One owner more of each block. */
static int share_views(struct tensor *to, const struct tensor *from)
{
	const size_t bytes = (size_t)from->nr * sizeof(struct slabdev_buf *);
	struct slabdev_buf **views = malloc(bytes);
	int err;

	if (!views)
		return -ENOMEM;
	err = mem_views_get(to->mem, from->views, from->nr);
	if (err) {
		free(views);
		return err;
	}
	memcpy(views, from->views, bytes);
	memcpy(to->blocks, from->blocks,
	       (size_t)from->nr * sizeof(*to->blocks));
	to->views = views;
	return 0;
}

/* @to has no blocks yet; what it gets may be read by both, and not written. */
int tensor_share(struct tensor *to, const struct tensor *from)
{
	int err;

	err = tensor_init_like(to, from);
	if (err)
		return err;
	err = from->views ? share_views(to, from) : copy_blocks(to, from);
	if (err)
		tensor_free(to);
	return err;
}

/* Both have the same blocks; one of the memories is the CPU's. */
static void tensor_transfer(struct tensor *to, const struct tensor *from)
{
	const struct device *dev = mem_device(to->mem);
	void (*copy)(void *to, const void *from, size_t bytes) = dev->write;
	size_t extent;
	void *base;
	int i;

	if (dev->is_cpu)
		copy = mem_device(from->mem)->read;
	if (to->group || to->views) {
		base = tensor_extent(from, &extent);
		copy(tensor_extent(to, &extent), base, extent);
		return;
	}
	for (i = 0; i < to->nr; i++)
		if (to->blocks[i].rows)
			copy(to->blocks[i].data, from->blocks[i].data,
			     block_bytes(&to->blocks[i]));
}

/* Nothing happens where there is one memory for all. */
int tensor_move(struct tensor *t, struct mem *mem)
{
	struct tensor to;
	int err;

	if (t->mem == mem)
		return 0;
	err = tensor_init_like(&to, t);
	if (err)
		return err;
	to.mem = mem;
	err = pack(&to, t->views);
	if (!err)
		err = tensor_ready(&to, false);
	if (err) {
		tensor_free(&to);
		return err;
	}
	tensor_transfer(&to, t);
	tensor_free(t);
	*t = to;
	return 0;
}
