// SPDX-License-Identifier: BSD-2-Clause
/*
 * param.c - the table of parameters, and the environment against it.
 *
 * Every SLABDEV_ name in the environment must be in the table: a misspelt
 * parameter that is silently without effect is the mistake that nobody finds.
 * Left alone are the names by which module systems and CMake say where the
 * library is installed. Where a name occurs twice the first counts, as for
 * getenv().
 *
 * Locking: the parameters are read within pthread_once(), and constant then.
 * The environment itself has no lock; a program that changes it in one thread
 * while another opens its first space has the race that it has with getenv().
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "core/param_private.h"
#include "core/thread.h"

#define PREFIX "SLABDEV_"
#define NAME_MAX_BYTES 64

static const struct param_info table[] = {
	{
		.name = "SLABDEV_LIMIT",
		.values = "bytes from 2M to 1024T, or a fraction such as 0.4 "
			  "or 40%",
		.def = "what the device has",
		.help = "Most memory that a space may map, unless its "
			"attributes say so; a fraction is one of the "
			"device's memory.",
		.parse = param_parse_limit,
	},
	{
		.name = "SLABDEV_RANKS",
		.values = "a number from 1 to 4096",
		.def = "1",
		.help = "Processes that share a device: each gets that part "
			"of the limit, unless its attributes say so.",
		.parse = param_parse_ranks,
	},
	{
		.name = "SLABDEV_BACKING",
		.values = "auto, vmm, pool, or malloc",
		.def = "auto",
		.help = "What spaces on cuda:N take their memory from, unless "
			"their attributes say so.",
		.parse = param_parse_backing,
	},
	{
		.name = "SLABDEV_ORDERING",
		.values = "stream or host",
		.def = "host for cuda-host:N and cuda-managed:N, else stream",
		.help = "What a free without a stream says of work that is not "
			"done, unless a space's attributes say so.",
		.parse = param_parse_ordering,
	},
	{
		.name = "SLABDEV_LIBCUDA",
		.values = "a path",
		.def = "libcuda.so.1, where the system finds it",
		.help = "The CUDA driver to load, for tests on a model of it.",
		.parse = param_parse_libcuda,
	},
	{
		.name = "SLABDEV_RESERVE",
		.values = "bytes from 2M to 1024T",
		.def = "8 times the limit where there is room",
		.help = "Addresses that a space reserves, unless its "
			"attributes say so.",
		.parse = param_parse_reserve,
	},
	{
		.name = "SLABDEV_SHEAF",
		.values = "bytes from 64K to 64G",
		.def = "8M",
		.help = "Most bytes of free objects that a thread keeps at "
			"hand in a space, unless its attributes say so.",
		.parse = param_parse_sheaf,
	},
	{
		.name = "SLABDEV_POLICY",
		.values = "retain, trim:BYTES, or aggressive",
		.def = "retain",
		.help = "What happens to memory that nothing uses, unless a "
			"space's attributes say so.",
		.parse = param_parse_policy,
	},
	{
		.name = "SLABDEV_ASSERT_STEADY",
		.values = "0 or 1",
		.def = "0",
		.help = "1: report memory-management calls of the backend "
			"after the warm-up.",
		.parse = param_parse_assert_steady,
	},
	{
		.name = "SLABDEV_DEBUG",
		.values = "letters of FZPUTAOQGH, or - for none; with ,NAME "
			  "behind them for caches; blocks of that with ; "
			  "between",
		.def = "SLAB_DEBUG_ON: none",
		.help = "What is watched for mistakes of the program, at the "
			"price of the fast paths; an empty value means FZPU. "
			"See debug.h.",
		.parse = param_parse_debug,
		.why = debug_spec_why,
	},
	{
		.name = "SLABDEV_GUARD",
		.values = "a number N, sizes MIN-MAX in bytes, or N,MIN-MAX",
		.def = "none",
		.help = "Which allocations get memory of their own between "
			"addresses that fault: one of N, those of some sizes; "
			"see guard.h.",
		.parse = param_parse_guard,
	},
	{
		.name = "SLABDEV_FAILSLAB",
		.values = "INTERVAL,PROBABILITY,SPACE,TIMES, or pairs such as "
			  "probability=10 and nth=5 with , between, or both",
		.def = "no faults",
		.help = "Which allocations are made to fail, for tests of a "
			"program's error paths; see fault.h.",
		.parse = param_parse_failslab,
		.why = param_failslab_why,
	},
	{
		.name = "SLABDEV_ANNOTATE",
		.values = "0 or 1",
		.def = "1",
		.help = "0: tell neither AddressSanitizer, nor valgrind, nor "
			"tools of NVTX what is free, and keep the fast paths "
			"where one of them is there.",
		.parse = param_parse_annotate,
	},
	{
		.name = "SLABDEV_STATS",
		.values = "0 or 1",
		.def = "1",
		.help = "0: hide the statistics of this process from slabinfo.",
		.parse = param_parse_stats,
	},
	{
		.name = "SLABDEV_MEMBARRIER",
		.values = "0 or 1",
		.def = "1",
		.help = "0: do not use membarrier(2); every operation takes a "
			"lock, as on kernels that lack it.",
		.parse = param_parse_membarrier,
	},
	{
		.name = "SLABDEV_LOG",
		.values = "none, error, warn, info, or debug; with :FILE "
			  "behind it to append to a file",
		.def = "warn",
		.help = "Which messages and reports are written, and where "
			"to instead of standard error.",
		.parse = param_parse_log,
	},
	{
		.name = "SLABDEV_REPORT",
		.values = "abort, json, json:FILE, or rate=N/SECONDS; several "
			  "with , between",
		.def = "rate=100/60",
		.help = "What happens with reports besides the log: the "
			"process ends after one, each is also a line of JSON, "
			"at most N of a kind are written in so many seconds; "
			"see report.h.",
		.parse = param_parse_report,
	},
};

static_assert(ARRAY_SIZE(table) <= 32, "a bit of a u32 for each row");

/* Where the library is installed; not for the library. */
static const char *const not_ours[] = {
	"SLABDEV_ROOT", "SLABDEV_DIR", "SLABDEV_HOME",
};

