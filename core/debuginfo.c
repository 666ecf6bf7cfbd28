// SPDX-License-Identifier: BSD-2-Clause
/*
 * debuginfo.c - asking libdw; see debuginfo.h.
 *
 * A *session* is what libdw knows of the files that were mapped at one moment.
 * The dynamic linker counts what it loads and unloads, and a session is used
 * while those counts stay. libdw opens a file when an address in it is asked
 * for.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "core/cancel.h"
#include "core/debuginfo.h"
#include "core/dynlib.h"
#include "core/lock.h"
#include "core/thread.h"

/* libdw 0.188 was seen to use 156 KiB. */
#define STACK_NEED (320 * KIB)

/* ---- libdw ------------------------------------------------------------ */

struct dwfl;
struct mapped;		/* a file */
struct unit;		/* of compilation */
struct line;
struct address_line;
struct elf;

typedef int (*find_elf_fn)(struct mapped *, void **user, const char *name,
			   u64 base, char **file, struct elf **);
typedef int (*find_debuginfo_fn)(struct mapped *, void **user,
				 const char *name, u64 base, const char *file,
				 const char *link, u32 crc, char **found);
typedef int (*section_address_fn)(struct mapped *, void **user,
				  const char *name, u64 base,
				  const char *section, u32 index,
				  const Elf64_Shdr *header, u64 *addr);

struct callbacks {
	find_elf_fn find_elf;
	find_debuginfo_fn find_debuginfo;
	section_address_fn section_address;
	char **path;
};

/* FUNC(NAME, RESULT, PARAMETERS). Those that fetch what is missing from a
 * server are not used. */
#define LIBDW_FUNCS(FUNC)						\
	FUNC(dwfl_begin, struct dwfl *, (const struct callbacks *))	\
	FUNC(dwfl_end, void, (struct dwfl *))				\
	FUNC(dwfl_linux_proc_maps_report, int, (struct dwfl *, FILE *))	\
	FUNC(dwfl_report_end, int,					\
	     (struct dwfl *, void *removed, void *arg))			\
	FUNC(dwfl_linux_proc_find_elf, int,				\
	     (struct mapped *, void **, const char *, u64, char **,	\
	      struct elf **))						\
	FUNC(dwfl_build_id_find_debuginfo, int,				\
	     (struct mapped *, void **, const char *, u64,		\
	      const char *, const char *, u32, char **))		\
	FUNC(dwfl_addrmodule, struct mapped *, (struct dwfl *, u64))	\
	FUNC(dwfl_module_addrinfo, const char *,			\
	     (struct mapped *, u64 addr, u64 *offset, Elf64_Sym *,	\
	      u32 *section, struct elf **, u64 *bias))			\
	FUNC(dwfl_module_getsrc, struct address_line *,			\
	     (struct mapped *, u64 addr))				\
	FUNC(dwfl_lineinfo, const char *,				\
	     (struct address_line *, u64 *addr, int *line,		\
	      int *column, u64 *mtime, u64 *length))			\
	FUNC(dwfl_module_nextcu, struct unit *,				\
	     (struct mapped *, struct unit *last, u64 *bias))		\
	FUNC(dwarf_haspc, int, (struct unit *, u64 addr))		\
	FUNC(dwarf_getsrc_die, struct line *, (struct unit *, u64 addr)) \
	FUNC(dwarf_linesrc, const char *,				\
	     (struct line *, u64 *mtime, u64 *length))			\
	FUNC(dwarf_lineno, int, (struct line *, int *line))

#define POINTER(name, result, parameters) result (*name) parameters;
struct libdw {
	LIBDW_FUNCS(POINTER)
};

