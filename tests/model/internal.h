/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - what the files of the model share; the theory is in model.h
 *
 * Everything here is covered by model.lock unless it says otherwise.
 */
#ifndef TESTS_MODEL_INTERNAL_H
#define TESTS_MODEL_INTERNAL_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/list.h"
#include "tests/model/model.h"

#define DEVICES_MAX 2
#define KERNEL_PARAMS_MAX 16
#define WHY_MAX 256

/* ---- Calls (call.c) ------------------------------------------------- */

#define CALL_ENUM(need, base, suffix, version, args, names) CALL_##base,
enum call_id { SLABDEV_CUDA_FUNCS(CALL_ENUM) NR_CALLS };

/* What each does, with the lock held and everything checked that is common. */
#define CALL_BODY(need, base, suffix, version, args, names) \
	CUresult do_##base args;
SLABDEV_CUDA_FUNCS(CALL_BODY)

#define EXPORT __attribute__((visibility("default")))
#define CALL_EXPORT(need, base, suffix, version, args, names) \
	EXPORT CUresult base##suffix args;
SLABDEV_CUDA_FUNCS(CALL_EXPORT)
#define CONTROL_EXPORT(name, type, args) EXPORT type name args;
MODEL_CONTROLS(CONTROL_EXPORT)

struct call_info {
	const char *name;	/* with suffix */
	const char *base;
	int version;
	void *fn;
};

extern const struct call_info call_table[NR_CALLS];
int call_find(const char *symbol);	/* -1: none */
u64 call_count(int id);			/* NR_CALLS: of all */
void call_reset(void);

/* ---- Statements (rule.c) -------------------------------------------- */

bool broken(int statement);

/** refuse - return @code, and tell why to whoever listens */
CUresult refuse(int statement, CUresult code, const char *why);

