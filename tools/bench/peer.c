// SPDX-License-Identifier: BSD-2-Clause
/*
 * peer.c - malloc() and free() of other libraries.
 *
 * A library is loaded by itself, with RTLD_LOCAL, so that the program goes on
 * with its own malloc(). Allocators keep their threads' state in the block of
 * thread-local storage that is laid out when a program starts, which has
 * little room for libraries that come later: spawn.c asks for more.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

/* The library of the process, once it is open. */
static void *library;

static void *symbol(const char *name)
{
	return dlsym(library, name);
}

/*
 * Is this address within the library? A symbol that the library lacks is
 * found in one that it needs.
 */
static bool is_its_own(const void *address)
{
	struct link_map *map;
	Dl_info info;

	return dladdr(address, &info) &&
	       !dlinfo(library, RTLD_DI_LINKMAP, &map) &&
	       !strcmp(info.dli_fname, map->l_name);
}

bool peer_open(const struct subject *s, struct calls *c, size_t size,
	       uint64_t limit, char *why)
{
	void *alloc, *release;

	(void)size;
	(void)limit;
	library = dlopen(s->path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		snprintf(why, SUBJECT_TEXT, "%s", dlerror());
		return false;
	}
	alloc = symbol("malloc");
	release = symbol("free");
	if (!alloc || !release || !is_its_own(alloc) || !is_its_own(release)) {
		snprintf(why, SUBJECT_TEXT, "%s: has no malloc and free",
			 s->path);
		return false;
	}
	c->shape = SHAPE_PLAIN;
	memcpy(&c->plain.alloc, &alloc, sizeof(alloc));
	memcpy(&c->plain.free, &release, sizeof(release));
	return true;
}

/* Each says its version in its own way. */
void peer_version(const struct subject *s, char *text)
{
	int (*control)(const char *name, void *old, size_t *size, void *new,
		       size_t new_size);
	const char *(*tc_version)(int *major, int *minor, const char **patch);
	int (*mi_version)(void), n;
	void *jemalloc = symbol("mallctl"), *mimalloc = symbol("mi_version");
	void *tcmalloc = symbol("tc_version");
	size_t size = sizeof(const char *);
	const char *name = NULL;

	memcpy(&control, &jemalloc, sizeof(control));
	memcpy(&mi_version, &mimalloc, sizeof(mi_version));
	memcpy(&tc_version, &tcmalloc, sizeof(tc_version));
	if (control && !control("version", &name, &size, NULL, 0) && name) {
		/* After the number comes the commit. */
		snprintf(text, SUBJECT_TEXT, "%.*s",
			 (int)strcspn(name, "-"), name);
	} else if (mi_version) {
		n = mi_version();
		snprintf(text, SUBJECT_TEXT, "%d.%d.%d", n / 100, n / 10 % 10,
			 n % 10);
	} else if (tc_version) {
		snprintf(text, SUBJECT_TEXT, "%s",
			 tc_version(NULL, NULL, NULL));
	} else {
		snprintf(text, SUBJECT_TEXT, "%s", s->path);
	}
}

static bool glibc_open(const struct subject *s, struct calls *c, size_t size,
		       uint64_t limit, char *why)
{
	(void)s;
	(void)size;
	(void)limit;
	(void)why;
	c->shape = SHAPE_PLAIN;
	c->plain.alloc = malloc;
	c->plain.free = free;
	return true;
}

static void glibc_version(const struct subject *s, char *text)
{
	(void)s;
	snprintf(text, SUBJECT_TEXT, "%s", gnu_get_libc_version());
}

const struct subject peer_glibc = {
	.name = "glibc",
	.what = "malloc() and free() of the program",
	.kind = KIND_PEER,
	.memory = MEMORY_RESIDENT,
	.open = glibc_open,
	.version = glibc_version,
};
