// SPDX-License-Identifier: BSD-2-Clause
/*
 * buf.c - buffers and views.
 *
 * 1. An entry (token.h) is a buffer or a view. A buffer's entry is also the
 *    *root* of all its views, and of their views: what keeps the memory. The
 *    memory has so many *keeps*: one while the buffer has owners, and one a
 *    view. Whoever takes the last one away frees it. A root stays in use until
 *    then, though nobody may own the buffer any more.
 *
 * 2. Order. Each owner says by its put on which stream it has used the memory.
 *    If that put is not the last one, the stream is noted (slabdev_use()), or,
 *    of the bound stream, USED_PLAINLY is set, which costs nothing. The last
 *    put frees in its own order; but if the memory was used plainly too, it is
 *    noted like the others, and the free is in the order of the bound stream.
 *    What can fail is done before an owner goes: there is no put that has to be
 *    undone because something cannot be remembered.
 *
 *    Whether a put is the last one is known before: an owner that sees one
 *    keep and one owner is alone. One that sees more may find itself the last
 *    one afterwards, and its stream is noted needlessly.
 *
 * 3. The free may be refused once more, when the memory is exported: then the
 *    use of the entry, which is the caller's alone, goes on as if nothing had
 *    happened. Nobody else owns it: nobody who may ask can see the difference.
 *
 * 4. Tokens that are used by mistake, by one thread while another puts the
 *    last owner, find an entry that is another use's in the middle of a call.
 *    Fields are read whole and the use is looked at again behind them; what is
 *    noted, is noted for an owner by name; counts change by exchange.
 *
 * Locking: none of its own. Fields of an entry are constant while it is in use,
 * but for the counts.
 */
#include <errno.h>
#include <stdio.h>

#include "core/log.h"
#include "slab/alloc.h"
#include "slab/buf.h"
#include "slab/hazard_watch.h"
#include "slab/own.h"
#include "slab/token.h"

/* In .keeps, of a root: an owner has used it in the bound stream. */
#define USED_PLAINLY (1u << 31)
#define KEEPS (USED_PLAINLY - 1)

struct buf {
	struct token h;
	void *ptr;
	u64 size;
	u64 id;
	u32 root;	/* entry; its own: a buffer */
	u32 keeps;	/* atomic: a buffer's, and USED_PLAINLY */
};
static_assert(sizeof(struct buf) <= CACHE_LINE, "a line an entry");

struct token_table buf_tokens =
	TOKEN_TABLE_INIT(TOKEN_BUFFER, "buffer", sizeof(struct buf),
			 TOKEN_MAX);

static u64 last_id;	/* atomic */

static struct buf *root_of(const struct buf *b)
{
	return token_entry(&buf_tokens, READ_ONCE(b->root));
}

static struct slabdev_buf *name_of(const struct buf *b)
{
	return token_name(&buf_tokens, &b->h);
}

static u32 keeps_of(const struct buf *root)
{
	return load_acquire(&root->keeps) & KEEPS;
}

/* Released: see read_buf(). */
static void fill_in(struct buf *b, void *ptr, u64 size, u32 root)
{
	store_release(&b->ptr, ptr);
	store_release(&b->size, size);
	store_release(&b->id, __atomic_add_fetch(&last_id, 1,
						 __ATOMIC_RELAXED));
	store_release(&b->root, root);
}

/* What an entry says of its use, read whole. */
static int read_buf(const struct slabdev_buf *buf, const char *call,
		    struct buf *copy)
{
	int err;
	const struct buf *b = token_find(&buf_tokens, buf, call, &err);

	if (!b)
		return err;
	copy->ptr = load_acquire(&b->ptr);
	copy->size = load_acquire(&b->size);
	copy->id = load_acquire(&b->id);
	copy->h.sd = load_acquire(&b->h.sd);
	/* Did it end meanwhile? */
	b = token_find(&buf_tokens, buf, call, &err);
	return b ? 0 : err;
}

/* ---- Making ------------------------------------------------------------- */

static int check_alloc(struct slabdev_buf *const *buf, const struct slabdev *sd,
		       size_t size)
{
	int err = space_check(sd, "slabdev_buf_alloc");

	if (err)
		return err;
	if (!buf)
		return error_set(-EINVAL, "slabdev_buf_alloc: buf is NULL");
	return size ? 0 : error_set(-EINVAL, "slabdev_buf_alloc: size is 0");
}

