// SPDX-License-Identifier: BSD-2-Clause
/*
 * fake_job.c - a process that publishes statistics of our choosing
 */
#include "tests/fake_job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#define ON_DISK "/memfd:" SLABDEV_SEG_NAME

/* ---- Contents --------------------------------------------------------- */

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

static void init_classes(struct slabdev_seg_window *w,
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

static void init_space(struct slabdev_seg_space *space)
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
	};
}

static const struct {
	uint32_t nr, size;
} records[] = {
	[SLABDEV_SEG_SPACE] = { 1, sizeof(struct slabdev_seg_space) },
	[SLABDEV_SEG_CLASSES] = { 1, sizeof(struct slabdev_seg_window) },
	[SLABDEV_SEG_THREADS] = { SLABDEV_SEG_THREADS_PER_SEGMENT,
				  sizeof(struct slabdev_seg_thread) },
};

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

struct fake_file *fake_job_add(struct kunit *test, struct fake_job *s,
				  uint32_t kind, uint32_t index)
{
	struct fake_file *f = &s->file[s->nr++];
	void *body;

	KUNIT_ASSERT_LE(test, s->nr, (unsigned int)FAKE_FILES_MAX);
	f->kind = FAKE_SEALED;
	f->head = kunit_kzalloc(test, FAKE_ROOM);
	body = f->head + 1;
	f->space = body;
	f->window = body;
	f->threads = body;
	f->size = whole_pages(sizeof(*f->head) +
			      (size_t)records[kind].nr * records[kind].size);
	*f->head = (struct slabdev_seg_header){
		.magic = SLABDEV_SEG_MAGIC, .version = SLABDEV_SEG_VERSION,
		.kind = kind, .size = f->size, .open_id = 1, .index = index,
		.nr_records = records[kind].nr,
		.record_size = records[kind].size,
	};
	return f;
}

void fake_job_init(struct kunit *test, struct fake_job *s)
{
	*s = (struct fake_job){ .copies = 1 };
	fake_job_add(test, s, SLABDEV_SEG_SPACE, 0);
	fake_job_add(test, s, SLABDEV_SEG_CLASSES, 0);
	fake_job_add(test, s, SLABDEV_SEG_THREADS, 0);
	init_space(s->file[0].space);
	init_classes(s->file[1].window, s->file[2].threads);
}

/* ---- The child -------------------------------------------------------- */

/* Field 22 of /proc/self/stat; none of our names has a parenthesis. */
static uint64_t own_start_time(void)
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

static int create_file(const struct fake_file *f)
{
	int fd;

	switch (f->kind) {
	case FAKE_ON_DISK:
		fd = open(ON_DISK, O_RDWR | O_CREAT | O_EXCL, 0600);
		break;
	case FAKE_FIFO:
		if (mkfifo(ON_DISK, 0600))
			return -1;
		fd = open(ON_DISK, O_RDWR);
		break;
	case FAKE_HUGE:
		return memfd_create(SLABDEV_SEG_NAME, MFD_ALLOW_SEALING |
				    MFD_HUGETLB);
	default:
		return memfd_create(SLABDEV_SEG_NAME, MFD_ALLOW_SEALING);
	}
	/* Its link in /proc then says " (deleted)" as a memfd's does. */
	unlink(ON_DISK);
	return fd;
}

static bool publish_file(const struct fake_file *f, unsigned int copies)
{
	int fd = create_file(f);

	if (fd < 0)
		return false;
	while (--copies)
		if (dup(fd) < 0)
			return false;
	if (f->kind == FAKE_FIFO)
		return true;
	if (f->kind == FAKE_HUGE)
		return !ftruncate(fd, 1 << 21) &&
		       !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
	if (ftruncate(fd, (off_t)f->size) ||
	    pwrite(fd, f->head, f->size, 0) != (ssize_t)f->size)
		return false;
	return f->kind != FAKE_SEALED ||
	       !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW |
				       F_SEAL_SEAL);
}

static bool open_others(unsigned int nr)
{
	struct rlimit limit;

	if (!nr)
		return true;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return false;
	while (nr--)
		if (open("/dev/null", O_RDONLY) < 0)
			return false;
	return true;
}

static bool publish(const struct fake_job *s)
{
	uint64_t start = own_start_time() + (uint64_t)s->start_offset;
	unsigned int i;

	if (!open_others(s->other_fds))
		return false;
	for (i = 0; i < s->nr; i++) {
		s->file[i].head->start_time = start;
		s->file[i].head->pid = (uint32_t)(getpid() + s->pid_offset);
		if (!publish_file(&s->file[i], s->copies))
			return false;
	}
	return true;
}

static void __attribute__((noreturn)) child(const struct fake_job *s,
					    int ready)
{
	char word;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "fake job");
	word = publish(s) ? 'y' : 'n';
	if (write(ready, &word, 1) == 1)
		for (;;)
			pause();
	_exit(0);
}

static void stop(void *arg)
{
	pid_t pid = (pid_t)(intptr_t)arg;

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

pid_t fake_job_start(struct kunit *test, const struct fake_job *s)
{
	char word = 0;
	int ready[2];
	pid_t pid;

	KUNIT_ASSERT_EQ(test, pipe(ready), 0);
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid)
		child(s, ready[1]);
	kunit_add_action(test, stop, (void *)(intptr_t)pid);
	close(ready[1]);
	if (read(ready[0], &word, 1) != 1)
		word = 0;
	close(ready[0]);
	if (word != 'y')
		kunit_skip(test, "such a file cannot be made here");
	return pid;
}
