// SPDX-License-Identifier: BSD-2-Clause
/* costs.c - driver calls one by one, see costs.h. */
#include "tests/gpu/costs.h"

#include "tests/gpu/driver.h"
#include "tests/model/internal.h"

#define MANY 100
#define ASYNC_BYTES (64 * KIB)

static struct cost {
	const char *call;
	enum call_id id;
	u64 bytes;		/* 0: the call has no size */
	struct samples samples;
} costs[] = {
#define ROW(base, bytes) { #base, CALL_##base, bytes, { .nr = 0 } }
#define ROWS(base) ROW(base, 2 * MIB), ROW(base, 128 * MIB), ROW(base, GIB)
	ROWS(cuMemAddressReserve), ROW(cuMemAddressReserve, 8 * GIB),
	ROWS(cuMemCreate), ROWS(cuMemMap), ROWS(cuMemSetAccess),
	ROWS(cuMemUnmap), ROWS(cuMemRelease),
	ROWS(cuMemAddressFree), ROW(cuMemAddressFree, 8 * GIB),
	ROW(cuMemAlloc, 2 * MIB), ROW(cuMemAlloc, 2 * GIB),
	ROW(cuMemFree, 2 * MIB), ROW(cuMemFree, 2 * GIB),
	ROW(cuMemAllocAsync, 0), ROW(cuMemAllocFromPoolAsync, 0),
	ROW(cuMemFreeAsync, 0),
	ROW(cuEventRecord, 0), ROW(cuEventQuery, 0),
	ROW(cuStreamWaitEvent, 0), ROW(cuMemGetInfo, 0),
};

static void add(enum call_id id, u64 bytes, double ns)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(costs); i++)
		if (costs[i].id == id && costs[i].bytes == bytes)
			sample_add(&costs[i].samples, ns);
}

