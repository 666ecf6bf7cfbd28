// SPDX-License-Identifier: BSD-2-Clause
/*
 * api.c - calls of the public interface in an order that an input decides.
 *
 * One thread, one space of 64 MiB, a few caches, up to 64 live objects. The
 * model is their list: no two overlap, each keeps what was written at its
 * ends, each can be freed once, and the space has as many as the list. What
 * the calls return is what the header says they may.
 *
 *	input	  = policy flags { operation }
 *	operation = op arguments
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <slabdev/slabdev.h>

#include "tests/fuzz/fuzz.h"

#define LIMIT (64 * MIB)
#define OBJECTS 64u
#define CACHES 4u
#define EDGE ((size_t)16)

struct object {
	u8 *p;
	size_t size;
	struct slabdev_cache *cache;	/* NULL: a general one */
	u8 mark;
};

struct model {
	struct slabdev *sd;
	struct slabdev_cache *cache[CACHES];
	size_t cache_size[CACHES];
	struct object object[OBJECTS];
	u32 nr;
	u8 *stale;		/* freed last */
	u8 mark;
};

/* ---- The list --------------------------------------------------------- */

static void check_apart(const struct model *m, const u8 *p, size_t size)
{
	u32 i;

	for (i = 0; i < m->nr; i++) {
		const struct object *o = &m->object[i];

		fuzz_check(p + size <= o->p || o->p + o->size <= p);
	}
}

static void remember(struct model *m, void *p, size_t size,
		     struct slabdev_cache *cache)
{
	struct object *o = &m->object[m->nr++];
	size_t edge = min(size, EDGE);

	*o = (struct object){ p, size, cache, ++m->mark };
	memset(o->p, o->mark, edge);
	memset(o->p + size - edge, o->mark, edge);
}

static void check_kept(const struct object *o, size_t size)
{
	size_t i, edge = min(size, EDGE);

	for (i = 0; i < edge; i++)
		fuzz_check(o->p[i] == o->mark);
	for (i = size - edge; i < size && size == o->size; i++)
		fuzz_check(o->p[i] == o->mark);
}

static bool is_live(const struct model *m, const u8 *p)
{
	u32 i;

	for (i = 0; i < m->nr; i++)
		if (m->object[i].p == p)
			return true;
	return false;
}

static struct object *choose(struct model *m, struct fuzz_input *in)
{
	u8 n = take_u8(in);

	return m->nr ? &m->object[n % m->nr] : NULL;
}

static void forget(struct model *m, struct object *o)
{
	m->stale = o->p;
	*o = m->object[--m->nr];
}

/* ---- Allocations ------------------------------------------------------ */

static void check_allocated(struct model *m, void *p, size_t size, int err)
{
	if (!p) {
		if (size ? err != ENOMEM && err != EDQUOT && err != EOVERFLOW
			 : err)
			fuzz_fail("%zu bytes: %s", size, strerror(err));
		return;
	}
	fuzz_check(size);
	fuzz_check(!((uintptr_t)p % SLABDEV_ALIGN));
	fuzz_check(slabdev_usable_size(m->sd, p) >= size);
	check_apart(m, p, size);
	remember(m, p, size, NULL);
}

static void op_alloc(struct model *m, struct fuzz_input *in)
{
	size_t size = take_number(in);
	void *p;

	if (m->nr == OBJECTS)
		return;
	errno = 0;
	p = slabdev_alloc(m->sd, size);
	check_allocated(m, p, size, errno);
}

static bool is_zero(const u8 *p, size_t size)
{
	return !size || (!*p && !memcmp(p, p + 1, size - 1));
}

static void op_alloc_ex(struct model *m, struct fuzz_input *in)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	size_t size = take_number(in);
	u8 *p;

	req.align = take_number(in);
	req.flags = take_u8(in) & (SLABDEV_REQ_ZERO | SLABDEV_REQ_NO_GROW);
	if (m->nr == OBJECTS)
		return;
	errno = 0;
	p = slabdev_alloc_ex(m->sd, size, &req);
	if (!p && errno == EINVAL) {
		fuzz_check(req.align & (req.align - 1) || req.align > GIB);
		return;
	}
	if (p && req.align)
		fuzz_check(!((uintptr_t)p % req.align));
	if (p && req.flags & SLABDEV_REQ_ZERO)
		fuzz_check(is_zero(p, size));
	check_allocated(m, p, size, errno);
}

