// SPDX-License-Identifier: BSD-2-Clause
/* symbol.c - what is known of a place, put together; see symbol.h. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "core/debuginfo.h"
#include "core/log.h"
#include "core/symbol.h"

/* Before glibc 2.34 it is in a library of its own, which may not be there. */
extern __typeof__(dladdr1) dladdr1 __attribute__((weak));

/* What the parts have beyond the names: numbers and marks. */
#define MARKS_MAX 21
#define MODULE_NAME_MAX 48
static_assert(PLACE_NAME_MAX + PLACE_FILE_MAX + MODULE_NAME_MAX +
	      3 * MARKS_MAX <= SYMBOL_TEXT_MAX, "a text has room for all");

static u64 distance(u64 addr, const void *start)
{
	return addr - (u64)(uintptr_t)start;
}

static void name_function(u64 addr, const Dl_info *info, char *text,
			  size_t len)
{
	struct code_place p = { .function = "" };
	int n;

	debuginfo_find(addr, &p);
	if (!*p.function && info->dli_sname) {
		(void)snprintf(p.function, sizeof(p.function), "%s",
			       info->dli_sname);
		p.offset = distance(addr, info->dli_saddr);
	}
	n = *p.function ? snprintf(text, len, "%s+0x%llx ", p.function,
				   (unsigned long long)p.offset) : 0;
	if (*p.file)
		(void)snprintf(text + n, len - (size_t)n, "(%s:%d) ", p.file,
			       p.line);
}

/* As the file has the address, which is what addr2line wants: the file of a
 * program may be linked for the very place where it is. */
static void name_module(u64 addr, const Dl_info *info,
			const struct link_map *map, char *text, size_t len)
{
	const char *slash = strrchr(info->dli_fname, '/');

	(void)snprintf(text, len, "[%.*s+0x%llx]", MODULE_NAME_MAX,
		       slash ? slash + 1 : info->dli_fname,
		       (unsigned long long)(addr - map->l_addr));
}

void symbol_describe(const void *pc, char *buf, size_t len)
{
	char function[PLACE_NAME_MAX + PLACE_FILE_MAX + 2 * MARKS_MAX] = "";
	char module[MODULE_NAME_MAX + MARKS_MAX];
	/* In the call, not behind it. */
	u64 addr = (u64)(uintptr_t)pc - 1;
	struct link_map *map = NULL;
	Dl_info info = { 0 };

	if (!pc) {
		(void)snprintf(buf, len, "unknown");
		return;
	}
	if (!dladdr1 ||
	    !dladdr1((const void *)(uintptr_t)addr, &info, (void **)&map,
		     RTLD_DL_LINKMAP) || !info.dli_fname || !map) {
		(void)snprintf(buf, len, "0x%llx", (unsigned long long)addr);
		return;
	}
	name_function(addr, &info, function, sizeof(function));
	name_module(addr, &info, map, module, sizeof(module));
	(void)snprintf(buf, len, "%s%s", function, module);
}

void report_stack(struct report *r, const void *const *pc, u32 n, u32 most)
{
	char text[SYMBOL_TEXT_MAX];
	u32 i;

	for (i = 0; i < n && i < most; i++) {
		symbol_describe(pc[i], text, sizeof(text));
		report_line(r, "  %s", text);
	}
	if (n > most)
		report_line(r, "  and %u more", n - most);
}
