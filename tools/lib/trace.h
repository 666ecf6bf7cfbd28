/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h - reads an allocation trace, one event after the other.
 *
 * A trace is text, an event a line, in program order:
 *
 *	a ID BYTES	allocate
 *	f ID		free
 *	# anything	a comment; also after an event
 *
 * ID and BYTES are decimal numbers of 64 bits. Blanks and tabs separate; empty
 * lines do not count. Whether the events make sense together (an id that is
 * freed twice, say) is not judged here, but by replay.c.
 *
 * A trace may be longer than memory: no more than a line of it is kept.
 */
#ifndef SLABREPLAY_TRACE_H
#define SLABREPLAY_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The longest event: a letter, two numbers of 20 digits, and blanks. */
#define TRACE_LINE 256

/**
 * struct event - one line
 * @id: names the object
 * @bytes: of an allocation
 * @is_free: it frees; @bytes is 0
 */
struct event {
	uint64_t id;
	uint64_t bytes;
	bool is_free;
};

/**
 * struct trace - a file that is being read
 * @path: as it was named
 * @file: the file
 * @line: number of the line read last, from 1
 */
struct trace {
	const char *path;
	FILE *file;
	uint64_t line;
};

/* Can it be read, @times times? 0, or a negative errno, and it was said. */
int trace_check(const char *path, uint64_t times);

/* Could it be read again? */
bool trace_is_regular(const struct trace *t);

/* 0, or a negative errno, and it was said. */
int trace_open(struct trace *t, const char *path);
void trace_close(struct trace *t);

/* 1 and an event; 0 at the end; a negative errno, and it was said. */
int trace_next(struct trace *t, struct event *e);

/* "slabreplay: PATH:LINE: what": returns -EINVAL. */
__attribute__((format(printf, 2, 3)))
int trace_error(const struct trace *t, const char *fmt, ...);

#endif /* SLABREPLAY_TRACE_H */
