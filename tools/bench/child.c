// SPDX-License-Identifier: BSD-2-Clause
/*
 * child.c - the process that measures one subject in one cell.
 *
 * It ends without giving anything back: the next one begins with nothing,
 * and what freeing costs at an end is not the question.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "sample.h"

#define CHECK_OPERATIONS 2000u
#define MOST_SECONDS 120u

static void leave(const char *word, const char *text)
	__attribute__((noreturn));

static void leave(const char *word, const char *text)
{
	printf("%s %s\n", word, text);
	fflush(stdout);
	_exit(0);
}

static void open_subject(struct run *run)
{
	const struct subject *s = run->subject;
	char text[SUBJECT_TEXT] = "";

	if (!s->open(s, &run->calls, run->cell.variant->min, 0, text))
		leave("absent", text);
	if (s->version) {
		s->version(s, text);
		printf("version %s\n", text);
	}
}

static int measure_figure(struct run *run)
{
	double value = 0;
	int err = run->cell.workload->figure(run, &value);

	if (!err)
		printf("value %.6g\n", value);
	return err;
}

static int measure_time(struct run *run, const struct options *opt)
{
	struct sample samples[MAX_SAMPLES];
	unsigned int i;
	int err;

	err = sample_take(run, samples, opt->samples, opt->sample_ns);
	for (i = 0; i < opt->samples && !err; i++)
		printf("sample %.6g %.4g\n", samples[i].value,
		       samples[i].reading);
	return err;
}

static int check(struct run *run)
{
	const char *complaint;
	uint64_t nr;
	int err;

	check_begin(&run->calls, run->cell.variant->min);
	err = sample_run(run, CHECK_OPERATIONS);
	complaint = check_result(&nr);
	if (complaint)
		leave("failed", complaint);
	printf("checked %llu\n", (unsigned long long)nr);
	return err;
}

void child_run(const struct options *opt)
{
	struct run *run = aligned_alloc(RING_LINE, sizeof(*run));
	int err;

	alarm(MOST_SECONDS);
	if (!run)
		leave("failed", "out of memory");
	memset(run, 0, sizeof(*run));
	run->subject = opt->child;
	run->cell = opt->cell;
	run->divisor = opt->divisor;
	open_subject(run);
	if (workload_init(run))
		leave("failed", "out of memory");
	if (opt->mode == MODE_CHECK)
		err = check(run);
	else if (run->cell.workload->figure)
		err = measure_figure(run);
	else if (opt->operations)
		err = sample_run(run, opt->operations);
	else
		err = measure_time(run, opt);
	if (err)
		leave("failed", strerror(-err));
	leave("done", "");
}
