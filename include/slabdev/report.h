/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - what becomes of reports. Included by slabdev.h, whose conventions
 * hold here.
 *
 * A report says what went wrong with the program's memory, in the layout of the
 * Linux kernel's. It goes to the log (slabdev_set_log(), SLABDEV_LOG). The
 * environment can say more, with , between:
 *
 *   SLABDEV_REPORT=abort           the process ends (abort(3)) after a report
 *                                  of a mistake: not of a lack of memory, of
 *                                  memory that is lost, or of a device that is
 *                                  gone
 *   SLABDEV_REPORT=json:FILE       each report is also a line of JSON, appended
 *                                  to a file; json: on standard error
 *   SLABDEV_REPORT=rate=N/SECONDS  at most N reports of a kind are written in
 *                                  so many seconds, the others are counted;
 *                                  rate=100/60 unless something else is said.
 *                                  0 seconds: no limit
 *
 * A function of the program gets them all, below; so does that which was given
 * to slabdev_set_log(). With SLABDEV_LOG=none no text is written; all else is
 * as ever.
 *
 * The JSON is one object on one line:
 *
 *   {"kind":"double-free","space":"host","headline":"Double free",
 *    "lines":["0x7f0000000000 ..."],"time":1764500000.123456789,"pid":507,
 *    "tid":507,"left_out":0}
 *
 * time counts seconds since 1970, left_out the reports of this kind that were
 * not written before this one. Characters beyond ASCII are escaped.
 */
#ifndef SLABDEV_REPORT_H
#define SLABDEV_REPORT_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct slabdev_report - a report, for a function of the program
 * @size: of the structure that the library knows; later versions append
 * @kind: one word, such as "double-free"
 * @space: the name of the space
 * @headline: what happened, in a line
 * @text: all of it: lines with the headline among them, no final newline
 * @json: the same as one line of JSON
 *
 * The strings are the library's, and gone when the function returns.
 */
struct slabdev_report {
	size_t size;
	const char *kind;
	const char *space;
	const char *headline;
	const char *text;
	const char *json;
};

/**
 * typedef slabdev_report_fn - receives each report
 * @report: it
 * @arg: what was given to slabdev_set_report()
 *
 * Called in the thread that found the mistake, without any lock of the library
 * held. Returns 0, or 1 to say that the text is not to go to the log as well.
 */
typedef int (*slabdev_report_fn)(const struct slabdev_report *report,
				 void *arg);

/**
 * slabdev_set_report - have a function receive reports
 * @fn: the receiver; NULL: none
 * @arg: passed on to @fn
 *
 * A receiver that was just replaced may still be running in another thread.
 *
 * Context: any thread. Driver: never.
 */
SLABDEV_API void slabdev_set_report(slabdev_report_fn fn, void *arg);

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_REPORT_H */
