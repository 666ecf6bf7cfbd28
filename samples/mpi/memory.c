// SPDX-License-Identifier: BSD-2-Clause
/*
 * memory.c - the space of a rank: how it is opened, and how its bytes are
 * reached.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

#define MIB ((uint64_t)1 << 20)

/* ---- Comm memory -------------------------------------------------------- */

/* Here a program registers it with its network library: once for each piece,
 * as long as it is mapped. */
static int piece_is_mapped(struct slabdev *sd, void *p, size_t bytes, void *arg)
{
	struct memory *m = arg;

	(void)sd;
	(void)p;
	m->registered += bytes;
	m->pieces++;
	return 0;
}

static void piece_goes(struct slabdev *sd, void *p, size_t bytes, void *arg)
{
	struct memory *m = arg;

	(void)sd;
	(void)p;
	m->registered -= bytes;
	m->pieces--;
}

/* ---- The driver, where only a device may touch memory ------------------- */

/* As the driver has them; that is all that is needed of it here. */
static struct {
	int (*init)(unsigned int flags);
	int (*retain)(void **context, int device);
	int (*set_current)(void *context);
	int (*to_device)(unsigned long long to, const void *from, size_t size);
	int (*to_host)(void *to, unsigned long long from, size_t size);
	int (*synchronize)(void);
} cu;

static void *find(void *lib, const char *name)
{
	void *symbol = dlsym(lib, name);

	if (!symbol)
		give_up(name);
	return symbol;
}

static void load_driver(int device)
{
	const char *path = getenv("SLABDEV_LIBCUDA");
	void *lib = dlopen(path ? path : "libcuda.so.1", RTLD_NOW), *context;

	if (!lib)
		give_up(dlerror());
	*(void **)&cu.init = find(lib, "cuInit");
	*(void **)&cu.retain = find(lib, "cuDevicePrimaryCtxRetain");
	*(void **)&cu.set_current = find(lib, "cuCtxSetCurrent");
	*(void **)&cu.to_device = find(lib, "cuMemcpyHtoD_v2");
	*(void **)&cu.to_host = find(lib, "cuMemcpyDtoH_v2");
	*(void **)&cu.synchronize = find(lib, "cuCtxSynchronize");
	if (cu.init(0) || cu.retain(&context, device) ||
	    cu.set_current(context))
		give_up("the driver");
}

/* The driver may return when it has the bytes, and the device has not: then
 * another process would not see them after a barrier. */
void memory_put(const struct memory *m, void *to, const void *from, size_t size)
{
	if (m->is_host)
		memcpy(to, from, size);
	else if (cu.to_device((uintptr_t)to, from, size) || cu.synchronize())
		give_up("cuMemcpyHtoD");
}

void memory_get(const struct memory *m, void *to, const void *from, size_t size)
{
	if (m->is_host)
		memcpy(to, from, size);
	else if (cu.to_host(to, (uintptr_t)from, size))
		give_up("cuMemcpyDtoH");
}

/* ---- The space ---------------------------------------------------------- */

void memory_open(struct memory *m, const char *spec)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	*m = (struct memory){ .spec = spec, .is_host = !strcmp(spec, "host") };
	if (!m->is_host)
		load_driver(atoi(spec + strcspn(spec, ":") + 1));
	attr.flags = SLABDEV_OPEN_SAME_LAYOUT;
	attr.limit = 64 * MIB;
	attr.reserve = 512 * MIB;
	attr.handle_type = SLABDEV_HANDLE_FD;
	if (!m->is_host)
		attr.backing = SLABDEV_BACKING_VMM;
	if (slabdev_open(&m->sd, spec, &attr))
		give_up("slabdev_open");
	if (slabdev_set_mapping_callbacks(m->sd, piece_is_mapped, piece_goes,
					  m))
		give_up("slabdev_set_mapping_callbacks");
}

void memory_close(struct memory *m)
{
	if (slabdev_close(m->sd, 0))
		give_up("slabdev_close");
	if (m->registered || m->pieces)
		give_up("memory that was unmapped without a word");
}

void *memory_alloc(struct memory *m, size_t size, unsigned int flags)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	void *p;

	req.flags = flags;
	p = slabdev_alloc_ex(m->sd, size, &req);
	if (!p)
		give_up("slabdev_alloc_ex");
	return p;
}

void memory_free(struct memory *m, void *p)
{
	if (slabdev_free(m->sd, p))
		give_up("slabdev_free");
}
