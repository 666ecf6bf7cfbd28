// SPDX-License-Identifier: BSD-2-Clause
/*
 * options.c - what was asked for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/exit.h"
#include "../lib/usage.h"
#include "device.h"
#include "options.h"

#define MOST_ROUNDS 1000u

enum {
	OPT_LIST = USAGE_OWN,
	OPT_WORKLOAD,
	OPT_SIZE,
	OPT_SUBJECT,
	OPT_LIBRARY,
	OPT_DEVICE,
	OPT_ROUNDS,
	OPT_SEED,
	OPT_QUICK,
	OPT_CHECK,
	OPT_CALLGRIND,
	OPT_JSON,
	OPT_SVG,
	OPT_CHILD,
	OPT_OPERATIONS,
};

/* The last two are between a process and its children. */
static const struct option long_options[] = {
	{ "list", no_argument, NULL, OPT_LIST },
	{ "workload", required_argument, NULL, OPT_WORKLOAD },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "subject", required_argument, NULL, OPT_SUBJECT },
	{ "library", required_argument, NULL, OPT_LIBRARY },
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "rounds", required_argument, NULL, OPT_ROUNDS },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "quick", no_argument, NULL, OPT_QUICK },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "callgrind", no_argument, NULL, OPT_CALLGRIND },
	{ "json", optional_argument, NULL, OPT_JSON },
	{ "svg", required_argument, NULL, OPT_SVG },
	{ "help", no_argument, NULL, USAGE_HELP },
	{ "version", no_argument, NULL, USAGE_VERSION },
	{ "child", required_argument, NULL, OPT_CHILD },
	{ "operations", required_argument, NULL, OPT_OPERATIONS },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
"Usage: slabbench [OPTION]...\n"
"Measure libslabdev beside what can be done at best, and beside other\n"
"allocators.\n"
"\n"
"Of what there is (--list), only these; commas between names:\n"
"      --workload=NAME,...     what the allocators are made to do\n"
"      --size=NAME,...         of which sizes, or how many\n"
"      --subject=NAME,...      the allocators\n"
"      --library=NAME=FILE     one more: the malloc() of a shared library\n"
"What to measure:\n"
"      --callgrind             instructions, with valgrind, instead of time\n"
"                              or bytes, as the workload has it\n"
"      --check                 nothing: check that no live objects overlap\n"
"How:\n"
"      --device=SPEC           where libslabdev has its memory (host)\n"
"      --rounds=N              measure each N times (5)\n"
"      --quick                 a trial: figures mean little\n"
"      --seed=N                the order of the subjects\n"
"What to write:\n"
"      --json[=FILE]           JSON, instead of the tables or to FILE\n"
"      --svg=FILE              a picture\n"
"      --list                  the workloads and the subjects\n"
"  -h, --help                  this text\n"
"      --version               the version\n"
"\n"
"Exit status: 0 measured; 1 a subject failed, or there was none; 2 usage;\n"
"3 something could not be written, or memory ran out.\n";

bool options_has(const char *list, const char *name)
{
	size_t len = strlen(name);

	if (!list)
		return true;
	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == len && !strncmp(list, name, len))
			return true;
	return false;
}

/* ---- Names ------------------------------------------------------------ */

static const char *nth_workload(size_t i)
{
	return workloads[i].name;
}

static const char *nth_subject(size_t i)
{
	const struct subject *s;
	unsigned int nr;

	s = subjects(&nr);
	if (i == nr)
		return SUBJECT_GROUP;
	return i < nr ? s[i].name : NULL;
}

static const char *nth_size(size_t i)
{
	const struct workload *w;
	const struct variant *v;

	for (w = workloads; w->name; w++)
		for (v = w->variants; v->name; v++)
			if (!i--)
				return v->name;
	return NULL;
}

/* Is every name of @list one of those that @nth gives? */
static int check_names(const char *option, const char *list,
		       const char *(*nth)(size_t i))
{
	const char *name;
	size_t len, i;

	while (list && *list) {
		len = strcspn(list, ",");
		for (i = 0; (name = nth(i)); i++)
			if (strlen(name) == len && !strncmp(list, name, len))
				break;
		if (!name)
			return usage_error("--%s: there is no %.*s; see "
					   "--list", option, (int)len, list);
		list += len + (list[len] == ',');
	}
	return 0;
}

/* ---- Values ----------------------------------------------------------- */

