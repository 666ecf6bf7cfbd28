// SPDX-License-Identifier: BSD-2-Clause
/*
 * problem.c - what could not be read, kept until it is certain.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "problem.h"

#define MOST_KEPT 20

static void keep(struct problems *problems, char *text)
{
	if (problems->nr == MOST_KEPT) {
		problems->nr_unkept++;
		free(text);
		return;
	}
	problems->text = grow_array(problems->text, problems->nr,
				    sizeof(char *));
	problems->text[problems->nr++] = text;
}

void problem_add(struct problems *problems, pid_t pid, const char *fmt, ...)
{
	char message[256], *text;
	size_t size;
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	size = strlen(message) + 32;
	text = zalloc(size);
	snprintf(text, size, "process %d: %s", (int)pid, message);
	keep(problems, text);
}

void problems_move(struct problems *to, struct problems *from)
{
	size_t i;

	for (i = 0; i < from->nr; i++)
		keep(to, from->text[i]);
	to->nr_unkept += from->nr_unkept;
	free(from->text);
	*from = (struct problems){ 0 };
}

void problems_print(const struct problems *problems, FILE *out)
{
	size_t i;

	for (i = 0; i < problems->nr; i++)
		fprintf(out, "slabinfo: %s\n", problems->text[i]);
	if (problems->nr_unkept)
		fprintf(out, "slabinfo: and %zu problems more\n",
			problems->nr_unkept);
}

void problems_fini(struct problems *problems)
{
	size_t i;

	for (i = 0; i < problems->nr; i++)
		free(problems->text[i]);
	free(problems->text);
	*problems = (struct problems){ 0 };
}
