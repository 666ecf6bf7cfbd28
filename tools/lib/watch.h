/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watch.h - the same again, until q is pressed.
 */
#ifndef SLABINFO_WATCH_H
#define SLABINFO_WATCH_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct watch - how the rounds are shown
 * @redraw: on a terminal each round replaces the one before
 * @keys: q on standard input ends it
 * @signals: descriptor that a signal makes readable; -1 for none
 */
struct watch {
	bool redraw;
	bool keys;
	int signals;
};

/* Takes the terminal; machine-readable text is never redrawn. */
void watch_begin(struct watch *w, bool for_people);
/* Gives it back as it was. */
void watch_end(const struct watch *w);

/* Shows one round. */
void watch_frame(const struct watch *w, const char *frame, double interval);

/* True after @interval seconds, false when it is to end. */
bool watch_wait(const struct watch *w, double interval);

#endif /* SLABINFO_WATCH_H */
