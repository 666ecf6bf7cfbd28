// SPDX-License-Identifier: BSD-2-Clause
/*
 * slabinfo_test.c - what slabinfo prints, from figures that are known
 *
 * A child publishes the statistics of fake_job.h, whose sums are worked out
 * there by hand. What it does with files that are wrong is hostile_test.c.
 */
#include <stdio.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"
#include "tests/fake_job.h"
#include "tests/slabinfo_run.h"

static pid_t publish_default(struct kunit *test)
{
	struct fake_job s;

	fake_job_init(test, &s);
	return fake_job_start(test, &s);
}

#define order(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* ---- Views ------------------------------------------------------------ */

static const char whole_list[] =
"%d fake job: space main (host), policy trim (keep 4.0M), threads 2, caches 2\n"
"  [###############==...............................!!!!!!!!!!!!]"
" 10.0M mapped\n"
"  # live         2.4M  24%%  + rounding    69.9K   0%%"
"  = cached     340.0K   3%%\n"
"  . retained     5.0M  50%%  - slack       52.0K   0%%"
"  ~ pending         0   0%%\n"
"  ! lost         2.0M  20%%  ? in flight       0   0%%\n"
"  limit 16.0G, peak mapped 12.0M, peak live 2.6M\n"
"  allocations 1553, hit rate 98.51%%, failed 1; backend calls 16, failed 1\n"
"Name            Objects Objsize    Space Slabs/Part/Emp  O/S %%Fr %%Ef Cached"
" Flg\n"
"blocks               40    5000   320.0K          5/2/0   12  40  61     20"
" c\n"
"large                 2 1000000     2.0M          0/0/0    0   0  95      0"
" l\n"
"size-1024           400    1024   640.0K         10/3/1   64  30  62    240"
" g\n";

static void list_is_exact(struct kunit *test)
{
	char expected[sizeof(whole_list) + 16];
	pid_t pid = publish_default(test);
	struct program p;

	snprintf(expected, sizeof(expected), whole_list, (int)pid);
	slabinfo_run(test, &p, pid);
	KUNIT_EXPECT_STREQ(test, p.out, expected);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_EQ(test, p.status, 0);
}

static void finds_it_without_being_told(struct kunit *test)
{
	pid_t pid = publish_default(test);
	struct program p;
	char line[64];

	program_run(test, &p, (const char *const[]){ "tools/slabinfo", NULL },
		    NULL);
	snprintf(line, sizeof(line), "%d fake job: space main", (int)pid);
	expect_text(test, p.out, line);
}

static void one_match_is_reported(struct kunit *test)
{
	pid_t pid = publish_default(test);
	struct program p;

	slabinfo_run(test, &p, pid, "^BLOCK");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "Slabcache: blocks ");
	expect_text(test, p.out, "** Objects have a constructor");
	expect_text(test, p.out, "SlabObj :     5120  Full    :        3  "
				"Cached  :       20  Live    :   195.3K");
	expect_text(test, p.out, "Fastpath                     45            9 "
				" 90  90");
	expect_no_text(test, p.out, "size-1024");
	/* An empty cache as well: somebody asked for it by name. */
	slabinfo_run(test, &p, pid, "^empty$");
	expect_text(test, p.out, "Slabcache: empty ");
	/* Two matches are a list. */
	slabinfo_run(test, &p, pid, "^(blocks|size)");
	expect_no_text(test, p.out, "Slabcache");
	expect_text(test, p.out, "size-1024 ");
	expect_no_text(test, p.out, "large ");
}

/* What memory it is stands behind the spec, unless that says it already. */
static void backing_is_shown(struct kunit *test)
{
	struct fake_job s;
	struct program p;
	pid_t pid;

	fake_job_init(test, &s);
	strcpy(s.file[0].space->spec, "cuda:0");
	strcpy(s.file[0].space->backing, "CUDA VMM, fd\033");
	pid = fake_job_start(test, &s);
	slabinfo_run(test, &p, pid);
	expect_text(test, p.out, ": space main (cuda:0: CUDA VMM, fd\\x1b), "
				 "policy ");
	slabinfo_run(test, &p, pid, "^blocks");
	expect_text(test, p.out, ", space main (cuda:0: CUDA VMM, fd\\x1b)\n");
	slabinfo_run(test, &p, pid, "--json");
	expect_text(test, p.out, "\"spec\":\"cuda:0\",\"backing\":"
				 "\"CUDA VMM, fd\\u001b\"");
	slabinfo_run(test, &p, pid, "--prometheus");
	expect_text(test, p.out, "spec=\"cuda:0\",backing=\"CUDA VMM, "
				 "fd\\\\x1b\"");
}

