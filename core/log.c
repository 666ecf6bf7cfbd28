// SPDX-License-Identifier: BSD-2-Clause
/*
 * log.c - from a finished text to whoever reads it.
 *
 * There are three places that a text can go to, and the first that is set gets
 * it: the sink of a test, the function of the user, and the default sink. The
 * default sink is standard error or the file of SLABDEV_LOG=level:file, one
 * writev(2) a text, so that the lines of threads and processes do not mix.
 *
 * Locking: LOCK_LOG covers the two function pointers with their arguments and
 * the file. They are copied under it and used without it: a sink may block,
 * and may call the library. A sink that was just replaced may therefore still
 * be running in another thread.
 * Failure: what cannot be written is dropped; there is nobody left to tell.
 * Limits: a message is cut at MESSAGE_MAX bytes; the default sink shows so many
 * reports of a kind at a time (report_policy.h), and says how many it left out.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/cancel.h"
#include "core/lock.h"
#include "core/log.h"
#include "core/log_private.h"
#include "core/os.h"
#include "core/report_policy.h"

#define MESSAGE_MAX 1024

static struct lock log_lock = LOCK_INIT(LOCK_LOG, "log");

/* Locking: log_lock. */
static struct {
	log_sink_fn sink;
	void *sink_arg;
	log_user_fn user;
	void *user_arg;
	bool to_file;
	struct os_file file;
} out = { .file = OS_FILE_INIT };

/* Locking: relaxed atomic. */
static int log_level = LOG_WARN;

void log_set_sink(log_sink_fn fn, void *arg)
{
	lock_acquire(&log_lock);
	out.sink = fn;
	out.sink_arg = arg;
	lock_release(&log_lock);
}

void log_set_user(log_user_fn fn, void *arg)
{
	lock_acquire(&log_lock);
	out.user = fn;
	out.user_arg = arg;
	lock_release(&log_lock);
}

int log_configure(enum log_level level, const char *path)
{
	struct os_file file;
	int err = 0;

	lock_acquire(&log_lock);
	if (path) {
		file = out.file;
		err = os_open_append(&file, path);
		if (!err)
			out.file = file;
	}
	if (!err) {
		out.to_file = path;
		WRITE_ONCE(log_level, (int)level);
	}
	lock_release(&log_lock);
	return err;
}

bool log_enabled(enum log_level level)
{
	return (int)level <= READ_ONCE(log_level);
}

void log_fork_prepare(void)
{
	lock_acquire_for_fork(&log_lock);
	report_fork_prepare();
}

void log_fork_done(void)
{
	report_fork_done();
	lock_release_for_fork(&log_lock);
}

static void write_text(const char *prefix, const char *text)
{
	struct os_file file = OS_FILE_INIT;
	bool to_file;

	lock_acquire(&log_lock);
	to_file = out.to_file;
	file = out.file;
	lock_release(&log_lock);
	/* The program may have closed the descriptor and reused its number. */
	if (!to_file || !os_file_is_open(&file))
		file.fd = STDERR_FILENO;
	os_write_line(file.fd, prefix, text);
}

static void show_report(enum report_kind kind, const char *text)
{
	char notice[128];
	u32 left_out;

	if (report_may_show(kind, &left_out)) {
		snprintf(notice, sizeof(notice), "%u reports of the kind %s "
			 "were left out", left_out, report_kind_name(kind));
		if (left_out)
			write_text("slabdev: ", notice);
		write_text("", text);
	} else if (left_out == 1) {
		snprintf(notice, sizeof(notice), "more reports of the kind %s "
			 "are left out for a while: see SLABDEV_REPORT",
			 report_kind_name(kind));
		write_text("slabdev: ", notice);
	}
}

static void default_sink(int kind, const char *text)
{
	if (kind == LOG_PLAIN)
		write_text("slabdev: ", text);
	else
		show_report((enum report_kind)kind, text);
}

void log_emit(enum log_level level, int kind, const char *text)
{
	int saved_errno = errno;
	NO_CANCELLATION;
	log_sink_fn sink;
	log_user_fn user;
	void *sink_arg, *user_arg;

	assert_no_lock_held();
	lock_acquire(&log_lock);
	sink = out.sink;
	sink_arg = out.sink_arg;
	user = out.user;
	user_arg = out.user_arg;
	lock_release(&log_lock);

	if (sink)
		sink((int)level, kind, text, sink_arg);
	else if (user)
		user((int)level, text, user_arg);
	else
		default_sink(kind, text);
	errno = saved_errno;
}

void log_printf(enum log_level level, const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list args;

	if (!log_enabled(level))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	log_emit(level, LOG_PLAIN, text);
}
