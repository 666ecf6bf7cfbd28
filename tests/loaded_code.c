// SPDX-License-Identifier: BSD-2-Clause
/* loaded_code.c - see loaded_code.h. */
#include <dlfcn.h>
#include <stdio.h>

#include "tests/folder.h"
#include "tests/kunit/spawn.h"
#include "tests/loaded_code.h"

/* $1 is the folder, $2 the build, $3 the name, $4 the flags, $5 the source. */
static const char compile[] =
	"cc=$(sed -n 's/^CC := //p' \"$2/.build-vars\") && cd \"$1\" && "
	"printf '%s' \"$5\" >\"$3.c\" && "
	"eval \"$cc -fPIC -shared -o $3.so $3.c $4\"";

void *load_code(struct kunit *test, const char *name, const char *flags,
		const char *source)
{
	const char *folder = new_folder(test);
	struct kunit_process p;
	char path[512];
	void *lib;

	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", compile, "sh", folder, kunit_built_path(test, "."),
		name, flags, source, NULL });
	KUNIT_ASSERT_EQ_MSG(test, p.exit_code, 0, "%s", p.err);
	snprintf(path, sizeof(path), "%s/%s.so", folder, name);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	KUNIT_ASSERT_NOT_NULL_MSG(test, lib, "%s", dlerror());
	return lib;
}

void *code_symbol(struct kunit *test, void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%s", name);
	return p;
}
