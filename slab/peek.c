// SPDX-License-Identifier: BSD-2-Clause
/* peek.c - see peek.h. */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "slab/peek.h"

int peek_begin(struct peek *k, struct slabdev *sd, bool wide)
{
	*k = (struct peek){ .sd = sd, .wide = wide && !sd->ops->synchronous };
	if (peek_is_forbidden(sd))
		return -EAGAIN;
	k->copy = metapool_alloc_stale(&sd->peek_pool);
	return k->copy ? 0 : -ENOMEM;
}

/* Where it cannot be told that a read which failed has ended, its target is
 * not used again. */
void peek_end(struct peek *k)
{
	if (k->copy && !k->torn)
		metapool_free(&k->sd->peek_pool, k->copy);
}

void peek_tell_failed(const struct peek *k)
{
	if (k->failed)
		pr_warn("space %s: some memory could not be read: zones or "
			"poison there could not be looked at", k->sd->name);
}

void peek_forget(struct peek *k)
{
	k->len = 0;
}

void *peek_borrow(struct peek *k)
{
	peek_forget(k);
	return k->torn ? NULL : k->copy;
}

static bool is_shown(const struct peek *k, u64 offset)
{
	return offset - k->at < k->len;
}

const u8 *peek_at(struct peek *k, u64 offset, u64 end, u64 *n)
{
	char text[ERROR_TEXT_MAX];
	u64 len = min(end - offset, PEEK_BYTES);
	int err;

	if (!is_shown(k, offset)) {
		error_save(text);
		err = vmm_read(&k->sd->vmm, k->copy,
			       space_addr(k->sd, offset), len);
		k->at = offset;
		k->len = err ? 0 : len;
		k->failed |= err != 0;
		if (err)
			k->torn |= vmm_quiesce(&k->sd->vmm) != 0;
		error_restore(text);
		if (err)
			return NULL;
	}
	*n = min(k->at + k->len, end) - offset;
	return k->copy + (offset - k->at);
}

u64 peek_copy(struct peek *k, u8 *to, u64 offset, u64 n)
{
	u64 done = 0, part;
	const u8 *from;

	while (done < n) {
		from = peek_at(k, offset + done, offset + n, &part);
		if (!from)
			break;
		memcpy(to + done, from, part);
		done += part;
	}
	return done;
}
