// SPDX-License-Identifier: BSD-2-Clause
/* select.c - which cases run, and in which order. */
#include <fnmatch.h>
#include <stdio.h>

#include "tests/kunit/runner.h"

/* ---- Names ------------------------------------------------------------ */

static bool name_is_plain(const char *name)
{
	return name && *name && strlen(name) < KUNIT_PARAM_DESC_SIZE &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_-")];
}

static int complain(const char *suite, const char *name, const char *what)
{
	fprintf(stderr, "tests/run: suite '%s': '%s' %s\n",
		suite ? suite : "", name ? name : "", what);
	return -1;
}

static int suite_check(const struct kunit_suite *suite)
{
	const struct kunit_case *c, *d;

	if (!name_is_plain(suite->name))
		return complain(suite->name, suite->name, "is no plain name");
	if (!suite->cases || !suite->cases[0].run_case)
		return complain(suite->name, suite->name, "has no cases");
	for (c = suite->cases; c->run_case; c++) {
		if (!name_is_plain(c->name))
			return complain(suite->name, c->name,
					"is no plain name");
		if (!strcmp(c->name, suite->name))
			return complain(suite->name, c->name,
					"is named like its suite");
		for (d = suite->cases; d < c; d++)
			if (!strcmp(c->name, d->name))
				return complain(suite->name, c->name,
						"is there twice");
	}
	return 0;
}

int suites_check(struct suite_range suites)
{
	for (const struct kunit_suite *const *s = suites.begin;
	     s < suites.end; s++) {
		if (suite_check(*s))
			return -1;
		for (const struct kunit_suite *const *t = suites.begin;
		     t < s; t++)
			if (!strcmp((*s)->name, (*t)->name))
				return complain((*s)->name, (*s)->name,
						"is there twice");
	}
	return 0;
}

/* ---- Selection -------------------------------------------------------- */

/* NULL: none was given, and every suite runs. */
static const char *given_spec(void)
{
	const char *spec = getenv("SLABDEV_TEST_SPEC");

	return spec && *spec ? spec : NULL;
}

const char *test_spec(void)
{
	const char *spec = given_spec();

	return spec ? spec : "host";
}

/* "suite*" or "suite.case*": the part before the first '.' is the suite's. */
static bool filter_matches(const char *filter, const char *suite,
			   const char *name)
{
	char glob[256];
	char *dot;

	snprintf(glob, sizeof(glob), "%s", filter);
	dot = strchr(glob, '.');
	if (dot)
		*dot++ = '\0';
	return !fnmatch(glob, suite, 0) && (!dot || !fnmatch(dot, name, 0));
}

static bool case_is_selected(const struct kunit_suite *suite,
			     const struct kunit_case *c,
			     const struct options *opt)
{
	if (opt->quick && c->slow)
		return false;
	for (unsigned int i = 0; i < opt->nr_filters; i++)
		if (filter_matches(opt->filters[i], suite->name, c->name))
			return true;
	return !opt->nr_filters;
}

static void *zalloc_or_exit(size_t nr, size_t size)
{
	void *p = calloc(nr, size);

	if (!p) {
		fputs("tests/run: out of memory\n", stderr);
		exit(2);
	}
	return p;
}

static void unit_select(struct unit *unit, const struct options *opt)
{
	const struct kunit_suite *suite = unit->suite;
	unsigned int nr = 0;

	while (suite->cases[nr].run_case)
		nr++;
	unit->cases = zalloc_or_exit(nr + 1, sizeof(*unit->cases));
	for (unsigned int i = 0; i < nr; i++) {
		if (!case_is_selected(suite, &suite->cases[i], opt))
			continue;
		if (suite->cases[i].is_long && !opt->run_long)
			unit->left_out++;
		else
			unit->cases[unit->nr_cases++] = i;
	}
}

/* ---- Order ------------------------------------------------------------ */

/* Steele, Lea and Flood's splitmix64. */
static u64 random_next(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void shuffle_cases(struct unit *unit, u64 *state)
{
	for (unsigned int i = unit->nr_cases; i > 1; i--) {
		unsigned int j = (unsigned int)(random_next(state) % i);
		unsigned int tmp = unit->cases[i - 1];

		unit->cases[i - 1] = unit->cases[j];
		unit->cases[j] = tmp;
	}
}

static void shuffle(struct unit *units, unsigned int nr, u64 *state)
{
	for (unsigned int i = nr; i > 1; i--) {
		unsigned int j = (unsigned int)(random_next(state) % i);
		struct unit tmp = units[i - 1];

		units[i - 1] = units[j];
		units[j] = tmp;
	}
	for (unsigned int i = 0; i < nr; i++)
		shuffle_cases(&units[i], state);
}

void plan_make(struct plan *plan, struct suite_range suites,
	       const struct options *opt)
{
	size_t nr_suites = (size_t)(suites.end - suites.begin);
	u64 state = opt->seed;

	plan->nr = 0;
	plan->units = zalloc_or_exit(nr_suites * opt->repeat + 1,
				     sizeof(struct unit));
	for (unsigned int round = 0; round < opt->repeat; round++) {
		unsigned int first = plan->nr;

		for (size_t i = 0; i < nr_suites; i++) {
			struct unit *unit = &plan->units[plan->nr];

			*unit = (struct unit){ .suite = suites.begin[i] };
			unit_select(unit, opt);
			if (unit->nr_cases && (!given_spec() ||
					       unit->suite->any_space))
				plan->nr++;
			else
				free(unit->cases);
		}
		if (opt->shuffle)
			shuffle(plan->units + first, plan->nr - first, &state);
	}
	for (unsigned int i = 0; i < plan->nr; i++)
		plan->units[i].number = i + 1;
}

void plan_free(struct plan *plan)
{
	for (unsigned int i = 0; i < plan->nr; i++) {
		free(plan->units[i].cases);
		text_free(&plan->units[i].out);
	}
	free(plan->units);
}
