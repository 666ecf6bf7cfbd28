/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * syntax.h - whether a text is what a program that reads it takes.
 *
 * Each returns NULL, or a static text that says what is wrong. @where is set
 * to the place.
 */
#ifndef TESTS_SYNTAX_H
#define TESTS_SYNTAX_H

/* One value of JSON (RFC 8259) and a newline; keys of an object differ. */
const char *json_wrong(const char *text, const char **where);

/*
 * The text format of Prometheus, as strict as the textfile collector: help and
 * type of a metric once, right above all of its samples, and no sample twice.
 */
const char *prometheus_wrong(const char *text, const char **where);

/*
 * What may be sent to a terminal: printable ASCII and newlines, and with
 * @colour the sequences that set one.
 */
const char *print_wrong(const char *text, bool colour, const char **where);

#endif /* TESTS_SYNTAX_H */
