/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host_dev.h - what host.c and host_share.c know of a host device.
 *
 * A device is plain or shared. The handles of a plain one are promises, which
 * become anonymous memory where they are mapped; those of a shared one are
 * files in memory, which other processes can map too.
 */
#ifndef VMM_HOST_DEV_H
#define VMM_HOST_DEV_H

#include "core/lock.h"
#include "core/resv.h"
#include "vmm/host_work.h"
#include "vmm/vmm.h"

#define HOST_GRANULARITY VMM_MIN_CHUNK

/* Slot 0 of each array is nobody's, so that 0 means none. */
struct host_handle {
	u64 size;		/* 0: the slot is free */
	u64 addr;		/* 0: not mapped */
	u32 generation;
	u32 next_free;
	int fd;			/* shared devices; never a standard one */
};

struct host_reservation {
	u64 addr, size;		/* size 0: the entry is unused */
	struct resv owners;	/* u32 slot, by granule; 0: not mapped */
};

struct host_dev {
	struct host_events events;	/* first */
	bool huge_pages;	/* const */
	bool shared;		/* const */
	size_t bytes;		/* of this structure; const */
	/* Locking: lock. */
	struct lock lock;
	struct resv handles;	/* struct host_handle, by slot */
	u32 nr_slots;
	u32 free_slot;
	struct host_reservation res[VMM_MAX_RANGES];
};

/* ---- host.c ------------------------------------------------------------- */

/* A handle of @size bytes; of a shared device: of the file @fd, which it owns
 * from then on. 0 or -ENOMEM. */
int __must_check host_handle_add(struct host_dev *d, u64 size, int fd,
				 u64 *id);
/* The file of a handle; -1: there is no such handle. Locking: lock. */
int host_handle_fd_locked(struct host_dev *d, u64 id);
/* The handle whose mapping begins exactly at @addr, or NULL. Locking: lock. */
struct host_handle *host_mapping_at_locked(struct host_dev *d, u64 addr);

/* The operations that a shared device has in common with a plain one. */
int host_granularity(void *dev, u64 *bytes);
int host_reserve(void *dev, u64 size, u64 align, u64 *addr);
int host_unreserve(void *dev, u64 addr, u64 size);
int host_release(void *dev, u64 id, u64 size);
int host_map(void *dev, u64 addr, u64 size, u64 id);
int host_set_access(void *dev, u64 addr, u64 size);
int host_unmap(void *dev, u64 addr, u64 size);
int host_meminfo(void *dev, u64 *free_bytes, u64 *total_bytes);
void host_put(void *dev);

/* ---- host_share.c ------------------------------------------------------- */

/* Map the files of the whole mappings in [@addr, @end) where they belong. */
int __must_check host_map_files(struct host_dev *d, u64 addr, u64 end);

#endif /* VMM_HOST_DEV_H */
