// SPDX-License-Identifier: BSD-2-Clause
/*
 * debug_spec_test.c - the text of SLABDEV_DEBUG: what it means for which cache.
 *
 * Flags are compared as letters, which is also how a failure prints them.
 * Random texts are read by a second reader, which cuts a copy into blocks and
 * names before it looks at any of them.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "core/debug_spec.h"
#include "tests/kunit/kunit.h"
#include "tests/random.h"

static void need_letters(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_SLAB_DEBUG))
		kunit_skip(test, "built without SLAB_DEBUG");
	if (!IS_ENABLED(CONFIG_SLAB_HAZARD))
		kunit_skip(test, "built without SLAB_HAZARD");
	if (!IS_ENABLED(CONFIG_SLAB_GUARD))
		kunit_skip(test, "built without SLAB_GUARD");
}

/* ---- What a text means ------------------------------------------------ */

struct meaning {
	const char *text;
	const char *name;	/* of a cache */
	u32 own;
	const char *letters;	/* it has then; "-" for none */
};

static const struct meaning meanings[] = {
	/* The kernel's examples. */
	{ "FZ", "dentry", 0, "FZ" },
	{ ",dentry", "dentry", 0, "FZPU" },
	{ ",dentry", "inode", 0, "-" },
	{ "P,kmalloc-*,dentry", "kmalloc-64", 0, "P" },
	{ "P,kmalloc-*,dentry", "dentry", 0, "P" },
	{ "P,kmalloc-*,dentry", "kmalloc", 0, "-" },
	{ "Z,dentry;U,kmalloc-*", "dentry", 0, "Z" },
	{ "Z,dentry;U,kmalloc-*", "kmalloc-8", 0, "U" },
	{ "Z,dentry;U,kmalloc-*", "inode", 0, "-" },
	{ "FZ;-,zs_handle,zspage", "zspage", 0, "-" },
	{ "FZ;-,zs_handle,zspage", "zs_handle", 0, "-" },
	{ "FZ;-,zs_handle,zspage", "zs_handles", 0, "FZ" },
	{ "O", "dentry", 0, "-" },
	/* No letters, and each of them. */
	{ "", "a", 0, "FZPU" },
	{ "-", "a", 0, "-" },
	{ ";", "a", 0, "-" },
	{ "FZPUTAOQG", "a", 0, "FZPUTAOQG" },
	{ "fzputaoqg", "a", 0, "FZPUTAOQG" },
	{ "T", "a", 0, "T" },
	{ "FZ-P", "a", 0, "P" },
	{ "FZ-", "a", 0, "-" },
	{ "--F", "a", 0, "F" },
	/* H is the space's, not the cache's. */
	{ "H", "a", 0, "-" },
	{ "HF", "a", 0, "F" },
	/* O is of all blocks, and shows only beside Z. */
	{ "FO", "a", 0, "F" },
	{ "FZ;O,b", "a", 0, "FZO" },
	{ "O-Z", "a", 0, "ZO" },
	{ "O", "a", DEBUG_RED_ZONE, "ZO" },
	/* Blocks: the last global one, the first that has the name. */
	{ "F;Z", "a", 0, "Z" },
	{ "F;Z;-", "a", 0, "-" },
	{ "F;T,a;Z", "a", 0, "T" },
	{ "T,a;P,a", "a", 0, "T" },
	{ "T,a*;P,ab", "ab", 0, "T" },
	{ "T,b;P,a", "a", 0, "P" },
	{ "FZ;-,a;U,a", "a", 0, "-" },
	{ ";;F;;T,a;;", "a", 0, "T" },
	{ ";;F;;T,a;;", "b", 0, "F" },
	/* Its own letters are always added to. */
	{ "F", "a", DEBUG_TRACE, "FT" },
	{ "-", "a", DEBUG_TRACE, "T" },
	{ "FZ;-,a", "a", DEBUG_TRACE, "T" },
	{ "FZ;P,a", "a", DEBUG_TRACE, "PT" },
	/* Names: whole, in their own case, or up to a star. */
	{ "F,Ab", "ab", 0, "-" },
	{ "F,Ab", "Ab", 0, "F" },
	{ "F,a", "ab", 0, "-" },
	{ "F,ab", "a", 0, "-" },
	{ "F,a*", "a", 0, "F" },
	{ "F,a*z", "abc", 0, "F" },
	{ "F,*", "abc", 0, "F" },
	{ "F,*;T", "abc", 0, "F" },
	{ "F,", "a", 0, "-" },
	{ ",", "a", 0, "-" },
	{ "F,,,a", "a", 0, "F" },
	{ "F,b,a;", "a", 0, "F" },
	{ "F,FZ", "FZ", 0, "F" },
	{ "F,a b", "a b", 0, "F" },
	{ "F,-", "-", 0, "F" },
};

