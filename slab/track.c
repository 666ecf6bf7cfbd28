// SPDX-License-Identifier: BSD-2-Clause
/* track.c - see track.h. */
#include <errno.h>

#include "core/depot.h"
#include "core/overflow.h"
#include "core/stack.h"
#include "slab/track.h"

#define SHARDS 64u
#define SHARD_SHIFT 58
/* Objects of this many bytes of offset share a bucket. */
#define KEY_SHIFT 10
/* A track a bucket, so far; those of 16 bytes can be 64 a key. */
#define BUCKET_LOAD 2u
#define BUCKETS_MAX (1u << 17)
#define BUCKETS_BYTES ((u64)BUCKETS_MAX * sizeof(struct entry *))

/* How an event is kept: what has no time never happened. */
struct mark {
	u64 time : 42;
	u64 tid : 22;
	slabdev_stream_t stream;
};

struct entry {
	struct entry *next;
	u64 offset : 40;
	u64 class : 12;
	u64 live : 1;
	u64 counted : 1;	/* in an origin: .live says, in which */
	u64 size;
	struct mark alloc, free;
	u32 alloc_stack, free_stack;
};
static_assert(sizeof(struct entry) == CACHE_LINE, "one line an object");
static_assert(CLASS_MAX <= 1u << 12, "a class number fits");

/* Locking: its lock. */
struct shard {
	struct lock lock;
	struct resv buckets;	/* struct entry * */
	u32 nr_buckets;
	u32 nr;			/* tracks */
};

struct tracks {
	struct shard shard[SHARDS];
	struct metapool pool;
	struct origins origins;
};

static struct tracks *tracks_of(const struct slabdev *sd)
{
	/* Pairs with the release in init_locked(). */
	return load_acquire(&sd->tracks);
}

/* ---- Coming and going ---------------------------------------------------- */

static void destroy(struct tracks *ts)
{
	u32 i;

	for (i = 0; i < SHARDS; i++) {
		resv_fini(&ts->shard[i].buckets);
		lock_fini(&ts->shard[i].lock);
	}
	metapool_fini(&ts->pool);
	os_unreserve(ts, align_up(sizeof(*ts), os_page_size()));
}

static struct tracks *create(void)
{
	size_t size = align_up(sizeof(struct tracks), os_page_size());
	struct tracks *ts;
	void *addr;
	u32 i;

	if (os_reserve(size, &addr))
		return NULL;
	if (os_commit(addr, size)) {
		os_unreserve(addr, size);
		return NULL;
	}
	ts = addr;
	metapool_init(&ts->pool, sizeof(struct entry), "tracks");
	for (i = 0; i < SHARDS; i++)
		lock_init(&ts->shard[i].lock, LOCK_TRACK, "tracks");
	return ts;
}

static int init_locked(struct slabdev *sd)
{
	struct tracks *ts = create();

	if (!ts)
		return -ENOMEM;
	if (origins_init_locked(sd, &ts->origins)) {
		destroy(ts);
		return -ENOMEM;
	}
	store_release(&sd->tracks, ts);
	return 0;
}

int tracks_init(struct slabdev *sd)
{
	int err = 0;

	if (tracks_of(sd))
		return 0;
	lock_acquire(&sd->heaps_lock);
	if (!sd->tracks)
		err = init_locked(sd);
	lock_release(&sd->heaps_lock);
	return err ? error_set(err, "no host memory for tracks of space %s",
			       sd->name) : 0;
}

void tracks_fini(struct slabdev *sd)
{
	if (sd->tracks)
		destroy(sd->tracks);
	sd->tracks = NULL;
}

struct origins *tracks_origins(struct slabdev *sd)
{
	struct tracks *ts = tracks_of(sd);

	return ts ? &ts->origins : NULL;
}

