/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slab.h - theory of operation of the slab layer, and its shared structures.
 *
 * 1. Concepts
 *
 * 1.1 A *space* (struct slabdev) is one kind of memory on one device. The vmm
 *     gives it *chunks* of accessible memory; everything here is about who has
 *     which part of them. All of this state is host memory: device memory is
 *     never read or written.
 * 1.2 A *slice* is 16 KiB, the unit in which the *pool* (pool.h) hands out
 *     runs. An *offset* counts bytes from the start of the vmm's chunk space;
 *     slice number = offset / 16 KiB.
 * 1.3 A *granule* is 256 bytes, the least alignment of a general object. One
 *     slice has 64: the free objects of a slab of 256-byte objects fit one
 *     word, and its tags fill exactly one cache line, so that threads refilled
 *     from different slabs never write the same line.
 * 1.4 A *class* is a set of objects of one size: one of 80 general size
 *     classes, or a cache of the user (struct slabdev_cache is a class). A
 *     *slab* is a run of slices cut into objects of one class, at most 64,
 *     their *stride* apart.
 * 1.5 A *sheaf* is an array of free objects of one class. A thread has a main
 *     and a spare sheaf a class, in the *bins* of its *heap* for that space. A
 *     *barn* is a class's store of full and empty sheaves.
 * 1.6 A *tag* is a byte a granule (tags.h): whether a live object begins
 *     there, and of which class. It is what lets a free check a pointer and
 *     find the class with one exchange. Beside it lies the *rounding*: how many
 *     bytes the object's user did not ask for, so that the books are exact.
 * 1.7 Objects beyond 1 MiB are *large*: a run of slices of their own, from
 *     shared chunks up to 64 MiB, in a handle of their own above. *Comm* memory
 *     (comm.h) has such handles at any size, and keeps them.
 *
 * 2. Where a free object is
 *
 *         live --free--> sheaf of a thread --full--> barn --too many--> slab
 *         live <-alloc-- sheaf of a thread <-empty-- barn <-nothing---- slab
 *
 *     It is in exactly one of these places. A slab whose objects are all back
 *     stays with its class, or gives its slices to the pool; a chunk whose
 *     slices are all free stays mapped, or goes back to the vmm: as the policy
 *     says.
 *
 * 3. The fast paths (alloc.c)
 *
 *     They take no lock and have no test for a first call. The owner of a heap
 *     sets its busy word, loads the main sheaf, pops or pushes, clears busy:
 *     plain stores. A thread without a heap has the empty heap, whose sheaves
 *     are the empty sheaf of capacity 0: it is never popped and never pushed.
 *
 * 4. Taking back (steal.c)
 *
 *     Trim, shrink, destroy, close and a lack of memory must reach the sheaves
 *     of idle threads. A thief exchanges a bin's pointers for the empty sheaf,
 *     makes every running thread pass a barrier (membarrier), then waits until
 *     the owner's busy word is clear. After that nobody but the thief can reach
 *     the sheaf: an owner that was inside had set busy before it loaded the old
 *     pointer; one that comes later loads the empty sheaf. In slow paths the
 *     owner takes its own sheaves out by exchange too, so each is had by
 *     exactly one side. Without membarrier the bins stay empty for ever, and
 *     every operation takes the locked path straight to the slabs.
 *
 * 5. Locking: core/lock.h has the order. Fields say whose they are:
 *     "owner": the heap's thread; "class lock", ...; "const": after creation.
 *
 * 6. Failure. Whatever may fail (memory for a sheaf, a slab, a chunk) is tried
 *     before anything is changed. A thread that cannot have a sheaf works
 *     without one. When memory is short: take back sheaves, empty barns, drop
 *     empty slabs and vacant chunks, ask the shrinkers, and only then fail,
 *     with a report that accounts for every byte.
 *
 * 7. Limits. 2^32 granules: 1 TiB of addresses a space. 256 spaces, 4,096
 *     classes a space, 64 objects a slab (tiny.c: 1,024).
 */
