// SPDX-License-Identifier: BSD-2-Clause
/*
 * mem.c - where the solver's blocks come from, and what that costs
 *
 * Concepts. A *block* is a dense matrix of one combination of symmetry
 * sectors. The solver makes and drops hundreds of them in each product of the
 * effective Hamiltonian with a vector, from 8 bytes to some megabytes. All of
 * them, and all work space of their size, pass through the functions here.
 * Behind them stands a table with one entry a backend: a space of libslabdev,
 * or posix_memalign() with the same alignment. A device whose memory the CPU
 * cannot touch has a second mem beside it, pinned memory of the host.
 *
 * Counting. The caller knows the size of what it frees, so live bytes are
 * counted here, without asking a backend, and can be held against what the
 * backend mapped. What several owners keep counts once. Time is that inside the
 * backend, less what reading the clock takes.
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
#include <time.h>

#include "device.h"
#include "mem_backend.h"
#include "trace.h"

struct mem {
	const struct mem_backend *backend;	/* const after open */
	struct mem_space space;			/* const after open */
	struct mem *host;			/* const after open */
	bool grouped;				/* const after open */
	uint64_t clock_ns;			/* const after open */
	struct trace *trace;		/* set while no thread is in a call */
	_Atomic uint64_t allocs, frees, blocks, calls, ns, bytes;
	_Atomic uint64_t live, peak_live;
	pthread_mutex_t lock;
	char error[512];			/* Locking: lock */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What two readings are apart that have nothing between them. */
static uint64_t clock_cost(void)
{
	uint64_t ns, least = UINT64_MAX;
	int i;

	for (i = 0; i < 1000; i++) {
		ns = now_ns();
		ns = now_ns() - ns;
		if (ns < least)
			least = ns;
	}
	return least;
}

static void add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* @calls of the backend end now that began at @start. */
static void count_calls(struct mem *m, uint64_t start, int calls)
{
	const uint64_t ns = now_ns() - start;

	add(&m->calls, (uint64_t)calls);
	if (ns > m->clock_ns)
		add(&m->ns, ns - m->clock_ns);
}

static void count_alloc(struct mem *m, size_t bytes, int blocks)
{
	uint64_t live, peak;

	add(&m->allocs, 1);
	add(&m->blocks, (uint64_t)blocks);
	add(&m->bytes, bytes);
	live = bytes + atomic_fetch_add_explicit(&m->live, bytes,
						 memory_order_relaxed);
	peak = atomic_load_explicit(&m->peak_live, memory_order_relaxed);
	while (live > peak &&
	       !atomic_compare_exchange_weak(&m->peak_live, &peak, live))
		;
}

static void count_free(struct mem *m, size_t bytes)
{
	add(&m->frees, 1);
	atomic_fetch_sub_explicit(&m->live, bytes, memory_order_relaxed);
}