u64 tracks_host_bytes(const struct slabdev *sd)
{
	const struct tracks *ts = tracks_of(sd);
	u64 bytes;
	u32 i;

	if (!ts)
		return 0;
	bytes = sizeof(*ts) + READ_ONCE(ts->pool.bytes);
	for (i = 0; i < SHARDS; i++)
		bytes += align_up(READ_ONCE(ts->shard[i].nr_buckets) *
				  sizeof(struct entry *), os_page_size());
	return bytes;
}

void tracks_lock_for_fork(struct slabdev *sd)
{
	struct tracks *ts = tracks_of(sd);
	u32 i;

	for (i = 0; ts && i < SHARDS; i++)
		lock_acquire_for_fork(&ts->shard[i].lock);
	if (ts)
		lock_acquire_for_fork(&ts->pool.lock);
}

void tracks_unlock_for_fork(struct slabdev *sd)
{
	struct tracks *ts = tracks_of(sd);
	u32 i;

	if (ts)
		lock_release_for_fork(&ts->pool.lock);
	for (i = 0; ts && i < SHARDS; i++)
		lock_release_for_fork(&ts->shard[i].lock);
}

/* ---- Hash tables --------------------------------------------------------- */

static u64 hash_of(u64 offset)
{
	return (offset >> KEY_SHIFT) * UINT64_C(0x9e3779b97f4a7c15);
}

static struct shard *shard_of(struct tracks *ts, u64 hash)
{
	return &ts->shard[hash >> SHARD_SHIFT];
}

static struct entry **bucket(const struct shard *s, u32 i)
{
	return (struct entry **)(void *)s->buckets.base + i;
}

/* The highest power of two that is not more than the number of buckets. */
static u32 whole_buckets(const struct shard *s)
{
	return 1u << (31 - __builtin_clz(s->nr_buckets));
}

/* Buckets beyond a power of two have half of what an older one had. */
static u32 bucket_index(const struct shard *s, u64 hash)
{
	u32 bits = (u32)(hash >> 24), whole = whole_buckets(s);
	u32 i = bits & (2 * whole - 1);

	return i < s->nr_buckets ? i : bits & (whole - 1);
}

static struct entry **find_locked(const struct shard *s, u64 offset)
{
	struct entry **at;

	if (!s->nr)
		return NULL;
	at = bucket(s, bucket_index(s, hash_of(offset)));
	for (; *at; at = &(*at)->next)
		if ((*at)->offset == offset)
			return at;
	return NULL;
}

/* One bucket more, from the one that would have it. */
static void split_locked(struct shard *s)
{
	u32 more = s->nr_buckets, from = more - whole_buckets(s);
	struct entry **at = bucket(s, from), **to = bucket(s, more), *e;

	if (resv_grow(&s->buckets, (more + 1) * sizeof(struct entry *)))
		return;
	WRITE_ONCE(s->nr_buckets, s->nr_buckets + 1);
	while ((e = *at)) {
		if (bucket_index(s, hash_of(e->offset)) == from) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		e->next = *to;
		*to = e;
	}
}

/* The first buckets are a page of them: as many as a power of two. */
static bool have_buckets_locked(struct shard *s)
{
	size_t first = os_page_size();

	if (s->nr_buckets)
		return true;
	if (!s->buckets.base &&
	    resv_init(&s->buckets, BUCKETS_BYTES, first))
		return false;
	if (resv_grow(&s->buckets, first))
		return false;
	WRITE_ONCE(s->nr_buckets, (u32)(first / sizeof(struct entry *)));
	return true;
}

/* The entry of an object, made if need be; NULL: no host memory. */
static struct entry *get_locked(struct tracks *ts, struct shard *s, u64 offset)
{
	struct entry **at = find_locked(s, offset), *e;

	assert_held(&s->lock);
	if (at)
		return *at;
	if (!have_buckets_locked(s))
		return NULL;
	e = metapool_alloc(&ts->pool);
	if (!e)
		return NULL;
	e->offset = offset;
	at = bucket(s, bucket_index(s, hash_of(offset)));
	e->next = *at;
	*at = e;
	s->nr++;
	if (s->nr > s->nr_buckets * BUCKET_LOAD && s->nr_buckets < BUCKETS_MAX)
		split_locked(s);
	return e;
}

