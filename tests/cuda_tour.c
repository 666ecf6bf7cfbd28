// SPDX-License-Identifier: BSD-2-Clause
/* cuda_tour.c - see cuda_tour.h. */
#include "tests/cuda_tour.h"

#include <errno.h>

#define TOUR_LIMIT (192 * MIB)
#define NR_OBJECTS 8u
#define NR_BULK 40u

/* The result of one call of the tour. */
static int visit(struct cuda_tour *tour, const char *call, int err)
{
	tour->calls++;
	tour->failures += err != 0;
	if (tour->look)
		tour->look(tour, call, err);
	return err;
}

#define VISIT(tour, call) visit(tour, #call, call)

static void *visit_alloc(struct cuda_tour *tour, const char *call, void *p)
{
	visit(tour, call, p ? 0 : -errno);
	return p;
}

#define VISIT_ALLOC(tour, call) visit_alloc(tour, #call, call)

/* Small, of some chunks, and huge. */
static void tour_sizes(struct cuda_tour *tour, struct slabdev *sd)
{
	static const size_t sizes[NR_OBJECTS] = {
		100, 5000, 300 * KIB, 3 * MIB, 9 * MIB, 65 * MIB, 1 * MIB, 256,
	};
	void *p[NR_OBJECTS];
	u32 i;

	for (i = 0; i < NR_OBJECTS; i++)
		p[i] = VISIT_ALLOC(tour, slabdev_alloc(sd, sizes[i]));
	for (i = 0; i < NR_OBJECTS; i++)
		VISIT(tour, slabdev_free(sd, p[i]));
}

static void tour_work_on_memory(struct cuda_tour *tour, struct slabdev *sd)
{
	void *p = VISIT_ALLOC(tour, slabdev_zalloc(sd, 4000));
	void *q;

	q = VISIT_ALLOC(tour, slabdev_realloc(sd, p, 2 * MIB));
	VISIT(tour, slabdev_free(sd, q ? q : p));
	p = VISIT_ALLOC(tour, slabdev_zalloc(sd, 5 * MIB));
	VISIT(tour, slabdev_free(sd, p));
}

static void tour_cache(struct cuda_tour *tour, struct slabdev *sd)
{
	struct slabdev_cache *cache;
	void *p[NR_BULK];

	if (VISIT(tour, slabdev_cache_create(&cache, sd, "tour", 90000, NULL)))
		return;
	if (!VISIT(tour, slabdev_cache_alloc_bulk(cache, NR_BULK, p)))
		VISIT(tour, slabdev_cache_free_bulk(cache, NR_BULK, p));
	p[0] = VISIT_ALLOC(tour, slabdev_cache_alloc(cache));
	VISIT(tour, slabdev_cache_free(cache, p[0]));
	VISIT(tour, slabdev_cache_prefill(cache, 2 * NR_BULK));
	VISIT(tour, slabdev_cache_shrink(cache));
	VISIT(tour, slabdev_cache_destroy(cache));
}

static void tour_policies(struct cuda_tour *tour, struct slabdev *sd)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	void *p;

	for (policy.mode = SLABDEV_AGGRESSIVE; policy.mode; policy.mode--) {
		VISIT(tour, slabdev_set_policy(sd, &policy));
		p = VISIT_ALLOC(tour, slabdev_alloc(sd, 6 * MIB));
		VISIT(tour, slabdev_free(sd, p));
		VISIT(tour, slabdev_poll(sd));
	}
}

static void tour_questions(struct cuda_tour *tour, struct slabdev *sd)
{
	struct slabdev_device_info info;
	uint64_t free_bytes, total;

	VISIT(tour, slabdev_meminfo(sd, &free_bytes, &total));
	VISIT(tour, slabdev_device_count() < 1);
	VISIT(tour, slabdev_device_get(1, &info, sizeof(info)));
	VISIT(tour, slabdev_validate(sd));
}

void cuda_tour_work(struct cuda_tour *tour, struct slabdev *sd)
{
	tour_sizes(tour, sd);
	tour_work_on_memory(tour, sd);
	tour_cache(tour, sd);
	VISIT(tour, slabdev_prime(sd, 70 * MIB));
	VISIT(tour, slabdev_trim(sd, 10 * MIB));
	tour_policies(tour, sd);
	/* Beyond the limit: everything idle goes first. */
	VISIT(tour, slabdev_prime(sd, 2 * TOUR_LIMIT));
	VISIT(tour, slabdev_trim(sd, 0));
	tour_questions(tour, sd);
}

void cuda_tour(struct cuda_tour *tour)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;

	attr.limit = TOUR_LIMIT;
	attr.backing = tour->kind->backing;
	attr.stream = tour->stream;
	attr.name = "tour";
	if (VISIT(tour, slabdev_open(&sd, tour->kind->spec, &attr)))
		return;
	cuda_tour_work(tour, sd);
	VISIT(tour, slabdev_close(sd, SLABDEV_CLOSE_FORCE));
}
