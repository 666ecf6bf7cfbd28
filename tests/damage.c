// SPDX-License-Identifier: BSD-2-Clause
/* damage.c - see damage.h. */
#include <stdarg.h>

#include "core/param.h"
#include "tests/damage.h"


/* Around the ends of classes, with room for a zone and without. */
const struct victim victims[] = {
	{ VICTIM_GENERAL, 1, 0 },
	{ VICTIM_GENERAL, 239, 0 },
	{ VICTIM_GENERAL, 240, 0 },
	{ VICTIM_GENERAL, 241, 0 },
	{ VICTIM_GENERAL, 256, 0 },
	{ VICTIM_GENERAL, 257, 0 },
	{ VICTIM_GENERAL, 3000, 0 },
	{ VICTIM_GENERAL, 16368, 0 },
	{ VICTIM_GENERAL, 16369, 0 },
	{ VICTIM_GENERAL, 65536, 0 },
	{ VICTIM_GENERAL, 917488, 0 },
	{ VICTIM_GENERAL, 983024, 0 },
	{ VICTIM_GENERAL, 983025, 0 },
	{ VICTIM_GENERAL, 983040, 0 },
	{ VICTIM_GENERAL, 983041, 0 },
	{ VICTIM_GENERAL, MIB - 16, 0 },
	{ VICTIM_GENERAL, MIB - 15, 0 },
	{ VICTIM_GENERAL, MIB, 0 },
	{ VICTIM_GENERAL, MIB + 1, 0 },
	{ VICTIM_GENERAL, 3 * MIB - 16, 0 },
	{ VICTIM_GENERAL, 3 * MIB, 0 },
	{ VICTIM_GENERAL, 64 * MIB - 16, 0 },
	{ VICTIM_GENERAL, 64 * MIB, 0 },
	{ VICTIM_GENERAL, 66 * MIB + 100, 0 },
	{ VICTIM_ZEROED, 200, 0 },
	{ VICTIM_ZEROED, 5000, 0 },
	{ VICTIM_ZEROED, 3 * MIB, 0 },
	{ VICTIM_ASYNC, 700, 0 },
	{ VICTIM_ASYNC, 2 * MIB, 0 },
	{ VICTIM_ALIGNED, 100, 512 },
	{ VICTIM_ALIGNED, 512, 512 },
	{ VICTIM_ALIGNED, 496, 512 },
	{ VICTIM_ALIGNED, 4096, 4096 },
	{ VICTIM_ALIGNED, 10, 16 * KIB },
	{ VICTIM_ALIGNED, 16 * KIB, 16 * KIB },
	{ VICTIM_ALIGNED, 70000, 64 * KIB },
	{ VICTIM_ALIGNED, 3 * MIB, 2 * MIB },
	{ VICTIM_COMM, 5000, 0 },
	{ VICTIM_COMM, 2 * MIB, 0 },
	{ VICTIM_CACHE, 1, 0 },
	{ VICTIM_CACHE, 16, 0 },
	{ VICTIM_CACHE, 17, 0 },
	{ VICTIM_CACHE, 40, 0 },
	{ VICTIM_CACHE, 64, 0 },
	{ VICTIM_CACHE, 128, 0 },
	{ VICTIM_CACHE, 100, 64 },
	{ VICTIM_CACHE, 239, 0 },
	{ VICTIM_CACHE, 240, 0 },
	{ VICTIM_CACHE, 241, 0 },
	{ VICTIM_CACHE, 255, 0 },
	{ VICTIM_CACHE, 256, 0 },
	{ VICTIM_CACHE, 257, 0 },
	{ VICTIM_CACHE, 1000, 1024 },
	{ VICTIM_CACHE, 3000, 0 },
	{ VICTIM_CACHE, 4096, 4096 },
	{ VICTIM_CACHE, 70000, 0 },
	{ VICTIM_CACHE, 100000, 64 * KIB },
	{ VICTIM_CACHE, MIB, MIB },
	{ VICTIM_CACHE, 3 * MIB, 0 },
	{ VICTIM_CACHE, 64 * MIB, 0 },
	{ VICTIM_BULK, 40, 0 },
	{ VICTIM_BULK, 3000, 0 },
	{ VICTIM_COMM_CACHE, 3 * MIB, 0 },
	{ VICTIM_COMM_CACHE, 2 * MIB, 0 },
};
const size_t nr_victims = ARRAY_SIZE(victims);

