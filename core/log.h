/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.h - the one way out for words: messages, reports, and error texts.
 *
 * A *message* is one line about the library itself. A *report* is the account
 * of something that went wrong with the caller's memory: it has a kind, a
 * headline, and lines that say where, which object, and what to do. Both go
 * to the sink; tests put their own in its place. An *error text* is what
 * slabdev_last_error() of the same thread returns.
 *
 * Locking: none may be held that the sink could need, so messages and reports
 * are sent without locks of the library held. An error text goes no further
 * than the thread and may be set under any. Nothing here calls malloc.
 */
#ifndef CORE_LOG_H
#define CORE_LOG_H

/* Same values as enum slabdev_log_level. */
enum log_level { LOG_NONE, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

enum report_kind {
	REPORT_INVALID_POINTER,	/* foreign, interior or misaligned address */
	REPORT_DOUBLE_FREE,
	REPORT_WRONG_CACHE,
	REPORT_LIVE_OBJECTS,	/* close or destroy with objects out */
	REPORT_OUT_OF_MEMORY,
	REPORT_LOST,		/* an undo failed; the memory is lost */
	REPORT_CORRUPT,		/* validate found metadata that disagrees */
	REPORT_DEAD,		/* the driver or the device is gone */
	REPORT_CAPTURE,		/* a capture that was not declared */
	REPORT_STEADY,		/* a driver call where none was allowed */
	REPORT_HAZARD,		/* a use that no stream order protects */
	REPORT_SIZE,		/* freed as what it is not */
	REPORT_RED_ZONE,	/* bytes beside an object were written */
	REPORT_POISON,		/* a free object was written */
	REPORT_GUARD,		/* an access to guarded memory */
	REPORT_LOCK,		/* lock order or recursion */
	REPORT_NR_KINDS
};

/* The kind of a plain message. */
#define LOG_PLAIN (-1)

const char *report_kind_name(enum report_kind kind);

/*
 * @kind is an enum report_kind or LOG_PLAIN; @text has no final newline and
 * is the sink's only until it returns.
 */
typedef void (*log_sink_fn)(int level, int kind, const char *text, void *arg);

/* NULL restores the default: the user's slabdev_set_log(), else the file. */
void log_set_sink(log_sink_fn fn, void *arg);
/* What slabdev_set_log() gave: below log_set_sink() in precedence. */
typedef void (*log_user_fn)(int level, const char *text, void *arg);
void log_set_user(log_user_fn fn, void *arg);

/*
 * From the parameter SLABDEV_LOG: messages above @level are dropped, and the
 * default sink appends to @path, or writes to standard error when NULL.
 * Return 0, or -errno when @path cannot be opened.
 */
int log_configure(enum log_level level, const char *path);
bool log_enabled(enum log_level level);

/* Around fork(): done is for the parent and the child. */
void log_fork_prepare(void);
void log_fork_done(void);

void log_printf(enum log_level level, const char *fmt, ...) __printf(2, 3);
#define pr_warn(...) log_printf(LOG_WARN, __VA_ARGS__)
#define pr_info(...) log_printf(LOG_INFO, __VA_ARGS__)

/*
 * A report in the making. It lives on the caller's stack; what does not fit
 * is cut at a line end, and the last line says how many lines are missing.
 */
#define REPORT_TEXT_MAX 8192
struct report {
	enum report_kind kind;
	u32 len;
	u32 lines_cut;
	u64 time;		/* os_monotonic_ns(), for all its ages */
	/* Parts of the text: where they begin, and how long they are. */
	u32 space_at, space_len;
	u32 headline_at, headline_len;
	u32 body_at;		/* the first line behind the frame */
	char text[REPORT_TEXT_MAX];
};

/*
 * report_start - open a report with its headline
 *
 * Prints the frame that the kernel's reports have:
 *
 *   ======================================================================
 *   BUG slabdev <space>: <headline>
 *   ----------------------------------------------------------------------
 *
 * report_line() adds one line each, report_end() sends it all: to the log, and
 * to where else report_policy.h says.
 */
void report_start(struct report *r, enum report_kind kind, const char *space,
		  const char *fmt, ...) __printf(4, 5);
void report_line(struct report *r, const char *fmt, ...) __printf(2, 3);
/* A line with a distance: "1 byte behind the end", "2 bytes behind the end".
 * Bytes beside an object count from one, those of it from zero. */
void report_distance(struct report *r, u64 bytes, const char *where);
void report_end(struct report *r);

/*
 * error_set - set the error text of this thread
 * @err: a negative errno
 *
 * Return @err, so that a failing path ends in `return error_set(...)`.
 */
int error_set(int err, const char *fmt, ...) __printf(2, 3) __cold;
const char *error_get(void);
/* Around a step that may fail without the call failing: the text before it;
 * room for ERROR_TEXT_MAX bytes (core/thread.h). */
void error_save(char *text);
void error_restore(const char *text);

#endif /* CORE_LOG_H */
