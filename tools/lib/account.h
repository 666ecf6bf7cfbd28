/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * account.h - the numbers of a space, from its files.
 */
#ifndef SLABINFO_ACCOUNT_H
#define SLABINFO_ACCOUNT_H

#include <stddef.h>

#include "model.h"
#include "segment.h"

/*
 * Reads the space whose files are @segs, sorted by kind and index, each index
 * once. Whatever is wrong becomes a problem and leaves @space incomplete.
 * 0; -ENOENT there is no space in them that could be shown.
 */
int account_space(struct space *space, const struct segment *segs, size_t nr,
		  struct problems *problems);

#endif /* SLABINFO_ACCOUNT_H */