/* ---- Events -------------------------------------------------------------- */

u64 track_now(void)
{
	return track_time(os_monotonic_ns());
}

static struct mark mark_now(const struct slabdev *sd, const struct order *o)
{
	return (struct mark){
		.time = track_now(),
		.tid = (u32)os_gettid() & ((1u << 22) - 1),
		.stream = o->handle ? o->handle : sd->stream,
	};
}

static u32 save_stack(void)
{
	const void *pc[STACK_MAX];
	u32 n = stack_capture(pc, STACK_MAX, thread_self->site);

	return n ? depot_save(pc, n) : 0;
}

static struct origin_event counted(const struct entry *e)
{
	const struct mark *m = e->live ? &e->alloc : &e->free;

	return (struct origin_event){ m->time, e->size, m->tid };
}

/* From where the object was counted last it is taken away. */
static void uncount_locked(struct tracks *ts, struct entry *e)
{
	struct origin_event old = counted(e);
	u32 kind = e->live ? SLABDEV_SEG_TRACE_ALLOC : SLABDEV_SEG_TRACE_FREE;

	if (e->counted)
		origin_remove(&ts->origins,
			      origin_find(&ts->origins, e->live ?
					  e->alloc_stack : e->free_stack,
					  kind), &old);
	e->counted = false;
}

static void count_locked(struct tracks *ts, struct entry *e, u32 origin)
{
	struct origin_event now = counted(e);

	origin_add(&ts->origins, origin, &now);
	e->counted = true;
}

/* The object's life begins (@live) or ends. */
static void happened(struct slabdev *sd, const struct class *c, u64 offset,
		     u64 size, const struct order *o, bool live)
{
	struct tracks *ts = tracks_of(sd);
	u32 kind = live ? SLABDEV_SEG_TRACE_ALLOC : SLABDEV_SEG_TRACE_FREE;
	struct mark now = mark_now(sd, o);
	struct entry *e;
	struct shard *s;
	u32 stack, origin;

	if (!ts)
		return;
	stack = save_stack();
	origin = origin_get(sd, &ts->origins, stack, kind);
	s = shard_of(ts, hash_of(offset));
	lock_acquire(&s->lock);
	e = get_locked(ts, s, offset);
	if (e) {
		uncount_locked(ts, e);
		e->class = c ? c->id : CLASS_LARGE;
		e->size = size;
		e->live = live;
		*(live ? &e->alloc : &e->free) = now;
		*(live ? &e->alloc_stack : &e->free_stack) = stack;
		count_locked(ts, e, origin);
	}
	lock_release(&s->lock);
}

void track_alloc(struct slabdev *sd, const struct class *c, u64 offset,
		 u64 size, const struct order *o)
{
	happened(sd, c, offset, size, o, true);
}

void track_free(struct slabdev *sd, const struct class *c, u64 offset,
		u64 size, const struct order *o)
{
	happened(sd, c, offset, size, o, false);
}

static void resize_locked(struct tracks *ts, struct entry *e, u64 size)
{
	u32 origin = origin_find(&ts->origins, e->alloc_stack,
				 SLABDEV_SEG_TRACE_ALLOC);

	if (e->live && e->counted)
		origin_resize(&ts->origins, origin, e->size, size);
	e->size = size;
}

void track_resize(struct slabdev *sd, u64 offset, u64 size)
{
	struct tracks *ts = tracks_of(sd);
	struct entry **at;
	struct shard *s;

	if (!ts)
		return;
	s = shard_of(ts, hash_of(offset));
	lock_acquire(&s->lock);
	at = find_locked(s, offset);
	if (at)
		resize_locked(ts, *at, size);
	lock_release(&s->lock);
}

/* ---- Forgetting ---------------------------------------------------------- */

