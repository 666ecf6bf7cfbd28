// SPDX-License-Identifier: BSD-2-Clause
/*
 * host.c - the host backend: memory of this machine, by mmap.
 *
 * A reservation is a PROT_NONE mapping. A handle is a promise: a record of its
 * size, since anonymous memory has no existence without an address. Mapping it
 * only marks where it is; set_access makes the pages readable and writable,
 * and unmap replaces them by fresh PROT_NONE ones, so that the memory goes
 * back and a later touch faults, as it does on a device.
 *
 * The contract of ops.h is enforced as a driver would, because what is built
 * on this backend has to run on that one: unknown handles, a second mapping
 * of a handle, overlapping mappings, sizes that do not fit, parts of mappings,
 * and releases in the wrong order are refused with -EINVAL.
 *
 * The books. Handles are slots of an array; the number given out holds slot
 * and generation, so that a stale one is recognised. Each reservation has an
 * array with the slot of the handle for each granule. All of it lies in
 * reserved arrays: no malloc, and each call costs time by the granules that it
 * is about, whatever else exists.
 *
 * Locking: dev->lock covers the books, never a system call but those by which
 * they grow. Two threads that change the same addresses at once are the
 * caller's mistake, as for a driver.
 *
 * Limits: the kernel keeps a record for each stretch of equal protection, and
 * allows 65530 of them by default (vm.max_map_count). Where every other chunk
 * of 2 MiB is unmapped, that is reached at 256 GiB, and unmap then fails.
 */
#include <errno.h>
#include <string.h>

#include "core/checker.h"
#include "core/lock.h"
#include "core/os.h"
#include "core/overflow.h"
#include "core/resv.h"
#include "vmm/backends.h"
#include "vmm/host_dev.h"

#define GRANULARITY HOST_GRANULARITY
#define SLOT_MAX ((u32)(VMM_MAX_OFFSET / GRANULARITY))
#define STEP (64 * KIB)

static struct host_handle *handle_slot(const struct host_dev *d, u32 slot)
{
	return (struct host_handle *)(void *)d->handles.base + slot;
}

static u32 *owners(const struct host_reservation *res)
{
	return (u32 *)(void *)res->owners.base;
}

static void *pointer(u64 addr)
{
	return (void *)(uintptr_t)addr;
}

static bool is_granular(u64 n)
{
	return n && is_aligned(n, GRANULARITY);
}

int host_granularity(void *dev, u64 *bytes)
{
	(void)dev;
	*bytes = GRANULARITY;
	return 0;
}

/* ---- Reservations ----------------------------------------------------- */

/* Reserve @size aligned to @align: reserve more, and return both ends. */
static int reserve_aligned(u64 size, u64 align, u64 *addr)
{
	u64 raw_size, first, end;
	void *raw;
	int err;

	if (add_overflows(size, align, &raw_size))
		return -ENOMEM;
	err = os_reserve(raw_size, &raw);
	if (err)
		return err;
	first = align_up((u64)(uintptr_t)raw, align);
	end = (u64)(uintptr_t)raw + raw_size;
	if (first > (u64)(uintptr_t)raw)
		(void)os_unreserve(raw, first - (u64)(uintptr_t)raw);
	if (first + size < end)
		(void)os_unreserve(pointer(first + size), end - first - size);
	*addr = first;
	return 0;
}

static struct host_reservation *unused_entry(struct host_dev *d)
{
	for (u32 i = 0; i < VMM_MAX_RANGES; i++)
		if (!d->res[i].size)
			return &d->res[i];
	return NULL;
}

int host_reserve(void *dev, u64 size, u64 align, u64 *addr)
{
	struct host_dev *d = dev;
	struct host_reservation *res;
	u64 first;
	int err;

	if (!is_granular(size) || !is_power_of_2(align))
		return -EINVAL;
	err = reserve_aligned(size, max(align, GRANULARITY), &first);
	if (err)
		return err;

	lock_acquire(&d->lock);
	res = unused_entry(d);
	err = res ? resv_init(&res->owners, size / GRANULARITY * sizeof(u32),
			      STEP) : -ENOMEM;
	if (!err) {
		res->addr = first;
		res->size = size;
	}
	lock_release(&d->lock);
	if (err) {
		(void)os_unreserve(pointer(first), size);
		return err;
	}
	*addr = first;
	return 0;
}

/* The reservation that holds all of [@addr, @addr + @size), or NULL. */
static struct host_reservation *find_reservation(struct host_dev *d, u64 addr,
						 u64 size)
{
	struct host_reservation *res;

	for (u32 i = 0; i < VMM_MAX_RANGES; i++) {
		res = &d->res[i];
		if (addr - res->addr < res->size &&
		    size <= res->size - (addr - res->addr))
			return res;
	}
	return NULL;
}

