// SPDX-License-Identifier: BSD-2-Clause
/*
 * group.c - many blocks in one object.
 *
 * A group is an entry of a table of tokens (token.h) and one object that it
 * owns (own.h); of its blocks nothing is kept but how many they are and how far
 * apart. Where they lie is arithmetic (group_layout.h), done before there is
 * anything to undo and once more when nothing can fail.
 *
 * Of several frees of one group at once exactly one ends the use of its token,
 * and goes on alone. If its object cannot go, because it is exported or because
 * the space is dead, the token is what it was; a call that came in between
 * was told that the group is gone, as it would have been a moment later.
 */
#include <errno.h>
#include <stdio.h>

#include "core/log.h"
#include "core/overflow.h"
#include "core/usercopy.h"
#include "slab/alloc.h"
#include "slab/group.h"
#include "slab/group_layout.h"
#include "slab/hazard_watch.h"
#include "slab/own.h"

struct group {
	struct token token;
	/* Const while in use. */
	void *base;
	size_t bytes;
	size_t count;
	size_t stride;
};

struct token_table group_tokens =
	TOKEN_TABLE_INIT(TOKEN_GROUP, "group", sizeof(struct group),
			  TOKEN_MAX);

/* ---- Alloc -------------------------------------------------------------- */

static int check_args(struct slabdev_group **group, const size_t *sizes,
		      size_t n, const struct slabdev_group_attr *attr)
{
	const char *null = !group ? "group" : !sizes ? "sizes" : NULL;

	if (null)
		return error_set(-EINVAL, "slabdev_group_alloc: %s is NULL",
				 null);
	if (!n || n > SLABDEV_GROUP_MAX)
		return error_set(-EINVAL, "slabdev_group_alloc: n is %zu: a "
				 "group has from 1 to %zu blocks", n,
				 SLABDEV_GROUP_MAX);
	if (attr->align && (!is_power_of_2(attr->align) ||
			    attr->align > GROUP_ALIGN_MAX))
		return error_set(-EINVAL, "slabdev_group_alloc: align is %zu: "
				 "a power of two up to 1 GiB is needed",
				 attr->align);
	if ((attr->flags & ~SLABDEV_GROUP_STRIDED) || attr->reserved)
		return error_set(-EINVAL, "attr.flags %#x or attr.reserved %#x "
				 "has bits that this version does not know",
				 attr->flags, attr->reserved);
	return 0;
}

/* Where everything will lie, from the base. */
static int find_layout(struct slabdev *sd, struct group_layout *l,
		       const struct slabdev_group_attr *attr)
{
	int err = group_measure(l);

	if (err == -EOVERFLOW)
		(void)alloc_failed(sd, sd->class[CLASS_LARGE], err);
	if (err)
		return err;
	if ((attr->flags & SLABDEV_GROUP_STRIDED) && !l->stride)
		return error_set(-EDOM, "SLABDEV_GROUP_STRIDED: block %zu is "
				 "empty, or not as far behind the one before "
				 "as that one is", l->odd);
	return 0;
}

/* The base has the alignment of all blocks. A request that makes no sense is
 * left for own_alloc() to refuse. */
static void raise_align(struct slabdev_req *req, const struct group_layout *l)
{
	if (l->base_align > SLABDEV_ALIGN &&
	    (!req->align || is_power_of_2(req->align)))
		req->align = max(req->align, l->base_align);
}

/* Released: see read_group(). */
static void fill_in(struct group *g, void *base, const struct group_layout *l)
{
	store_release(&g->base, base);
	store_release(&g->bytes, (size_t)l->bytes);
	store_release(&g->count, l->n);
	store_release(&g->stride, (size_t)l->stride);
}

/* The object and its owner; nothing is left of them on failure. */
static struct group *make_group(struct slabdev *sd,
				const struct slabdev_req *req,
				const struct group_layout *l, int *err)
{
	struct group *g = token_new(&group_tokens, sd, err);
	void *name, *base;

	if (!g)
		return NULL;
	name = token_name(&group_tokens, &g->token);
	base = own_alloc(sd, l->bytes, req, group_tokens.what, name);
	if (base) {
		fill_in(g, base, l);
		return g;
	}
	*err = -errno;
	token_drop(&group_tokens, &g->token);
	return NULL;
}

