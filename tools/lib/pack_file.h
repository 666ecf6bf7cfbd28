/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack_file.h - blocks with life-times, from a CSV file.
 *
 * The first line names the columns: id, lower, upper and size must be there,
 * align may, in any order; others are kept out. Each further line is a block.
 * This is the format of MiniMalloc. Numbers are decimal; an id is any text
 * without commas, and no two are the same.
 */
#ifndef SLABPACK_PACK_FILE_H
#define SLABPACK_PACK_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <slabdev/slabdev.h>

/**
 * struct pack_file - what was read
 * @path: as it was named
 * @blocks: the blocks
 * @ids: their names
 * @lines: where they are in the file
 * @nr: how many
 * @has_align: there is a column of alignments
 */
struct pack_file {
	const char *path;
	struct slabdev_pack_block *blocks;
	char **ids;
	size_t *lines;
	size_t nr;
	bool has_align;
};

/* "-" is standard input. 0, or a negative errno, and it was said. */
int pack_file_read(struct pack_file *f, const char *path);
void pack_file_fini(struct pack_file *f);

#endif /* SLABPACK_PACK_FILE_H */
