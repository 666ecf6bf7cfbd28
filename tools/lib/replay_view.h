/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_view.h - what a replay took, for people and for programs.
 */
#ifndef SLABREPLAY_VIEW_H
#define SLABREPLAY_VIEW_H

#include <stdio.h>

#include "replay.h"
#include "replay_options.h"

/* A table, and a picture of live and mapped bytes over time. */
void replay_view(FILE *out, const struct replay *r,
		 const struct replay_options *opt);
/* One object on one line. */
void replay_view_json(FILE *out, const struct replay *r,
		      const struct replay_options *opt);

#endif /* SLABREPLAY_VIEW_H */