static void op_realloc(struct model *m, struct fuzz_input *in)
{
	struct object *o = choose(m, in), before;
	size_t size = take_number(in);
	u8 *p;

	if (!o || o->cache)
		return;
	check_kept(o, o->size);
	before = *o;
	errno = 0;
	p = slabdev_realloc(m->sd, o->p, size);
	if (!p && size) {
		check_kept(o, o->size);
		return;
	}
	forget(m, o);
	if (!p)
		return;
	before.p = p;
	check_kept(&before, min(size, before.size));
	check_allocated(m, p, size, errno);
}

/* ---- Caches ----------------------------------------------------------- */

static void op_cache_create(struct model *m, struct fuzz_input *in)
{
	u32 i = take_u8(in) % CACHES;
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	size_t size = take_number(in);
	char name[2] = { (char)take_u8(in) };
	int err;

	args.align = take_number(in);
	args.sheaf_bytes = take_number(in);
	if (m->cache[i])
		return;
	err = slabdev_cache_create(&m->cache[i], m->sd, name, size, &args);
	fuzz_check(!err || err == -EINVAL || err == -EEXIST);
	fuzz_check(!err == !!m->cache[i]);
	m->cache_size[i] = size;
}

static void op_cache_alloc(struct model *m, struct fuzz_input *in)
{
	u32 i = take_u8(in) % CACHES;
	void *p;

	if (!m->cache[i] || m->nr == OBJECTS)
		return;
	p = slabdev_cache_alloc(m->cache[i]);
	if (!p) {
		fuzz_check(errno == ENOMEM || errno == EDQUOT);
		return;
	}
	check_apart(m, p, m->cache_size[i]);
	remember(m, p, m->cache_size[i], m->cache[i]);
}

static void op_cache_bulk(struct model *m, struct fuzz_input *in)
{
	u32 i = take_u8(in) % CACHES, n = take_u8(in), got;
	void *p[256];
	int err;

	if (!m->cache[i])
		return;
	err = slabdev_cache_alloc_bulk(m->cache[i], n, p);
	fuzz_check(!err || err == -ENOMEM || err == -EDQUOT);
	for (got = 0; got < n; got++)
		fuzz_check(!p[got] == !!err);
	for (got = 0; got < n && !err; got++)
		check_apart(m, p[got], m->cache_size[i]);
	fuzz_check(!slabdev_cache_free_bulk(m->cache[i], n, p));
}

static void op_cache_other(struct model *m, struct fuzz_input *in)
{
	u32 i = take_u8(in) % CACHES;
	struct slabdev_cache *c = m->cache[i];
	int err;

	if (!c)
		return;
	switch (take_u8(in) % 4) {
	case 0:
		err = slabdev_cache_prefill(c, take_u8(in));
		fuzz_check(!err || err == -ENOMEM || err == -EDQUOT);
		break;
	case 1:
		fuzz_check(!slabdev_cache_shrink(c));
		break;
	case 2:
		fuzz_check(!slabdev_cache_validate(c));
		break;
	default:
		err = slabdev_cache_destroy(c);
		fuzz_check(!err || err == -EBUSY);
		if (!err)
			m->cache[i] = NULL;
		break;
	}
}

/* ---- Frees ------------------------------------------------------------ */

static void op_free(struct model *m, struct fuzz_input *in)
{
	struct object *o = choose(m, in);
	bool plain = take_u8(in) & 1;

	if (!o)
		return;
	check_kept(o, o->size);
	fuzz_check(!(o->cache && !plain ? slabdev_cache_free(o->cache, o->p)
					: slabdev_free(m->sd, o->p)));
	forget(m, o);
}