static void describe_meaning(const struct meaning *m, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "'%s' of %s, own %#x", m->text,
		 m->name, m->own);
}
KUNIT_ARRAY_PARAM(meaning, meanings, describe_meaning)

static void means(struct kunit *test)
{
	const struct meaning *m = test->param_value;
	char letters[DEBUG_LETTERS_MAX], why[DEBUG_WHY_MAX];
	struct debug_spec s = { 0 };

	need_letters(test);
	KUNIT_EXPECT_FALSE(test, debug_spec_why(m->text, why, sizeof(why)));
	KUNIT_EXPECT_STREQ(test, why, "");
	KUNIT_ASSERT_EQ(test, debug_spec_parse(&s, m->text), 0);
	debug_letters(debug_spec_flags(&s, m->name, m->own), letters);
	KUNIT_EXPECT_STREQ(test, letters, m->letters);
}

static void hazard_is_global(struct kunit *test)
{
	struct debug_spec s = { 0 };

	need_letters(test);
	KUNIT_EXPECT_EQ(test, debug_spec_parse(&s, "FH"), 0);
	KUNIT_EXPECT_EQ(test, debug_spec_global(&s),
			DEBUG_CONSISTENCY | DEBUG_HAZARD);
	KUNIT_EXPECT_EQ(test, debug_spec_parse(&s, "Z,a"), 0);
	KUNIT_EXPECT_EQ(test, debug_spec_global(&s),
			DEBUG_CONSISTENCY | DEBUG_HAZARD);
	KUNIT_EXPECT_EQ(test, debug_spec_parse(&s, "H;F"), 0);
	KUNIT_EXPECT_EQ(test, debug_spec_global(&s), DEBUG_CONSISTENCY);
}

/* Blocks with names leave the global letters, and O, as they were before. */
static void named_blocks_change_nothing_global(struct kunit *test)
{
	struct debug_spec s = { 0 };

	need_letters(test);
	KUNIT_EXPECT_EQ(test, debug_spec_parse(&s, "FZO"), 0);
	KUNIT_EXPECT_EQ(test, debug_spec_parse(&s, "T,a"), 0);
	KUNIT_EXPECT_EQ(test, debug_spec_flags(&s, "b", 0),
			DEBUG_CONSISTENCY | DEBUG_RED_ZONE | DEBUG_NO_GROW);
	KUNIT_EXPECT_EQ(test, debug_spec_flags(&s, "a", 0), DEBUG_TRACE);
	/* The names of before are gone, whatever replaces them. */
	KUNIT_EXPECT_EQ(test, debug_spec_parse(&s, "P,b"), 0);
	KUNIT_EXPECT_EQ(test, debug_spec_flags(&s, "a", 0),
			DEBUG_CONSISTENCY | DEBUG_RED_ZONE | DEBUG_NO_GROW);
	KUNIT_EXPECT_EQ(test, debug_spec_parse(&s, "Z"), 0);
	KUNIT_EXPECT_EQ(test, debug_spec_flags(&s, "b", 0), DEBUG_RED_ZONE);
}

static void default_is_that_of_the_build(struct kunit *test)
{
	struct debug_spec s, wanted = { 0 };

	KUNIT_ASSERT_EQ(test, debug_spec_init(&s), 0);
	if (*CONFIG_SLAB_DEBUG_ON)
		KUNIT_EXPECT_EQ(test, debug_spec_parse(&wanted,
						       CONFIG_SLAB_DEBUG_ON),
				0);
	KUNIT_EXPECT_MEMEQ(test, &s, &wanted, sizeof(s));
}

/* ---- What is refused -------------------------------------------------- */

struct refusal {
	const char *text, *why;
};

static const struct refusal refusals[] = {
	{ "X", " for its 'X'" },
	{ "FZx", " for its 'x'" },
	{ "F Z", " for its byte 0x20" },
	{ "F\n", " for its byte 0x0a" },
	{ "\xc3\xbc", " for its byte 0xc3" },
	{ "F;Z,a;1", " for its '1'" },
	{ "*", " for its '*'" },
	{ "H,a", " for its 'H', which is for all caches and not for some" },
	{ "h-,a", " for its 'h', which is for all caches and not for some" },
	{ "FZ;PH,", " for its 'H', which is for all caches and not for some" },
};