int slabdev_buf_alloc(struct slabdev_buf **buf, struct slabdev *sd, size_t size,
		      const struct slabdev_req *req)
{
	int err = check_alloc(buf, sd, size);
	struct buf *b;
	void *p;

	watch_site(sd);
	if (err)
		return err;
	b = token_new(&buf_tokens, sd, &err);
	if (!b)
		return err;
	p = own_alloc(sd, size, req, "buffer", name_of(b));
	if (!p) {
		err = -errno;
		token_drop(&buf_tokens, &b->h);
		return err;
	}
	fill_in(b, p, size, b->h.index);
	store_release(&b->keeps, 1u);
	shared_add32(&sd->rec->nr_buffers, 1);
	*buf = name_of(b);
	return 0;
}

/* ---- Putting ------------------------------------------------------------ */

/* Nobody keeps the memory any more: 0, or -EBUSY and nothing has changed. */
static int free_memory(struct slabdev *sd, const struct buf *root,
		       const struct order *o)
{
	struct order plain = order_plain(sd);

	if (load_acquire(&root->keeps) & USED_PLAINLY)
		o = &plain;
	return own_free(sd, root->ptr, o);
}

/* The last owner of @b has gone. */
static int drop_keep(struct slabdev *sd, struct buf *b, const struct order *o)
{
	struct buf *root = root_of(b);
	int err;

	if (__atomic_sub_fetch(&root->keeps, 1, __ATOMIC_ACQ_REL) & KEEPS) {
		if (b != root)
			token_free(&buf_tokens, &b->h);
		return 0;
	}
	err = free_memory(sd, root, o);
	if (err) {
		__atomic_fetch_add(&root->keeps, 1, __ATOMIC_RELEASE);
		token_revive(&b->h);
		return err;
	}
	shared_add32(&sd->rec->nr_buffers, (u32)-1);
	if (b != root)
		token_free(&buf_tokens, &b->h);
	token_free(&buf_tokens, &root->h);
	return 0;
}

/* An owner goes: what it has done is remembered for the free, unless this is
 * the free. */
static int tell_use(struct slabdev *sd, const struct buf *b,
		    const struct order *o)
{
	struct buf *root = root_of(b);
	u32 keeps = load_acquire(&root->keeps);
	bool last = token_owners(&b->h) == 1 && (keeps & KEEPS) == 1;

	if (last && (order_is_bound(o) || !(keeps & USED_PLAINLY)))
		return 0;
	if (!order_is_bound(o))
		return own_use(sd, load_acquire(&root->ptr), name_of(root), o);
	/* Where the bound stream is the CPU there is nothing to wait for. */
	if (sd->stream)
		__atomic_fetch_or(&root->keeps, USED_PLAINLY, __ATOMIC_RELEASE);
	return 0;
}

static int put(struct slabdev_buf *buf, struct slabdev *sd,
	       const struct order *o, const char *call)
{
	struct buf *b = token_entry(&buf_tokens, token_index(buf));
	int err = tell_use(sd, b, o);
	s64 left;

	if (err)
		return err;
	left = token_put(&buf_tokens, buf, call);
	if (left < 0)
		return token_refused(&buf_tokens, buf, (int)left);
	return left ? (int)left : drop_keep(sd, b, o);
}

/* The space of a token that is to be put; NULL with *@err set. */
static struct slabdev *space_of(const struct slabdev_buf *buf, const char *call,
				int *err)
{
	struct buf copy;

	*err = read_buf(buf, call, &copy);
	if (*err) {
		token_refused(&buf_tokens, buf, *err);
		return NULL;
	}
	*err = space_check(copy.h.sd, call);
	return *err ? NULL : copy.h.sd;
}

int slabdev_buf_put(struct slabdev_buf *buf)
{
	struct slabdev *sd;
	struct order o;
	int err;

	if (!buf)
		return 0;
	sd = space_of(buf, "slabdev_buf_put", &err);
	if (!sd)
		return err;
	watch_site(sd);
	o = order_plain(sd);
	return put(buf, sd, &o, "slabdev_buf_put");
}

#undef slabdev_buf_put_async
int slabdev_buf_put_async(struct slabdev_buf *buf, slabdev_stream_t stream)
{
	struct slabdev *sd;
	struct order o;
	int err;

	if (!buf)
		return 0;
	sd = space_of(buf, "slabdev_buf_put_async", &err);
	if (!sd)
		return err;
	watch_site(sd);
	err = order_of(sd, stream, "slabdev_buf_put_async", &o);
	return err ? err : put(buf, sd, &o, "slabdev_buf_put_async");
}

