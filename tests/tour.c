// SPDX-License-Identifier: BSD-2-Clause
/* tour.c - see tour.h. */
#include "tests/tour.h"

#include <errno.h>
#include <string.h>

#define KIB_ ((size_t)1 << 10)
#define MIB_ ((size_t)1 << 20)

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define CHECK(cond)							\
	do {								\
		if (!(cond))						\
			return "line " TEXT(__LINE__) ": " #cond;	\
	} while (0)
#define FOLLOW(call)							\
	do {								\
		const char *wrong_ = (call);				\
									\
		if (wrong_)						\
			return wrong_;					\
	} while (0)

/* ---- General objects -------------------------------------------------- */

const char *tour_objects(struct slabdev *sd, size_t size)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	char *p, *q, *r;

	p = slabdev_alloc(sd, size);
	CHECK(p);
	memset(p, 1, size);
	CHECK(slabdev_usable_size(sd, p) >= size);
	CHECK(slabdev_usable_size(sd, p) == slabdev_size_roundup(sd, size));
	req.align = 4096;
	req.flags = SLABDEV_REQ_ZERO;
	q = slabdev_alloc_ex(sd, size, &req);
	CHECK(q && !((uintptr_t)q % 4096) && !q[0] && !q[size - 1]);
	CHECK(!slabdev_free(sd, q));
	q = slabdev_alloc_aligned(sd, 3 * size, 512);
	CHECK(q && !((uintptr_t)q % 512));
	r = slabdev_zalloc(sd, size);
	CHECK(r && !r[size / 2]);
	CHECK(!slabdev_free(sd, r));
	r = slabdev_alloc_array(sd, 3, size);
	CHECK(r);
	CHECK(!slabdev_free(sd, r));
	p = slabdev_realloc(sd, p, 2 * size + 500);
	CHECK(p && p[0] == 1 && p[size - 1] == 1);
	CHECK(!slabdev_free(sd, q));
	CHECK(!slabdev_free(sd, p));
	return NULL;
}

static const char *large_objects(struct slabdev *sd)
{
	char *p = slabdev_alloc(sd, 3 * MIB_), *q;

	CHECK(p);
	p[0] = p[3 * MIB_ - 1] = 7;
	q = slabdev_realloc(sd, p, 5 * MIB_);
	CHECK(q && q[0] == 7 && q[3 * MIB_ - 1] == 7);
	CHECK(!slabdev_free(sd, q));
	return NULL;
}

/* ---- Caches ----------------------------------------------------------- */

static int build(void *base, size_t stride, size_t count,
		 slabdev_stream_t stream, void *arg)
{
	(void)stream;
	(void)arg;
	memset(base, 5, stride * count);
	return 0;
}

static const char *objects_of(struct slabdev_cache *c)
{
	struct slabdev_cache_stats st;
	void *p[40];

	CHECK(!slabdev_cache_prefill(c, 50));
	p[0] = slabdev_cache_alloc(c);
	CHECK(p[0] && *(char *)p[0] == 5);
	CHECK(!slabdev_cache_free(c, p[0]));
	CHECK(!slabdev_cache_alloc_bulk(c, 40, p));
	CHECK(!slabdev_cache_stats(c, &st, sizeof(st)));
	CHECK(st.live == 40);
	CHECK(slabdev_cache_destroy(c) == -EBUSY);
	CHECK(!slabdev_cache_free_bulk(c, 40, p));
	CHECK(!slabdev_cache_shrink(c));
	CHECK(!slabdev_cache_validate(c));
	return NULL;
}

static const char *caches(struct slabdev *sd)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	static const struct {
		const char *name;
		size_t size;
	} kinds[] = { { "tiny", 24 }, { "small", 320 }, { "big", 70000 } };
	struct slabdev_cache *c;
	size_t i;

	args.ctor = build;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		CHECK(!slabdev_cache_create(&c, sd, kinds[i].name,
					    kinds[i].size, &args));
		FOLLOW(objects_of(c));
		CHECK(!slabdev_cache_destroy(c));
	}
	return NULL;
}

/* ---- What is refused -------------------------------------------------- */

