// SPDX-License-Identifier: BSD-2-Clause
/*
 * loader.c - loads the shared library, uses it, and ends, in many orders.
 *
 * loader LIBRARY ORDER, or loader LIBRARY all for each order that there is, in
 * a process of its own. The program itself knows nothing of the library but
 * its header, as a plug-in host or an interpreter does: it finds each function
 * by dlsym(). It prints "done" when it has come to its end, and the test looks
 * at that and at the exit status.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#define NR_THREADS 4

static struct {
	void *lib;
	int (*open)(struct slabdev **, const char *,
		    const struct slabdev_attr *);
	int (*close)(struct slabdev *, unsigned int);
	void *(*alloc)(struct slabdev *, size_t);
	int (*free)(struct slabdev *, void *);
	int (*stats)(struct slabdev *, struct slabdev_stats *, size_t);
} api;

static struct slabdev *space;
static pthread_t threads[NR_THREADS];
static pthread_barrier_t worked, may_end;

#define REQUIRE(cond)							\
	do {								\
		if (!(cond)) {						\
			printf("line %d: %s\n", __LINE__, #cond);	\
			_exit(2);					\
		}							\
	} while (0)

static void *symbol(const char *name)
{
	void *p = dlsym(api.lib, name);

	REQUIRE(p);
	return p;
}

static void load(const char *path)
{
	api.lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!api.lib)
		printf("%s\n", dlerror());
	REQUIRE(api.lib);
	*(void **)&api.open = symbol("slabdev_open");
	*(void **)&api.close = symbol("slabdev_close");
	*(void **)&api.alloc = symbol("slabdev_alloc");
	*(void **)&api.free = symbol("slabdev_free");
	*(void **)&api.stats = symbol("slabdev_stats");
}

static void open_space(void)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = (uint64_t)256 << 20;
	REQUIRE(!api.open(&space, "host", &attr));
}

static void use_space(void)
{
	void *p[64];
	int i;

	for (i = 0; i < 64; i++) {
		p[i] = api.alloc(space, 1000 * (size_t)i + 1);
		REQUIRE(p[i]);
		memset(p[i], i, 16);
	}
	for (i = 0; i < 64; i++)
		REQUIRE(!api.free(space, p[i]));
}

static void *work(void *arg)
{
	use_space();
	pthread_barrier_wait(&worked);
	pthread_barrier_wait(&may_end);
	return arg;
}

/* Threads that have used the space, and live on. */
static void start_threads(void)
{
	int i;

	pthread_barrier_init(&worked, NULL, NR_THREADS + 1);
	pthread_barrier_init(&may_end, NULL, NR_THREADS + 1);
	for (i = 0; i < NR_THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, work, NULL));
	pthread_barrier_wait(&worked);
}

static void end_threads(void)
{
	int i;

	pthread_barrier_wait(&may_end);
	for (i = 0; i < NR_THREADS; i++)
		REQUIRE(!pthread_join(threads[i], NULL));
}

static void close_space(void)
{
	REQUIRE(!api.close(space, 0));
}

static void unload(void)
{
	REQUIRE(!dlclose(api.lib));
}

/* ---- Orders ----------------------------------------------------------- */

static void (*const steps_of[])(void) = {
	['o'] = open_space, ['u'] = use_space, ['t'] = start_threads,
	['e'] = end_threads, ['c'] = close_space, ['d'] = unload,
};

static void close_at_exit(void)
{
	use_space();
	close_space();
	printf("closed at exit\n");
}

static void *run_forever(void *arg)
{
	for (;;)
		use_space();
	return arg;
}

/* exit() while another thread is in the middle of it. */
static void exit_beside_thread(void)
{
	pthread_t t;

	open_space();
	REQUIRE(!pthread_create(&t, NULL, run_forever, NULL));
	usleep(20000);
}

static pthread_key_t late_key;

static void late_destructor(void *arg)
{
	(void)arg;
	use_space();
}

static void *with_late_destructor(void *arg)
{
	use_space();
	pthread_setspecific(late_key, &late_key);
	return arg;
}

/* A key that is made later has its destructor run later: ours was before. */
static void destructor_uses_it(void)
{
	struct slabdev_stats st;
	pthread_t t;

	open_space();
	REQUIRE(!pthread_key_create(&late_key, late_destructor));
	REQUIRE(!pthread_create(&t, NULL, with_late_destructor, NULL));
	REQUIRE(!pthread_join(t, NULL));
	REQUIRE(!api.stats(space, &st, sizeof(st)));
	REQUIRE(st.threads == 0 && st.live_objects == 0 && st.allocs == 128);
	close_space();
	unload();
}

static void *load_and_end(void *path)
{
	load(path);
	open_space();
	use_space();
	return NULL;
}

/* ---- Every order ------------------------------------------------------ */

static void follow(const char *order)
{
	for (; *order; order++)
		steps_of[(unsigned char)*order]();
}

/* Each step once, after some steps and not after others. */
static const struct rule {
	char step;
	const char *after, *not_after;
} rules[] = {
	{ 'o', "", "" }, { 'u', "o", "c" }, { 't', "o", "c" },
	{ 'e', "t", "" }, { 'c', "o", "" }, { 'd', "", "" },
};
#define NR_RULES (sizeof(rules) / sizeof(rules[0]))

static int may_follow(const char *order, const struct rule *r)
{
	return !strchr(order, r->step) &&
	       (!*r->after || strchr(order, *r->after)) &&
	       (!*r->not_after || !strchr(order, *r->not_after));
}

/* In a process of its own, which ends by exit() after the last step. */
static void try_order(const char *path, const char *order)
{
	int status = -1;
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid) {
		alarm(60);
		load(path);
		follow(order);
		exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	if (status)
		printf("order \"%s\": status %#x\n", order, status);
	REQUIRE(!status);
}

/* @order, and all that begin with it; how many they are. */
static int try_all_orders(const char *path, char order[NR_RULES + 1])
{
	size_t len = strlen(order), i;
	int n = 1;

	try_order(path, order);
	for (i = 0; i < NR_RULES; i++) {
		if (!may_follow(order, &rules[i]))
			continue;
		order[len] = rules[i].step;
		order[len + 1] = '\0';
		n += try_all_orders(path, order);
		order[len] = '\0';
	}
	return n;
}

int main(int argc, char **argv)
{
	char none[NR_RULES + 1] = "";
	const char *order = argc > 2 ? argv[2] : "";
	pthread_t t;

	setvbuf(stdout, NULL, _IOLBF, 0);
	REQUIRE(argc == 3);
	if (!strcmp(order, "all")) {
		printf("%d orders\ndone\n", try_all_orders(argv[1], none));
		return 0;
	}
	if (!strcmp(order, "from-thread")) {
		REQUIRE(!pthread_create(&t, NULL, load_and_end, argv[1]));
		REQUIRE(!pthread_join(t, NULL));
		use_space();
		order = "c";
	} else {
		load(argv[1]);
	}
	if (!strcmp(order, "at-exit")) {
		open_space();
		atexit(close_at_exit);
	} else if (!strcmp(order, "beside-thread")) {
		exit_beside_thread();
	} else if (!strcmp(order, "destructor")) {
		destructor_uses_it();
	} else {
		follow(order);
	}
	printf("done\n");
	return 0;
}
