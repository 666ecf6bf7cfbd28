// SPDX-License-Identifier: BSD-2-Clause
/* meddler.c - see meddler.h. */
#include "tests/meddler.h"

static struct meddler meddler;

static int meddling_read(void *dev, void *to, u64 addr, u64 size)
{
	struct meddler *m = &meddler;
	int err;

	if (READ_ONCE(m->busy) || addr != (u64)(uintptr_t)m->p + m->size)
		return m->real->read(dev, to, addr, size);
	WRITE_ONCE(m->busy, true);
	m->reads++;
	if (m->before)
		m->before(m);
	err = m->real->read(dev, to, addr, size);
	if (m->after)
		m->after(m);
	WRITE_ONCE(m->busy, false);
	return err;
}

struct meddler *meddle(struct kunit *test, void *p, size_t size)
{
	struct slabdev *sd = test->priv;
	struct meddler *m = &meddler;

	*m = (struct meddler){ .test = test, .sd = sd, .real = sd->vmm.ops,
			       .p = p, .size = size };
	m->ops = *m->real;
	m->ops.read = meddling_read;
	sd->vmm.ops = &m->ops;
	return m;
}

void stop_meddling(struct meddler *m)
{
	m->sd->vmm.ops = m->real;
	KUNIT_EXPECT_GT(m->test, m->reads, 0);
}