static int group_alloc(struct slabdev_group **group, struct slabdev *sd,
		       const size_t *sizes, size_t n, void **ptrs,
		       const struct slabdev_group_attr *attr)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct group_layout l = {
		.sizes = sizes, .aligns = attr->aligns, .n = n,
		.align = attr->align ? attr->align : SLABDEV_ALIGN,
	};
	struct group *g;
	int err;

	err = check_args(group, sizes, n, attr);
	if (!err)
		err = copy_struct_from_user(&req, sizeof(req), attr->req,
					    "attr.req");
	if (!err)
		err = find_layout(sd, &l, attr);
	if (err)
		return err;
	raise_align(&req, &l);
	g = make_group(sd, &req, &l, &err);
	if (!g)
		return err;
	shared_add32(&sd->rec->nr_groups, 1);
	if (ptrs)
		group_place(&l, (u64)(uintptr_t)g->base, ptrs);
	if (attr->offsets)
		group_place(&l, 0, attr->offsets);
	*group = token_name(&group_tokens, &g->token);
	return 0;
}

int slabdev_group_alloc(struct slabdev_group **group, struct slabdev *sd,
			const size_t *sizes, size_t n, size_t align,
			void **ptrs)
{
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	int err = space_check(sd, "slabdev_group_alloc");

	if (err)
		return err;
	attr.align = align;
	watch_site(sd);
	return group_alloc(group, sd, sizes, n, ptrs, &attr);
}

int slabdev_group_alloc_ex(struct slabdev_group **group, struct slabdev *sd,
			   const size_t *sizes, size_t n, void **ptrs,
			   const struct slabdev_group_attr *user_attr)
{
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	int err = space_check(sd, "slabdev_group_alloc_ex");

	if (!err)
		err = copy_struct_from_user(&attr, sizeof(attr), user_attr,
					    "attr");
	if (err)
		return err;
	watch_site(sd);
	return group_alloc(group, sd, sizes, n, ptrs, &attr);
}

/* ---- Questions ---------------------------------------------------------- */

/* What an entry says of its use; false, with errno: it has ended, perhaps only
 * now, by a free that should have come later. */
static bool read_group(const struct slabdev_group *group, const char *call,
		       struct group *copy)
{
	int err;
	const struct group *g = token_find(&group_tokens, group, call, &err);

	if (g) {
		copy->base = load_acquire(&g->base);
		copy->bytes = load_acquire(&g->bytes);
		copy->count = load_acquire(&g->count);
		copy->stride = load_acquire(&g->stride);
		g = token_find(&group_tokens, group, call, &err);
	}
	if (!g)
		errno = -err;
	return g;
}

void *slabdev_group_base(const struct slabdev_group *group)
{
	struct group g;

	return read_group(group, "slabdev_group_base", &g) ? g.base : NULL;
}

size_t slabdev_group_size(const struct slabdev_group *group)
{
	struct group g;

	return read_group(group, "slabdev_group_size", &g) ? g.bytes : 0;
}

size_t slabdev_group_count(const struct slabdev_group *group)
{
	struct group g;

	return read_group(group, "slabdev_group_count", &g) ? g.count : 0;
}

size_t slabdev_group_stride(const struct slabdev_group *group)
{
	struct group g;

	return read_group(group, "slabdev_group_stride", &g) ? g.stride : 0;
}

void group_describe(const void *token, char *buf, size_t len)
{
	const struct group *g = token_peek(&group_tokens, token);
	size_t n = g ? load_acquire(&g->count) : 0;

	snprintf(buf, len, "group %p of %zu block%s", token, n,
		 n == 1 ? "" : "s");
}

/* ---- Free --------------------------------------------------------------- */

/* @err: why its object cannot go, or 0. */
static int give_back(struct group *g, int err, const struct order *o)
{
	struct slabdev *sd = g->token.sd;

	if (!err)
		err = own_free(sd, g->base, o);
	if (err) {
		token_revive(&g->token);
		return err;
	}
	shared_add32(&sd->rec->nr_groups, -1u);
	token_free(&group_tokens, &g->token);
	return 0;
}

int slabdev_group_free(struct slabdev_group *group)
{
	struct group *g;
	struct order o;
	int err;

	if (!group)
		return 0;
	g = token_take(&group_tokens, group, "slabdev_group_free", &err);
	if (!g)
		return err;
	watch_site(g->token.sd);
	o = order_plain(g->token.sd);
	return give_back(g, space_check(g->token.sd, "slabdev_group_free"),
			 &o);
}

#undef slabdev_group_free_async
int slabdev_group_free_async(struct slabdev_group *group,
			     slabdev_stream_t stream)
{
	struct group *g;
	struct order o;
	int err;

	if (!group)
		return 0;
	g = token_take(&group_tokens, group, "slabdev_group_free_async",
		       &err);
	if (!g)
		return err;
	watch_site(g->token.sd);
	err = space_check(g->token.sd, "slabdev_group_free_async");
	if (!err)
		err = order_of(g->token.sd, stream,
			       "slabdev_group_free_async", &o);
	return give_back(g, err, &o);
}
