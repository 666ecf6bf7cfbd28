// SPDX-License-Identifier: BSD-2-Clause
/*
 * callgrind.c - instructions an operation, counted by valgrind.
 *
 * Each child runs twice, with N operations and with 2 N. The first counts
 * start-up, preparation and N operations; the second exceeds it by N
 * operations. So no part of the program has to be marked for valgrind, and its
 * headers are not needed. The loop of the workload is counted, too: `null`
 * shows how much that is.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "callgrind.h"
#include "progress.h"
#include "rounds.h"

#define OPERATIONS 20000u

static bool has_valgrind(void)
{
	return !system("command -v valgrind >/dev/null 2>&1");
}

/* The total of a profile; 0: it has none. */
static uint64_t read_total(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long total = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "totals: %llu", &total) == 1)
			break;
	if (f)
		fclose(f);
	return total;
}

static uint64_t count(struct bench *b, unsigned int cell, unsigned int subject,
		      uint64_t operations)
{
	char out[] = "--callgrind-out-file=/tmp/slabbench-XXXXXX";
	char *path = strchr(out, '/'), number[40];
	uint64_t total;
	int fd;

	fd = mkstemp(path);
	if (fd < 0)
		return 0;
	close(fd);
	snprintf(number, sizeof(number), "--operations=%llu",
		 (unsigned long long)operations);
	rounds_child(b, cell, subject, 0, (const char *const[]){
		"valgrind", "-q", "--tool=callgrind", out, NULL }, number);
	total = read_total(path);
	unlink(path);
	return total;
}

static void measure(struct bench *b, unsigned int cell, unsigned int subject)
{
	struct result *r = bench_result(b, cell, subject);
	uint64_t step = workload_step(&b->cells[cell], b->opt->divisor);
	uint64_t n, once, twice = 0;
	struct sample s = { 0 };

	n = (OPERATIONS + step - 1) / step * step;
	once = count(b, cell, subject, n);
	if (r->status == STATUS_MEASURED)
		twice = count(b, cell, subject, 2 * n);
	if (r->status != STATUS_MEASURED)
		return;
	if (!once || twice < once) {
		r->status = STATUS_FAILED;
		snprintf(r->why, sizeof(r->why), "valgrind counted nothing");
		return;
	}
	s.value = (double)(twice - once) / (double)n;
	bench_add(r, &s, 0);
}

int callgrind_run(struct bench *b)
{
	unsigned int i, j;
	struct progress p;

	if (!has_valgrind())
		return -ENOENT;
	progress_begin(&p, b->nr_cells * b->nr_subjects);
	for (i = 0; i < b->nr_cells; i++)
		for (j = 0; j < b->nr_subjects; j++) {
			progress_step(&p, &b->cells[i], b->subjects[j]->name);
			if (subject_can(b->subjects[j], &b->cells[i]))
				measure(b, i, j);
		}
	progress_end(&p);
	return 0;
}
