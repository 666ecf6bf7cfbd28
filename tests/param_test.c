// SPDX-License-Identifier: BSD-2-Clause
/*
 * param_test.c - every parameter: what it accepts, what it refuses, and how.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "core/log.h"
#include "core/os.h"
#include "core/param.h"
#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"

static int parse(struct params *p, const char *a, const char *b)
{
	char *env[] = { (char *)(uintptr_t)a, (char *)(uintptr_t)b, NULL };

	return params_parse(p, env, false);
}

static void defaults(struct kunit *test)
{
	struct params p;

	KUNIT_ASSERT_EQ(test, parse(&p, "PATH=/bin", "SLABDEV=1"), 0);
	KUNIT_EXPECT_EQ(test, p.limit, 0);
	KUNIT_EXPECT_EQ(test, p.limit_permille, 0);
	KUNIT_EXPECT_EQ(test, p.ranks, 0);
	KUNIT_EXPECT_EQ(test, p.backing, PARAM_BACKING_AUTO);
	KUNIT_EXPECT_STREQ(test, p.libcuda, "");
	KUNIT_EXPECT_EQ(test, p.reserve, 0);
	KUNIT_EXPECT_EQ(test, p.sheaf_bytes, 0);
	KUNIT_EXPECT_EQ(test, p.policy, PARAM_POLICY_NONE);
	KUNIT_EXPECT_EQ(test, p.keep_bytes, 0);
	KUNIT_EXPECT_FALSE(test, p.assert_steady);
	KUNIT_EXPECT_TRUE(test, p.stats);
	KUNIT_EXPECT_TRUE(test, p.membarrier);
	KUNIT_EXPECT_EQ(test, p.log_level, LOG_WARN);
	KUNIT_EXPECT_STREQ(test, p.log_path, "");
}

/* ---- Bytes ------------------------------------------------------------ */

struct bytes_param {
	const char *text;
	bool accepted;
	u64 bytes;
};

static const struct bytes_param bytes_params[] = {
	{ "0", true, 0 },
	{ "1", true, 1 },
	{ "007", true, 7 },
	{ "1K", true, 1024 },
	{ "3M", true, 3 * MIB },
	{ "5G", true, 5 * GIB },
	{ "2T", true, 2 * TIB },
	{ "18446744073709551615", true, UINT64_MAX },
	{ "18446744073709551616", false, 0 },
	{ "16777215T", true, UINT64_MAX - TIB + 1 },
	{ "16777216T", false, 0 },
	{ "18014398509481984K", false, 0 },
	{ "", false, 0 },
	{ "K", false, 0 },
	{ "1k", false, 0 },
	{ "1KB", false, 0 },
	{ "1KK", false, 0 },
	{ "1 K", false, 0 },
	{ " 1", false, 0 },
	{ "1 ", false, 0 },
	{ "-1", false, 0 },
	{ "+1", false, 0 },
	{ "0x10", false, 0 },
	{ "1.5G", false, 0 },
	{ "1e9", false, 0 },
};

static void describe_bytes(const struct bytes_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "'%s'", p->text);
}
KUNIT_ARRAY_PARAM(bytes, bytes_params, describe_bytes)

static void parse_bytes(struct kunit *test)
{
	const struct bytes_param *p = test->param_value;
	u64 bytes = 4711;

	KUNIT_EXPECT_EQ(test, param_parse_bytes(p->text, &bytes),
			p->accepted ? 0 : -EINVAL);
	KUNIT_EXPECT_EQ(test, bytes, p->accepted ? p->bytes : 4711);
}

/* ---- Accepted values -------------------------------------------------- */

struct good_param {
	const char *variable;
	struct params wanted;
};

#define WITH_DEFAULTS(...)					\
	{ .stats = true, .membarrier = true, .log_level = LOG_WARN,	\
	  __VA_ARGS__ }

