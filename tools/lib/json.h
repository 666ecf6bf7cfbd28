/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.h - writes JSON; the commas are its business.
 */
#ifndef SLABINFO_JSON_H
#define SLABINFO_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/**
 * struct json - one text being written
 * @out: where to
 * @follows: a value stands before the next one on the same level
 */
struct json {
	FILE *out;
	bool follows;
};

/* In each of these @key is NULL inside an array. */
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_s64(struct json *j, const char *key, int64_t value);
/* With three digits after the point. */
void json_decimal(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);
/* Bytes above ASCII become the characters of Latin-1: the text stays valid. */
void json_string(struct json *j, const char *key, const char *value);

#endif /* SLABINFO_JSON_H */
