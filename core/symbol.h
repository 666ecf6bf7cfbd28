/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol.h - addresses of code in words.
 *
 * Of a place in the program as much is told as can be found out here and now:
 *
 *   solve+0x12 (solve.c:123) [app+0x1456]	with debug information
 *   solve+0x12 [app+0x1456]			a function with a name
 *   [app+0x1456]				neither; addr2line -e app 0x1456
 *   0x7f0123456789				in no file, or a static program
 *
 * The dynamic linker knows files and what they export. Names of other functions
 * and lines of source come from elfutils' libdw, where it is installed
 * (debuginfo.h).
 *
 * A return address is behind the call that it belongs to, perhaps in the next
 * line or function; what is told is the place of the call.
 */
#ifndef CORE_SYMBOL_H
#define CORE_SYMBOL_H

#define SYMBOL_TEXT_MAX 256

/*
 * symbol_describe - a place of a stack
 * @pc: a return address; for an instruction itself, its address plus 1. NULL
 *      is "unknown"
 * @buf: for the text
 * @len: bytes that it has; SYMBOL_TEXT_MAX are always enough
 *
 * No lock of the library may be held.
 */
void symbol_describe(const void *pc, char *buf, size_t len);

struct report;
/* A line for each of the first @most of @n return addresses, and how many more
 * there are. */
void report_stack(struct report *r, const void *const *pc, u32 n, u32 most);

#endif /* CORE_SYMBOL_H */
