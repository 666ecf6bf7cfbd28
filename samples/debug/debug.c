// SPDX-License-Identifier: BSD-2-Clause
/*
 * debug.c - jobs with a planted fault each, to see how it is found
 *
 *	debug FAULT			the job with that fault
 *	debug --right FAULT		its twin, which is correct
 *	debug --validate FAULT		with a look at all memory between phases
 *	debug --device SPEC FAULT	on the host, or a GPU ("cuda:0")
 *	debug --help			the faults, and the letters that find
 *					them
 *
 * Most run to their end as if nothing was. With the letters of --help in
 * SLABDEV_DEBUG the library reports what they do.
 */
#include <stdio.h>
#include <string.h>

#include "job.h"

void end_phase(struct job *j, const char *name)
{
	if (j->validate)
		printf("after %s: %s\n", name, slabdev_validate(j->sd) ?
		       "memory is damaged" : "all is well");
	fflush(stdout);
}

/* Close, whatever lives on. */
static int close_space(struct slabdev *sd)
{
	if (!slabdev_close(sd, 0))
		return 0;
	return slabdev_close(sd, SLABDEV_CLOSE_FORCE);
}

static int run(struct job *j, const struct fault *fault, const char *spec)
{
	int err;

	if (j->dev->open(spec) || slabdev_open(&j->sd, spec, NULL)) {
		fprintf(stderr, "debug: %s\n", device_error());
		return 1;
	}
	/* Here a fault in guarded memory can be told of; a GPU's cannot. */
	if (j->dev == &host_device)
		(void)slabdev_guard_handler(1);
	err = fault->run(j);
	if (err)
		fprintf(stderr, "debug: %s\n", device_error());
	if (close_space(j->sd))
		err = -1;
	if (!err)
		printf("%s: the sum is %s\n", fault->name,
		       j->wrong ? "WRONG" : "right");
	return err || j->wrong;
}

static const struct fault *find_fault(const char *name)
{
	const struct fault *f;

	for (f = faults; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

static void help(FILE *out)
{
	const struct fault *f;

	fputs("usage: debug [--right] [--validate] [--device SPEC] FAULT\n",
	      out);
	for (f = faults; f->name; f++)
		fprintf(out, "  %-12s %-33s %s\n", f->name, f->what,
			f->letters);
}

static const struct fault *read_options(struct job *j, const char **spec,
					char **argv)
{
	const struct fault *fault = NULL;

	while (*++argv) {
		if (!strcmp(*argv, "--right"))
			j->right = true;
		else if (!strcmp(*argv, "--validate"))
			j->validate = true;
		else if (!strcmp(*argv, "--device") && argv[1])
			*spec = *++argv;
		else if (!fault)
			fault = find_fault(*argv);
		else
			return NULL;
	}
	return fault;
}

int main(int argc, char **argv)
{
	struct job j = { .dev = &host_device };
	const struct fault *fault;
	const char *spec = "host";

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		help(stdout);
		return 0;
	}
	fault = read_options(&j, &spec, argv);
	if (!fault) {
		help(stderr);
		return 2;
	}
	if (!strncmp(spec, "cuda", 4))
		j.dev = &cuda_device;
	return run(&j, fault, spec);
}
