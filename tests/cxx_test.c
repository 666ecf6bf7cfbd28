// SPDX-License-Identifier: BSD-2-Clause
/*
 * cxx_test.c - slabdev.hpp, by programs that use it.
 *
 * tests/cxx/user has a case for each thing that the wrapper says of itself, and
 * is run once for each, on the memory of test_spec(). tests/cxx/mistakes.cpp
 * has what must not compile: the compiler has to refuse each mistake for the
 * reason that is written here, and to take the same file without it.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/docs_page.h"
#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"
#include "tests/sanitizers.h"

static const char *program(struct kunit *test, const char *name)
{
	const char *path = kunit_built_path(test, name);

	if (access(path, X_OK))
		kunit_skip(test, "%s was not built: it needs a C++ compiler",
			   name);
	return path;
}

/* ---- What works --------------------------------------------------------- */

static const char *const names[] = {
	"space_closes", "space_moves", "close_is_refused",
	"object_outlives_space", "objects_move", "nothing_leaks",
	"errors_say_why", "products_are_checked", "limit_is_told",
	"caches_own",
	"spans_are_checked", "the_cpu_is_let_in", "the_cpu_is_kept_out",
	"alignment_is_that_of_the_type",
	"copies_are_owners", "views_keep", "threads_share", "arenas_go_back",
	"scopes_end_by_exceptions", "groups_are_one", "shared_ends_wait",
	"queues_run", "ends_wait_for_streams", "default_streams",
	"graphs_hold", "exports_end",
	"device_memory_is_refused", "vectors_grow", "resources_compare",
	"full_space_throws_bad_alloc", "wrong_sizes_are_found",
	"bad_streams_are_refused", "too_many_streams_are_refused",
	"exported_memory_is_refused", "arenas_in_use_are_refused",
	"what_c_gave_back_is_gone", "refused_ends_leak",
	"managers_keep_books", "managers_route", "booked_arrays_move",
	"blocks_tell", "kept_scopes_leave_no_mark",
};

static void describe_name(const char *const *name, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", *name);
}
KUNIT_ARRAY_PARAM(name, names, describe_name);

/* A machine that lacks something says so at each open. */
static bool is_silent(const char *err)
{
	return !*err || strstr(err, "has no virtual memory management");
}

static void cxx_user(struct kunit *test)
{
	const char *const *name = test->param_value;
	struct kunit_process p;

	kunit_run_program(test, &p, (const char *const[]){
		program(test, "tests/cxx/user"), *name, test_spec(), NULL });
	if (p.exit_code == 77)
		kunit_skip(test, "about %s", p.out);
	if (p.exit_code)
		kunit_show_process(test, &p);
	KUNIT_EXPECT_EQ(test, p.exit_code, 0);
	KUNIT_EXPECT_TRUE_MSG(test, is_silent(p.err), "%s", p.err);
}

/* None of the program's cases is left out. */
static void cxx_all_are_run(struct kunit *test)
{
	char wanted[64 * ARRAY_SIZE(names)] = "";
	struct kunit_process p;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		sprintf(wanted + strlen(wanted), "%s\n", names[i]);
	kunit_run_program(test, &p, (const char *const[]){
		program(test, "tests/cxx/user"), "--list", NULL });
	KUNIT_EXPECT_STREQ(test, p.out, wanted);
}

/* ---- Without exceptions ------------------------------------------------- */

static void cxx_without_exceptions(struct kunit *test)
{
	const char *plain = program(test, "tests/cxx/plain");
	struct kunit_process p;

	kunit_run_program(test, &p, (const char *const[]){
		plain, test_spec(), NULL });
	KUNIT_EXPECT_EQ(test, p.exit_code, 0);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	kunit_run_program(test, &p, (const char *const[]){
		plain, test_spec(), "--abort", NULL });
	/* A sanitizer may end it in its own way. */
	if (!IS_SANITIZED)
		KUNIT_EXPECT_EQ(test, p.signal, SIGABRT);
	KUNIT_EXPECT_NE(test, p.exit_code, 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "slabdev: "), "%s",
				  p.err);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "(errno 122)"), "%s",
				  p.err);
}

/* ---- What must not compile ---------------------------------------------- */

struct mistake {
	const char *what;
	const char *gcc, *clang;	/* the reason, in their words */
};