#ifndef SLAB_SLAB_H
#define SLAB_SLAB_H

#include <slabdev/segment.h>
#include <slabdev/slabdev.h>

#include "core/bitmap.h"
#include "core/debug_spec.h"
#include "core/list.h"
#include "core/lock.h"
#include "core/metapool.h"
#include "core/os.h"
#include "core/resv.h"
#include "core/thread.h"
#include "slab/failslab.h"
#include "slab/layout.h"
#include "slab/nvtx.h"
#include "slab/pool.h"
#include "slab/stamp.h"
#include "slab/tags.h"
#include "vmm/vmm.h"

/* Classes of a space; a multiple of SLABDEV_SEG_WINDOW. */
#define CLASS_MAX 4096u
#define CLASS_WINDOW SLABDEV_SEG_WINDOW
#define NR_WINDOWS (CLASS_MAX / CLASS_WINDOW)
/* Stands for large objects in counters; has no bin and no slabs. */
#define CLASS_LARGE 0u

/* ---- Slabs ------------------------------------------------------------ */

enum slab_state {
	SLAB_NONE = 0,	/* no slab begins at this slice */
	SLAB_OBJECTS,	/* at most 64 objects, .free is a bit each */
	SLAB_TINY,	/* objects below a granule, .tiny has the bits */
	SLAB_LARGE,	/* one large object in shared chunks */
	SLAB_HUGE,	/* one large object in a handle of its own */
	SLAB_GUARD,	/* the same between addresses that fault: guard.h */
};

struct tiny_bits;

/*
 * One descriptor a slice; the one of a run's first slice describes the run.
 * In the others only .back counts, and only where an object begins; their
 * state is SLAB_NONE. Type-stable until close: an unlocked reader sees some
 * descriptor.
 *
 * state of a slab    objects in it (.nr_free)    list
 * partial            1 .. nr - 1                 class->list[], by log2
 * new                nr                          class->list[], by log2
 * empty              nr                          class->list[LIST_EMPTY]
 * full               0                           none
 *
 * Locking: class lock; while it is made or given up: the thread that does it;
 * large objects: the owner of the object.
 */
struct slab {
	union {
		u64 free;		/* OBJECTS: bit set: object is here */
		struct tiny_bits *tiny;	/* TINY */
		u64 size;		/* LARGE, HUGE, GUARD: asked for */
	};
	union {
		u32 next;		/* slice number, RANGE_NONE ends */
		u32 begin;		/* LARGE, HUGE: 0; GUARD: bytes before
					 * the object */
	};
	union {
		u32 prev;		/* as next */
		u32 record;		/* GUARD: guard_record.h */
	};
	u16 class;		/* class number */
	u16 nr;			/* objects */
	u16 nr_free;		/* of those, in the slab */
	bool told;		/* comm.h: to the mapping callbacks */
	u8 state;		/* enum slab_state */
	u8 list;		/* index in class->list[] */
	bool unsure;		/* relaxed, zone.h: nothing to look at */
	u16 back;		/* slices back to the slab's first one */
	stamp_t stamp;		/* OBJECTS, TINY: class lock, see stamp.h */
};
static_assert(sizeof(struct slab) == 32, "half a byte an object of 256 bytes");

/* What may be read without the class lock, by walks and lookups. */
static inline enum slab_state slab_state(const struct slab *s)
{
	return (enum slab_state)load_acquire(&s->state);
}

static inline u16 slab_class(const struct slab *s)
{
	return READ_ONCE(s->class);
}

/* The state last: pairs with the acquire in slab_state(). */
static inline void slab_publish(struct slab *s, u16 class,
				enum slab_state state)
{
	WRITE_ONCE(s->class, class);
	store_release(&s->state, (u8)state);
}

static inline void slab_unpublish(struct slab *s)
{
	store_release(&s->state, (u8)SLAB_NONE);
}

/* ---- Sheaves and heaps ------------------------------------------------ */

