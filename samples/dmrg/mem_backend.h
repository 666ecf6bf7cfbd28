/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_backend.h - what a backend of mem.h is
 */
#ifndef DMRG_MEM_BACKEND_H
#define DMRG_MEM_BACKEND_H

#include "mem.h"

struct slabdev;

/* What a backend keeps; const after open. */
struct mem_space {
	struct slabdev *slabdev;
	const struct device *device;
	bool may_fail;
};

/*
 * All but the first two and free() may be called by any thread. Those without
 * groups have NULL for the six functions in the middle.
 */
struct mem_backend {
	int (*open)(struct mem_space *s, const struct mem_config *config);
	int (*close)(struct mem_space *s);
	void *(*alloc)(struct mem_space *s, size_t bytes);
	int (*free)(struct mem_space *s, void *p);
	int (*group_alloc)(struct mem_space *s, const size_t *sizes, int n,
			   void **ptrs, struct slabdev_group **group);
	int (*group_free)(struct slabdev_group *group);
	int (*views_alloc)(struct mem_space *s, const size_t *sizes, int n,
			   void **ptrs, struct slabdev_buf **views);
	struct slabdev_buf *(*get)(struct slabdev_buf *view);
	/* The owners that are left. */
	int (*put)(struct slabdev_buf *view);
	int (*prime)(struct mem_space *s, uint64_t bytes);
	int (*set_policy)(struct mem_space *s, int policy);
	const char *(*error)(void);
	void (*counts)(struct mem_space *s, struct mem_counts *c);
};

extern const struct mem_backend mem_slabdev, mem_heap;

#endif
