// SPDX-License-Identifier: BSD-2-Clause
/* slabbench_shown.c - tables, JSON and pictures of slabbench. */
#include <stdio.h>
#include <unistd.h>

#include "tests/kunit/spawn.h"
#include "tests/slabbench_run.h"

#define PYTHON "/usr/bin/python3"

void table_has_rows_and_ratios(struct kunit *test)
{
	struct program p;

	bench_run(test, &p, "--quick", "--subject=slabdev,mag,glibc",
		  "--workload=pair,replace2", "--size=256,4K,small");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	expect_in_order(test, p.out, (const char *const[]){
		"machine   ", "system    Linux ", "glibc ", "versions  ",
		"slabdev " SLABDEV_VERSION, "measured  1 round of 2 samples "
		"(a trial), seed 1", "readings  ", "\npair: allocate an "
		"object and free it; ns a pair\n", "256         4K\n",
		"\n  slabdev ", "\n  mag ", "\n  glibc ", "\n  slabdev/mag ",
		"\n  slabdev/best ", "\nreplace2: ", "      small\n",
		"\n  slabdev ", NULL });
	expect_no_text(test, p.out, "jemalloc");
}

static const char json_script[] =
"import json, sys\n"
"d = json.load(sys.stdin)\n"
"assert d['version'] == 1\n"
"m = d['machine']\n"
"assert m['processors'] > 0 and m['memory'] > 0 and m['release'], m\n"
"assert d['method']['seed'] == 7 and d['method']['rounds'] == 3\n"
"assert d['method']['best_reading'] > 0\n"
"names = [s['name'] for s in d['subjects']]\n"
"assert names == ['slabdev', 'cache', 'mag', 'nowhere'], names\n"
"assert d['subjects'][0]['kind'] == 'ours'\n"
"cells = [(c['workload'], c['size']) for c in d['cells']]\n"
"assert cells == [('pair', '256'), ('lifo', '256'), ('lifo', 'mixed'),\n"
"                 ('metadata', '256')], cells\n"
"for c in d['cells']:\n"
"    assert [r['subject'] for r in c['results']] == names\n"
"    can = [r['status'] for r in c['results']]\n"
"    figure = c['workload'] == 'metadata'\n"
"    mixed = c['size'] == 'mixed'\n"
"    assert can[0] == 'measured', can\n"
"    assert can[1] == ('none' if figure or mixed else 'measured'), can\n"
"    assert can[2] == ('none' if figure else 'measured'), can\n"
"    assert can[3] == 'absent', can\n"
"    for r in c['results']:\n"
"        if r['status'] != 'measured':\n"
"            assert 'value' not in r, r\n"
"            assert (r['why'] != '') == (r['status'] == 'absent'), r\n"
"            continue\n"
"        v = r['value']\n"
"        assert 0 < v['low'] <= v['median'] <= v['high'], r\n"
"        rounds = [s['round'] for s in r['samples']]\n"
"        assert rounds == ([0] if figure else [0, 0, 1, 1, 2, 2]), r\n"
"        assert 0 <= r['nr_quiet'] <= len(rounds)\n"
"        if not figure:\n"
"            assert all(s['reading'] > 0 for s in r['samples']), r\n"
"            q = r['ratio']\n"
"            assert 0 < q['low'] <= q['median'] <= q['high'], r\n"
"            assert r['subject'] != 'mag' or q['median'] == 1, r\n"
"print('ok')\n";

/* Runs @script with the file @path as its input; it must print "ok". */
static void check_with_python(struct kunit *test, const char *path,
			      const char *script)
{
	struct kunit_process p;

	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", PYTHON " -c \"$1\" <\"$2\"", "sh", script, path,
		NULL });
	KUNIT_EXPECT_EQ_MSG(test, p.exit_code, 0, "%s", p.err);
	KUNIT_EXPECT_STREQ(test, p.out, "ok\n");
}

static void remove_file(void *path)
{
	unlink(path);
}

/* A file name for slabbench to write to, as an option. */
static const char *file_option(struct kunit *test, const char *option,
			       const char **path)
{
	size_t n = strlen(option);
	char *text = kunit_kzalloc(test, n + 64);
	int fd;

	sprintf(text, "%s/tmp/slabbench-test-XXXXXX", option);
	fd = mkstemp(text + n);
	KUNIT_ASSERT_GE(test, fd, 0);
	close(fd);
	kunit_add_action(test, remove_file, text + n);
	*path = text + n;
	return text;
}

void json_is_complete(struct kunit *test)
{
	const char *path, *json = file_option(test, "--json=", &path);
	struct program p;

	if (access(PYTHON, X_OK))
		kunit_skip(test, "there is no " PYTHON);
	bench_run(test, &p, "--quick", "--rounds=3", "--seed=7",
		  "--library=nowhere=/nowhere.so",
		  "--subject=slabdev,cache,mag,nowhere",
		  "--workload=pair,lifo,metadata", "--size=256,mixed", json);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	/* A file has one, so that the tables are on standard output. */
	expect_text(test, p.out, "\nlifo: ");
	check_with_python(test, path, json_script);
	/* Without one they are not. */
	bench_run(test, &p, "--quick", "--subject=null", "--workload=pair",
		  "--size=64", "--json");
	KUNIT_EXPECT_EQ(test, strncmp(p.out, "{\"version\":1,", 13), 0);
	KUNIT_EXPECT_PTR_EQ(test, strchr(p.out, '\n'),
			    p.out + strlen(p.out) - 1);
}

static const char svg_script[] =
"import sys, xml.etree.ElementTree as e\n"
"ns = '{http://www.w3.org/2000/svg}'\n"
"root = e.parse(sys.stdin).getroot()\n"
"assert root.tag == ns + 'svg'\n"
"groups = root.findall(ns + 'g')\n"
"assert len(groups) == 2, groups\n"
"for g in groups:\n"
"    assert len(g.findall(ns + 'circle')) == 3\n"
"    words = [t.text for t in g.findall(ns + 'text')]\n"
"    assert 'slabdev' in words and 'mag' in words, words\n"
"print('ok')\n";

void picture_has_a_panel_for_each_cell(struct kunit *test)
{
	const char *path, *svg = file_option(test, "--svg=", &path);
	struct program p;

	if (access(PYTHON, X_OK))
		kunit_skip(test, "there is no " PYTHON);
	bench_run(test, &p, "--quick", "--subject=slabdev,mag,glibc",
		  "--workload=pair,bulk,metadata", "--size=256", svg);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	check_with_python(test, path, svg_script);
}

void list_names_what_there_is(struct kunit *test)
{
	struct program p;

	bench_run(test, &p, "--list", "--library=mine=/lib/mine.so");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_in_order(test, p.out, (const char *const[]){
		"Workloads", "\n  pair ", " 64 256 1K 4K 64K 1M\n",
		"\n  random ", "\n  handoff2 ", "\n  events ",
		"\n  queries ", "\n  metadata ", "\n  phases ",
		" peak limit\n", "Subjects", "\n  slabdev ",
		"\n  stream ", "\n  across ", "\n  loose ",
		"\n  mag ", "\n  cursor ", "\n  glibc ", "\n  jemalloc ",
		"\n  mimalloc ",
		"\n  tcmalloc ", "\n  mine         /lib/mine.so\n", NULL });
}