static const struct good_param good_params[] = {
	{ "SLABDEV_LIMIT=2M", WITH_DEFAULTS(.limit = 2 * MIB) },
	{ "SLABDEV_LIMIT=1024T", WITH_DEFAULTS(.limit = 1024 * TIB) },
	{ "SLABDEV_LIMIT=0.4", WITH_DEFAULTS(.limit_permille = 400) },
	{ "SLABDEV_LIMIT=0.125", WITH_DEFAULTS(.limit_permille = 125) },
	{ "SLABDEV_LIMIT=0.001", WITH_DEFAULTS(.limit_permille = 1) },
	{ "SLABDEV_LIMIT=1.0", WITH_DEFAULTS(.limit_permille = 1000) },
	{ "SLABDEV_LIMIT=40%", WITH_DEFAULTS(.limit_permille = 400) },
	{ "SLABDEV_LIMIT=12.5%", WITH_DEFAULTS(.limit_permille = 125) },
	{ "SLABDEV_LIMIT=100%", WITH_DEFAULTS(.limit_permille = 1000) },
	{ "SLABDEV_RANKS=1", WITH_DEFAULTS(.ranks = 1) },
	{ "SLABDEV_RANKS=4096", WITH_DEFAULTS(.ranks = 4096) },
	{ "SLABDEV_BACKING=auto", WITH_DEFAULTS() },
	{ "SLABDEV_BACKING=vmm",
	  WITH_DEFAULTS(.backing = SLABDEV_BACKING_VMM) },
	{ "SLABDEV_BACKING=pool",
	  WITH_DEFAULTS(.backing = SLABDEV_BACKING_POOL) },
	{ "SLABDEV_BACKING=malloc",
	  WITH_DEFAULTS(.backing = SLABDEV_BACKING_MALLOC) },
	{ "SLABDEV_LIBCUDA=/usr/lib/libcuda.so.1",
	  WITH_DEFAULTS(.libcuda = "/usr/lib/libcuda.so.1") },
	{ "SLABDEV_RESERVE=64G", WITH_DEFAULTS(.reserve = 64 * GIB) },
	{ "SLABDEV_SHEAF=64K", WITH_DEFAULTS(.sheaf_bytes = 64 * KIB) },
	{ "SLABDEV_SHEAF=64G", WITH_DEFAULTS(.sheaf_bytes = 64 * GIB) },
	{ "SLABDEV_POLICY=retain", WITH_DEFAULTS(.policy = SLABDEV_RETAIN) },
	{ "SLABDEV_POLICY=trim:0", WITH_DEFAULTS(.policy = SLABDEV_TRIM) },
	{ "SLABDEV_POLICY=trim:3G", WITH_DEFAULTS(.policy = SLABDEV_TRIM,
						  .keep_bytes = 3 * GIB) },
	{ "SLABDEV_POLICY=aggressive",
	  WITH_DEFAULTS(.policy = SLABDEV_AGGRESSIVE) },
	{ "SLABDEV_ASSERT_STEADY=0", WITH_DEFAULTS(.assert_steady = false) },
	{ "SLABDEV_ASSERT_STEADY=1", WITH_DEFAULTS(.assert_steady = true) },
	{ "SLABDEV_DEBUG=-", WITH_DEFAULTS() },
	{ "SLABDEV_ANNOTATE=1", WITH_DEFAULTS() },
	{ "SLABDEV_ANNOTATE=0", WITH_DEFAULTS(.no_annotations = true) },
	{ "SLABDEV_STATS=1", WITH_DEFAULTS() },
	{ "SLABDEV_STATS=0",
	  { .membarrier = true, .log_level = LOG_WARN } },
	{ "SLABDEV_MEMBARRIER=1", WITH_DEFAULTS() },
	{ "SLABDEV_MEMBARRIER=0", { .stats = true, .log_level = LOG_WARN } },
	{ "SLABDEV_LOG=none", { .stats = true, .membarrier = true,
				.log_level = SLABDEV_LOG_NONE } },
	{ "SLABDEV_LOG=error", { .stats = true, .membarrier = true,
				 .log_level = SLABDEV_LOG_ERROR } },
	{ "SLABDEV_LOG=warn", { .stats = true, .membarrier = true,
				.log_level = SLABDEV_LOG_WARN } },
	{ "SLABDEV_LOG=info", { .stats = true, .membarrier = true,
				.log_level = SLABDEV_LOG_INFO } },
	{ "SLABDEV_LOG=debug:/tmp/a:b",
	  { .stats = true, .membarrier = true, .log_level = SLABDEV_LOG_DEBUG,
	    .log_path = "/tmp/a:b" } },
};

