// SPDX-License-Identifier: BSD-2-Clause
/*
 * hostile_test.c - slabinfo and statistics that the library would never write
 *
 * Whatever another process publishes, slabinfo says what is wrong with it,
 * shows the rest, and ends with status 3. Each case spoils one thing.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "tests/kunit/kunit.h"
#include "tests/fake_job.h"
#include "tests/slabinfo_run.h"

/* ---- One thing wrong -------------------------------------------------- */

/**
 * struct damage - one way to be wrong
 * @name: of the parameter
 * @spoil: does it
 * @complaint: what slabinfo says about it
 * @still: what it shows all the same, or NULL: nothing can be shown
 */
struct damage {
	const char *name;
	void (*spoil)(struct kunit *test, struct fake_job *s);
	const char *complaint;
	const char *still;
};

#define BLOCKS "\nblocks               40    5000   320.0K "

#define SPOIL(fn, statement) \
	static void fn(struct kunit *test, struct fake_job *s) \
	{ \
		(void)test; \
		statement; \
	}

SPOIL(no_magic, s->file[0].head->magic = 1)
SPOIL(other_version, s->file[0].head->version = 99)
SPOIL(other_kind, s->file[1].head->kind = 5)
SPOIL(other_size, s->file[1].head->size += 4096)
SPOIL(empty_file, s->file[1].size = 0)
SPOIL(zeros, memset(s->file[1].head, 0, 4096))
SPOIL(half_header, s->file[1].size = 40)
SPOIL(truncated, s->file[1].size = s->file[1].head->size = 4096)
SPOIL(grown, s->file[1].size += 65536)
SPOIL(immense, s->file[1].size = s->file[1].head->size = (size_t)1 << 40)
SPOIL(many_records, s->file[1].head->nr_records = UINT32_MAX)
SPOIL(record_size, s->file[2].head->record_size = 8)
SPOIL(unsealed, s->file[1].kind = FAKE_UNSEALED)
SPOIL(huge, s->file[1].kind = FAKE_HUGE)
SPOIL(on_disk, s->file[1].kind = FAKE_ON_DISK)
SPOIL(fifo, s->file[1].kind = FAKE_FIFO)
SPOIL(no_space, s->nr = 0; fake_job_add(test, s, SLABDEV_SEG_CLASSES, 0))
SPOIL(no_window, s->file[0].space->nr_windows = 3)
SPOIL(many_windows, s->file[0].space->nr_windows = UINT32_MAX)
SPOIL(no_threads, s->file[0].space->nr_thread_segments = 2)
SPOIL(extra_window, fake_job_add(test, s, SLABDEV_SEG_CLASSES, 7))
SPOIL(same_window, fake_job_add(test, s, SLABDEV_SEG_CLASSES, 0))
SPOIL(stuck_fold, s->file[1].head->fold_seq = 77)
SPOIL(endless_name, memset(s->file[0].space->name, 'x', 64))
SPOIL(endless_spec, memset(s->file[0].space->spec, 'x', 64))
SPOIL(endless_backing, memset(s->file[0].space->backing, 'x', 64))
SPOIL(endless_class, memset(s->file[1].window->cls[0].name, 'y', 32))
SPOIL(space_state, s->file[0].space->state = 9)
SPOIL(class_state, s->file[1].window->cls[0].state = 9)
SPOIL(class_type, s->file[1].window->cls[0].type = 9)
SPOIL(thread_state, s->file[2].threads[5].state = 9)
SPOIL(thread_window, s->file[2].threads[5].state = SLABDEV_SEG_USED;
		     s->file[2].threads[5].window = 5)
SPOIL(many_slabs, s->file[1].window->cls[0].slabs = UINT64_MAX)
SPOIL(many_objects, s->file[1].window->retired[0].allocs = UINT64_MAX / 2)
SPOIL(twins, strcpy(s->file[1].window->cls[2].name, "blocks"))
SPOIL(small_slab, s->file[1].window->cls[0].slab_bytes = 65535)
SPOIL(big_counters, s->file[1].window->retired[1].free_bytes = UINT64_MAX;
		    s->file[1].window->retired[1].alloc_bytes = UINT64_MAX)
SPOIL(big_mapped, s->file[0].space->vmm.created = UINT64_MAX)
SPOIL(big_retained, s->file[0].space->pool_free = UINT64_MAX)
SPOIL(big_calls, s->file[0].space->vmm.calls[3] = UINT64_MAX)