/*
 * In whose order a free object is: who may have it without waiting.
 * DOMAIN_STREAM + n: the stream that has number n (stream.h).
 */
enum order_domain {
	DOMAIN_COMPLETE,	/* no work uses it: anybody */
	DOMAIN_BOUND,		/* the bound stream */
	DOMAIN_STREAM,
	DOMAIN_UNPROVEN = 0xffff,	/* a stream that no event can reach */
};

/* A free object: its offset in units of the class (granules, or less). */
typedef u32 slot_t;

struct sheaf {
	u32 n;			/* objects in it */
	u32 cap;
	struct sheaf *next;	/* in the barn, or in a thief's hands */
	u16 class;
	u16 domain;		/* of every object in it: enum order_domain */
	slot_t slot[];
};

struct bin {
	struct sheaf *main;	/* owner by plain load; all by exchange */
	struct sheaf *spare;	/* all by exchange */
};

#define GAINED_MAX 512u

/* Stands for no stream: nobody's handle. */
#define STREAM_NONE ((slabdev_stream_t)~(uintptr_t)1)

/*
 * A thread has one heap in a space for the bound stream, its *own* heap, and
 * one for each attached stream that it uses, which borrows the counters and the
 * budget of the first (stream.h).
 */
struct heap {
	/* First: what a class number finds without an offset. */
	struct bin bin[CLASS_WINDOW] __aligned_to(CACHE_LINE);
	u32 busy;		/* owner: inside a fast path */
	u32 refused;		/* owner: sheaves that did not fit the budget */
	struct slabdev_seg_counters *count;	/* owner: window 0 */
	/* The handle of .stream; STREAM_NONE for ever in an own heap, and while
	 * no stream has it. Cleared by others. */
	slabdev_stream_t key;
	struct heap *recent;	/* own heaps, owner: a stream's, or heap_none */
	struct slabdev *sd;	/* const */
	struct thread *thread;	/* const */
	struct stream *stream;	/* NULL: an own heap; heaps lock */
	struct heap *own;	/* const: the same thread's own heap */
	struct heap *next;	/* own heaps and behind: the thread's; only the
				 * owner adds, at the front; heaps lock */
	struct list link;	/* own heaps; heaps lock: sd->heaps */
	u64 charged;		/* atomic: bytes that the sheaves may hold */
	/* Owner; windows above the first, made on first use. */
	struct bin *bins[NR_WINDOWS];			/* [0] is bin */
	struct slabdev_seg_thread *block[NR_WINDOWS];	/* heaps lock */
	struct sheaf *stolen;	/* heaps lock: the owner may be inside yet */
	struct shrinker *shrinking;	/* owner: inside this one, or NULL */
	u32 made;		/* owner: slabs and mappings, see miss.h */
	/* Owner: classes that gained a sheaf, a ring in order of time. A thief
	 * may have the sheaf since. */
	u32 head, tail;
	u16 gained[GAINED_MAX];
};

extern struct sheaf sheaf_none;	/* capacity 0, always empty */
extern struct heap heap_none;	/* every bin holds sheaf_none */

/* ---- Classes ---------------------------------------------------------- */

/* Lists of slabs by log2 of free objects, up to 1,024; and of empty ones. */
#define LIST_EMPTY 11
#define NR_LISTS 12

struct class {
	/* Const after creation. */
	struct slabdev *sd;
	u16 id;			/* class number, index of bins */
	u8 code;		/* in tags */
	u8 shift;		/* log2 of the unit of slot_t */
	u64 stride;
	u64 object_size;	/* as asked for; general classes: stride */
	u32 align;
	u32 step;		/* stride in units of slot_t */
	u64 inverse;		/* 2^32 / step, rounded up */
	u32 nr;			/* objects in a slab */
	u32 span;		/* slices in a slab */
	u32 sheaf_cap;		/* 0: objects too large for sheaves */
	u32 barn_max;		/* full sheaves */
	u32 lead;		/* bytes before the first object: debug.h */
	bool comm;		/* slabs stay: comm.h */
	bool sized;		/* a comm class of the general calls */
	u32 nr_guarded;		/* atomic: live objects that are none of its
				 * slabs', see guard.h */
	slabdev_ctor_fn ctor;
	void *ctor_arg;
	struct slabdev_seg_class *rec;
	struct list link;	/* space lock: sd->caches */

