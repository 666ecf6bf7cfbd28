/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem.h - where the solver's blocks come from, and what that costs
 */
#ifndef DMRG_MEM_H
#define DMRG_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What every backend aligns to, so that all give the same results. */
#define MEM_ALIGN ((size_t)256)

struct device;
struct mem;
struct trace;
struct slabdev_buf;
struct slabdev_group;

enum mem_kind { MEM_SLABDEV, MEM_MALLOC };

struct mem_config {
	enum mem_kind kind;
	bool grouped;		/* the blocks of a tensor in one allocation */
	bool may_fail;		/* out of memory is no surprise */
	int policy;		/* an enum slabdev_policy_mode */
	const char *device;	/* "host", or as slabdev_open() takes it */
	uint64_t prime;		/* mapped before the first block; 0: nothing */
};

/*
 * What was done so far. The first ones are the solver's own counts and true
 * for every backend; from @refills on it is 0 where a backend does not know.
 */
struct mem_counts {
	uint64_t allocs;
	uint64_t frees;
	uint64_t blocks;	/* that got memory; at least allocs */
	uint64_t calls;		/* of all functions of the backend */
	uint64_t ns;		/* in them, over all threads */
	uint64_t bytes;		/* asked for, over all allocations */
	uint64_t live;
	uint64_t peak_live;
	uint64_t refills;
	uint64_t backend_calls;
	uint64_t mapped;
	uint64_t retained;
	uint64_t peak_mapped;
	uint64_t limit;
};

int mem_open(struct mem **m, const struct mem_config *config, char *why,
	     size_t why_len);
int mem_close(struct mem *m, char *why, size_t why_len);

void *mem_alloc(struct mem *m, size_t bytes);
void mem_free(struct mem *m, void *p, size_t bytes);

/*
 * Only where mem_is_grouped(): memory for @n blocks, some of 0 bytes, in one
 * allocation, which is freed at once. @base is the first block's address, and
 * @bytes the sum of @sizes.
 */
bool mem_is_grouped(const struct mem *m);
int mem_group_alloc(struct mem *m, const size_t *sizes, int n, void **ptrs,
		    struct slabdev_group **group);
void mem_group_free(struct mem *m, struct slabdev_group *group, void *base,
		    size_t bytes);

/*
 * The same, and each block is a view, NULL for 0 bytes, that has owners of its
 * own: _get() makes one more of all @n, or of none; the _put() of the last one
 * frees.
 */
int mem_views_alloc(struct mem *m, const size_t *sizes, int n, void **ptrs,
		    struct slabdev_buf **views);
int mem_views_get(struct mem *m, struct slabdev_buf *const *views, int n);
void mem_views_put(struct mem *m, struct slabdev_buf *const *views, int n,
		   void *base, size_t bytes);

/* Who computes on the memory, and memory of the CPU for what it cannot. */
const struct device *mem_device(const struct mem *m);
struct mem *mem_host(struct mem *m);

/* Map @bytes now; what that cost is in the counts. */
int mem_prime(struct mem *m, uint64_t bytes);
int mem_set_policy(struct mem *m, int policy);
/* The first failure in words, or ""; forget it. No call in progress. */
const char *mem_error(const struct mem *m);
void mem_forgive(struct mem *m);
void mem_counts(struct mem *m, struct mem_counts *c);

/* Record every call from now on into @t; NULL ends it. No call in progress. */
void mem_set_trace(struct mem *m, struct trace *t);

#endif
