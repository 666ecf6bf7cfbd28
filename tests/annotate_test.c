// SPDX-License-Identifier: BSD-2-Clause
/*
 * annotate_test.c - memcheck and AddressSanitizer find mistakes in a program
 * that uses the library, and nothing in one that makes none.
 *
 * The program is tests/tool_user.c: as the build made it, under valgrind, and
 * made again here by the compiler of the build, as a user would with
 * -fsanitize=address. In a build with the address sanitizer the first is the
 * second.
 */
#include <stdio.h>
#include <string.h>

#include "tests/folder.h"
#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"
#include "tests/sanitizers.h"

#if __has_include(<valgrind/memcheck.h>)
#define HAS_MEMCHECK_H true
#else
#define HAS_MEMCHECK_H false
#endif

#define NR_MISTAKES ARRAY_SIZE(mistakes)

/* By the function that makes it, and what memcheck says of the place. */
static const struct {
	const char *name;
	const char *where;
} mistakes[] = {
	{ "overrun", "is 0 bytes after a block of size 1,000 " },
	{ "underrun", "is 1 bytes before a block of size 1,000 " },
	{ "stale", "is 8 bytes inside a block of size 1,000 free'd" },
	{ "never_had", "" },
	{ "shrunk", "is 0 bytes after a block of size 950 " },
	{ "large_overrun", "is 0 bytes after a block of size 3,000,000 " },
	{ "large_stale",
	  "is 1,500,000 bytes inside a block of size 3,000,000 free'd" },
	{ "tiny_overrun", "is 0 bytes after a block of size 24 " },
};

/* ---- Programs --------------------------------------------------------- */

/* $1 is a folder, $2 the source tree, $3 the build. */
static const char build[] =
	"cc=$(sed -n 's/^CC := //p' \"$3/.build-vars\") && cd \"$1\" && "
	"flags='-fsanitize=address -fsanitize-recover=address' && "
	"{ echo 'int main(void) { return 0; }' >none.c && "
	"  $cc $flags -o none none.c && ./none || exit 77; } && "
	"$cc -std=gnu11 -D_GNU_SOURCE -g -O1 $flags -I\"$2/include\" -o user "
	"\"$2/tests/tool_user.c\" \"$3/libslabdev.a\" -lpthread -ldl";

/* The program with the address sanitizer; skips where there is none. */
static const char *asan_user(struct kunit *test)
{
	char *folder, *path;
	struct kunit_process p;

	if (IS_THREAD_SANITIZED)
		kunit_skip(test, "two sanitizers do not go together");
	if (IS_SANITIZED)
		return kunit_built_path(test, "tests/tool_user");
	folder = new_folder(test);
	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", build, "sh", folder,
		kunit_source_path(test, "."), kunit_built_path(test, "."),
		NULL });
	if (p.exit_code == 77)
		kunit_skip(test, "the compiler has no address sanitizer");
	if (p.exit_code)
		kunit_show_process(test, &p);
	KUNIT_ASSERT_EQ(test, p.exit_code, 0);
	path = kunit_kmalloc(test, strlen(folder) + 8);
	snprintf(path, strlen(folder) + 8, "%s/user", folder);
	return path;
}

#define ALONE "SLABDEV_LOG=warn"

/* One run. @env: one more "NAME=value", or ALONE. */
static void run_user(struct kunit *test, struct kunit_process *p,
		     const char *path, const char *env, const char *spec,
		     const char *way)
{
	kunit_run_program(test, p, (const char *const[]){
		"env", "SLABDEV_ANNOTATE=1", "ASAN_OPTIONS=halt_on_error=0",
		env, path, spec, way, NULL });
}

static void expect_done(struct kunit *test, const struct kunit_process *p)
{
	if (p->exit_code || *p->err)
		kunit_show_process(test, p);
	KUNIT_EXPECT_EQ(test, p->exit_code, 0);
	KUNIT_EXPECT_STREQ(test, p->out, "done\n");
	KUNIT_EXPECT_STREQ(test, p->err, "");
}

