// SPDX-License-Identifier: BSD-2-Clause
/*
 * docs_test.c - what the documentation says, against the tree
 *
 * Pages go wrong silently: a file is renamed, a goal or a function goes, an
 * example stops compiling. So every name on a page is looked up, in
 * docs_names.c, and every block that is marked as an example is run. A C or C++
 * example is a whole program; a shell example runs where the build is.
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "core/param.h"
#include "tests/docs_names.h"
#include "tests/folder.h"
#include "tests/kunit/spawn.h"

static const struct page pages[] = {
	{ "README.md", 1 },
	{ "CONTRIBUTING.md", 0 },
	{ "Documentation/index.rst", 0 },
	{ "Documentation/design.rst", 0 },
	{ "Documentation/configuration.rst", 2 },
	{ "Documentation/slabinfo.rst", 0 },
	{ "Documentation/cuda.rst", 1 },
	{ "Documentation/streams.rst", 1 },
	{ "Documentation/managers.rst", 1 },
	{ "Documentation/sources.rst", 0 },
	{ "Documentation/packing.rst", 1 },
	{ "Documentation/retention.rst", 0 },
	{ "Documentation/debugging.rst", 0 },
	{ "Documentation/mpi.rst", 1 },
	{ "Documentation/scopes.rst", 2 },
	{ "Documentation/surroundings.rst", 0 },
	{ "Documentation/testing.rst", 0 },
	{ "Documentation/driver-model.rst", 0 },
	{ "Documentation/gpu-check.rst", 0 },
	{ "Documentation/coding-style.rst", 0 },
	{ "Documentation/benchmarks.rst", 0 },
};

static void describe_page(const struct page *page, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", page->name);
}
KUNIT_ARRAY_PARAM(page, pages, describe_page)

/* ---- Examples --------------------------------------------------------- */

/* What make last built with; "" for a variable that was empty. */
static char *build_variable(struct kunit *test, const char *name)
{
	const char *path = kunit_built_path(test, ".build-vars");
	char *value = kunit_kzalloc(test, TOKEN_MAX);
	struct docs_lines l = { .next = "" };

	if (access(path, R_OK))
		kunit_skip(test, "no %s says how this was built", path);
	l.next = docs_read_file(test, path);
	while (docs_next_line(test, &l))
		if (!strncmp(l.line, name, strlen(name)) &&
		    !strncmp(l.line + strlen(name), " := ", 4))
			snprintf(value, TOKEN_MAX, "%s",
				 l.line + strlen(name) + 4);
	return value;
}

static void run_shell(struct kunit *test, const char *what,
		      const char *const argv[])
{
	struct kunit_process p;

	kunit_run_program(test, &p, argv);
	if (p.exit_code)
		kunit_show_process(test, &p);
	KUNIT_EXPECT_EQ_MSG(test, p.exit_code, 0, "%s", what);
}

/* $1 is a folder, $2 the source tree, $3 the build, $4 a sanitizer or "". */
static const char compile_and_run[] =
	" -Wall -Wextra -Werror -I\"$2/include\" -o \"$1/example\" "
	"\"$1\"/example.c* \"$3/libslabdev.a\" -lpthread -ldl "
	"${4:+-fsanitize=$4} && \"$1/example\"";
/* There need not be one for C++. */
static const char have_compiler[] =
	"command -v \"${0##* }\" >/dev/null || exit 77; ";

static void run_program(struct kunit *test, const char *what,
			const struct docs_example *e)
{
	char *folder = new_folder(test), path[PATH_MAX], command[1024];
	bool is_cxx = e->language == DOCS_CXX;
	const char *compiler = build_variable(test, is_cxx ? "CXX" : "CC");
	struct kunit_process p;
	FILE *f;

	snprintf(path, sizeof(path), "%s/example.%s", folder,
		 is_cxx ? "cpp" : "c");
	f = fopen(path, "we");
	KUNIT_ASSERT_NOT_NULL(test, f);
	fputs(e->text, f);
	KUNIT_ASSERT_EQ(test, fclose(f), 0);
	snprintf(command, sizeof(command), "%s%s -std=%s%s", have_compiler,
		 compiler, is_cxx ? "c++17" : "gnu11", compile_and_run);
	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", command, compiler, folder,
		kunit_source_path(test, "."), kunit_built_path(test, "."),
		build_variable(test, "SANITIZE"), NULL });
	if (is_cxx && p.exit_code == 77) {
		kunit_info(test, "%s: not run, there is no %s", what, compiler);
		return;
	}
	if (p.exit_code)
		kunit_show_process(test, &p);
	KUNIT_EXPECT_EQ_MSG(test, p.exit_code, 0, "%s", what);
}

