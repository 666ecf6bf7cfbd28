// SPDX-License-Identifier: BSD-2-Clause
/*
 * symbol_test.c - places in code in words: of this program and of libraries
 * that are compiled here, with libdw and as it is without.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "core/debuginfo.h"
#include "core/dynlib.h"
#include "core/symbol.h"
#include "core/thread.h"
#include "tests/crew.h"
#include "tests/kunit/kunit.h"
#include "tests/loaded_code.h"
#include "tests/sanitizers.h"

#define NOT_INLINED __attribute__((noinline, used))

static __thread volatile int calls_done;

struct spot {
	const void *pc;
	int line;
	char text[SYMBOL_TEXT_MAX];
};

NOT_INLINED static const void *here(void)
{
	calls_done++;
	return __builtin_return_address(0);
}

/* Its name is known to none but this program's symbol table. */
NOT_INLINED static void static_caller(struct spot *s)
{
	s->pc = here(); s->line = __LINE__;
	calls_done++;
}

static struct spot spot_here(void)
{
	struct spot s = { .pc = NULL };

	static_caller(&s);
	symbol_describe(s.pc, s.text, sizeof(s.text));
	return s;
}

/* It is not even looked for beside LeakSanitizer. */
static void need_search(struct kunit *test)
{
	if (IS_SANITIZED && !IS_THREAD_SANITIZED)
		kunit_skip(test, "libdw is not used beside LeakSanitizer");
}

static void need_libdw(struct kunit *test)
{
	need_search(test);
	if (!dlopen("libdw.so.1", RTLD_NOW))
		kunit_skip(test, "libdw is not installed (Debian: libdw1)");
}

/* ---- A library -------------------------------------------------------- */

/* place() is in a function of the name in the second line, which nobody but a
 * symbol table knows, and at line 4. */
#define LIBRARY(function)						\
	"void *place(void);\n"						\
	"__attribute__((noinline)) static void *" function "(void)\n"	\
	"{\n"								\
	"	__asm__ volatile(\"\");\n"				\
	"	return __builtin_return_address(0);\n"			\
	"}\n"								\
	"__attribute__((noinline)) static void *" function "_caller(void)\n" \
	"{\n"								\
	"	void *p = " function "();\n"				\
	"	__asm__ volatile(\"\" : \"+r\"(p));\n"			\
	"	return p;\n"						\
	"}\n"								\
	"void *place(void)\n"						\
	"{\n"								\
	"	void *p = " function "_caller();\n"			\
	"	__asm__ volatile(\"\" : \"+r\"(p));\n"			\
	"	return p;\n"						\
	"}\n"
#define CALL_LINE "9"

struct code {
	void *lib;
	const void *pc;
	u64 offset;		/* of the call, in the file */
	char text[SYMBOL_TEXT_MAX];
};

static struct code load(struct kunit *test, const char *name,
			const char *flags, const char *source)
{
	struct code c = { .lib = load_code(test, name, flags, source) };
	void *(*place)(void);
	Dl_info info;

	*(void **)&place = code_symbol(test, c.lib, "place");
	c.pc = place();
	KUNIT_ASSERT_NE(test, dladdr(c.pc, &info), 0);
	c.offset = (u64)((const char *)c.pc - (const char *)info.dli_fbase) - 1;
	symbol_describe(c.pc, c.text, sizeof(c.text));
	return c;
}

/* "@before+0x...@after [@name.so+0x...]" */
static void expect_text(struct kunit *test, const struct code *c,
			const char *before, const char *after,
			const char *name)
{
	char end[SYMBOL_TEXT_MAX];
	size_t len = strlen(c->text), end_len;

	snprintf(end, sizeof(end), "%s[%s.so+0x%llx]", after, name,
		 (unsigned long long)c->offset);
	end_len = strlen(end);
	KUNIT_EXPECT_TRUE_MSG(test, !strncmp(c->text, before, strlen(before)),
			      "%s: not %s", c->text, before);
	KUNIT_EXPECT_TRUE_MSG(test, len >= end_len &&
			      !strcmp(c->text + len - end_len, end),
			      "%s: not %s", c->text, end);
}

