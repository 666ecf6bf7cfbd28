// SPDX-License-Identifier: BSD-2-Clause
/*
 * sharer.c - another process that imports what a test exports.
 *
 * sharer SOCKET SPEC: receives an export from the socket, imports it for SPEC,
 * answers with a struct sharer_answer, adds one to the first number of the
 * object, and goes on at each byte that it is sent: 'n' the same once more, 'q'
 * it closes the import and ends. Memory of a device it reaches by the driver
 * that the library uses too.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "tests/sharer.h"
#include "vmm/cuda_abi.h"

static struct {
#define FIELD(need, base, suffix, version, args, names) cuda_pfn_##base base;
	SLABDEV_CUDA_FUNCS(FIELD)
} cu;

static void load_driver(void)
{
	const char *path = getenv("SLABDEV_LIBCUDA");
	void *lib = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
	CUcontext ctx;

	if (!lib)
		exit(2);
#define FIND(need, base, suffix, version, args, names) \
	*(void **)&cu.base = dlsym(lib, #base #suffix);
	SLABDEV_CUDA_FUNCS(FIND)
	if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&ctx, 0) ||
	    cu.cuCtxPushCurrent(ctx))
		exit(2);
}

/* The first number of the object, which is one more from then on. */
static uint32_t add_one(void *p, int is_device)
{
	CUdeviceptr ptr = (CUdeviceptr)(uintptr_t)p;
	uint32_t before, after;

	if (!is_device) {
		memcpy(&before, p, sizeof(before));
		after = before + 1;
		memcpy(p, &after, sizeof(after));
		return before;
	}
	if (cu.cuMemcpyDtoH(&before, ptr, sizeof(before)))
		exit(2);
	after = before + 1;
	if (cu.cuMemcpyHtoD(ptr, &after, sizeof(after)) ||
	    cu.cuCtxSynchronize())
		exit(2);
	return before;
}

static void answer(int sock, const struct sharer_answer *a)
{
	if (write(sock, a, sizeof(*a)) != sizeof(*a))
		exit(2);
}

static int serve(int sock, const char *spec)
{
	int is_device = strcmp(spec, "host") != 0;
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct sharer_answer a = { 0 };
	struct slabdev_import *import = NULL;
	char command = 'n';

	if (is_device)
		load_driver();
	a.err = slabdev_share_receive(sock, &share);
	if (!a.err) {
		a.err = slabdev_import(&import, spec, &share);
		close(share.fd);
	}
	if (a.err) {
		answer(sock, &a);
		return 1;
	}
	a.size = slabdev_import_size(import);
	do {
		a.value = add_one(slabdev_import_ptr(import), is_device);
		answer(sock, &a);
		if (read(sock, &command, 1) != 1)
			return 2;
	} while (command == 'n');
	return slabdev_import_close(import) ? 3 : 0;
}

int main(int argc, char **argv)
{
	return argc == 3 ? serve(atoi(argv[1]), argv[2]) : 2;
}