static void describe_good(const struct good_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", p->variable);
}
KUNIT_ARRAY_PARAM(good, good_params, describe_good)

static void accepted(struct kunit *test)
{
	const struct good_param *good = test->param_value;
	const struct params *wanted = &good->wanted;
	struct params p;

	KUNIT_ASSERT_EQ_MSG(test, parse(&p, good->variable, NULL), 0, "%s",
			    error_get());
	KUNIT_EXPECT_EQ(test, p.limit, wanted->limit);
	KUNIT_EXPECT_EQ(test, p.limit_permille, wanted->limit_permille);
	KUNIT_EXPECT_EQ(test, p.ranks, wanted->ranks);
	KUNIT_EXPECT_EQ(test, p.backing, wanted->backing);
	KUNIT_EXPECT_STREQ(test, p.libcuda, wanted->libcuda);
	KUNIT_EXPECT_EQ(test, p.reserve, wanted->reserve);
	KUNIT_EXPECT_EQ(test, p.sheaf_bytes, wanted->sheaf_bytes);
	KUNIT_EXPECT_EQ(test, p.policy, wanted->policy);
	KUNIT_EXPECT_EQ(test, p.keep_bytes, wanted->keep_bytes);
	KUNIT_EXPECT_EQ(test, p.assert_steady, wanted->assert_steady);
	KUNIT_EXPECT_EQ(test, p.no_annotations, wanted->no_annotations);
	KUNIT_EXPECT_EQ(test, p.stats, wanted->stats);
	KUNIT_EXPECT_EQ(test, p.membarrier, wanted->membarrier);
	KUNIT_EXPECT_EQ(test, p.log_level, wanted->log_level);
	KUNIT_EXPECT_STREQ(test, p.log_path, wanted->log_path);
}

/* ---- Refused values --------------------------------------------------- */

static const char *const bad_values[] = {
	"SLABDEV_LIMIT=", "SLABDEV_LIMIT", "SLABDEV_LIMIT=0",
	"SLABDEV_LIMIT=1", "SLABDEV_LIMIT=2097151", "SLABDEV_LIMIT=1025T",
	"SLABDEV_LIMIT=-1", "SLABDEV_LIMIT=0.0", "SLABDEV_LIMIT=0.0001",
	"SLABDEV_LIMIT=1.001", "SLABDEV_LIMIT=.4", "SLABDEV_LIMIT=0.",
	"SLABDEV_LIMIT=0%", "SLABDEV_LIMIT=101%", "SLABDEV_LIMIT=12.55%",
	"SLABDEV_LIMIT=40%%", "SLABDEV_LIMIT=%", "SLABDEV_LIMIT=0.4G",
	"SLABDEV_LIMIT=0.4x", "SLABDEV_LIMIT=0.4.4",
	"SLABDEV_LIMIT=99999999999999999999%",
	"SLABDEV_RANKS=", "SLABDEV_RANKS=0", "SLABDEV_RANKS=4097",
	"SLABDEV_RANKS=-1", "SLABDEV_RANKS=2.0", "SLABDEV_RANKS=4K",
	"SLABDEV_BACKING=", "SLABDEV_BACKING=VMM", "SLABDEV_BACKING=1",
	"SLABDEV_LIBCUDA=",
	"SLABDEV_RESERVE=", "SLABDEV_RESERVE=1M", "SLABDEV_RESERVE=50%",
	"SLABDEV_SHEAF=", "SLABDEV_SHEAF=0", "SLABDEV_SHEAF=65535",
	"SLABDEV_SHEAF=65G",
	"SLABDEV_POLICY=", "SLABDEV_POLICY=Retain", "SLABDEV_POLICY=trim",
	"SLABDEV_POLICY=trim:", "SLABDEV_POLICY=trim:x",
	"SLABDEV_POLICY=retain:1", "SLABDEV_POLICY=trim:1025T",
	"SLABDEV_ASSERT_STEADY=", "SLABDEV_ASSERT_STEADY=2",
	"SLABDEV_ASSERT_STEADY=yes", "SLABDEV_ASSERT_STEADY=01",
	"SLABDEV_DEBUG=X", "SLABDEV_DEBUG=FZX", "SLABDEV_DEBUG=H,large;X",
	"SLABDEV_ANNOTATE=2", "SLABDEV_STATS=off", "SLABDEV_MEMBARRIER=true",
	"SLABDEV_LOG=", "SLABDEV_LOG=4", "SLABDEV_LOG=WARN",
	"SLABDEV_LOG=war", "SLABDEV_LOG=warning", "SLABDEV_LOG=warn:",
	"SLABDEV_LOG=:file",
	"SLABDEV_FAILSLAB=", "SLABDEV_FAILSLAB=1,10,0", "SLABDEV_FAILSLAB=n=1",
	"SLABDEV_REPORT=", "SLABDEV_REPORT=abort,", "SLABDEV_REPORT=rate=0/5",
};

