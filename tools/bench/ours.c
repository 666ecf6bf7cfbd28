// SPDX-License-Identifier: BSD-2-Clause
/*
 * ours.c - libslabdev: the general calls, and a cache of one size.
 *
 * By itself a space takes the memory of the machine for its limit. Here it has
 * one that is the same on every machine and that no workload comes to: objects
 * that nobody touches have no memory.
 */
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "ours.h"
#include "subject.h"

#define NO_LIMIT (UINT64_C(64) << 30)

bool ours_open_space(struct slabdev **sd, uint64_t limit, char *why)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.name = "slabbench";
	attr.limit = limit ? limit : NO_LIMIT;
	if (!slabdev_open(sd, device_spec(), &attr))
		return true;
	snprintf(why, SUBJECT_TEXT, "%s", slabdev_last_error());
	return false;
}

static bool general_open(const struct subject *s, struct calls *c,
			 size_t size, uint64_t limit, char *why)
{
	(void)s;
	(void)size;
	c->shape = SHAPE_SPACE;
	c->space.alloc = slabdev_alloc;
	c->space.free = slabdev_free;
	return ours_open_space(&c->space.sd, limit, why);
}

/* Whose memory ours_cache_account() tells: a process has one. */
static struct slabdev *cache_space;

static bool cache_open(const struct subject *s, struct calls *c, size_t size,
		       uint64_t limit, char *why)
{
	struct slabdev *sd;

	(void)s;
	c->shape = SHAPE_CACHE;
	c->cache.alloc = slabdev_cache_alloc;
	c->cache.free = slabdev_cache_free;
	c->cache.alloc_bulk = slabdev_cache_alloc_bulk;
	c->cache.free_bulk = slabdev_cache_free_bulk;
	if (!ours_open_space(&sd, limit, why))
		return false;
	cache_space = sd;
	if (!slabdev_cache_create(&c->cache.cache, sd, "bench", size, NULL))
		return true;
	snprintf(why, SUBJECT_TEXT, "%s", slabdev_last_error());
	return false;
}

static void general_close(const struct calls *c)
{
	slabdev_close(c->space.sd, SLABDEV_CLOSE_FORCE);
}

static struct slabdev_stats read_stats(struct slabdev *sd)
{
	struct slabdev_stats st;

	memset(&st, 0, sizeof(st));
	slabdev_stats(sd, &st, sizeof(st));
	return st;
}

static uint64_t general_peak(const struct calls *c)
{
	return read_stats(c->space.sd).peak_mapped;
}

static bool read_account(struct slabdev *sd, struct account *a)
{
	struct slabdev_stats st = read_stats(sd);

	a->device = st.mapped - st.retained;
	a->host = st.host_bytes;
	return st.mapped;
}

bool ours_account(const struct calls *c, struct account *a)
{
	return read_account(c->space.sd, a);
}

bool ours_cache_account(const struct calls *c, struct account *a)
{
	(void)c;
	return read_account(cache_space, a);
}

void ours_version(const struct subject *s, char *text)
{
	(void)s;
	snprintf(text, SUBJECT_TEXT, "%s", slabdev_version());
}

const struct subject ours_general = {
	.name = "slabdev",
	.what = "slabdev_alloc() and slabdev_free()",
	.kind = KIND_OURS,
	.memory = MEMORY_ACCOUNT,
	.open = general_open,
	.close = general_close,
	.peak = general_peak,
	.account = ours_account,
	.version = ours_version,
};

const struct subject ours_cache = {
	.name = "cache",
	.what = "slabdev_cache_alloc() and slabdev_cache_free()",
	.kind = KIND_OURS,
	.one_size = true,
	.open = cache_open,
	.account = ours_cache_account,
	.version = ours_version,
};
