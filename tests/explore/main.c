// SPDX-License-Identifier: BSD-2-Clause
/*
 * main.c - the command line of the explorer; see explore.h.
 *
 *   explore [--preemptions=N] [--delays=N] [--break=WHAT] SCENARIO
 *   explore [--break=WHAT] --replay=SCHEDULE SCENARIO
 *   explore --list
 *
 * Exit status: 0 when no schedule fails, 1 when one does, 2 for a mistake in
 * the arguments.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/explore/explore.h"
#include "tests/explore/search.h"

/* Where the linker put the program; addr2line counts from there. */
extern const char __executable_start;

static struct options {
	u32 preemptions, delays;
	const char *replay;
	const char *scenario;
	bool list;
} options = { .preemptions = 2 };

static noreturn void usage(const char *what, const char *which)
{
	fprintf(stderr, "explore: %s: %s\n"
		"usage: explore [--preemptions=N] [--delays=N] [--break=WHAT] "
		"[--replay=SCHEDULE] SCENARIO\n       explore --list\n",
		which, what);
	exit(2);
}

static void parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "preemptions", required_argument, NULL, 'p' },
		{ "delays", required_argument, NULL, 'd' },
		{ "break", required_argument, NULL, 'b' },
		{ "replay", required_argument, NULL, 'r' },
		{ "list", no_argument, NULL, 'l' },
		{ 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'p')
			options.preemptions = (u32)strtoul(optarg, NULL, 10);
		else if (c == 'd')
			options.delays = (u32)strtoul(optarg, NULL, 10);
		else if (c == 'r')
			options.replay = optarg;
		else if (c == 'l')
			options.list = true;
		else if (c == 'b')
			breakage = breakage_find(optarg);
		else
			exit(2);
		if (breakage == NR_BREAKAGES)
			usage("nothing that can be broken", optarg);
	}
	if (!options.list && optind != argc - 1)
		usage("one scenario is wanted", "arguments");
	options.scenario = argv[optind];
}

/* ---- Telling ---------------------------------------------------------- */

/* The place of an address of code, as far as addr2line is there to tell. */
static void print_place(u64 where)
{
	char command[512], exe[256], line[512];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	FILE *tool;

	where -= (u64)(uintptr_t)&__executable_start;
	exe[n < 0 ? 0 : n] = '\0';
	/* A return address: the call is before it. */
	snprintf(command, sizeof(command), "addr2line -sfip -e '%s' %#llx "
		 "2>/dev/null", exe, (unsigned long long)where - 1);
	tool = popen(command, "r");
	if (!tool || !fgets(line, sizeof(line), tool))
		snprintf(line, sizeof(line), "%#llx\n",
			 (unsigned long long)where);
	if (tool)
		pclose(tool);
	fputs(line, stdout);
}

static void print_schedule(const struct decision *d, u32 n)
{
	u32 i;

	printf("schedule: ");
	for (i = 0; i < n; i++)
		if (d[i].pick)
			printf("%u%c%u ", d[i].step, d[i].kind, d[i].pick);
	printf("\n");
}

static void explain_one(const struct decision *d)
{
	if (d->routine < 0) {
		printf("  routine %d begins\n", d->next);
		return;
	}
	printf("  step %u: routine %d ", d->step, d->routine);
	if (d->kind == DECIDE_SWITCH)
		printf("cannot go on, %d does: ", d->next);
	else if (d->kind == DECIDE_PREEMPT)
		printf("stops, %d goes on: ", d->next);
	else if (d->kind == DECIDE_DELAY)
		printf("stores to its buffer: ");
	else
		printf("sees what another one has buffered: ");
	print_place(d->where);
}

static void explain(const struct decision *d, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (d[i].pick || d[i].kind == DECIDE_SWITCH)
			explain_one(&d[i]);
}

/* ---- What to do ------------------------------------------------------- */

static void parse_schedule(const char *text)
{
	struct decision *d = search->taken;
	unsigned int step, pick;
	char kind;
	int used;

	while (sscanf(text, " %u%c%u%n", &step, &kind, &pick, &used) == 3) {
		if (search->nr_planned == DECISIONS_MAX)
			usage("too long", options.replay);
		*d++ = (struct decision){ .step = step, .kind = (u8)kind,
					  .pick = (u8)pick };
		search->nr_planned++;
		search->delays += kind == DECIDE_DELAY;
		text += used;
	}
	if (text[strspn(text, " ")])
		usage("not a schedule", options.replay);
}

static int replay(const struct scenario *sc)
{
	u32 n;
	bool good;

	search->replay = true;
	parse_schedule(options.replay);
	good = search_run(sc);
	n = search->nr_taken;
	printf("%s: %s\n", sc->name, good ? "good" : search->reason);
	explain(search->taken, n);
	if (n < search->nr_planned)
		printf("  %u decisions of the schedule did not come about\n",
		       search->nr_planned - n);
	if (search->race_at) {
		printf("  data race: ");
		print_place(search->race_at);
	}
	return !good || search->race_at;
}

static int explore(const struct scenario *sc)
{
	static struct found found;
	bool good = search_all(sc, &found, options.preemptions,
			       options.delays);

	printf("%s: %s after %u runs with at most %u preemptions and %u "
	       "delays\n", sc->name, good ? "good" : "failed", found.nr_runs,
	       min(search->preemptions, options.preemptions),
	       min(search->delays, options.delays));
	if (good)
		return 0;
	printf("reason: %s\n", search->reason);
	if (found.race_at)
		print_place(found.race_at);
	print_schedule(found.decision, found.nr);
	explain(found.decision, found.nr);
	return 1;
}

int main(int argc, char **argv)
{
	const struct scenario *sc;

	parse(argc, argv);
	if (options.list) {
		for (sc = scenarios; sc->name; sc++)
			puts(sc->name);
		return 0;
	}
	sc = scenario_find(options.scenario);
	if (!sc)
		usage("no such scenario", options.scenario);
	search_init();
	routines_init(sc);
	sc->prepare();
	return options.replay ? replay(sc) : explore(sc);
}
