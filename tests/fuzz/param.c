// SPDX-License-Identifier: BSD-2-Clause
/*
 * param.c - an environment that nobody would have.
 *
 * What is accepted is within the bounds that the table promises; what is
 * refused has a reason that names the parameter. A number of bytes is compared
 * with arithmetic that cannot overflow.
 *
 *	input	 = flags { variable }
 *	variable = name { character } 0
 *
 * where name chooses a row of the table and what stands before the value.
 */
#include <stdlib.h>
#include <string.h>

#include <slabdev/slabdev.h>

#include "core/log.h"
#include "core/param.h"
#include "tests/fuzz/fuzz.h"

#define VARIABLES_MAX 8
#define LENGTH_MAX 600

static char text[VARIABLES_MAX][LENGTH_MAX];

/* Digits and an optional suffix, as param.h says; false: not accepted. */
static bool reference_bytes(const char *at, u64 *bytes)
{
	static const char suffixes[] = "KMGT";
	unsigned __int128 n = 0;
	const char *digits = at, *suffix;

	for (; *at >= '0' && *at <= '9'; at++) {
		n = 10 * n + (unsigned int)(*at - '0');
		if (n > UINT64_MAX)
			return false;
	}
	if (at == digits)
		return false;
	if (*at) {
		suffix = strchr(suffixes, *at++);
		if (!suffix || *at)
			return false;
		n <<= 10 * (suffix - suffixes + 1);
	}
	*bytes = (u64)n;
	return n <= UINT64_MAX;
}

static void check_bytes(const char *value)
{
	u64 got = 0, expected = 0;
	bool accepted = reference_bytes(value, &expected);

	fuzz_check(!param_parse_bytes(value, &got) == accepted);
	if (accepted)
		fuzz_check(got == expected);
}

static void check_accepted(const struct params *p)
{
	fuzz_check(!p->limit ||
		   (p->limit >= 2 * MIB && p->limit <= 1024 * TIB));
	fuzz_check(p->limit_permille <= 1000);
	fuzz_check(!p->limit || !p->limit_permille);
	fuzz_check(!p->reserve ||
		   (p->reserve >= 2 * MIB && p->reserve <= 1024 * TIB));
	fuzz_check(!p->sheaf_bytes ||
		   (p->sheaf_bytes >= 64 * KIB && p->sheaf_bytes <= 64 * GIB));
	fuzz_check(p->policy <= PARAM_AGGRESSIVE);
	fuzz_check(p->log_level <= LOG_DEBUG);
	fuzz_check(memchr(p->log_path, '\0', sizeof(p->log_path)));
	fuzz_check(memchr(p->debug.text, '\0', sizeof(p->debug.text)));
	fuzz_check(!(debug_spec_flags(&p->debug, "large", 0) & DEBUG_HAZARD));
}

/* A row's name, as it is or cut or longer, or none of ours. */
static char *begin_variable(char *to, struct fuzz_input *in)
{
	size_t nr;
	const struct param_info *table = param_table(&nr);
	u8 how = take_u8(in);
	size_t n;

	if (how % 16 == 15)
		return stpcpy(to, "SLABDEV_");
	to = stpcpy(to, table[how % 16 % nr].name);
	n = how / 16 == 15 ? take_u8(in) % 16 : 0;
	to -= min(n, (size_t)8);
	*to = '\0';
	return how / 16 == 14 ? to : stpcpy(to, "=");
}

static void take_variable(char *to, struct fuzz_input *in)
{
	char *end = to + LENGTH_MAX - 1, *value;

	value = to = begin_variable(to, in);
	while (to < end && (*to = (char)take_u8(in)))
		to++;
	*to = '\0';
	check_bytes(value);
}

void fuzz_one(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	bool secure = take_u8(&in) & 1;
	char *env[VARIABLES_MAX + 1];
	struct params p;
	size_t nr;

	for (nr = 0; nr < VARIABLES_MAX && in.at < in.end; nr++) {
		env[nr] = text[nr];
		take_variable(env[nr], &in);
	}
	env[nr] = NULL;
	if (!params_parse(&p, env, secure))
		check_accepted(&p);
	else
		fuzz_check(strstr(slabdev_last_error(), "SLABDEV_"));
	if (secure)
		fuzz_check(!params_parse(&p, env, true));
}
