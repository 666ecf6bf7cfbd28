/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * module.h - the file that an address of code is in.
 *
 * Asks the loader, which takes its lock for it: no lock of the library may be
 * held, since a constructor that the loader runs under its own one may be
 * waiting for ours. No memory is allocated.
 */
#ifndef CORE_MODULE_H
#define CORE_MODULE_H

#define MODULE_PATH_MAX 248

struct module {
	u64 base;	/* added to the addresses that the file says */
	char path[MODULE_PATH_MAX];
};

/* False: no file is known, or its path is too long. */
bool module_of(const void *pc, struct module *m);

#endif /* CORE_MODULE_H */