static void forget_at_locked(struct tracks *ts, struct shard *s,
			     struct entry **at)
{
	struct entry *e = *at;

	uncount_locked(ts, e);
	*at = e->next;
	s->nr--;
	metapool_free(&ts->pool, e);
}

static void forget_in_locked(struct tracks *ts, struct shard *s,
			     struct entry **at, u64 offset, u64 end)
{
	while (*at) {
		if ((*at)->offset >= offset && (*at)->offset < end)
			forget_at_locked(ts, s, at);
		else
			at = &(*at)->next;
	}
}

static void forget_key(struct tracks *ts, u64 key, u64 offset, u64 end)
{
	u64 hash = hash_of(key);
	struct shard *s = shard_of(ts, hash);

	lock_acquire(&s->lock);
	if (s->nr)
		forget_in_locked(ts, s, bucket(s, bucket_index(s, hash)),
				 offset, end);
	lock_release(&s->lock);
}

static void forget_shard(struct tracks *ts, struct shard *s, u64 offset,
			 u64 end)
{
	u32 i;

	lock_acquire(&s->lock);
	for (i = 0; s->nr && i < s->nr_buckets; i++)
		forget_in_locked(ts, s, bucket(s, i), offset, end);
	lock_release(&s->lock);
}

static u64 nr_buckets(const struct tracks *ts)
{
	u64 nr = 0;
	u32 i;

	for (i = 0; i < SHARDS; i++)
		nr += READ_ONCE(ts->shard[i].nr_buckets);
	return nr;
}

/* By keys, or by buckets, where those are fewer. */
void track_forget(struct slabdev *sd, u64 offset, u64 len)
{
	struct tracks *ts = tracks_of(sd);
	u64 end = offset + len, key = align_down(offset, 1u << KEY_SHIFT);
	u32 i;

	if (!ts)
		return;
	if (len >> KEY_SHIFT < nr_buckets(ts)) {
		for (; key < end; key += 1u << KEY_SHIFT)
			forget_key(ts, key, offset, end);
		return;
	}
	for (i = 0; i < SHARDS; i++)
		forget_shard(ts, &ts->shard[i], offset, end);
}

/* ---- Looking ------------------------------------------------------------- */

static struct track_event event_of(const struct mark *m, u32 stack)
{
	return (struct track_event){
		.known = m->time,
		.tid = m->tid,
		.time = m->time,
		.stack = stack,
		.stream = m->stream,
	};
}

static struct track track_of(const struct entry *e)
{
	return (struct track){
		.offset = e->offset,
		.size = e->size,
		.class = e->class,
		.live = e->live,
		.alloc = event_of(&e->alloc, e->alloc_stack),
		.free = event_of(&e->free, e->free_stack),
	};
}

bool track_find(struct slabdev *sd, u64 offset, struct track *t)
{
	struct tracks *ts = tracks_of(sd);
	struct entry **at;
	struct shard *s;

	if (!ts)
		return false;
	s = shard_of(ts, hash_of(offset));
	lock_acquire(&s->lock);
	at = find_locked(s, offset);
	if (at)
		*t = track_of(*at);
	lock_release(&s->lock);
	return at;
}

static void each_locked(const struct shard *s,
			void (*each)(const struct track *t, void *arg),
			void *arg)
{
	struct entry *e;
	struct track t;
	u32 i;

	for (i = 0; s->nr && i < s->nr_buckets; i++)
		for (e = *bucket(s, i); e; e = e->next) {
			t = track_of(e);
			each(&t, arg);
		}
}

void track_each(struct slabdev *sd,
		void (*each)(const struct track *t, void *arg), void *arg)
{
	struct tracks *ts = tracks_of(sd);
	u32 i;

	for (i = 0; ts && i < SHARDS; i++) {
		lock_acquire(&ts->shard[i].lock);
		each_locked(&ts->shard[i], each, arg);
		lock_release(&ts->shard[i].lock);
	}
}
