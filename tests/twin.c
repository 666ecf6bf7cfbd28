// SPDX-License-Identifier: BSD-2-Clause
/*
 * twin.c - one of two processes that make the same calls, for the suite
 * same_layout.
 *
 * twin SPEC SEED STEPS ATTRIBUTES DISTURBANCE: prints the offset of everything
 * that it is given, or the error, a line each. The letters of ATTRIBUTES say
 * how the space is opened, and are the same for both twins; those of
 * DISTURBANCE what is different in this process:
 *
 *	j	junk among the addresses, and other spaces
 *	b	threads that are busy in another space
 *	s	pauses
 *	h	the bound stream is held up now and then
 *	q	no membarrier(2)
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "tests/model/model.h"

#define NR_OBJECTS 400
#define NR_CACHES 4
#define NR_BULK 64
#define NR_BUSY 2

static struct {
	struct slabdev *sd;
	struct slabdev_cache *cache[NR_CACHES];
	void *p[NR_OBJECTS];
	uint64_t random;
	const char *disturbance;
	bool is_device;
	slabdev_stream_t stream;
} twin;

static const size_t cache_size[NR_CACHES] = { 24, 640, 5000, 300000 };

static bool disturbs(char way)
{
	return strchr(twin.disturbance, way) != NULL;
}

static void fail(const char *what)
{
	printf("%s: %s\n", what, slabdev_last_error());
	exit(1);
}

static uint32_t below(uint64_t *state, uint32_t n)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % n;
}

/* ---- What is different here --------------------------------------------- */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void scatter_junk(void)
{
	uint64_t random = now() ^ (uint64_t)getpid();
	struct slabdev *other;
	void *p;
	int i;

	for (i = 0; i < 64; i++) {
		/* Never given back. */
		p = malloc(below(&random, 200000) + 1);
		if (p)
			memset(p, 1, 1);
		p = mmap(NULL, (size_t)4096 * (below(&random, 3000) + 1),
			 PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			fail("mmap");
	}
	if (slabdev_open(&other, "host", NULL) ||
	    !slabdev_alloc(other, below(&random, 5000000) + 1))
		fail("another space");
}

static void *be_busy(void *arg)
{
	uint64_t random = now();
	struct slabdev *other = arg;
	void *p, *q;

	for (;;) {
		p = slabdev_alloc(other, below(&random, 100000) + 1);
		q = malloc(below(&random, 100000) + 1);
		if (!p || slabdev_free(other, p))
			fail("busy");
		free(q);
	}
	return NULL;
}

static void start_busy_threads(void)
{
	struct slabdev *other;
	pthread_t t;
	int i;

	if (slabdev_open(&other, "host", NULL))
		fail("another space");
	for (i = 0; i < NR_BUSY; i++)
		if (pthread_create(&t, NULL, be_busy, other))
			fail("a thread");
}

static void pause_at_times(void)
{
	static uint64_t random;
	const struct timespec t = { 0, 200000 };

	random += now();
	if (!below(&random, 64))
		nanosleep(&t, NULL);
}

/* From here on, for good. */
static void forbid_membarrier(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		printf("no filter of system calls\n");
		exit(77);
	}
}

/* ---- The device --------------------------------------------------------- */

static struct {
#define FIELD(need, base, suffix, version, args, names) cuda_pfn_##base base;
	SLABDEV_CUDA_FUNCS(FIELD)
#define CONTROL(name, type, args) name##_pfn name;
	MODEL_CONTROLS(CONTROL)
	CUcontext ctx;
} cu;

static void load_driver(void)
{
	void *lib = dlopen(getenv("SLABDEV_LIBCUDA"), RTLD_NOW);
	CUstream stream = NULL;

	if (!lib)
		fail("the driver");
#define FIND(need, base, suffix, version, args, names) \
	*(void **)&cu.base = dlsym(lib, #base #suffix);
	SLABDEV_CUDA_FUNCS(FIND)
#define FIND_CONTROL(name, type, args) \
	*(void **)&cu.name = dlsym(lib, #name);
	MODEL_CONTROLS(FIND_CONTROL)
	if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&cu.ctx, 0) ||
	    cu.cuCtxPushCurrent(cu.ctx) ||
	    cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
		fail("the driver");
	twin.stream = stream;
}

/* So that what is idle is not known to be done. */
static void *hold_the_stream(void *arg)
{
	uint64_t random = now();
	struct timespec t = { 0, 0 };

	if (cu.cuCtxPushCurrent(cu.ctx))
		fail("the driver");
	for (;;) {
		cu.model_stream_hold(twin.stream);
		t.tv_nsec = below(&random, 3000000);
		nanosleep(&t, NULL);
		cu.model_stream_release(twin.stream);
		t.tv_nsec = below(&random, 300000);
		nanosleep(&t, NULL);
	}
	return arg;
}

/* ---- What both do ------------------------------------------------------- */

static void say(const void *p)
{
	if (p)
		printf("%llx\n",
		       (unsigned long long)slabdev_offset(twin.sd, p));
	else
		printf("errno %d\n", errno);
}

static uint32_t choose(uint32_t n)
{
	return below(&twin.random, n);
}

/* Small ones as likely as large ones, some in handles of their own. */
static size_t any_size(void)
{
	return 1 + choose((uint32_t)1 << choose(28));
}

static void free_one(uint32_t i)
{
	if (slabdev_free(twin.sd, twin.p[i]))
		fail("free");
	twin.p[i] = NULL;
}

static void step_general(uint32_t i)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;

	free_one(i);
	req.align = (size_t)1 << choose(22);
	if (choose(4))
		req.align = 0;
	/* Work in the stream, which is late. */
	if (!choose(4))
		req.flags = SLABDEV_REQ_ZERO;
	if (!choose(16))
		req.flags |= SLABDEV_REQ_COMM;
	req.flags |= SLABDEV_REQ_NO_REPORT;
	twin.p[i] = slabdev_alloc_ex(twin.sd, any_size(), &req);
	say(twin.p[i]);
}

