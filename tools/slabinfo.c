// SPDX-License-Identifier: BSD-2-Clause
/*
 * slabinfo.c - shows the memory of running processes that use libslabdev.
 *
 * One way through: options_parse() says what is wanted, reader_run() copies
 * what the processes publish into a snapshot, a view prints it. Nothing is
 * written to the processes, and nothing they publish is believed before it was
 * checked: segment.c checks files, account.c records, text.c names.
 *
 *	reader.c -> process.c, files.c -> segment.c	open and check
 *	    |   \-> account.c -> window.c		copy and sum
 *	snapshot (model.h)
 *	    |
 *	options.c -> choice.c -> view_*.c -> text.c	choose and print
 *
 * Only --devices asks the library, which is linked in whole: slabinfo has to
 * start where the library is not in the loader's path, and to say what this
 * build of it can see.
 *
 * What could not be read is said on standard error after what could, and in
 * the exit status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <slabdev/slabdev.h>

#include "lib/check.h"
#include "lib/exit.h"
#include "lib/model.h"
#include "lib/options.h"
#include "lib/reader.h"
#include "lib/view.h"
#include "lib/watch.h"

/* Snapshots of a space that changes, until what does not hold never did. */
#define VALIDATE_ROUNDS 50

static bool is_for_people(const struct options *opt)
{
	return opt->view != VIEW_JSON && opt->view != VIEW_PROMETHEUS;
}

static size_t count_spaces(const struct snapshot *snap,
			   const struct options *opt)
{
	size_t i, nr = 0;

	for (i = 0; i < snap->nr_spaces; i++)
		nr += space_is_chosen(snap->spaces[i], opt);
	return nr;
}

/* Of nothing, only programs want to see the form. */
static void show(FILE *out, const struct snapshot *snap,
		 const struct options *opt)
{
	enum view view = opt->view;

	if (is_for_people(opt) && !count_spaces(snap, opt))
		return;
	if (opt->traces) {
		view_traces(out, snap, opt);
		return;
	}
	if (!opt->view_set && opt->has_pattern && !opt->activity &&
	    choice_count_matches(snap, opt) == 1)
		view = VIEW_REPORT;
	switch (view) {
	case VIEW_LIST:
		view_list(out, snap, opt);
		break;
	case VIEW_REPORT:
		view_report(out, snap, opt);
		break;
	case VIEW_TOTALS:
		view_totals(out, snap, opt);
		break;
	case VIEW_XTOTALS:
		view_xtotals(out, snap, opt);
		break;
	case VIEW_JSON:
		view_json(out, snap, opt);
		break;
	case VIEW_PROMETHEUS:
		view_prometheus(out, snap, opt);
		break;
	}
}

/* Why there is nothing to see. */
static void explain_nothing(FILE *out, const struct snapshot *snap,
			    const struct options *opt)
{
	bool found_all = !problems_count(&snap->absent);

	if (snap->nr_spaces)
		fprintf(out, "slabinfo: no space is called %s\n", opt->space);
	else if (opt->nr_pids == 1 && found_all)
		fprintf(out, "slabinfo: process %d does not use libslabdev, or "
			"opened it with private statistics\n",
			(int)opt->pids[0]);
	else if (opt->nr_pids > problems_count(&snap->absent))
		fprintf(out, "slabinfo: none of the processes named uses "
			"libslabdev, or they opened it with private "
			"statistics\n");
	else if (!opt->nr_pids)
		fprintf(out, "slabinfo: none of your processes uses "
			"libslabdev, or they opened it with private "
			"statistics\n");
	if (snap->inherited)
		fprintf(out, "slabinfo: %u processes only have the statistics "
			"of the process that forked them\n", snap->inherited);
}

/* Says what is missing; the exit status. */
static int judge(FILE *out, const struct snapshot *snap,
		 const struct options *opt)
{
	size_t shown = count_spaces(snap, opt);

	problems_print(&snap->problems, out);
	problems_print(&snap->absent, out);
	if (!shown && !problems_count(&snap->problems))
		explain_nothing(out, snap, opt);
	else if (shown && opt->has_pattern &&
		 !choice_count_matches(snap, opt))
		fputs("slabinfo: no cache matches the pattern\n", out);
	else if (!problems_count(&snap->absent) &&
		 !problems_count(&snap->problems))
		return EXIT_DONE;
	return problems_count(&snap->problems) ? EXIT_INCOMPLETE :
						 EXIT_FAILED;
}

