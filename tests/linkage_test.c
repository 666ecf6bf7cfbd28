// SPDX-License-Identifier: BSD-2-Clause
/*
 * linkage_test.c - the library as part of other programs than our own build
 * makes: static ones, position independent or not, and an interpreter.
 *
 * The compiler of the build makes tests/visitor again here, as a user would,
 * from the public header and libslabdev.a.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/folder.h"
#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"
#include "tests/sanitizers.h"

static void expect_success(struct kunit *test, const char *const argv[])
{
	struct kunit_process p;

	kunit_run_program(test, &p, argv);
	if (p.exit_code)
		kunit_show_process(test, &p);
	KUNIT_EXPECT_EQ(test, p.exit_code, 0);
}

/* ---- Programs --------------------------------------------------------- */

static const char *const kinds[] = {
	"-static", "-static-pie -fPIE", "-pie -fPIE", "-no-pie -fno-pie",
};

static void describe_kind(const char *const *flags, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", *flags);
}
KUNIT_ARRAY_PARAM(kind, kinds, describe_kind);

/* $1 is a folder, $2 the source tree, $3 the build, $4 the flags. The compiler
 * may lack what a kind needs; nothing is learnt then. */
static const char build[] =
	"cc=$(sed -n 's/^CC := //p' \"$3/.build-vars\") && cd \"$1\" && "
	"{ echo 'int main(void) { return 0; }' >none.c && "
	"  $cc $4 -o none none.c -lpthread && ./none || exit 77; } && "
	"$cc -std=gnu11 -O1 $4 -I\"$2/include\" -I\"$2\" -o visitor "
	"\"$2/tests/visitor.c\" \"$2/tests/tour.c\" \"$3/libslabdev.a\" "
	"-lpthread && for way in tour fork exit quick_exit closed-stdio; do "
	"./visitor $way || { echo \"visitor $way: $?\"; exit 1; }; done";

static void visitor_of_any_kind(struct kunit *test)
{
	const char *const *flags = test->param_value;
	struct kunit_process p;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer is linked in its own way");
	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", build, "sh", new_folder(test),
		kunit_source_path(test, "."), kunit_built_path(test, "."),
		*flags, NULL });
	if (p.exit_code == 77)
		kunit_skip(test, "the compiler makes none");
	if (p.exit_code)
		kunit_show_process(test, &p);
	KUNIT_EXPECT_EQ(test, p.exit_code, 0);
	/* The linker warns of a static program that calls dlopen(). */
	if (IS_ENABLED(CONFIG_BACKEND_CUDA) && strstr(*flags, "-static"))
		KUNIT_EXPECT_NOT_NULL(test, strstr(p.err, "'dlopen'"));
	else
		KUNIT_EXPECT_STREQ(test, p.err, "");
}

/* ---- An interpreter --------------------------------------------------- */

static const char *const ends[] = { "close", "leave" };

static void describe_end(const char *const *way, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s the space", *way);
}
KUNIT_ARRAY_PARAM(end, ends, describe_end);

static void loaded_by_python(struct kunit *test)
{
	const char *const *way = test->param_value;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer would have to be in python");
	if (access("/usr/bin/python3", X_OK))
		kunit_skip(test, "/usr/bin/python3 is not installed");
	expect_success(test, (const char *const[]){
		"/usr/bin/python3",
		kunit_source_path(test, "tests/ctypes_user.py"),
		kunit_built_path(test, "libslabdev.so.0"), *way, NULL });
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(visitor_of_any_kind, kind_gen_params, .slow = true,
			 .timeout_s = 300),
	KUNIT_CASE_PARAM(loaded_by_python, end_gen_params),
	{ 0 }
};

static const struct kunit_suite linkage_suite = {
	.name = "linkage",
	.cases = cases,
};
kunit_test_suite(linkage_suite);
