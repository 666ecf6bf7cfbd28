/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * figure.h - what is counted instead of timed.
 */
#ifndef SLABBENCH_FIGURE_H
#define SLABBENCH_FIGURE_H

struct run;

/* Bytes of host memory for each live object, beyond the object. */
int figure_metadata(struct run *run, double *value);
/* By its accounts: bytes of the device and of the host for each live object. */
int figure_device(struct run *run, double *value);
int figure_host(struct run *run, double *value);
/* Events recorded, and asked, for each sheaf of objects that are freed. */
int figure_events(struct run *run, double *value);
int figure_queries(struct run *run, double *value);
/* The most memory held, or the least that suffices, over the most live. */
int figure_phases(struct run *run, double *value);

#endif /* SLABBENCH_FIGURE_H */