static void debug_information_has_line(struct kunit *test)
{
	struct code c;

	need_libdw(test);
	c = load(test, "lined", "-O2 -g", LIBRARY("of_line"));
	expect_text(test, &c, "of_line_caller+0x",
		    " (lined.c:" CALL_LINE ") ", "lined");
	KUNIT_EXPECT_EQ(test, dlclose(c.lib), 0);
}

/* As clang writes it. */
static void debug_information_without_table(struct kunit *test)
{
	struct code c;

	need_libdw(test);
	c = load(test, "units", "-O2 -g && "
		 "objcopy --remove-section=.debug_aranges units.so",
		 LIBRARY("of_unit"));
	expect_text(test, &c, "of_unit_caller+0x",
		    " (units.c:" CALL_LINE ") ", "units");
	KUNIT_EXPECT_EQ(test, dlclose(c.lib), 0);
}

static void symbol_table_has_static_function(struct kunit *test)
{
	struct code c;

	need_libdw(test);
	c = load(test, "named", "-O2 -g0", LIBRARY("of_table"));
	expect_text(test, &c, "of_table_caller+0x", " ", "named");
	KUNIT_EXPECT_NULL(test, strchr(c.text, '('));
	KUNIT_EXPECT_EQ(test, dlclose(c.lib), 0);
}

static void stripped_library_has_place(struct kunit *test)
{
	struct code c = load(test, "bare", "-O2 -s", LIBRARY("of_none"));

	expect_text(test, &c, "[bare.so+0x", "", "bare");
	KUNIT_EXPECT_EQ(test, dlclose(c.lib), 0);
}

/* Of an exported function the dynamic linker knows the name, always. */
static void exported_function_has_name(struct kunit *test)
{
	static const char source[] =
		"void *place(void);\n"
		"__attribute__((noinline)) static void *inner(void)\n"
		"{\n"
		"	return __builtin_return_address(0);\n"
		"}\n"
		"void *place(void)\n"
		"{\n"
		"	void *p = inner();\n"
		"	__asm__ volatile(\"\" : \"+r\"(p));\n"
		"	return p;\n"
		"}\n";
	struct code c = load(test, "bare", "-O2 -s", source);

	expect_text(test, &c, "place+0x", " ", "bare");
	KUNIT_EXPECT_EQ(test, dlclose(c.lib), 0);
}

static void debug_information_beside(struct kunit *test)
{
	static const char apart[] = "-O2 -g -Wl,--build-id=sha1 && "
		"objcopy --only-keep-debug apart.so apart.debug && "
		"objcopy --strip-all apart.so";
	struct code c = load(test, "apart", apart, LIBRARY("of_apart"));

	/* Nobody put it where the system has such files. */
	expect_text(test, &c, "[apart.so+0x", "", "apart");
	KUNIT_EXPECT_EQ(test, dlclose(c.lib), 0);
}

/* The second is put where the first was, or not: its own name is told. */
static void another_library_in_its_place(struct kunit *test)
{
	struct code c;
	u32 i;

	need_libdw(test);
	for (i = 0; i < 3; i++) {
		c = load(test, "same", "-O2 -g", LIBRARY("of_first"));
		expect_text(test, &c, "of_first_caller+0x",
			    " (same.c:" CALL_LINE ") ", "same");
		KUNIT_EXPECT_EQ(test, dlclose(c.lib), 0);
		c = load(test, "same", "-O2 -g", "\n" LIBRARY("of_other"));
		expect_text(test, &c, "of_other_caller+0x", " (same.c:10) ",
			    "same");
		KUNIT_EXPECT_EQ(test, dlclose(c.lib), 0);
	}
}

