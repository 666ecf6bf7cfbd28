// SPDX-License-Identifier: BSD-2-Clause
/* pack_wait.c - see pack_wait.h. */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "pack_wait.h"

static void *tell_the_time(void *arg)
{
	struct pack_wait *w = arg;
	struct timespec next;
	unsigned int s = 0;

	clock_gettime(CLOCK_REALTIME, &next);
	pthread_mutex_lock(&w->lock);
	while (!w->over) {
		next.tv_sec++;
		while (!w->over && pthread_cond_timedwait(&w->ended, &w->lock,
							  &next) != ETIMEDOUT)
			;
		if (!w->over)
			fprintf(stderr, "\rslabpack: %s: %zu blocks, %u s of "
				"search\033[K", w->file->path, w->file->nr,
				++s);
	}
	pthread_mutex_unlock(&w->lock);
	if (s)
		fputs("\r\033[K", stderr);
	return NULL;
}

void pack_wait_begin(struct pack_wait *w, const struct pack_file *f)
{
	*w = (struct pack_wait){
		.file = f,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.ended = PTHREAD_COND_INITIALIZER,
	};
	w->shown = isatty(STDERR_FILENO) &&
		   !pthread_create(&w->thread, NULL, tell_the_time, w);
}

void pack_wait_end(struct pack_wait *w)
{
	if (!w->shown)
		return;
	pthread_mutex_lock(&w->lock);
	w->over = true;
	pthread_cond_signal(&w->ended);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
}
