// SPDX-License-Identifier: BSD-2-Clause
/*
 * traces_test.c - who allocated what, by stack
 *
 * By slabdev_traces(), and by slabinfo: of a process that tracks its objects,
 * of made-up files whose text is known, and of files that nobody would write,
 * programs among them whose tables of symbols make no sense.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "tests/kunit/kunit.h"
#include "tests/fake_job.h"
#include "tests/folder.h"
#include "tests/open_space.h"
#include "tests/random.h"
#include "tests/slabinfo_run.h"

/* ---- Made-up files ------------------------------------------------------- */

#define PROGRAM "/no/such/prog"

static struct slabdev_seg_traces *traces_of(const struct fake_job *s)
{
	return (void *)(s->file[3].head + 1);
}

static void fill(struct slabdev_seg_trace *t, uint32_t kind, uint64_t objects,
		 uint64_t bytes)
{
	*t = (struct slabdev_seg_trace){
		.state = SLABDEV_SEG_USED, .kind = kind, .nr_frames = 2,
		.tid_low = 101, .tid_high = 101,
		.frame = { slabdev_seg_frame(0, 0x1235),
			   slabdev_seg_frame(SLABDEV_SEG_NO_MODULE, 0x2001) },
		.objects = objects, .bytes = bytes, .total = objects + 5,
	};
}

/* Two stacks that allocated, one that did once, and one that freed. */
static void traced_job(struct kunit *test, struct fake_job *s)
{
	struct slabdev_seg_traces *t;

	fake_job_init(test, s);
	fake_job_add(test, s, SLABDEV_SEG_TRACES, 0);
	s->file[0].space->nr_trace_segments = 1;
	t = traces_of(s);
	strcpy(t->module[0].path, PROGRAM);
	fill(&t->trace[0], SLABDEV_SEG_TRACE_ALLOC, 10, 2000);
	fill(&t->trace[1], SLABDEV_SEG_TRACE_FREE, 7, 700);
	fill(&t->trace[2], SLABDEV_SEG_TRACE_ALLOC, 0, 0);
	fill(&t->trace[3], SLABDEV_SEG_TRACE_ALLOC, 3, 300000);
	t->trace[3].tid_high = 105;
	t->trace[3].nr_frames = 0;
}

static void made_up_ones_are_shown(struct kunit *test)
{
	struct fake_job s;
	struct program p;
	pid_t pid;

	traced_job(test, &s);
	pid = fake_job_start(test, &s);
	slabinfo_run(test, &p, pid, "-t");
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	expect_readable(test, "", p.out);
	expect_in_order(test, p.out, (const char *const[]){
		" fake job: space main (host), live objects by who allocated "
		"them\n      3 unknown bytes=292.9K age=", " pid=101-105\n\n"
		"     10 [prog+0x1234] bytes=1.9K age=", " last=", " pid=101\n"
		"        [prog+0x1234]\n        0x2000\n", NULL });
	expect_no_text(test, p.out, "      0 ");
	expect_no_text(test, p.out, "      7 ");
	slabinfo_run(test, &p, pid, "-t", "-i", "-B", "-N1");
	expect_text(test, p.out, "\n     10 [prog+0x1234] bytes=2000 age=");
	expect_no_text(test, p.out, "unknown");
}

static void either_kind_by_its_name(struct kunit *test)
{
	struct fake_job s;
	struct program p;
	const char *pid;

	traced_job(test, &s);
	pid = decimal(test, fake_job_start(test, &s));
	program_run(test, &p, (const char *const[]){ "tools/slabinfo",
		    "--free-traces", pid, NULL }, NULL);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	expect_text(test, p.out, "(host), free objects by who freed them\n"
		    "      7 [prog+0x1234] bytes=700 age=");
	expect_no_text(test, p.out, "     10 ");
	program_run(test, &p, (const char *const[]){ "tools/slabinfo",
		    "--alloc-traces", pid, "--json", NULL }, NULL);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	expect_readable(test, "--json", p.out);
	expect_text(test, p.out, "{\"version\":1,\"kind\":\"alloc\","
				 "\"spaces\":[{\"pid\":");
	expect_text(test, p.out, "\"tracked\":true,\"traces\":[{\"objects\":3,"
				 "\"bytes\":300000,\"total\":8,\"age\":");
	expect_text(test, p.out, "\"stack\":[{\"module\":\"" PROGRAM "\","
		    "\"address\":4660,\"function\":\"\",\"offset\":0},"
		    "{\"module\":\"\",\"address\":8192,\"function\":\"\","
		    "\"offset\":0}]}");
}

