/* SPDX-License-Identifier: BSD-2-Clause */
/* comm_objects.h - caches and objects of comm memory, for tests. */
#ifndef TESTS_COMM_OBJECTS_H
#define TESTS_COMM_OBJECTS_H

#include "tests/open_space.h"

static inline struct slabdev_cache *
comm_cache(struct kunit *test, struct slabdev *sd, const char *name,
	   size_t size)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *cache = NULL;

	args.flags = SLABDEV_CACHE_COMM;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_cache_create(&cache, sd, name, size,
						       &args), 0, "%s",
			    slabdev_last_error());
	return cache;
}

static inline void *comm_alloc(struct slabdev *sd, size_t size)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.flags = SLABDEV_REQ_COMM;
	return slabdev_alloc_ex(sd, size, &req);
}

static inline void *must_comm(struct kunit *test, struct slabdev *sd,
			      size_t size)
{
	void *p = comm_alloc(sd, size);

	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%zu bytes: %s", size,
				  slabdev_last_error());
	return p;
}

static inline void *must_get(struct kunit *test, struct slabdev_cache *cache)
{
	void *p = slabdev_cache_alloc(cache);

	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	return p;
}

#endif /* TESTS_COMM_OBJECTS_H */
