// SPDX-License-Identifier: BSD-2-Clause
/*
 * report_json_test.c - a report as JSON: escapes, characters, and that whatever
 * bytes are in it come out well formed and complete.
 */
#include <stdio.h>

#include "core/log.h"
#include "core/report_json.h"
#include "tests/random.h"
#include "tests/syntax.h"

#define NS_PER_S ((u64)1000000000)

static const char *json_of(struct kunit *test, const struct report *r)
{
	static const struct report_moment moment = {
		.time_ns = 1764500000 * NS_PER_S + 12345,
		.pid = 507,
		.tid = 508,
		.left_out = 3,
	};
	char *json = kunit_kzalloc(test, REPORT_JSON_MAX + 2), *end;
	const char *where = NULL, *wrong;

	report_json(json, r, &moment);
	end = json + strlen(json);
	KUNIT_EXPECT_LT(test, end - json, REPORT_JSON_MAX);
	*end = '\n';
	wrong = json_wrong(json, &where);
	KUNIT_EXPECT_NULL_MSG(test, wrong, "%s at %s in %s", wrong, where,
			      json);
	*end = '\0';
	return json;
}

#define MOMENT "\"time\":1764500000.000012345,\"pid\":507,\"tid\":508," \
	"\"left_out\":3}"

static const struct json_param {
	const char *headline;
	const char *line;	/* or NULL */
	const char *wanted;	/* of headline and lines */
} json_params[] = {
	{ "plain", NULL, "\"plain\",\"lines\":[]" },
	{ "", "", "\"\",\"lines\":[\"\"]" },
	{ "a \"b\" \\ /", "one\ntwo", "\"a \\\"b\\\" \\\\ /\","
	  "\"lines\":[\"one\",\"two\"]" },
	{ "two\nlines", "\n", "\"two\\u000alines\",\"lines\":[\"\",\"\"]" },
	{ "\t\x01\x1f\x7f", "%s", "\"\\u0009\\u0001\\u001f\\u007f\","
	  "\"lines\":[\"%s\"]" },
	/* UTF-8: Latin, a sign of three bytes, and one beyond 16 bits. */
	{ "\xc3\xa9", "\xe2\x82\xac \xf0\x9f\x98\x80",
	  "\"\\u00e9\",\"lines\":[\"\\u20ac \\ud83d\\ude00\"]" },
	{ "\xef\xbf\xbf", "\xf4\x8f\xbf\xbf",
	  "\"\\uffff\",\"lines\":[\"\\udbff\\udfff\"]" },
	/* No UTF-8: stray, cut, too long, half a pair, beyond the last. */
	{ "\x80", "\xc3", "\"\\ufffd\",\"lines\":[\"\\ufffd\"]" },
	{ "\xc3(", "\xe2\x82", "\"\\ufffd(\",\"lines\":[\"\\ufffd\\ufffd\"]" },
	{ "\xc0\x80", "\xe0\x80\x80",
	  "\"\\ufffd\\ufffd\",\"lines\":[\"\\ufffd\\ufffd\\ufffd\"]" },
	{ "\xf0\x80\x80\x80", "x",
	  "\"\\ufffd\\ufffd\\ufffd\\ufffd\",\"lines\":[\"x\"]" },
	{ "\xed\xa0\x80", "\xff",
	  "\"\\ufffd\\ufffd\\ufffd\",\"lines\":[\"\\ufffd\"]" },
	{ "\xf4\x90\x80\x80", "\xf5",
	  "\"\\ufffd\\ufffd\\ufffd\\ufffd\",\"lines\":[\"\\ufffd\"]" },
};

static void describe_json(const struct json_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", p->wanted);
}
KUNIT_ARRAY_PARAM(json, json_params, describe_json)

static void json_says_what_the_text_says(struct kunit *test)
{
	const struct json_param *p = test->param_value;
	char wanted[512];
	struct report r;

	kunit_expect_report(test, REPORT_WRONG_CACHE);
	report_start(&r, REPORT_WRONG_CACHE, "a:b\"c", "%s", p->headline);
	if (p->line)
		report_line(&r, "%s", p->line);
	report_end(&r);
	snprintf(wanted, sizeof(wanted), "{\"kind\":\"wrong-cache\",\"space\":"
		 "\"a:b\\\"c\",\"headline\":%s," MOMENT, p->wanted);
	KUNIT_EXPECT_STREQ(test, json_of(test, &r), wanted);
}

/* A headline that does not fit is not in the text either. */
static void json_of_a_cut_report_says_so(struct kunit *test)
{
	struct report r;

	kunit_expect_report(test, REPORT_LOST);
	report_start(&r, REPORT_LOST, "host", "%*d", REPORT_TEXT_MAX, 1);
	report_end(&r);
	KUNIT_EXPECT_STREQ(test, json_of(test, &r),
			   "{\"kind\":\"lost\",\"space\":\"\",\"headline\":"
			   "\"\",\"lines\":[\"(lines that did not fit: 1)\"],"
			   MOMENT);
}

static void fill_at_random(u64 *seed, char *line, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		line[i] = (char)(1 + random_below(seed, 255));
	line[len] = '\0';
}

/* Bytes of any kind, as many as fit: well formed, and never too long. */
static void json_of_any_bytes_is_json(struct kunit *test)
{
	u64 seed = random_seed(test);
	char line[300];
	struct report r;
	int i, n;

	for (i = 0; i < 50; i++) {
		kunit_expect_report(test, REPORT_CORRUPT);
		fill_at_random(&seed, line, random_below(&seed, 299));
		report_start(&r, REPORT_CORRUPT, "host", "%s", line);
		for (n = 0; n < 100; n++) {
			fill_at_random(&seed, line, random_below(&seed, 299));
			report_line(&r, "%s", line);
		}
		report_end(&r);
		json_of(test, &r);
	}
	/* Each byte as long as it can be. */
	kunit_expect_report(test, REPORT_CORRUPT);
	memset(line, '\x01', 200);
	line[200] = '\0';
	report_start(&r, REPORT_CORRUPT, "host", "%s", line);
	for (n = 0; n < 100; n++)
		report_line(&r, "%s", line);
	report_end(&r);
	KUNIT_EXPECT_STREQ(test, strstr(json_of(test, &r), "\"time\""), MOMENT);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(json_says_what_the_text_says, json_gen_params),
	KUNIT_CASE(json_of_a_cut_report_says_so),
	KUNIT_CASE(json_of_any_bytes_is_json),
	{ 0 }
};

static const struct kunit_suite report_json_suite = {
	.name = "report_json",
	.cases = cases,
};
kunit_test_suite(report_json_suite);
