// SPDX-License-Identifier: BSD-2-Clause
/*
 * slabbench.c - measures libslabdev beside floors and other allocators.
 *
 * One way through: options_parse() says what is wanted, bench_init() lists the
 * cells and the subjects, rounds_run() measures, bench_judge() makes medians,
 * and the views show them. Every measurement is a process: this program again,
 * with --child.
 *
 *	rounds.c -> spawn.c	start children, collect their lines
 *	    |
 *	child.c -> sample.c	prepare, run, take the time
 *	    |   \-> figure.c	or bytes
 *	    |    \-> check.c	or look for overlaps
 *	    |
 *	workload.c, body_*.c	what is done
 *	subject.c		by whom: ours.c, floor_*.c, peer.c
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/callgrind.h"
#include "bench/child.h"
#include "bench/options.h"
#include "bench/rounds.h"
#include "bench/table.h"
#include "bench/view_json.h"
#include "bench/view_svg.h"
#include "lib/exit.h"
#include "lib/memory.h"

typedef void (*view_fn)(FILE *out, const struct bench *b);

/* options_parse() writes into the words. */
static char **copy_args(int argc, char **argv)
{
	char **copy = zalloc(((size_t)argc + 1) * sizeof(*copy));
	size_t size;
	int i;

	for (i = 0; i < argc; i++) {
		size = strlen(argv[i]) + 1;
		copy[i] = zalloc(size);
		memcpy(copy[i], argv[i], size);
	}
	return copy;
}

static void free_args(char **args)
{
	size_t i;

	for (i = 0; args[i]; i++)
		free(args[i]);
	free(args);
}

/* Is all of it out? */
static bool finish(FILE *out, const char *path)
{
	bool failed = fflush(out) || ferror(out);

	if (out != stdout)
		failed |= fclose(out);
	if (failed)
		fprintf(stderr, "slabbench: %s cannot be written\n",
			out == stdout ? "standard output" : path);
	return !failed;
}

/* To @path, "-" for standard output. */
static bool write_view(const struct bench *b, view_fn view, const char *path)
{
	FILE *out = strcmp(path, "-") ? fopen(path, "we") : stdout;

	if (!out) {
		fprintf(stderr, "slabbench: %s: %s\n", path, strerror(errno));
		return false;
	}
	view(out, b);
	return finish(out, path);
}

static bool show(const struct bench *b)
{
	const struct options *opt = b->opt;
	bool good = true;

	if (!opt->json || strcmp(opt->json, "-"))
		good = write_view(b, opt->mode == MODE_CHECK ?
				  table_print_check : table_print, "-");
	if (opt->json)
		good &= write_view(b, view_json, opt->json);
	if (opt->svg)
		good &= write_view(b, view_svg, opt->svg);
	return good;
}

static int measure(const struct options *opt, char **args)
{
	struct bench b;
	int code = EXIT_DONE;

	bench_init(&b, opt, args);
	if (!b.nr_cells || !b.nr_subjects) {
		fprintf(stderr, "slabbench: there is nothing to measure: %s "
			"(see --list)\nTry 'slabbench --help'.\n",
			b.nr_cells ? "no subject is chosen" :
			"no chosen workload has a chosen size");
		bench_fini(&b);
		return EXIT_USAGE;
	}
	if (opt->mode != MODE_CALLGRIND) {
		rounds_run(&b);
	} else if (callgrind_run(&b)) {
		fputs("slabbench: valgrind is not installed\n", stderr);
		bench_fini(&b);
		return EXIT_FAILED;
	}
	bench_judge(&b);
	if (!show(&b))
		code = EXIT_INCOMPLETE;
	table_print_problems(stderr, &b);
	if (!code && !bench_is_good(&b))
		code = EXIT_FAILED;
	bench_fini(&b);
	return code;
}

int main(int argc, char **argv)
{
	char **args = copy_args(argc, argv);
	struct options opt;
	int code;

	if (options_parse(&opt, argc, argv, &code)) {
		free_args(args);
		return finish(stdout, "-") ? code : EXIT_INCOMPLETE;
	}
	if (opt.child)
		child_run(&opt);
	if (opt.mode == MODE_LIST) {
		table_print_list(stdout);
		code = finish(stdout, "-") ? EXIT_DONE : EXIT_INCOMPLETE;
	} else {
		code = measure(&opt, args);
	}
	free_args(args);
	return code;
}