/** REFUSE_IF - one rule a line: return CUDA_ERROR_@code when @cond holds */
#define REFUSE_IF(cond, statement, code, why)				\
	do {								\
		if ((cond) && !broken(statement))			\
			return refuse(statement, CUDA_ERROR_##code, why); \
	} while (0)

/** undefined - the real driver may do anything: say so and abort */
void undefined(int statement, const char *fmt, ...)
	__printf(2, 3) __attribute__((noreturn));

/** violation - count a mistake that a driver lets pass */
void violation(const char *fmt, ...) __printf(1, 2);

void rule_init(void);
void rule_read_environment(void);
void rule_reset(void);
void rule_tell_log(void);	/* without the lock */
u64 rule_violations(void);
const char *rule_last_violation(void);
const char *error_name(CUresult code);

/* ---- Handles (handle.c) --------------------------------------------- */

enum handle_kind {
	HANDLE_CONTEXT, HANDLE_STREAM, HANDLE_EVENT, HANDLE_MEMORY,
	HANDLE_POOL, HANDLE_MODULE, HANDLE_FUNCTION, HANDLE_GRAPH, HANDLE_EXEC,
	HANDLE_LOG,
	NR_HANDLE_KINDS
};

/* Values that no dereference survives, and that are never used again. */
u64 handle_new(enum handle_kind kind, void *object);
void handle_end(u64 value);
/* NULL for what never was a handle of the kind; aborts for one that ended. */
void *handle_find(enum handle_kind kind, u64 value);

/* ---- Profiles and devices (profile.c, driver.c) --------------------- */

struct profile {
	const char *name;
	int nr_devices;
	bool peers, vmm, pools, mig, wsl, integrated, host_numa;
	const char *device_name;
	int sms;
	u64 total_bytes, granularity;
	u64 last_bytes;		/* of the last device, if it has less */
	u64 va_bytes;		/* address space for reservations */
};

struct context;
struct stream;
struct ptx_kernel;

struct device {
	int ordinal;
	u64 used_bytes;
	struct context *primary;
	struct pool *default_pool, *pool;
	CUresult sticky;
	char why[WHY_MAX];	/* it is sticky */
};

const struct profile *profile_find(const char *name);
/* How much memory a device has. */
u64 profile_bytes(const struct profile *p, int ordinal);
int profile_attribute(const struct profile *p, int ordinal, int attribute,
		      int *value);

/* ---- The whole (driver.c) ------------------------------------------- */

struct model {
	pthread_mutex_t lock;
	pthread_cond_t cond;	/* work was added, has run, or may run */
	bool initialised;
	bool down;		/* the process ends */
	pid_t pid;		/* of cuInit; const afterwards */
	const struct profile *profile;
	struct device devices[DEVICES_MAX];
	u64 va_used;
	u64 next_id;		/* of buffers, contexts, streams */
	u64 page;
};

extern struct model model;
/* The interface of this library: 1000 * major + 10 * minor. */
extern const int model_version;

static inline bool device_is_valid(int ordinal)
{
	return ordinal >= 0 && ordinal < model.profile->nr_devices;
}

/* ---- Threads and contexts (context.c) ------------------------------- */

struct context {
	CUcontext handle;
	int device;
	u64 id;
	unsigned int refs;	/* retained; a created one has 1 */
	unsigned int flags;
	bool primary;
	bool alive;
	unsigned int peers;	/* a bit for each device */
	struct list streams;	/* all, the legacy one first */
	struct stream *legacy;
	struct list arena;	/* of cuMemAlloc: regions */
};

struct thread {
	struct context **stack;
	size_t depth, cap;
	CUstreamCaptureMode mode;
	bool runs_host_function;
	u64 cost_bytes;		/* of the present call */
	char why[WHY_MAX];	/* it was refused */
};

struct thread *thread_self(void);
struct context *context_current(void);	/* NULL: none */
/* The device that the call is about: of the context, else -1. */
int context_device(void);
struct context *context_find(CUcontext handle);
void context_init(void);
u64 context_count(void);	/* alive, and made by cuCtxCreate */
u64 context_bytes(void);	/* of device memory, for all that are alive */

/* ---- Physical memory (phys.c) --------------------------------------- */

struct phys {
	u64 id;
	u64 size;
	int device;		/* that is charged; -1: the host */
	CUmemAllocationProp prop;
	unsigned int users;	/* handles and parts */
	int fd;			/* of what can be shared, else -1 */
	unsigned char *alias;	/* lazily; NULL: not touched yet */
};

struct phys *phys_create(u64 size, const CUmemAllocationProp *prop,
			 int device);
struct phys *phys_import(int fd);
void phys_put(struct phys *phys);
unsigned char *phys_data(struct phys *phys);
/* Whether @bytes more fit on @device; @ask: ask only. */
bool device_charge(int device, u64 bytes);
void device_uncharge(int device, u64 bytes);

/* What cuMemCreate gives. It lives while referenced or mapped. */
struct memory {
	u64 handle;
	struct phys *phys;
	unsigned int refs, maps;
};

struct memory *memory_find(CUmemGenericAllocationHandle handle);
/* After one reference or mapping less. */
void memory_settle(struct memory *memory);

/* ---- Address space (space.c) ---------------------------------------- */

struct span {
	u64 start, size;
};

/* Disjoint spans in order of their address. */
struct span_set {
	struct span **v;
	size_t n, cap;
};

enum region_kind {
	REGION_RESERVED,	/* by cuMemAddressReserve */
	REGION_CLASSIC,		/* a block of cuMemAlloc */
	REGION_POOL,		/* a block of a pool */
	REGION_HOST,		/* pinned by the driver */
	REGION_REGISTERED,	/* the caller's memory */
	REGION_MANAGED,
};

struct region {
	struct span span;
	enum region_kind kind;
	struct span_set parts;
	struct phys *phys;	/* of classic and pool blocks */
	struct list node;	/* in its arena */
	unsigned int flags;	/* of host memory */
	bool was_mapped;
};

/* A stretch of addresses with bytes behind it. */
struct part {
	struct span span;
	struct region *region;
	struct memory *memory;	/* of a mapping */
	struct phys *phys;	/* NULL: host memory, at its own address */
	u64 offset;		/* in phys */
	u8 access[DEVICES_MAX];	/* CUmemAccess_flags of a mapping */
	u8 host_access;
	bool revoked;		/* access was there, and was taken back */
	int device;
	u64 buffer_id;
	struct context *ctx;	/* of cuMemAlloc, else NULL */
	struct pool *pool;
	struct mark *freed;	/* cuMemFreeAsync: when it is done */
	struct stream *freed_by;
};

int span_add(struct span_set *set, struct span *span);
void span_del(struct span_set *set, struct span *span);
struct span *span_at(const struct span_set *set, u64 addr);
/* The first that overlaps, or the place where one would be: an index. */
size_t span_lower(const struct span_set *set, u64 addr);
bool span_is_free(const struct span_set *set, u64 start, u64 size);

struct region *region_at(u64 addr);
struct part *part_at(u64 addr);
struct region *region_create(enum region_kind kind, u64 start, u64 size);
void region_destroy(struct region *region);
struct part *part_create(struct region *region, u64 start, u64 size);
void part_destroy(struct part *part);
const struct span_set *space_regions(void);

/* Addresses that the CPU cannot touch; 0: none. */
u64 va_reserve(u64 size, u64 align, u64 hint);
void va_release(u64 start, u64 size);

/* Where the byte is that the CPU may touch. */
unsigned char *part_data(const struct part *part, u64 addr);

/*
 * space_check - may @device read or write @size bytes at @addr?
 * @what: MODEL_READ, MODEL_WRITE
 *
 * Bytes of several adjacent mappings are one range; those of two allocations
 * are not. Returns an error with its reason told.
 */
CUresult space_check(u64 addr, u64 size, int device, unsigned int what);
/* The same without words; the number of bytes from @addr in one part. */
u64 space_extent(u64 addr, int device, unsigned int what);

/* ---- Mappings (map.c, access.c) ------------------------------------- */

enum cover { COVER_WHOLE, COVER_NOTHING, COVER_HOLE, COVER_CUT };

/*
 * cover - the whole mappings that make up a range, as indices [*first, *last);
 * and whether it is such a range
 */
enum cover cover(const struct region *region, u64 ptr, u64 size,
		 size_t *first, size_t *last);
void part_hide(const struct part *part);	/* from the CPU */

static inline struct part *part_of(const struct region *region, size_t i)
{
	return container_of(region->parts.v[i], struct part, span);
}

/* ---- Streams (stream.c, queue.c) ------------------------------------ */

struct capture;
struct graph;

/* When something is done. */
struct mark {
	unsigned int refs;
	bool done;
	u64 when_ns;
};

struct mark *mark_new(void);
struct mark *mark_get(struct mark *mark);
void mark_put(struct mark *mark);

struct stream {
	struct list node;	/* in its context */
	u64 handle;		/* 0: of the legacy and per-thread ones */
	u64 id;
	struct context *ctx;
	unsigned int refs;
	bool blocking;		/* with the legacy one: each waits */
	bool legacy;
	bool per_thread;
	pthread_t thread;	/* of a per-thread stream */
	bool ended;
	bool held;
	struct mark *last;	/* of the newest operation */
	struct capture *capture;
	size_t tail;		/* in the captured graph: its last node */
};

enum op_kind { OP_MARK, OP_FILL, OP_COPY, OP_HOST, OP_KERNEL };

/* One end of a copy: rows of bytes on the device or the host. */
struct rows {
	u64 addr;		/* of the device, 0: host */
	unsigned char *host;
	u64 pitch;
};

struct op {
	struct list node;
	enum op_kind kind;
	struct stream *stream;	/* NULL: of a node of a graph */
	u64 order;
	int device;
	struct mark *mark;
	struct mark **waits;
	size_t nr_waits, cap_waits;
	bool runs;		/* a host function */
	bool doomed;		/* what it touches went away */
	struct rows dst, src;
	unsigned char *staged;
	u64 width, height;
	u32 value;
	unsigned int value_size;
	CUhostFn fn;
	void *data;
	model_kernel_fn kernel;	/* NULL: its text is executed */
	struct ptx_kernel *text;
	u32 grid[3], block[3];
	u64 function;		/* the handle that it was launched by */
	u64 params[KERNEL_PARAMS_MAX];
	bool is_launched;	/* by a graph */
};

/* NULL with the error in @ret; @uses: work is put into it. */
struct stream *stream_find(CUstream handle, CUresult *ret);
struct stream *stream_create(struct context *ctx, bool blocking);
void stream_end(struct stream *stream);
void stream_put(struct stream *stream);
void streams_end_all(struct context *ctx);

struct op *op_new(struct stream *stream, enum op_kind kind);
void op_wait_for(struct op *op, struct mark *mark);
/* Its stream's newest, or a node of the graph that the stream captures. */
void op_submit(struct op *op);
/* One more like the node @op, for a launch in @stream; it waits for nothing. */
struct op *op_again(const struct op *op, struct stream *stream);
/* Beside what the stream has. */
void op_enqueue(struct op *op);
/* Without the lock while it waits. */
CUresult mark_wait(struct mark *mark, int device);
CUresult stream_wait(struct stream *stream);
void queue_doom(u64 start, u64 size, const char *what);
/* A violation when work touches it for which @op does not wait. */
void queue_check_order(const struct op *op, u64 start, u64 size);
u64 queue_pending(void);
/* Something may be ready that was not. */
void queue_wake(void);
/* Until nothing is ready, and no host function runs. */
void queue_run(void);
void queue_yield(bool yield);
void queue_drop_stream(struct stream *stream);
void op_run(struct op *op);	/* work.c */
/* The CPU's view of up to *@n bytes at @addr, *@n then; NULL: not allowed. */
unsigned char *work_view(u64 addr, int device, unsigned int what, u64 *n);
void op_free(struct op *op);

/* ---- Capture (capture.c) -------------------------------------------- */

struct event;

/* Whether a potentially unsafe call is refused, and what it breaks. */
CUresult capture_forbids(const char *call);
/* May work be put into @stream? */
CUresult capture_take(struct stream *stream);
/* A stream waits for an event of a capture. */
CUresult capture_join(struct stream *stream, const struct event *event);
/* Work of a stream that captures. */
void capture_add(struct stream *stream, struct op *op);
CUresult capture_conflict(struct capture *capture, int statement,
			  CUresult code, const char *why);
void capture_forget(struct stream *stream);
/* A blocking stream of @ctx that captures, or NULL. */
struct stream *capture_beside_legacy(const struct context *ctx);
struct stream *capture_in(const struct context *ctx);

struct event {
	u64 handle;
	struct context *ctx;
	unsigned int flags;
	struct mark *mark;	/* of the last record, NULL: none */
	struct capture *captured;
	size_t node;		/* that it stands for there */
};

struct capture *capture_get(struct capture *capture);
void capture_put(struct capture *capture);
bool capture_is_active(const struct capture *capture);

static inline bool stream_captures(const struct stream *stream)
{
	return capture_is_active(stream->capture);
}

/* ---- Graphs (graph.c) ----------------------------------------------- */

/* A node is a number from 1; 0 is the beginning of the graph. */
struct graph *graph_new(void);
void graph_put(struct graph *graph);
/* Returns the node that runs @op behind two others; takes @op. */
size_t graph_add(struct graph *graph, struct op *op, size_t after,
		 size_t also);
/* Is all its work behind or before @last? */
bool graph_comes_together(const struct graph *graph, size_t last);

/* ---- Blocks of allocations (arena.c) -------------------------------- */

/* @align is a power of two of at most 2 MiB. NULL: no memory. */
struct part *arena_alloc(struct list *arena, enum region_kind kind,
			 int device, u64 size);
/* Without a new block. */
bool arena_has_room(const struct list *arena, u64 size);
void arena_free(struct part *part, bool keep_block);
u64 arena_trim(struct list *arena, u64 keep);
u64 arena_bytes(const struct list *arena);

/* ---- Pools (pool.c) ------------------------------------------------- */

void pool_init_device(struct device *device);
void pools_observe(void);	/* the host has seen what is done */
u64 pool_count(void);
bool pool_may(const struct pool *pool, int device, unsigned int what);
u64 pool_handle(const struct pool *pool);
void pool_free(struct part *part);	/* now, by cuMemFree */

/* ---- Faults, cost, leaks (fault.c, cost.c, leak.c) ------------------ */

/* Whether the call is to fail by order of a test. */
bool fault_injected(enum call_id id, CUresult *code);
void fault_reset(void);
int fault_order(int id, u64 nth, CUresult code, bool sticky);
/* The device cannot go on. */
void device_fault(int device, CUresult code, const char *why);
/* What a call about @device returns first; -1: about any. */
CUresult sticky_of(int device);
const char *sticky_why(int device);

void cost_charge(enum call_id id, u64 bytes);
void cost_reset(void);
u64 cost_clock_ns(void);
u64 cost_of_ns(int id);
/* Where the table has the cost from: one of its letters. */
char cost_source(enum call_id id, u64 bytes);

void leak_at_exit(void);
u64 leak_count(struct model_leaks *leaks);
u64 handle_count(enum handle_kind kind);

/* ---- Modules (module.c) --------------------------------------------- */

void modules_end_all(struct context *ctx);

/* The context that a kernel or copy runs in; for model_access(). */
extern int work_device;

#endif /* TESTS_MODEL_INTERNAL_H */
