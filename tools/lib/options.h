/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - what was asked for.
 */
#ifndef SLABINFO_OPTIONS_H
#define SLABINFO_OPTIONS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum view {
	VIEW_LIST,
	VIEW_REPORT,
	VIEW_TOTALS,
	VIEW_XTOTALS,
	VIEW_JSON,
	VIEW_PROMETHEUS,
};

enum sort {
	SORT_NAME,
	SORT_SIZE,
	SORT_LOSS,
	SORT_PARTIAL,
	SORT_ACTIVITY,
};

enum show {
	SHOW_USED,		/* caches that have memory or objects */
	SHOW_ALL,
	SHOW_EMPTY,
};

enum traces {
	TRACES_NONE,
	TRACES_ALLOC,		/* who allocated what is live */
	TRACES_FREE,		/* who freed what is free */
};

/**
 * struct options - the command line, checked
 * @view: what to print
 * @view_set: it was asked for, not the default
 * @sort: order of the caches
 * @inverted: the other way round
 * @show: which caches
 * @first: at most so many caches a list; 0: all
 * @bytes: sizes in bytes, without K, M, G
 * @activity: columns of what was done instead of what there is
 * @traces: stacks of tracked objects instead of caches
 * @validate: whether what is published is possible, instead of caches
 * @devices: what there is to open a space on, instead of processes
 * @colour: the terminal has it and the user wants it
 * @pids: processes that were named; none: all
 * @nr_pids: how many
 * @space: only spaces of this name; NULL: all
 * @pattern: only caches that match
 * @has_pattern: there is one
 * @interval: seconds between two rounds; 0: one round
 */
struct options {
	enum view view;
	bool view_set;
	enum sort sort;
	bool inverted;
	enum show show;
	size_t first;
	bool bytes;
	bool activity;
	enum traces traces;
	bool validate;
	bool devices;
	bool colour;
	pid_t *pids;
	size_t nr_pids;
	const char *space;
	regex_t pattern;
	bool has_pattern;
	double interval;
};

/*
 * Fills @opt. 0: go on; else the caller ends with *@code: help was printed, or
 * a complaint.
 */
int options_parse(struct options *opt, int argc, char **argv, int *code);
void options_fini(struct options *opt);

#endif /* SLABINFO_OPTIONS_H */
