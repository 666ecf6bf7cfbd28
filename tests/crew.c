// SPDX-License-Identifier: BSD-2-Clause
/* crew.c - see crew.h. */
#include "tests/crew.h"

#include <pthread.h>

struct hand {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	crew_job_fn job;	/* NULL: idle */
	void *arg;
	bool leave;
};

struct crew {
	struct kunit *test;
	unsigned int n;
	struct hand *hands;
};

static void *live(void *arg)
{
	struct hand *h = arg;

	pthread_mutex_lock(&h->mutex);
	for (;;) {
		while (!h->job && !h->leave)
			pthread_cond_wait(&h->changed, &h->mutex);
		if (!h->job)
			break;
		pthread_mutex_unlock(&h->mutex);
		h->job(h->arg);
		pthread_mutex_lock(&h->mutex);
		h->job = NULL;
		pthread_cond_broadcast(&h->changed);
	}
	pthread_mutex_unlock(&h->mutex);
	return NULL;
}

static void dismiss(void *arg)
{
	struct crew *crew = arg;
	struct hand *h;

	for (h = crew->hands; h < crew->hands + crew->n; h++) {
		pthread_mutex_lock(&h->mutex);
		h->leave = true;
		pthread_cond_broadcast(&h->changed);
		pthread_mutex_unlock(&h->mutex);
	}
	for (h = crew->hands; h < crew->hands + crew->n; h++)
		pthread_join(h->thread, NULL);
	crew->n = 0;
}

struct crew *crew_new(struct kunit *test, unsigned int n)
{
	struct crew *crew = kunit_kzalloc(test, sizeof(*crew));

	crew->test = test;
	crew->hands = kunit_kzalloc(test, n * sizeof(*crew->hands));
	kunit_add_action(test, dismiss, crew);
	for (; crew->n < n; crew->n++) {
		struct hand *h = &crew->hands[crew->n];

		pthread_mutex_init(&h->mutex, NULL);
		pthread_cond_init(&h->changed, NULL);
		KUNIT_ASSERT_EQ(test, pthread_create(&h->thread, NULL, live, h),
				0);
	}
	return crew;
}

void crew_start(struct crew *crew, unsigned int i, crew_job_fn job, void *arg)
{
	struct hand *h = &crew->hands[i];

	KUNIT_ASSERT_LT(crew->test, i, crew->n);
	pthread_mutex_lock(&h->mutex);
	h->arg = arg;
	h->job = job;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->mutex);
}

void crew_wait(struct crew *crew, unsigned int i)
{
	struct hand *h = &crew->hands[i];

	pthread_mutex_lock(&h->mutex);
	while (h->job)
		pthread_cond_wait(&h->changed, &h->mutex);
	pthread_mutex_unlock(&h->mutex);
}

void crew_do(struct crew *crew, unsigned int i, crew_job_fn job, void *arg)
{
	crew_start(crew, i, job, arg);
	crew_wait(crew, i);
}

void crew_all(struct crew *crew, crew_job_fn job, void *args, size_t size)
{
	unsigned int i;

	for (i = 0; i < crew->n; i++)
		crew_start(crew, i, job, (char *)args + i * size);
	for (i = 0; i < crew->n; i++)
		crew_wait(crew, i);
}

void crew_dismiss(struct crew *crew)
{
	kunit_release_action(crew->test, dismiss, crew);
}
