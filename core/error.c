// SPDX-License-Identifier: BSD-2-Clause
/*
 * error.c - the words behind an errno, one text a thread.
 *
 * The text lives in the thread's record. Where the record cannot be made the
 * text is lost, and every thread without a record is told so from then on:
 * which of them it was would have to be written down somewhere.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/thread.h"

/* Locking: relaxed atomic; only ever set. */
static bool text_lost;

int error_set(int err, const char *fmt, ...)
{
	int saved_errno = errno;
	struct thread *t = thread_get();
	char text[ERROR_TEXT_MAX];
	va_list args;

	/* For %m. The arguments may point into the text that is replaced. */
	errno = saved_errno;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (t)
		memcpy(t->error, text, sizeof(text));
	else
		WRITE_ONCE(text_lost, true);
	errno = saved_errno;
	return err;
}

void error_save(char *text)
{
	struct thread *t = thread_self;

	memcpy(text, t->error, strlen(t->error) + 1);
}

void error_restore(const char *text)
{
	struct thread *t = thread_self;

	if (t != &thread_none)
		memcpy(t->error, text, strlen(text) + 1);
}

const char *error_get(void)
{
	if (thread_self != &thread_none)
		return thread_self->error;
	if (READ_ONCE(text_lost))
		return "an error occurred; there was no memory for its text";
	return "";
}
