/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem.h - where the solver's blocks come from: one seam, two backends
 */
#ifndef DMRG_MEM_H
#define DMRG_MEM_H

#include <stddef.h>
#include <stdint.h>

/* What every backend aligns to, so that both give the same results. */
#define MEM_ALIGN ((size_t)256)

struct mem;
struct trace;

enum mem_kind { MEM_SLABDEV, MEM_MALLOC };

struct mem_config {
	enum mem_kind kind;
	int policy;		/* an enum slabdev_policy_mode */
};

/*
 * What was done so far. The first five are the solver's own counts and true
 * for every backend; the rest is 0 where a backend does not know.
 */
struct mem_counts {
	uint64_t allocs;
	uint64_t frees;
	uint64_t bytes;		/* asked for, over all allocations */
	uint64_t live;
	uint64_t peak_live;
	uint64_t refills;
	uint64_t backend_calls;
	uint64_t peak_mapped;
};

int mem_open(struct mem **m, const struct mem_config *config, char *why,
	     size_t why_len);
int mem_close(struct mem *m, char *why, size_t why_len);

void *mem_alloc(struct mem *m, size_t bytes);
void mem_free(struct mem *m, void *p, size_t bytes);

const char *mem_error(const struct mem *m);
void mem_counts(struct mem *m, struct mem_counts *c);

/* Record every call from now on into @t; NULL ends it. No call in progress. */
void mem_set_trace(struct mem *m, struct trace *t);

#endif
