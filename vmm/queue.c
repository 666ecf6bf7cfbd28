// SPDX-License-Identifier: BSD-2-Clause
/* queue.c - host queues; see queue.h. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "core/cancel.h"
#include "core/log.h"
#include "core/metapool.h"
#include "core/os.h"
#include "vmm/queue.h"
#include "vmm/vmm.h"

#define NR_QUEUES 4096u
#define QUEUE_FLAGS SLABDEV_QUEUE_MANUAL
/* A handle: the generation, the place, and bits that no pointer to anything but
 * bytes has. */
#define PLACE_SHIFT 4
#define GENERATION_SHIFT 16
#define HANDLE_BITS 9u

enum item_kind { ITEM_CALL, ITEM_WORK, ITEM_WAIT };

struct item {
	struct item *next;
	enum item_kind kind;
	union {
		struct {
			slabdev_queue_fn fn;
			void *arg;
		};
		struct queue_work work;
		struct queue_point point;
	};
};

struct queue {
	slabdev_stream_t handle;
	bool manual;
	bool ending;		/* the thread goes when it has nothing to do */
	bool running;		/* an item, without the lock */
	pthread_t runner;	/* who does, or the queue's own thread */
	pthread_t thread;
	u64 submitted, done;
	struct item *first, *last;
};

static struct lock lock = LOCK_INIT(LOCK_QUEUE, "queues");
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* Locking: lock. */
static struct queue *queues[NR_QUEUES];
static u32 generations[NR_QUEUES];
static struct metapool queue_pool, item_pool;
static pid_t owner;		/* of all queues; 0: there were none */
/* Const once there is an owner: 0 in the child of a fork. NULL: not to be had,
 * and who runs has to be asked each time. */
static const u32 *fork_mark;

/* Const once set. */
static const struct queue_observer *observer;

void queue_observe(const struct queue_observer *o)
{
	store_release(&observer, o);
}

/* What a queue has, before it is waited for: others may submit meanwhile. */
struct watch {
	const struct queue_observer *o;	/* NULL: nobody wants to know */
	u64 mark;
};

static struct watch watch_begin(slabdev_stream_t queue)
{
	struct watch w = { .o = load_acquire(&observer) };

	if (unlikely(w.o && queue_check(queue)))
		w.o = NULL;
	if (unlikely(w.o))
		w.mark = w.o->mark(queue);
	return w;
}

/* It is no queue any more, and all of it is done. */
static void tell_end(slabdev_stream_t queue)
{
	const struct queue_observer *o = load_acquire(&observer);

	if (unlikely(o))
		o->pass(o->mark(queue), SLABDEV_HAZARD_HOST);
}

/* Passes on @err; 0: @later comes after what the queue had. */
static int watch_end(const struct watch *w, int err, slabdev_stream_t later)
{
	if (unlikely(w->o))
		w->o->pass(w->mark, err ? NULL : later);
	return err;
}

/* ---- Names -------------------------------------------------------------- */

static bool is_orphan(void)
{
	pid_t pid = load_acquire(&owner);

	if (!pid)
		return false;
	return fork_mark ? !READ_ONCE(*fork_mark) : pid != getpid();
}

static slabdev_stream_t handle_of(u32 place)
{
	return (slabdev_stream_t)((uintptr_t)generations[place] <<
				  GENERATION_SHIFT |
				  (uintptr_t)place << PLACE_SHIFT |
				  HANDLE_BITS);
}

static struct queue *find_locked(slabdev_stream_t handle)
{
	uintptr_t value = (uintptr_t)handle;
	u32 place = value >> PLACE_SHIFT & (NR_QUEUES - 1);
	struct queue *q = queues[place];

	return q && q->handle == handle ? q : NULL;
}

static int refuse(slabdev_stream_t handle)
{
	return error_set(-EINVAL, "%p is no queue, or was destroyed",
			 (void *)handle);
}

static int orphaned(void)
{
	return error_set(-EOWNERDEAD, "host queues do not survive a fork");
}

/* Take the lock and find the queue; without it on failure. */
static int enter(slabdev_stream_t handle, struct queue **q)
{
	if (is_orphan())
		return orphaned();
	lock_acquire(&lock);
	*q = find_locked(handle);
	if (*q)
		return 0;
	lock_release(&lock);
	return refuse(handle);
}

static void wait_locked(void)
{
	pthread_cond_wait(&changed, &lock.mutex);
}

/* ---- Progress ----------------------------------------------------------- */

static bool reached_locked(const struct queue_point *p)
{
	const struct queue *q = p->queue ? find_locked(p->queue) : NULL;

	return !q || q->done >= p->count;
}

static bool can_run_locked(const struct queue *q)
{
	return q->first && !q->running &&
	       (q->first->kind != ITEM_WAIT ||
		reached_locked(&q->first->point));
}

static void run_item(const struct item *it)
{
	if (it->kind == ITEM_CALL)
		it->fn(it->arg);
	else if (it->kind == ITEM_WORK)
		it->work.run(&it->work);
}

