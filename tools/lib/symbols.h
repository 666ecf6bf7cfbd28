/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbols.h - the functions of a file, by address.
 *
 * The table of symbols of an ELF file is read once. A process can name any
 * file, so that nothing of it is believed: what makes no sense, or is no
 * regular file, has no symbols. The names are those of the file that is there
 * now, in the process's own view of the file system.
 */
#ifndef SLABINFO_SYMBOLS_H
#define SLABINFO_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct symbol;

/**
 * struct symbol_file - a file that was looked at
 * @pid: the process in whose view it is
 * @path: its path there
 * @symbols: functions, by address
 * @nr: how many
 * @names: what the symbols point into
 */
struct symbol_file {
	pid_t pid;
	char *path;
	struct symbol *symbols;
	size_t nr;
	char *names;
};

/**
 * struct symbols - all of them
 */
struct symbols {
	struct symbol_file *files;
	size_t nr;
};

/*
 * The function that has @address, as the file says it, and how far into it the
 * address is. NULL: not known.
 */
const char *symbols_find(struct symbols *s, pid_t pid, const char *path,
			 uint64_t address, uint64_t *into);
void symbols_fini(struct symbols *s);

#endif /* SLABINFO_SYMBOLS_H */
