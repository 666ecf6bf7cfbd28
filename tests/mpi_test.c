// SPDX-License-Identifier: BSD-2-Clause
/*
 * mpi_test.c - samples/mpi, run by MPI: ranks that share memory of the host,
 * and of a device of the model
 *
 * Needs Open MPI to build the sample and to run it; without, every case is
 * skipped and says so. No network is needed: ranks talk through shared memory.
 * What Open MPI itself leaves behind would be in a folder of the case's own.
 */
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/folder.h"
#include "tests/kunit/spawn.h"
#include "tests/program.h"
#include "tests/sanitizers.h"

/* One-sided writes by messages: the other ways need a network card. */
#define MPIRUN "timeout", "-k", "5", "120", "mpirun", "--allow-run-as-root", \
	"--oversubscribe", "--bind-to", "none", "--mca", "plm", "isolated", \
	"--mca", "pml", "ob1", "--mca", "btl", "self,vader", \
	"--mca", "btl_vader_single_copy_mechanism", "none", \
	"--mca", "osc", "pt2pt"

struct job {
	const char *ranks, *spec;
};

static const struct job jobs[] = {
	{ "1", "host" },
	{ "2", "host" },
	{ "4", "host" },
	{ "2", "cuda:0" },
};

static void describe_job(const struct job *j, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s ranks, %s", j->ranks,
		 j->spec);
}
KUNIT_ARRAY_PARAM(job, jobs, describe_job);

static const char *format(struct kunit *test, const char *name,
			  const char *value)
{
	size_t len = strlen(name) + strlen(value) + 1;
	char *text = kunit_kzalloc(test, len);

	snprintf(text, len, "%s%s", name, value);
	return text;
}

static void run_job(struct kunit *test, struct kunit_process *p,
		    const char *tmp, const char *ranks, const char *program,
		    const char *spec)
{
	const char *const argv[] = {
		"env", "-u", "SLABDEV_MODEL_PROFILE",
		format(test, "TMPDIR=", tmp),
		format(test, "SLABDEV_LIBCUDA=", kunit_built_path(test,
		       "tests/model/libcuda.so.1")),
		MPIRUN, "-n", ranks, program, spec, NULL,
	};

	kunit_run_program(test, p, argv);
}

/* Skips the case where MPI is not there, or does not work at all. */
static void need_mpi(struct kunit *test, const char *tmp)
{
	const char *const look[] = { "sh", "-c", "command -v mpirun", NULL };
	struct kunit_process p;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer finds fault with Open MPI");
	kunit_run_program(test, &p, look);
	if (p.exit_code)
		kunit_skip(test, "there is no mpirun (Debian: openmpi-bin)");
	run_job(test, &p, tmp, "2", "true", "");
	if (p.exit_code)
		kunit_skip(test, "mpirun does not work here: %.200s", p.err);
}

static u32 count_files(struct kunit *test, const char *path)
{
	const struct dirent *e;
	DIR *dir = opendir(path);
	u32 n = 0;

	KUNIT_ASSERT_NOT_NULL(test, dir);
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

static void ranks_share_memory(struct kunit *test)
{
	const struct job *j = test->param_value;
	const char *program = program_path(test, "samples/mpi/mpi");
	const char *tmp = new_folder(test);
	struct kunit_process p;
	char says[64];

	if (strcmp(j->spec, "host") && !IS_ENABLED(CONFIG_DRIVER_MODEL))
		kunit_skip(test, "the model of the driver was not built");
	need_mpi(test, tmp);
	run_job(test, &p, tmp, j->ranks, program, j->spec);
	KUNIT_EXPECT_EQ_MSG(test, p.exit_code, 0, "%s%s", p.out, p.err);
	snprintf(says, sizeof(says), "%s ranks, all is right\n", j->ranks);
	KUNIT_EXPECT_STREQ(test, p.out, says);
	KUNIT_EXPECT_NULL_MSG(test, strstr(p.err, "slabdev"), "%s", p.err);
	KUNIT_EXPECT_EQ(test, count_files(test, tmp), 0);
}

/* One rank that cannot go on ends all of them, with its words. */
static void ranks_end_together(struct kunit *test)
{
	const char *program = program_path(test, "samples/mpi/mpi");
	const char *tmp = new_folder(test);
	struct kunit_process p;

	need_mpi(test, tmp);
	run_job(test, &p, tmp, "2", program, "floppy");
	KUNIT_EXPECT_EQ_MSG(test, p.exit_code, 1, "%s%s", p.out, p.err);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "mpi: rank "), "%s",
				  p.err);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(ranks_share_memory, job_gen_params),
	KUNIT_CASE(ranks_end_together),
	{ 0 }
};

static const struct kunit_suite mpi_suite = {
	.name = "mpi",
	.cases = cases,
};
kunit_test_suite(mpi_suite);
