/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_options.h - what slabreplay was asked for.
 *
 * How the space is opened is said by the parameters of the library, which are
 * documented already: --policy, --limit and --sheaf set SLABDEV_POLICY,
 * SLABDEV_LIMIT and SLABDEV_SHEAF, and the library judges the values. What it
 * says of a parameter is then said of the option.
 */
#ifndef SLABREPLAY_OPTIONS_H
#define SLABREPLAY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct replay_options - what is wanted
 * @paths: the traces
 * @nr_paths: how many
 * @device: where: what slabdev_open() takes
 * @loops: how often all of them are replayed
 * @json: print JSON
 * @touch: write to each page of each object
 * @passed_on: which parameters options have set
 */
struct replay_options {
	char **paths;
	size_t nr_paths;
	const char *device;
	uint64_t loops;
	bool json;
	bool touch;
	unsigned int passed_on;
};

/* 0: go on; 1: there is nothing more to do; *@code is the exit status. */
int replay_options_parse(struct replay_options *opt, int argc, char **argv,
			 int *code);
/* Say on standard error why the space could not be opened: @text, the
 * library's, in words of the options. */
void replay_options_blame(const struct replay_options *opt, const char *text);

#endif /* SLABREPLAY_OPTIONS_H */
