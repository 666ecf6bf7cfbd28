// SPDX-License-Identifier: BSD-2-Clause
/* dynlib.c - see dynlib.h. */
#include <dlfcn.h>

#include "core/cancel.h"
#include "core/dynlib.h"
#include "core/static_stub.h"

/* Before glibc 2.34 it is in a library of its own, which may not be there. */
extern __typeof__(dlsym) dlsym __attribute__((weak));

void *dynlib_symbol(void *lib, const char *name)
{
	return dlsym ? dlsym(lib, name) : NULL;
}

void *dynlib_open(const char *name)
{
	NO_CANCELLATION;
	void *(*open_library)(const char *name, int mode);

	STATIC_STUB_REDIRECT(dynlib_open, name);
	*(void **)&open_library = dynlib_symbol(RTLD_DEFAULT, "dlopen");
	return open_library ? open_library(name, RTLD_NOW) : NULL;
}
