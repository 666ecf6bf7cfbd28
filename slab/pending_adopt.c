// SPDX-License-Identifier: BSD-2-Clause
/* pending_adopt.c - a stream waits for what others have pending, and has it;
 * see pending.h. */
#include "slab/barn.h"
#include "slab/pending_private.h"

static int make_wait(struct slabdev *sd, const struct pending *p,
		     const struct order *o)
{
	int err = 0;
	u32 i;

	for (i = 0; i < p->nr_events && !err; i++)
		err = vmm_stream_wait(&sd->vmm, o->handle, p->event[i]);
	if (!err)
		shared_add(&sd->rec->stream_waits, 1);
	return err;
}

/* At most @most objects out of a record. */
static u32 take_slots(struct pending *p, struct class *c, slot_t *to, u32 most)
{
	struct sheaf *s = p->sheaf;
	u32 n = 0;

	if (p->class) {
		to[n++] = p->slot;
		p->class = NULL;
		return n;
	}
	while (n < most && s->n)
		to[n++] = s->slot[--s->n];
	if (!s->n) {
		p->sheaf = NULL;
		sheaf_drop(c, s);
	}
	return n;
}

/* What a record has, for the stream of @o; the rest goes back. How many. */
static u32 adopt(struct class *c, struct pending *p, const struct order *o,
		 slot_t *to, u32 most)
{
	struct slabdev *sd = c->sd;
	u32 n;

	if (make_wait(sd, p, o)) {
		pending_put_back(sd, p, 0);
		return 0;
	}
	n = take_slots(p, c, to, most);
	pending_unbook(c, n);
	if (p->sheaf)
		pending_put_back(sd, p, 0);
	else
		pending_retire(sd, p);
	return n;
}

u32 pending_adopt(struct class *c, const struct order *o, slot_t *to, u32 most)
{
	struct slabdev *sd = c->sd;
	struct stream *queue;
	struct pending *p;
	u32 n;

	if (!READ_ONCE(c->rec->pending))
		return 0;
	p = pending_take_match(c, &queue);
	if (!p)
		return 0;
	n = adopt(c, p, o, to, most);
	pending_end_asking(sd);
	pending_drop_stream(sd, queue);
	return n;
}