static const struct damage damages[] = {
	{ "no magic", no_magic, "does not begin with the magic number", NULL },
	{ "other version", other_version, "was made by layout version 99, "
	  "this slabinfo knows 6", NULL },
	{ "other kind", other_kind, "is of kind 5, which does not exist",
	  "main (host)" },
	{ "other size", other_size, " bytes, its header says ",
	  "main (host)" },
	{ "empty file", empty_file, "window file 0 is missing", "main (host)" },
	{ "file of zeros", zeros, "window file 0 is missing", "main (host)" },
	{ "half a header", half_header, "is truncated: 40 bytes",
	  "main (host)" },
	{ "truncated", truncated, "is truncated: 4096 bytes", "main (host)" },
	{ "grown", grown, " bytes, its header says ", "main (host)" },
	{ "many records", many_records, "says it has 4294967295 records",
	  "main (host)" },
	{ "record size", record_size, "says it has 16 records of 8 bytes",
	  "main (host)" },
	{ "unsealed", unsealed, "is not sealed against shrinking", BLOCKS },
	{ "huge pages", huge, "is not ordinary memory", "main (host)" },
	{ "a file on disk", on_disk, "file ", "main (host)" },
	{ "a fifo", fifo, "is not a regular file", "main (host)" },
	{ "no space", no_space, "the file of the space itself is missing",
	  NULL },
	{ "no window", no_window, "window file 1 is missing", BLOCKS },
	{ "4294967295 windows", many_windows, "window file 1 is missing",
	  BLOCKS },
	{ "no threads", no_threads, "thread file 1 is missing", BLOCKS },
	{ "a window too many", extra_window, "window file 7 is one too many: "
	  "it says it has 1", BLOCKS },
	{ "the same window", same_window, "both say that they are number 0 of "
	  "their kind", BLOCKS },
	{ "stuck fold", stuck_fold, "window 0 is torn", BLOCKS },
	{ "endless name", endless_name, "its name has no end", BLOCKS },
	{ "endless spec", endless_spec, "its spec has no end", BLOCKS },
	{ "endless backing", endless_backing, "its backing has no end",
	  BLOCKS },
	{ "endless class", endless_class, "the name of class 0 has no end",
	  "\nyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy      400 " },
	{ "state of the space", space_state, "its state 9 does not exist",
	  BLOCKS },
	{ "state of a class", class_state, "class 0 has a state that does not "
	  "exist", BLOCKS },
	{ "type of a class", class_type, "class 0 is of a type that does not "
	  "exist", BLOCKS },
	{ "state of a thread", thread_state, "a thread's state 9 does not "
	  "exist", BLOCKS },
	{ "window of a thread", thread_window, "a thread counts for window 5, "
	  "which does not exist", BLOCKS },
	{ "many slabs", many_slabs, "class 0 claims more bytes than 64 bits "
	  "can count", BLOCKS },
	{ "many objects", many_objects, "class 0 claims more bytes than 64 "
	  "bits can count", BLOCKS },
	{ "two of a name", twins, "two classes are called blocks", BLOCKS },
	{ "small slab", small_slab, "class 0 has slabs that are smaller than "
	  "their objects", BLOCKS },
	{ "big counters", big_counters, "window 0 has counters that overflow",
	  "\nblocks " },
	{ "big mapped", big_mapped, "its figures overflow", BLOCKS },
	{ "big retained", big_retained, "its figures overflow", BLOCKS },
	{ "big calls", big_calls, "its figures overflow", BLOCKS },
};

static void damage_desc(const struct damage *d, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", d->name);
}

KUNIT_ARRAY_PARAM(damage, damages, damage_desc)

static void is_refused(struct kunit *test)
{
	const struct damage *d = test->param_value;
	struct fake_job s;
	struct program p;
	pid_t pid;

	fake_job_init(test, &s);
	d->spoil(test, &s);
	pid = fake_job_start(test, &s);
	slabinfo_run(test, &p, pid);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 3, "%s", p.err);
	expect_text(test, p.err, d->complaint);
	if (d->still)
		expect_text(test, p.out, d->still);
	else
		KUNIT_EXPECT_STREQ(test, p.out, "");
	expect_survived(test, &p, "");
	slabinfo_run(test, &p, pid, "--json");
	expect_survived(test, &p, "--json");
	slabinfo_run(test, &p, pid, "--prometheus");
	expect_survived(test, &p, "--prometheus");
}