static void describe_refusal(const struct refusal *r, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%zu%s",
		 (size_t)(r - refusals), r->why);
}
KUNIT_ARRAY_PARAM(refusal, refusals, describe_refusal)

static void refused(struct kunit *test)
{
	const struct refusal *r = test->param_value;
	struct debug_spec s = { 0 }, before;
	char why[DEBUG_WHY_MAX];

	need_letters(test);
	KUNIT_ASSERT_EQ(test, debug_spec_parse(&s, "FO;T,a"), 0);
	before = s;
	KUNIT_EXPECT_TRUE(test, debug_spec_why(r->text, why, sizeof(why)));
	KUNIT_EXPECT_STREQ(test, why, r->why);
	KUNIT_EXPECT_EQ(test, debug_spec_parse(&s, r->text), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, &s, &before, sizeof(s));
}

static void too_long_is_refused(struct kunit *test)
{
	char text[DEBUG_SPEC_MAX + 1], why[DEBUG_WHY_MAX];
	struct debug_spec s = { 0 };

	need_letters(test);
	memset(text, 'F', sizeof(text) - 1);
	text[DEBUG_SPEC_MAX - 1] = '\0';
	KUNIT_EXPECT_EQ(test, debug_spec_parse(&s, text), 0);
	KUNIT_EXPECT_STREQ(test, s.text, text);
	text[DEBUG_SPEC_MAX - 1] = 'F';
	text[DEBUG_SPEC_MAX] = '\0';
	KUNIT_EXPECT_EQ(test, debug_spec_parse(&s, text), -EINVAL);
	KUNIT_EXPECT_TRUE(test, debug_spec_why(text, why, sizeof(why)));
	KUNIT_EXPECT_STREQ(test, why,
			   " for its length of more than 1023 characters");
}

/* @text is refused where @lacks, with a reason that names @symbol. */
static void expect_lacking(struct kunit *test, const char *text, bool lacks,
			   const char *symbol)
{
	char why[DEBUG_WHY_MAX];
	struct debug_spec s = { 0 };

	KUNIT_EXPECT_EQ(test, debug_spec_why(text, why, sizeof(why)), lacks);
	KUNIT_EXPECT_EQ(test, strstr(why, symbol) != NULL, lacks);
	KUNIT_EXPECT_EQ(test, debug_spec_parse(&s, text),
			lacks ? -EINVAL : 0);
}

/* Letters that are not built in are none, and an empty text means some. */
static void lacking_letters_are_refused(struct kunit *test)
{
	static const char *const texts[] = {
		"F", "Z", "P", "U", "T", "A", "O", "Q", "", ",a",
	};
	bool lacks = !IS_ENABLED(CONFIG_SLAB_DEBUG);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		expect_lacking(test, texts[i], lacks,
			       "which takes a build with SLAB_DEBUG");
	expect_lacking(test, "H", !IS_ENABLED(CONFIG_SLAB_HAZARD),
		       "which takes a build with SLAB_HAZARD");
	if (!lacks)
		expect_lacking(test, "G", !IS_ENABLED(CONFIG_SLAB_GUARD),
			       "which takes a build with SLAB_GUARD");
	expect_lacking(test, "-", false, "SLAB");
	expect_lacking(test, ";-,a;", false, "SLAB");
}

/* ---- Random texts ----------------------------------------------------- */

#define BLOCKS_MAX 64
#define FIELDS_MAX 64

struct read_block {
	char *field[FIELDS_MAX];	/* letters, then names */
	int nr;
};

struct read_spec {
	char text[128];
	struct read_block block[BLOCKS_MAX];
	int nr;
};

static void split(struct read_spec *r, const char *text)
{
	char *at = r->text, *block, *field;

	snprintf(r->text, sizeof(r->text), "%s", text);
	r->nr = 0;
	while ((block = strsep(&at, ";"))) {
		if (!*block)
			continue;
		r->block[r->nr].nr = 0;
		while ((field = strsep(&block, ",")))
			r->block[r->nr].field[r->block[r->nr].nr++] = field;
		r->nr++;
	}
}

