// SPDX-License-Identifier: BSD-2-Clause
/* fault_attr.c - see fault_attr.h. */
#include <string.h>

#include "core/fault_attr.h"
#include "core/param.h"

bool fault_is_on(const struct fault_attr *a)
{
	return a->nth || (a->probability && a->times);
}

/* A number below 100 that depends on the seed and on how many came before. */
static u32 draw(struct fault_attr *a)
{
	u64 x = a->seed + ++a->drawn * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (u32)((x ^ x >> 31) % 100);
}

static bool is_nth(struct fault_attr *a)
{
	return !--a->nth;
}

static bool is_unlucky(struct fault_attr *a, u64 size)
{
	if (!a->probability || !a->times)
		return false;
	if (a->space > size) {
		a->space -= size;
		return false;
	}
	if (a->interval > 1 && ++a->counted % a->interval)
		return false;
	return draw(a) < a->probability;
}

bool fault_should_fail(struct fault_attr *a, u64 size)
{
	a->asked++;
	if (!(a->nth ? is_nth(a) : is_unlucky(a, size)))
		return false;
	if (a->times > 0)
		a->times--;
	a->fired++;
	return true;
}

bool fault_is_for(const struct fault_setup *f, const char *cache)
{
	size_t len = strlen(f->cache);

	if (!len)
		return true;
	if (f->cache[len - 1] == '*')
		return !strncmp(f->cache, cache, len - 1);
	return !strcmp(f->cache, cache);
}

/* ---- The text --------------------------------------------------------- */

static bool take_u64(const char *value, u64 least, u64 most, u64 *n)
{
	/* The suffixes are for bytes. */
	if (value[strspn(value, "0123456789")])
		return false;
	return !param_parse_bytes(value, n) && *n >= least && *n <= most;
}

static bool take_u32(const char *value, u32 most, u32 *to)
{
	u64 n;

	if (!take_u64(value, 0, most, &n))
		return false;
	*to = (u32)n;
	return true;
}

static bool take_times(const char *value, s64 *to)
{
	u64 n;

	if (!strcmp(value, "-1")) {
		*to = -1;
		return true;
	}
	if (!take_u64(value, 0, INT64_MAX, &n))
		return false;
	*to = (s64)n;
	return true;
}

static bool take_name(const char *value, char *to)
{
	size_t len = strlen(value);
	const char *star = strchr(value, '*');

	if (!len || len >= FAULT_NAME_MAX || (star && star[1]))
		return false;
	memcpy(to, value, len + 1);
	return true;
}

/* In the order of the kernel's numbers; and those that it gives otherwise. */
enum key {
	INTERVAL, PROBABILITY, SPACE, TIMES, NR_NUMBERS,
	NTH = NR_NUMBERS, VERBOSE, SEED, CACHE, CACHE_FILTER, NR_KEYS
};

static bool set_value(struct fault_setup *f, enum key key, const char *value)
{
	struct fault_attr *a = &f->attr;
	u32 filter;

	switch (key) {
	case INTERVAL:
		return take_u64(value, 0, UINT64_MAX, &a->interval);
	case PROBABILITY:
		return take_u32(value, 100, &a->probability);
	case SPACE:
		return !param_parse_bytes(value, &a->space);
	case TIMES:
		return take_times(value, &a->times);
	case NTH:
		return take_u64(value, 0, UINT64_MAX, &a->nth);
	case VERBOSE:
		return take_u32(value, 2, &a->verbose);
	case SEED:
		return take_u64(value, 0, UINT64_MAX, &a->seed);
	case CACHE:
		return take_name(value, f->cache);
	case CACHE_FILTER:
		if (!take_u32(value, 1, &filter))
			return false;
		f->marked_only = filter;
		return true;
	default:
		return false;
	}
}

/* Which key has the @len bytes of @name; NR_KEYS: none. */
static enum key find_key(const char *name, size_t len)
{
	static const char *const names[NR_KEYS] = {
		[INTERVAL] = "interval", [PROBABILITY] = "probability",
		[SPACE] = "space", [TIMES] = "times", [NTH] = "nth",
		[VERBOSE] = "verbose", [SEED] = "seed", [CACHE] = "cache",
		[CACHE_FILTER] = "cache-filter",
	};
	u32 i;

	for (i = 0; i < NR_KEYS; i++)
		if (strlen(names[i]) == len && !strncmp(names[i], name, len))
			break;
	return (enum key)i;
}

/* One of the words; @nr_numbers: how many were numbers alone. */
static bool parse_word(struct fault_setup *f, const char *word, u32 nr_numbers)
{
	const char *equals = strchr(word, '=');

	if (!equals)
		return nr_numbers < NR_NUMBERS &&
		       set_value(f, (enum key)nr_numbers, word);
	return set_value(f, find_key(word, (size_t)(equals - word)),
			 equals + 1);
}

bool fault_parse(struct fault_setup *f, const char *text)
{
	char word[FAULT_NAME_MAX + 16];
	u32 nr_numbers = 0;
	bool pairs = false;
	size_t len;

	do {
		len = strcspn(text, ",");
		if (len >= sizeof(word))
			return false;
		memcpy(word, text, len);
		word[len] = '\0';
		if (!parse_word(f, word, nr_numbers))
			return false;
		if (strchr(word, '='))
			pairs = true;
		else if (pairs)
			return false;
		else
			nr_numbers++;
		text += len;
	} while (*text++ == ',');
	return !nr_numbers || nr_numbers == NR_NUMBERS;
}