static uint64_t shrink(struct slabdev *sd, uint64_t bytes, void *arg)
{
	void **p = arg;
	int err;

	(void)bytes;
	if (!*p)
		return 0;
	err = slabdev_free(sd, *p);
	*p = NULL;
	return err ? 0 : MIB_;
}

static const char *too_much(struct slabdev *sd)
{
	void *spare = slabdev_alloc(sd, MIB_), *p;

	CHECK(spare);
	CHECK(!slabdev_register_shrinker(sd, shrink, &spare));
	errno = 0;
	p = slabdev_alloc(sd, 2 * TOUR_LIMIT);
	CHECK(!p && errno == EDQUOT);
	CHECK(!spare);
	CHECK(!slabdev_unregister_shrinker(sd, shrink, &spare));
	CHECK(slabdev_prime(sd, 2 * TOUR_LIMIT) == -EDQUOT);
	CHECK(slabdev_last_error()[0]);
	return NULL;
}

static const char *wrong_frees(struct slabdev *sd)
{
	char *p = slabdev_alloc(sd, 1000), text[200];

	CHECK(p);
	CHECK(slabdev_explain(p, text, sizeof(text)) == 0);
	CHECK(slabdev_free(sd, p + 16) == -EINVAL);
	CHECK(slabdev_free(sd, text) == -EINVAL);
	CHECK(slabdev_close(sd, 0) == -EBUSY);
	CHECK(!slabdev_free(sd, p));
	CHECK(slabdev_free(sd, p) == -EALREADY);
	CHECK(slabdev_explain(p, text, sizeof(text)) == 1);
	return NULL;
}

/* ---- The space -------------------------------------------------------- */

static const char *policies(struct slabdev *sd)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	uint32_t mode;

	CHECK(!slabdev_prime(sd, 4 * MIB_));
	for (mode = SLABDEV_RETAIN; mode <= SLABDEV_AGGRESSIVE; mode++) {
		policy.mode = mode;
		CHECK(!slabdev_set_policy(sd, &policy));
		FOLLOW(tour_objects(sd, 300));
		FOLLOW(tour_objects(sd, 70 * KIB_));
		FOLLOW(large_objects(sd));
		CHECK(!slabdev_poll(sd));
	}
	policy.mode = SLABDEV_RETAIN;
	CHECK(!slabdev_set_policy(sd, &policy));
	return NULL;
}

static const char *figures(struct slabdev *sd, FILE *out)
{
	uint64_t free_bytes = 0, total = 0;
	struct slabdev_stats st;

	CHECK(!slabdev_meminfo(sd, &free_bytes, &total));
	CHECK(total && free_bytes <= total);
	CHECK(!slabdev_report(sd, out));
	CHECK(!slabdev_validate(sd));
	CHECK(!slabdev_trim(sd, 0));
	CHECK(!slabdev_stats(sd, &st, sizeof(st)));
	CHECK(!st.live_objects && !st.mapped && !st.lost && !st.in_flight);
	return NULL;
}

static const char *devices(void)
{
	struct slabdev_device_info info;

	CHECK(!strcmp(slabdev_version(), SLABDEV_VERSION));
	CHECK(slabdev_device_count() > 0);
	CHECK(!slabdev_device_get(0, &info, sizeof(info)));
	CHECK(info.usable && info.memory_total);
	return NULL;
}

static const char *see_space(struct slabdev *sd, FILE *out)
{
	FOLLOW(tour_objects(sd, 1000));
	FOLLOW(caches(sd));
	FOLLOW(policies(sd));
	FOLLOW(too_much(sd));
	FOLLOW(wrong_frees(sd));
	return figures(sd, out);
}

const char *tour(FILE *out)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd, *none;
	const char *wrong;

	FOLLOW(devices());
	CHECK(slabdev_open(&none, "nowhere", NULL) == -EINVAL);
	attr.limit = TOUR_LIMIT;
	attr.name = "tour";
	CHECK(!slabdev_open(&sd, "host", &attr));
	wrong = see_space(sd, out);
	if (wrong) {
		slabdev_close(sd, SLABDEV_CLOSE_FORCE);
		return wrong;
	}
	CHECK(!slabdev_close(sd, 0));
	return NULL;
}
