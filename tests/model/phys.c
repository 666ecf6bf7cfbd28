// SPDX-License-Identifier: BSD-2-Clause
/*
 * phys.c - physical memory: bytes without an address.
 *
 * Charged to its device when it is made, and given back when the last handle
 * and the last mapping are gone. The bytes themselves are host memory that is
 * mapped when something first touches them, so that a chunk of a terabyte
 * that nobody writes costs nothing.
 *
 * New memory is full of garbage, as memory that somebody had before: pages of
 * one file that is mapped over it, and copied where it is written.
 *
 * What may be shared lies in a memfd. Its last page, behind the bytes, says
 * what it is, so that an import knows such a file from any other.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/model/internal.h"

#define MAGIC 0x4c45444f4d47504cull
#define GARBAGE 0xdb
#define GARBAGE_BYTES (16 * MIB)

struct trailer {
	u64 magic;
	u64 size;
	CUmemAllocationProp prop;
};

static struct phys **shared;	/* those with a file, for imports */
static size_t nr_shared, cap_shared;

/* ---- Accounting ----------------------------------------------------- */

bool device_charge(int device, u64 bytes)
{
	struct device *d;

	if (device < 0)
		return true;
	d = &model.devices[device];
	if (bytes > profile_bytes(model.profile, device) - d->used_bytes)
		return broken(68);
	d->used_bytes += bytes;
	return true;
}

void device_uncharge(int device, u64 bytes)
{
	if (device >= 0)
		model.devices[device].used_bytes -= bytes;
}

/* ---- Files ---------------------------------------------------------- */

static bool write_trailer(struct phys *phys)
{
	struct trailer t = {
		.magic = MAGIC, .size = phys->size, .prop = phys->prop,
	};

	return !ftruncate(phys->fd, (off_t)(phys->size + model.page)) &&
	       pwrite(phys->fd, &t, sizeof(t), (off_t)phys->size) ==
	       (ssize_t)sizeof(t);
}

static void remember_shared(struct phys *phys)
{
	if (nr_shared == cap_shared) {
		cap_shared = cap_shared ? 2 * cap_shared : 16;
		shared = realloc(shared, cap_shared * sizeof(shared[0]));
		if (!shared)
			undefined(0, "the host has no memory for a list");
	}
	shared[nr_shared++] = phys;
}

static void forget_shared(const struct phys *phys)
{
	size_t i;

	for (i = 0; i < nr_shared; i++)
		if (shared[i] == phys)
			shared[i--] = shared[--nr_shared];
}

static struct phys *find_shared(const struct stat *st)
{
	struct stat own;
	size_t i;

	for (i = 0; i < nr_shared; i++)
		if (!fstat(shared[i]->fd, &own) && own.st_ino == st->st_ino &&
		    own.st_dev == st->st_dev)
			return shared[i];
	return NULL;
}

/* ---- Physical memory ------------------------------------------------ */

static struct phys *phys_new(u64 size, const CUmemAllocationProp *prop,
			     int device)
{
	struct phys *phys = calloc(1, sizeof(*phys));

	if (!phys)
		return NULL;
	phys->id = ++model.next_id;
	phys->size = size;
	phys->prop = *prop;
	phys->device = device;
	phys->users = 1;
	phys->fd = -1;
	return phys;
}

static bool needs_file(const CUmemAllocationProp *prop)
{
	return prop->requestedHandleTypes ||
	       prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE;
}

struct phys *phys_create(u64 size, const CUmemAllocationProp *prop,
			 int device)
{
	struct phys *phys;

	if (!device_charge(device, broken(54) ? 0 : size))
		return NULL;
	phys = phys_new(size, prop, device);
	if (!phys)
		goto uncharge;
	if (!needs_file(prop))
		return phys;
	phys->fd = memfd_create("driver model", MFD_CLOEXEC);
	if (phys->fd < 0)
		goto free_phys;
	if (!write_trailer(phys))
		goto close_file;
	remember_shared(phys);
	return phys;

close_file:
	close(phys->fd);
free_phys:
	free(phys);
uncharge:
	device_uncharge(device, size);
	return NULL;
}

static struct phys *import_foreign(int fd, const struct trailer *t)
{
	int device = t->prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE ?
		     t->prop.location.id : -1;
	struct phys *phys;

	if (broken(129) || !device_charge(device, t->size))
		return NULL;
	phys = phys_new(t->size, &t->prop, device);
	if (!phys)
		goto uncharge;
	phys->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (phys->fd < 0)
		goto free_phys;
	remember_shared(phys);
	return phys;

free_phys:
	free(phys);
uncharge:
	device_uncharge(device, t->size);
	return NULL;
}

struct phys *phys_import(int fd)
{
	struct trailer t;
	struct phys *phys;
	struct stat st;
	off_t at;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return NULL;
	at = st.st_size - (off_t)model.page;
	if (at <= 0 || pread(fd, &t, sizeof(t), at) != (ssize_t)sizeof(t) ||
	    t.magic != MAGIC || t.size != (u64)at)
		return NULL;
	phys = broken(128) ? NULL : find_shared(&st);
	if (!phys)
		return import_foreign(fd, &t);
	phys->users++;
	return phys;
}

void phys_put(struct phys *phys)
{
	if (--phys->users)
		return;
	if (phys->alias)
		munmap(phys->alias, phys->size);
	if (phys->fd >= 0) {
		forget_shared(phys);
		close(phys->fd);
	}
	device_uncharge(phys->device, phys->size);
	free(phys);
}

/* ---- Bytes -------------------------------------------------------------- */

/* A file of what new memory has in it; -1: the host has no memory for it. */
static int make_garbage(void)
{
	int fd = memfd_create("driver model garbage", MFD_CLOEXEC);
	void *p;

	if (fd < 0 || ftruncate(fd, GARBAGE_BYTES))
		return -1;
	p = mmap(NULL, GARBAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 0);
	if (p == MAP_FAILED)
		return -1;
	memset(p, GARBAGE, GARBAGE_BYTES);
	munmap(p, GARBAGE_BYTES);
	return fd;
}

/* Lay it over @size bytes at @p, without taking memory for them. */
static void lay_garbage(unsigned char *p, u64 size)
{
	static int fd = -2;
	u64 at;

	if (fd == -2)
		fd = make_garbage();
	for (at = 0; fd >= 0 && at < size; at += GARBAGE_BYTES)
		mmap(p + at, min(size - at, GARBAGE_BYTES),
		     PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, fd, 0);
}

unsigned char *phys_data(struct phys *phys)
{
	int flags = phys->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *p;

	if (phys->alias)
		return phys->alias;
	p = mmap(NULL, phys->size, PROT_READ | PROT_WRITE,
		 flags | MAP_NORESERVE, phys->fd, 0);
	if (p == MAP_FAILED)
		undefined(0, "the host has no memory for %llu bytes of the "
			  "device", (unsigned long long)phys->size);
	phys->alias = p;
	if (phys->fd < 0)
		lay_garbage(phys->alias, phys->size);
	return phys->alias;
}
