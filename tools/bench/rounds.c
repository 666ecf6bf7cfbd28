// SPDX-License-Identifier: BSD-2-Clause
/*
 * rounds.c - measures everything, in rounds.
 *
 * A round takes every cell in turn, and in it every subject, in an order that
 * is drawn anew. So those that are compared were measured in the same
 * round, none of them always after the same other; and what a machine does to
 * one of them for some minutes is only one of the rounds. Every measurement is
 * a process of its own: nothing is left over from the one before, and where the
 * loader puts things differs from round to round.
 *
 * A subject that is absent, or fails in a cell, is not tried in it again.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "progress.h"
#include "random.h"
#include "rounds.h"
#include "spawn.h"

#define LINE_SIZE 512

static void set_status(struct result *r, enum status status, const char *why)
{
	r->status = status;
	snprintf(r->why, sizeof(r->why), "%s", why);
}

/* One line of a child; child.h has them. */
static void take_line(struct result *r, char *version, char *line,
		      unsigned int round)
{
	struct sample s = { 0 };
	char *text = strchr(line, ' ');

	line[strcspn(line, "\n")] = '\0';
	if (!text)
		return;
	*text++ = '\0';
	if (!strcmp(line, "version")) {
		snprintf(version, SUBJECT_TEXT, "%s", text);
	} else if (!strcmp(line, "sample")) {
		if (sscanf(text, "%lf %lf", &s.value, &s.reading) == 2)
			bench_add(r, &s, round);
	} else if (!strcmp(line, "value")) {
		s.value = strtod(text, NULL);
		bench_add(r, &s, round);
	} else if (!strcmp(line, "checked")) {
		r->nr_checked += strtoull(text, NULL, 10);
	} else if (!strcmp(line, "absent")) {
		set_status(r, STATUS_ABSENT, text);
	} else if (!strcmp(line, "failed")) {
		set_status(r, STATUS_FAILED, text);
	} else if (!strcmp(line, "done")) {
		set_status(r, STATUS_MEASURED, "");
	}
}

/* It did not say how it ended. */
static void explain_end(struct result *r, int status)
{
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	char why[64];

	if (signal == SIGALRM)
		snprintf(why, sizeof(why), "took too long");
	else if (signal)
		snprintf(why, sizeof(why), "killed: %s", strsignal(signal));
	else
		snprintf(why, sizeof(why), "exit status %d",
			 WEXITSTATUS(status));
	set_status(r, STATUS_FAILED, why);
}

void rounds_child(struct bench *b, unsigned int cell, unsigned int subject,
		  unsigned int round, const char *const *wrapper,
		  const char *option)
{
	struct result *r = bench_result(b, cell, subject);
	char line[LINE_SIZE], which[128];
	struct child child;
	int err, status;

	r->status = STATUS_NONE;
	snprintf(which, sizeof(which), "--child=%s:%s:%s",
		 b->subjects[subject]->name, b->cells[cell].workload->name,
		 b->cells[cell].variant->name);
	err = spawn(&child, wrapper, b->args,
		    (const char *const[]){ which, option, NULL });
	if (err) {
		set_status(r, STATUS_FAILED, strerror(-err));
		return;
	}
	while (fgets(line, sizeof(line), child.out))
		take_line(r, b->version[subject], line, round);
	status = spawn_wait(&child);
	if (r->status == STATUS_NONE)
		explain_end(r, status);
}

static void measure(struct bench *b, unsigned int cell, unsigned int subject,
		    unsigned int round)
{
	struct result *r = bench_result(b, cell, subject);

	if (!subject_can(b->subjects[subject], &b->cells[cell]) ||
	    r->status == STATUS_ABSENT || r->status == STATUS_FAILED)
		return;
	/* Figures are the same in every round. */
	if (round && b->cells[cell].workload->figure)
		return;
	rounds_child(b, cell, subject, round, NULL, NULL);
}

void rounds_run(struct bench *b)
{
	unsigned int rounds = b->opt->mode == MODE_CHECK ? 1 : b->opt->rounds;
	uint32_t order[SUBJECT_MAX];
	unsigned int round, cell, i;
	struct progress p;
	uint64_t random = b->opt->seed;

	progress_begin(&p, rounds * b->nr_cells * b->nr_subjects);
	for (round = 0; round < rounds; round++)
		for (cell = 0; cell < b->nr_cells; cell++) {
			random_order(order, b->nr_subjects, &random);
			for (i = 0; i < b->nr_subjects; i++) {
				progress_step(&p, &b->cells[cell],
					      b->subjects[order[i]]->name);
				measure(b, cell, order[i], round);
			}
		}
	progress_end(&p);
}
