/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * view_json.h - what came of it, for programs.
 */
#ifndef SLABBENCH_VIEW_JSON_H
#define SLABBENCH_VIEW_JSON_H

#include <stdio.h>

#include "bench.h"

void view_json(FILE *out, const struct bench *b);

#endif /* SLABBENCH_VIEW_JSON_H */