static const struct mistake mistakes[] = {
	{ "none", NULL, NULL },
	{ "an owner is copied", "use of deleted function",
	  "call to implicitly-deleted copy constructor" },
	{ "an owner is assigned", "use of deleted function",
	  "copy assignment operator is implicitly deleted" },
	{ "a space is copied", "use of deleted function",
	  "call to implicitly-deleted copy constructor" },
	{ "an owner is passed by value", "use of deleted function",
	  "call to implicitly-deleted copy constructor" },
	{ "an element of a span is read", "the CPU may not be able to touch",
	  "the CPU may not be able to touch" },
	{ "an element of an array is read", "the CPU may not be able to touch",
	  "the CPU may not be able to touch" },
	{ "host code gets an array", "cannot convert",
	  "no known conversion from 'device_array<float>' to 'float *'" },
	{ "host code gets a device_ptr", "cannot convert",
	  "no known conversion from 'device_ptr<float>' to 'float *'" },
	{ "a host_span of any pointer", "is private within this context",
	  "calling a private constructor" },
	{ "an object with an owner in it", "nothing constructs them",
	  "nothing constructs them" },
	{ "what was released is dropped", "ignoring return value",
	  "ignoring return value" },
	{ "elements of a const array are written",
	  "assignment of read-only location", "cannot assign to return value" },
	{ "a manager is copied", "use of deleted function",
	  "call to implicitly-deleted copy constructor" },
	{ "a booked array is copied", "use of deleted function",
	  "call to deleted constructor" },
	{ "a booked array is assigned", "use of deleted function",
	  "overload resolution selected deleted operator" },
	{ "an element of a booked array is read",
	  "the CPU may not be able to touch",
	  "the CPU may not be able to touch" },
	{ "host code gets a booked array", "cannot convert",
	  "no known conversion from 'booked_array<float>' to 'float *'" },
	{ "a booked array's elements are dropped", "ignoring return value",
	  "ignoring return value" },
	{ "a group is copied", "use of deleted function",
	  "call to deleted constructor" },
	{ "an arena is copied", "use of deleted function",
	  "call to implicitly-deleted copy constructor" },
	{ "a scope of an arena is copied", "use of deleted function",
	  "call to deleted constructor" },
	{ "a block is taken for an owner", "conversion from",
	  "no viable conversion from 'block' to 'device_ptr<float>'" },
};

static void describe_mistake(const struct mistake *m, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", m->what);
}
KUNIT_ARRAY_PARAM(mistake, mistakes, describe_mistake);

/* $1 is the source tree, $2 the build, $3 the number. The compiler is to say
 * it in English. */
static const char compile[] =
	"cxx=$(sed -n 's/^CXX := //p' \"$2/.build-vars\") && "
	"echo | $cxx -x c++ -fsyntax-only - 2>/dev/null || exit 77; "
	"$cxx --version | grep -q clang && echo clang; cd \"$1\" && "
	"LC_ALL=C $cxx -std=c++17 -Wall -Wextra -Werror -fsyntax-only "
	"-Iinclude -DMISTAKE=\"$3\" tests/cxx/mistakes.cpp";

/* What the compiler says is about the line that is different. */
static void expect_at_mistake(struct kunit *test, const char *err, int number)
{
	const char *text = docs_read_one(test, "tests/cxx/mistakes.cpp");
	char wanted[64];
	int line = 2;

	snprintf(wanted, sizeof(wanted), "#if MISTAKE == %d\n", number);
	for (; strncmp(text, wanted, strlen(wanted)); line++) {
		text = strchr(text, '\n');
		KUNIT_ASSERT_NOT_NULL_MSG(test, text, "no %s", wanted);
		text++;
	}
	snprintf(wanted, sizeof(wanted), "tests/cxx/mistakes.cpp:%d:", line);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(err, wanted), "no %s in: %s",
				  wanted, err);
}

static void cxx_refuses(struct kunit *test)
{
	const struct mistake *m = test->param_value;
	int number = (int)(m - mistakes);
	const char *reason;
	struct kunit_process p;
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", compile, "sh", kunit_source_path(test, "."),
		kunit_built_path(test, "."), text, NULL });
	if (p.exit_code == 77)
		kunit_skip(test, "there is no C++ compiler");
	if (!m->gcc) {
		KUNIT_EXPECT_STREQ(test, p.err, "");
		KUNIT_EXPECT_EQ(test, p.exit_code, 0);
		return;
	}
	reason = strcmp(p.out, "clang\n") ? m->gcc : m->clang;
	KUNIT_EXPECT_NE(test, p.exit_code, 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, reason),
				  "expected '%s' in: %s", reason, p.err);
	expect_at_mistake(test, p.err, number);
}

static const struct kunit_case cxx_cases[] = {
	KUNIT_CASE_PARAM(cxx_user, name_gen_params),
	KUNIT_CASE(cxx_all_are_run),
	KUNIT_CASE(cxx_without_exceptions),
	KUNIT_CASE_PARAM(cxx_refuses, mistake_gen_params, .slow = true),
	{ 0 }
};

static const struct kunit_suite cxx_suite = {
	.name = "cxx",
	.cases = cxx_cases,
	.any_space = true,
};
kunit_test_suite(cxx_suite);
