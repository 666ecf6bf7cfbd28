// SPDX-License-Identifier: BSD-2-Clause
/*
 * slabreplay.c - replays allocation traces in a host space.
 *
 * One way through: the options say what is wanted; each trace is looked at, so
 * that a name that is wrong is told before hours of work; the space is opened;
 * replay.c reads, checks and makes the calls, block by block; a view prints
 * what they took. A trace that makes no sense ends it without a result, since
 * half of a result looks like one.
 *
 *	trace.c, ids.c -> replay.c -> series.c, replay_view.c
 *
 * The memory is mapped but not written to, unless --touch says so: the kernel
 * gives pages at the first write, so a trace of a large device can be replayed
 * on a small machine. Where the kernel counts what is mapped as used
 * (vm.overcommit_memory=2), it must fit.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/exit.h"
#include "lib/replay.h"
#include "lib/replay_options.h"
#include "lib/replay_view.h"
#include "lib/trace.h"

/* The library's messages: the first one; a thousand failures say no more. */
struct messages {
	unsigned int nr;
};

static void keep_first(int level, const char *text, void *arg)
{
	struct messages *m = arg;

	(void)level;
	if (!m->nr++)
		fprintf(stderr, "%s\n", text);
}

static void count_others(const struct messages *m)
{
	if (m->nr > 1)
		fprintf(stderr, "slabreplay: messages not shown: %u "
			"(SLABDEV_LOG=warn shows all)\n", m->nr - 1);
}

static int check_traces(const struct replay_options *opt)
{
	size_t i;
	int err = 0;

	for (i = 0; i < opt->nr_paths; i++)
		if (trace_check(opt->paths[i], opt->loops))
			err = -1;
	return err;
}

static int show(const struct replay *r, const struct replay_options *opt)
{
	if (opt->json)
		replay_view_json(stdout, r, opt);
	else
		replay_view(stdout, r, opt);
	return r->first.failed || r->later.failed ? EXIT_FAILED : EXIT_DONE;
}

static int replay(const struct replay_options *opt)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;
	struct replay r;
	int code = EXIT_INCOMPLETE, err;

	attr.name = "slabreplay";
	err = slabdev_open(&sd, opt->device, &attr);
	if (err) {
		replay_options_blame(opt, slabdev_last_error());
		/* A parameter that is not accepted, most likely. */
		return err == -EINVAL ? EXIT_USAGE : EXIT_INCOMPLETE;
	}
	if (!replay_run(&r, sd, opt->paths, opt->nr_paths, opt->loops,
			opt->touch))
		code = show(&r, opt);
	replay_fini(&r);
	/* What a trace that made no sense had allocated is still live. */
	if (slabdev_close(sd, SLABDEV_CLOSE_FORCE)) {
		fprintf(stderr, "slabreplay: %s\n", slabdev_last_error());
		code = EXIT_INCOMPLETE;
	}
	return code;
}

int main(int argc, char **argv)
{
	struct messages messages = { 0 };
	struct replay_options opt;
	int code;

	if (replay_options_parse(&opt, argc, argv, &code))
		goto flush;
	if (!getenv("SLABDEV_LOG"))
		slabdev_set_log(keep_first, &messages);
	code = check_traces(&opt) ? EXIT_INCOMPLETE : replay(&opt);
	count_others(&messages);
flush:
	if (fflush(stdout) || ferror(stdout)) {
		fputs("slabreplay: standard output cannot be written\n",
		      stderr);
		code = EXIT_INCOMPLETE;
	}
	return code;
}