/* What streams have freed is a part of the bytes, and not free either. */
static void streams_are_shown(struct kunit *test)
{
	struct fake_job s;
	struct program p;
	pid_t pid;

	fake_job_init(test, &s);
	s.file[0].space->nr_streams = 2;
	s.file[0].space->nr_graphs = 1;
	s.file[0].space->pending_bytes = 40960;
	s.file[0].space->held_bytes = 4096;
	s.file[0].space->event_records = 12;
	s.file[0].space->event_queries = 15;
	s.file[0].space->stream_waits = 3;
	s.file[0].space->host_waits = 4;
	s.file[0].space->nr_exported = 2;
	s.file[0].space->exported_bytes = 8192;
	s.file[1].window->cls[0].pending = 40;
	pid = fake_job_start(test, &s);
	slabinfo_run(test, &p, pid);
	expect_text(test, p.out, "= cached     300.0K   2%");
	expect_text(test, p.out, "~ pending     40.0K   0%");
	expect_text(test, p.out, "? in flight       0   0%");
	expect_text(test, p.out, "\n  streams 2, graphs 1 (hold 4.0K); events "
				 "12, asked 15; waits: stream 3, CPU 4\n"
				 "  exported 2 objects (8.0K)\n");
	slabinfo_run(test, &p, pid, "--json");
	expect_text(test, p.out, "\"held\":4096,\"streams\":2,\"graphs\":1,"
				 "\"event_records\":12,\"event_queries\":15,"
				 "\"stream_waits\":3,\"host_waits\":4,"
				 "\"exported\":2,\"exported_bytes\":8192,");
	expect_text(test, p.out, "\"pending\":40960,\"retained\"");
	expect_text(test, p.out, "\"pending_objects\":40,");
	slabinfo_run(test, &p, pid, "--prometheus");
	expect_text(test, p.out, "kind=\"pending\"} 40960\n");
	expect_text(test, p.out, "\nslabdev_held_bytes{");
	expect_text(test, p.out, "\nslabdev_exported_bytes{");
	expect_text(test, p.out, "\nslabdev_cache_pending_bytes{");
	expect_text(test, p.out, "\nslabdev_cache_pending_objects{");
	slabinfo_run(test, &p, pid, "^size-1024$");
	expect_text(test, p.out, "   Pending :       40  Pending :    40.0K\n");
	slabinfo_run(test, &p, pid, "^large$");
	expect_text(test, p.out, "   Pending :        0  Pending :        0\n");
}

static void totals_add_up(struct kunit *test)
{
	pid_t pid = publish_default(test);
	struct program p;

	slabinfo_run(test, &p, pid, "-T", "-B");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "Slabcaches :               4   "
				"Active   :               3");
	expect_text(test, p.out, "Memory used:         3080192   # Loss   : "
				"         472992   MRatio:    18%");
	expect_text(test, p.out, "# Objects  :             442   # Cached : "
				"            260   ORatio:    58%");
	expect_text(test, p.out, "Memory             1026730           327680  "
				"        2097152          3080192");
	expect_text(test, p.out, "User                  5898             1018  "
				"        1000000\n");
}

/* The length of the longest line. */
static size_t width_of(const char *text)
{
	size_t n, width = 0;

	for (; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		width = n > width ? n : width;
	}
	return width;
}

/* The rows that the kernel's plotting script looks for. */
static void extended_totals_keep_their_form(struct kunit *test)
{
	pid_t pid = publish_default(test);
	struct program p;

	slabinfo_run(test, &p, pid, "-X");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_LE(test, width_of(p.out), (size_t)80);
	expect_in_order(test, p.out,
		     order("\nMemory used:         3080192   # Loss   : ",
			   "\nSlabs sorted by size\n--------------------\nName",
			   "\nlarge                 2 1000000  2097152",
			   "\nsize-1024 ", "\nblocks ",
			   "\nSlabs sorted by loss\n--------------------\nName",
			   "\nsize-1024           400    1024   248160",
			   "\nblocks ", "\nlarge ",
			   "\nSlabs sorted by number of partial slabs\n",
			   "\nsize-1024 ", "\nblocks ", "\nlarge "));
}