/* ---- What is odd but right -------------------------------------------- */

/* Control bytes in names reach no terminal. */
static void names_are_escaped(struct kunit *test)
{
	struct fake_job s;
	struct program p;
	pid_t pid;

	fake_job_init(test, &s);
	strcpy(s.file[0].space->name, "\033[2Jx\"");
	strcpy(s.file[1].window->cls[1].name, "a\\b\nc\xff");
	pid = fake_job_start(test, &s);
	slabinfo_run(test, &p, pid);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "space \\x1b[2Jx\" (host)");
	expect_text(test, p.out, "\na\\x5cb\\x0ac\\xff ");
	slabinfo_run(test, &p, pid, "--json");
	expect_text(test, p.out, "\"name\":\"\\u001b[2Jx\\\"\"");
	expect_text(test, p.out, "\"name\":\"a\\\\b\\u000ac\\u00ff\"");
	slabinfo_run(test, &p, pid, "--prometheus");
	expect_text(test, p.out, "space=\"\\\\x1b[2Jx\\\"\"");
}

/* A file may be longer than what is looked at, which is all that is mapped. */
static void immense_file_is_read(struct kunit *test)
{
	struct fake_job s;
	struct program p;

	fake_job_init(test, &s);
	immense(test, &s);
	slabinfo_run(test, &p, fake_job_start(test, &s));
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, BLOCKS);
}

/* A user may call a cache as the library calls a size class. */
static void cache_of_a_class_name(struct kunit *test)
{
	struct fake_job s;
	struct program p;
	pid_t pid;

	fake_job_init(test, &s);
	strcpy(s.file[1].window->cls[1].name, "size-1024");
	pid = fake_job_start(test, &s);
	slabinfo_run(test, &p, pid);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	slabinfo_run(test, &p, pid, "--prometheus");
	expect_survived(test, &p, "--prometheus");
	expect_text(test, p.out, "cache=\"size-1024\",type=\"cache\"} 40\n");
}

static void closing_space_is_left_out(struct kunit *test)
{
	struct fake_job s;
	struct program p;

	fake_job_init(test, &s);
	s.file[0].space->state = SLABDEV_SEG_FREE;
	slabinfo_run(test, &p, fake_job_start(test, &s));
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
}

static void duplicated_descriptors_count_once(struct kunit *test)
{
	struct fake_job s;
	struct program p;

	fake_job_init(test, &s);
	s.copies = 100;
	s.other_fds = 500;
	slabinfo_run(test, &p, fake_job_start(test, &s));
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, BLOCKS);
	expect_text(test, p.out, "] 10.0M mapped");
}

static void thousands_of_descriptors(struct kunit *test)
{
	struct fake_job s;
	struct program p;

	fake_job_init(test, &s);
	s.other_fds = 10000;
	slabinfo_run(test, &p, fake_job_start(test, &s));
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, BLOCKS);
}

/* Figures that contradict each other at work are shown as they are. */
static void residual_has_its_sign(struct kunit *test)
{
	struct fake_job s;
	struct program p;

	fake_job_init(test, &s);
	s.file[0].space->vmm.created -= 8192;
	slabinfo_run(test, &p, fake_job_start(test, &s));
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "? in flight   -8.0K ");
}

/* ---- Processes -------------------------------------------------------- */

/* The writer that the header names started at another time. */
static void other_start_time(struct kunit *test)
{
	struct fake_job s;
	struct program p;

	fake_job_init(test, &s);
	s.start_offset = -1;
	slabinfo_run(test, &p, fake_job_start(test, &s));
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	expect_text(test, p.err, "only have the statistics of the process that "
				"forked them");
}

/* Or has another pid: a fork within one tick of the clock. */
static void other_pid(struct kunit *test)
{
	struct fake_job s;
	struct program p;

	fake_job_init(test, &s);
	s.pid_offset = 1;
	slabinfo_run(test, &p, fake_job_start(test, &s));
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
}

static void no_such_process(struct kunit *test)
{
	struct fake_job s;
	struct program p;
	char both[40];
	pid_t pid;

	slabinfo_run(test, &p, 0x7ffffffe);
	KUNIT_EXPECT_EQ(test, p.status, 1);
	expect_text(test, p.err, "process 2147483646: does not exist\n");
	/* The others that were named are shown. */
	fake_job_init(test, &s);
	pid = fake_job_start(test, &s);
	snprintf(both, sizeof(both), "2147483646,%d", (int)pid);
	program_run(test, &p, (const char *const[]){ "tools/slabinfo", "-p",
		    both, NULL }, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 1);
	expect_text(test, p.out, BLOCKS);
}

