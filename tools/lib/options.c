// SPDX-License-Identifier: BSD-2-Clause
/*
 * options.c - what was asked for.
 *
 * The letters are those of the kernel's slabinfo, so that fingers need not
 * learn. What the kernel's can do and this one cannot is refused by name:
 * silence would be taken for an answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit.h"
#include "memory.h"
#include "options.h"
#include "usage.h"

#define MOST_SECONDS 86400

enum {
	OPT_SPACE = USAGE_OWN,
	OPT_DEVICES,
	OPT_JSON,
	OPT_PROMETHEUS,
	OPT_WATCH,
	OPT_ALLOC_TRACES,
	OPT_FREE_TRACES,
};

static const char short_options[] = "ADLPSTXBehilrzN:p:svtd::a1fnoU";

static const struct option long_options[] = {
	{ "activity", no_argument, NULL, 'A' },
	{ "display-active", no_argument, NULL, 'D' },
	{ "Loss", no_argument, NULL, 'L' },
	{ "partial", no_argument, NULL, 'P' },
	{ "Size", no_argument, NULL, 'S' },
	{ "Totals", no_argument, NULL, 'T' },
	{ "Xtotals", no_argument, NULL, 'X' },
	{ "Bytes", no_argument, NULL, 'B' },
	{ "empty", no_argument, NULL, 'e' },
	{ "help", no_argument, NULL, USAGE_HELP },
	{ "inverted", no_argument, NULL, 'i' },
	{ "slabs", no_argument, NULL, 'l' },
	{ "report", no_argument, NULL, 'r' },
	{ "zero", no_argument, NULL, 'z' },
	{ "lines", required_argument, NULL, 'N' },
	{ "pid", required_argument, NULL, 'p' },
	{ "space", required_argument, NULL, OPT_SPACE },
	{ "devices", no_argument, NULL, OPT_DEVICES },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "prometheus", no_argument, NULL, OPT_PROMETHEUS },
	{ "watch", optional_argument, NULL, OPT_WATCH },
	{ "version", no_argument, NULL, USAGE_VERSION },
	{ "shrink", no_argument, NULL, 's' },
	{ "validate", no_argument, NULL, 'v' },
	{ "tracking", no_argument, NULL, 't' },
	{ "alloc-traces", required_argument, NULL, OPT_ALLOC_TRACES },
	{ "free-traces", required_argument, NULL, OPT_FREE_TRACES },
	{ "debug", optional_argument, NULL, 'd' },
	{ "aliases", no_argument, NULL, 'a' },
	{ "1ref", no_argument, NULL, '1' },
	{ "first-alias", no_argument, NULL, 'f' },
	{ "numa", no_argument, NULL, 'n' },
	{ "ops", no_argument, NULL, 'o' },
	{ "unreclaim", no_argument, NULL, 'U' },
	{ NULL, 0, NULL, 0 },
};

/* Options of the kernel's slabinfo that have no answer here. */
static const struct {
	int letter;
	const char *why;
} refused[] = {
	{ 's', "this version cannot shrink another process's caches" },
	{ 'd', "letters are set in the process, by SLABDEV_DEBUG or "
	       "slabdev_set_debug()" },
	{ 'a', "caches of libslabdev are never merged: there are no aliases" },
	{ '1', "caches of libslabdev are never merged: there are no aliases" },
	{ 'f', "caches of libslabdev are never merged: there are no aliases" },
	{ 'n', "a space lies on one device: there are no nodes" },
	{ 'o', "a cache has no operations but its constructor: see flag c" },
	{ 'U', "no cache is marked reclaimable" },
};