static void activity_columns(struct kunit *test)
{
	pid_t pid = publish_default(test);
	struct program p;

	slabinfo_run(test, &p, pid, "-D");
	expect_text(test, p.out, "Name            Objects      Alloc       "
				"Free   %Fast Slabs+ Slabs- Stolen Fails\n");
	expect_text(test, p.out, "size-1024           400       1500       "
				"1100  99  99     12      2      4     1\n");
}

/* ---- Order and choice ------------------------------------------------- */

static void sort_letters(struct kunit *test)
{
	static const struct {
		const char *letter;
		const char *first, *second, *third;
	} orders[] = {
		{ "-l", "\nblocks", "\nlarge", "\nsize-1024" },
		{ "-i", "\nsize-1024", "\nlarge", "\nblocks" },
		{ "-S", "\nlarge", "\nsize-1024", "\nblocks" },
		{ "-Si", "\nblocks", "\nsize-1024", "\nlarge" },
		{ "-L", "\nsize-1024", "\nblocks", "\nlarge" },
		{ "-P", "\nsize-1024", "\nblocks", "\nlarge" },
		{ "-A", "\nsize-1024", "\nblocks", "\nlarge" },
		{ "-Ai", "\nlarge", "\nblocks", "\nsize-1024" },
	};
	pid_t pid = publish_default(test);
	struct program p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		slabinfo_run(test, &p, pid, orders[i].letter);
		KUNIT_EXPECT_EQ(test, p.status, 0);
		expect_in_order(test, p.out,
			     order(orders[i].first, orders[i].second,
				   orders[i].third));
	}
}

/* Numbers in names count as numbers: 512 comes before 1024. */
static void names_sort_by_number(struct kunit *test)
{
	struct fake_job s;
	struct program p;

	fake_job_init(test, &s);
	strcpy(s.file[1].window->cls[1].name, "size-512");
	slabinfo_run(test, &p, fake_job_start(test, &s));
	expect_in_order(test, p.out, order("\nsize-512 ", "\nsize-1024 "));
}

static void filters(struct kunit *test)
{
	pid_t pid = publish_default(test);
	struct program p;

	slabinfo_run(test, &p, pid, "-e");
	expect_text(test, p.out, "\nempty ");
	expect_text(test, p.out, "\nblocks ");
	slabinfo_run(test, &p, pid, "-z");
	expect_text(test, p.out, "\nempty ");
	expect_no_text(test, p.out, "\nblocks ");
	slabinfo_run(test, &p, pid, "-S", "-N", "2");
	expect_text(test, p.out, "\nlarge ");
	expect_text(test, p.out, "\nsize-1024 ");
	expect_no_text(test, p.out, "\nblocks ");
	slabinfo_run(test, &p, pid, "--space", "main");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	slabinfo_run(test, &p, pid, "--space", "mai");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	expect_text(test, p.err, "no space is called mai");
	slabinfo_run(test, &p, pid, "nothing-like-it");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	expect_text(test, p.err, "no cache matches");
}

static void two_processes(struct kunit *test)
{
	pid_t first = publish_default(test), second = publish_default(test);
	struct program p;
	char both[40], line[64];

	snprintf(both, sizeof(both), "%d,%d", (int)first, (int)second);
	program_run(test, &p, (const char *const[]){
		    "tools/slabinfo", "-p", both, "-p", decimal(test, first),
		    "-T", "-B", NULL }, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "processes 2, spaces 2\n");
	expect_text(test, p.out, "] 20971520 mapped");
	expect_text(test, p.out, "Memory used:         6160384 ");
	program_run(test, &p, (const char *const[]){
		    "tools/slabinfo", "-p", both, "-X", NULL }, NULL);
	snprintf(line, sizeof(line), " 240 g %d/main\n", (int)second);
	expect_text(test, p.out, line);
}

/* ---- For programs ----------------------------------------------------- */

#define PYTHON "/usr/bin/python3"