static void nothing_is_tracked(struct kunit *test)
{
	struct fake_job s;
	struct program p;
	pid_t pid;

	fake_job_init(test, &s);
	pid = fake_job_start(test, &s);
	slabinfo_run(test, &p, pid, "-t");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "\n  none is tracked: SLABDEV_DEBUG=U ");
	slabinfo_run(test, &p, pid, "-t", "--json");
	expect_text(test, p.out, "\"tracked\":false,\"traces\":[]}");
}

/* Other views are what they were. */
static void figures_stay(struct kunit *test)
{
	struct fake_job s;
	struct program p;

	traced_job(test, &s);
	slabinfo_run(test, &p, fake_job_start(test, &s));
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	expect_text(test, p.out, "? in flight       0   0%");
}

static void options_exclude_each_other(struct kunit *test)
{
	static const char *const bad[][3] = {
		{ "-t", "-T" }, { "-t", "-S" }, { "-t", "pattern" },
		{ "-t", "-D" }, { "-t", "-e" }, { "-t", "--devices" },
		{ "-t", "--prometheus" }, { "-t", "--free-traces=1" },
		{ "--free-traces=1", "--alloc-traces=1" },
		{ "--alloc-traces=x" }, { "--free-traces" },
	};
	struct program p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		program_run(test, &p, (const char *const[]){ "tools/slabinfo",
			    bad[i][0], bad[i][1], NULL }, NULL);
		KUNIT_EXPECT_EQ_MSG(test, p.status, 2, "%s %s", bad[i][0],
				    bad[i][1] ? bad[i][1] : "");
		expect_text(test, p.err, "Try 'slabinfo --help'.\n");
	}
}

/* ---- Files that nobody would write --------------------------------------- */

/**
 * struct damage - one way to be wrong
 * @name: of the parameter
 * @spoil: does it
 * @complaint: what slabinfo says about it
 */
struct damage {
	const char *name;
	void (*spoil)(struct kunit *test, struct fake_job *s);
	const char *complaint;
};

#define SPOIL(fn, statement) \
	static void fn(struct kunit *test, struct fake_job *s) \
	{ \
		(void)test; \
		statement; \
	}

SPOIL(state, traces_of(s)->trace[1].state = 7)
SPOIL(kind, traces_of(s)->trace[1].kind = 3)
SPOIL(frames, traces_of(s)->trace[1].nr_frames = UINT32_MAX)
SPOIL(module, traces_of(s)->trace[1].frame[1] = slabdev_seg_frame(32, 1))
SPOIL(unnamed, traces_of(s)->trace[1].frame[1] = slabdev_seg_frame(31, 1))
SPOIL(endless, memset(traces_of(s)->module[5].path, 'm', 248))
SPOIL(missing, s->file[0].space->nr_trace_segments = 2)
SPOIL(too_many, s->file[0].space->nr_trace_segments = 0)

static const struct damage damages[] = {
	{ "state", state, "trace file 0: trace 1 has a state that does not "
	  "exist" },
	{ "kind", kind, "trace 1 is of a kind that does not exist" },
	{ "frames", frames, "trace 1 has more frames than there is room for" },
	{ "module", module, "trace 1 has a frame in a module that does not "
	  "exist" },
	{ "module without a name", unnamed, "trace 1 has a frame in a module "
	  "that does not exist" },
	{ "endless path", endless, "the path of module 5 has no end" },
	{ "missing file", missing, "trace file 1 is missing" },
	{ "a file too many", too_many, "trace file 0 is one too many" },
};

static void damage_desc(const struct damage *d, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", d->name);
}

KUNIT_ARRAY_PARAM(damage, damages, damage_desc)

static void damage_is_told(struct kunit *test)
{
	const struct damage *d = test->param_value;
	struct fake_job s;
	struct program p;
	pid_t pid;

	traced_job(test, &s);
	d->spoil(test, &s);
	pid = fake_job_start(test, &s);
	slabinfo_run(test, &p, pid, "-t");
	KUNIT_EXPECT_EQ_MSG(test, p.status, 3, "%s", p.err);
	expect_text(test, p.err, d->complaint);
	expect_text(test, p.out, ", INCOMPLETE\n");
	expect_text(test, p.out, "\n     10 [prog+0x1234] bytes=1.9K ");
	slabinfo_run(test, &p, pid, "-t", "--json");
	expect_survived(test, &p, "--json");
}