/* Goal: what a reader copies works. */
static void examples_work(struct kunit *test)
{
	const struct page *page = test->param_value;
	struct docs_lines l = { .next = docs_read_one(test, page->name) };
	struct docs_example e;
	int n = 0;

	for (; docs_next_example(test, &l, &e); n++) {
		char what[TOKEN_MAX], command[4096];

		snprintf(what, sizeof(what), "%s:%u", page->name, e.line);
		if (e.language != DOCS_SHELL) {
			run_program(test, what, &e);
			continue;
		}
		snprintf(command, sizeof(command), "cd \"$1\" || exit\n%s",
			 e.text);
		run_shell(test, what, (const char *const[]){
			"sh", "-e", "-c", command, "sh",
			kunit_built_path(test, "."), NULL });
	}
	KUNIT_EXPECT_EQ(test, n, page->nr_examples);
}

/* The program in the README is the sample. */
static void readme_has_hello(struct kunit *test)
{
	struct docs_lines l = { .next = docs_read_one(test, "README.md") };
	const char *hello = docs_read_one(test, "samples/hello/hello.c");
	struct docs_example e;

	KUNIT_ASSERT_TRUE(test, docs_next_example(test, &l, &e));
	KUNIT_EXPECT_STREQ(test, e.text, strstr(hello, "#include"));
}

/* ---- The configuration ------------------------------------------------ */

/* @text without white space, which a table may break. */
static char *squeezed(struct kunit *test, const char *text)
{
	char *out = kunit_kzalloc(test, strlen(text) + 1);
	size_t n = 0;

	for (; *text; text++)
		if (!isspace(*text))
			out[n++] = *text;
	return out;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* One symbol with its prompt, and its default where that is y, n, or "". */
static void check_symbol(struct kunit *test, const char *doc, const char *name,
			 const char *entry)
{
	char prompt[TOKEN_MAX], def[8] = "", row[2 * TOKEN_MAX + 64];
	const char *end = strstr(entry + 1, "\nconfig ");
	const char *at = strstr(entry, "\n\tdefault ");

	if (at && end && at >= end)
		at = NULL;
	if (at && strstr(at, "\"\"\n") == at + strlen("\n\tdefault "))
		strcpy(def, "none");
	else if (at)
		sscanf(at, "\n\tdefault %1[yn]", def);
	at = strchr(entry + 1, '\n');
	KUNIT_ASSERT_NOT_NULL_MSG(test, at, "%s", name);
	KUNIT_ASSERT_EQ_MSG(test, sscanf(at, "\n\t%*[a-z] \"%255[^\"]",
					 prompt), 1, "%s", name);
	snprintf(row, sizeof(row), "* - ``%s`` - %s - %s", name, prompt, def);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(doc, squeezed(test, row)),
				  "not found: %s", row);
}

/* Goal: the tables have every symbol and parameter, and no other. */
static void symbols_are_those_of_kconfig(struct kunit *test)
{
	const char *page = docs_read_one(test,
					 "Documentation/configuration.rst");
	const char *kconfig = docs_read(test, (const char *const[]){
		"*/Kconfig", NULL });
	const char *doc = squeezed(test, page), *at = kconfig;
	char name[TOKEN_MAX];
	size_t nr_params;
	int n = 0;

	for (; (at = strstr(at, "\nconfig ")); at++) {
		KUNIT_ASSERT_EQ(test, sscanf(at, "\nconfig %255s", name), 1);
		if (strstr(name, "_KUNIT_TEST"))
			continue;
		check_symbol(test, doc, name, at);
		n++;
	}
	KUNIT_EXPECT_GT(test, n, 0);
	param_table(&nr_params);
	KUNIT_EXPECT_EQ(test, count(doc, "*-``SLABDEV_"), (int)nr_params);
	KUNIT_EXPECT_EQ(test, count(doc, "*-``"), (int)nr_params + n);
}

/* ---- Tests that a page names -------------------------------------------- */

#define SOURCES "Documentation/sources.rst"

/* ``suite.case``, and no file's name: splits it. */
static bool is_case(char *token, const char **name)
{
	char *dot = strchr(token, '.');

	if (!dot || token[strspn(token, "abcdefghijklmnopqrstuvwxyz"
				 "0123456789_.")] ||
	    !strcmp(dot, ".h") || !strcmp(dot, ".c"))
		return false;
	*dot = '\0';
	*name = dot + 1;
	return true;
}

/* Suite NAME is in NAME_test.c, and the case is in its table. */
static void check_case(struct kunit *test, const char *suite, const char *name)
{
	char path[TOKEN_MAX + 16], entry[2][TOKEN_MAX + 8];
	const char *text;

	snprintf(path, sizeof(path), "tests/%s_test.c", suite);
	if (!path_exists(test, path)) {
		KUNIT_FAIL(test, "%s: there is no suite %s", SOURCES, suite);
		return;
	}
	text = docs_read_one(test, path);
	snprintf(entry[0], sizeof(entry[0]), "(%s)", name);
	snprintf(entry[1], sizeof(entry[1]), "(%s,", name);
	KUNIT_EXPECT_TRUE_MSG(test, strstr(text, entry[0]) ||
			      strstr(text, entry[1]), "%s: suite %s has no %s",
			      SOURCES, suite, name);
}

