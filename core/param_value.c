// SPDX-License-Identifier: BSD-2-Clause
/*
 * param_value.c - from the text of one parameter to its value.
 *
 * Strict on purpose: no signs, no blanks, nothing behind the value. A job that
 * ran for a day with another limit than its script seems to say costs more
 * than a refusal at its first second.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/overflow.h"
#include "core/param_private.h"

/* A chunk, below which a space cannot work; and more than any device has. */
#define MEMORY_MIN (2 * MIB)
#define MEMORY_MAX (1024 * TIB)
/* A few sheaves of small objects; who wants none opens without sheaves. */
#define SHEAF_MIN (64 * KIB)
#define SHEAF_MAX (64 * GIB)
#define RANKS_MAX 4096

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits from *@text on, which moves behind them; at least one. */
static bool take_number(const char **text, u64 *n)
{
	const char *p = *text;

	if (!is_digit(*p))
		return false;
	for (*n = 0; is_digit(*p); p++) {
		if (mul_overflows(*n, 10, n) ||
		    add_overflows(*n, (u64)(*p - '0'), n))
			return false;
	}
	*text = p;
	return true;
}

int param_parse_bytes(const char *text, u64 *bytes)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	u64 n;

	if (!take_number(&text, &n))
		return -EINVAL;
	if (*text) {
		suffix = strchr(suffixes, *text);
		if (!suffix || text[1])
			return -EINVAL;
		if (mul_overflows(n, KIB << (10 * (suffix - suffixes)), &n))
			return -EINVAL;
	}
	*bytes = n;
	return 0;
}

static bool bytes_within(const char *value, u64 low, u64 high, u64 *bytes)
{
	return !param_parse_bytes(value, bytes) && *bytes >= low &&
	       *bytes <= high;
}

/*
 * A decimal fraction with up to three digits behind the point, in thousandths.
 * *@text moves behind it.
 */
static bool take_thousandths(const char **text, u64 *thousandths)
{
	u64 n, scale = 100;

	if (!take_number(text, &n) || n > 1000)
		return false;
	n *= 1000;
	if (**text == '.') {
		if (!is_digit(*++*text))
			return false;
		for (; is_digit(**text); ++*text, scale /= 10) {
			if (!scale)
				return false;
			n += (u64)(**text - '0') * scale;
		}
	}
	*thousandths = n;
	return true;
}

/* "0.4", "40%" and "12.5%"; a number without point and percent is bytes. */
static bool parse_fraction(const char *value, u32 *permille)
{
	u64 n;

	if (!take_thousandths(&value, &n))
		return false;
	if (*value == '%') {
		/* Thousandths of a percent: no finer than permille. */
		if (n % 100)
			return false;
		n /= 100;
		value++;
	}
	if (*value || n < 1 || n > 1000)
		return false;
	*permille = (u32)n;
	return true;
}

bool param_parse_limit(struct params *p, const char *value)
{
	if (strpbrk(value, ".%"))
		return parse_fraction(value, &p->limit_permille);
	return bytes_within(value, MEMORY_MIN, MEMORY_MAX, &p->limit);
}

bool param_parse_ranks(struct params *p, const char *value)
{
	u64 n;

	if (!take_number(&value, &n) || *value || n < 1 || n > RANKS_MAX)
		return false;
	p->ranks = (u32)n;
	return true;
}

/* The index of a name among @n, some of which may be NULL. */
static bool find_name(const char *const *names, u32 n, const char *value,
		      u32 *index)
{
	for (u32 i = 0; i < n; i++) {
		if (names[i] && !strcmp(value, names[i])) {
			*index = i;
			return true;
		}
	}
	return false;
}

bool param_parse_backing(struct params *p, const char *value)
{
	static const char *const names[] = {
		[PARAM_BACKING_AUTO] = "auto", [PARAM_VMM] = "vmm",
		[PARAM_POOL] = "pool", [PARAM_MALLOC] = "malloc",
	};

	return find_name(names, ARRAY_SIZE(names), value, &p->backing);
}

bool param_parse_ordering(struct params *p, const char *value)
{
	static const char *const names[] = {
		[PARAM_ORDER_STREAM] = "stream", [PARAM_ORDER_HOST] = "host",
	};

	return find_name(names, ARRAY_SIZE(names), value, &p->ordering);
}

bool param_parse_libcuda(struct params *p, const char *value)
{
	size_t len = strlen(value);

	if (!len || len >= sizeof(p->libcuda))
		return false;
	memcpy(p->libcuda, value, len + 1);
	return true;
}