static void describe_bad(const char *const *value, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", *value);
}
KUNIT_ARRAY_PARAM(bad, bad_values, describe_bad)

/* The text names the variable, the value, and what would be accepted. */
static void refused(struct kunit *test)
{
	const char *variable = *(const char *const *)test->param_value;
	const char *value = strchr(variable, '=');
	int len = (int)strcspn(variable, "=");
	const struct param_info *table;
	char wanted[512], why[DEBUG_WHY_MAX] = "";
	struct params p;
	size_t i, n;

	KUNIT_EXPECT_EQ(test, parse(&p, variable, NULL), -EINVAL);
	table = param_table(&n);
	for (i = 0; i < n; i++)
		if (strlen(table[i].name) == (size_t)len &&
		    !strncmp(table[i].name, variable, (size_t)len))
			break;
	KUNIT_ASSERT_LT(test, i, n);
	if (table[i].why)
		KUNIT_EXPECT_TRUE(test, table[i].why(value + 1, why,
						     sizeof(why)));
	snprintf(wanted, sizeof(wanted),
		 "%.*s='%s' is not accepted%s: give %s, or unset it", len,
		 variable, value ? value + 1 : "", why, table[i].values);
	KUNIT_EXPECT_STREQ(test, error_get(), wanted);
}

static void too_long_driver_path_is_refused(struct kunit *test)
{
	char variable[600] = "SLABDEV_LIBCUDA=";
	size_t prefix = strlen(variable);
	struct params p;

	memset(variable + prefix, 'x', sizeof(p.libcuda) - 1);
	KUNIT_EXPECT_EQ(test, parse(&p, variable, NULL), 0);
	KUNIT_EXPECT_EQ(test, strlen(p.libcuda), sizeof(p.libcuda) - 1);
	variable[strlen(variable)] = 'x';
	KUNIT_EXPECT_EQ(test, parse(&p, variable, NULL), -EINVAL);
}

static void too_long_log_path_is_refused(struct kunit *test)
{
	char variable[600] = "SLABDEV_LOG=warn:";
	size_t prefix = strlen(variable);
	struct params p;

	memset(variable + prefix, 'x', sizeof(p.log_path) - 1);
	KUNIT_EXPECT_EQ(test, parse(&p, variable, NULL), 0);
	KUNIT_EXPECT_EQ(test, strlen(p.log_path), sizeof(p.log_path) - 1);
	variable[strlen(variable)] = 'x';
	KUNIT_EXPECT_EQ(test, parse(&p, variable, NULL), -EINVAL);
}

/* ---- Names ------------------------------------------------------------ */

struct name_param {
	const char *variable;
	const char *text;
};

