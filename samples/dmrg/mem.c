// SPDX-License-Identifier: BSD-2-Clause
/*
 * mem.c - where the solver's blocks come from
 *
 * Concepts. A *block* is a dense matrix of one combination of symmetry
 * sectors. The solver makes and drops hundreds of them in each product of the
 * effective Hamiltonian with a vector, from 8 bytes to some megabytes. All of
 * them, and all work space of their size, pass through mem_alloc() and
 * mem_free(). Behind these two stands a table with one entry a backend: a
 * space of libslabdev, or posix_memalign() with the same alignment.
 *
 * Counting. The caller knows the size of what it frees, so live bytes are
 * counted here, without asking a backend, and can be held against what the
 * backend mapped.
 *
 * Locking. The counters are relaxed atomics: any thread allocates, and any
 * other frees. The text of the first failure and the trace are under a lock,
 * which is only taken when something failed or is recorded.
 *
 * Failure. An allocation that fails returns NULL. What the backend had to say
 * about it belongs to the thread that asked, so it is copied at once; the
 * first failure wins, later ones follow from it.
 */
#include "mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slabdev/slabdev.h>

#include "trace.h"

/* With --policy=trim: what stays mapped without holding a block. */
#define TRIM_KEEP_BYTES ((uint64_t)16 << 20)

struct mem_backend {
	int (*open)(struct mem *m, const struct mem_config *config);
	int (*close)(struct mem *m);
	void *(*alloc)(struct mem *m, size_t bytes);
	int (*free)(struct mem *m, void *p);
	const char *(*error)(void);
	void (*counts)(struct mem *m, struct mem_counts *c);
};

struct mem {
	const struct mem_backend *backend;	/* const after open */
	struct slabdev *space;			/* const after open */
	struct trace *trace;		/* set while no thread is in a call */
	_Atomic uint64_t allocs, frees, bytes;
	_Atomic uint64_t live, peak_live;
	pthread_mutex_t lock;
	char error[512];			/* Locking: lock */
};

static int space_open(struct mem *m, const struct mem_config *config)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.name = "dmrg";
	attr.policy.mode = (uint32_t)config->policy;
	attr.policy.keep_bytes = TRIM_KEEP_BYTES;
	return slabdev_open(&m->space, "host", &attr);
}

static int space_close(struct mem *m)
{
	int err = slabdev_close(m->space, 0);

	/* What is live then was reported; it must not outlive the process. */
	if (err == -EBUSY)
		slabdev_close(m->space, SLABDEV_CLOSE_FORCE);
	return err;
}

static void *space_alloc(struct mem *m, size_t bytes)
{
	return slabdev_alloc(m->space, bytes);
}

static int space_free(struct mem *m, void *p)
{
	return slabdev_free(m->space, p);
}

static void space_counts(struct mem *m, struct mem_counts *c)
{
	struct slabdev_stats st;

	if (slabdev_stats(m->space, &st, sizeof(st)))
		return;
	c->refills = st.refills;
	c->backend_calls = st.backend_calls;
	c->peak_mapped = st.peak_mapped;
}

static int heap_open(struct mem *m, const struct mem_config *config)
{
	(void)m;
	(void)config;
	return 0;
}

static int heap_close(struct mem *m)
{
	(void)m;
	return 0;
}

static void *heap_alloc(struct mem *m, size_t bytes)
{
	void *p;

	(void)m;
	errno = posix_memalign(&p, MEM_ALIGN, bytes);
	return errno ? NULL : p;
}

static int heap_free(struct mem *m, void *p)
{
	(void)m;
	free(p);
	return 0;
}

static const char *heap_error(void)
{
	return strerror(ENOMEM);
}

static void heap_counts(struct mem *m, struct mem_counts *c)
{
	(void)m;
	(void)c;
}

static const struct mem_backend backends[] = {
	[MEM_SLABDEV] = {
		.open = space_open,
		.close = space_close,
		.alloc = space_alloc,
		.free = space_free,
		.error = slabdev_last_error,
		.counts = space_counts,
	},
	[MEM_MALLOC] = {
		.open = heap_open,
		.close = heap_close,
		.alloc = heap_alloc,
		.free = heap_free,
		.error = heap_error,
		.counts = heap_counts,
	},
};

int mem_open(struct mem **out, const struct mem_config *config, char *why,
	     size_t why_len)
{
	struct mem *m;
	int err;

	m = calloc(1, sizeof(*m));
	if (!m) {
		snprintf(why, why_len, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	m->backend = &backends[config->kind];
	err = m->backend->open(m, config);
	if (err) {
		snprintf(why, why_len, "%s: %s", strerror(-err),
			 m->backend->error());
		free(m);
		return err;
	}
	pthread_mutex_init(&m->lock, NULL);
	*out = m;
	return 0;
}

int mem_close(struct mem *m, char *why, size_t why_len)
{
	int err;

	if (!m)
		return 0;
	err = m->backend->close(m);
	if (err)
		snprintf(why, why_len, "%s: %s", strerror(-err),
			 m->backend->error());
	pthread_mutex_destroy(&m->lock);
	free(m);
	return err;
}

/* Keep the first failure, in the words of the thread that met it. */
static void mem_failed(struct mem *m, const char *what, size_t bytes)
{
	const char *error = m->backend->error();

	pthread_mutex_lock(&m->lock);
	if (!m->error[0])
		snprintf(m->error, sizeof(m->error), "%s of %zu bytes: %s",
			 what, bytes, error);
	pthread_mutex_unlock(&m->lock);
}

static void mem_count_alloc(struct mem *m, size_t bytes)
{
	uint64_t live, peak;

	atomic_fetch_add_explicit(&m->allocs, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&m->bytes, bytes, memory_order_relaxed);
	live = bytes + atomic_fetch_add_explicit(&m->live, bytes,
						 memory_order_relaxed);
	peak = atomic_load_explicit(&m->peak_live, memory_order_relaxed);
	while (live > peak &&
	       !atomic_compare_exchange_weak(&m->peak_live, &peak, live))
		;
}

void *mem_alloc(struct mem *m, size_t bytes)
{
	void *p = m->backend->alloc(m, bytes);

	if (!p) {
		mem_failed(m, "allocation", bytes);
		return NULL;
	}
	mem_count_alloc(m, bytes);
	if (m->trace) {
		pthread_mutex_lock(&m->lock);
		trace_alloc(m->trace, p, bytes);
		pthread_mutex_unlock(&m->lock);
	}
	return p;
}

void mem_free(struct mem *m, void *p, size_t bytes)
{
	if (!p)
		return;
	atomic_fetch_add_explicit(&m->frees, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&m->live, bytes, memory_order_relaxed);
	/* Before the free: after it another thread may own the address. */
	if (m->trace) {
		pthread_mutex_lock(&m->lock);
		trace_free(m->trace, p);
		pthread_mutex_unlock(&m->lock);
	}
	if (m->backend->free(m, p))
		mem_failed(m, "free", bytes);
}

const char *mem_error(const struct mem *m)
{
	return m->error;
}

void mem_counts(struct mem *m, struct mem_counts *c)
{
	memset(c, 0, sizeof(*c));
	c->allocs = atomic_load(&m->allocs);
	c->frees = atomic_load(&m->frees);
	c->bytes = atomic_load(&m->bytes);
	c->live = atomic_load(&m->live);
	c->peak_live = atomic_load(&m->peak_live);
	m->backend->counts(m, c);
}

void mem_set_trace(struct mem *m, struct trace *t)
{
	m->trace = t;
}
