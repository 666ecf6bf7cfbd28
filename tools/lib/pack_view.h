/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack_view.h - a plan, for people and for programs.
 */
#ifndef SLABPACK_PACK_VIEW_H
#define SLABPACK_PACK_VIEW_H

#include <stdio.h>

#include "pack_file.h"

/**
 * struct pack_result - what came of it
 * @total: bytes of the buffer
 * @bound: bytes that live at once
 * @capacity: what was asked for; 0: nothing
 * @steps: that were taken
 * @seconds: how long it took, reading not counted
 */
struct pack_result {
	uint64_t total;
	uint64_t bound;
	uint64_t capacity;
	uint64_t steps;
	double seconds;
};

/* Of the file, with offsets. */
void pack_view_csv(FILE *out, const struct pack_file *f);
void pack_view_json(FILE *out, const struct pack_file *f,
		    const struct pack_result *r);
void pack_view_svg(FILE *out, const struct pack_file *f,
		   const struct pack_result *r);
/* One line. */
void pack_view_summary(FILE *out, const struct pack_file *f,
		       const struct pack_result *r);

#endif /* SLABPACK_PACK_VIEW_H */
