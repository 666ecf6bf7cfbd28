/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h - what an allocator was asked for, recorded and made replayable
 */
#ifndef DMRG_TRACE_H
#define DMRG_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct trace;

struct op {
	uint32_t slot;
	size_t size;		/* 0: free what is in the slot */
};

/* A balanced sequence: every slot is empty before and after it. */
struct script {
	struct op *ops;		/* to be freed with free() */
	size_t nr;
	size_t nr_called;	/* of them; the rest frees what was left */
	size_t pairs;
	uint32_t slots;
};

struct trace *trace_create(void);
void trace_destroy(struct trace *t);
void trace_alloc(struct trace *t, void *p, size_t size);
void trace_free(struct trace *t, void *p);
int trace_compile(const struct trace *t, struct script *s);
int trace_write(const struct trace *t, FILE *out);

#endif