/* The first item, which can run; the lock is dropped meanwhile. */
static void run_first_locked(struct queue *q)
{
	struct item *it = q->first;

	q->first = it->next;
	if (!q->first)
		q->last = NULL;
	q->running = true;
	q->runner = pthread_self();
	lock_release(&lock);
	assert_no_lock_held();
	run_item(it);
	metapool_free(&item_pool, it);
	lock_acquire(&lock);
	q->running = false;
	q->done++;
	pthread_cond_broadcast(&changed);
}

/*
 * It waits, through others perhaps, for a manual queue that nobody runs, or
 * for one whose work is what asks: it will get nowhere by itself.
 */
static bool is_stuck_locked(const struct queue *q)
{
	u32 depth;

	for (depth = 0; q && depth < NR_QUEUES; depth++) {
		if (q->running)
			return pthread_equal(q->runner, pthread_self());
		if (!q->first)
			return false;
		if (can_run_locked(q))
			return q->manual && depth;
		q = find_locked(q->first->point.queue);
	}
	return q != NULL;
}

/* A manual queue is run by whoever waits for it. */
static int await_locked(const struct queue_point *p)
{
	struct queue *q = NULL;

	while (!reached_locked(p)) {
		q = find_locked(p->queue);
		if (q->manual && can_run_locked(q))
			run_first_locked(q);
		else if (is_stuck_locked(q))
			return error_set(-EDEADLK, "the queue waits for the "
					 "caller, or for a manual queue that "
					 "nobody runs");
		else
			wait_locked();
	}
	return 0;
}

/* ---- The thread of a queue ---------------------------------------------- */

static void *serve(void *arg)
{
	NO_CANCELLATION;
	struct queue *q = arg;

	lock_acquire(&lock);
	while (q->first || !q->ending) {
		if (can_run_locked(q))
			run_first_locked(q);
		else
			wait_locked();
	}
	lock_release(&lock);
	return NULL;
}

static int start_thread(struct queue *q)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&q->thread, NULL, serve, q);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return error_set(-EAGAIN, "no thread can be started for a "
				 "queue");
	(void)pthread_setname_np(q->thread, "slabdev-queue");
	return 0;
}

/* ---- Create and destroy ------------------------------------------------- */

static void init_once_locked(void)
{
	if (owner)
		return;
	metapool_init(&queue_pool, sizeof(struct queue), "queues");
	metapool_init(&item_pool, sizeof(struct item), "queue items");
	fork_mark = os_fork_mark();
	store_release(&owner, getpid());
}

static int add_locked(bool manual, struct queue **out)
{
	struct queue *q = NULL;
	u32 place = 0;

	init_once_locked();
	while (place < NR_QUEUES && queues[place])
		place++;
	if (place == NR_QUEUES)
		return error_set(-ENFILE, "%u queues exist already", NR_QUEUES);
	q = metapool_alloc(&queue_pool);
	if (!q)
		return error_set(-ENOMEM, "no host memory for a queue");
	generations[place]++;
	q->handle = handle_of(place);
	q->manual = manual;
	queues[place] = q;
	*out = q;
	return 0;
}

/* It has nothing to do, and gets nothing any more. */
static void remove_locked(struct queue *q)
{
	queues[(uintptr_t)q->handle >> PLACE_SHIFT & (NR_QUEUES - 1)] = NULL;
	q->ending = true;
	pthread_cond_broadcast(&changed);
}

int slabdev_queue_create(slabdev_stream_t *queue, unsigned int flags)
{
	struct queue *q = NULL;
	int err;

	if (!queue || flags & ~QUEUE_FLAGS)
		return error_set(-EINVAL, "slabdev_queue_create: %s", queue ?
				 "unknown flags" : "queue is NULL");
	if (is_orphan())
		return orphaned();
	lock_acquire(&lock);
	err = add_locked(flags & SLABDEV_QUEUE_MANUAL, &q);
	if (q && !q->manual) {
		err = start_thread(q);
		if (err) {
			remove_locked(q);
			metapool_free(&queue_pool, q);
		}
	}
	if (q && !err)
		*queue = q->handle;
	lock_release(&lock);
	return err;
}

/* Until nothing is left, nor of what that submits; another thread may run it
 * meanwhile, and even destroy it. */
static int drain_locked(slabdev_stream_t handle, struct queue **q)
{
	struct queue_point end = { handle, 0 };
	int err = 0;

	while (!err && (*q = find_locked(handle)) &&
	       (*q)->done < (*q)->submitted) {
		end.count = (*q)->submitted;
		err = await_locked(&end);
	}
	if (err)
		return err;
	return *q ? 0 : refuse(handle);
}

bool vmm_queue_any(void)
{
	u32 i;

	if (!load_acquire(&owner) || is_orphan())
		return false;
	for (i = 0; i < NR_QUEUES; i++)
		if (queues[i])
			return true;
	return false;
}

