// SPDX-License-Identifier: BSD-2-Clause
/*
 * symbols.c - the functions of a file, by address.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "symbols.h"

/* The largest programs have some ten megabytes of each. */
#define MOST_BYTES (256u << 20)
#define MOST_SECTIONS 65535u

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

struct symbol {
	uint64_t address, size;
	const char *name;
};

/* A descriptor of a regular file, or -1. */
static int open_file(pid_t pid, const char *path)
{
	char full[512];
	struct stat st;
	int found, fd = -1;

	if (*path != '/')
		return -1;
	snprintf(full, sizeof(full), "/proc/%d/root%s", (int)pid, path);
	found = open(full, O_PATH | O_CLOEXEC);
	if (found < 0)
		return -1;
	if (!fstat(found, &st) && S_ISREG(st.st_mode)) {
		snprintf(full, sizeof(full), "/proc/self/fd/%d", found);
		fd = open(full, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	}
	close(found);
	return fd;
}

/* @size bytes at @offset, and a zero behind them; NULL: they are not there. */
static void *read_part(int fd, uint64_t offset, uint64_t size)
{
	struct stat st;
	char *part;

	if (!size || size > MOST_BYTES || fstat(fd, &st) ||
	    offset > (uint64_t)st.st_size ||
	    size > (uint64_t)st.st_size - offset)
		return NULL;
	part = zalloc(size + 1);
	if (pread(fd, part, size, (off_t)offset) == (ssize_t)size)
		return part;
	free(part);
	return NULL;
}

static Elf64_Shdr *read_sections(int fd, size_t *nr)
{
	Elf64_Ehdr *head = read_part(fd, 0, sizeof(*head));
	Elf64_Shdr *sections = NULL;

	if (head && !memcmp(head->e_ident, ELFMAG, SELFMAG) &&
	    head->e_ident[EI_CLASS] == ELFCLASS64 &&
	    head->e_ident[EI_DATA] == NATIVE_DATA &&
	    head->e_shentsize == sizeof(*sections) &&
	    head->e_shnum < MOST_SECTIONS) {
		*nr = head->e_shnum;
		sections = read_part(fd, head->e_shoff,
				     *nr * sizeof(*sections));
	}
	free(head);
	return sections;
}

/* The whole table, or what is left of it in a stripped file. */
static const Elf64_Shdr *find_table(const Elf64_Shdr *sections, size_t nr)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	size_t t, i;

	for (t = 0; t < 2; t++)
		for (i = 0; i < nr; i++)
			if (sections[i].sh_type == types[t] &&
			    sections[i].sh_entsize == sizeof(Elf64_Sym) &&
			    sections[i].sh_link < nr)
				return &sections[i];
	return NULL;
}

static bool is_function(const Elf64_Sym *sym, uint64_t names_size)
{
	return ELF64_ST_TYPE(sym->st_info) == STT_FUNC &&
	       sym->st_shndx != SHN_UNDEF && sym->st_name < names_size;
}

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static void take_symbols(struct symbol_file *f, const Elf64_Sym *table,
			 size_t nr, uint64_t names_size)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!is_function(&table[i], names_size))
			continue;
		f->symbols = grow_array(f->symbols, f->nr, sizeof(*f->symbols));
		f->symbols[f->nr++] = (struct symbol){
			.address = table[i].st_value,
			.size = table[i].st_size,
			.name = f->names + table[i].st_name,
		};
	}
	if (f->nr)
		qsort(f->symbols, f->nr, sizeof(*f->symbols), compare);
}

static void read_symbols(struct symbol_file *f, int fd)
{
	size_t nr = 0;
	Elf64_Shdr *sections = read_sections(fd, &nr);
	const Elf64_Shdr *table = sections ? find_table(sections, nr) : NULL;
	Elf64_Sym *symbols;

	if (table) {
		const Elf64_Shdr *names = &sections[table->sh_link];

		symbols = read_part(fd, table->sh_offset, table->sh_size);
		f->names = read_part(fd, names->sh_offset, names->sh_size);
		if (symbols && f->names)
			take_symbols(f, symbols,
				     table->sh_size / sizeof(*symbols),
				     names->sh_size);
		free(symbols);
	}
	free(sections);
}

static const struct symbol_file *file_of(struct symbols *s, pid_t pid,
					 const char *path)
{
	size_t length = strlen(path), i;
	struct symbol_file *f;
	int fd;

	for (i = 0; i < s->nr; i++)
		if (s->files[i].pid == pid && !strcmp(s->files[i].path, path))
			return &s->files[i];
	s->files = grow_array(s->files, s->nr, sizeof(*s->files));
	f = &s->files[s->nr++];
	*f = (struct symbol_file){ .pid = pid, .path = zalloc(length + 1) };
	memcpy(f->path, path, length);
	fd = open_file(pid, path);
	if (fd >= 0) {
		read_symbols(f, fd);
		close(fd);
	}
	return f;
}

/* The last symbol that begins at or before @address; NULL: none does. */
static const struct symbol *last_before(const struct symbol_file *f,
					uint64_t address)
{
	size_t low = 0, high = f->nr, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (f->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &f->symbols[low - 1] : NULL;
}

const char *symbols_find(struct symbols *s, pid_t pid, const char *path,
			 uint64_t address, uint64_t *into)
{
	const struct symbol *sym = last_before(file_of(s, pid, path), address);

	if (!sym || (sym->size && address - sym->address >= sym->size))
		return NULL;
	*into = address - sym->address;
	return sym->name;
}

void symbols_fini(struct symbols *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++) {
		free(s->files[i].path);
		free(s->files[i].symbols);
		free(s->files[i].names);
	}
	free(s->files);
	*s = (struct symbols){ 0 };
}