static const struct name_param name_params[] = {
	{ "SLABDEV_LIMITS=1G",
	  "SLABDEV_LIMITS: no such parameter; did you mean SLABDEV_LIMIT?" },
	{ "SLABDEV_POLCY=trim:0",
	  "SLABDEV_POLCY: no such parameter; did you mean SLABDEV_POLICY?" },
	{ "SLABDEV_MEM_BARRIER=0",
	  "SLABDEV_MEM_BARRIER: no such parameter; did you mean "
	  "SLABDEV_MEMBARRIER?" },
	{ "SLABDEV_log=debug",
	  "SLABDEV_log: no such parameter; did you mean SLABDEV_LOG?" },
	{ "SLABDEV_STEADY=1",
	  "SLABDEV_STEADY: no such parameter; did you mean SLABDEV_SHEAF?" },
	{ "SLABDEV_STAT",
	  "SLABDEV_STAT: no such parameter; did you mean SLABDEV_STATS?" },
	{ "SLABDEV_ROOTS=/opt",
	  "SLABDEV_ROOTS: no such parameter; did you mean SLABDEV_RANKS?" },
};

static void describe_name(const struct name_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", p->variable);
}
KUNIT_ARRAY_PARAM(name, name_params, describe_name)

static void unknown_name_is_refused(struct kunit *test)
{
	const struct name_param *n = test->param_value;
	struct params p;

	KUNIT_EXPECT_EQ(test, parse(&p, n->variable, NULL), -EINVAL);
	KUNIT_EXPECT_STREQ(test, error_get(), n->text);
}

/* The grammar is debug_spec_test.c's; here is what the environment adds. */
static void debug_letters_replace_those_of_the_build(struct kunit *test)
{
	struct debug_spec on;
	struct params p;

	KUNIT_ASSERT_EQ(test, debug_spec_init(&on), 0);
	KUNIT_ASSERT_EQ(test, parse(&p, "PATH=/bin", NULL), 0);
	KUNIT_EXPECT_MEMEQ(test, &p.debug, &on, sizeof(on));
	KUNIT_ASSERT_EQ(test, parse(&p, "SLABDEV_DEBUG=-", NULL), 0);
	KUNIT_EXPECT_EQ(test, debug_spec_flags(&p.debug, "a", 0), 0);
	if (!IS_ENABLED(CONFIG_SLAB_DEBUG))
		return;
	KUNIT_ASSERT_EQ(test, parse(&p, "SLABDEV_DEBUG=", NULL), 0);
	KUNIT_EXPECT_EQ(test, debug_spec_flags(&p.debug, "a", 0), DEBUG_FULL);
	KUNIT_ASSERT_EQ(test, parse(&p, "SLABDEV_DEBUG=T,a", NULL), 0);
	KUNIT_EXPECT_EQ(test, debug_spec_flags(&p.debug, "a", 0), DEBUG_TRACE);
	KUNIT_EXPECT_EQ(test, debug_spec_global(&p.debug), on.global);
}

static void very_long_name_is_refused_and_cut(struct kunit *test)
{
	char variable[2000] = "SLABDEV_";
	struct params p;

	memset(variable + 8, 'X', sizeof(variable) - 9);
	KUNIT_EXPECT_EQ(test, parse(&p, variable, NULL), -EINVAL);
	KUNIT_EXPECT_LT(test, strlen(error_get()), 200);
	KUNIT_EXPECT_MEMEQ(test, error_get(), "SLABDEV_XXX", 11);
}

static void names_of_the_driver_model_are_left_alone(struct kunit *test)
{
	char *env[] = {
		(char[]){ "SLABDEV_MODEL_PROFILE=two" },
		(char[]){ "SLABDEV_MODEL_BREAK=C012" },
		(char[]){ "SLABDEV_TEST_SPEC=cuda:0" },
		NULL
	};
	struct params p;

	KUNIT_EXPECT_EQ(test, params_parse(&p, env, false), 0);
}

static void names_of_installations_are_left_alone(struct kunit *test)
{
	char *env[] = {
		(char[]){ "SLABDEV_ROOT=/opt/slabdev" },
		(char[]){ "SLABDEV_DIR=/opt/slabdev" },
		(char[]){ "SLABDEV_HOME=/opt/slabdev" },
		NULL
	};
	struct params p;

	KUNIT_EXPECT_EQ(test, params_parse(&p, env, false), 0);
}