	struct lock barn_lock __aligned_to(CACHE_LINE);
	struct sheaf *full, *empty;	/* barn lock */
	u32 nr_full, nr_empty;		/* barn lock */

	struct lock lock __aligned_to(CACHE_LINE);
	u32 list[NR_LISTS];		/* class lock: first slice numbers */
	u32 lists;			/* class lock: those with slabs */
	u32 pins;			/* class lock: its empty slabs stay */
	bool ending;			/* relaxed: it is being destroyed */
	u32 debug;			/* relaxed: letters, debug.h */
	u32 debug_own;			/* space lock: those of its user */
	bool no_user_flags;		/* const: SLABDEV_DEBUG is not for it */
	bool spec_is_old;		/* space lock: .debug_own is newer */
	struct quarantine *quarantine;	/* atomic: quarantine.h; or NULL */
};

/* struct slabdev_cache is a class; it has no members of its own. */
static inline struct class *cache_class(struct slabdev_cache *c)
{
	return (struct class *)c;
}

static inline struct slabdev_cache *class_cache(struct class *c)
{
	return (struct slabdev_cache *)c;
}

/* ---- Streams ---------------------------------------------------------- */

#define STREAM_MAX 1024u

/* The streams that a space knows; stream.h. Locking: streams lock. */
struct streams {
	struct lock lock;
	struct stream *of[STREAM_MAX];	/* by number */
	u32 end;			/* those from here on are NULL */
	u32 nr_captures;		/* declared, that have not ended */
	u32 nr_quiescing;	/* lock: threads that wait for the device */
};

/* By the stream of the free, of which several may share one. */
#define LOOSE_LISTS 16u

struct pending_list {
	struct pending *first, *last;
};

/* Free objects that wait for events; pending.h. Locking: pending lock. */
struct pendings {
	struct lock lock;
	struct pending_list loose[LOOSE_LISTS];	/* in no stream's queue */
	struct pending *unproven;	/* the device has to be waited for */
	struct pending *held;		/* until the space is closed */
	struct pending *unused;		/* records, with their events */
	u32 nr_asked;		/* threads that have some taken out, to ask */
	u64 nr_waiting;		/* atomic: threads that wait for all */
	u64 budget;		/* const: bytes */
	bool told_capture;	/* of one that was not declared */
	bool all_done;		/* the space is closing: everything is done */
};

/* What is to be remembered of single objects; note.h. Locking: notes lock. */
struct notes {
	struct lock lock;
	struct resv buckets;	/* struct note * */
	u32 nr_buckets;
	u32 nr;			/* relaxed too */
};

/* ---- Spaces ----------------------------------------------------------- */

#define SHRINKER_MAX 16
#define NR_SHEAF_POOLS 3

struct shrinker {
	slabdev_shrinker_fn fn;
	void *arg;
	u32 running;		/* threads inside */
};

/* Comm memory of a space; comm.h. Locking: space lock. */
struct comm {
	struct list classes;	/* of the general calls, by .link */
	slabdev_mapped_fn mapped;
	slabdev_will_unmap_fn will_unmap;
	void *arg;
	u32 nr_told;		/* slabs with .told; the turn */
	bool taken;		/* a thread has the turn */
	pthread_t taker;	/* which */
};

struct tracks;

/* Large objects under checks; debug_large.h. */
struct larges {
	struct list looks;	/* space lock: walks that are at one */
	u32 nr_giving;		/* space lock: that give memory back */
	u32 nr_stops;		/* space lock: requests that keep walks off */
	u32 turns;		/* space lock: looks begun, and ended */
	struct resv poison;	/* space lock to grow: u32 by slice, atomic */
	u32 poison_end;		/* released: slices in it */
};

