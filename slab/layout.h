/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layout.h - sizes, size classes and the shape of slabs: pure arithmetic.
 *
 * General classes: eight steps a doubling, multiples of 256 bytes, up to
 * 1 MiB: 256, 512 ... 2048 (steps of 256), 2304 ... 4096 (256), 4608 ... 8192
 * (512) and so on. An object wastes at most 255 bytes below 2 KiB and 12.5 %
 * above. The class of a size is one load from a table of 4,096 bytes, since
 * finding the top bit costs more than that.
 *
 * The shape of a slab: the fewest slices whose tail is at most 1/16 of them,
 * holding at most 64 objects. Short slabs keep little memory from others when
 * a few objects stay.
 */
#ifndef SLAB_LAYOUT_H
#define SLAB_LAYOUT_H

#define SLICE_SHIFT 14
#define SLICE_SIZE ((u64)1 << SLICE_SHIFT)

#define NR_GENERAL 80u
/* The class whose objects are one granule. */
#define CLASS_GRANULE 1u
#define GENERAL_MAX MIB
/* Above this a large object has a handle of its own. */
#define SHARED_MAX (64 * MIB)
#define SLAB_MAX_OBJECTS 64u
#define SHEAF_MAX_OBJECTS 64u
#define CACHE_OBJECT_MAX (64 * MIB)
#define TINY_MIN 16u
#define TINY_MAX_OBJECTS 1024u

/* By (size - 1) / 256; class numbers from 1 on. Filled by layout_init(). */
extern u8 layout_class_table[GENERAL_MAX >> 8];
/* Bytes of an object, by class number. */
extern u32 layout_class_size[NR_GENERAL + 1];

/* Fill the tables; idempotent, under the registry lock. */
void layout_init(void);

/* The class of a size from 1 to GENERAL_MAX. */
static inline size_t layout_class(size_t size)
{
	return layout_class_table[(size - 1) >> 8];
}

/* The smallest class for @size at @align (up to SLICE_SIZE); 0: none. */
unsigned int layout_class_aligned(size_t size, size_t align);

struct slab_shape {
	u32 nr;		/* objects */
	u32 span;	/* slices */
};
struct slab_shape layout_shape(u64 stride);
/* The shape for objects below a granule: one slice. */
struct slab_shape layout_tiny_shape(u32 stride);

/* Objects in one sheaf: at most 128 KiB of them, 1 to 64. */
u32 layout_sheaf_cap(u64 stride, u64 sheaf_bytes);

#endif /* SLAB_LAYOUT_H */
