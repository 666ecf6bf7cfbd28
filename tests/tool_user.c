// SPDX-License-Identifier: BSD-2-Clause
/*
 * tool_user.c - a program with planted mistakes, for tools that find those of
 * any program (tests/annotate_test.c).
 *
 * tool_user SPEC WAY...: opens a space and goes these ways; "right" makes no
 * mistake, the others make one each, in a function of their name, at a place
 * that does no harm: without a tool it ends with 0 and "done" in any case.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <slabdev/slabdev.h>

#define OBJECT 1000
#define LARGE 3000000
#define TINY 24

static struct slabdev *sd;
static bool is_host;

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	printf("%s: %s\n", what, slabdev_last_error());
	exit(1);
}

static char *get(size_t size)
{
	char *p = slabdev_alloc(sd, size);

	check(p, "alloc");
	return p;
}

static void put(void *p)
{
	check(!slabdev_free(sd, p), "free");
}

/* ---- Mistakes ---------------------------------------------------------- */

/* Each is a write of one byte, by the function that has the mistake's name. */
#define MISTAKE static __attribute__((noinline)) void

MISTAKE overrun(void)
{
	volatile char *p = get(OBJECT);

	p[OBJECT] = 1;
	put((char *)p);
}

MISTAKE underrun(void)
{
	char *first = get(OBJECT);
	volatile char *second = get(OBJECT);

	second[-1] = 1;
	put((char *)second);
	put(first);
}

MISTAKE stale(void)
{
	volatile char *p = get(OBJECT);

	put((char *)p);
	p[8] = 1;
}

MISTAKE never_had(void)
{
	volatile char *p = get(OBJECT);

	p[100 * OBJECT] = 1;
	put((char *)p);
}

MISTAKE shrunk(void)
{
	char *p = get(OBJECT);
	volatile char *q = slabdev_realloc(sd, p, OBJECT - 50);

	check(q == p, "realloc");
	q[OBJECT - 50] = 1;
	put((char *)q);
}

MISTAKE large_overrun(void)
{
	volatile char *p = get(LARGE);

	p[LARGE] = 1;
	put((char *)p);
}

MISTAKE large_stale(void)
{
	volatile char *p = get(LARGE);

	put((char *)p);
	p[LARGE / 2] = 1;
}

MISTAKE tiny_overrun(void)
{
	struct slabdev_cache *cache;
	volatile char *p;

	check(!slabdev_cache_create(&cache, sd, "tiny", TINY, NULL), "create");
	p = slabdev_cache_alloc(cache);
	check(p, "cache_alloc");
	p[TINY] = 1;
	check(!slabdev_cache_free(cache, (char *)p), "cache_free");
	check(!slabdev_cache_destroy(cache), "destroy");
}

/* A read, other than those above. */
MISTAKE unwritten(void)
{
	volatile char *p = get(OBJECT);

	if (p[5] == 17)
		puts("by chance");
	put((char *)p);
}

/* ---- No mistake --------------------------------------------------------- */

static void sizes(void)
{
	char *p;

	for (size_t size = 1; size < 2 * LARGE; size += size / 7 + 1) {
		p = get(size);
		memset(p, 1, size);
		put(p);
	}
}

static void grown_and_shrunk(void)
{
	static const size_t size[] = {
		OBJECT, OBJECT + 20, LARGE, LARGE + 100, LARGE - 100, 50, 70,
	};
	char *p = NULL;

	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++) {
		p = slabdev_realloc(sd, p, size[i]);
		check(p, "realloc");
		memset(p, 2, size[i]);
	}
	put(p);
}

/* What is said to be usable is. */
static void usable(void)
{
	char *p = get(OBJECT);

	memset(p, 3, slabdev_usable_size(sd, p));
	put(p);
}

