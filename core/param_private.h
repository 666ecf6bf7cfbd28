/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * param_private.h - the parsers that param_value.c has for the table's rows.
 *
 * Each returns false for a value that is not accepted.
 */
#ifndef CORE_PARAM_PRIVATE_H
#define CORE_PARAM_PRIVATE_H

#include "core/param.h"

bool param_parse_limit(struct params *p, const char *value);
bool param_parse_ranks(struct params *p, const char *value);
bool param_parse_backing(struct params *p, const char *value);
bool param_parse_ordering(struct params *p, const char *value);
bool param_parse_libcuda(struct params *p, const char *value);
bool param_parse_reserve(struct params *p, const char *value);
bool param_parse_sheaf(struct params *p, const char *value);
bool param_parse_policy(struct params *p, const char *value);
bool param_parse_assert_steady(struct params *p, const char *value);
bool param_parse_debug(struct params *p, const char *value);
bool param_parse_annotate(struct params *p, const char *value);
bool param_parse_guard(struct params *p, const char *value);
bool param_parse_stats(struct params *p, const char *value);
bool param_parse_membarrier(struct params *p, const char *value);
bool param_parse_log(struct params *p, const char *value);
bool param_parse_failslab(struct params *p, const char *value);
bool param_failslab_why(const char *value, char *why, size_t len);
bool param_parse_report(struct params *p, const char *value);

#endif /* CORE_PARAM_PRIVATE_H */
