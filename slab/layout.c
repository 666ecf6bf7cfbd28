// SPDX-License-Identifier: BSD-2-Clause
/* layout.c - the tables and the search for a slab's shape; see layout.h. */
#include "core/overflow.h"
#include "slab/layout.h"

#define STEPS_SHIFT 3	/* eight steps a doubling */
#define MIN_STEP ((u64)256)
#define SHEAF_TARGET (128 * KIB)

u8 layout_class_table[GENERAL_MAX >> 8];
u32 layout_class_size[NR_GENERAL + 1];

/* The class size after @size. */
static u64 next_class_size(u64 size)
{
	u64 step = (u64)1 << ilog2(size) >> STEPS_SHIFT;

	return size + max(step, MIN_STEP);
}

void layout_init(void)
{
	u64 size = MIN_STEP, entry = 0;
	unsigned int class;

	for (class = 1; class <= NR_GENERAL; class++) {
		layout_class_size[class] = (u32)size;
		while (entry < size >> 8)
			layout_class_table[entry++] = (u8)class;
		size = next_class_size(size);
	}
}

unsigned int layout_class_aligned(size_t size, size_t align)
{
	unsigned int class;

	for (class = layout_class(size); class <= NR_GENERAL; class++)
		if (is_aligned(layout_class_size[class], align))
			return class;
	return 0;
}

struct slab_shape layout_shape(u64 stride)
{
	struct slab_shape shape = { 0, 0 };
	u64 span, nr, bytes;

	for (span = div_round_up(stride, SLICE_SIZE);; span++) {
		bytes = span * SLICE_SIZE;
		nr = min(bytes / stride, (u64)SLAB_MAX_OBJECTS);
		shape.nr = (u32)nr;
		shape.span = (u32)span;
		if ((bytes - nr * stride) * 16 <= bytes)
			return shape;
	}
}

struct slab_shape layout_tiny_shape(u32 stride)
{
	return (struct slab_shape){
		.nr = (u32)min(SLICE_SIZE / stride, (u64)TINY_MAX_OBJECTS),
		.span = 1,
	};
}

u32 layout_sheaf_cap(u64 stride, u64 sheaf_bytes)
{
	u64 cap = (sheaf_bytes ? sheaf_bytes : SHEAF_TARGET) / stride;

	return (u32)min(max(cap, (u64)1), (u64)SHEAF_MAX_OBJECTS);
}