/* For the tests, and for the model of the driver that they may run on. */
static const char *const prefixes_not_ours[] = {
	"SLABDEV_TEST_", "SLABDEV_MODEL_",
};

/* What a failure has to say; error_set() makes it the thread's text. */
struct refusal {
	char text[ERROR_TEXT_MAX];
};

static int __printf(2, 3) refuse(struct refusal *why, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
	return -EINVAL;
}

const struct param_info *param_table(size_t *n)
{
	*n = ARRAY_SIZE(table);
	return table;
}

static bool name_is(const char *name, size_t len, const char *other)
{
	return strlen(other) == len && !strncmp(name, other, len);
}

/* ---- The known name that was probably meant --------------------------- */

/*
 * Levenshtein's distance between @a and @b of up to NAME_MAX_BYTES bytes, one
 * row of the matrix at a time.
 */
static unsigned int distance(const char *a, size_t a_len, const char *b,
			     size_t b_len)
{
	unsigned int row[NAME_MAX_BYTES + 1], diagonal, above;
	size_t i, j;

	for (j = 0; j <= b_len; j++)
		row[j] = (unsigned int)j;
	for (i = 1; i <= a_len; i++) {
		diagonal = row[0];
		row[0] = (unsigned int)i;
		for (j = 1; j <= b_len; j++) {
			above = row[j];
			diagonal += a[i - 1] != b[j - 1];
			row[j] = min(row[j - 1], above) + 1;
			row[j] = min(row[j], diagonal);
			diagonal = above;
		}
	}
	return row[b_len];
}

static const char *nearest(const char *name, size_t len)
{
	unsigned int best = UINT32_MAX, d;
	const char *found = table[0].name;
	size_t i;

	len = len < NAME_MAX_BYTES ? len : NAME_MAX_BYTES;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		d = distance(name, len, table[i].name, strlen(table[i].name));
		if (d < best) {
			best = d;
			found = table[i].name;
		}
	}
	return found;
}