static void first_of_two_counts(struct kunit *test)
{
	char *env[] = {
		(char[]){ "SLABDEV_LIMIT=4M" },
		(char[]){ "SLABDEV_STATS=0" },
		(char[]){ "SLABDEV_LIMIT=8M" },
		NULL
	};
	struct params p;

	KUNIT_EXPECT_EQ(test, params_parse(&p, env, false), 0);
	KUNIT_EXPECT_EQ(test, p.limit, 4 * MIB);
	KUNIT_EXPECT_EQ(test, parse(&p, "SLABDEV_LIMIT=4M",
				    "SLABDEV_LIMIT=x"), 0);
	KUNIT_EXPECT_EQ(test, parse(&p, "SLABDEV_LIMIT=4M",
				    "SLABDEV_STATS=x"), -EINVAL);
}

static void privileged_process_reads_none(struct kunit *test)
{
	char *env[] = {
		(char[]){ "SLABDEV_LIMIT=4M" },
		(char[]){ "SLABDEV_LOG=debug:/etc/passwd" },
		(char[]){ "SLABDEV_NONSENSE=1" },
		NULL
	};
	struct params p;

	KUNIT_EXPECT_EQ(test, params_parse(&p, env, true), 0);
	KUNIT_EXPECT_EQ(test, p.limit, 0);
	KUNIT_EXPECT_EQ(test, p.log_level, LOG_WARN);
	KUNIT_EXPECT_STREQ(test, p.log_path, "");
}

static void table_is_complete(struct kunit *test)
{
	const struct param_info *table;
	size_t i, n;

	table = param_table(&n);
	KUNIT_EXPECT_GT(test, n, 0);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_MEMEQ(test, table[i].name, "SLABDEV_", 8);
		KUNIT_EXPECT_NE(test, *table[i].values, '\0');
		KUNIT_EXPECT_NE(test, *table[i].def, '\0');
		KUNIT_EXPECT_NE(test, *table[i].help, '\0');
		KUNIT_EXPECT_NOT_NULL(test, table[i].parse);
	}
}

/* @text without white space and quotes, which a table may break and set. */
static char *squeezed(struct kunit *test, const char *text)
{
	char *out = kunit_kzalloc(test, strlen(text) + 1);
	size_t n = 0;

	for (; *text; text++)
		if (!strchr(" \t\n`", *text))
			out[n++] = *text;
	return out;
}

static char *read_all(struct kunit *test, const char *path)
{
	FILE *f = fopen(path, "re");
	const size_t size = 1 << 20;
	char *text = kunit_kzalloc(test, size);

	KUNIT_ASSERT_NOT_NULL(test, f);
	KUNIT_EXPECT_LT(test, fread(text, 1, size - 1, f), size - 1);
	fclose(f);
	return text;
}

/* Each row as a row of a list-table; what fails is what to put there. */
static void documentation_has_the_table(struct kunit *test)
{
	const struct param_info *table;
	char row[1024], *doc;
	size_t i, n;

	doc = read_all(test, kunit_source_path(test, "Documentation/"
						     "configuration.rst"));
	doc = squeezed(test, doc);
	table = param_table(&n);
	for (i = 0; i < n; i++) {
		snprintf(row, sizeof(row),
			 "   * - ``%s``\n     - %s\n     - %s\n     - %s\n",
			 table[i].name, table[i].values, table[i].def,
			 table[i].help);
		KUNIT_EXPECT_TRUE_MSG(test, strstr(doc, squeezed(test, row)),
				      "not found:\n%s", row);
	}
}

static void policies_are_those_of_the_interface(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, PARAM_RETAIN, SLABDEV_RETAIN);
	KUNIT_EXPECT_EQ(test, PARAM_TRIM, SLABDEV_TRIM);
	KUNIT_EXPECT_EQ(test, PARAM_AGGRESSIVE, SLABDEV_AGGRESSIVE);
}

static void backings_are_those_of_the_interface(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, PARAM_BACKING_AUTO, SLABDEV_BACKING_AUTO);
	KUNIT_EXPECT_EQ(test, PARAM_VMM, SLABDEV_BACKING_VMM);
	KUNIT_EXPECT_EQ(test, PARAM_POOL, SLABDEV_BACKING_POOL);
	KUNIT_EXPECT_EQ(test, PARAM_MALLOC, SLABDEV_BACKING_MALLOC);
}

/* ---- The environment of the process ----------------------------------- */