#define TEN "_long_name"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

/* Names are cut so that what follows them is there. */
static void long_names_are_cut(struct kunit *test)
{
	struct code c;

	need_libdw(test);
	c = load(test, "l" HUNDRED, "-O2 -g", LIBRARY("f" HUNDRED HUNDRED));
	KUNIT_EXPECT_LT(test, strlen(c.text), SYMBOL_TEXT_MAX);
	KUNIT_EXPECT_TRUE_MSG(test, !strncmp(c.text, "f" HUNDRED,
					     PLACE_NAME_MAX - 1) &&
			      c.text[PLACE_NAME_MAX - 1] == '+' &&
			      c.text[strlen(c.text) - 1] == ']', "%s", c.text);
	KUNIT_EXPECT_EQ(test, dlclose(c.lib), 0);
}

/* ---- This program ----------------------------------------------------- */

static void static_function_of_program(struct kunit *test)
{
	struct spot s;
	char line[64];

	need_libdw(test);
	s = spot_here();
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(s.text, "static_caller+0x"),
				  "%s", s.text);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(s.text, " [run+0x"), "%s",
				  s.text);
	if (!strchr(s.text, '('))
		kunit_skip(test, "built without debug information");
	snprintf(line, sizeof(line), " (symbol_test.c:%d) ", s.line);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(s.text, line), "%s", s.text);
}

static void what_is_no_code(struct kunit *test)
{
	char text[SYMBOL_TEXT_MAX];
	void *p = kunit_kzalloc(test, 16);
	char wanted[32];

	symbol_describe(NULL, text, sizeof(text));
	KUNIT_EXPECT_STREQ(test, text, "unknown");
	symbol_describe((const void *)17, text, sizeof(text));
	KUNIT_EXPECT_STREQ(test, text, "0x10");
	symbol_describe((const char *)p + 1, text, sizeof(text));
	snprintf(wanted, sizeof(wanted), "0x%llx",
		 (unsigned long long)(uintptr_t)p);
	KUNIT_EXPECT_STREQ(test, text, wanted);
}

/* Code that is in no file. */
static void kernel_s_own_library(struct kunit *test)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	char text[SYMBOL_TEXT_MAX];
	Dl_info info;

	if (!vdso || !dladdr(vdso, &info))
		kunit_skip(test, "the kernel has none, or nobody knows");
	symbol_describe(vdso + 17, text, sizeof(text));
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, "vdso"), "%s", text);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, "+0x10]"), "%s", text);
}

static void short_buffer_is_not_overrun(struct kunit *test)
{
	struct spot s = spot_here();
	char text[SYMBOL_TEXT_MAX];
	size_t len;

	for (len = 1; len < 40; len++) {
		memset(text, '~', sizeof(text));
		symbol_describe(s.pc, text, len);
		KUNIT_EXPECT_EQ(test, strlen(text), min(len - 1,
							strlen(s.text)));
		KUNIT_EXPECT_EQ(test, text[len], '~');
	}
}

static void errno_is_kept(struct kunit *test)
{
	struct spot s;

	errno = 77;
	s = spot_here();
	KUNIT_EXPECT_EQ(test, errno, 77);
	KUNIT_EXPECT_STRNEQ(test, s.text, "");
}

/* ---- Threads, and children -------------------------------------------- */

#define NR_THREADS 8u
#define NR_ROUNDS 50u

struct teller {
	const void *pc;
	char text[SYMBOL_TEXT_MAX];
	u32 failures;
	bool *end;		/* or NULL: after NR_ROUNDS */
};

/* What is told first is told always. */
static void tell_often(void *arg)
{
	struct teller *t = arg;
	char text[SYMBOL_TEXT_MAX];
	u32 i;

	symbol_describe(t->pc, t->text, sizeof(t->text));
	for (i = 0; t->end ? !READ_ONCE(*t->end) : i < NR_ROUNDS; i++) {
		symbol_describe(t->pc, text, sizeof(text));
		t->failures += !!strcmp(text, t->text);
	}
}

