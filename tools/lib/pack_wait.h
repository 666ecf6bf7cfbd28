/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack_wait.h - one line on a terminal while a plan is searched for.
 *
 * The search is one call of the library, so another thread tells the time.
 * Nothing is shown when standard error is no terminal, nor in the first second.
 */
#ifndef SLABPACK_PACK_WAIT_H
#define SLABPACK_PACK_WAIT_H

#include <pthread.h>
#include <stdbool.h>

#include "pack_file.h"

struct pack_wait {
	const struct pack_file *file;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool shown;		/* there is a thread */
	bool over;		/* lock */
};

void pack_wait_begin(struct pack_wait *w, const struct pack_file *f);
/* The line goes. */
void pack_wait_end(struct pack_wait *w);

#endif /* SLABPACK_PACK_WAIT_H */
