/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rounds.h - measures everything, in rounds.
 */
#ifndef SLABBENCH_ROUNDS_H
#define SLABBENCH_ROUNDS_H

#include "bench.h"

void rounds_run(struct bench *b);

/*
 * One child, into its result: by @wrapper, see spawn.h, and with one @option
 * more, unless they are NULL. Also used by callgrind.c.
 */
void rounds_child(struct bench *b, unsigned int cell, unsigned int subject,
		  unsigned int round, const char *const *wrapper,
		  const char *option);

#endif /* SLABBENCH_ROUNDS_H */
