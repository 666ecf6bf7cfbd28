// SPDX-License-Identifier: BSD-2-Clause
/* slow_device.c - see slow_device.h. */
#include "tests/slow_device.h"

#include <errno.h>
#include <time.h>

#include "vmm/backends.h"

#define WAIT_SECONDS 60

struct slow_device device;

static u64 submit_locked(void)
{
	device.now++;
	if (device.is_prompt)
		device.done = device.now;
	return device.now;
}

void device_reach(u64 at)
{
	pthread_mutex_lock(&device.lock);
	device.done = max(device.done, at);
	pthread_cond_broadcast(&device.changed);
	pthread_mutex_unlock(&device.lock);
}

void device_finish(void)
{
	pthread_mutex_lock(&device.lock);
	device.done = device.now;
	pthread_cond_broadcast(&device.changed);
	pthread_mutex_unlock(&device.lock);
}

void device_be_prompt(bool prompt)
{
	pthread_mutex_lock(&device.lock);
	device.is_prompt = prompt;
	if (prompt)
		device.done = device.now;
	pthread_cond_broadcast(&device.changed);
	pthread_mutex_unlock(&device.lock);
}

static u64 *used_at(u64 addr)
{
	u64 chunk = (addr - device.base) / VMM_MIN_CHUNK;

	KUNIT_ASSERT_LT(device.test, chunk, SLOW_DEVICE_CHUNKS);
	return &device.used_at[chunk];
}

/* ---- Its operations --------------------------------------------------- */

static int device_fill(void *dev, u64 addr, u64 size, u8 byte,
		       slabdev_stream_t stream)
{
	pthread_mutex_lock(&device.lock);
	*used_at(addr) = submit_locked();
	pthread_mutex_unlock(&device.lock);
	return vmm_host_ops.fill(dev, addr, size, byte, stream);
}

static int device_unmap(void *dev, u64 addr, u64 size)
{
	pthread_mutex_lock(&device.lock);
	for (u64 at = addr; at < addr + size; at += VMM_MIN_CHUNK)
		KUNIT_EXPECT_LE_MSG(device.test, *used_at(at), device.done,
				    "0x%llx was unmapped under work",
				    (unsigned long long)at);
	pthread_mutex_unlock(&device.lock);
	return vmm_host_ops.unmap(dev, addr, size);
}

static int device_event_create(void *dev, u64 *event)
{
	(void)dev;
	if (device.create_err)
		return device.create_err;
	*event = 4711;
	device.nr_events++;
	device.creates++;
	return 0;
}

static int device_event_record(void *dev, u64 event, slabdev_stream_t stream)
{
	int err;

	(void)dev;
	(void)stream;
	KUNIT_EXPECT_EQ(device.test, event, 4711);
	pthread_mutex_lock(&device.lock);
	device.records++;
	err = device.captures ? -EAGAIN : device.record_err;
	if (!err)
		device.event_at = submit_locked();
	pthread_mutex_unlock(&device.lock);
	return err;
}

static int device_event_query(void *dev, u64 event)
{
	int err;

	(void)dev;
	(void)event;
	pthread_mutex_lock(&device.lock);
	device.queries++;
	err = device.query_err;
	if (!err && device.event_at > device.done)
		err = -EBUSY;
	pthread_mutex_unlock(&device.lock);
	return err;
}

/* As a driver does: for the point that was recorded when it was called. */
static int device_event_wait(void *dev, u64 event)
{
	struct timespec end;
	int err = 0;
	u64 at;

	(void)dev;
	(void)event;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_SECONDS;
	pthread_mutex_lock(&device.lock);
	device.waits++;
	device.waiting++;
	pthread_cond_broadcast(&device.changed);
	at = device.event_at;
	while (at > device.done && !device.wait_err && !err)
		err = pthread_cond_timedwait(&device.changed, &device.lock,
					     &end);
	KUNIT_EXPECT_EQ_MSG(device.test, err, 0, "nobody finished the work");
	device.waiting--;
	err = device.wait_err;
	pthread_mutex_unlock(&device.lock);
	return err;
}

/* Fails once. */
static int device_event_destroy(void *dev, u64 event)
{
	int err = device.destroy_err;

	(void)dev;
	(void)event;
	device.destroy_err = 0;
	if (!err)
		device.nr_events--;
	return err;
}

void device_await_waiting(u32 n)
{
	struct timespec end;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_SECONDS;
	pthread_mutex_lock(&device.lock);
	while (device.waiting < n && !err)
		err = pthread_cond_timedwait(&device.changed, &device.lock,
					     &end);
	pthread_mutex_unlock(&device.lock);
	KUNIT_ASSERT_EQ_MSG(device.test, err, 0, "nobody waits");
}

/* ---- A space on it ---------------------------------------------------- */

static struct vmm_ops device_ops;

int slow_device_init(struct kunit *test)
{
	struct space *s = space_new(test);

	device = (struct slow_device){
		.test = test,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	device_ops = vmm_host_ops;
	device_ops.put = NULL;
	device_ops.synchronous = false;
	device_ops.fill = device_fill;
	device_ops.unmap = device_unmap;
	device_ops.event_create = device_event_create;
	device_ops.event_record = device_event_record;
	device_ops.event_query = device_event_query;
	device_ops.event_wait = device_event_wait;
	device_ops.event_destroy = device_event_destroy;
	s->ops = &device_ops;
	test->priv = s;
	return 0;
}

void slow_device_exit(struct kunit *test)
{
	if (!test->priv)
		return;
	device_be_prompt(true);
	device.captures = false;
	device.record_err = device.query_err = device.wait_err = 0;
	space_end(test->priv);
	KUNIT_EXPECT_EQ(test, device.nr_events, 0);
}

struct space *slow_device_space(struct kunit *test, u64 limit)
{
	struct space *s = test->priv;

	space_open(s, limit, 2 * limit);
	device.base = s->v.base;
	return s;
}