/* Guarded objects of a space; guard.h. Const but for the atomic ones. */
struct guards {
	u64 every;		/* one of so many; 0: only those of letter G */
	u64 least, most;	/* bytes, of those */
	u64 limit;		/* of bytes */
	bool possible;		/* the memory can be unmapped */
	u64 nr_seen;		/* atomic: of the sizes that are wanted */
	u64 nr_made, nr_refused;	/* atomic */
	u64 nr_mapped;		/* atomic: live, or not unmapped yet */
	u64 bytes;		/* atomic: what they have mapped */
};

struct segment {
	void *addr;
	size_t size;
	struct os_file file;	/* not open: private memory */
	void *copy;		/* around a fork */
};
#define SEGMENT_MAX 512
#define BLOCK_MAX (SEGMENT_MAX * SLABDEV_SEG_THREADS_PER_SEGMENT)

struct slabdev {
	/* What the fast paths read; const but for high_slots and code_size,
	 * which a new cache sets before anybody can have an object of it. */
	u64 base;		/* address of offset 0 */
	u64 high_slots;		/* granules below have tags; grows; 0: dead */
	u64 free_slots;		/* the same for fast frees; 0: there are none */
	tag_t *tags;
	u8 *rounding;		/* see tags.h */
	u32 id;			/* index in struct thread */
	u32 fast_slots;		/* granules of the first reservation, at most */
	/* Bytes of an object with rounding 0, by code. */
	u32 code_size[CODE_DIRECT_LAST + 1];

	/* Const. */
	struct slab *slabs __aligned_to(CACHE_LINE);
	const struct vmm_ops *ops;
	void *dev;
	u64 open_id;
	u64 sheaf_bytes;	/* a thread */
	u64 sheaf_total;	/* all threads */
	u32 chunk_slices;
	bool use_sheaves;	/* membarrier is there and wanted */
	bool publish;		/* statistics in memfds */
	int publish_err;	/* why not; heaps lock after open */
	bool assert_steady;
	bool same_layout;	/* in every process: rank.h */
	bool comm_only;		/* SLABDEV_OPEN_COMM */
	bool debugged;		/* relaxed: some class has, or had, letters */
	bool zoned;		/* general classes have red zones */
	u32 large_zone;		/* bytes behind a large object, at least */
	bool hazard;		/* SLABDEV_DEBUG=H: hazard.h; no fast paths */
	u8 annotated;		/* who is told of objects: annotate.c */
	slabdev_stream_t stream;	/* bound; NULL: the CPU */
	bool slow_frees;	/* pool lock: free_slots stays 0 */
	bool host_order;	/* SLABDEV_ORDER_HOST */
	bool bound_captured;	/* space lock: a capture of .stream is
				 * declared */
	u16 domain;		/* of own heaps' sheaves: COMPLETE or BOUND */
	/* Set: calls without a stream are on it like on any other, with host
	 * order or while it is captured. */
	struct stream *bound;
	bool dead;		/* relaxed; see health.h */
	bool orphaned;		/* in a fork child that it did not survive */
	bool closing;		/* registry lock: locks are being destroyed */
	pid_t pid;
	char name[64];
	char spec[64];

	struct vmm vmm;
	struct pool pool;
	struct class *class[CLASS_MAX];	/* const once non-NULL, or space lock */
	struct slabdev_seg_space *rec;
	struct slabdev_seg_window *window[NR_WINDOWS];	/* const once set */

	/* Locking: space lock. */
	struct lock lock;
	struct list caches;
	struct debug_spec debug_spec;
	u32 debug_always;	/* letters of every class */
	struct failslab failslab;
	struct comm comm;
	struct shrinker shrinker[SHRINKER_MAX];
	u32 class_hint;
	u32 visit_side;		/* where visitors enter: 0 or 1 */
	u32 visitors[2];

