// SPDX-License-Identifier: BSD-2-Clause
/* bank.c - see bank.h. */
#include "tests/bank.h"
#include "vmm/backends.h"

#define BANK_BASE ((u64)1 << 40)

struct bank bank;
struct vmm_ops bank_ops;

static struct region *region_of(u64 addr, u64 size)
{
	for (u32 i = 0; i < REGIONS_MAX; i++) {
		struct region *r = &bank.regions[i];

		if (addr >= r->addr && addr + size <= r->addr + r->size)
			return r;
	}
	KUNIT_FAIL(bank.test, "0x%llx is in no region",
		   (unsigned long long)addr);
	return NULL;
}

u32 nr_regions(void)
{
	u32 n = 0;

	for (u32 i = 0; i < REGIONS_MAX; i++)
		n += bank.regions[i].size != 0;
	return n;
}

static bool *chunk_at(u64 addr)
{
	u64 chunk = (addr - BANK_BASE) / VMM_MIN_CHUNK;

	KUNIT_ASSERT_LT(bank.test, chunk, CHUNKS_MAX);
	return &bank.mapped[chunk];
}

/* ---- Operations ---------------------------------------------------------- */

static int bank_reserve(void *dev, u64 size, u64 align, u64 *addr)
{
	struct region *r = bank.regions;

	(void)dev;
	KUNIT_EXPECT_TRUE(bank.test, is_aligned(size, VMM_MIN_CHUNK));
	if (bank.used + size > bank.capacity)
		return -ENOMEM;
	while (r->size)
		r++;
	*r = (struct region){ align_up(bank.next, align) + bank.shift, size };
	/* No two regions are neighbours. */
	bank.next = r->addr + size + VMM_MIN_CHUNK;
	bank.used += size;
	*addr = r->addr;
	return 0;
}

static int bank_unreserve(void *dev, u64 addr, u64 size)
{
	struct region *r = region_of(addr, size);

	(void)dev;
	if (bank.unreserve_err)
		return bank.unreserve_err;
	KUNIT_ASSERT_NOT_NULL(bank.test, r);
	KUNIT_EXPECT_EQ(bank.test, r->addr, addr);
	KUNIT_EXPECT_EQ(bank.test, r->size, size);
	for (u64 at = addr; at < addr + size; at += VMM_MIN_CHUNK)
		KUNIT_EXPECT_FALSE(bank.test, *chunk_at(at));
	bank.used -= size;
	*r = (struct region){ 0 };
	return 0;
}

static int bank_create(void *dev, u64 size, u64 *handle)
{
	(void)dev;
	*handle = size;
	bank.nr_handles++;
	return 0;
}

static int bank_release(void *dev, u64 handle, u64 size)
{
	(void)dev;
	KUNIT_EXPECT_EQ(bank.test, handle, size);
	bank.nr_handles--;
	return 0;
}

static void set_mapped(u64 addr, u64 size, bool mapped)
{
	KUNIT_EXPECT_TRUE(bank.test, is_aligned(addr, VMM_MIN_CHUNK));
	(void)region_of(addr, size);
	for (u64 at = addr; at < addr + size; at += VMM_MIN_CHUNK) {
		KUNIT_EXPECT_NE(bank.test, *chunk_at(at), mapped);
		*chunk_at(at) = mapped;
	}
}

static int bank_map(void *dev, u64 addr, u64 size, u64 handle)
{
	(void)dev;
	KUNIT_EXPECT_EQ(bank.test, handle, size);
	set_mapped(addr, size, true);
	return 0;
}

static int bank_set_access(void *dev, u64 addr, u64 size)
{
	(void)dev;
	for (u64 at = addr; at < addr + size; at += VMM_MIN_CHUNK)
		KUNIT_EXPECT_TRUE(bank.test, *chunk_at(at));
	return 0;
}

static int bank_unmap(void *dev, u64 addr, u64 size)
{
	(void)dev;
	set_mapped(addr, size, false);
	return 0;
}

static int bank_fill(void *dev, u64 addr, u64 size, u8 byte,
		     slabdev_stream_t stream)
{
	(void)byte;
	(void)stream;
	return bank_set_access(dev, addr, size);
}

static int bank_copy(void *dev, u64 to, u64 from, u64 size,
		     slabdev_stream_t stream)
{
	(void)stream;
	(void)bank_set_access(dev, from, size);
	return bank_set_access(dev, to, size);
}

static int bank_meminfo(void *dev, u64 *free_bytes, u64 *total)
{
	(void)dev;
	*free_bytes = bank.capacity - bank.used;
	*total = bank.capacity;
	return 0;
}

/* ---- Of a case ----------------------------------------------------------- */

int bank_init(struct kunit *test)
{
	struct space *s = space_new(test);

	bank = (struct bank){ .test = test, .capacity = TIB,
			      .next = BANK_BASE };
	bank_ops = vmm_host_ops;
	bank_ops.put = NULL;
	bank_ops.name = "bank";
	bank_ops.backed = true;
	bank_ops.reserve = bank_reserve;
	bank_ops.unreserve = bank_unreserve;
	bank_ops.create = bank_create;
	bank_ops.release = bank_release;
	bank_ops.map = bank_map;
	bank_ops.set_access = bank_set_access;
	bank_ops.unmap = bank_unmap;
	bank_ops.fill = bank_fill;
	bank_ops.copy = bank_copy;
	bank_ops.meminfo = bank_meminfo;
	s->ops = &bank_ops;
	test->priv = s;
	return 0;
}

void bank_exit(struct kunit *test)
{
	if (!test->priv)
		return;
	space_end(test->priv);
	KUNIT_EXPECT_EQ(test, bank.used, 0);
	KUNIT_EXPECT_EQ(test, nr_regions(), 0);
	KUNIT_EXPECT_EQ(test, bank.nr_handles, 0);
}

struct space *bank_space(struct kunit *test, u64 limit, u64 reserve)
{
	struct space *s = test->priv;

	space_open(s, limit, reserve);
	return s;
}

u64 used_chunks(void)
{
	return bank.used / VMM_MIN_CHUNK;
}
