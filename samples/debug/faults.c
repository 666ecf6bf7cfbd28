// SPDX-License-Identifier: BSD-2-Clause
/*
 * faults.c - one mistake each, with its correct twin.
 *
 * Where a job is right and where it is wrong differs in one expression, with
 * j->right in it. Results of frees are not looked at, as in most programs.
 */
#include <stdint.h>
#include <stdlib.h>

#include "job.h"

#define ROWS 4
#define BYTES 4096u
#define ODD_BYTES 1000u		/* its size class has 24 more */

/* ---- Rows --------------------------------------------------------------- */

static int get_rows(struct job *j, unsigned char **row, size_t n)
{
	int i;

	for (i = 0; i < ROWS; i++) {
		row[i] = slabdev_alloc(j->sd, n);
		if (!row[i])
			goto free_rows;
	}
	return 0;

free_rows:
	while (i--)
		(void)slabdev_free(j->sd, row[i]);
	return -1;
}

static void put_rows(struct job *j, unsigned char **row)
{
	int i;

	for (i = 0; i < ROWS; i++)
		(void)slabdev_free(j->sd, row[i]);
}

/* Row i is filled with i + 1. */
static int load(struct job *j, unsigned char **row, size_t n)
{
	int i;

	for (i = 0; i < ROWS; i++)
		if (j->dev->fill(row[i], (unsigned char)(i + 1), n))
			return -1;
	end_phase(j, "load");
	return 0;
}

static int reduce(struct job *j, unsigned char **row, size_t n)
{
	unsigned char copy[BYTES];
	unsigned long sum = 0;
	size_t k;
	int i;

	for (i = 0; i < ROWS; i++) {
		if (j->dev->fetch(copy, row[i], n))
			return -1;
		for (k = 0; k < n; k++)
			sum += copy[k];
	}
	j->wrong = sum != n * ROWS * (ROWS + 1) / 2;
	end_phase(j, "reduce");
	return 0;
}

/* ---- Writes where nothing is to be written ------------------------------ */

/* The second row once more, @n bytes from its byte @first on. */
static int smooth(struct job *j, unsigned char **row, long first, size_t n)
{
	int err = j->dev->fill(row[1] + first, 2, n);

	end_phase(j, "smooth");
	return err;
}

static int smooth_rows(struct job *j, size_t size, long first, size_t n)
{
	unsigned char *row[ROWS];
	int err;

	if (get_rows(j, row, size))
		return -1;
	err = load(j, row, size) || smooth(j, row, first, n) ||
	      reduce(j, row, size);
	put_rows(j, row);
	return err ? -1 : 0;
}

/* A loop with <= instead of <. */
static int past_the_end(struct job *j)
{
	return smooth_rows(j, BYTES, 0, j->right ? BYTES : BYTES + 1);
}

/* No other row is hit. It will be when a row has 1,024 bytes. */
static int into_the_tail(struct job *j)
{
	return smooth_rows(j, ODD_BYTES, 0, j->right ? ODD_BYTES :
			   ODD_BYTES + 4);
}

/* The neighbour to the left of the first element. */
static int before_the_start(struct job *j)
{
	return smooth_rows(j, BYTES, j->right ? 0 : -1, BYTES);
}

/* An index with a factor too many: it hits memory that is free. */
static int far_away(struct job *j)
{
	return smooth_rows(j, ODD_BYTES, j->right ? 8 : 5 * 1024 + 100, 8);
}

/* A kernel that comes too late. */
static int after_free(struct job *j)
{
	unsigned char *row[ROWS];
	void *late;
	int err;

	if (get_rows(j, row, BYTES))
		return -1;
	err = load(j, row, BYTES) || reduce(j, row, BYTES);
	late = j->right ? row[0] : row[1];
	(void)slabdev_free(j->sd, row[1]);
	if (!err)
		err = j->dev->fill(late, 9, 64);
	end_phase(j, "late");
	row[1] = NULL;
	put_rows(j, row);
	return err ? -1 : 0;
}

/* A copy of one byte too many. Nothing is changed by it. */
static int read_past_the_end(struct job *j)
{
	unsigned char *row[ROWS], copy[BYTES + 1];
	int err;

	if (get_rows(j, row, BYTES))
		return -1;
	err = load(j, row, BYTES) || reduce(j, row, BYTES) ||
	      j->dev->fetch(copy, row[1], j->right ? BYTES : BYTES + 1);
	put_rows(j, row);
	return err ? -1 : 0;
}