static void record(struct mem *m, void *address, size_t bytes, bool alloc)
{
	if (!m->trace)
		return;
	pthread_mutex_lock(&m->lock);
	if (alloc)
		trace_alloc(m->trace, address, bytes);
	else
		trace_free(m->trace, address);
	pthread_mutex_unlock(&m->lock);
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

void *mem_alloc(struct mem *m, size_t bytes)
{
	const uint64_t start = now_ns();
	void *p = m->backend->alloc(&m->space, bytes);

	count_calls(m, start, 1);
	if (!p) {
		mem_failed(m, "allocation", bytes);
		return NULL;
	}
	count_alloc(m, bytes, 1);
	record(m, p, bytes, true);
	return p;
}

void mem_free(struct mem *m, void *p, size_t bytes)
{
	uint64_t start;
	int err;

	if (!p)
		return;
	/* Before the free: after it another thread may own the address. */
	record(m, p, 0, false);
	count_free(m, bytes);
	start = now_ns();
	err = m->backend->free(&m->space, p);
	count_calls(m, start, 1);
	if (err)
		mem_failed(m, "free", bytes);
}

bool mem_is_grouped(const struct mem *m)
{
	return m->grouped;
}

/* Their sum, how many there are, and the first that has an address. */
static size_t sum(const size_t *sizes, int n, int *blocks)
{
	size_t bytes = 0;
	int i;

	for (i = 0, *blocks = 0; i < n; i++) {
		bytes += sizes[i];
		*blocks += sizes[i] > 0;
	}
	return bytes;
}

static void *first(void *const *ptrs, int n)
{
	int i;

	for (i = 0; i < n - 1 && !ptrs[i]; i++)
		;
	return ptrs[i];
}

int mem_group_alloc(struct mem *m, const size_t *sizes, int n, void **ptrs,
		    struct slabdev_group **group)
{
	const uint64_t start = now_ns();
	size_t bytes;
	int blocks, err;

	err = m->backend->group_alloc(&m->space, sizes, n, ptrs, group);
	count_calls(m, start, 1);
	bytes = sum(sizes, n, &blocks);
	if (err) {
		mem_failed(m, "allocation", bytes);
		/* A limit is as good a reason as a full device. */
		return err == -EDQUOT ? -ENOMEM : err;
	}
	count_alloc(m, bytes, blocks);
	record(m, first(ptrs, n), bytes, true);
	return 0;
}

void mem_group_free(struct mem *m, struct slabdev_group *group, void *base,
		    size_t bytes)
{
	uint64_t start;
	int err;

	record(m, base, 0, false);
	count_free(m, bytes);
	start = now_ns();
	err = m->backend->group_free(group);
	count_calls(m, start, 1);
	if (err)
		mem_failed(m, "free", bytes);
}

int mem_views_alloc(struct mem *m, const size_t *sizes, int n, void **ptrs,
		    struct slabdev_buf **views)
{
	const uint64_t start = now_ns();
	size_t bytes;
	int blocks, err;

	err = m->backend->views_alloc(&m->space, sizes, n, ptrs, views);
	bytes = sum(sizes, n, &blocks);
	/* The buffer, each view, and the buffer's put. */
	count_calls(m, start, blocks + 2);
	if (err) {
		mem_failed(m, "allocation", bytes);
		/* A limit is as good a reason as a full device. */
		return err == -EDQUOT ? -ENOMEM : err;
	}
	count_alloc(m, bytes, blocks);
	record(m, first(ptrs, n), bytes, true);
	return 0;
}

int mem_views_get(struct mem *m, struct slabdev_buf *const *views, int n)
{
	const uint64_t start = now_ns();
	int i, calls = 0, err = 0;

	for (i = 0; i < n; i++) {
		if (!views[i])
			continue;
		calls++;
		if (!m->backend->get(views[i])) {
			err = -errno;
			mem_failed(m, "sharing", 0);
			break;
		}
	}
	while (err && i > 0) {
		if (!views[--i])
			continue;
		calls++;
		m->backend->put(views[i]);
	}
	count_calls(m, start, calls);
	return err;
}

/* Only where no other thread is in a call: the free is recorded after it. */
void mem_views_put(struct mem *m, struct slabdev_buf *const *views, int n,
		   void *base, size_t bytes)
{
	const uint64_t start = now_ns();
	int i, left = 0, calls = 0;

	for (i = 0; i < n; i++) {
		if (!views[i])
			continue;
		calls++;
		left = m->backend->put(views[i]);
		if (left < 0)
			mem_failed(m, "free", bytes);
	}
	count_calls(m, start, calls);
	if (left)
		return;
	count_free(m, bytes);
	record(m, base, 0, false);
}

const struct device *mem_device(const struct mem *m)
{
	return m->space.device;
}

struct mem *mem_host(struct mem *m)
{
	return m->host;
}

int mem_prime(struct mem *m, uint64_t bytes)
{
	const uint64_t start = now_ns();
	int err = m->backend->prime(&m->space, bytes);

	count_calls(m, start, 1);
	if (err)
		mem_failed(m, "priming", (size_t)bytes);
	return err;
}

int mem_set_policy(struct mem *m, int policy)
{
	const uint64_t start = now_ns();
	int err = m->backend->set_policy(&m->space, policy);

	count_calls(m, start, 1);
	if (err)
		mem_failed(m, "change of policy", 0);
	return err;
}

const char *mem_error(const struct mem *m)
{
	if (m->host != m && m->host->error[0])
		return m->host->error;
	return m->error[0] ? m->error : device_error();
}

void mem_forgive(struct mem *m)
{
	m->error[0] = '\0';
	m->host->error[0] = '\0';
}

void mem_counts(struct mem *m, struct mem_counts *c)
{
	memset(c, 0, sizeof(*c));
	c->allocs = atomic_load(&m->allocs);
	c->frees = atomic_load(&m->frees);
	c->blocks = atomic_load(&m->blocks);
	c->calls = atomic_load(&m->calls);
	c->ns = atomic_load(&m->ns);
	c->bytes = atomic_load(&m->bytes);
	c->live = atomic_load(&m->live);
	c->peak_live = atomic_load(&m->peak_live);
	m->backend->counts(&m->space, c);
}

void mem_set_trace(struct mem *m, struct trace *t)
{
	m->trace = t;
}

/* ---- Open and close --------------------------------------------------- */

static int mem_create(struct mem **out, const struct mem_config *config,
		      char *why, size_t why_len)
{
	struct mem *m;
	int err;

	m = calloc(1, sizeof(*m));
	if (!m) {
		snprintf(why, why_len, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	m->backend = config->kind == MEM_MALLOC ? &mem_heap : &mem_slabdev;
	m->grouped = config->grouped;
	m->clock_ns = clock_cost();
	m->host = m;
	err = m->backend->open(&m->space, config);
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

static int mem_destroy(struct mem *m, char *why, size_t why_len)
{
	int err;

	err = m->backend->close(&m->space);
	if (err)
		snprintf(why, why_len, "%s: %s", strerror(-err),
			 m->backend->error());
	pthread_mutex_destroy(&m->lock);
	free(m);
	return err;
}

/* The staging memory comes last and goes first: its device is the other's. */
int mem_open(struct mem **out, const struct mem_config *config, char *why,
	     size_t why_len)
{
	struct mem_config staging = *config;
	struct mem *m;
	char unused[64], spec[64];
	int err;

	err = mem_create(&m, config, why, why_len);
	if (err)
		return err;
	if (!m->space.device->is_cpu) {
		snprintf(spec, sizeof(spec), "cuda-host:%s",
			 strchr(config->device, ':') + 1);
		staging.device = spec;
		err = mem_create(&m->host, &staging, why, why_len);
		if (err) {
			mem_destroy(m, unused, sizeof(unused));
			return err;
		}
	}
	*out = m;
	return 0;
}

int mem_close(struct mem *m, char *why, size_t why_len)
{
	int err = 0, host_err = 0;

	if (!m)
		return 0;
	if (m->host != m)
		host_err = mem_destroy(m->host, why, why_len);
	err = mem_destroy(m, why, why_len);
	return err ? err : host_err;
}
