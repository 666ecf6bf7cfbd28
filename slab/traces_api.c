// SPDX-License-Identifier: BSD-2-Clause
/* traces_api.c - slabdev_traces(), in every configuration. */
#include "core/cancel.h"
#include "slab/health.h"
#include "slab/traces.h"

static int check_arguments(enum slabdev_trace_kind kind, unsigned int flags,
			   const FILE *out)
{
	if (!out)
		return error_set(-EINVAL, "slabdev_traces: out is NULL");
	if (kind != SLABDEV_TRACE_ALLOC && kind != SLABDEV_TRACE_FREE)
		return error_set(-EINVAL, "slabdev_traces: kind %d is not "
				 "known", (int)kind);
	if (flags & ~SLABDEV_TRACE_JSON)
		return error_set(-EINVAL, "slabdev_traces: flags %#x are not "
				 "known", flags);
	return 0;
}

int slabdev_traces(struct slabdev *sd, enum slabdev_trace_kind kind,
		   unsigned int flags, FILE *out)
{
	NO_CANCELLATION;
	int err = space_check(sd, "slabdev_traces");

	if (!err)
		err = check_arguments(kind, flags, out);
	if (!err)
		err = traces_print(sd, kind, flags & SLABDEV_TRACE_JSON, out);
	if (err)
		return err;
	if (fflush(out) || ferror(out))
		return error_set(-EIO, "the traces could not be written");
	return 0;
}