static u32 read_letters(const struct read_block *b, bool *ok, bool *no_grow)
{
	static const char upper[] = "FZPUTAOHQG", lower[] = "fzputaohqg";
	u32 flags = 0, i;
	const char *at;

	for (at = b->field[0]; *at; at++) {
		for (i = 0; upper[i] && *at != upper[i] && *at != lower[i]; i++)
			;
		if (*at == '-')
			flags = 0;
		else if (!upper[i])
			*ok = false;
		else if (upper[i] == 'O')
			*no_grow = true;
		else if (upper[i] == 'H' && b->nr > 1)
			*ok = false;
		else
			flags |= 1u << i;
	}
	return *b->field[0] ? flags : DEBUG_FULL;
}

static bool read_name(const char *pattern, const char *name)
{
	char whole[128];

	snprintf(whole, sizeof(whole), "%s", pattern);
	if (strchr(whole, '*'))
		strchr(whole, '*')[1] = '\0';
	return *whole && !fnmatch(whole, name, 0);
}

/* False: refused. Else the letters of a cache, from those of before. */
static bool read_flags(const char *text, const char *name, u32 own,
		       u32 *global, u32 *flags)
{
	bool ok = true, no_grow = false, found = false;
	struct read_spec r;
	u32 wanted = 0;
	int i, n;

	split(&r, text);
	if (!r.nr)
		*global = *text ? 0 : DEBUG_FULL;
	for (i = 0; i < r.nr; i++) {
		const struct read_block *b = &r.block[i];
		u32 letters = read_letters(b, &ok, &no_grow);

		if (b->nr == 1)
			*global = letters;
		for (n = 1; n < b->nr && !found; n++)
			if (read_name(b->field[n], name)) {
				found = true;
				wanted = letters;
			}
	}
	*flags = (own | (found ? wanted : *global)) & ~DEBUG_HAZARD;
	if (no_grow && (*flags & DEBUG_RED_ZONE))
		*flags |= DEBUG_NO_GROW;
	return ok;
}

static void random_text(u64 *state, char *text, u32 most)
{
	static const char good[] = "FZPUTAOQGfz--,,,,;;;;aabbc**";
	static const char all[] = "FZPUTAOQGHhfz--,,,,;;;aabbc**X";
	bool any = !random_below(state, 4);
	u32 len = random_below(state, most + 1);

	while (len--)
		*text++ = any ? all[random_below(state, sizeof(all) - 1)] :
				good[random_below(state, sizeof(good) - 1)];
	*text = '\0';
}

/* A cache's letters look like names here too, so that many blocks are good. */
static void reads_as_the_slow_reader(struct kunit *test)
{
	static const char *const names[] = {
		"a", "b", "ab", "aab", "abc", "F", "Zb", "c-c",
	};
	u64 state = random_seed(test);
	u32 i, accepted = 0;

	need_letters(test);
	for (i = 0; i < 100000; i++) {
		u32 own = random_below(&state, 4) ? 0 : DEBUG_RED_ZONE;
		struct debug_spec s = { .global = random_below(&state, 64) };
		const char *name = names[random_below(&state,
						      ARRAY_SIZE(names))];
		u32 global = s.global, flags = 0;
		char text[64];
		bool good;

		random_text(&state, text, i % 24);
		good = read_flags(text, name, own, &global, &flags);
		KUNIT_ASSERT_EQ_MSG(test, !debug_spec_parse(&s, text), good,
				    "'%s'", text);
		if (!good)
			continue;
		accepted++;
		KUNIT_ASSERT_EQ_MSG(test, debug_spec_flags(&s, name, own),
				    flags, "'%s' of %s", text, name);
		KUNIT_ASSERT_EQ_MSG(test, debug_spec_global(&s), global,
				    "'%s'", text);
	}
	KUNIT_EXPECT_GT(test, accepted, 10000);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(means, meaning_gen_params),
	KUNIT_CASE(hazard_is_global),
	KUNIT_CASE(named_blocks_change_nothing_global),
	KUNIT_CASE(default_is_that_of_the_build),
	KUNIT_CASE_PARAM(refused, refusal_gen_params),
	KUNIT_CASE(too_long_is_refused),
	KUNIT_CASE(lacking_letters_are_refused),
	KUNIT_CASE(reads_as_the_slow_reader),
	{ 0 }
};

static const struct kunit_suite debug_spec_suite = {
	.name = "debug_spec",
	.cases = cases,
};
kunit_test_suite(debug_spec_suite);
