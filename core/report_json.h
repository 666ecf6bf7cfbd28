/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_json.h - a report as one line of JSON.
 *
 *   {"kind":"double-free","space":"host","headline":"...",
 *    "lines":["...","..."],"time":1764500000.123456789,"pid":1,"tid":1,
 *    "left_out":0}
 *
 * but on one line. It is ASCII: what is UTF-8 in the text becomes \uXXXX, and
 * what is no UTF-8 becomes \ufffd, so that whoever reads it can.
 */
#ifndef CORE_REPORT_JSON_H
#define CORE_REPORT_JSON_H

#include "core/log.h"

/* No byte of the text takes more than six; and the rest. */
#define REPORT_JSON_MAX (6 * REPORT_TEXT_MAX + 512)

/* When and where a report was made, and how many like it were left out. */
struct report_moment {
	u64 time_ns;	/* since 1970 */
	int pid;
	int tid;
	u32 left_out;
};

/* Write @r, which has ended, to @buf with REPORT_JSON_MAX bytes. */
void report_json(char *buf, const struct report *r,
		 const struct report_moment *m);

/* Write @text as a JSON string, in quotes, to @buf with JSON_STRING_MAX(its
 * length) bytes. */
#define JSON_STRING_MAX(len) (6 * (len) + 3)
void report_json_string(char *buf, size_t room, const char *text);

#endif /* CORE_REPORT_JSON_H */