/* True when no granule of [@from, @end) is mapped. */
static bool is_unmapped(const struct host_reservation *res, u64 from, u64 end)
{
	end = min(end, (u64)(res->owners.committed / sizeof(u32)));
	for (u64 i = from; i < end; i++)
		if (owners(res)[i])
			return false;
	return true;
}

int host_unreserve(void *dev, u64 addr, u64 size)
{
	struct host_dev *d = dev;
	struct host_reservation *res;
	int err;

	lock_acquire(&d->lock);
	res = find_reservation(d, addr, size);
	err = !res || res->addr != addr || res->size != size ||
	      !is_unmapped(res, 0, size / GRANULARITY) ? -EINVAL : 0;
	lock_release(&d->lock);
	if (err)
		return err;
	err = os_unreserve(pointer(addr), size);
	if (err)
		return err;

	lock_acquire(&d->lock);
	resv_fini(&res->owners);
	res->addr = res->size = 0;
	lock_release(&d->lock);
	return 0;
}

/* ---- Handles ---------------------------------------------------------- */

/* The handle that @id names, or NULL. */
static struct host_handle *find_handle(struct host_dev *d, u64 id)
{
	u32 slot = (u32)id;
	struct host_handle *h;

	if (!slot || slot >= d->nr_slots)
		return NULL;
	h = handle_slot(d, slot);
	return h->size && h->generation == (u32)(id >> 32) ? h : NULL;
}

static int take_slot(struct host_dev *d, u32 *slot)
{
	if (d->free_slot) {
		*slot = d->free_slot;
		d->free_slot = handle_slot(d, *slot)->next_free;
		return 0;
	}
	if (resv_grow(&d->handles,
		      ((u64)d->nr_slots + 1) * sizeof(struct host_handle)))
		return -ENOMEM;
	*slot = d->nr_slots++;
	return 0;
}

int host_handle_add(struct host_dev *d, u64 size, int fd, u64 *id)
{
	struct host_handle *h;
	u32 slot;
	int err;

	lock_acquire(&d->lock);
	err = take_slot(d, &slot);
	if (err)
		goto unlock;
	h = handle_slot(d, slot);
	h->size = size;
	h->addr = 0;
	h->fd = fd;
	*id = (u64)h->generation << 32 | slot;
unlock:
	lock_release(&d->lock);
	return err;
}

static int host_create(void *dev, u64 size, u64 *id)
{
	return is_granular(size) ? host_handle_add(dev, size, -1, id) : -EINVAL;
}

int host_handle_fd_locked(struct host_dev *d, u64 id)
{
	const struct host_handle *h = find_handle(d, id);

	return h ? h->fd : -1;
}

int host_release(void *dev, u64 id, u64 size)
{
	struct host_dev *d = dev;
	struct host_handle *h;
	int err = -EINVAL;
	int fd = -1;

	lock_acquire(&d->lock);
	h = find_handle(d, id);
	if (h && h->size == size && !h->addr) {
		fd = h->fd;
		h->size = 0;
		h->generation++;
		h->next_free = d->free_slot;
		d->free_slot = (u32)id;
		err = 0;
	}
	lock_release(&d->lock);
	/* Gone, whatever close() says: nothing was ever written to it. */
	if (fd >= 0)
		(void)os_close(fd);
	return err;
}

/* ---- Mappings --------------------------------------------------------- */

static void set_owner(struct host_reservation *res, u64 addr, u64 size,
		      u32 slot)
{
	u64 first = (addr - res->addr) / GRANULARITY;

	for (u64 i = 0; i < size / GRANULARITY; i++)
		owners(res)[first + i] = slot;
}

int host_map(void *dev, u64 addr, u64 size, u64 id)
{
	struct host_dev *d = dev;
	struct host_reservation *res;
	struct host_handle *h;
	u64 first, end;
	int err = -EINVAL;

	if (!is_granular(addr) || !is_granular(size))
		return -EINVAL;
	lock_acquire(&d->lock);
	res = find_reservation(d, addr, size);
	h = find_handle(d, id);
	if (!res || !h || h->size != size || h->addr)
		goto unlock;
	first = (addr - res->addr) / GRANULARITY;
	end = first + size / GRANULARITY;
	if (!is_unmapped(res, first, end))
		goto unlock;
	err = resv_grow(&res->owners, end * sizeof(u32));
	if (err) {
		err = -ENOMEM;
		goto unlock;
	}
	set_owner(res, addr, size, (u32)id);
	h->addr = addr;
unlock:
	lock_release(&d->lock);
	return err;
}

