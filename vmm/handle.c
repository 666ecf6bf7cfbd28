// SPDX-License-Identifier: BSD-2-Clause
/*
 * handle.c - physical handles: each transition, its undo, and what is lost.
 *
 * The transitions are drawn in vmm.c. A function here makes one, keeps the
 * counters and the chunk table, and fails with nothing changed; or it is an
 * undo, and then a failure makes the handle lost:
 *
 *   unmap failed    it keeps its chunk numbers, since whatever is mapped there
 *                   may still be reached;
 *   release failed  it has no numbers any more, only memory.
 *
 * The descriptor of a handle is taken before its first backend call, so a lost
 * handle always has one, and losing memory needs none.
 */
#include <errno.h>

#include "vmm/internal.h"

static void set_chunks(struct vmm *v, u32 first, u32 nr, struct vmm_handle *h)
{
	vmm_reservation_of(v, first)->nr_used += h ? nr : -nr;
	for (u32 i = 0; i < nr; i++)
		*vmm_chunk(v, first + i) = h;
}

static void lose(struct vmm *v, struct vmm_handle *h, enum vmm_op op, int err)
{
	h->state = VMM_LOST;
	list_add(&h->node, &v->lost);
	vmm_count(&v->cnt->lost, (s64)vmm_bytes(v, h->nr));
	/* Retried at each trim, told once, and once more when it is final. */
	if (!h->is_told || v->incident.closing)
		vmm_incident_lost(v, h, op, err);
	h->is_told = true;
}

int vmm_handle_create(struct vmm *v, u32 nr, struct vmm_handle **out)
{
	u64 size = vmm_bytes(v, nr);
	struct vmm_handle *h;
	int err;

	h = metapool_alloc(&v->handles);
	if (!h) {
		vmm_incident_lack(v, "no host memory for a handle");
		return -ENOMEM;
	}
	err = vmm_call_create(v, size, &h->id);
	if (err) {
		vmm_incident_op(v, VMM_OP_CREATE, size);
		goto free_handle;
	}
	list_init(&h->node);
	h->stamp = 0;
	h->first = VMM_NO_CHUNK;
	h->nr = nr;
	h->state = VMM_CREATED;
	h->is_new = true;
	h->is_held = false;
	vmm_count(&v->cnt->handles, 1);
	vmm_count(&v->cnt->created, (s64)size);
	if (v->cnt->created > v->cnt->peak_created)
		WRITE_ONCE(v->cnt->peak_created, v->cnt->created);
	*out = h;
	return 0;

free_handle:
	metapool_free(&v->handles, h);
	return err;
}

int vmm_handle_release(struct vmm *v, struct vmm_handle *h)
{
	u64 size = vmm_bytes(v, h->nr);
	int err;

	err = vmm_call_release(v, h->id, size);
	if (err) {
		lose(v, h, VMM_OP_RELEASE, err);
		return -EIO;
	}
	vmm_count(&v->cnt->handles, -1);
	vmm_count(&v->cnt->created, -(s64)size);
	metapool_free(&v->handles, h);
	return 0;
}

int vmm_handle_map(struct vmm *v, struct vmm_handle *h, u32 first)
{
	u64 size = vmm_bytes(v, h->nr);
	int err;

	err = vmm_call_map(v, vmm_chunk_addr(v, first), size, h->id);
	if (err) {
		vmm_incident_op(v, VMM_OP_MAP, size);
		return err;
	}
	h->first = first;
	h->state = VMM_MAPPED;
	h->is_held = vmm_is_wall(v, first);
	if (h->is_held)
		vmm_wall_take_away(v, first, h->nr);
	set_chunks(v, first, h->nr, h);
	return 0;
}

int vmm_handle_unmap(struct vmm *v, struct vmm_handle *h)
{
	int err;

	err = vmm_call_unmap(v, vmm_chunk_addr(v, h->first),
			     vmm_bytes(v, h->nr));
	if (err) {
		lose(v, h, VMM_OP_UNMAP, err);
		return -EIO;
	}
	set_chunks(v, h->first, h->nr, NULL);
	if (h->is_held)
		vmm_wall_off(v, h->first, h->nr);
	else
		range_free(&v->addresses, h->first, h->nr);
	h->is_held = false;
	h->first = VMM_NO_CHUNK;
	h->stamp = 0;
	h->state = VMM_CREATED;
	return 0;
}

int vmm_handle_destroy(struct vmm *v, struct vmm_handle *h)
{
	int err = vmm_handle_unmap(v, h);

	return err ? err : vmm_handle_release(v, h);
}

int vmm_lost_retry(struct vmm *v)
{
	struct list todo = LIST_INIT(todo);
	struct vmm_handle *h;
	int err = 0;

	list_splice_tail(&v->lost, &todo);
	list_for_each_entry_safe(h, &todo, node) {
		list_del(&h->node);
		vmm_count(&v->cnt->lost, -(s64)vmm_bytes(v, h->nr));
		if (h->first == VMM_NO_CHUNK ? vmm_handle_release(v, h) :
					       vmm_handle_destroy(v, h))
			err = -EIO;
	}
	return err;
}