bool param_parse_reserve(struct params *p, const char *value)
{
	return bytes_within(value, MEMORY_MIN, MEMORY_MAX, &p->reserve);
}

bool param_parse_sheaf(struct params *p, const char *value)
{
	return bytes_within(value, SHEAF_MIN, SHEAF_MAX, &p->sheaf_bytes);
}

bool param_parse_policy(struct params *p, const char *value)
{
	static const char trim[] = "trim:";

	if (!strcmp(value, "retain")) {
		p->policy = PARAM_RETAIN;
	} else if (!strcmp(value, "aggressive")) {
		p->policy = PARAM_AGGRESSIVE;
	} else if (!strncmp(value, trim, strlen(trim))) {
		p->policy = PARAM_TRIM;
		return bytes_within(value + strlen(trim), 0, MEMORY_MAX,
				    &p->keep_bytes);
	} else {
		return false;
	}
	return true;
}

static bool parse_bool(const char *value, bool *b)
{
	if (strcmp(value, "0") && strcmp(value, "1"))
		return false;
	*b = *value == '1';
	return true;
}

bool param_parse_assert_steady(struct params *p, const char *value)
{
	return parse_bool(value, &p->assert_steady);
}

bool param_parse_debug(struct params *p, const char *value)
{
	return !debug_spec_parse(&p->debug, value);
}

bool param_parse_failslab(struct params *p, const char *value)
{
	/* Nobody sees it otherwise. */
	p->failslab.attr.verbose = 2;
	return IS_ENABLED(CONFIG_SLAB_DEBUG) &&
	       fault_parse(&p->failslab, value);
}

bool param_failslab_why(const char *value, char *why, size_t len)
{
	struct fault_setup f = FAULT_SETUP_INIT;

	if (!IS_ENABLED(CONFIG_SLAB_DEBUG))
		snprintf(why, len, " by a build without SLAB_DEBUG");
	return !IS_ENABLED(CONFIG_SLAB_DEBUG) || !fault_parse(&f, value);
}

bool param_parse_report(struct params *p, const char *value)
{
	return report_policy_parse(&p->report, value);
}

bool param_parse_annotate(struct params *p, const char *value)
{
	bool annotate = true;

	if (!parse_bool(value, &annotate))
		return false;
	p->no_annotations = !annotate;
	return true;
}

/* "MIN-MAX", both with a suffix or without. */
static bool parse_sizes(const char *value, u64 *low, u64 *high)
{
	size_t len = strcspn(value, "-");
	char text[24];

	if (!value[len] || len >= sizeof(text))
		return false;
	memcpy(text, value, len);
	text[len] = '\0';
	return bytes_within(text, 0, MEMORY_MAX, low) &&
	       bytes_within(value + len + 1, max(*low, (u64)1), MEMORY_MAX,
			    high);
}

/* A build without the mode does not have it. */
bool param_parse_guard(struct params *p, const char *value)
{
	u64 n = 1;

	if (!IS_ENABLED(CONFIG_SLAB_GUARD))
		return false;
	if (value[strcspn(value, ",-")] != '-' || strchr(value, ',')) {
		if (!take_number(&value, &n) || !n)
			return false;
		if (*value && *value++ != ',')
			return false;
		p->guard_every = n;
		return !*value && value[-1] != ',' ? true :
		       parse_sizes(value, &p->guard_min, &p->guard_max);
	}
	p->guard_every = n;
	return parse_sizes(value, &p->guard_min, &p->guard_max);
}

bool param_parse_stats(struct params *p, const char *value)
{
	return parse_bool(value, &p->stats);
}

bool param_parse_membarrier(struct params *p, const char *value)
{
	return parse_bool(value, &p->membarrier);
}

bool param_parse_log(struct params *p, const char *value)
{
	static const char *const levels[] = {
		[LOG_NONE] = "none", [LOG_ERROR] = "error",
		[LOG_WARN] = "warn", [LOG_INFO] = "info",
		[LOG_DEBUG] = "debug",
	};
	size_t len = strcspn(value, ":"), path_len;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(levels); i++)
		if (strlen(levels[i]) == len && !strncmp(levels[i], value, len))
			break;
	if (i == ARRAY_SIZE(levels))
		return false;
	p->log_level = i;
	if (!value[len])
		return true;
	path_len = strlen(value + len + 1);
	if (!path_len || path_len >= sizeof(p->log_path))
		return false;
	memcpy(p->log_path, value + len + 1, path_len + 1);
	return true;
}