struct host_handle *host_mapping_at_locked(struct host_dev *d, u64 addr)
{
	struct host_reservation *res = find_reservation(d, addr, GRANULARITY);
	struct host_handle *h;
	u64 i;
	u32 slot;

	if (!res || !is_granular(addr))
		return NULL;
	i = (addr - res->addr) / GRANULARITY;
	if (i >= res->owners.committed / sizeof(u32))
		return NULL;
	slot = owners(res)[i];
	h = slot ? handle_slot(d, slot) : NULL;
	return h && h->addr == addr ? h : NULL;
}

/* True when [@addr, @end) is one or more whole, adjacent mappings. */
static bool is_whole_mappings(struct host_dev *d, u64 addr, u64 end)
{
	struct host_handle *h;

	for (; addr < end; addr += h->size) {
		h = host_mapping_at_locked(d, addr);
		if (!h)
			return false;
	}
	return addr == end;
}

int host_set_access(void *dev, u64 addr, u64 size)
{
	struct host_dev *d = dev;
	bool whole;
	u64 end;
	int err;

	if (!is_granular(size) || add_overflows(addr, size, &end))
		return -EINVAL;
	lock_acquire(&d->lock);
	whole = find_reservation(d, addr, size) &&
		is_whole_mappings(d, addr, end);
	lock_release(&d->lock);
	if (!whole)
		return -EINVAL;
	err = d->shared ? host_map_files(d, addr, end) :
			  os_commit(pointer(addr), size);
	/* A wish: without huge pages the memory is as good. */
	if (!err && d->huge_pages)
		(void)os_hint_huge(pointer(addr), size);
	return err;
}

int host_unmap(void *dev, u64 addr, u64 size)
{
	struct host_dev *d = dev;
	struct host_handle *h;
	bool exact;
	int err;

	lock_acquire(&d->lock);
	h = host_mapping_at_locked(d, addr);
	exact = h && h->size == size;
	lock_release(&d->lock);
	if (!exact)
		return -EINVAL;
	checker_forget(addr, size);
	err = os_decommit(pointer(addr), size);
	if (err)
		return err;

	lock_acquire(&d->lock);
	set_owner(find_reservation(d, addr, size), addr, size, 0);
	h->addr = 0;
	lock_release(&d->lock);
	return 0;
}

int host_meminfo(void *dev, u64 *free_bytes, u64 *total_bytes)
{
	(void)dev;
	*free_bytes = os_memory_free();
	*total_bytes = os_memory_total();
	return 0;
}

/* ---- The device ------------------------------------------------------- */

int vmm_host_get(unsigned int flags, bool shared, void **dev)
{
	size_t bytes = align_up(sizeof(struct host_dev), os_page_size());
	struct host_dev *d;
	void *page;
	int err;

	err = os_reserve(bytes, &page);
	if (err)
		return err;
	err = os_commit(page, bytes);
	if (err)
		goto unreserve;
	d = page;
	d->huge_pages = flags & SLABDEV_OPEN_HUGE_PAGES;
	d->shared = shared;
	d->bytes = bytes;
	d->nr_slots = 1;
	err = resv_init(&d->handles, SLOT_MAX * sizeof(struct host_handle),
			STEP);
	if (err)
		goto unreserve;
	err = host_events_init(&d->events);
	if (err)
		goto fini_handles;
	lock_init(&d->lock, LOCK_META, "host backend");
	*dev = d;
	return 0;

fini_handles:
	resv_fini(&d->handles);
unreserve:
	(void)os_unreserve(page, bytes);
	return err;
}

/* Files of handles that could not be released. */
static void close_files(struct host_dev *d)
{
	struct host_handle *h;

	for (u32 slot = 1; d->shared && slot < d->nr_slots; slot++) {
		h = handle_slot(d, slot);
		if (h->size)
			(void)os_close(h->fd);
	}
}

void host_put(void *dev)
{
	struct host_dev *d = dev;

	close_files(d);
	for (u32 i = 0; i < VMM_MAX_RANGES; i++)
		if (d->res[i].size)
			resv_fini(&d->res[i].owners);
	host_events_fini(&d->events);
	resv_fini(&d->handles);
	lock_fini(&d->lock);
	(void)os_unreserve(d, d->bytes);
}

const struct vmm_ops vmm_host_ops = {
	.name = "host",
	.survives_fork = true,
	.synchronous = true,
	.granularity = host_granularity,
	.reserve = host_reserve,
	.unreserve = host_unreserve,
	.create = host_create,
	.release = host_release,
	.map = host_map,
	.set_access = host_set_access,
	.unmap = host_unmap,
	HOST_WORK_OPS,
	.meminfo = host_meminfo,
	.put = host_put,
};
