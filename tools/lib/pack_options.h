/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack_options.h - what slabpack was asked for.
 */
#ifndef SLABPACK_PACK_OPTIONS_H
#define SLABPACK_PACK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct pack_options - what is wanted
 * @path: the file with the blocks
 * @svg: the file for the picture; NULL: none
 * @capacity: what the plan has to fit in; 0: nothing
 * @effort: steps; 0: the default
 * @json: print JSON
 */
struct pack_options {
	const char *path;
	const char *svg;
	uint64_t capacity;
	uint64_t effort;
	bool json;
};

/* 0: go on; 1: there is nothing more to do; *@code is the exit status. */
int pack_options_parse(struct pack_options *opt, int argc, char **argv,
		       int *code);

#endif /* SLABPACK_PACK_OPTIONS_H */