static const char help[] =
"Usage: slabinfo [OPTION]... [PATTERN]\n"
"Show the memory of running processes that use libslabdev: where every mapped\n"
"byte is, cache by cache. PATTERN is an extended regular expression, case\n"
"ignored; when it matches one cache only, that cache is reported in full.\n"
"\n"
"What to show:\n"
"  -l, --slabs             a list of caches for each space (default)\n"
"  -r, --report            everything about each cache\n"
"  -T, --Totals            totals over all spaces\n"
"  -X, --Xtotals           totals, then caches by size, loss, and partial\n"
"                          slabs, in bytes\n"
"  -t, --tracking          by stack who allocated what is live, where objects\n"
"                          are tracked (SLABDEV_DEBUG=U); goes with --json\n"
"      --alloc-traces=PID[,PID]...  the same of these processes\n"
"      --free-traces=PID[,PID]...   who freed what is free\n"
"  -v, --validate [PID[,PID]...]  is what is published possible? Goes with\n"
"                          -p, --space, and --json\n"
"      --json              one JSON object on one line\n"
"      --prometheus        Prometheus text exposition\n"
"      --devices           what a space can be opened on, and why not; goes\n"
"                          with --json and -B\n"
"Of what:\n"
"  -p, --pid=PID[,PID]...  these processes; may be repeated\n"
"      --space=NAME        spaces of this name\n"
"  -e, --empty             empty caches as well\n"
"  -z, --zero              empty caches only\n"
"  -N, --lines=K           the first K caches of each list\n"
"In which order:\n"
"  -S, --Size              by memory\n"
"  -L, --Loss              by memory that is not live\n"
"  -P, --partial           by partial slabs\n"
"  -A, --activity          by allocations and frees\n"
"  -i, --inverted          the other way round\n"
"How:\n"
"  -D, --display-active    what was done, instead of what there is\n"
"  -B, --Bytes             bytes, without K, M, G\n"
"      --watch[=SECONDS]   again every second, or SECONDS; q ends\n"
"  -h, --help              this text\n"
"      --version           the version\n"
"\n"
"Exit status: 0 shown; 1 nothing found; 2 usage; 3 something could not be\n"
"read (it is named, and what could be read is shown); 4 what is published is\n"
"not possible (-v).\n";

static int set_view(struct options *opt, enum view view)
{
	if (opt->view_set && opt->view != view)
		return usage_error("-l, -r, -T, -X, --json, and --prometheus "
				   "exclude each other");
	opt->view = view;
	opt->view_set = true;
	return 0;
}

static int set_sort(struct options *opt, enum sort sort)
{
	if (opt->sort != SORT_NAME && opt->sort != sort)
		return usage_error("-S, -L, -P, and -A exclude each other");
	opt->sort = sort;
	return 0;
}

static int set_show(struct options *opt, enum show show)
{
	if (opt->show != SHOW_USED && opt->show != show)
		return usage_error("-e and -z exclude each other");
	opt->show = show;
	return 0;
}

static int set_first(struct options *opt, const char *text)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || !n)
		return usage_error("-N %s: a number from 1 on is needed", text);
	opt->first = n;
	return 0;
}

static void add_pid(struct options *opt, pid_t pid)
{
	size_t i;

	for (i = 0; i < opt->nr_pids; i++)
		if (opt->pids[i] == pid)
			return;
	opt->pids = grow_array(opt->pids, opt->nr_pids, sizeof(pid));
	opt->pids[opt->nr_pids++] = pid;
}

static int set_pids(struct options *opt, const char *list)
{
	const char *text = list;
	char *end;
	long pid;

	do {
		errno = 0;
		pid = strtol(text, &end, 10);
		if (errno || end == text || (*end && *end != ',') || pid < 1 ||
		    pid > 0x7fffffff)
			return usage_error("-p %s: process numbers are needed, "
					   "with commas between them", list);
		add_pid(opt, (pid_t)pid);
		text = end + 1;
	} while (*end);
	return 0;
}

/* @list: NULL: of the processes that are named otherwise, or of all. */
static int set_traces(struct options *opt, enum traces traces,
		      const char *list)
{
	if (opt->traces != TRACES_NONE && opt->traces != traces)
		return usage_error("--alloc-traces and --free-traces exclude "
				   "each other");
	opt->traces = traces;
	return list ? set_pids(opt, list) : 0;
}

static int set_interval(struct options *opt, const char *text)
{
	char *end;

	opt->interval = 1;
	if (!text)
		return 0;
	opt->interval = strtod(text, &end);
	if (end == text || *end || !(opt->interval >= 0.1) ||
	    opt->interval > MOST_SECONDS)
		return usage_error("--watch=%s: seconds from 0.1 to %d are "
				   "needed", text, MOST_SECONDS);
	return 0;
}

static int refuse(int letter)
{
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (refused[i].letter == letter)
			return usage_error("-%c: %s", letter, refused[i].why);
	return usage_refuse();
}