static void describe_victim(const struct victim *v, char *desc)
{
	static const char *const how[] = {
		"alloc", "zalloc", "alloc_aligned", "alloc_async", "comm",
		"cache", "bulk", "comm cache",
	};

	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %zu, align %zu", how[v->how],
		 v->size, v->align);
}

const void *victim_gen_params(const void *prev, char *desc)
{
	const struct victim *v = prev ? (const struct victim *)prev + 1 :
					victims;

	if (v == victims + nr_victims)
		return NULL;
	describe_victim(v, desc);
	return v;
}

void debug_letters_are(const char *letters)
{
	struct debug_spec *spec;
	const struct params *p;

	if (params_get(&p))
		abort();
	spec = (struct debug_spec *)(uintptr_t)&p->debug;
	*spec = (struct debug_spec){ .global = 0 };
	if (debug_spec_parse(spec, letters))
		abort();
}

void need_debug(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_SLAB_DEBUG))
		kunit_skip(test, "this build has no checks");
}

struct slabdev *debug_space(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = GIB;
	attr.name = "test";
	if (!on_host())
		attr.ordering = SLABDEV_ORDER_STREAM;
	return open_space_attr(test, &attr);
}

/* ---- Objects ---------------------------------------------------------- */

static bool is_of_cache(const struct victim *v)
{
	return v->how >= VICTIM_CACHE;
}

void victims_open(struct victims *v, struct kunit *test)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;

	need_debug(test);
	*v = (struct victims){
		.test = test,
		.sd = debug_space(test),
		.victim = test->param_value,
	};
	if (!v->victim || !is_of_cache(v->victim))
		return;
	args.align = v->victim->align;
	if (v->victim->how == VICTIM_COMM_CACHE)
		args.flags = SLABDEV_CACHE_COMM;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_cache_create(&v->cache, v->sd,
						       "victims",
						       v->victim->size, &args),
			    0, "%s", slabdev_last_error());
}

void victims_close(struct victims *v)
{
	KUNIT_EXPECT_EQ(v->test, slabdev_cache_destroy(v->cache), 0);
	KUNIT_EXPECT_EQ(v->test, slabdev_trim(v->sd, 0), 0);
	close_space(v->test, v->sd);
}

static void *get(struct victims *v)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	void *p = NULL;

	if (v->victim->how == VICTIM_BULK)
		return slabdev_cache_alloc_bulk(v->cache, 1, &p) ? NULL : p;
	if (is_of_cache(v->victim))
		return slabdev_cache_alloc(v->cache);
	if (v->victim->how == VICTIM_ASYNC)
		return slabdev_alloc_async(v->sd, v->victim->size,
					   v->sd->stream);
	req.align = v->victim->align;
	if (v->victim->how == VICTIM_ZEROED)
		req.flags = SLABDEV_REQ_ZERO;
	if (v->victim->how == VICTIM_COMM)
		req.flags = SLABDEV_REQ_COMM;
	return slabdev_alloc_ex(v->sd, v->victim->size, &req);
}

/* What was asked for, or goes without asking. */
static u64 least_align(const struct victim *v)
{
	if (v->align)
		return v->align;
	if (!is_of_cache(v))
		return SLABDEV_ALIGN;
	return min(max(v->size & -v->size, (size_t)16), (size_t)256);
}