/** TIMED - make a call @n times, which must succeed; one sample of its row */
#define TIMED(n, base, bytes, ...)					\
do {									\
	u64 start_ = gpu_clock_ns();					\
									\
	for (unsigned int i_ = 0; i_ < (n); i_++)			\
		gpu_must(#base, gpu.base(__VA_ARGS__));			\
	add(CALL_##base, bytes, (double)(gpu_clock_ns() - start_) / (n)); \
} while (0)

/* ---- Measuring ------------------------------------------------------ */

static void measure_vmm(u64 bytes)
{
	CUmemAllocationProp prop = gpu_prop();
	CUmemAccessDesc access = gpu_access();
	CUmemGenericAllocationHandle handle = 0;
	CUdeviceptr ptr = 0;

	TIMED(1, cuMemAddressReserve, bytes, &ptr, bytes, 0, 0, 0);
	TIMED(1, cuMemCreate, bytes, &handle, bytes, &prop, 0);
	TIMED(1, cuMemMap, bytes, ptr, bytes, 0, handle, 0);
	TIMED(1, cuMemSetAccess, bytes, ptr, bytes, &access, 1);
	TIMED(1, cuMemUnmap, bytes, ptr, bytes);
	TIMED(1, cuMemRelease, bytes, handle);
	TIMED(1, cuMemAddressFree, bytes, ptr, bytes);
}

static void measure_reservation(u64 bytes)
{
	CUdeviceptr ptr = 0;

	TIMED(1, cuMemAddressReserve, bytes, &ptr, bytes, 0, 0, 0);
	TIMED(1, cuMemAddressFree, bytes, ptr, bytes);
}

static void measure_classic(u64 bytes)
{
	CUdeviceptr ptr = 0;

	TIMED(1, cuMemAlloc, bytes, &ptr, bytes);
	TIMED(1, cuMemFree, bytes, ptr);
}

/* The first round grows the pool, which keeps the memory until it is freed
 * and the stream has nothing more to do. */
static void measure_async(CUstream stream)
{
	CUdeviceptr ptr[MANY];
	CUmemoryPool pool;

	GPU_MUST(cuDeviceGetMemPool(&pool, 0));
	TIMED(MANY, cuMemAllocAsync, 0, &ptr[i_], ASYNC_BYTES, stream);
	TIMED(MANY, cuMemFreeAsync, 0, ptr[i_], stream);
	TIMED(MANY, cuMemAllocFromPoolAsync, 0, &ptr[i_], ASYNC_BYTES, pool,
	      stream);
	TIMED(MANY, cuMemFreeAsync, 0, ptr[i_], stream);
}

static void measure_events(CUstream stream, CUevent event)
{
	TIMED(MANY, cuEventRecord, 0, event, stream);
	GPU_MUST(cuStreamSynchronize(stream));
	TIMED(MANY, cuEventQuery, 0, event);
	TIMED(MANY, cuStreamWaitEvent, 0, stream, event, 0);
	GPU_MUST(cuStreamSynchronize(stream));
}

static void measure_small(unsigned int rounds)
{
	size_t unused, total;
	CUstream stream;
	CUevent event;

	GPU_MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	GPU_MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	while (rounds--) {
		if (gpu.has_pools)
			measure_async(stream);
		measure_events(stream, event);
		TIMED(MANY, cuMemGetInfo, 0, &unused, &total);
	}
	GPU_MUST(cuEventDestroy(event));
	GPU_MUST(cuStreamDestroy(stream));
}

/* A quarter of what is free: others may want some meanwhile. */
static bool fits(u64 bytes)
{
	return bytes <= gpu_free_bytes() / 4;
}

void costs_measure(bool quick)
{
	static const u64 sizes[] = { 2 * MIB, 128 * MIB, GIB };
	unsigned int rounds = quick ? 3 : 31, i;
	size_t s;

	for (i = 0; gpu.has_vmm && i < rounds; i++) {
		for (s = 0; s < ARRAY_SIZE(sizes); s++)
			if (fits(sizes[s]) && !(sizes[s] % gpu.granularity))
				measure_vmm(sizes[s]);
		measure_reservation(8 * GIB);
	}
	for (i = 0; i < rounds; i++) {
		measure_classic(2 * MIB);
		if (fits(2 * GIB))
			measure_classic(2 * GIB);
	}
	measure_small(rounds);
}

/* ---- Showing -------------------------------------------------------- */

static double model_ns(const struct cost *c)
{
	cost_reset();
	cost_charge(c->id, c->bytes);
	return (double)cost_of_ns((int)c->id);
}

void costs_csv(FILE *out)
{
	size_t i;

	fputs("call,bytes,median_us,low_us,high_us,samples,model_us,"
	      "model_source\n", out);
	for (i = 0; i < ARRAY_SIZE(costs); i++) {
		const struct cost *c = &costs[i];
		struct spread q = sample_spread(&c->samples);

		fprintf(out, "%s,%llu,", c->call,
			(unsigned long long)c->bytes);
		if (c->samples.nr)
			fprintf(out, "%.3f,%.3f,%.3f", q.median / 1e3,
				q.low / 1e3, q.high / 1e3);
		else
			fputs(",,", out);
		fprintf(out, ",%u,%.3f,%c\n", c->samples.nr,
			model_ns(c) / 1e3, cost_source(c->id, c->bytes));
	}
}

void costs_json(FILE *out)
{
	size_t i;

	fputs("\"costs\":[", out);
	for (i = 0; i < ARRAY_SIZE(costs); i++) {
		const struct cost *c = &costs[i];

		fprintf(out, "%s\n{\"call\":\"%s\",\"bytes\":%llu,\"ns\":",
			i ? "," : "", c->call, (unsigned long long)c->bytes);
		sample_json(out, &c->samples);
		fprintf(out, ",\"model_ns\":%.0f,\"model_source\":\"%c\"}",
			model_ns(c), cost_source(c->id, c->bytes));
	}
	fputs("]", out);
}