/* Runs @script with @text as its input; what it prints must be "ok". */
static void check_with_python(struct kunit *test, const char *text,
			      const char *script)
{
	char name[] = "/tmp/slabinfo-test-XXXXXX", command[2048], answer[256];
	size_t n = strlen(text), got;
	int fd = mkstemp(name);
	FILE *f;

	KUNIT_ASSERT_GE(test, fd, 0);
	KUNIT_EXPECT_EQ(test, write(fd, text, n), (ssize_t)n);
	close(fd);
	snprintf(command, sizeof(command), PYTHON " -c '%s' <%s 2>&1", script,
		 name);
	f = popen(command, "re");
	KUNIT_ASSERT_NOT_NULL(test, f);
	got = fread(answer, 1, sizeof(answer) - 1, f);
	answer[got] = '\0';
	pclose(f);
	unlink(name);
	KUNIT_EXPECT_STREQ(test, answer, "ok\n");
}

static const char json_script[] =
"import json, sys\n"
"d = json.load(sys.stdin)\n"
"kinds = \"live cached pending retained rounding slack lost in_flight\""
".split()\n"
"for s in d[\"spaces\"] + [d[\"total\"]]:\n"
"    assert sum(s[k] for k in kinds) == s[\"mapped\"], s\n"
"s = d[\"spaces\"][0]\n"
"assert d[\"version\"] == 1 and len(d[\"spaces\"]) == 1\n"
"assert d[\"total\"][\"mapped\"] == s[\"mapped\"] == 10485760\n"
"assert s[\"command\"] == \"fake job\" and s[\"policy\"] == \"trim\"\n"
"assert s[\"calls\"][\"copy\"] == 2 and s[\"fails\"][\"create\"] == 1\n"
"c = {c[\"name\"]: c for c in s[\"classes\"]}\n"
"assert sorted(c) == [\"blocks\", \"large\", \"size-1024\"], c\n"
"assert sum(x[\"live\"] for x in c.values()) == s[\"live\"] == 2607200\n"
"assert c[\"size-1024\"][\"allocs\"] == 1500\n"
"print(\"ok\")\n";

static void json_adds_up(struct kunit *test)
{
	pid_t pid = publish_default(test);
	struct program p;

	if (access(PYTHON, X_OK))
		kunit_skip(test, "there is no " PYTHON);
	slabinfo_run(test, &p, pid, "--json");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	check_with_python(test, p.out, json_script);
	KUNIT_EXPECT_PTR_EQ_MSG(test, strchr(p.out, '\n'),
				p.out + strlen(p.out) - 1, "one line");
}

static void json_of_nothing(struct kunit *test)
{
	struct program p;
	char line[64];

	slabinfo_run(test, &p, getppid(), "--json");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out,
		"{\"version\":1,\"spaces\":[],\"total\":{\"spaces\":0,"
		"\"mapped\":0,\"live\":0,\"cached\":0,\"pending\":0,"
		"\"retained\":0,\"rounding\":0,\"slack\":0,\"lost\":0,"
		"\"in_flight\":0}}\n");
	snprintf(line, sizeof(line), "process %d does not use libslabdev",
		 (int)getppid());
	expect_text(test, p.err, line);
}

/* Each line is a comment or name{labels} number; no name returns later. */
static const char prometheus_script[] =
"import re, sys\n"
"seen, last, n = set(), None, 0\n"
"for line in sys.stdin:\n"
"    if line.startswith(\"#\"):\n"
"        assert re.match(r\"# (HELP|TYPE) slabdev_\\w+ \\S\", line), line\n"
"        continue\n"
"    m = re.match(r\"(slabdev_\\w+)\\{(\\w+=\\\"[^\\\"\\n]*\\\",?)+\\} "
"-?\\d+$\", line)\n"
"    assert m, line\n"
"    assert m[1] == last or m[1] not in seen, line\n"
"    last = m[1]\n"
"    seen.add(last)\n"
"    n += 1\n"
"assert n == 8 + 22 + 12 + 3 * 10, n\n"
"print(\"ok\")\n";

