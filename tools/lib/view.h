/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * view.h - the ways to print a snapshot.
 *
 * A view prints what @opt chooses of @snap to @out and has no other effect.
 */
#ifndef SLABINFO_VIEW_H
#define SLABINFO_VIEW_H

#include <stdio.h>

#include "choice.h"
#include "model.h"
#include "options.h"

void view_list(FILE *out, const struct snapshot *snap,
	       const struct options *opt);
void view_report(FILE *out, const struct snapshot *snap,
		 const struct options *opt);
void view_totals(FILE *out, const struct snapshot *snap,
		 const struct options *opt);
void view_xtotals(FILE *out, const struct snapshot *snap,
		  const struct options *opt);
void view_json(FILE *out, const struct snapshot *snap,
	       const struct options *opt);
void view_prometheus(FILE *out, const struct snapshot *snap,
		     const struct options *opt);

/* By stack, of tracked objects: text, or JSON. */
void view_traces(FILE *out, const struct snapshot *snap,
		 const struct options *opt);

/* What does not hold of the last snapshot, and did not of earlier ones: text,
 * or JSON. */
struct breaches;
void view_check(FILE *out, const struct snapshot *snap,
		const struct breaches *b, const struct options *opt);

/* Of no snapshot: what there is to open a space on. 0, or -errno. */
int view_devices(FILE *out, const struct options *opt);

/*
 * The table of caches that the list and the extended totals have; with
 * @where, each row ends with the process and space of the cache.
 */
void table_print(FILE *out, const struct choice *choice,
		 const struct options *opt, bool where);

/* "(cuda:0: VMM, fd handles)"; "(host)" where the spec says it already. */
void backing_print(FILE *out, const struct slabdev_seg_space *rec);

/* A bar of 60 columns with its legend: where the bytes are. */
void account_print(FILE *out, const struct account *bytes,
		   const struct options *opt);
/* Adds @from to @to; the sum saturates. */
void account_add(struct account *to, const struct account *from);

#endif /* SLABINFO_VIEW_H */