/* The text of what comes behind @begin, up to the next of them. */
static char *part(struct kunit *test, const char **text, const char *begin)
{
	const char *from = strstr(*text, begin), *to;
	size_t len;
	char *copy;

	KUNIT_ASSERT_NOT_NULL_MSG(test, from, "%s", *text);
	to = strstr(from + 1, begin);
	len = to ? (size_t)(to - from) : strlen(from);
	copy = kunit_kzalloc(test, len + 1);
	memcpy(copy, from, len);
	*text = from + len;
	return copy;
}

static void expect_in(struct kunit *test, const char *text, const char *wanted)
{
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, wanted),
				  "no \"%s\" in:\n%s", wanted, text);
}

/* ---- AddressSanitizer -------------------------------------------------- */

static void expect_asan_report(struct kunit *test, const char *text,
			       const char *name)
{
	char wanted[64];

	expect_in(test, text, "ERROR: AddressSanitizer: use-after-poison");
	expect_in(test, text, "WRITE of size 1 ");
	snprintf(wanted, sizeof(wanted), " in %s", name);
	expect_in(test, text, wanted);
}

static const char model[] = "tests/model/libcuda.so.1";

static char *with_model(struct kunit *test)
{
	const char *path = kunit_built_path(test, model);
	char *env = kunit_kmalloc(test, strlen(path) + 32);

	snprintf(env, strlen(path) + 32, "SLABDEV_LIBCUDA=%s", path);
	return env;
}

static void asan_finds_each_mistake(struct kunit *test)
{
	const char *user = asan_user(test);
	struct kunit_process p;

	for (size_t i = 0; i < NR_MISTAKES; i++) {
		run_user(test, &p, user, ALONE, "host", mistakes[i].name);
		expect_asan_report(test, p.err, mistakes[i].name);
	}
}

/* Also with zones and poison, which the library itself writes and reads. */
static void asan_finds_nothing_else(struct kunit *test)
{
	const char *user = asan_user(test);
	struct kunit_process p;

	run_user(test, &p, user, ALONE, "host", "right");
	expect_done(test, &p);
	run_user(test, &p, user, "SLABDEV_DEBUG=FZPUQ", "host", "right");
	expect_done(test, &p);
	run_user(test, &p, user, "SLABDEV_POLICY=aggressive", "host", "right");
	expect_done(test, &p);
}

/* Where the memory is the GPU's too, a free ends nothing at once. */
static void asan_knows_memory_of_a_gpu(struct kunit *test)
{
	static const char *const specs[] = { "cuda-host:0", "cuda-managed:0" };
	const char *user = asan_user(test);
	struct kunit_process p;
	char *env;

	if (!IS_ENABLED(CONFIG_DRIVER_MODEL))
		kunit_skip(test, "there is no model of the driver");
	env = with_model(test);
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		run_user(test, &p, user, env, specs[i], "overrun");
		expect_asan_report(test, p.err, "overrun");
		run_user(test, &p, user, env, specs[i], "right");
		expect_done(test, &p);
	}
}

static void asan_is_not_told(struct kunit *test)
{
	const char *user = asan_user(test);
	struct kunit_process p;

	kunit_run_program(test, &p, (const char *const[]){
		"env", "SLABDEV_ANNOTATE=0", user, "host", "overrun", "stale",
		NULL });
	expect_done(test, &p);
}

/* ---- Memcheck ----------------------------------------------------------- */

