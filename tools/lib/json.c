// SPDX-License-Identifier: BSD-2-Clause
/*
 * json.c - writes JSON.
 */
#include <inttypes.h>

#include "json.h"

static void quote(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < ' ' || c > '~')
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void begin(struct json *j, const char *key)
{
	if (j->follows)
		fputc(',', j->out);
	j->follows = true;
	if (!key)
		return;
	quote(j->out, key);
	fputc(':', j->out);
}

void json_open(struct json *j, const char *key, char bracket)
{
	begin(j, key);
	fputc(bracket, j->out);
	j->follows = false;
}

void json_close(struct json *j, char bracket)
{
	fputc(bracket, j->out);
	j->follows = true;
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void json_s64(struct json *j, const char *key, int64_t value)
{
	begin(j, key);
	fprintf(j->out, "%" PRId64, value);
}

void json_decimal(struct json *j, const char *key, double value)
{
	begin(j, key);
	fprintf(j->out, "%.3f", value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_string(struct json *j, const char *key, const char *value)
{
	begin(j, key);
	quote(j->out, value);
}
