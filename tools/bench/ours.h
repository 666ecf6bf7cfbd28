/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ours.h - what the subjects of libslabdev share.
 */
#ifndef SLABBENCH_OURS_H
#define SLABBENCH_OURS_H

#include <stdbool.h>
#include <stdint.h>

#include <slabdev/slabdev.h>

struct account;
struct calls;
struct subject;

/* A space of the device that was chosen; false: @why says why not. */
bool ours_open_space(struct slabdev **sd, uint64_t limit, char *why);
void ours_version(const struct subject *s, char *text);
/* Of a space, and of a cache's. */
bool ours_account(const struct calls *c, struct account *a);
bool ours_cache_account(const struct calls *c, struct account *a);

#endif /* SLABBENCH_OURS_H */