static void prometheus_is_well_formed(struct kunit *test)
{
	pid_t pid = publish_default(test);
	struct program p;

	if (access(PYTHON, X_OK))
		kunit_skip(test, "there is no " PYTHON);
	slabinfo_run(test, &p, pid, "--prometheus");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "command=\"fake job\",rank=\"\",job=\"\","
				"space=\"main\","
				"spec=\"host\",backing=\"host\",kind=\"live\"} "
				"2607200\n");
	expect_text(test, p.out, "cache=\"size-1024\",type=\"general\"} 400\n");
	check_with_python(test, p.out, prometheus_script);
}

/* ---- Options ---------------------------------------------------------- */

static void bad_options(struct kunit *test)
{
	static const struct {
		const char *args[3];
		const char *complaint;
	} bad[] = {
		{ { "-s" }, "-s: this version cannot shrink" },
		{ { "-da" }, "-d: letters are set in the process" },
		{ { "-a" }, "-a: caches of libslabdev are never merged" },
		{ { "--numa" }, "-n: a space lies on one device" },
		{ { "-q" }, "invalid option" },
		{ { "--jsn" }, "unrecognized option" },
		{ { "--json", "-T" }, "exclude each other" },
		{ { "-S", "-L" }, "exclude each other" },
		{ { "-e", "-z" }, "exclude each other" },
		{ { "-N", "0" }, "a number from 1 on" },
		{ { "-N", "-3" }, "a number from 1 on" },
		{ { "-p", "12,x" }, "-p 12,x: process numbers" },
		{ { "-p", "99999999999" }, "process numbers" },
		{ { "--watch=0" }, "seconds from 0.1" },
		{ { "--watch=nan" }, "seconds from 0.1" },
		{ { "(" }, "pattern (: " },
		{ { "a", "b" }, "b: only one pattern" },
	};
	struct program p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		program_run(test, &p, (const char *const[]){
			    "tools/slabinfo", bad[i].args[0], bad[i].args[1],
			    NULL }, NULL);
		KUNIT_EXPECT_EQ_MSG(test, p.status, 2, "%s", bad[i].args[0]);
		expect_text(test, p.err, bad[i].complaint);
		expect_text(test, p.err, "Try 'slabinfo --help'.\n");
		KUNIT_EXPECT_EQ(test, strncmp(p.err, "slabinfo: ", 10), 0);
		KUNIT_EXPECT_STREQ(test, p.out, "");
	}
}

static void help_and_version(struct kunit *test)
{
	struct program p;

	program_run(test, &p, (const char *const[]){ "tools/slabinfo",
		    "--help", NULL }, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "Usage: slabinfo [OPTION]... [PATTERN]\n");
	program_run(test, &p, (const char *const[]){ "tools/slabinfo",
		    "--version", NULL }, NULL);
	KUNIT_EXPECT_STREQ(test, p.out,
			   "slabinfo (libslabdev) " SLABDEV_VERSION "\n");
}

static void output_that_cannot_be_written(struct kunit *test)
{
	struct kunit_process p;

	kunit_run_program(test, &p, (const char *const[]){
			  "sh", "-c", "exec \"$0\" --help >/dev/full",
			  program_path(test, "tools/slabinfo"), NULL });
	KUNIT_EXPECT_EQ(test, p.exit_code, 3);
	expect_text(test, p.err, "cannot be written");
}

static const struct kunit_case slabinfo_cases[] = {
	KUNIT_CASE(list_is_exact),
	KUNIT_CASE(finds_it_without_being_told),
	KUNIT_CASE(one_match_is_reported),
	KUNIT_CASE(backing_is_shown),
	KUNIT_CASE(streams_are_shown),
	KUNIT_CASE(totals_add_up),
	KUNIT_CASE(extended_totals_keep_their_form),
	KUNIT_CASE(activity_columns),
	KUNIT_CASE(sort_letters),
	KUNIT_CASE(names_sort_by_number),
	KUNIT_CASE(filters),
	KUNIT_CASE(two_processes),
	KUNIT_CASE(json_adds_up),
	KUNIT_CASE(json_of_nothing),
	KUNIT_CASE(prometheus_is_well_formed),
	KUNIT_CASE(bad_options),
	KUNIT_CASE(help_and_version),
	KUNIT_CASE(output_that_cannot_be_written),
	{}
};

static const struct kunit_suite slabinfo_suite = {
	.name = "slabinfo",
	.cases = slabinfo_cases,
};
kunit_test_suite(slabinfo_suite);
