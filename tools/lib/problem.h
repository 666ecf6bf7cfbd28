/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * problem.h - what could not be read, kept until it is certain.
 *
 * Reading a process that is just opening or closing a space can fail for a
 * moment. Problems are therefore collected, thrown away when another attempt
 * is made, and printed at the end.
 */
#ifndef SLABINFO_PROBLEM_H
#define SLABINFO_PROBLEM_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/**
 * struct problems - a list of messages
 * @text: the messages, without a final newline
 * @nr: how many were kept
 * @nr_unkept: how many more there were: nobody reads thousands
 */
struct problems {
	char **text;
	size_t nr;
	size_t nr_unkept;
};

__attribute__((format(printf, 3, 4)))
void problem_add(struct problems *problems, pid_t pid, const char *fmt, ...);

static inline size_t problems_count(const struct problems *problems)
{
	return problems->nr + problems->nr_unkept;
}

/* Takes the messages of @from, which is empty afterwards. */
void problems_move(struct problems *to, struct problems *from);
void problems_print(const struct problems *problems, FILE *out);
void problems_fini(struct problems *problems);

#endif /* SLABINFO_PROBLEM_H */
