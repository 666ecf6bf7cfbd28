// SPDX-License-Identifier: BSD-2-Clause
/*
 * pack.c - the public calls for plans (pack.h has how one is made).
 *
 * Nothing of the caller's is written before all is done, and nothing fails
 * then: an error leaves the blocks as they were.
 */
#include <errno.h>

#include "core/log.h"
#include "core/overflow.h"
#include "core/usercopy.h"
#include "slab/pack_holes.h"

/* Orders that are tried before the search is, and where it is not. */
#define FEW_ROUNDS 8u
#define MANY_ROUNDS UINT32_MAX

/* ---- Making a plan ------------------------------------------------------- */

static int read_attr(struct slabdev_pack_attr *to,
		     const struct slabdev_pack_attr *from)
{
	int err = copy_struct_from_user(to, sizeof(*to), from, "attr");

	if (err)
		return err;
	if (to->flags)
		return error_set(-EINVAL, "attr.flags %#llx has bits that this "
				 "version does not know",
				 (unsigned long long)to->flags);
	if (!to->effort)
		to->effort = SLABDEV_PACK_EFFORT;
	return 0;
}

/* One way after the other until the goal is reached. */
static int make_plan(struct pack *p)
{
	bool can_search = p->nr <= PACK_SEARCH_BLOCKS &&
			  p->nr_pairs <= PACK_SEARCH_PAIRS;
	int err;

	err = pack_sweep(p);
	if (err || pack_is_done(p) || pack_is_spent(p) ||
	    p->nr_pairs > PACK_PAIRS)
		return err;
	err = pack_pair(p);
	if (!err)
		err = pack_list(p, can_search ? FEW_ROUNDS : MANY_ROUNDS);
	if (!err && can_search && !pack_is_done(p))
		err = pack_search(p);
	return err;
}

static void write_plan(const struct pack *p, struct slabdev_pack_block *blocks,
		       const struct slabdev_pack_attr *attr, uint64_t *total)
{
	u32 i;

	for (i = 0; i < p->nr; i++)
		blocks[p->id[i]].offset = p->plan[i];
	if (total)
		*total = p->best;
	if (attr->steps)
		*attr->steps = p->looks;
}

static int does_not_fit(const struct pack *p, u64 capacity)
{
	if (p->bound > capacity)
		return error_set(-ENOSPC, "the capacity is %llu, but %llu "
				 "bytes live at once",
				 (unsigned long long)capacity,
				 (unsigned long long)p->bound);
	if (p->goal > capacity)
		return error_set(-ENOSPC, "the capacity is %llu: the search "
				 "has proved that there is no such plan; "
				 "the shortest that was found has %llu bytes",
				 (unsigned long long)capacity,
				 (unsigned long long)p->best);
	return error_set(-ENOSPC, "the capacity is %llu, and the shortest "
			 "plan that was found has %llu bytes (none has less "
			 "than %llu); a greater effort than %llu may find "
			 "another", (unsigned long long)capacity,
			 (unsigned long long)p->best,
			 (unsigned long long)p->bound,
			 (unsigned long long)p->effort);
}

static int nothing(const struct slabdev_pack_attr *attr, uint64_t *total)
{
	if (total)
		*total = 0;
	if (attr->steps)
		*attr->steps = 0;
	return 0;
}

int slabdev_pack(struct slabdev_pack_block *blocks, size_t n,
		 const struct slabdev_pack_attr *attr, uint64_t *total)
{
	struct slabdev_pack_attr a = SLABDEV_PACK_ATTR_INIT;
	struct pack p;
	int err;

	err = read_attr(&a, attr);
	if (err)
		return err;
	if (!n)
		return nothing(&a, total);
	err = pack_init(&p, blocks, n);
	if (err)
		return err;
	p.effort = a.effort;
	if (a.capacity) {
		p.capacity = a.capacity;
		p.goal = max(p.bound, align_down(a.capacity, p.unit));
	}
	err = make_plan(&p);
	if (err)
		goto fini;
	write_plan(&p, blocks, &a, total);
	if (p.best > p.capacity)
		err = does_not_fit(&p, a.capacity);
fini:
	pack_fini(&p);
	return err;
}

int slabdev_pack_bound(const struct slabdev_pack_block *blocks, size_t n,
		       uint64_t *bound)
{
	struct pack p;
	int err;

	if (!bound)
		return error_set(-EINVAL, "bound is NULL");
	if (!n) {
		*bound = 0;
		return 0;
	}
	err = pack_init(&p, blocks, n);
	if (err)
		return err;
	*bound = p.bound;
	pack_fini(&p);
	return 0;
}

/* ---- Checking one -------------------------------------------------------- */

struct check {
	struct pack p;
	const struct slabdev_pack_block *blocks;
	struct holes holes;
	struct hole *hole;
	struct pack_mem mem;
};

static void lay_out_check(struct check *c)
{
	c->hole = pack_take(&c->mem, (u64)c->p.nr + 1, sizeof(*c->hole));
}

static int check_offsets(const struct slabdev_pack_block *blocks, size_t n,
			 u64 *total)
{
	const struct slabdev_pack_block *b;
	size_t i;
	u64 end;

	*total = 0;
	for (i = 0; i < n; i++) {
		b = &blocks[i];
		if (!is_aligned(b->offset, pack_align(b)))
			return error_set(-EINVAL, "blocks[%zu].offset %llu is "
					 "no multiple of its alignment, %llu",
					 i, (unsigned long long)b->offset,
					 (unsigned long long)pack_align(b));
		if (add_overflows(b->offset, b->bytes, &end))
			return error_set(-EOVERFLOW, "blocks[%zu]: offset %llu "
					 "and %llu bytes do not fit 64 bits", i,
					 (unsigned long long)b->offset,
					 (unsigned long long)b->bytes);
		*total = max(*total, end);
	}
	return 0;
}

/* The first two, in the order of time, that overlap. */
static int check_overlap(struct check *c)
{
	struct pack *p = &c->p;
	const struct slabdev_pack_block *b;
	u32 i, d = 0, other;

	for (i = 0; i < p->nr; i++) {
		p->order[i] = i;
		p->key[i] = p->end[i];
	}
	pack_sort(p, p->nr);
	holes_init(&c->holes, c->hole, p->nr);
	for (i = 0; i < p->nr; i++) {
		while (p->end[p->order[d]] <= p->begin[i])
			holes_remove(&c->holes, p->order[d++]);
		b = &c->blocks[p->id[i]];
		other = holes_at(&c->holes, b->offset, b->offset + b->bytes);
		if (other != PACK_NONE)
			return error_set(-EINVAL, "blocks[%u] and blocks[%u] "
					 "live at the same time and overlap",
					 min(p->id[i], p->id[other]),
					 max(p->id[i], p->id[other]));
		holes_add(&c->holes, i, b->offset, b->bytes);
	}
	return 0;
}

int slabdev_pack_check(const struct slabdev_pack_block *blocks, size_t n,
		       uint64_t *total)
{
	struct check c = { .blocks = blocks };
	u64 end = 0;
	int err;

	if (n) {
		err = pack_init(&c.p, blocks, n);
		if (err)
			return err;
		err = check_offsets(blocks, n, &end);
		if (err)
			goto fini;
		lay_out_check(&c);
		err = pack_mem_commit(&c.mem);
		if (err)
			goto fini;
		lay_out_check(&c);
		err = check_overlap(&c);
		pack_mem_fini(&c.mem);
		if (err)
			goto fini;
		pack_fini(&c.p);
	}
	if (total)
		*total = end;
	return 0;

fini:
	pack_fini(&c.p);
	return err;
}