int slabdev_queue_destroy(slabdev_stream_t queue)
{
	NO_CANCELLATION;
	struct queue *q = NULL;
	int err;

	if (!queue)
		return 0;
	err = enter(queue, &q);
	if (!q)
		return err;
	err = drain_locked(queue, &q);
	if (!err)
		remove_locked(q);
	lock_release(&lock);
	if (err)
		return err;
	if (!q->manual)
		pthread_join(q->thread, NULL);
	metapool_free(&queue_pool, q);
	tell_end(queue);
	return 0;
}

/* ---- Submitting --------------------------------------------------------- */

static int submit(slabdev_stream_t queue, const struct item *what)
{
	struct queue *q = NULL;
	struct item *it;
	int err = enter(queue, &q);

	if (!q)
		return err;
	it = metapool_alloc(&item_pool);
	if (it) {
		*it = *what;
		it->next = NULL;
		if (q->last)
			q->last->next = it;
		else
			q->first = it;
		q->last = it;
		q->submitted++;
		pthread_cond_broadcast(&changed);
	}
	lock_release(&lock);
	return it ? 0 : error_set(-ENOMEM, "no host memory for an item of a "
				  "queue");
}

int slabdev_queue_submit(slabdev_stream_t queue, slabdev_queue_fn fn,
			 void *arg)
{
	struct item it = { .kind = ITEM_CALL, .fn = fn, .arg = arg };

	if (!fn)
		return error_set(-EINVAL, "slabdev_queue_submit: fn is NULL");
	return submit(queue, &it);
}

int queue_submit_work(slabdev_stream_t queue, const struct queue_work *w)
{
	struct item it = { .kind = ITEM_WORK, .work = *w };

	return submit(queue, &it);
}

int queue_wait_point(slabdev_stream_t queue, const struct queue_point *point)
{
	struct item it = { .kind = ITEM_WAIT, .point = *point };

	return submit(queue, &it);
}

int slabdev_queue_wait(slabdev_stream_t queue, slabdev_stream_t other)
{
	struct watch w = watch_begin(other);
	struct queue_point point;
	int err = queue_point_now(other, &point);

	if (!err)
		err = queue_wait_point(queue, &point);
	return watch_end(&w, err, queue);
}

/* ---- Running and waiting ------------------------------------------------ */

int slabdev_queue_run(slabdev_stream_t queue, unsigned int most)
{
	struct watch w = watch_begin(queue);
	NO_CANCELLATION;
	struct queue *q = NULL;
	int n = 0, err = enter(queue, &q);
	u64 before;

	if (!q)
		return watch_end(&w, err, NULL);
	before = q->submitted;
	if (!q->manual)
		n = error_set(-EINVAL, "slabdev_queue_run: the queue has a "
			      "thread of its own");
	else
		for (; most && can_run_locked(q); most--, n++)
			run_first_locked(q);
	err = q->done < before ? -EBUSY : 0;
	lock_release(&lock);
	(void)watch_end(&w, err, SLABDEV_HAZARD_HOST);
	return n;
}

int slabdev_queue_query(slabdev_stream_t queue)
{
	struct watch w = watch_begin(queue);
	struct queue *q = NULL;
	int err = enter(queue, &q);

	if (!q)
		return watch_end(&w, err, NULL);
	err = q->done == q->submitted ? 0 : -EBUSY;
	lock_release(&lock);
	return watch_end(&w, err, SLABDEV_HAZARD_HOST);
}

int slabdev_queue_synchronize(slabdev_stream_t queue)
{
	struct watch w = watch_begin(queue);
	struct queue_point point;
	int err = queue_point_now(queue, &point);

	if (!err)
		err = queue_await(&point);
	return watch_end(&w, err, SLABDEV_HAZARD_HOST);
}

/* ---- For the backend ---------------------------------------------------- */

int queue_point_now(slabdev_stream_t queue, struct queue_point *point)
{
	struct queue *q = NULL;
	int err = enter(queue, &q);

	if (!q)
		return err;
	*point = (struct queue_point){ queue, q->submitted };
	lock_release(&lock);
	return 0;
}

bool queue_has_reached(const struct queue_point *point)
{
	bool reached;

	if (!point->queue || is_orphan())
		return true;
	lock_acquire(&lock);
	reached = reached_locked(point);
	lock_release(&lock);
	return reached;
}

int queue_await(const struct queue_point *point)
{
	NO_CANCELLATION;
	int err;

	if (!point->queue || is_orphan())
		return 0;
	lock_acquire(&lock);
	err = await_locked(point);
	lock_release(&lock);
	return err;
}

int queue_check(slabdev_stream_t queue)
{
	struct queue *q = NULL;
	int err = enter(queue, &q);

	if (!err)
		lock_release(&lock);
	/* To a space it is no stream; the text says why. */
	return err ? -EINVAL : 0;
}

int queue_await_all(void)
{
	NO_CANCELLATION;
	struct queue_point point;
	u32 place;
	int err = 0;

	if (!READ_ONCE(owner) || is_orphan())
		return 0;
	lock_acquire(&lock);
	for (place = 0; place < NR_QUEUES && !err; place++) {
		if (!queues[place])
			continue;
		point.queue = queues[place]->handle;
		point.count = queues[place]->submitted;
		err = await_locked(&point);
	}
	lock_release(&lock);
	return err;
}
