// SPDX-License-Identifier: BSD-2-Clause
/* debug_spec.c - see debug_spec.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/debug_spec.h"

/* The letter of bit n is the n-th. */
static const char letters[] = "FZPUTAOHQG";

static_assert(DEBUG_GUARD == 1u << (sizeof(letters) - 2), "a bit a letter");
static_assert(DEBUG_LETTERS_MAX > sizeof(letters) - 1, "room for all");

/* ---- Blocks ----------------------------------------------------------- */

struct block {
	const char *letters;
	size_t nr_letters;
	const char *names;	/* up to ";" or the end; NULL: none */
	u32 flags;		/* unknown letters have none */
};

/* The bit of a letter; 0: no such letter. */
static u32 letter_flag(char c)
{
	u32 i;

	if (c >= 'a' && c <= 'z')
		c = (char)(c - 'a' + 'A');
	for (i = 0; letters[i]; i++)
		if (letters[i] == c)
			return 1u << i;
	return 0;
}

static u32 letter_flags(const char *at, size_t n)
{
	u32 flags = 0;

	for (; n; n--, at++) {
		if (*at == '-')
			flags &= DEBUG_NO_GROW;
		else
			flags |= letter_flag(*at);
	}
	return flags;
}

/* Take one block; where the next one begins. Empty ones are passed over. */
static const char *take_block(const char *at, struct block *b)
{
	at += strspn(at, ";");
	b->letters = at;
	b->nr_letters = strcspn(at, ",;");
	b->flags = *at == ',' ? DEBUG_FULL :
				letter_flags(at, b->nr_letters);
	at += b->nr_letters;
	b->names = *at == ',' ? at + 1 : NULL;
	at += strcspn(at, ";");
	return at + strspn(at, ";");
}

/* ---- What is refused -------------------------------------------------- */

const char *debug_lacking(u32 flags)
{
	if (!IS_ENABLED(CONFIG_SLAB_HAZARD) && (flags & DEBUG_HAZARD))
		return "SLAB_HAZARD";
	if (!IS_ENABLED(CONFIG_SLAB_DEBUG) && (flags & ~DEBUG_HAZARD))
		return "SLAB_DEBUG";
	if (!IS_ENABLED(CONFIG_SLAB_GUARD) && (flags & DEBUG_GUARD))
		return "SLAB_GUARD";
	return NULL;
}

static bool refuse_letter(char c, bool named, char *why, size_t len)
{
	u32 flag = letter_flag(c);

	if (c == '-')
		return false;
	if (!flag && (c <= ' ' || c > '~'))
		snprintf(why, len, " for its byte 0x%02x", (unsigned char)c);
	else if (!flag)
		snprintf(why, len, " for its '%c'", c);
	else if (debug_lacking(flag))
		snprintf(why, len, " for its '%c', which takes a build with "
			 "%s", c, debug_lacking(flag));
	else if (named && flag == DEBUG_HAZARD)
		snprintf(why, len, " for its '%c', which is for all caches and "
			 "not for some", c);
	else
		return false;
	return true;
}

static bool refuse_full(char *why, size_t len)
{
	if (!debug_lacking(DEBUG_FULL))
		return false;
	snprintf(why, len, ", as it means FZPU, which takes a build with %s",
		 debug_lacking(DEBUG_FULL));
	return true;
}

static bool refuse_block(const struct block *b, char *why, size_t len)
{
	size_t i;

	for (i = 0; i < b->nr_letters; i++)
		if (refuse_letter(b->letters[i], b->names != NULL, why, len))
			return true;
	return b->names && !b->nr_letters && refuse_full(why, len);
}

bool debug_spec_why(const char *text, char *why, size_t len)
{
	struct block b;

	*why = '\0';
	if (!*text)
		return refuse_full(why, len);
	if (strlen(text) >= DEBUG_SPEC_MAX) {
		snprintf(why, len, " for its length of more than %d "
			 "characters", DEBUG_SPEC_MAX - 1);
		return true;
	}
	while (*text) {
		text = take_block(text, &b);
		if (refuse_block(&b, why, len))
			return true;
	}
	return false;
}

/* ---- What is wanted --------------------------------------------------- */

static void take_blocks(struct debug_spec *s)
{
	const char *at = s->text;
	u32 global = s->global;
	bool no_grow = false, replaced = false;
	struct block b;

	do {
		at = take_block(at, &b);
		no_grow |= (b.flags & DEBUG_NO_GROW) != 0;
		if (b.names)
			continue;
		global = b.flags & ~DEBUG_NO_GROW;
		replaced = true;
	} while (*at);
	s->global = global;
	s->no_grow = no_grow || (s->no_grow && !replaced);
}

int debug_spec_parse(struct debug_spec *s, const char *text)
{
	char why[DEBUG_WHY_MAX];

	if (debug_spec_why(text, why, sizeof(why)))
		return -EINVAL;
	memcpy(s->text, text, strlen(text) + 1);
	take_blocks(s);
	if (!*text)
		s->global = DEBUG_FULL;
	return 0;
}

int debug_spec_init(struct debug_spec *s)
{
	static const char on[] = CONFIG_SLAB_DEBUG_ON;

	*s = (struct debug_spec){ 0 };
	return *on ? debug_spec_parse(s, on) : 0;
}

static bool name_is(const char *name, const char *pattern, size_t len)
{
	const char *star = memchr(pattern, '*', len);

	if (star)
		return !strncmp(name, pattern, (size_t)(star - pattern));
	return strlen(name) == len && !memcmp(name, pattern, len);
}

static bool has_name(const struct block *b, const char *name)
{
	const char *at;
	size_t len;

	for (at = b->names; at; at = at[len] == ',' ? at + len + 1 : NULL) {
		len = strcspn(at, ",;");
		if (name_is(name, at, len))
			return true;
	}
	return false;
}

/* Those of the first block that has the name; else the global ones. */
static u32 wanted_of(const struct debug_spec *s, const char *name)
{
	const char *at = s->text;
	struct block b;

	while (*at) {
		at = take_block(at, &b);
		if (has_name(&b, name))
			return b.flags;
	}
	return s->global;
}

u32 debug_spec_flags(const struct debug_spec *s, const char *name, u32 own)
{
	u32 flags = own | wanted_of(s, name);

	flags &= ~(DEBUG_HAZARD | DEBUG_NO_GROW);
	if (s->no_grow && (flags & DEBUG_RED_ZONE))
		flags |= DEBUG_NO_GROW;
	return flags;
}

void debug_letters(u32 flags, char *buf)
{
	char *end = buf;
	u32 i;

	for (i = 0; letters[i]; i++)
		if (flags & 1u << i)
			*end++ = letters[i];
	if (end == buf)
		*end++ = '-';
	*end = '\0';
}