/* Sums that no process has. */
static void odd_sums_are_shown(struct kunit *test)
{
	struct slabdev_seg_trace *t;
	struct fake_job s;
	struct program p;
	pid_t pid;

	traced_job(test, &s);
	t = &traces_of(&s)->trace[0];
	t->objects = t->bytes = t->time_sum = t->last = UINT64_MAX;
	t->frame[0] = 0;
	t->frame[1] = UINT64_MAX;
	strcpy(traces_of(&s)->module[0].path, "\033[2J/\n");
	pid = fake_job_start(test, &s);
	slabinfo_run(test, &p, pid, "-t");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_survived(test, &p, "");
	expect_text(test, p.out, "\n18446744073709551615 [\\x0a+0x0] bytes=");
	slabinfo_run(test, &p, pid, "-t", "--json");
	expect_survived(test, &p, "--json");
}

/* ---- Programs ------------------------------------------------------------ */

/* What is read for symbols of a module with this path. */
static void run_with_path(struct kunit *test, struct program *p,
			  const char *path)
{
	struct fake_job s;

	traced_job(test, &s);
	KUNIT_ASSERT_LT(test, strlen(path), (size_t)248);
	strcpy(traces_of(&s)->module[0].path, path);
	slabinfo_run(test, p, fake_job_start(test, &s), "-t");
	KUNIT_EXPECT_EQ_MSG(test, p->status, 0, "%s", p->err);
	expect_survived(test, p, "");
	expect_text(test, p->out, "     10 ");
}

static void other_files_have_no_symbols(struct kunit *test)
{
	const char *folder = new_folder(test);
	char path[200];
	struct program p;

	snprintf(path, sizeof(path), "%s/fifo", folder);
	KUNIT_ASSERT_EQ(test, mkfifo(path, 0600), 0);
	run_with_path(test, &p, path);
	run_with_path(test, &p, "/dev/zero");
	run_with_path(test, &p, "/proc");
	run_with_path(test, &p, "/etc/passwd");
	run_with_path(test, &p, "relative");
	run_with_path(test, &p, "/");
}

/* A program with one function at 0x1000, called "planted". */
struct tiny_elf {
	Elf64_Ehdr head;
	Elf64_Shdr section[3];
	Elf64_Sym symbol[2];
	char names[16];
};

static void make_tiny(struct tiny_elf *e)
{
	*e = (struct tiny_elf){
		.head = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				     ELFCLASS64, ELFDATA2LSB },
			.e_shoff = offsetof(struct tiny_elf, section),
			.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3,
		},
		.section = {
			[1] = { .sh_type = SHT_SYMTAB, .sh_link = 2,
				.sh_offset = offsetof(struct tiny_elf, symbol),
				.sh_size = sizeof(e->symbol),
				.sh_entsize = sizeof(Elf64_Sym) },
			[2] = { .sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct tiny_elf, names),
				.sh_size = sizeof(e->names) },
		},
		.symbol = {
			[1] = { .st_name = 1, .st_value = 0x1000,
				.st_size = 0x300, .st_shndx = 1,
				.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC) },
		},
		.names = "\0planted",
	};
}

