// SPDX-License-Identifier: BSD-2-Clause
/*
 * mem_slabdev.c - blocks from a space of libslabdev
 *
 * Three ways to ask for the blocks of a tensor:
 *
 *	one by one	slabdev_alloc(), slabdev_free()
 *	a group		all in one allocation, freed together: what belongs to
 *			one owner and dies at once
 *	views		all in one buffer, and each block a view of it: what
 *			several owners keep. The last put frees, whoever's it is
 *
 * Where a run may ask for more than there is (--policy=push) it says so with
 * SLABDEV_REQ_NO_REPORT: that memory is short is then an answer, and no event
 * to report.
 */
#include <errno.h>
#include <stdlib.h>

#include <slabdev/slabdev.h>

#include "device.h"
#include "mem_backend.h"

/* With --policy=trim: what stays mapped without holding a block. */
#define TRIM_KEEP_BYTES ((uint64_t)16 << 20)

/* Has this build of the library memory of that kind? Else it is of no use to
 * look for what computes there, and the library says what is missing. */
static int check_build(const char *spec)
{
	struct slabdev *sd;
	int err = slabdev_open(&sd, spec, NULL);

	if (!err)
		return slabdev_close(sd, 0);
	return err == -ENOTSUP ? err : 0;
}

static int space_open(struct mem_space *s, const struct mem_config *config)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	int err;

	s->device = device_find(config->device);
	s->may_fail = config->may_fail;
	err = s->device->is_cpu ? 0 : check_build(config->device);
	if (err)
		return err;
	err = s->device->open(config->device);
	if (err)
		return err;
	attr.name = "dmrg";
	attr.policy.mode = (uint32_t)config->policy;
	attr.policy.keep_bytes = TRIM_KEEP_BYTES;
	attr.stream = s->device->stream();
	err = slabdev_open(&s->slabdev, config->device, &attr);
	if (err)
		s->device->close();
	return err;
}

static int space_close(struct mem_space *s)
{
	int err = slabdev_close(s->slabdev, 0);

	/* What is live then was reported; it must not outlive the process. */
	if (err == -EBUSY)
		slabdev_close(s->slabdev, SLABDEV_CLOSE_FORCE);
	s->device->close();
	return err;
}

static struct slabdev_req request(const struct mem_space *s)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.align = MEM_ALIGN;
	req.flags = s->may_fail ? SLABDEV_REQ_NO_REPORT : 0;
	return req;
}

static void *space_alloc(struct mem_space *s, size_t bytes)
{
	struct slabdev_req req;

	if (!s->may_fail)
		return slabdev_alloc(s->slabdev, bytes);
	req = request(s);
	return slabdev_alloc_ex(s->slabdev, bytes, &req);
}

static int space_free(struct mem_space *s, void *p)
{
	return slabdev_free(s->slabdev, p);
}

static int space_group_alloc(struct mem_space *s, const size_t *sizes, int n,
			     void **ptrs, struct slabdev_group **group)
{
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	const struct slabdev_req req = request(s);

	attr.align = MEM_ALIGN;
	attr.req = &req;
	return slabdev_group_alloc_ex(group, s->slabdev, sizes, (size_t)n,
				      ptrs, &attr);
}

static size_t aligned(size_t bytes)
{
	return (bytes + MEM_ALIGN - 1) & ~(MEM_ALIGN - 1);
}

/* The views own the buffer; who made it does not need it any more. */
static int space_views_alloc(struct mem_space *s, const size_t *sizes, int n,
			     void **ptrs, struct slabdev_buf **views)
{
	const struct slabdev_req req = request(s);
	struct slabdev_buf *buf;
	size_t offset = 0;
	int i, err;

	for (i = 0; i < n; i++)
		offset += aligned(sizes[i]);
	err = slabdev_buf_alloc(&buf, s->slabdev, offset, &req);
	if (err)
		return err;
	for (i = 0, offset = 0; i < n; i++) {
		if (!sizes[i])
			continue;
		err = slabdev_buf_view(&views[i], buf, offset, sizes[i]);
		if (err)
			break;
		ptrs[i] = slabdev_buf_ptr(views[i]);
		offset += aligned(sizes[i]);
	}
	while (err && i > 0) {
		slabdev_buf_put(views[--i]);
		views[i] = NULL;
	}
	slabdev_buf_put(buf);
	return err;
}

static int space_prime(struct mem_space *s, uint64_t bytes)
{
	return slabdev_prime(s->slabdev, bytes);
}

static int space_set_policy(struct mem_space *s, int mode)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = (uint32_t)mode;
	policy.keep_bytes = TRIM_KEEP_BYTES;
	return slabdev_set_policy(s->slabdev, &policy);
}

static const char *space_error(void)
{
	const char *device = device_error();

	return *device ? device : slabdev_last_error();
}

static void space_counts(struct mem_space *s, struct mem_counts *c)
{
	struct slabdev_stats st;

	if (slabdev_stats(s->slabdev, &st, sizeof(st)))
		return;
	c->refills = st.refills;
	c->backend_calls = st.backend_calls;
	c->mapped = st.mapped;
	c->retained = st.retained + st.cached;
	c->peak_mapped = st.peak_mapped;
	c->limit = st.limit;
}

const struct mem_backend mem_slabdev = {
	.open = space_open,
	.close = space_close,
	.alloc = space_alloc,
	.free = space_free,
	.group_alloc = space_group_alloc,
	.group_free = slabdev_group_free,
	.views_alloc = space_views_alloc,
	.get = slabdev_buf_get,
	.put = slabdev_buf_put,
	.prime = space_prime,
	.set_policy = space_set_policy,
	.error = space_error,
	.counts = space_counts,
};
