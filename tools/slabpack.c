// SPDX-License-Identifier: BSD-2-Clause
/*
 * slabpack.c - plans for blocks with different life-times.
 *
 * One way through: the file is read and checked whole, the library makes the
 * plan and checks it, and the views show it. The plan goes to standard output,
 * what it took to standard error.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <slabdev/slabdev.h>

#include "lib/exit.h"
#include "lib/pack_file.h"
#include "lib/pack_options.h"
#include "lib/pack_view.h"
#include "lib/pack_wait.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static int say_last_error(const struct pack_file *f)
{
	fprintf(stderr, "slabpack: %s: %s\n", f->path, slabdev_last_error());
	return EXIT_INCOMPLETE;
}

/* EXIT_DONE, EXIT_FAILED when the capacity is too small, or the end. */
static int make_plan(const struct pack_options *opt, struct pack_file *f,
		     struct pack_result *r)
{
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;
	int err, code = EXIT_DONE;
	double start = now();
	struct pack_wait w;

	*r = (struct pack_result){ .capacity = opt->capacity };
	attr.capacity = opt->capacity;
	attr.effort = opt->effort;
	attr.steps = &r->steps;
	pack_wait_begin(&w, f);
	err = slabdev_pack(f->blocks, f->nr, &attr, &r->total);
	pack_wait_end(&w);
	r->seconds = now() - start;
	if (err) {
		code = say_last_error(f);
		if (err != -ENOSPC)
			return code;
		code = EXIT_FAILED;
	}
	if (slabdev_pack_bound(f->blocks, f->nr, &r->bound) ||
	    slabdev_pack_check(f->blocks, f->nr, NULL))
		return say_last_error(f);
	return code;
}

static int draw(const struct pack_options *opt, const struct pack_file *f,
		const struct pack_result *r)
{
	FILE *out = fopen(opt->svg, "we");
	int bad;

	if (out) {
		pack_view_svg(out, f, r);
		bad = ferror(out);
		if (!fclose(out) && !bad)
			return 0;
	}
	fprintf(stderr, "slabpack: %s: %s\n", opt->svg, strerror(errno));
	return -EIO;
}

static int run(const struct pack_options *opt)
{
	struct pack_result r;
	struct pack_file f;
	int code = EXIT_INCOMPLETE;

	if (pack_file_read(&f, opt->path))
		goto fini;
	code = make_plan(opt, &f, &r);
	if (code == EXIT_INCOMPLETE)
		goto fini;
	if (opt->json)
		pack_view_json(stdout, &f, &r);
	else
		pack_view_csv(stdout, &f);
	pack_view_summary(stderr, &f, &r);
	if (opt->svg && draw(opt, &f, &r))
		code = EXIT_INCOMPLETE;
fini:
	pack_file_fini(&f);
	return code;
}

int main(int argc, char **argv)
{
	struct pack_options opt;
	int code;

	if (!pack_options_parse(&opt, argc, argv, &code))
		code = run(&opt);
	if (fflush(stdout) || ferror(stdout)) {
		fputs("slabpack: standard output cannot be written\n", stderr);
		code = EXIT_INCOMPLETE;
	}
	return code;
}