static void need_memcheck(struct kunit *test)
{
	struct kunit_process p;

	if (IS_SANITIZED)
		kunit_skip(test, "valgrind does not run sanitizers");
	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", "command -v valgrind", NULL });
	if (p.exit_code)
		kunit_skip(test, "valgrind is not installed");
	if (!HAS_MEMCHECK_H)
		kunit_skip(test, "built without valgrind's memcheck.h");
	kunit_run_program(test, &p, (const char *const[]){
		"valgrind", "-q", kunit_built_path(test, "tests/tool_user"),
		NULL });
	if (strstr(p.err, "unhandled dwarf2"))
		kunit_skip(test, "valgrind cannot read what clang writes");
}

static void memcheck_finds_each_mistake(struct kunit *test)
{
	const char *argv[8 + NR_MISTAKES + 1] = {
		"env", "SLABDEV_ANNOTATE=1", "valgrind", "-q",
		"--error-exitcode=9",
	};
	size_t i, nr = 5;
	struct kunit_process p;
	const char *text;
	char *report, wanted[64];

	need_memcheck(test);
	argv[nr++] = kunit_built_path(test, "tests/tool_user");
	argv[nr++] = "host";
	for (i = 0; i < NR_MISTAKES; i++)
		argv[nr++] = mistakes[i].name;
	kunit_run_program(test, &p, argv);
	KUNIT_EXPECT_EQ(test, p.exit_code, 9);
	KUNIT_EXPECT_STREQ(test, p.out, "done\n");
	text = p.err;
	for (i = 0; i < NR_MISTAKES; i++) {
		report = part(test, &text, "Invalid write of size 1");
		snprintf(wanted, sizeof(wanted), ": %s (tool_user.c:",
			 mistakes[i].name);
		expect_in(test, report, wanted);
		expect_in(test, report, mistakes[i].where);
	}
	KUNIT_EXPECT_NULL(test, strstr(text, "Invalid"));
}

/* What AddressSanitizer does not look for. */
static void memcheck_finds_what_was_never_written(struct kunit *test)
{
	struct kunit_process p;

	need_memcheck(test);
	kunit_run_program(test, &p, (const char *const[]){
		"env", "SLABDEV_ANNOTATE=1", "valgrind", "-q",
		"--error-exitcode=9",
		kunit_built_path(test, "tests/tool_user"), "host", "unwritten",
		NULL });
	KUNIT_EXPECT_EQ(test, p.exit_code, 9);
	expect_in(test, p.err, "uninitialised value");
	expect_in(test, p.err, ": unwritten (tool_user.c:");
}

static const char *const letters[] = { "-", "FZPUQ" };

static void describe_letters(const char *const *debug, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "SLABDEV_DEBUG=%s", *debug);
}
KUNIT_ARRAY_PARAM(letters, letters, describe_letters)

static void memcheck_finds_nothing_else(struct kunit *test)
{
	const char *const *debug = test->param_value;
	struct kunit_process p;
	char env[32];

	need_memcheck(test);
	snprintf(env, sizeof(env), "SLABDEV_DEBUG=%s", *debug);
	kunit_run_program(test, &p, (const char *const[]){
		"env", "SLABDEV_ANNOTATE=1", env, "valgrind", "-q",
		"--error-exitcode=9", "--leak-check=full",
		kunit_built_path(test, "tests/tool_user"), "host", "right",
		NULL });
	expect_done(test, &p);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(asan_finds_each_mistake, .timeout_s = 300),
	KUNIT_CASE(asan_finds_nothing_else, .timeout_s = 300),
	KUNIT_CASE(asan_knows_memory_of_a_gpu, .timeout_s = 300),
	KUNIT_CASE(asan_is_not_told, .timeout_s = 300),
	KUNIT_CASE(memcheck_finds_each_mistake, .timeout_s = 300),
	KUNIT_CASE(memcheck_finds_what_was_never_written, .timeout_s = 300),
	KUNIT_CASE_PARAM(memcheck_finds_nothing_else, letters_gen_params,
			 .timeout_s = 300),
	{ 0 }
};

static const struct kunit_suite annotate_suite = {
	.name = "annotate",
	.cases = cases,
};
kunit_test_suite(annotate_suite);
