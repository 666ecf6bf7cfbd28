// SPDX-License-Identifier: BSD-2-Clause
/* control.c - what a test may ask of the model, see model.h. */
#include <unistd.h>

#include "tests/model/internal.h"

void model_reset(void)
{
	pthread_mutex_lock(&model.lock);
	call_reset();
	fault_reset();
	cost_reset();
	rule_reset();
	queue_yield(false);
	pthread_mutex_unlock(&model.lock);
}

/* The number of all calls is that of none. */
static int symbol_id(const char *symbol)
{
	return strcmp(symbol, "*") ? call_find(symbol) : NR_CALLS;
}

int model_fail(const char *symbol, uint64_t nth, int code, int sticky)
{
	int id = symbol_id(symbol);
	int ret;

	if (id < 0)
		return -1;
	pthread_mutex_lock(&model.lock);
	ret = fault_order(id, nth, (CUresult)code, sticky);
	pthread_mutex_unlock(&model.lock);
	return ret;
}

uint64_t model_calls(const char *symbol)
{
	int id = symbol_id(symbol);
	u64 n;

	pthread_mutex_lock(&model.lock);
	n = call_count(id);
	pthread_mutex_unlock(&model.lock);
	return n;
}

uint64_t model_leaks(struct model_leaks *leaks)
{
	u64 n;

	pthread_mutex_lock(&model.lock);
	n = leak_count(leaks);
	pthread_mutex_unlock(&model.lock);
	return n;
}

uint64_t model_pending(void)
{
	u64 n;

	pthread_mutex_lock(&model.lock);
	n = queue_pending();
	pthread_mutex_unlock(&model.lock);
	return n;
}

static int set_held(CUstream handle, bool held)
{
	struct stream *stream;
	CUresult ret;

	pthread_mutex_lock(&model.lock);
	stream = stream_find(handle, &ret);
	if (stream)
		stream->held = held;
	queue_wake();
	pthread_mutex_unlock(&model.lock);
	return stream ? 0 : -1;
}

int model_stream_hold(CUstream stream)
{
	return set_held(stream, true);
}

int model_stream_release(CUstream stream)
{
	return set_held(stream, false);
}

void model_holds_yield(int yield)
{
	pthread_mutex_lock(&model.lock);
	queue_yield(yield);
	pthread_mutex_unlock(&model.lock);
}

void model_run(void)
{
	pthread_mutex_lock(&model.lock);
	queue_run();
	pthread_mutex_unlock(&model.lock);
}

uint64_t model_clock_ns(void)
{
	u64 ns;

	pthread_mutex_lock(&model.lock);
	ns = cost_clock_ns();
	pthread_mutex_unlock(&model.lock);
	return ns;
}

uint64_t model_cost_ns(const char *symbol)
{
	int id = call_find(symbol);
	u64 ns;

	pthread_mutex_lock(&model.lock);
	ns = id < 0 ? 0 : cost_of_ns(id);
	pthread_mutex_unlock(&model.lock);
	return ns;
}

void model_teardown(int down)
{
	pthread_mutex_lock(&model.lock);
	model.down = down;
	pthread_mutex_unlock(&model.lock);
}

const char *model_profile(void)
{
	return model.profile ? model.profile->name : "";
}

/* In the child of a fork the lock may be somebody's who is not here. */
uint64_t model_violations(void)
{
	u64 n;

	if (model.pid && model.pid != getpid())
		return rule_violations();
	pthread_mutex_lock(&model.lock);
	n = rule_violations();
	pthread_mutex_unlock(&model.lock);
	return n;
}

const char *model_last_violation(void)
{
	return rule_last_violation();
}