/* How many tests a line names, which must all be there. */
static int check_cases(struct kunit *test, const char *line)
{
	char token[TOKEN_MAX];
	const char *name;
	int n = 0, len;

	/* Only the tables name some. */
	if (strncmp(line, "   ", 3))
		return 0;
	for (; (line = strstr(line, "``")); line += len + 2) {
		line += 2;
		len = 0;
		if (sscanf(line, "%255[^`]%n", token, &len) == 1 &&
		    is_case(token, &name)) {
			check_case(test, token, name);
			n++;
		}
	}
	return n;
}

/* Goal: each trap of the sources is held by tests that exist. */
static void each_trap_has_its_test(struct kunit *test)
{
	struct docs_lines l = { .next = docs_read_one(test, SOURCES) };
	int tables = 0, rows = 0, held = 0;
	bool has_test = true;

	while (docs_next_line(test, &l)) {
		tables += begins_with(l.line, ".. list-table::");
		if (begins_with(l.line, "   * - ")) {
			rows++;
			has_test = false;
		}
		if (check_cases(test, l.line) && !has_test) {
			held++;
			has_test = true;
		}
	}
	KUNIT_EXPECT_GT(test, tables, 0);
	/* The head of a table is a row, too. */
	KUNIT_EXPECT_EQ(test, held, rows - tables);
}

/* ---- Manual pages ----------------------------------------------------- */

/* The name in a declaration: the word before its first parenthesis. */
static void declared_name(const char *at, char name[TOKEN_MAX])
{
	const char *end = at + strcspn(at, "("), *from = end;

	while (from > at && (isalnum(from[-1]) || from[-1] == '_'))
		from--;
	snprintf(name, TOKEN_MAX, "%.*s", (int)(end - from), from);
}

static void manual_has_every_function(struct kunit *test)
{
	const char *man = docs_read_one(test, "Documentation/man/slabdev.3");
	const char *at = docs_read(test, (const char *const[]){
		"include/slabdev/*.h", NULL });
	char name[TOKEN_MAX], line[TOKEN_MAX + 8];
	int n = 0;

	while ((at = strstr(at, "\nSLABDEV_API "))) {
		at += strlen("\nSLABDEV_API ");
		declared_name(at, name);
		snprintf(line, sizeof(line), "\n.Fn %s \"", name);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(man, line), "%s", name);
		n++;
	}
	KUNIT_EXPECT_EQ(test, count(man, "\n.Ft "), n);
}

static void manual_has_every_parameter(struct kunit *test)
{
	const char *man = docs_read_one(test, "Documentation/man/slabdev.7");
	const struct param_info *table;
	char line[TOKEN_MAX];
	size_t i, n;

	table = param_table(&n);
	for (i = 0; i < n; i++) {
		snprintf(line, sizeof(line), "\n.It Ev %s\n", table[i].name);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(man, line), "%s",
					  table[i].name);
	}
	KUNIT_EXPECT_EQ(test, count(man, ".It Ev SLABDEV_"), (int)n);
}

/* ---- Building the pages ----------------------------------------------- */

static void need(struct kunit *test, const char *program)
{
	struct kunit_process p;

	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", "command -v \"$1\"", "sh", program, NULL });
	if (p.exit_code)
		kunit_skip(test, "%s is not installed", program);
}

static void pages_build_without_warning(struct kunit *test)
{
	need(test, "sphinx-build");
	run_shell(test, "sphinx-build", (const char *const[]){
		"sphinx-build", "-q", "-W", "-b", "html",
		kunit_source_path(test, "Documentation"), new_folder(test),
		NULL });
}

static void manual_is_well_formed(struct kunit *test)
{
	need(test, "mandoc");
	run_shell(test, "mandoc", (const char *const[]){
		"sh", "-c", "mandoc -T lint -W warning \"$1\"/*.[1-9]", "sh",
		kunit_source_path(test, "Documentation/man"), NULL });
}

static const struct kunit_case docs_cases[] = {
	KUNIT_CASE_PARAM(examples_work, page_gen_params, .slow = true),
	KUNIT_CASE(readme_has_hello),
	KUNIT_CASE_PARAM(names_exist, page_gen_params),
	KUNIT_CASE(symbols_are_those_of_kconfig),
	KUNIT_CASE(each_trap_has_its_test),
	KUNIT_CASE(manual_has_every_function),
	KUNIT_CASE(manual_has_every_parameter),
	KUNIT_CASE_SLOW(pages_build_without_warning, .timeout_s = 120),
	KUNIT_CASE(manual_is_well_formed),
	{}
};

static const struct kunit_suite docs_suite = {
	.name = "docs",
	.cases = docs_cases,
};
kunit_test_suite(docs_suite);