static void step_cache(uint32_t i)
{
	free_one(i);
	twin.p[i] = slabdev_cache_alloc(twin.cache[choose(NR_CACHES)]);
	say(twin.p[i]);
}

static void step_bulk(uint32_t i)
{
	struct slabdev_cache *cache = twin.cache[choose(NR_CACHES - 1)];
	void *p[NR_BULK];
	size_t n = choose(NR_BULK) + 1, k;

	(void)i;
	if (slabdev_cache_alloc_bulk(cache, n, p)) {
		printf("no bulk: errno %d\n", errno);
		return;
	}
	for (k = 0; k < n; k++)
		say(p[k]);
	if (slabdev_cache_free_bulk(cache, n, p))
		fail("bulk free");
}

static void step_realloc(uint32_t i)
{
	size_t size = any_size() / 4 + 1;
	void *p;

	/* An object of a cache is refused, everywhere. */
	p = slabdev_realloc(twin.sd, twin.p[i], size);
	say(p);
	if (p)
		twin.p[i] = p;
}

static void step_free(uint32_t i)
{
	uint32_t n = choose(NR_OBJECTS);

	for (; n; n--)
		free_one((i + n) % NR_OBJECTS);
}

static void step_space(uint32_t i)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	switch (i % 5) {
	case 0:
		printf("trim %d\n", slabdev_trim(twin.sd, any_size()));
		break;
	case 1:
		printf("prime %d\n", slabdev_prime(twin.sd, any_size()));
		break;
	case 2:
		printf("poll %d\n", slabdev_poll(twin.sd));
		break;
	case 3:
		slabdev_cache_shrink(twin.cache[choose(NR_CACHES)]);
		break;
	case 4:
		policy.mode = 1 + choose(3);
		policy.keep_bytes = any_size();
		printf("policy %d\n", slabdev_set_policy(twin.sd, &policy));
		break;
	}
}

static void make_caches(void)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	char name[16];
	int i;

	for (i = 0; i < NR_CACHES; i++) {
		snprintf(name, sizeof(name), "cache-%d", i);
		args.align = i == NR_CACHES - 1 ? 4096 : 0;
		if (slabdev_cache_create(&twin.cache[i], twin.sd, name,
					 cache_size[i], &args))
			fail("a cache");
	}
}

static void take_steps(long n)
{
	static const struct {
		uint32_t weight;
		void (*take)(uint32_t i);
	} steps[] = {
		{ 40, step_general }, { 30, step_cache }, { 10, step_bulk },
		{ 12, step_realloc }, { 2, step_free }, { 6, step_space },
	};
	uint32_t at;
	size_t k;

	for (; n; n--) {
		at = choose(100);
		for (k = 0; at >= steps[k].weight; k++)
			at -= steps[k].weight;
		steps[k].take(choose(NR_OBJECTS));
		if (disturbs('s'))
			pause_at_times();
	}
}

/* ---- The process -------------------------------------------------------- */

static void open_space(const char *spec, const char *attributes)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	int err;

	attr.limit = (uint64_t)256 << 20;
	attr.reserve = attr.limit * 8;
	attr.stream = twin.stream;
	attr.flags = SLABDEV_OPEN_SAME_LAYOUT;
	if (strchr(attributes, 'n'))
		attr.flags |= SLABDEV_OPEN_NO_SHEAVES;
	if (strchr(attributes, 'f'))
		attr.handle_type = SLABDEV_HANDLE_FD;
	if (!strncmp(spec, "cuda:", 5))
		attr.backing = strchr(attributes, 'm') ?
			       SLABDEV_BACKING_MALLOC : SLABDEV_BACKING_VMM;
	if (twin.is_device)
		attr.ordering = SLABDEV_ORDER_STREAM;
	err = slabdev_open(&twin.sd, spec, &attr);
	if (!err)
		return;
	printf("open %d: %s\n", err, slabdev_last_error());
	exit(3);
}

static void disturb(void)
{
	pthread_t t;

	if (disturbs('j'))
		scatter_junk();
	if (disturbs('b'))
		start_busy_threads();
	if (disturbs('h') && pthread_create(&t, NULL, hold_the_stream, NULL))
		fail("a thread");
}

static void forget(int level, const char *text, void *arg)
{
	(void)level;
	(void)text;
	(void)arg;
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	alarm(300);
	twin.random = strtoull(argv[2], NULL, 0);
	twin.disturbance = argv[5];
	twin.is_device = strcmp(argv[1], "host") != 0;
	slabdev_set_log(forget, NULL);
	if (disturbs('q'))
		forbid_membarrier();
	if (twin.is_device)
		load_driver();
	if (disturbs('j'))
		scatter_junk();
	open_space(argv[1], argv[4]);
	disturb();
	make_caches();
	take_steps(atol(argv[3]));
	if (slabdev_validate(twin.sd))
		fail("validate");
	fflush(stdout);
	/* Threads are busy yet. */
	_exit(0);
}