static void write_file(struct kunit *test, const char *path,
		       const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	KUNIT_ASSERT_GE(test, fd, 0);
	KUNIT_ASSERT_EQ(test, write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

static void functions_have_names(struct kunit *test)
{
	const char *folder = new_folder(test);
	struct tiny_elf e;
	struct program p;
	char path[200];

	snprintf(path, sizeof(path), "%s/tiny", folder);
	make_tiny(&e);
	write_file(test, path, &e, sizeof(e));
	run_with_path(test, &p, path);
	expect_text(test, p.out, "     10 planted+0x234 [tiny+0x1234] bytes=");
	e.symbol[1].st_size = 0x200;
	write_file(test, path, &e, sizeof(e));
	run_with_path(test, &p, path);
	expect_text(test, p.out, "     10 [tiny+0x1234] bytes=");
}

/* Whatever the file says, slabinfo ends well. */
static void damaged_programs_are_survived(struct kunit *test)
{
	const char *folder = new_folder(test);
	u64 seed = random_seed(test);
	struct tiny_elf e;
	struct program p;
	char path[200];
	u32 i, n;

	snprintf(path, sizeof(path), "%s/tiny", folder);
	for (i = 0; i < 25; i++) {
		make_tiny(&e);
		for (n = 1 + random_below(&seed, 4); n; n--)
			((u8 *)&e)[random_below(&seed, sizeof(e))] =
				(u8)(random_below(&seed, 3) ? 0xff :
				     random_below(&seed, 256));
		write_file(test, path, &e, random_below(&seed, 4) ? sizeof(e) :
			   random_below(&seed, sizeof(e)));
		run_with_path(test, &p, path);
	}
}

/* ---- A process that tracks ----------------------------------------------- */

static void end_job(void *arg)
{
	pid_t pid = (pid_t)(intptr_t)arg;

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The call is not the last thing that it does, or there is no frame of it. */
static bool __attribute__((noinline)) tracked_alloc(struct slabdev *sd)
{
	void *p = slabdev_alloc(sd, 640);

	__asm__ volatile("" : : : "memory");
	return p;
}

static bool tracked_job(void)
{
	volatile int n = 20;
	struct slabdev *sd;

	if (slabdev_open(&sd, "host", NULL) || slabdev_set_debug(sd, "U"))
		return false;
	while (n--)
		if (!tracked_alloc(sd))
			return false;
	return true;
}

static void __attribute__((noreturn)) be_job(int out)
{
	char word;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	word = tracked_job() ? 'y' : 'n';
	if (write(out, &word, 1) == 1)
		for (;;)
			pause();
	_exit(1);
}

static pid_t start_job(struct kunit *test)
{
	char word = 0;
	int ends[2];
	pid_t pid;

	KUNIT_ASSERT_EQ(test, pipe(ends), 0);
	pid = fork();
	if (!pid)
		be_job(ends[1]);
	KUNIT_ASSERT_GT(test, pid, 0);
	kunit_add_action(test, end_job, (void *)(intptr_t)pid);
	close(ends[1]);
	KUNIT_ASSERT_EQ(test, read(ends[0], &word, 1), (ssize_t)1);
	close(ends[0]);
	KUNIT_ASSERT_EQ(test, word, 'y');
	return pid;
}

static void a_process_is_traced(struct kunit *test)
{
	pid_t pid = start_job(test);
	struct program p;

	slabinfo_run(test, &p, pid, "-t", "-B");
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	/* Where calls are no tail calls, it is not the innermost frame. */
	expect_text(test, p.out, "\n     20 ");
	expect_text(test, p.out, "] bytes=12800 age=");
	expect_text(test, p.out, "\n        tracked_alloc+0x");
	slabinfo_run(test, &p, pid, "-t", "--json");
	expect_readable(test, "--json", p.out);
	expect_text(test, p.out, "{\"objects\":20,\"bytes\":12800,"
				 "\"total\":20,\"age\":");
	expect_text(test, p.out, "\"function\":\"tracked_alloc\",\"offset\":");
	slabinfo_run(test, &p, pid);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	expect_text(test, p.out, "? in flight       0   0%");
}

/* ---- From inside --------------------------------------------------------- */

/* Two callers, which do something behind the call: it is in their frames. */
static void __attribute__((noinline)) small_allocs(struct slabdev *sd, void **p,
						   int n)
{
	while (n--)
		p[n] = slabdev_alloc(sd, 100);
}

static void __attribute__((noinline)) other_allocs(struct slabdev *sd, void **p,
						   int n)
{
	while (n--)
		p[n] = slabdev_alloc(sd, 1000);
}

/* What slabdev_traces() prints; lives as long as the case. */
static char *listed(struct kunit *test, struct slabdev *sd,
		    enum slabdev_trace_kind kind, unsigned int flags)
{
	size_t size = 64 * KIB;
	char *text = kunit_kzalloc(test, size);
	FILE *out = fmemopen(text, size - 1, "w");

	KUNIT_ASSERT_NOT_NULL(test, out);
	KUNIT_EXPECT_EQ(test, slabdev_traces(sd, kind, flags, out), 0);
	fclose(out);
	return text;
}

static void stacks_are_listed(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	volatile int n = 10, i;
	void *p[20];
	char *text;

	KUNIT_ASSERT_EQ(test, slabdev_set_debug(sd, "U"), 0);
	small_allocs(sd, p, n);
	other_allocs(sd, p + n, 5);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p[i]), 0);
	text = listed(test, sd, SLABDEV_TRACE_ALLOC, 0);
	KUNIT_EXPECT_EQ_MSG(test, strncmp(text, "      5 ", 8), 0, "%s", text);
	expect_in_order(test, text, (const char *const[]){
			" bytes=5000 age=", " pid=", "\n        ",
			"\n\n      7 ", " bytes=700 age=", NULL });
	text = listed(test, sd, SLABDEV_TRACE_FREE, 0);
	KUNIT_EXPECT_EQ_MSG(test, strncmp(text, "      3 ", 8), 0, "%s", text);
	expect_text(test, text, " bytes=300 age=");
}

static void programs_can_read_them(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	void *p[2];
	char *text;

	KUNIT_ASSERT_EQ(test, slabdev_set_debug(sd, "U"), 0);
	text = listed(test, sd, SLABDEV_TRACE_FREE, SLABDEV_TRACE_JSON);
	expect_text(test, text, "\"traces\":[]}\n");
	small_allocs(sd, p, 1);
	other_allocs(sd, p + 1, 1);
	text = listed(test, sd, SLABDEV_TRACE_ALLOC, SLABDEV_TRACE_JSON);
	expect_readable(test, "--json", text);
	expect_in_order(test, text, (const char *const[]){
			"\"kind\":\"alloc\",\"traces\":[{\"objects\":1,"
			"\"bytes\":1000,\"age_min\":",
			"{\"objects\":1,\"bytes\":100,\"age_min\":", NULL });
}

static void arguments_are_checked(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	FILE *full = fopen("/dev/full", "we");
	void *p;

	KUNIT_ASSERT_NOT_NULL(test, full);
	KUNIT_EXPECT_EQ(test, slabdev_traces(sd, SLABDEV_TRACE_ALLOC, 0, full),
			-ENODATA);
	KUNIT_ASSERT_EQ(test, slabdev_set_debug(sd, "U"), 0);
	KUNIT_EXPECT_EQ(test, slabdev_traces(NULL, SLABDEV_TRACE_ALLOC, 0,
					     full), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_traces(sd, SLABDEV_TRACE_ALLOC, 0, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_traces(sd, SLABDEV_TRACE_ALLOC, 2, full),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_traces(sd, (enum slabdev_trace_kind)3, 0,
					     full), -EINVAL);
	small_allocs(sd, &p, 1);
	KUNIT_EXPECT_EQ(test, slabdev_traces(sd, SLABDEV_TRACE_ALLOC, 0, full),
			-EIO);
	fclose(full);
}

static int no_reserve(size_t size, void **addr)
{
	(void)size;
	(void)addr;
	return -ENOMEM;
}

static void no_memory_to_sort(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);

	KUNIT_ASSERT_EQ(test, slabdev_set_debug(sd, "U"), 0);
	kunit_activate_static_stub(test, os_reserve, no_reserve);
	KUNIT_EXPECT_EQ(test, slabdev_traces(sd, SLABDEV_TRACE_ALLOC, 0,
					     stdout), -ENOMEM);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(stacks_are_listed),
	KUNIT_CASE(programs_can_read_them),
	KUNIT_CASE(arguments_are_checked),
	KUNIT_CASE(no_memory_to_sort),
	KUNIT_CASE(made_up_ones_are_shown),
	KUNIT_CASE(either_kind_by_its_name),
	KUNIT_CASE(nothing_is_tracked),
	KUNIT_CASE(figures_stay),
	KUNIT_CASE(options_exclude_each_other),
	KUNIT_CASE_PARAM(damage_is_told, damage_gen_params),
	KUNIT_CASE(odd_sums_are_shown),
	KUNIT_CASE(other_files_have_no_symbols),
	KUNIT_CASE(functions_have_names),
	KUNIT_CASE(damaged_programs_are_survived),
	KUNIT_CASE(a_process_is_traced),
	{ 0 }
};

static const struct kunit_suite traces_suite = {
	.name = "traces",
	.cases = cases,
};
kunit_test_suite(traces_suite);
