/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tracer.h - a small tool of the kind that static probes are for.
 *
 * It finds the probes of this very program in the notes of its file, and runs
 * a function in a child of it that stops at each of them, as perf and bpftrace
 * have the kernel do: by a breakpoint in place of the nop.
 */
#ifndef TESTS_TRACER_H
#define TESTS_TRACER_H

#include "tests/kunit/kunit.h"

#define TRACER_SITES_MAX 64
#define TRACER_ARGS 3

/* One place of a probe; a probe has several. */
struct tracer_site {
	const char *provider, *name, *args;	/* as in the note */
	unsigned char *addr;			/* in this process */
};

struct tracer {
	char *file;			/* this program's, in memory */
	size_t bytes;
	struct tracer_site site[TRACER_SITES_MAX];
	unsigned int nr_sites;
};

struct tracer_hit {
	const struct tracer_site *site;
	u64 arg[TRACER_ARGS];
};

/* Of provider "slabdev". Skips the case where notes or stops are not
 * understood: other processors than x86-64, and sanitizers. */
void tracer_find(struct kunit *test, struct tracer *t);

/*
 * tracer_run - call @fn in a child, and note what it hits
 * @hit: room for @most; what is beyond is not noted
 *
 * Skips the case when a process may not be traced here. Returns how many.
 */
unsigned int tracer_run(struct kunit *test, const struct tracer *t,
			void (*fn)(void *arg), void *arg,
			struct tracer_hit *hit, unsigned int most);

#endif /* TESTS_TRACER_H */