static int show_once(const struct options *opt)
{
	struct snapshot snap;
	int code;

	reader_run(&snap, opt->pids, opt->nr_pids);
	show(stdout, &snap, opt);
	fflush(stdout);
	code = judge(stderr, &snap, opt);
	snapshot_fini(&snap);
	return code;
}

/* Whoever works meanwhile is read again, until all holds or it never did. */
static int validate(const struct options *opt)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	struct breaches found, again;
	struct snapshot snap;
	unsigned int i;
	int code;

	reader_run(&snap, opt->pids, opt->nr_pids);
	breaches_find(&found, &snap, opt);
	for (i = 0; i < VALIDATE_ROUNDS && found.nr; i++) {
		nanosleep(&pause, NULL);
		snapshot_fini(&snap);
		reader_run(&snap, opt->pids, opt->nr_pids);
		breaches_find(&again, &snap, opt);
		breaches_keep(&found, &again);
		breaches_fini(&again);
	}
	if (count_spaces(&snap, opt) || !is_for_people(opt))
		view_check(stdout, &snap, &found, opt);
	fflush(stdout);
	code = judge(stderr, &snap, opt);
	if (code == EXIT_DONE && found.nr)
		code = EXIT_IMPOSSIBLE;
	breaches_fini(&found);
	snapshot_fini(&snap);
	return code;
}

static void print_time(FILE *out)
{
	char text[32];
	time_t t = time(NULL);
	struct tm tm;

	localtime_r(&t, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	fprintf(out, "---- %s\n", text);
}

/*
 * Everything of one round in one piece, so that a terminal does not flicker.
 * Sets @found when there was something to show.
 */
static int show_frame(const struct watch *w, const struct options *opt,
		      bool *found)
{
	struct snapshot snap;
	char *frame = NULL;
	size_t size;
	FILE *out = open_memstream(&frame, &size);
	int code;

	if (!out) {
		fputs("slabinfo: out of memory\n", stderr);
		return EXIT_INCOMPLETE;
	}
	reader_run(&snap, opt->pids, opt->nr_pids);
	if (!w->redraw && is_for_people(opt))
		print_time(out);
	show(out, &snap, opt);
	code = judge(w->redraw ? out : stderr, &snap, opt);
	*found = snap.nr_spaces;
	snapshot_fini(&snap);
	fclose(out);
	watch_frame(w, frame, opt->interval);
	free(frame);
	return code;
}

/*
 * Without -p it goes on when nothing is found: the job may be about to start.
 * With it, it ends when the processes have ended; that is no failure.
 */
static int watch(const struct options *opt)
{
	bool found = false, ever = false;
	struct watch w;
	int code;

	watch_begin(&w, is_for_people(opt));
	do {
		code = show_frame(&w, opt, &found);
		ever |= found;
		if (!found && opt->nr_pids)
			break;
	} while (!ferror(stdout) && watch_wait(&w, opt->interval));
	watch_end(&w);
	return code == EXIT_FAILED && ever ? EXIT_DONE : code;
}

static int show_devices(const struct options *opt)
{
	int err = view_devices(stdout, opt);

	if (err)
		fprintf(stderr, "slabinfo: %s\n", slabdev_last_error());
	return err ? EXIT_INCOMPLETE : EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct options opt;
	int code;

	if (!options_parse(&opt, argc, argv, &code))
		code = opt.devices ? show_devices(&opt) :
		       opt.validate ? validate(&opt) :
		       opt.interval > 0 ? watch(&opt) : show_once(&opt);
	options_fini(&opt);
	if (fflush(stdout) || ferror(stdout)) {
		fputs("slabinfo: standard output cannot be written\n", stderr);
		code = EXIT_INCOMPLETE;
	}
	return code;
}
