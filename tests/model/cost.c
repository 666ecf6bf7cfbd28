// SPDX-License-Identifier: BSD-2-Clause
/*
 * cost.c - what the calls would cost on hardware.
 *
 * The table has microseconds by the size that the call is about. Some rows
 * were measured and published: kvcached's benchmark of an A100 with pages of
 * 2 MiB, CUDA.jl for pools and cudaMalloc. The others are the 2 MiB row times
 * the ratios of GMLake's table 1, or assumed like their neighbour. Between the
 * rows of a call the cost is linear in the logarithm of the size, outside it
 * is that of the nearest row. The clock only adds up; nobody waits.
 */
#include "tests/model/internal.h"

#define SOURCE_MEASURED 'M'
#define SOURCE_SCALED 'S'
#define SOURCE_ASSUMED 'A'
#define SOURCE_NEIGHBOUR 'N'	/* no row: from those around it */

static const struct cost_row {
	enum call_id call;
	u64 bytes;
	unsigned int ns;
	char source;
} table[] = {
	{ CALL_cuMemAddressReserve, 8 * GIB, 19000, SOURCE_MEASURED },
	{ CALL_cuMemCreate, 2 * MIB, 193000, SOURCE_MEASURED },
	{ CALL_cuMemCreate, 128 * MIB, 608000, SOURCE_SCALED },
	{ CALL_cuMemCreate, GIB, 656000, SOURCE_SCALED },
	{ CALL_cuMemMap, 2 * MIB, 1500, SOURCE_MEASURED },
	{ CALL_cuMemMap, GIB, 4000, SOURCE_ASSUMED },
	{ CALL_cuMemSetAccess, 2 * MIB, 36000, SOURCE_MEASURED },
	{ CALL_cuMemSetAccess, 128 * MIB, 195000, SOURCE_SCALED },
	{ CALL_cuMemSetAccess, GIB, 259000, SOURCE_SCALED },
	{ CALL_cuMemUnmap, 2 * MIB, 25600, SOURCE_MEASURED },
	{ CALL_cuMemUnmap, 128 * MIB, 138000, SOURCE_ASSUMED },
	{ CALL_cuMemUnmap, GIB, 184000, SOURCE_ASSUMED },
	{ CALL_cuMemRelease, 2 * MIB, 23000, SOURCE_ASSUMED },
	{ CALL_cuMemRelease, GIB, 78000, SOURCE_ASSUMED },
	{ CALL_cuMemAddressFree, 8 * GIB, 1000, SOURCE_ASSUMED },
	{ CALL_cuMemAlloc, 2 * MIB, 59000, SOURCE_MEASURED },
	{ CALL_cuMemAlloc, 2 * GIB, 2045000, SOURCE_SCALED },
	{ CALL_cuMemFree, 2 * MIB, 46000, SOURCE_MEASURED },
	{ CALL_cuMemFree, 2 * GIB, 46000, SOURCE_ASSUMED },
	{ CALL_cuMemAllocAsync, 0, 1700, SOURCE_MEASURED },
	{ CALL_cuMemAllocFromPoolAsync, 0, 1700, SOURCE_ASSUMED },
	{ CALL_cuMemFreeAsync, 0, 1200, SOURCE_MEASURED },
	{ CALL_cuEventRecord, 0, 2000, SOURCE_ASSUMED },
	{ CALL_cuEventQuery, 0, 700, SOURCE_ASSUMED },
	{ CALL_cuStreamWaitEvent, 0, 1500, SOURCE_ASSUMED },
	{ CALL_cuMemGetInfo, 0, 6000, SOURCE_MEASURED },
};

static u64 clock_ns;
static u64 by_call[NR_CALLS];

/* log2 in 1/1024, by linear interpolation within an octave. */
static u64 log2_1024(u64 bytes)
{
	unsigned int whole;

	if (!bytes)
		return 0;
	whole = 63 - (unsigned int)__builtin_clzll(bytes);
	if (whole >= 10)
		return 1024 * whole + (bytes >> (whole - 10)) - 1024;
	return 1024 * whole + (bytes << (10 - whole)) - 1024;
}

static u64 between(const struct cost_row *a, const struct cost_row *b,
		   u64 bytes)
{
	u64 from = log2_1024(a->bytes), to = log2_1024(b->bytes);
	u64 at = log2_1024(bytes);

	return a->ns + (b->ns - a->ns) * (at - from) / (to - from);
}

static u64 cost_of_call(enum call_id id, u64 bytes)
{
	const struct cost_row *below = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].call != id)
			continue;
		if (bytes <= table[i].bytes)
			return below ? between(below, &table[i], bytes) :
			       table[i].ns;
		below = &table[i];
	}
	return below ? below->ns : 0;
}

char cost_source(enum call_id id, u64 bytes)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].call == id && table[i].bytes == bytes)
			return table[i].source;
	return SOURCE_NEIGHBOUR;
}

void cost_charge(enum call_id id, u64 bytes)
{
	u64 ns = cost_of_call(id, bytes);

	by_call[id] += ns;
	clock_ns += ns;
}

void cost_reset(void)
{
	clock_ns = 0;
	memset(by_call, 0, sizeof(by_call));
}

u64 cost_clock_ns(void)
{
	return clock_ns;
}

u64 cost_of_ns(int id)
{
	return by_call[id];
}
