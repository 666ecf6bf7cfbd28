// SPDX-License-Identifier: BSD-2-Clause
/*
 * on_model_test.c - all suites of spaces, once more, on the driver model.
 *
 * A suite that is marked any_space does not care what its spaces are made of.
 * Here the test runner is run as a child for each machine that the model can
 * be, and for each kind of memory and backing: every one of those suites must
 * pass there as it does on host memory, but for the cases that say why they
 * are about the host. Whatever the library does to the driver meanwhile that a
 * driver would let pass, but must not be done, fails too: the model aborts at
 * the first violation.
 *
 * "make check" does all of it on the usual machine, and leaves out what is
 * slow on the others; "make check-model" leaves out nothing.
 */
#include <stdio.h>

#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"

struct machine {
	const char *profile;
	const char *spec;
	const char *backing;	/* NULL: what the library chooses */
	const char *age;	/* of the driver; NULL: the newest */
};

static const struct machine usual[] = {
	{ "h200", "cuda:0", NULL, NULL },
};

static const struct machine others[] = {
	{ "h200", "cuda:0", "pool", NULL },
	{ "h200", "cuda:0", "malloc", NULL },
	{ "h200", "cuda-host:0", NULL, NULL },
	{ "h200", "cuda-managed:0", NULL, NULL },
	{ "h200", "cuda:0", NULL, "12.0" },
	{ "h200", "cuda:0", NULL, "11.0" },
	{ "two", "cuda:1", NULL, NULL },
	{ "twonopeer", "cuda:1", NULL, NULL },
	{ "novmm", "cuda:0", NULL, NULL },
	{ "plain", "cuda:0", NULL, NULL },
	{ "smallva", "cuda:0", NULL, NULL },
	{ "wsl", "cuda:0", NULL, NULL },
	{ "mig", "cuda:0", NULL, NULL },
};

static void describe_machine(const struct machine *m, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s on %s%s%s%s%s", m->spec,
		 m->profile, m->backing ? " from " : "",
		 m->backing ? m->backing : "", m->age ? " with driver " : "",
		 m->age ? m->age : "");
}
KUNIT_ARRAY_PARAM(usual, usual, describe_machine);
KUNIT_ARRAY_PARAM(other, others, describe_machine);

static const char *variable(struct kunit *test, const char *name,
			    const char *value)
{
	size_t size = strlen(name) + strlen(value) + 2;
	char *text = kunit_kzalloc(test, size);

	snprintf(text, size, "%s=%s", name, value);
	return text;
}

static const char *driver_path(struct kunit *test, const char *age)
{
	char name[64];

	if (!age)
		return kunit_built_path(test, "tests/model/libcuda.so.1");
	snprintf(name, sizeof(name), "tests/model/cuda-%s/libcuda.so.1", age);
	return kunit_built_path(test, name);
}

/* "N passed, N failed, N skipped", the last line. */
static const char *summary(const char *out)
{
	const char *line = out, *next;

	while ((next = strchr(line, '\n')) && next[1])
		line = next + 1;
	return line;
}

static void run_suites(struct kunit *test, const char *option)
{
	const struct machine *m = test->param_value;
	const char *const argv[] = {
		"env",
		variable(test, "SLABDEV_LIBCUDA", driver_path(test, m->age)),
		variable(test, "SLABDEV_MODEL_PROFILE", m->profile),
		"SLABDEV_MODEL_PEDANTIC=1",
		variable(test, "SLABDEV_TEST_SPEC", m->spec),
		/* Frees that come back at once, as on host memory. */
		"SLABDEV_ORDERING=stream",
		variable(test, "SLABDEV_BACKING",
			 m->backing ? m->backing : "auto"),
		kunit_self(test), option, NULL,
	};
	struct kunit_process proc;

	kunit_run_program(test, &proc, argv);
	kunit_info(test, "%s", summary(proc.out));
	if (proc.exit_code) {
		kunit_show_process(test, &proc);
		KUNIT_FAIL(test, "exit status %d", proc.exit_code);
	}
}

static void usual_machine(struct kunit *test)
{
	run_suites(test, NULL);
}

static void other_machines(struct kunit *test)
{
	run_suites(test, "--quick");
}

static void other_machines_for_long(struct kunit *test)
{
	run_suites(test, NULL);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(usual_machine, usual_gen_params, .slow = true,
			 .timeout_s = 1800),
	KUNIT_CASE_PARAM(other_machines, other_gen_params, .timeout_s = 900),
	KUNIT_CASE_PARAM(other_machines_for_long, other_gen_params,
			 .is_long = true, .timeout_s = 1800),
	{ 0 }
};

static const struct kunit_suite on_model_suite = {
	.name = "on_model",
	.cases = cases,
};
kunit_test_suite(on_model_suite);