/* In the object, before it, at the last one that was freed, or anywhere. */
static void op_free_wrong(struct model *m, struct fuzz_input *in)
{
	struct object *o = choose(m, in);
	uintptr_t at = (uintptr_t)(o ? (void *)o->p : (void *)m->sd);
	u8 *p;
	int err;

	switch (take_u8(in) % 3) {
	case 0:
		p = (u8 *)(at + take_number(in));
		break;
	case 1:
		p = m->stale;
		break;
	default:
		p = (u8 *)(uintptr_t)take_number(in);
		break;
	}
	if (!p || is_live(m, p))
		return;
	err = slabdev_free(m->sd, p);
	fuzz_check(err == -EINVAL || err == -EALREADY);
	fuzz_check(!slabdev_usable_size(m->sd, p));
}

/* ---- The space -------------------------------------------------------- */

static void op_policy(struct model *m, struct fuzz_input *in)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = take_u8(in) % 5;
	policy.keep_bytes = take_number(in);
	fuzz_check(!slabdev_set_policy(m->sd, &policy) ==
		   (policy.mode >= SLABDEV_RETAIN &&
		    policy.mode <= SLABDEV_AGGRESSIVE));
}

static void op_memory(struct model *m, struct fuzz_input *in)
{
	int err;

	switch (take_u8(in) % 3) {
	case 0:
		fuzz_check(!slabdev_trim(m->sd, take_number(in)));
		break;
	case 1:
		err = slabdev_prime(m->sd, take_number(in) % LIMIT);
		fuzz_check(!err || err == -ENOMEM || err == -EDQUOT);
		break;
	default:
		fuzz_check(!slabdev_poll(m->sd));
		break;
	}
}

static void check_figures(struct model *m)
{
	struct slabdev_stats st;
	u64 live = 0;
	u32 i;

	for (i = 0; i < m->nr; i++)
		live += m->object[i].size;
	fuzz_check(!slabdev_stats(m->sd, &st, sizeof(st)));
	fuzz_check(st.live_objects == m->nr);
	fuzz_check(st.live == live);
	fuzz_check(!st.in_flight);
	fuzz_check(st.mapped <= LIMIT);
	fuzz_check(st.mapped == st.live + st.cached + st.pending +
		   st.retained + st.rounding + st.slack + st.lost);
	fuzz_check(!slabdev_validate(m->sd));
}

static void op_explain(struct model *m, struct fuzz_input *in)
{
	struct object *o = choose(m, in);
	size_t len = take_u8(in), at = take_number(in);
	char text[256];

	if (!o || at >= o->size)
		return;
	memset(text, 'x', sizeof(text));
	fuzz_check(slabdev_explain(o->p + at, text, len) ==
		   (len ? 0 : -EINVAL));
	fuzz_check(text[len] == 'x');
	fuzz_check(!len || memchr(text, '\0', len));
}

/* ---- All of it -------------------------------------------------------- */

static void open_model(struct model *m, struct fuzz_input *in)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	setenv("SLABDEV_LOG", "none", 1);
	attr.limit = LIMIT;
	attr.reserve = 1 * GIB;
	attr.policy.mode = 1 + take_u8(in) % 3;
	attr.flags = take_u8(in) & (SLABDEV_OPEN_PRIVATE_STATS |
				    SLABDEV_OPEN_NO_SHEAVES);
	*m = (struct model){ 0 };
	if (slabdev_open(&m->sd, "host", &attr))
		fuzz_fail("cannot open: %s", slabdev_last_error());
}

static void close_model(struct model *m)
{
	u32 i;

	check_figures(m);
	for (i = 0; i < m->nr; i++) {
		check_kept(&m->object[i], m->object[i].size);
		fuzz_check(!slabdev_free(m->sd, m->object[i].p));
	}
	m->nr = 0;
	check_figures(m);
	fuzz_check(!slabdev_close(m->sd, 0));
}

typedef void (*op_fn)(struct model *m, struct fuzz_input *in);

static void op_check(struct model *m, struct fuzz_input *in)
{
	(void)in;
	check_figures(m);
}

static const op_fn ops[] = {
	op_alloc, op_alloc_ex, op_realloc, op_cache_create, op_cache_alloc,
	op_cache_bulk, op_cache_other, op_free, op_free_wrong, op_policy,
	op_memory, op_explain, op_check,
};

void fuzz_one(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	struct model m;

	open_model(&m, &in);
	while (in.at < in.end)
		ops[take_u8(&in) % ARRAY_SIZE(ops)](&m, &in);
	close_model(&m);
}
