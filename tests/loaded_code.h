/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loaded_code.h - code that is compiled and loaded by a test.
 */
#ifndef TESTS_LOADED_CODE_H
#define TESTS_LOADED_CODE_H

#include "tests/kunit/kunit.h"

/*
 * load_code - compile @source as NAME.c and load NAME.so
 * @flags: of the compiler of this build, beside -fPIC -shared; may go on with
 *         " && COMMAND" on the library
 *
 * Return the handle of dlopen(); a failure ends the case.
 */
void *load_code(struct kunit *test, const char *name, const char *flags,
		const char *source);

/* A function of it, or of what is loaded. */
void *code_symbol(struct kunit *test, void *lib, const char *name);

#endif /* TESTS_LOADED_CODE_H */