/* ---- Frees of what is not to be freed ----------------------------------- */

/* Two owners. */
static int free_twice(struct job *j)
{
	void *p = slabdev_alloc(j->sd, BYTES);

	if (!p)
		return -1;
	(void)slabdev_free(j->sd, p);
	if (!j->right)
		(void)slabdev_free(j->sd, p);
	return 0;
}

/*
 * Two owners, and the memory has a third one in between: what he has is freed,
 * and given to a fourth.
 */
static int free_twice_later(struct job *j)
{
	unsigned char *row[ROWS], *old;
	int err;

	old = slabdev_alloc(j->sd, BYTES);
	if (!old)
		return -1;
	(void)slabdev_free(j->sd, old);
	if (get_rows(j, row, BYTES))
		return -1;
	if (!j->right)
		(void)slabdev_free(j->sd, old);
	old = slabdev_alloc(j->sd, BYTES);
	err = !old || load(j, row, BYTES) || j->dev->fill(old, 9, BYTES) ||
	      reduce(j, row, BYTES);
	(void)slabdev_free(j->sd, old);
	put_rows(j, row);
	return err ? -1 : 0;
}

/* A pointer that was moved on while the array was walked. */
static int free_inside(struct job *j)
{
	unsigned char *p = slabdev_alloc(j->sd, BYTES);

	if (!p)
		return -1;
	(void)slabdev_free(j->sd, j->right ? p : p + 256);
	return j->right ? 0 : slabdev_free(j->sd, p);
}

/* A pointer that is of malloc(). */
static int free_foreign(struct job *j)
{
	void *p = malloc(BYTES);

	if (!p)
		return -1;
	if (!j->right)
		(void)slabdev_free(j->sd, p);
	free(p);
	return 0;
}

/* A pointer of another cache. */
static int free_elsewhere(struct job *j)
{
	struct slabdev_cache *atoms, *bonds;
	void *p;
	int err = -1;

	if (slabdev_cache_create(&atoms, j->sd, "atoms", 96, NULL))
		return -1;
	if (slabdev_cache_create(&bonds, j->sd, "bonds", 48, NULL))
		goto destroy_atoms;
	p = slabdev_cache_alloc(atoms);
	if (!p)
		goto destroy_bonds;
	(void)slabdev_cache_free(j->right ? atoms : bonds, p);
	err = j->right ? 0 : slabdev_cache_free(atoms, p);

destroy_bonds:
	err |= slabdev_cache_destroy(bonds);
destroy_atoms:
	err |= slabdev_cache_destroy(atoms);
	return err ? -1 : 0;
}

/* ---- What is never freed ------------------------------------------------ */

static int leak(struct job *j)
{
	unsigned char *row[ROWS];

	if (get_rows(j, row, BYTES))
		return -1;
	if (!j->right)
		row[2] = NULL;
	put_rows(j, row);
	return 0;
}

/* The way out after an error, which no run takes but with faults injected. */
static int leak_on_error(struct job *j)
{
	void *a = slabdev_alloc(j->sd, BYTES), *b;

	if (!a)
		return -1;
	b = slabdev_alloc(j->sd, BYTES);
	if (!b && !j->right)
		return -1;
	(void)slabdev_free(j->sd, b);
	(void)slabdev_free(j->sd, a);
	return b ? 0 : -1;
}

const struct fault faults[] = {
	{ "end", "writes a byte behind the end", "Z", past_the_end },
	{ "tail", "writes into the rounding", "Z", into_the_tail },
	{ "start", "writes a byte before the start", "Z", before_the_start },
	{ "far", "writes to free memory far away", "P", far_away },
	{ "after-free", "writes after the free", "P", after_free },
	{ "read", "reads a byte behind the end", "G", read_past_the_end },
	{ "twice", "frees twice", "-", free_twice },
	{ "twice-later", "frees what is another's by now", "Q",
	  free_twice_later },
	{ "inside", "frees a pointer into an object", "-", free_inside },
	{ "foreign", "frees a pointer of malloc()", "-", free_foreign },
	{ "elsewhere", "frees an object of another cache", "-",
	  free_elsewhere },
	{ "leak", "does not free", "U", leak },
	{ "unwind", "does not free after an error", "A", leak_on_error },
	{ 0 }
};