#define SYMBOL(name, result, parameters) \
	{ #name, offsetof(struct libdw, name) },
static const struct {
	const char *name;
	size_t offset;
} symbols[] = {
	LIBDW_FUNCS(SYMBOL)
};

enum { UNKNOWN, MISSING, READY };

static struct lock symbol_lock = LOCK_INIT(LOCK_SYMBOL, "debug information");
/* Released behind dw. */
static u32 state;
/* Locking: symbol_lock. */
static struct libdw dw;
static struct dwfl *session;
static u64 session_loads;
/* What libdw keeps a pointer to. Locking: symbol_lock. */
static struct callbacks callbacks;

/* LeakSanitizer, in a program that was built with it. */
void __lsan_do_leak_check(void) __attribute__((weak));

/*
 * At the exit of a process in which libdw was used LeakSanitizer dies, and
 * takes the exit status with it (gcc 12, libdw 0.188): there names are what
 * dladdr() knows.
 */
static bool find_functions(struct libdw *found)
{
	void *lib, *p;
	size_t i;

	if (&__lsan_do_leak_check)
		return false;
	lib = dynlib_open("libdw.so.1");
	if (!lib)
		return false;
	for (i = 0; i < ARRAY_SIZE(symbols); i++) {
		p = dynlib_symbol(lib, symbols[i].name);
		if (!p)
			return false;
		*(void **)((char *)found + symbols[i].offset) = p;
	}
	return true;
}

static void keep(const struct libdw *found)
{
	lock_acquire(&symbol_lock);
	dw = *found;
	callbacks.find_elf = dw.dwfl_linux_proc_find_elf;
	callbacks.find_debuginfo = dw.dwfl_build_id_find_debuginfo;
	lock_release(&symbol_lock);
}

static bool has_libdw(void)
{
	u32 is = load_acquire(&state);	/* pairs with the release below */
	struct libdw found = { 0 };

	if (is == UNKNOWN) {
		is = find_functions(&found) ? READY : MISSING;
		if (is == READY)
			keep(&found);
		store_release(&state, is);
	}
	return is == READY;
}

/* ---- A session -------------------------------------------------------- */

static int count(struct dl_phdr_info *info, size_t size, void *arg)
{
	u64 *loads = arg;

	(void)size;
	*loads = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

static bool begin_session_locked(u64 loads)
{
	FILE *maps;
	bool ok;

	if (session && session_loads == loads)
		return true;
	if (session)
		dw.dwfl_end(session);
	session = dw.dwfl_begin(&callbacks);
	maps = fopen("/proc/self/maps", "re");
	ok = session && maps &&
	     !dw.dwfl_linux_proc_maps_report(session, maps) &&
	     !dw.dwfl_report_end(session, NULL, NULL);
	if (maps)
		(void)fclose(maps);
	/* Without the files it is made again for the next place. */
	session_loads = ok ? loads : 0;
	return ok;
}

/* Where nothing says which unit has an address (clang writes no such table),
 * libdw does not look for it. */
static const char *find_line_in_units_locked(struct mapped *m, u64 addr,
					     int *number)
{
	struct unit *unit = NULL;
	struct line *line;
	u64 bias = 0;

	while ((unit = dw.dwfl_module_nextcu(m, unit, &bias)))
		if (dw.dwarf_haspc(unit, addr - bias) > 0)
			break;
	line = unit ? dw.dwarf_getsrc_die(unit, addr - bias) : NULL;
	if (!line || dw.dwarf_lineno(line, number))
		return NULL;
	return dw.dwarf_linesrc(line, NULL, NULL);
}

static const char *find_line_locked(struct mapped *m, u64 addr, int *number)
{
	struct address_line *line = dw.dwfl_module_getsrc(m, addr);

	if (line)
		return dw.dwfl_lineinfo(line, NULL, number, NULL, NULL, NULL);
	return find_line_in_units_locked(m, addr, number);
}

static void copy_name(char *to, size_t size, const char *name)
{
	(void)snprintf(to, size, "%s", name);
}

static void find_locked(u64 addr, struct code_place *p)
{
	struct mapped *m = dw.dwfl_addrmodule(session, addr);
	const char *name, *slash;
	u64 offset = 0;
	Elf64_Sym sym;

	if (!m)
		return;
	name = dw.dwfl_module_addrinfo(m, addr, &offset, &sym, NULL, NULL,
				       NULL);
	if (name) {
		copy_name(p->function, sizeof(p->function), name);
		p->offset = offset;
	}
	name = find_line_locked(m, addr, &p->line);
	if (name) {
		slash = strrchr(name, '/');
		copy_name(p->file, sizeof(p->file), slash ? slash + 1 : name);
	}
}

/* Elsewhere than on the thread's own stack, as in a coroutine, it is not known
 * how much there is. */
static bool has_stack(size_t need)
{
	const char *here = __builtin_frame_address(0);
	pthread_attr_t attr;
	void *low = NULL;
	size_t size = 0, room;

	if (pthread_getattr_np(pthread_self(), &attr))
		return false;
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	room = (uintptr_t)here - (uintptr_t)low;
	return room < size && room >= need;
}

static void ask(u64 addr, struct code_place *p)
{
	u64 loads = 0;

	if (!has_stack(STACK_NEED) || !has_libdw())
		return;
	dl_iterate_phdr(count, &loads);
	lock_acquire(&symbol_lock);
	if (begin_session_locked(loads))
		find_locked(addr, p);
	lock_release(&symbol_lock);
}

void debuginfo_find(u64 addr, struct code_place *p)
{
	NO_CANCELLATION;
	int before = errno;

	if (!thread_nest())
		return;
	ask(addr, p);
	thread_unnest();
	errno = before;
}

void debuginfo_lock_for_fork(void)
{
	lock_acquire_for_fork(&symbol_lock);
}

void debuginfo_unlock_for_fork(void)
{
	lock_release_for_fork(&symbol_lock);
}
