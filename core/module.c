// SPDX-License-Identifier: BSD-2-Clause
/* module.c - see module.h. */
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "core/module.h"

struct search {
	u64 pc;
	struct module *found;
	bool ok;
};

static bool holds(const struct dl_phdr_info *info, u64 pc)
{
	u32 i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD &&
		    pc - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return true;
	}
	return false;
}

/* The loader has no name for the program itself. */
static bool copy_path(char *to, const char *name)
{
	size_t len = name ? strlen(name) : 0;
	ssize_t n;

	if (len >= MODULE_PATH_MAX)
		return false;
	if (len) {
		memcpy(to, name, len + 1);
		return true;
	}
	n = readlink("/proc/self/exe", to, MODULE_PATH_MAX);
	if (n <= 0 || n >= MODULE_PATH_MAX)
		return false;
	to[n] = '\0';
	return true;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;

	(void)size;
	if (!holds(info, s->pc))
		return 0;
	s->found->base = info->dlpi_addr;
	s->ok = copy_path(s->found->path, info->dlpi_name);
	return 1;
}

bool module_of(const void *pc, struct module *m)
{
	struct search s = { .pc = (u64)(uintptr_t)pc, .found = m };

	*m = (struct module){ 0 };
	dl_iterate_phdr(look, &s);
	return s.ok;
}