static int set_number(uint64_t *to, const char *option, const char *text,
		      uint64_t least, uint64_t most)
{
	char *end;

	errno = 0;
	*to = strtoull(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || *to < least ||
	    *to > most)
		return usage_error("--%s=%s: a number from %llu to %llu is "
				   "needed", option, text,
				   (unsigned long long)least,
				   (unsigned long long)most);
	return 0;
}

static int set_rounds(struct options *opt, const char *text)
{
	uint64_t rounds;
	int err = set_number(&rounds, "rounds", text, 1, MOST_ROUNDS);

	opt->rounds = (unsigned int)rounds;
	return err;
}

static int set_mode(struct options *opt, enum mode mode)
{
	if (opt->mode != MODE_TIME && opt->mode != mode)
		return usage_error("--list, --check, and --callgrind exclude "
				   "each other");
	opt->mode = mode;
	return 0;
}

static int add_library(char *text)
{
	char *path = strchr(text, '=');
	int err;

	if (!path || path == text || !path[1])
		return usage_error("--library=%s: NAME=FILE is needed", text);
	*path++ = '\0';
	err = subject_add_library(text, path);
	if (err == -EEXIST)
		return usage_error("--library: %s is not a library", text);
	if (err)
		return usage_error("--library: there are too many");
	return 0;
}

/* SUBJECT:WORKLOAD:SIZE, from a process that knows what there is. */
static int set_child(struct options *opt, char *text)
{
	char *workload = strchr(text, ':'), *size;
	const struct workload *w;
	const struct variant *v;

	size = workload ? strchr(workload + 1, ':') : NULL;
	if (!size)
		return usage_error("--child=%s", text);
	*workload++ = *size++ = '\0';
	for (w = workloads; w->name && strcmp(w->name, workload); w++)
		;
	for (v = w->variants; v && v->name && strcmp(v->name, size); v++)
		;
	opt->child = subject_find(text);
	opt->cell = (struct cell){ w, v };
	if (!opt->child || !v || !v->name)
		return usage_error("--child=%s:%s:%s", text, workload, size);
	return 0;
}

static void set_quick(struct options *opt)
{
	opt->quick = true;
	opt->samples = 2;
	opt->sample_ns = 500 * 1000;
	opt->divisor = 100;
}

static int set_option(void *to, int letter, char *arg)
{
	struct options *opt = to;

	switch (letter) {
	case OPT_LIST: return set_mode(opt, MODE_LIST);
	case OPT_CHECK: return set_mode(opt, MODE_CHECK);
	case OPT_CALLGRIND: return set_mode(opt, MODE_CALLGRIND);
	case OPT_WORKLOAD: opt->workloads = arg; return 0;
	case OPT_SIZE: opt->sizes = arg; return 0;
	case OPT_SUBJECT: opt->subjects = arg; return 0;
	case OPT_LIBRARY: return add_library(arg);
	case OPT_DEVICE: device_choose(arg); return 0;
	case OPT_ROUNDS: return set_rounds(opt, arg);
	case OPT_SEED: return set_number(&opt->seed, "seed", arg, 0, 1u << 31);
	case OPT_QUICK: set_quick(opt); return 0;
	case OPT_JSON: opt->json = arg ? arg : "-"; return 0;
	case OPT_SVG: opt->svg = arg; return 0;
	case OPT_CHILD: return set_child(opt, arg);
	case OPT_OPERATIONS: return set_number(&opt->operations, "operations",
					       arg, 1, UINT32_MAX);
	default: return usage_refuse();
	}
}

int options_parse(struct options *opt, int argc, char **argv, int *code)
{
	static const struct usage usage = {
		"slabbench", help, "h", long_options, set_option
	};
	int err;

	*opt = (struct options){ .samples = MAX_SAMPLES, .divisor = 1,
				 .seed = 1, .sample_ns = 4 * 1000 * 1000 };
	err = usage_parse(&usage, argc, argv, opt);
	*code = err > 0 ? EXIT_DONE : EXIT_USAGE;
	if (!err && optind < argc)
		err = usage_error("%s: only options are taken", argv[optind]);
	if (!err)
		err = check_names("workload", opt->workloads, nth_workload);
	if (!err)
		err = check_names("size", opt->sizes, nth_size);
	if (!err)
		err = check_names("subject", opt->subjects, nth_subject);
	if (!opt->rounds)
		opt->rounds = opt->quick ? 1 : 5;
	if (opt->mode == MODE_CHECK)
		opt->divisor = 1000;
	return err;
}