/* Its bytes are looked at: they are zero, and defined. */
static void zeroed(void)
{
	size_t size[] = { 1, OBJECT, LARGE };

	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++) {
		char *p = slabdev_zalloc(sd, size[i]);

		check(p, "zalloc");
		for (size_t k = 0; k < size[i]; k++)
			check(!p[k], "zero");
		put(p);
	}
}

static int fill_objects(void *base, size_t stride, size_t count,
			slabdev_stream_t stream, void *arg)
{
	(void)stream;
	(void)arg;
	memset(base, 7, stride * count);
	return 0;
}

/* A constructor's bytes are there, and defined, each time. */
static void constructed(void)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *cache;

	args.ctor = fill_objects;
	check(!slabdev_cache_create(&cache, sd, "filled", 200, &args),
	      "create");
	for (int i = 0; i < 200; i++) {
		char *p = slabdev_cache_alloc(cache);

		check(p && p[0] == 7 && p[199] == 7, "constructed");
		check(!slabdev_cache_free(cache, p), "cache_free");
	}
	check(!slabdev_cache_destroy(cache), "destroy");
}

static void touch(void *p)
{
	memset(p, 4, OBJECT);
}

/* The queue's function comes after the free, and may use the object. */
static void used_after_its_free(void)
{
	slabdev_stream_t queue;
	char *p = get(OBJECT);

	check(!slabdev_queue_create(&queue, SLABDEV_QUEUE_MANUAL),
	      "queue_create");
	check(!slabdev_queue_submit(queue, touch, p), "queue_submit");
	check(!slabdev_free_async(sd, p, queue), "free_async");
	check(!slabdev_queue_synchronize(queue), "queue_sync");
	check(!slabdev_queue_destroy(queue), "queue_destroy");
}

static void *churn(void *arg)
{
	char *p[16] = { NULL };

	(void)arg;
	for (int i = 0; i < 300; i++) {
		char **at = &p[i * 7 % 16];

		put(*at);
		*at = get((size_t)i * 97 % 5000 + 1);
		memset(*at, 5, (size_t)i * 97 % 5000 + 1);
	}
	for (int i = 0; i < 16; i++)
		put(p[i]);
	return NULL;
}

static void in_threads(void)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		check(!pthread_create(&thread[i], NULL, churn, NULL), "thread");
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

/* Another mapping comes where the space was, and nothing is known of it. */
static void mapped_again(void)
{
	struct slabdev *other;
	char *p, *q;

	check(!slabdev_open(&other, "host", NULL), "open");
	p = slabdev_alloc(other, OBJECT);
	check(p, "alloc");
	check(!slabdev_close(other, SLABDEV_CLOSE_FORCE), "close");
	p -= (uintptr_t)p % 65536;
	q = mmap(p, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		 MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (q == MAP_FAILED)
		return;
	memset(q, 6, 65536);
	munmap(q, 65536);
}

static void right(void)
{
	sizes();
	grown_and_shrunk();
	usable();
	zeroed();
	constructed();
	if (is_host)
		used_after_its_free();
	in_threads();
	mapped_again();
	check(!slabdev_trim(sd, 0), "trim");
	sizes();
}

static const struct {
	const char *name;
	void (*go)(void);
} ways[] = {
	{ "right", right },
	{ "overrun", overrun },
	{ "underrun", underrun },
	{ "stale", stale },
	{ "never_had", never_had },
	{ "shrunk", shrunk },
	{ "large_overrun", large_overrun },
	{ "large_stale", large_stale },
	{ "tiny_overrun", tiny_overrun },
	{ "unwritten", unwritten },
};

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	check(!slabdev_open(&sd, argv[1], NULL), "open");
	is_host = !strcmp(argv[1], "host");
	for (int i = 2; i < argc; i++)
		for (size_t k = 0; k < sizeof(ways) / sizeof(*ways); k++)
			if (!strcmp(argv[i], ways[k].name))
				ways[k].go();
	check(!slabdev_close(sd, 0), "close");
	puts("done");
	return 0;
}
