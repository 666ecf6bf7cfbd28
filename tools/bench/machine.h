/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * machine.h - where something was measured.
 */
#ifndef SLABBENCH_MACHINE_H
#define SLABBENCH_MACHINE_H

#include <stdint.h>
#include <sys/utsname.h>

struct machine {
	char processor[128];
	unsigned int processors;	/* that this process may use */
	uint64_t memory;
	struct utsname system;
	const char *libc;
	const char *compiler;
};

void machine_look(struct machine *m);

#endif /* SLABBENCH_MACHINE_H */
