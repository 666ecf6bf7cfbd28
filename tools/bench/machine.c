// SPDX-License-Identifier: BSD-2-Clause
/*
 * machine.c - where something was measured.
 */
#define _GNU_SOURCE
#include <gnu/libc-version.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* arm64 has no such line, and the system's own name has to do. */
static void find_processor(struct machine *m)
{
	static const char key[] = "model name";
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];
	char *value;

	snprintf(m->processor, sizeof(m->processor), "%s", m->system.machine);
	while (f && fgets(line, sizeof(line), f)) {
		value = strchr(line, ':');
		if (strncmp(line, key, strlen(key)) || !value)
			continue;
		value += 1 + strspn(value + 1, " \t");
		value[strcspn(value, "\n")] = '\0';
		snprintf(m->processor, sizeof(m->processor), "%.127s", value);
		break;
	}
	if (f)
		fclose(f);
}

void machine_look(struct machine *m)
{
	cpu_set_t mine;

	uname(&m->system);
	find_processor(m);
	m->processors = 1;
	if (!sched_getaffinity(0, sizeof(mine), &mine))
		m->processors = (unsigned int)CPU_COUNT(&mine);
	m->memory = (uint64_t)sysconf(_SC_PHYS_PAGES) *
		    (uint64_t)sysconf(_SC_PAGESIZE);
	m->libc = gnu_get_libc_version();
	m->compiler = COMPILER;
}