/* The object is where it was asked for, and zero if that was. */
void *victim_get(struct victims *v)
{
	void *p = get(v);

	KUNIT_ASSERT_NOT_NULL_MSG(v->test, p, "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(v->test, (uintptr_t)p % least_align(v->victim), 0);
	if (v->victim->how == VICTIM_ZEROED)
		KUNIT_EXPECT_TRUE(v->test, mem_is(v->sd, p, v->victim->size,
						  0));
	return p;
}

int victim_free(struct victims *v, void *p)
{
	if (v->victim->how == VICTIM_BULK)
		return slabdev_cache_free_bulk(v->cache, 1, &p);
	if (v->victim->how == VICTIM_ASYNC)
		return slabdev_free_async(v->sd, p, v->sd->stream);
	return is_of_cache(v->victim) ? slabdev_cache_free(v->cache, p) :
					slabdev_free(v->sd, p);
}

struct class *victim_class(const struct victims *v, const void *p)
{
	return class_at(v->sd, space_offset(v->sd, p));
}

u64 victim_stride(const struct victims *v, const void *p)
{
	struct class *c = victim_class(v, p);

	return c ? c->stride : large_usable(v->sd, v->victim->size);
}

bool has_zone_behind(const struct victims *v, const void *p)
{
	const struct class *c = victim_class(v, p);

	return (c ? c : v->sd->class[CLASS_LARGE])->debug & DEBUG_RED_ZONE;
}

bool has_zone_before(const struct victims *v, const void *p)
{
	const struct class *c = victim_class(v, p);

	return c && !c->comm && has_zone_behind(v, p);
}

bool has_poison_in(const struct victims *v, const void *p)
{
	const struct class *c = victim_class(v, p);

	if (!c)
		c = large_usable(v->sd, v->victim->size) <= SHARED_MAX ?
		    v->sd->class[CLASS_LARGE] : NULL;
	return c && READ_ONCE(c->debug) & DEBUG_POISON;
}

void smear(struct slabdev *sd, void *p, s64 offset, size_t n)
{
	/* Not before the zones there are filled. */
	if (!sd->ops->synchronous)
		(void)vmm_quiesce(&sd->vmm);
	mem_fill(sd, (char *)p + offset, n, DAMAGE_BYTE);
}

/* ---- Reports ---------------------------------------------------------- */

void expect_told(struct kunit *test, const char *fmt, ...)
{
	const char *told = kunit_report_text(test);
	char wanted[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(wanted, sizeof(wanted), fmt, args);
	va_end(args);
	KUNIT_EXPECT_TRUE_MSG(test, strstr(told, wanted), "no '%s' in:\n%s",
			      wanted, told);
}

void expect_damaged(struct kunit *test, struct slabdev *sd, u32 n)
{
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "%u objects are damaged", n);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), -EUCLEAN);
	KUNIT_EXPECT_TRUE_MSG(test, strstr(slabdev_last_error(), wanted),
			      "%s", slabdev_last_error());
}

void expect_kept(struct victims *v, const void *bad)
{
	const struct class *c = victim_class(v, bad);
	u32 n = 2 * c->nr + 2, i;
	void **p = kunit_kzalloc(v->test, n * sizeof(*p));

	for (i = 0; i < n; i++) {
		p[i] = victim_get(v);
		KUNIT_EXPECT_PTR_NE(v->test, p[i], bad);
	}
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(v->test, victim_free(v, p[i]), 0);
}

/* ---- Caches ----------------------------------------------------------- */

struct slabdev_cache *lettered_cache(struct kunit *test, struct slabdev *sd,
				     size_t size, u32 flags)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *cache = NULL;

	args.flags = SLABDEV_CACHE_NO_USER_FLAGS | flags;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_cache_create(&cache, sd, "lettered",
						       size, &args), 0, "%s",
			    slabdev_last_error());
	return cache;
}

void get_neighbours(struct kunit *test, struct slabdev_cache *cache,
		    void *p[2])
{
	const struct class *c = (const struct class *)cache;
	u32 n = 0;
	void *q;

	/* A new slab is handed out from one end to the other. */
	for (p[0] = NULL; n < c->nr; n++) {
		q = slabdev_cache_alloc(cache);
		KUNIT_ASSERT_NOT_NULL(test, q);
		p[1] = max(p[0], q);
		p[0] = p[0] ? min(p[0], q) : q;
		if (p[0] != p[1])
			break;
	}
	KUNIT_ASSERT_EQ(test, (u64)((char *)p[1] - (char *)p[0]), c->stride);
}
