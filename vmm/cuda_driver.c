// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_driver.c - loading the driver; see cuda_driver.h.
 *
 * libcuda.so.1 is the driver's name; libcuda.so is a link for linkers, and with
 * a toolkit in the library path the toolkit's stub, in which every function
 * fails. SLABDEV_LIBCUDA names another file, for tests on a model of the
 * driver; a process that gained privileges ignores it, as all parameters.
 *
 * cuInit() of a child whose parent had called it fails for ever. To ask would
 * be harmless, but the driver's words for it (not initialised) mislead, so the
 * process is remembered that has the driver. A child that was forked while
 * another thread loaded it is told the same, before it takes the lock.
 *
 * Locking: one lock over loading, of which nothing that the driver may call
 * knows.
 */
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include "core/cancel.h"
#include "core/lock.h"
#include "core/log.h"
#include "core/param.h"
#include "vmm/cuda_driver.h"

#define DRIVER_NAME "libcuda.so.1"

/* What a function is for; a driver may lack some of it. */
enum use { USE_ALWAYS, USE_VMM, USE_POOLS, USE_MAYBE };

struct symbol {
	const char *name;
	size_t offset;		/* of its pointer in struct cuda_driver */
	enum use use;
};

/* The use of a row, by its need and its group. */
#define NEED_E(group) (group)
#define NEED_O(group) ((group) == USE_POOLS ? USE_POOLS : USE_MAYBE)
#define NEED_T(group) USE_MAYBE
#define SYMBOL(group, need, base, suffix) \
	{ #base #suffix, offsetof(struct cuda_driver, base), \
	  NEED_##need(group) },
#define SYMBOL_ALWAYS(need, base, suffix, version, args, names) \
	SYMBOL(USE_ALWAYS, need, base, suffix)
#define SYMBOL_VMM(need, base, suffix, version, args, names) \
	SYMBOL(USE_VMM, need, base, suffix)
#define SYMBOL_POOL(need, base, suffix, version, args, names) \
	SYMBOL(USE_POOLS, need, base, suffix)

static const struct symbol symbols[] = {
	SLABDEV_CUDA_DRIVER_FUNCS(SYMBOL_ALWAYS)
	SLABDEV_CUDA_CONTEXT_FUNCS(SYMBOL_ALWAYS)
	SLABDEV_CUDA_VMM_FUNCS(SYMBOL_VMM)
	SLABDEV_CUDA_MEMORY_FUNCS(SYMBOL_ALWAYS)
	SLABDEV_CUDA_POOL_FUNCS(SYMBOL_POOL)
	SLABDEV_CUDA_COPY_FUNCS(SYMBOL_ALWAYS)
	SLABDEV_CUDA_STREAM_FUNCS(SYMBOL_ALWAYS)
	SLABDEV_CUDA_PEER_FUNCS(SYMBOL_ALWAYS)
};

static struct lock load_lock = LOCK_INIT(LOCK_REGISTRY, "CUDA driver");
/* Locking: load_lock. */
static struct cuda_driver driver;
static bool is_loaded, is_ready;
/* The process that has the driver, or loads it; 0: none. Relaxed. */
static pid_t owner;

/* ---- The library ------------------------------------------------------ */

static int find_symbols(void *lib, const char *path, struct cuda_driver *drv)
{
	const struct symbol *s;
	void *found;

	drv->has_vmm = drv->has_pools = true;
	for (s = symbols; s < symbols + ARRAY_SIZE(symbols); s++) {
		found = dlsym(lib, s->name);
		*(void **)((char *)drv + s->offset) = found;
		if (found)
			continue;
		if (s->use == USE_VMM)
			drv->has_vmm = false;
		else if (s->use == USE_POOLS)
			drv->has_pools = false;
		else if (s == symbols)
			return error_set(-ENODEV, "no CUDA driver: %.128s has "
					 "no %s", path, s->name);
		else if (s->use == USE_ALWAYS)
			return error_set(-ENOTSUP, "the CUDA driver %.128s is "
					 "too old: it lacks %s; CUDA 11.0 "
					 "(driver 450) is the least", path,
					 s->name);
	}
	return 0;
}

static int load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int err;

	if (!lib)
		return error_set(-ENODEV, "no CUDA driver: %.160s", dlerror());
	err = find_symbols(lib, path, &driver);
	if (err)
		dlclose(lib);	/* it was not used yet */
	return err;
}

/* ---- Its answers ------------------------------------------------------ */

static int explain_fork(void)
{
	return error_set(-EOWNERDEAD, "the CUDA driver was used before this "
			 "process was forked, and cannot be used in it; start "
			 "it with exec or spawn, or open devices only after "
			 "the fork");
}

static int explain_init(CUresult result)
{
	int err = cuda_errno(result);

	switch (result) {
	case CUDA_ERROR_NOT_INITIALIZED:
		/* That cuInit() itself says so: the program, or the CUDA
		 * runtime, had called it in the parent. */
		return explain_fork();
	case CUDA_ERROR_STUB_LIBRARY:
		return error_set(err, "no CUDA driver: what was found is the "
				 "toolkit's stub; take its directory out of "
				 "LD_LIBRARY_PATH");
	case CUDA_ERROR_NO_DEVICE:
		return error_set(err, "the CUDA driver sees no device; see "
				 "CUDA_VISIBLE_DEVICES and nvidia-smi");
	case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
		return error_set(err, "the CUDA driver's library and kernel "
				 "module differ in version; reload the module");
	case CUDA_ERROR_SYSTEM_NOT_READY:
		return error_set(err, "the CUDA system is not ready (%s, %d); "
				 "is nvidia-fabricmanager running?",
				 cuda_error_name(result), (int)result);
	default:
		return error_set(err, "the CUDA driver cannot be initialised: "
				 "cuInit: %s (%d)", cuda_error_name(result),
				 (int)result);
	}
}

static int initialise(struct cuda_driver *drv)
{
	CUresult result;

	result = drv->cuInit(0);
	if (result)
		return explain_init(result);
	result = drv->cuDriverGetVersion(&drv->version);
	if (result)
		return error_set(cuda_errno(result), "the CUDA driver does not "
				 "tell its version: cuDriverGetVersion: %s "
				 "(%d)", cuda_error_name(result), (int)result);
	return 0;
}

static int get_locked(const struct params *p)
{
	int err = 0;

	WRITE_ONCE(owner, getpid());
	if (!is_loaded)
		err = load(*p->libcuda ? p->libcuda : DRIVER_NAME);
	if (err) {
		WRITE_ONCE(owner, 0);
		return err;
	}
	is_loaded = true;
	if (!is_ready)
		err = initialise(&driver);
	is_ready = !err;
	return err;
}

int cuda_driver_get(const struct cuda_driver **drv)
{
	pid_t pid = READ_ONCE(owner);
	const struct params *p;
	NO_CANCELLATION;
	int err = params_get(&p);

	if (err)
		return err;
	if (pid && pid != getpid())
		return explain_fork();
	lock_acquire(&load_lock);
	err = get_locked(p);
	lock_release(&load_lock);
	if (!err)
		*drv = &driver;
	return err;
}