/* ---- The environment -------------------------------------------------- */

static int find_row(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (name_is(name, len, table[i].name))
			return (int)i;
	return -1;
}

static bool is_not_ours(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(not_ours); i++)
		if (name_is(name, len, not_ours[i]))
			return true;
	for (i = 0; i < ARRAY_SIZE(prefixes_not_ours); i++)
		if (!strncmp(name, prefixes_not_ours[i],
			     strlen(prefixes_not_ours[i])))
			return true;
	return false;
}

static int refuse_value(const struct param_info *row, const char *value,
			struct refusal *why)
{
	char because[DEBUG_WHY_MAX] = "";

	if (row->why)
		row->why(value, because, sizeof(because));
	return refuse(why, "%s='%.*s' is not accepted%s: give %s, or unset it",
		      row->name, NAME_MAX_BYTES, value, because, row->values);
}

/* One "NAME=value" that begins with PREFIX; @seen has a bit for each row. */
static int parse_variable(struct params *p, const char *name, u32 *seen,
			  struct refusal *why)
{
	size_t len = strcspn(name, "=");
	int row = find_row(name, len);
	const char *value;

	if (is_not_ours(name, len))
		return 0;
	if (row < 0)
		return refuse(why, "%.*s: no such parameter; did you mean %s?",
			      (int)min(len, (size_t)NAME_MAX_BYTES), name,
			      nearest(name, len));
	if (*seen & (u32)1 << row)
		return 0;
	*seen |= (u32)1 << row;
	value = name[len] ? name + len + 1 : "";
	if (!table[row].parse(p, value))
		return refuse_value(&table[row], value, why);
	return 0;
}

/* What holds without an environment. */
static int set_defaults(struct params *p, struct refusal *why)
{
	*p = (struct params){
		.stats = true,
		.membarrier = true,
		.log_level = LOG_WARN,
		.failslab = FAULT_SETUP_INIT,
		.report = REPORT_POLICY_INIT,
	};
	if (!debug_spec_init(&p->debug))
		return 0;
	return refuse(why, "the letters that this build has on, "
		      "SLAB_DEBUG_ON='%.*s', are not all in it",
		      NAME_MAX_BYTES, CONFIG_SLAB_DEBUG_ON);
}

static int parse_environment(struct params *p, char *const *env, bool secure,
			     struct refusal *why)
{
	u32 seen = 0;
	int err;

	err = set_defaults(p, why);
	if (err)
		return err;
	if (secure || !env)
		return 0;
	for (; *env; env++) {
		if (strncmp(*env, PREFIX, strlen(PREFIX)))
			continue;
		err = parse_variable(p, *env, &seen, why);
		if (err)
			return err;
	}
	return 0;
}

int params_parse(struct params *p, char *const *env, bool secure)
{
	struct refusal why;
	int err = parse_environment(p, env, secure, &why);

	return err ? error_set(err, "%s", why.text) : 0;
}

/* ---- The one copy ----------------------------------------------------- */

/* Written within pthread_once(), const then. */
static struct params params;
static struct refusal params_refusal;
static int params_err;

static int open_log(const struct params *p, struct refusal *why)
{
	const char *path = *p->log_path ? p->log_path : NULL;
	int err = log_configure((enum log_level)p->log_level, path);

	if (!err)
		return 0;
	errno = -err;
	return refuse(why, "SLABDEV_LOG: cannot append to '%s': %m", path);
}

static int open_reports(const struct params *p, struct refusal *why)
{
	int err = report_policy_set(&p->report);

	if (!err)
		return 0;
	errno = -err;
	return refuse(why, "SLABDEV_REPORT: cannot append to '%s': %m",
		      p->report.json_path);
}

static void read_once(void)
{
	params_err = parse_environment(&params, environ, os_is_secure(),
				       &params_refusal);
	if (!params_err)
		params_err = open_log(&params, &params_refusal);
	if (!params_err)
		params_err = open_reports(&params, &params_refusal);
}

int params_get(const struct params **out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_once);
	if (params_err)
		return error_set(params_err, "%s", params_refusal.text);
	*out = &params;
	return 0;
}