static int set_option(void *to, int letter, char *arg)
{
	struct options *opt = to;

	switch (letter) {
	case 'l': return set_view(opt, VIEW_LIST);
	case 'r': return set_view(opt, VIEW_REPORT);
	case 'T': return set_view(opt, VIEW_TOTALS);
	case 'X': return set_view(opt, VIEW_XTOTALS);
	case OPT_JSON: return set_view(opt, VIEW_JSON);
	case OPT_PROMETHEUS: return set_view(opt, VIEW_PROMETHEUS);
	case 'S': return set_sort(opt, SORT_SIZE);
	case 'L': return set_sort(opt, SORT_LOSS);
	case 'P': return set_sort(opt, SORT_PARTIAL);
	case 'A': return set_sort(opt, SORT_ACTIVITY);
	case 'e': return set_show(opt, SHOW_ALL);
	case 'z': return set_show(opt, SHOW_EMPTY);
	case 'N': return set_first(opt, arg);
	case 'p': return set_pids(opt, arg);
	case 't': return set_traces(opt, TRACES_ALLOC, NULL);
	case OPT_ALLOC_TRACES: return set_traces(opt, TRACES_ALLOC, arg);
	case OPT_FREE_TRACES: return set_traces(opt, TRACES_FREE, arg);
	case OPT_WATCH: return set_interval(opt, arg);
	case OPT_SPACE: opt->space = arg; return 0;
	case OPT_DEVICES: opt->devices = true; return 0;
	case 'v': opt->validate = true; return 0;
	case 'D': opt->activity = true; return 0;
	case 'B': opt->bytes = true; return 0;
	case 'i': opt->inverted = true; return 0;
	default: return refuse(letter);
	}
}

static int set_pattern(struct options *opt, char **args, int nr)
{
	char why[128];
	int err;

	if (nr > 1)
		return usage_error("%s: only one pattern is taken", args[1]);
	if (!nr)
		return 0;
	err = regcomp(&opt->pattern, args[0],
		      REG_EXTENDED | REG_ICASE | REG_NOSUB);
	if (err) {
		regerror(err, &opt->pattern, why, sizeof(why));
		return usage_error("pattern %s: %s", args[0], why);
	}
	opt->has_pattern = true;
	return 0;
}

/* What chooses and sorts caches is not for devices. */
static int check_devices(const struct options *opt)
{
	bool other_view = opt->view_set && opt->view != VIEW_JSON;
	bool chosen = opt->nr_pids || opt->space || opt->has_pattern ||
		      opt->show != SHOW_USED || opt->first;
	bool sorted = opt->sort != SORT_NAME || opt->inverted;

	if (opt->devices && (other_view || chosen || sorted || opt->activity ||
			     opt->interval > 0))
		return usage_error("--devices goes with --json and -B only");
	return 0;
}

/* Nor is what chooses and sorts caches for stacks, but for how many. */
static int check_traces(const struct options *opt)
{
	bool other_view = opt->view_set && opt->view != VIEW_JSON;

	if (opt->traces && (other_view || opt->devices || opt->has_pattern ||
			    opt->show != SHOW_USED || opt->activity ||
			    opt->sort != SORT_NAME))
		return usage_error("traces of stacks go with -p, --space, -N, "
				   "-i, -B, --json, and --watch only");
	return 0;
}

/* A whole space is looked at, or none. */
static int check_validate(const struct options *opt)
{
	bool other_view = opt->view_set && opt->view != VIEW_JSON;

	if (opt->validate && (other_view || opt->devices || opt->traces ||
			      opt->has_pattern || opt->show != SHOW_USED ||
			      opt->activity || opt->sort != SORT_NAME ||
			      opt->first || opt->interval > 0))
		return usage_error("-v goes with -p, --space, and --json only");
	return 0;
}

static bool has_colour(void)
{
	const char *refusal = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(refusal && *refusal) &&
	       term && strcmp(term, "dumb");
}

int options_parse(struct options *opt, int argc, char **argv, int *code)
{
	static const struct usage usage = {
		"slabinfo", help, short_options, long_options, set_option
	};
	int err;

	*opt = (struct options){ .colour = has_colour() };
	err = usage_parse(&usage, argc, argv, opt);
	*code = err > 0 ? EXIT_DONE : EXIT_USAGE;
	if (!err && opt->validate && argc - optind == 1)
		err = set_pids(opt, argv[optind]);
	else if (!err)
		err = set_pattern(opt, argv + optind, argc - optind);
	if (!err)
		err = check_devices(opt);
	if (!err)
		err = check_traces(opt);
	if (!err)
		err = check_validate(opt);
	if (!err && opt->view == VIEW_XTOTALS)
		opt->bytes = true;
	return err;
}

void options_fini(struct options *opt)
{
	if (opt->has_pattern)
		regfree(&opt->pattern);
	free(opt->pids);
}