/* The first of the process, all at once. */
static void threads_ask_at_once(struct kunit *test)
{
	struct teller tellers[NR_THREADS] = { 0 };
	struct crew *crew = crew_new(test, NR_THREADS);
	struct spot s = { .pc = NULL };
	u32 i;

	static_caller(&s);
	for (i = 0; i < NR_THREADS; i++)
		tellers[i].pc = s.pc;
	crew_all(crew, tell_often, tellers, sizeof(tellers[0]));
	s = spot_here();
	for (i = 0; i < NR_THREADS; i++) {
		KUNIT_EXPECT_EQ(test, tellers[i].failures, 0);
		KUNIT_EXPECT_STREQ(test, tellers[i].text, s.text);
	}
}

static void *tell_on_thread(void *arg)
{
	struct spot *s = arg;

	*s = spot_here();
	return NULL;
}

/* libdw would overrun it. */
static void small_stack(struct kunit *test)
{
	struct spot s;
	pthread_attr_t attr;
	pthread_t t;

	if (IS_SANITIZED)
		kunit_skip(test, "sanitizers need more stack");
	KUNIT_ASSERT_EQ(test, pthread_attr_init(&attr), 0);
	KUNIT_ASSERT_EQ(test, pthread_attr_setstacksize(&attr, 32 * KIB), 0);
	KUNIT_ASSERT_EQ(test, pthread_create(&t, &attr, tell_on_thread, &s),
			0);
	pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(s.text, "[run+0x"), "%s",
				  s.text);
	KUNIT_EXPECT_NULL_MSG(test, strchr(s.text, '('), "%s", s.text);
}

/* A child that is made while another thread asks can ask, too. The library
 * must be in use for it to know of forks. */
static void child_asks(struct kunit *test)
{
	struct slabdev *sd = NULL;
	struct crew *crew = crew_new(test, 1);
	struct spot s = spot_here();
	bool end = false;
	struct teller t = { .pc = s.pc, .end = &end };
	int status = -1, i;
	pid_t pid;

	KUNIT_ASSERT_EQ(test, slabdev_open(&sd, "host", NULL), 0);
	crew_start(crew, 0, tell_often, &t);
	for (i = 0; i < 20; i++) {
		pid = fork();
		if (!pid) {
			char text[SYMBOL_TEXT_MAX];

			symbol_describe(s.pc, text, sizeof(text));
			_exit(!!strcmp(text, s.text));
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			break;
	}
	WRITE_ONCE(end, true);
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, status, 0);
	KUNIT_EXPECT_EQ(test, i, 20);
	KUNIT_EXPECT_EQ(test, t.failures, 0);
	KUNIT_EXPECT_STREQ(test, t.text, s.text);
}

/* ---- Without libdw ---------------------------------------------------- */

static u32 nr_loads;

static void *load_none(const char *name)
{
	(void)name;
	nr_loads++;
	return NULL;
}

static void *load_program(const char *name)
{
	(void)name;
	nr_loads++;
	return dlopen(NULL, RTLD_NOW);
}

/* What it knows without: the file, and where there. */
static void expect_no_libdw(struct kunit *test)
{
	struct spot s = spot_here();
	struct code c = load(test, "lined", "-O2 -g", LIBRARY("of_line"));

	KUNIT_EXPECT_TRUE_MSG(test, !strncmp(s.text, "[run+0x", 7) ||
			      strstr(s.text, "+0x"), "%s", s.text);
	KUNIT_EXPECT_NULL(test, strchr(s.text, '('));
	expect_text(test, &c, "[lined.so+0x", "", "lined");
	KUNIT_EXPECT_EQ(test, nr_loads, 1);
	KUNIT_EXPECT_EQ(test, dlclose(c.lib), 0);
}

