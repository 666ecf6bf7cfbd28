/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_files.h - the contents of statistics files of our choosing
 *
 * Consistent and made up, to be spoilt by a test before a reader sees them.
 */
#ifndef TESTS_FAKE_FILES_H
#define TESTS_FAKE_FILES_H

#include <slabdev/segment.h>

/* Room in a file; whole pages of any size that Linux has. */
#define FAKE_ROOM (128 * 1024)

/*
 * A space of four classes and two threads, at rest. Its figures are:
 *
 *	            memory  objects     live  rounding   cached  slack
 *	size-1024   655360      400   407200      2400   245760      0
 *	blocks      327680       40   200000      4800   102400  20480
 *	empty            0        0        0         0        0      0
 *	large      2097152        2  2000000     64384        0  32768
 *	all        3080192      442  2607200     71584   348160  53248
 *
 * with 3211264 bytes of free slices, 2097152 idle and 2097152 lost, of
 * 10485760 mapped.
 */
void fake_space_init(struct slabdev_seg_space *space);
void fake_classes_init(struct slabdev_seg_window *w,
		       struct slabdev_seg_thread *threads);

/* A sound header, but for pid and start time. Returns the size of the file. */
size_t fake_header_init(struct slabdev_seg_header *head, uint32_t kind,
			uint32_t index);

/* When this process started, as the header has it; 0 if nobody knows. */
uint64_t fake_start_time(void);

#endif /* TESTS_FAKE_FILES_H */