	struct streams streams;
	struct pendings pendings;
	struct guards guards;
	struct larges larges;
	struct notes notes;
	/* Locking: pool lock, but for bits of .told, which are atomic. */
	struct resv told;	/* annotate.c: which objects */
	u64 told_end;		/* released: up to this offset */
	struct nvtx_heap nvtx_heap[VMM_MAX_RANGES];	/* nvtx.h */
	struct list graphs;	/* notes lock */
	struct tracks *tracks;	/* atomic: const once set; track.h */

	/* Locking: heaps lock. */
	struct lock heaps_lock;
	struct list heaps;
	struct segment segment[SEGMENT_MAX];
	u32 nr_segments;
	struct slabdev_seg_thread *blocks[SEGMENT_MAX];	/* by THREADS index */
	u64 block_free[BITMAP_WORDS(BLOCK_MAX)];

	/* Relaxed. */
	u32 policy;		/* enum slabdev_policy_mode */
	u32 policy_flags;	/* SLABDEV_POLICY_* */
	u32 bypass;		/* no sheaves: not wanted, aggressive, dead */
	u64 policy_keep;
	u64 charged;		/* bytes that all sheaves in bins may hold */
	u64 empty_slices;	/* in empty slabs that classes keep */

	/* Atomic: see change_begin(). */
	u64 changes;
	u32 changing;

	struct metapool sheaf_pool[NR_SHEAF_POOLS];
	struct metapool heap_pool;
	struct metapool bin_pool;	/* bins of later windows */
	struct metapool class_pool;
	struct metapool tiny_pool;
	struct metapool stream_pool;
	struct metapool pending_pool;
	struct metapool note_pool, work_pool;
	struct metapool graph_pool;
	struct metapool peek_pool;
	struct metapool quarantine_pool;
};

/*
 * Around what changes a space and needs no heap, and around the coming and
 * going of heaps: so that a walk knows whether it was alone. In this order: a
 * change that a walk does not see running adds to the number that it compares.
 */
static inline void change_begin(struct slabdev *sd)
{
	__atomic_fetch_add(&sd->changing, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&sd->changes, 1, __ATOMIC_SEQ_CST);
}

static inline void change_end(struct slabdev *sd)
{
	__atomic_fetch_sub(&sd->changing, 1, __ATOMIC_SEQ_CST);
}

/* Is the offset where there are tags? Pairs with the release of the pool. */
static inline bool has_tag(const struct slabdev *sd, u64 offset)
{
	return offset >> GRANULE_SHIFT < load_acquire(&sd->high_slots);
}

static inline u64 slice_offset(u32 slice)
{
	return (u64)slice << SLICE_SHIFT;
}

static inline u64 slab_offset(const struct slabdev *sd, const struct slab *s)
{
	return slice_offset((u32)(s - sd->slabs));
}

/* Address of an offset that may lie beyond the first reservation. */
static inline u64 space_addr(const struct slabdev *sd, u64 offset)
{
	if (likely(offset < sd->vmm.base_bytes))
		return sd->base + offset;
	return vmm_addr(&sd->vmm, offset);
}

static inline void *to_ptr(u64 addr)
{
	return (void *)(uintptr_t)addr;
}

/*
 * Single-writer counters that others read: no atomic add needed, only one that
 * is never torn. Compilers make three instructions of a relaxed load and store,
 * on the hot path too; x86 has one.
 */
static __always_inline void count_add(u64 *counter, u64 n)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	__asm__("addq %1, %0" : "+m"(*counter) : "er"(n) : "cc");
#else
	WRITE_ONCE(*counter, READ_ONCE(*counter) + n);
#endif
}

/* Counters with several writers, on slow paths only. */
static inline void shared_add(u64 *counter, u64 n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static inline void shared_add32(u32 *counter, u32 n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static inline void shared_sub(u64 *counter, u64 n)
{
	__atomic_fetch_sub(counter, n, __ATOMIC_RELAXED);
}

/* Bytes leave the slabs, to threads and barns: keeps the high water. */
void space_count_out(struct slabdev *sd, u64 bytes);

#endif /* SLAB_SLAB_H */
