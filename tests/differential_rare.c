// SPDX-License-Identifier: BSD-2-Clause
/*
 * differential_rare.c - the rare calls of differential_test.c: mistakes,
 * questions, and what is done to a space as a whole.
 *
 * A double free is tried only where nobody can have got the object in between:
 * in a cache that only the thread itself uses, with a neighbour that keeps the
 * slab.
 */
#include "core/overflow.h"
#include "tests/differential.h"

#define AGGRESSIVE_OPS 500u

/* ---- Mistakes --------------------------------------------------------- */

static void expect_refused(struct worker *w, int err, int wanted)
{
	CHECK(w, err == wanted, "%d: %s", err, slabdev_last_error());
	w->mistakes++;
}

/* Only the thread itself allocates from its cache, and @second keeps the slab
 * of @first: nobody gets @first before it is freed once more. */
static void free_twice(struct worker *w)
{
	void *first = slabdev_cache_alloc(w->own);
	void *second = slabdev_cache_alloc(w->own);
	struct slabdev *sd = w->d->sd;

	CHECK(w, first && second, "%s", slabdev_last_error());
	CHECK(w, !slabdev_free(sd, first), "%s", slabdev_last_error());
	if ((u64)(uintptr_t)first / SLICE_SIZE ==
	    (u64)(uintptr_t)second / SLICE_SIZE) {
		expect_refused(w, slabdev_free(sd, first), -EALREADY);
		expect_refused(w, slabdev_cache_free(w->own, first), -EALREADY);
		CHECK(w, !slabdev_usable_size(sd, first), "%p", first);
	}
	CHECK(w, !slabdev_cache_free(w->own, second), "%p", second);
	w->allocs += 2;
	w->frees += 2;
}

void rare_mistake(struct worker *w, const struct object *o)
{
	struct slabdev *sd = w->d->sd;
	void *inside = o->p ? o->p + 1 + pick(w, (u32)o->size) : NULL;

	switch (pick(w, 4)) {
	case 0:
		free_twice(w);
		break;
	case 1:
		expect_refused(w, slabdev_free(sd, w), -EINVAL);
		break;
	case 2:
		if (inside && inside < (void *)(o->p + o->size))
			expect_refused(w, slabdev_free(sd, inside), -EINVAL);
		break;
	default:
		if (o->p)
			expect_refused(w, slabdev_cache_free(w->own, o->p),
				       -EINVAL);
	}
}

/* ---- Questions and management ----------------------------------------- */

void rare_question(struct worker *w, const struct object *o)
{
	struct slabdev *sd = w->d->sd;
	char text[256];

	CHECK(w, slabdev_explain(w, text, sizeof(text)) == -ENOENT, "%s", text);
	if (!o->p)
		return;
	CHECK(w, slabdev_explain(o->p + pick(w, (u32)o->size), text,
				 sizeof(text)) == 0, "%s", text);
	CHECK(w, slabdev_usable_size(sd, o->p) == o->usable, "%p of %llu bytes",
	      (void *)o->p, (unsigned long long)o->usable);
}

static void churn(struct worker *w)
{
	struct slabdev_cache *c = NULL;
	char name[16];
	void *p;

	snprintf(name, sizeof(name), "churn-%u", w->me);
	CHECK(w, !slabdev_cache_create(&c, w->d->sd, name,
				       16 + pick(w, 4000), NULL), "%s",
	      slabdev_last_error());
	CHECK(w, !slabdev_cache_prefill(c, pick(w, 100)), "%s",
	      slabdev_last_error());
	p = slabdev_cache_alloc(c);
	CHECK(w, p && !slabdev_cache_free(c, p), "%s", slabdev_last_error());
	CHECK(w, !slabdev_cache_destroy(c), "%s", slabdev_last_error());
	w->allocs++;
	w->frees++;
}

int rare_policy(struct worker *w, u32 mode)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = mode;
	policy.keep_bytes = pick(w, 32) * MIB;
	w->calm_at = mode == SLABDEV_AGGRESSIVE ? w->ops + AGGRESSIVE_OPS : 0;
	return slabdev_set_policy(w->d->sd, &policy);
}

int rare_management(struct worker *w)
{
	struct slabdev_cache *c = w->d->cache[pick(w, CACHES)];
	struct slabdev *sd = w->d->sd;
	struct slabdev_cache_stats cst;
	struct slabdev_stats st;

	switch (pick(w, 11)) {
	case 0:
		return slabdev_trim(sd, pick(w, 64) * MIB);
	case 1:
		return slabdev_cache_shrink(c);
	case 2:
		return slabdev_validate(sd);
	case 3:
		return slabdev_cache_validate(c);
	case 4:
		return slabdev_stats(sd, &st, sizeof(st));
	case 5:
		return slabdev_cache_stats(c, &cst, sizeof(cst));
	case 6:
		return slabdev_report(sd, w->d->null);
	case 7:
		return slabdev_poll(sd);
	case 8:
		return slabdev_prime(sd, pick(w, 8) * MIB);
	case 9:
		return rare_policy(w, SLABDEV_RETAIN + pick(w, 3));
	default:
		churn(w);
		return 0;
	}
}