/* Its descriptors are gone, and what is left of it belongs to root. */
static void process_that_has_ended(struct kunit *test)
{
	struct fake_job s;
	struct program p;
	siginfo_t info;
	char line[64];
	pid_t pid;

	fake_job_init(test, &s);
	pid = fake_job_start(test, &s);
	KUNIT_ASSERT_EQ(test, kill(pid, SIGKILL), 0);
	KUNIT_ASSERT_EQ(test, waitid(P_PID, (id_t)pid, &info,
				     WEXITED | WNOWAIT), 0);
	slabinfo_run(test, &p, pid);
	KUNIT_EXPECT_EQ(test, p.status, 1);
	snprintf(line, sizeof(line), "slabinfo: process %d: has ended\n",
		 (int)pid);
	KUNIT_EXPECT_STREQ(test, p.err, line);
}

/* slabinfo as the user nobody, looking at @pid: its exit status, or -1. */
static int run_as_nobody(const char *path, const char *pid, int err)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		if (dup2(err, STDERR_FILENO) < 0 || setgid(65534) ||
		    setuid(65534))
			_exit(126);
		execl(path, path, "-p", pid, (char *)NULL);
		_exit(126);
	}
	if (child < 0 || waitpid(child, &status, 0) != child ||
	    !WIFEXITED(status) || WEXITSTATUS(status) == 126)
		return -1;
	return WEXITSTATUS(status);
}

static void another_users_process(struct kunit *test)
{
	const char *path = program_path(test, "tools/slabinfo");
	struct fake_job s;
	char text[256] = "";
	int status, err[2];
	pid_t pid;

	if (geteuid())
		kunit_skip(test, "only root can become another user");
	fake_job_init(test, &s);
	pid = fake_job_start(test, &s);
	KUNIT_ASSERT_EQ(test, pipe(err), 0);
	status = run_as_nobody(path, decimal(test, pid), err[1]);
	close(err[1]);
	KUNIT_EXPECT_GE(test, read(err[0], text, sizeof(text) - 1), 0);
	close(err[0]);
	if (status < 0)
		kunit_skip(test, "nobody cannot run %s", path);
	KUNIT_EXPECT_EQ(test, status, 3);
	expect_text(test, text, "may not be read: it belongs to user 0, or is "
			       "protected");
}

/*
 * Processes die at any moment while slabinfo looks at them. It may find them
 * or not, and say so, but never crash or hang.
 */
static void processes_that_die(struct kunit *test)
{
	struct fake_job s;
	struct program p;
	int i;

	fake_job_init(test, &s);
	s.copies = 50;
	for (i = 0; i < 30; i++) {
		pid_t pid = fake_job_start(test, &s), killer = fork();

		KUNIT_ASSERT_GE(test, killer, 0);
		if (!killer) {
			usleep((useconds_t)(500 + i * 150));
			kill(pid, SIGKILL);
			_exit(0);
		}
		slabinfo_run(test, &p, pid, "--json");
		waitpid(killer, NULL, 0);
		expect_survived(test, &p, "--json");
	}
}

static const struct kunit_case hostile_cases[] = {
	KUNIT_CASE_PARAM(is_refused, damage_gen_params),
	KUNIT_CASE(names_are_escaped),
	KUNIT_CASE(immense_file_is_read),
	KUNIT_CASE(cache_of_a_class_name),
	KUNIT_CASE(closing_space_is_left_out),
	KUNIT_CASE(duplicated_descriptors_count_once),
	KUNIT_CASE(thousands_of_descriptors),
	KUNIT_CASE(residual_has_its_sign),
	KUNIT_CASE(other_start_time),
	KUNIT_CASE(other_pid),
	KUNIT_CASE(no_such_process),
	KUNIT_CASE(process_that_has_ended),
	KUNIT_CASE(another_users_process),
	KUNIT_CASE_SLOW(processes_that_die),
	{}
};

static const struct kunit_suite hostile_suite = {
	.name = "hostile",
	.cases = hostile_cases,
};
kunit_test_suite(hostile_suite);
