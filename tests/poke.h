/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * poke.h - overwriting the library's structures, and taking it back.
 *
 * Each assignment remembers what was there, so a test that plants a fault says
 * only what the fault is. poke_back() undoes them, the youngest first.
 *
 * A suite of planted faults has a struct ground with its pokes, which they are
 * planted in, and an array of struct plant.
 */
#ifndef TESTS_POKE_H
#define TESTS_POKE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kunit/kunit.h"

#define POKES_MAX 16u

struct pokes {
	u32 n;
	struct {
		void *at;
		size_t size;
		u64 was;
	} poke[POKES_MAX];
};

/* At most POKES_MAX, of 8 bytes at most: more is a mistake of the test. */
static inline void poke_remember(struct pokes *p, void *at, size_t size)
{
	if (p->n == POKES_MAX || size > sizeof(p->poke[0].was))
		abort();
	p->poke[p->n].at = at;
	p->poke[p->n].size = size;
	memcpy(&p->poke[p->n++].was, at, size);
}

#define poke(pokes, lvalue, value)					\
do {									\
	typeof(lvalue) poked_ = (typeof(lvalue))(value);		\
									\
	poke_remember(pokes, (void *)&(lvalue), sizeof(lvalue));	\
	(lvalue) = poked_;						\
} while (0)

static inline void poke_back(struct pokes *p)
{
	while (p->n) {
		p->n--;
		memcpy(p->poke[p->n].at, &p->poke[p->n].was,
		       p->poke[p->n].size);
	}
}

/* ---- Cases, one for each fault ---------------------------------------- */

struct ground;

struct plant {
	const char *name;
	void (*plant)(struct ground *g);
	const char *sentence;	/* what is to be said of it */
};

/* Defines @fn, which plants a fault by what follows. */
#define PLANT(fn, ...) static void fn(struct ground *g) { __VA_ARGS__; }
#define POKE(lvalue, value) poke(&g->pokes, lvalue, value)
/* Its entry in the array. */
#define P(fn, sentence) { #fn, fn, sentence }

static inline void plant_describe(const struct plant *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", p->name);
}

#endif /* TESTS_POKE_H */
