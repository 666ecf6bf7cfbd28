// SPDX-License-Identifier: BSD-2-Clause
/* hazard_watch.c - see hazard_watch.h. */
#include "core/thread.h"
#include "slab/hazard.h"
#include "slab/hazard_watch.h"
#include "vmm/vmm.h"

void hazard_begin(void)
{
	static const struct queue_observer observer = {
		.mark = hazard_mark,
		.pass = hazard_pass,
	};

	hazard_activate();
	queue_observe(&observer);
}

void hazard_keep_site(const void *site)
{
	struct thread *t = thread_get();

	if (t)
		t->site = site;
}

/* NULL: the bound stream, or the CPU. */
static slabdev_stream_t stream_of(const struct slabdev *sd,
				  slabdev_stream_t stream)
{
	if (!stream)
		stream = sd->stream;
	return stream ? stream : SLABDEV_HAZARD_HOST;
}

static struct hazard_call call(const struct slabdev *sd,
			       slabdev_stream_t stream)
{
	return (struct hazard_call){
		.space = sd,
		.name = sd->name,
		.stream = stream_of(sd, stream),
		.site = thread_self->site,
	};
}

/* With host order everybody may use at once what a plain call has. */
void hazard_saw_alloc(struct slabdev *sd, const void *p, u64 usable,
		      const struct order *o)
{
	bool complete = sd->host_order && o->stream == sd->bound &&
			!sd->bound_captured;
	struct hazard_call by = call(sd, complete ? SLABDEV_HAZARD_HOST :
						    o->handle);

	hazard_alloc(&by, (u64)(uintptr_t)p, usable);
}

void hazard_saw_free(struct slabdev *sd, u64 offset, const struct order *o,
		     bool held)
{
	struct hazard_call by = call(sd, o->handle);

	(void)hazard_free(&by, space_addr(sd, offset), held);
}

void hazard_saw_use(struct slabdev *sd, const void *p, slabdev_stream_t stream)
{
	struct hazard_call by = call(sd, stream);

	hazard_use(&by, (u64)(uintptr_t)p);
}

void hazard_saw_arena(struct slabdev *sd, u64 addr, u64 size,
		      slabdev_stream_t stream)
{
	struct hazard_call by = call(sd, stream);

	by.is_arena = true;
	hazard_alloc(&by, addr, size);
}

void hazard_saw_rewind(struct slabdev *sd, u64 from, u64 to,
		       slabdev_stream_t stream)
{
	struct hazard_call by = call(sd, stream);

	(void)hazard_rewind(&by, from, to);
}

void hazard_saw_join(struct slabdev *sd, slabdev_stream_t later,
		     slabdev_stream_t earlier)
{
	u64 mark = hazard_mark(stream_of(sd, earlier));

	hazard_pass(mark, stream_of(sd, later));
}
