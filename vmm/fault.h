/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault.h - a backend that wraps another one and fails chosen calls.
 *
 * Tests walk a workload and let the first, second, third ... call of a kind
 * fail, until it runs through: every error path is then taken once. The
 * wrapper also keeps the books of what exists (reservations, handles,
 * mappings), so that a test can ask whether all of it was given back.
 */
#ifndef VMM_FAULT_H
#define VMM_FAULT_H

#include "core/lock.h"
#include "vmm/ops.h"

struct vmm_fault {
	struct vmm_ops table;		/* with the wrapped one's traits */
	const struct vmm_ops *ops;	/* of the wrapped backend */
	void *dev;
	struct lock lock;
	u64 calls[VMM_NR_OPS];		/* made, failed ones included */
	u64 fail_at[VMM_NR_OPS];	/* n-th call from arming on, 0: never */
	u64 fail_count[VMM_NR_OPS];	/* how many from there on fail */
	u64 any_at;			/* n-th management call of any kind, */
	u64 any_count;			/* and so many in all, */
	u64 any_apart;			/* so many calls apart */
	u64 any_calls;
	int error;			/* what a failing call returns */
	/* The books. */
	u64 reservations, handles, mappings;
	u64 created_bytes, mapped_bytes;
};

void vmm_fault_init(struct vmm_fault *f, const struct vmm_ops *ops, void *dev);
void vmm_fault_fini(struct vmm_fault *f);
/* From now on the @n-th call of @op (1: the next) fails, and @count - 1 more
 * after it, with @error. @n 0 disarms. Counting starts anew. */
void vmm_fault_arm(struct vmm_fault *f, enum vmm_op op, u64 n, u64 count,
		   int error);
/* The same for memory-management calls of any kind; each that fails is @apart
 * calls after the one before: 1 for calls in a row. */
void vmm_fault_arm_any(struct vmm_fault *f, u64 n, u64 count, u64 apart,
		       int error);
/* True when nothing that was made through @f still exists. */
bool vmm_fault_balanced(const struct vmm_fault *f);

#endif /* VMM_FAULT_H */
