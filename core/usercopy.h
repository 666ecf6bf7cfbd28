/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * usercopy.h - structures that cross the ABI with their own size.
 *
 * The caller's structure begins with its size. Shorter than ours: it is from
 * an older header, and what is missing keeps its default. Longer: from a newer
 * one, and acceptable as long as what we do not know is zero.
 */
#ifndef CORE_USERCOPY_H
#define CORE_USERCOPY_H

/*
 * copy_struct_from_user - take over a structure that the caller filled
 * @to: our structure, set to its defaults
 * @to_size: its size
 * @from: the caller's, or NULL for the defaults
 * @name: of the argument, for the error text
 *
 * 0; -EINVAL no plausible size, -E2BIG an unknown tail that is not zero.
 */
int __must_check copy_struct_from_user(void *to, size_t to_size,
				       const void *from, const char *name);

/* Fill the caller's structure as far as both sides know it. 0 or -EINVAL. */
int copy_struct_to_user(void *to, size_t to_size, const void *from,
			size_t from_size, const char *name);

#endif /* CORE_USERCOPY_H */
