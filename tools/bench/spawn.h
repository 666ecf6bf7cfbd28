/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spawn.h - this program once more, as a child that measures one thing.
 */
#ifndef SLABBENCH_SPAWN_H
#define SLABBENCH_SPAWN_H

#include <stdio.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	FILE *out;		/* its standard output */
};

/*
 * Runs this program with the words of @args and then @more, both of which end
 * with NULL; behind @wrapper (which is found in PATH), unless that is NULL.
 * 0 or a negative errno.
 */
int spawn(struct child *c, const char *const *wrapper, char *const *args,
	  const char *const *more);
/* Its end: the status of waitpid(). */
int spawn_wait(struct child *c);

#endif /* SLABBENCH_SPAWN_H */
