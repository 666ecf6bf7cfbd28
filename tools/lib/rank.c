// SPDX-License-Identifier: BSD-2-Clause
/*
 * rank.c - which part of a parallel job a process is.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model.h"
#include "rank.h"

/* The first that is set counts: a step of a batch job before the job. */
static const char *const rank_names[] = {
	"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID",
};

static const char *const job_names[] = {
	"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
};

/* NULL, or the value when @entry is "NAME=value" of one of @names[0..@best). */
static const char *value_of(const char *entry, const char *const *names,
			    size_t *best)
{
	size_t i, n;

	for (i = 0; i < *best; i++) {
		n = strlen(names[i]);
		if (strncmp(entry, names[i], n) || entry[n] != '=')
			continue;
		*best = i;
		return entry + n + 1;
	}
	return NULL;
}

void rank_read(struct rank *r, int dir)
{
	size_t rank_best = ARRAY_SIZE(rank_names), size = 0;
	size_t job_best = ARRAY_SIZE(job_names);
	int fd = openat(dir, "environ", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char *entry = NULL;
	const char *value;

	*r = (struct rank){ .rank = "" };
	while (f && getdelim(&entry, &size, '\0', f) > 0) {
		value = value_of(entry, rank_names, &rank_best);
		if (value)
			snprintf(r->rank, sizeof(r->rank), "%s", value);
		value = value_of(entry, job_names, &job_best);
		if (value)
			snprintf(r->job, sizeof(r->job), "%s", value);
	}
	free(entry);
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
}
