/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.h - static probes for perf, bpftrace, and SystemTap (USDT).
 *
 * A probe is one nop in the code, and a note in a section that is not loaded,
 * which says where the nop is and in which registers or places of memory its
 * arguments are. A tool that attaches puts a breakpoint there. So a probe on a
 * fast path costs the nop, provided that its arguments are at hand: they are
 * what the path has in registers anyway.
 *
 *   slabdev:alloc  number of the space, address, bytes asked for
 *   slabdev:free   number of the space, address, bytes that were asked for
 *   slabdev:grow   number of the space, bytes, bytes mapped then
 *   slabdev:trim   number of the space, bytes given back, bytes mapped then
 *
 * The macros are those of SystemTap's <sys/sdt.h>. Without CONFIG_SLAB_USDT, or
 * where the header was missing at build time, there is no probe.
 */
#ifndef SLAB_PROBE_H
#define SLAB_PROBE_H

/* sparse does not know the question. */
#if IS_ENABLED(CONFIG_SLAB_USDT) && defined(__has_include)
#if __has_include(<sys/sdt.h>)
#define PROBES_ARE_BUILT 1
#endif
#endif
#ifndef PROBES_ARE_BUILT
#define PROBES_ARE_BUILT 0
#endif

#if PROBES_ARE_BUILT

#include <sys/sdt.h>

#define probe_alloc(sd, p, size) \
	DTRACE_PROBE3(slabdev, alloc, (sd)->id, p, (u64)(size))
#define probe_free(sd, p, size) \
	DTRACE_PROBE3(slabdev, free, (sd)->id, p, (u64)(size))
#define probe_grow(sd, bytes, mapped) \
	DTRACE_PROBE3(slabdev, grow, (sd)->id, (u64)(bytes), (u64)(mapped))
#define probe_trim(sd, bytes, mapped) \
	DTRACE_PROBE3(slabdev, trim, (sd)->id, (u64)(bytes), (u64)(mapped))

#else

/* Names, but does not evaluate. */
#define probe_nothing(sd, a, b)		\
	do {				\
		if (0) {		\
			(void)(sd);	\
			(void)(a);	\
			(void)(b);	\
		}			\
	} while (0)

#define probe_alloc probe_nothing
#define probe_free probe_nothing
#define probe_grow probe_nothing
#define probe_trim probe_nothing

#endif

#endif /* SLAB_PROBE_H */
