// SPDX-License-Identifier: BSD-2-Clause
/*
 * fake_files.c - the contents of statistics files of our choosing
 */
#include "tests/fake_files.h"

#include <stdio.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

static void init_size_1024(struct slabdev_seg_window *w,
			   struct slabdev_seg_counters *thread)
{
	w->cls[0] = (struct slabdev_seg_class){
		.name = "size-1024", .state = SLABDEV_SEG_USED,
		.type = SLABDEV_SEG_GENERAL, .generation = 1, .per_slab = 64,
		.sheaf_objects = 32, .object_size = 1024, .stride = 1024,
		.align = 256, .slab_bytes = 65536, .slabs = 10, .partial = 3,
		.empty = 1, .barn_full = 2, .barn_empty = 1, .refills = 15,
		.flushes = 11, .slab_allocs = 12, .slab_frees = 2,
		.failed = 1, .stolen = 4,
	};
	w->retired[0] = (struct slabdev_seg_counters){
		1000, 900, 1000000, 900000
	};
	thread[0] = (struct slabdev_seg_counters){
		500, 200, 500 * 1024, 200 * 1024
	};
}

static void init_blocks(struct slabdev_seg_window *w,
			struct slabdev_seg_counters *thread)
{
	w->cls[1] = (struct slabdev_seg_class){
		.name = "blocks", .state = SLABDEV_SEG_USED,
		.type = SLABDEV_SEG_CACHE, .generation = 3, .per_slab = 12,
		.sheaf_objects = 8, .flags = SLABDEV_SEG_CTOR,
		.object_size = 5000, .stride = 5120, .align = 8,
		.slab_bytes = 65536, .slabs = 5, .partial = 2, .refills = 5,
		.flushes = 1, .slab_allocs = 5,
	};
	thread[1] = (struct slabdev_seg_counters){ 50, 10, 250000, 50000 };
}

void fake_classes_init(struct slabdev_seg_window *w,
		       struct slabdev_seg_thread *threads)
{
	threads[0].state = SLABDEV_SEG_USED;
	threads[0].tid = 11;
	threads[3].state = SLABDEV_SEG_USED;
	threads[3].tid = 12;
	init_size_1024(w, threads[0].c);
	init_blocks(w, threads[3].c);
	w->cls[2] = (struct slabdev_seg_class){
		.name = "empty", .state = SLABDEV_SEG_USED,
		.type = SLABDEV_SEG_CACHE, .per_slab = 64,
		.object_size = 1000, .stride = 1024, .align = 256,
		.slab_bytes = 65536,
	};
	w->cls[3] = (struct slabdev_seg_class){
		.name = "large", .state = SLABDEV_SEG_USED,
		.type = SLABDEV_SEG_LARGE, .align = 65536, .refills = 3,
		.flushes = 1,
	};
	threads[3].c[3] = (struct slabdev_seg_counters){
		3, 1, 3000000, 1000000
	};
}

void fake_space_init(struct slabdev_seg_space *space)
{
	*space = (struct slabdev_seg_space){
		.name = "main", .spec = "host",
		.vmm = {
			.calls = { 1, 0, 5, 0, 5, 5, 0, 7, 0, 2, 0, 1 },
			.fails = { 0, 0, 1 },
			.reserved = UINT64_C(1) << 40, .created = 10485760,
			.idle = 2097152, .lost = 2097152,
			.peak_created = 12582912, .handles = 5,
			.spare_handles = 1, .limit = UINT64_C(1) << 34,
		},
		.chunk_size = 2097152, .slice_size = 65536,
		.policy_mode = SLABDEV_TRIM, .policy_keep = 4194304,
		.state = SLABDEV_SEG_USED, .pool_free = 3211264,
		.large_bytes = 2097152, .large_slack = 32768,
		.out_bytes = 2700000, .peak_out = 2800000,
		.host_bytes = 131072, .failed = 1, .trims = 2, .nr_threads = 2,
		.nr_caches = 2, .nr_windows = 1, .nr_thread_segments = 1,
		.backing = "host",
	};
}

static const struct {
	uint32_t nr, size;
} records[] = {
	[SLABDEV_SEG_SPACE] = { 1, sizeof(struct slabdev_seg_space) },
	[SLABDEV_SEG_CLASSES] = { 1, sizeof(struct slabdev_seg_window) },
	[SLABDEV_SEG_THREADS] = { SLABDEV_SEG_THREADS_PER_SEGMENT,
				  sizeof(struct slabdev_seg_thread) },
	[SLABDEV_SEG_TRACES] = { 1, sizeof(struct slabdev_seg_traces) },
};

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

size_t fake_header_init(struct slabdev_seg_header *head, uint32_t kind,
			uint32_t index)
{
	size_t size = whole_pages(sizeof(*head) + (size_t)records[kind].nr *
						  records[kind].size);

	*head = (struct slabdev_seg_header){
		.magic = SLABDEV_SEG_MAGIC, .version = SLABDEV_SEG_VERSION,
		.kind = kind, .size = size, .open_id = 1, .index = index,
		.nr_records = records[kind].nr,
		.record_size = records[kind].size,
	};
	return size;
}

/* Field 22 of /proc/self/stat; none of our names has a parenthesis. */
uint64_t fake_start_time(void)
{
	unsigned long long start = 0;
	FILE *f = fopen("/proc/self/stat", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
		   "%*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &start) != 1)
		start = 0;
	fclose(f);
	return start;
}
