// SPDX-License-Identifier: BSD-2-Clause
/*
 * trace.c - reads an allocation trace, one event after the other.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "trace.h"

#define BLANKS " \t\r"

int trace_error(const struct trace *t, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "slabreplay: %s:%" PRIu64 ": ", t->path, t->line);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	return -EINVAL;
}

static int file_error(const char *path, int err)
{
	fprintf(stderr, "slabreplay: %s: %s\n", path, strerror(err));
	return -err;
}

int trace_check(const char *path, uint64_t times)
{
	struct stat st;

	if (stat(path, &st))
		return file_error(path, errno);
	if (S_ISDIR(st.st_mode))
		return file_error(path, EISDIR);
	if (S_ISREG(st.st_mode) || times == 1)
		return 0;
	fprintf(stderr, "slabreplay: %s: not a regular file, so that it can be "
		"read once only: use --loops=1\n", path);
	return -ESPIPE;
}

bool trace_is_regular(const struct trace *t)
{
	struct stat st;

	return !fstat(fileno(t->file), &st) && S_ISREG(st.st_mode);
}

int trace_open(struct trace *t, const char *path)
{
	*t = (struct trace){ .path = path, .file = fopen(path, "re") };
	return t->file ? 0 : file_error(path, errno);
}

void trace_close(struct trace *t)
{
	fclose(t->file);
}

/*
 * The next line up to a comment, without its end. A line may be as long as it
 * likes after a '#'. 1, 0 at the end of the file, or a negative errno.
 */
static int read_line(struct trace *t, char *line)
{
	bool comment = false;
	size_t n = 0;
	int c;

	t->line++;
	while ((c = getc_unlocked(t->file)) != EOF && c != '\n') {
		if (c == '\0')
			return trace_error(t, "a zero byte: this is not a "
					   "text file");
		comment |= c == '#';
		if (comment)
			continue;
		if (n == TRACE_LINE - 1)
			return trace_error(t, "more than %d characters: this "
					   "is not a trace", TRACE_LINE - 1);
		line[n++] = (char)c;
	}
	line[n] = '\0';
	if (c == EOF && ferror(t->file))
		return file_error(t->path, errno);
	return c != EOF || n || comment;
}

/* A word that came from a file, fit to be printed. */
struct shown {
	char text[40];
};

static struct shown shown(const char *word)
{
	struct shown to;
	size_t i;

	for (i = 0; i < sizeof(to.text) - 4 && word[i]; i++)
		to.text[i] = word[i] >= ' ' && word[i] <= '~' ? word[i] : '?';
	snprintf(to.text + i, sizeof(to.text) - i, "%s", word[i] ? "..." : "");
	return to;
}

static int parse_number(const struct trace *t, const char *what,
			const char *word, uint64_t *value)
{
	const char *at = word;
	uint64_t n = 0;

	if (!word)
		return trace_error(t, "%s is missing", what);
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(n, (uint64_t)10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*at - '0'), &n))
			return trace_error(t, "%s '%s' does not fit 64 bits",
					   what, shown(word).text);
	if (*at || at == word)
		return trace_error(t, "%s '%s' is not a decimal number", what,
				   shown(word).text);
	*value = n;
	return 0;
}

static int parse_event(const struct trace *t, const char *verb, char **rest,
		       struct event *e)
{
	const char *word;
	int err;

	if (strcmp(verb, "a") && strcmp(verb, "f"))
		return trace_error(t, "'%s' is none of a (allocate), "
				   "f (free), #", shown(verb).text);
	*e = (struct event){ .is_free = *verb == 'f' };
	err = parse_number(t, "the id", strtok_r(NULL, BLANKS, rest), &e->id);
	if (!err && !e->is_free)
		err = parse_number(t, "the size", strtok_r(NULL, BLANKS, rest),
				   &e->bytes);
	if (err)
		return err;
	if (!e->is_free && !e->bytes)
		return trace_error(t, "id %" PRIu64 " has size 0", e->id);
	word = strtok_r(NULL, BLANKS, rest);
	if (word)
		return trace_error(t, "'%s' is one word too many",
				   shown(word).text);
	return 1;
}

int trace_next(struct trace *t, struct event *e)
{
	char line[TRACE_LINE], *rest;
	const char *verb;
	int got;

	while ((got = read_line(t, line)) > 0) {
		verb = strtok_r(line, BLANKS, &rest);
		if (verb)
			return parse_event(t, verb, &rest, e);
	}
	return got;
}