static void without_libdw(struct kunit *test)
{
	need_search(test);
	kunit_activate_static_stub(test, dynlib_open, load_none);
	expect_no_libdw(test);
}

static void libdw_without_its_functions(struct kunit *test)
{
	need_search(test);
	kunit_activate_static_stub(test, dynlib_open, load_program);
	expect_no_libdw(test);
}

static bool nested_is_told;

/* As malloc would, were it made of the library. */
static void *load_and_ask(const char *name)
{
	struct spot s;

	(void)name;
	nr_loads++;
	s = spot_here();
	nested_is_told = strstr(s.text, "[run+0x");
	return NULL;
}

static void loading_libdw_may_ask(struct kunit *test)
{
	need_search(test);
	KUNIT_ASSERT_EQ(test, thread_init_once(NULL, NULL), 0);
	KUNIT_ASSERT_NOT_NULL(test, thread_get());
	kunit_activate_static_stub(test, dynlib_open, load_and_ask);
	expect_no_libdw(test);
	KUNIT_EXPECT_TRUE(test, nested_is_told);
	KUNIT_EXPECT_FALSE(test, thread_self->nested);
}

static void *tell_in_vain(void *arg)
{
	struct spot *s = arg;
	struct rlimit limit, none;

	/* It is loaded before. */
	symbol_describe((const void *)17, s->text, sizeof(s->text));
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return NULL;
	none = limit;
	none.rlim_cur = 0;
	if (!setrlimit(RLIMIT_NOFILE, &none))
		*s = spot_here();
	return setrlimit(RLIMIT_NOFILE, &limit) ? NULL : arg;
}

/* Nothing can be read now, and later it can. Where the stack of the first
 * thread is, is told in a file, too; that of another is known. */
static void no_descriptors(struct kunit *test)
{
	struct spot s = { .pc = NULL };
	void *done = NULL;
	pthread_t t;

	need_libdw(test);
	KUNIT_ASSERT_EQ(test, pthread_create(&t, NULL, tell_in_vain, &s), 0);
	pthread_join(t, &done);
	KUNIT_EXPECT_NOT_NULL(test, done);
	KUNIT_EXPECT_NULL_MSG(test, strstr(s.text, "static_caller"), "%s",
			      s.text);
	KUNIT_EXPECT_NOT_NULL(test, tell_in_vain(&s));
	KUNIT_EXPECT_NULL_MSG(test, strstr(s.text, "static_caller"), "%s",
			      s.text);
	s = spot_here();
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(s.text, "static_caller+0x"),
				  "%s", s.text);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(debug_information_has_line),
	KUNIT_CASE(debug_information_without_table),
	KUNIT_CASE(symbol_table_has_static_function),
	KUNIT_CASE(stripped_library_has_place),
	KUNIT_CASE(exported_function_has_name),
	KUNIT_CASE(debug_information_beside),
	KUNIT_CASE(another_library_in_its_place),
	KUNIT_CASE(long_names_are_cut),
	KUNIT_CASE(static_function_of_program),
	KUNIT_CASE(what_is_no_code),
	KUNIT_CASE(kernel_s_own_library),
	KUNIT_CASE(short_buffer_is_not_overrun),
	KUNIT_CASE(errno_is_kept),
	KUNIT_CASE(threads_ask_at_once, .isolated = true),
	KUNIT_CASE(small_stack, .isolated = true),
	KUNIT_CASE(child_asks, .isolated = true),
	KUNIT_CASE(without_libdw, .isolated = true),
	KUNIT_CASE(libdw_without_its_functions, .isolated = true),
	KUNIT_CASE(loading_libdw_may_ask, .isolated = true),
	KUNIT_CASE(no_descriptors, .isolated = true),
	{ 0 }
};

static const struct kunit_suite symbol_suite = {
	.name = "symbol",
	.cases = cases,
};
kunit_test_suite(symbol_suite);
