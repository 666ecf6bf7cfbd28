// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_guest.c - a program that uses a CUDA device, and ends in some way
 *
 * Started by exec, on the model of the driver that SLABDEV_LIBCUDA names: what
 * happens before main() and after it can be seen in a process of its own only.
 * It says what went wrong, and is silent when nothing did.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slabdev/slabdev.h>

static struct slabdev *space;
static void *object;
static uint64_t (*model_calls)(const char *symbol);
static uint64_t calls_at_end;

static void say(const char *what, long long number)
{
	printf("%s: %lld: %s\n", what, number, slabdev_last_error());
}

/* The last of all handlers, since it is registered first. */
static void look_back(void)
{
	uint64_t calls = model_calls ? model_calls("*") : 0;

	if (calls != calls_at_end)
		say("calls of the driver at exit",
		    (long long)(calls - calls_at_end));
	fflush(stdout);
}

/* The driver was initialised later, and so is down by now. */
static void close_late(void)
{
	int err = slabdev_free(space, object);

	if (err)
		say("free", err);
	err = slabdev_close(space, 0);
	if (err)
		say("close", err);
	calls_at_end = model_calls("*");
}

static int open_and_use(void)
{
	void *lib;

	if (slabdev_open(&space, "cuda:0", NULL)) {
		say("open", 0);
		return 1;
	}
	object = slabdev_alloc(space, 5000000);
	if (!object)
		say("alloc", 0);
	lib = dlopen(getenv("SLABDEV_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
	*(void **)&model_calls = lib ? dlsym(lib, "model_calls") : NULL;
	if (!model_calls) {
		say("no model is loaded", 0);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	atexit(look_back);
	if (!strcmp(way, "late"))
		atexit(close_late);
	if (open_and_use())
		return 1;
	if (!strcmp(way, "close") &&
	    (slabdev_free(space, object) || slabdev_close(space, 0)))
		say("close", 0);
	calls_at_end = model_calls("*");
	return 0;
}