/* These run in processes of their own, in which nobody asked before. */

static void environment_is_read_once(struct kunit *test)
{
	const struct params *p = NULL, *again = NULL;

	setenv("SLABDEV_LIMIT", "16M", 1);
	setenv("SLABDEV_LOG", "error", 1);
	KUNIT_ASSERT_EQ(test, params_get(&p), 0);
	KUNIT_EXPECT_EQ(test, p->limit, 16 * MIB);
	KUNIT_EXPECT_TRUE(test, log_enabled(LOG_ERROR));
	KUNIT_EXPECT_FALSE(test, log_enabled(LOG_WARN));
	setenv("SLABDEV_LIMIT", "nonsense", 1);
	KUNIT_EXPECT_EQ(test, params_get(&again), 0);
	KUNIT_EXPECT_PTR_EQ(test, again, p);
	KUNIT_EXPECT_EQ(test, p->limit, 16 * MIB);
}

static void refusal_is_repeated_with_its_text(struct kunit *test)
{
	const struct params *p = NULL;
	int i;

	setenv("SLABDEV_SHEAF", "big", 1);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, params_get(&p), -EINVAL);
		KUNIT_EXPECT_STREQ(test, error_get(),
				   "SLABDEV_SHEAF='big' is not accepted: give "
				   "bytes from 64K to 64G, or unset it");
		error_set(-EIO, "something else");
	}
	KUNIT_EXPECT_NULL(test, p);
}

static void log_file_that_cannot_be_opened(struct kunit *test)
{
	const struct params *p = NULL;

	setenv("SLABDEV_LOG", "info:/nonexistent/log", 1);
	KUNIT_EXPECT_EQ(test, params_get(&p), -EINVAL);
	KUNIT_EXPECT_STREQ(test, error_get(),
			   "SLABDEV_LOG: cannot append to '/nonexistent/log': "
			   "No such file or directory");
	KUNIT_EXPECT_FALSE(test, log_enabled(LOG_INFO));
}

static bool say_yes(void)
{
	return true;
}

static void at_secure_is_asked(struct kunit *test)
{
	const struct params *p = NULL;

	setenv("SLABDEV_LIMIT", "nonsense", 1);
	kunit_activate_static_stub(test, os_is_secure, say_yes);
	KUNIT_EXPECT_EQ(test, params_get(&p), 0);
}

static void empty_environment(struct kunit *test)
{
	const struct params *p = NULL;

	clearenv();
	KUNIT_EXPECT_EQ(test, params_get(&p), 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(defaults),
	KUNIT_CASE_PARAM(parse_bytes, bytes_gen_params),
	KUNIT_CASE_PARAM(accepted, good_gen_params),
	KUNIT_CASE_PARAM(refused, bad_gen_params),
	KUNIT_CASE(too_long_driver_path_is_refused),
	KUNIT_CASE(too_long_log_path_is_refused),
	KUNIT_CASE_PARAM(unknown_name_is_refused, name_gen_params),
	KUNIT_CASE(debug_letters_replace_those_of_the_build),
	KUNIT_CASE(very_long_name_is_refused_and_cut),
	KUNIT_CASE(names_of_installations_are_left_alone),
	KUNIT_CASE(names_of_the_driver_model_are_left_alone),
	KUNIT_CASE(first_of_two_counts),
	KUNIT_CASE(privileged_process_reads_none),
	KUNIT_CASE(table_is_complete),
	KUNIT_CASE(documentation_has_the_table),
	KUNIT_CASE(policies_are_those_of_the_interface),
	KUNIT_CASE(backings_are_those_of_the_interface),
	KUNIT_CASE_ISOLATED(environment_is_read_once),
	KUNIT_CASE_ISOLATED(refusal_is_repeated_with_its_text),
	KUNIT_CASE_ISOLATED(log_file_that_cannot_be_opened),
	KUNIT_CASE_ISOLATED(at_secure_is_asked),
	KUNIT_CASE_ISOLATED(empty_environment),
	{ 0 }
};

static const struct kunit_suite param_suite = {
	.name = "param",
	.cases = cases,
};
kunit_test_suite(param_suite);
