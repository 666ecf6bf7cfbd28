// SPDX-License-Identifier: BSD-2-Clause
/*
 * rule.c - statements: how the model refuses, aborts, counts, and is broken.
 *
 * A refusal keeps its reason for the thread, and tells it after the lock is
 * given back, since the callback of a log may take any time. The number goes
 * with the words: "C055: the size is no multiple of the granularity".
 */
#include <stdarg.h>
#include <stdio.h>

#include "tests/model/internal.h"

#define TEXT_MAX 256
#define LOGS_MAX 8

struct log_callback {
	u64 handle;
	CUlogsCallback fn;
	void *data;
};

static int broken_statement;
static bool verbose, pedantic;
static u64 nr_violations;
static char last_violation[TEXT_MAX];
static struct log_callback logs[LOGS_MAX];

bool broken(int statement)
{
	return statement && statement == broken_statement;
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value && strcmp(value, "0");
}

void rule_read_environment(void)
{
	const char *text = getenv("SLABDEV_MODEL_BREAK");

	verbose = is_set("SLABDEV_MODEL_VERBOSE");
	pedantic = is_set("SLABDEV_MODEL_PEDANTIC");
	if (text && *text == 'C')
		broken_statement = atoi(text + 1);
}

/* At the first call of the process, whatever it is; cuInit does it again. */
void rule_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, rule_read_environment);
}

void rule_reset(void)
{
	nr_violations = 0;
	last_violation[0] = '\0';
}

CUresult refuse(int statement, CUresult code, const char *why)
{
	char *text = thread_self()->why;

	if (statement)
		snprintf(text, WHY_MAX, "%s (%d): C%03d: %s",
			 error_name(code), code, statement, why);
	else
		snprintf(text, WHY_MAX, "%s (%d): %s",
			 error_name(code), code, why);
	return code;
}

void rule_tell_log(void)
{
	char *text = thread_self()->why;
	size_t i;

	if (!text[0])
		return;
	if (verbose)
		fprintf(stderr, "driver model: %s\n", text);
	for (i = 0; i < LOGS_MAX; i++)
		if (logs[i].fn)
			logs[i].fn(logs[i].data, CU_LOG_LEVEL_ERROR, text,
				   strlen(text));
	text[0] = '\0';
}

void undefined(int statement, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (statement)
		fprintf(stderr, "driver model: undefined behaviour, C%03d: "
			"%s\n", statement, text);
	else
		fprintf(stderr, "driver model: undefined behaviour: %s\n",
			text);
	abort();
}

void violation(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(last_violation, sizeof(last_violation), fmt, args);
	va_end(args);
	nr_violations++;
	if (verbose || pedantic)
		fprintf(stderr, "driver model: violation: %s\n",
			last_violation);
	if (pedantic)
		abort();
}

u64 rule_violations(void)
{
	return nr_violations;
}

const char *rule_last_violation(void)
{
	return last_violation;
}

/* ---- The log of the driver ------------------------------------------ */

CUresult do_cuLogsRegisterCallback(CUlogsCallback fn, void *data,
				   CUlogsCallbackHandle *handle)
{
	size_t i;

	REFUSE_IF(!fn, 0, INVALID_VALUE, "no callback");
	for (i = 0; i < LOGS_MAX && logs[i].fn; i++)
		;
	REFUSE_IF(i == LOGS_MAX, 0, INVALID_VALUE, "too many callbacks");
	logs[i].fn = fn;
	logs[i].data = data;
	logs[i].handle = handle_new(HANDLE_LOG, &logs[i]);
	if (handle)
		*handle = (CUlogsCallbackHandle)logs[i].handle;
	return CUDA_SUCCESS;
}

CUresult do_cuLogsUnregisterCallback(CUlogsCallbackHandle handle)
{
	struct log_callback *log = handle_find(HANDLE_LOG, (u64)handle);

	REFUSE_IF(!log, 0, INVALID_VALUE, "no such callback");
	handle_end(log->handle);
	log->fn = NULL;
	return CUDA_SUCCESS;
}
