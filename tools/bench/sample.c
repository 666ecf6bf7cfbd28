// SPDX-License-Identifier: BSD-2-Clause
/*
 * sample.c - takes the time.
 *
 * The workers beyond the first are threads that live as long as the run, so
 * that what an allocator keeps for a thread stays warm. They wait at a barrier
 * for the next job; then all of them wait, spinning, for the last to arrive:
 * waking from a barrier takes longer than some samples.
 */
#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include "ring.h"
#include "sample.h"
#include "subject.h"
#include "workload.h"

#define READING_ADDS 100000u
#define COLD_RUNS 3u
#define MOST_GROWTH 8u

/* What the workers do next; written before the barrier, read after it. */
struct job {
	bool prepare;
	uint64_t n;
};

static struct job job;
static uint32_t arrived;	/* atomic */
static struct {
	uint64_t begin;
	uint64_t end;
	int err;
} outcome[MAX_WORKERS];

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Four chains, so that another thread on the core takes its share of them. */
double sample_reading(void)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, begin, ns;
	uint32_t i;

	begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (i = 0; i < READING_ADDS; i += 4) {
		a += i;
		b += i;
		c += i;
		d += i;
		__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	}
	ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	return ns ? (double)READING_ADDS / (double)ns : 0;
}

static int work(struct worker *w)
{
	const struct workload *load = w->run->cell.workload;

	if (job.prepare)
		return load->prepare ? load->prepare(w) : 0;
	return load->body[w->calls.shape](w, job.n);
}

/* All workers begin together. */
static void team_work(struct worker *w)
{
	unsigned int nr = w->run->cell.workload->nr_workers;
	uint32_t spins = 0;

	__atomic_add_fetch(&arrived, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&arrived, __ATOMIC_RELAXED) % nr)
		ring_relax(&spins);
	outcome[w->index].begin = clock_ns(CLOCK_MONOTONIC);
	outcome[w->index].err = work(w);
	outcome[w->index].end = clock_ns(CLOCK_MONOTONIC);
}

/* ---- The team --------------------------------------------------------- */

static pthread_barrier_t gate;

static void *member(void *arg)
{
	struct worker *w = arg;

	for (;;) {
		pthread_barrier_wait(&gate);
		team_work(w);
		pthread_barrier_wait(&gate);
	}
	return NULL;
}

static void give_calls(struct run *run, struct worker *w)
{
	const struct subject *s = run->subject;

	w->calls = run->calls;
	if (s->for_worker && !run->cell.workload->one_way)
		s->for_worker(&w->calls, w->index);
}

static int team_init(struct run *run)
{
	unsigned int i, nr = run->cell.workload->nr_workers;
	pthread_t thread;

	pthread_barrier_init(&gate, NULL, nr);
	pthread_barrier_init(&run->sync, NULL, nr);
	for (i = 0; i < nr; i++)
		give_calls(run, &run->worker[i]);
	for (i = 1; i < nr; i++)
		if (pthread_create(&thread, NULL, member, &run->worker[i]))
			return -EAGAIN;
	return 0;
}

/* The job in all workers: nanoseconds from the first to the last. */
static int team_job(struct run *run, uint64_t *ns)
{
	unsigned int i, nr = run->cell.workload->nr_workers;
	uint64_t begin, end;
	int err = 0;

	pthread_barrier_wait(&gate);
	team_work(&run->worker[0]);
	pthread_barrier_wait(&gate);
	begin = outcome[0].begin;
	end = outcome[0].end;
	for (i = 0; i < nr; i++) {
		begin = outcome[i].begin < begin ? outcome[i].begin : begin;
		end = outcome[i].end > end ? outcome[i].end : end;
		err = outcome[i].err ? outcome[i].err : err;
	}
	*ns = end - begin;
	return err;
}

/* ---- Samples ---------------------------------------------------------- */

static int run_job(struct run *run, uint64_t *ns)
{
	uint64_t begin;
	int err;

	if (run->cell.workload->nr_workers > 1)
		return team_job(run, ns);
	begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	err = work(&run->worker[0]);
	*ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	return err;
}

static int prepare(struct run *run)
{
	uint64_t ns;
	int err = team_init(run);

	if (err)
		return err;
	job.prepare = true;
	err = run_job(run, &ns);
	job.prepare = false;
	return err;
}

/*
 * How many operations take @target_ns. The first calls of an allocator are
 * like no others, so that what they took says nothing; and no step is so large
 * that one odd measurement decides.
 */
static int find_length(struct run *run, uint64_t target_ns)
{
	uint64_t step = workload_step(&run->cell, run->divisor), ns = 0, factor;
	unsigned int i;
	int err = 0;

	job.n = step;
	for (i = 0; i < COLD_RUNS && !err; i++)
		err = run_job(run, &ns);
	while (!err && ns < target_ns / 4 * 3) {
		factor = ns ? 1 + target_ns / ns : MOST_GROWTH;
		job.n *= factor < MOST_GROWTH ? factor : MOST_GROWTH;
		err = run_job(run, &ns);
	}
	return err;
}

int sample_take(struct run *run, struct sample *samples, unsigned int nr,
		uint64_t target_ns)
{
	double before, after;
	unsigned int i;
	uint64_t ns;
	int err;

	err = prepare(run);
	if (!err)
		err = find_length(run, target_ns);
	for (i = 0; i < nr && !err; i++) {
		before = sample_reading();
		err = run_job(run, &ns);
		after = sample_reading();
		samples[i].value = (double)ns / (double)job.n;
		samples[i].reading = before < after ? before : after;
	}
	return err;
}

int sample_run(struct run *run, uint64_t n)
{
	uint64_t step = workload_step(&run->cell, run->divisor), ns;
	int err = prepare(run);

	job.n = (n + step - 1) / step * step;
	return err ? err : run_job(run, &ns);
}