/* ---- Getting, and views ------------------------------------------------- */

struct slabdev_buf *slabdev_buf_get(struct slabdev_buf *buf)
{
	s64 owners = token_get(&buf_tokens, buf, SLABDEV_BUF_OWNERS_MAX,
			       "slabdev_buf_get");

	if (owners > 0)
		return buf;
	errno = (int)-owners;
	return NULL;
}

static int check_part(const struct buf *b, size_t offset, size_t size)
{
	u64 all = b->size;

	if (!size)
		return error_set(-EINVAL, "slabdev_buf_view: size is 0");
	if (offset > all || size > all - offset)
		return error_set(-EINVAL, "slabdev_buf_view: %zu bytes from "
				 "byte %zu end beyond the %llu of buffer %p",
				 size, offset, (unsigned long long)all,
				 (const void *)name_of(b));
	return 0;
}

/* Of @b, which the caller owns. */
static int make_view(struct slabdev_buf **view, struct buf *b, size_t offset,
		     size_t size)
{
	int err = check_part(b, offset, size);
	struct buf *v;

	if (err)
		return err;
	v = token_new(&buf_tokens, b->h.sd, &err);
	if (!v)
		return err;
	fill_in(v, (char *)b->ptr + offset, size, b->root);
	__atomic_fetch_add(&root_of(b)->keeps, 1, __ATOMIC_RELAXED);
	*view = name_of(v);
	return 0;
}

/* The buffer is owned once more meanwhile: so what is read of it stays, though
 * its owner should make a mistake. */
int slabdev_buf_view(struct slabdev_buf **view, struct slabdev_buf *buf,
		     size_t offset, size_t size)
{
	static const char call[] = "slabdev_buf_view";
	struct slabdev *sd;
	struct order plain;
	struct buf *b;
	s64 owners;
	int err;

	if (!view)
		return error_set(-EINVAL, "%s: view is NULL", call);
	owners = token_get(&buf_tokens, buf, SLABDEV_BUF_OWNERS_MAX, call);
	if (owners < 0)
		return (int)owners;
	b = token_peek(&buf_tokens, buf);
	sd = b->h.sd;
	err = make_view(view, b, offset, size);
	plain = order_plain(sd);
	if (!token_put(&buf_tokens, buf, call))
		(void)drop_keep(sd, b, &plain);
	return err;
}

/* ---- Questions ---------------------------------------------------------- */

void *slabdev_buf_ptr(const struct slabdev_buf *buf)
{
	struct buf copy;
	int err = read_buf(buf, "slabdev_buf_ptr", &copy);

	if (!err)
		return copy.ptr;
	errno = -err;
	return NULL;
}

size_t slabdev_buf_size(const struct slabdev_buf *buf)
{
	struct buf copy;
	int err = read_buf(buf, "slabdev_buf_size", &copy);

	if (!err)
		return copy.size;
	errno = -err;
	return 0;
}

struct slabdev *slabdev_buf_space(const struct slabdev_buf *buf)
{
	struct buf copy;
	int err = read_buf(buf, "slabdev_buf_space", &copy);

	if (!err)
		return copy.h.sd;
	errno = -err;
	return NULL;
}

uint64_t slabdev_buf_id(const struct slabdev_buf *buf)
{
	struct buf copy;
	int err = read_buf(buf, "slabdev_buf_id", &copy);

	if (!err)
		return copy.id;
	errno = -err;
	return 0;
}

unsigned int slabdev_buf_refs(const struct slabdev_buf *buf)
{
	return token_owners_of(&buf_tokens, buf);
}

void buf_describe(const void *token, char *text, size_t len)
{
	const struct buf *b = token_entry(&buf_tokens, token_index(token));
	u32 owners = token_owners(&b->h), keeps = keeps_of(b);
	u32 views = keeps - (owners && keeps);

	snprintf(text, len, "buffer %p (number %llu, %llu bytes, %u owner%s, "
		 "%u view%s)", token, (unsigned long long)READ_ONCE(b->id),
		 (unsigned long long)READ_ONCE(b->size), owners,
		 owners == 1 ? "" : "s", views, views == 1 ? "" : "s");
}
