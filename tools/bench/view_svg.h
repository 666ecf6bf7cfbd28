/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * view_svg.h - what came of it, as a picture.
 */
#ifndef SLABBENCH_VIEW_SVG_H
#define SLABBENCH_VIEW_SVG_H

#include <stdio.h>

#include "bench.h"

void view_svg(FILE *out, const struct bench *b);

#endif /* SLABBENCH_VIEW_SVG_H */
