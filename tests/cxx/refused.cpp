// SPDX-License-Identifier: BSD-2-Clause
/*
 * refused.cpp - ends that the library refuses: who owns what stays.
 *
 * close() keeps what was refused, whatever the reason, and drops what is there
 * no more. The end of an owner is refused by the same calls, and leaks.
 */
#include "user.hpp"

#include <utility>

using slabxx::arena;
using slabxx::buffer;
using slabxx::device_array;
using slabxx::device_ptr;
using slabxx::group;
using slabxx::on;
using slabxx::queue;
using slabxx::space;

static void need_host(const char *spec)
{
	if (std::string(spec) != "host")
		throw not_here{ "about host queues" };
}

static on legacy()
{
	return on(SLABDEV_STREAM_LEGACY);
}

/* A queue that is no more: no stream of this kind of memory. */
static on no_stream()
{
	queue q(SLABDEV_QUEUE_MANUAL);

	return q;
}

/* It is refused as @err says, is owned, and goes by a second call after
 * @mend. */
template <class Owner, class Mend>
static void expect_kept(int err, const char *text, Owner &owner, Mend mend)
{
	auto *p = owner.raw();

	expect_error(err, text, [&] { owner.close(); });
	EXPECT(owner && owner.raw() == p);
	mend();
	owner.close();
	EXPECT(!owner);
}

static void bad_streams_are_refused(const char *spec)
{
	need_host(spec);
	space s = limited(spec);
	const std::size_t counts[] = { 10, 100 };
	buffer b(s, 100), view = b.view(0, 10);
	group<int> g(s, counts);
	device_array<int> a(s, 10);
	device_ptr<long> one(s);

	view.put_on(no_stream());
	expect_kept(EINVAL, "slabdev_buf_put_async", view,
		    [&] { view.put_on(legacy()); });
	b.put_on(no_stream());
	expect_kept(EINVAL, "slabdev_buf_put_async", b,
		    [&] { b.put_on(legacy()); });
	g.free_on(no_stream());
	expect_kept(EINVAL, "slabdev_group_free_async", g,
		    [&] { g.free_on(legacy()); });
	a.free_on(no_stream());
	expect_kept(EINVAL, "slabdev_free_async", a,
		    [&] { a.free_on(legacy()); });
	one.free_on(no_stream());
	expect_kept(EINVAL, "slabdev_free_async", one,
		    [&] { one.free_on(legacy()); });
	expect_nothing_live(s);
	s.close();
}

/* More streams than a buffer remembers. */
static void too_many_streams_are_refused(const char *spec)
{
	need_host(spec);
	space s = limited(spec);
	std::vector<queue> queues;
	buffer all(s, 100);

	for (int i = 0; i < 15; i++)
		queues.emplace_back(SLABDEV_QUEUE_MANUAL);
	for (int i = 0; i < 14; i++) {
		buffer user = all;

		user.put_on(queues[static_cast<std::size_t>(i)]);
		user.close();
	}
	buffer last = all;

	last.put_on(queues[14]);
	expect_kept(ENOSPC, "", last, [&] { last.put_on(legacy()); });
	EXPECT(all.owners() == 1);
	all.close();
	expect_nothing_live(s);
	for (queue &q : queues)
		EXPECT(slabdev_stream_detach(s.get(), q.get()) <= 0);
}

static void exported_memory_is_refused(const char *spec)
{
	need_host(spec);
	slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.handle_type = SLABDEV_HANDLE_FD;
	log_kept log;
	space s(spec, attr);
	const std::size_t counts[] = { 10, 100 };
	const slabxx::request comm = slabxx::request().comm();
	buffer b(s, 100, comm);
	group<int> g(s, counts, comm);
	slabxx::exported of_b(s, b.raw()), of_g(s, g.raw());

	expect_kept(EBUSY, "", b, [&] { of_b.reset(); });
	expect_kept(EBUSY, "", g, [&] { of_g.reset(); });
	expect_nothing_live(s);
	s.close();
}

/* Its queue waits for one that nobody but this thread runs. */
static void arenas_in_use_are_refused(const char *spec)
{
	need_host(spec);
	space s = limited(spec);
	queue q(SLABDEV_QUEUE_MANUAL), other(SLABDEV_QUEUE_MANUAL);
	slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;

	attr.stream = q.get();
	arena a(s, attr);

	EXPECT(a.alloc<char>(3 << 20).size() == 3 << 20);
	other.submit([] {});
	a.use(other);
	expect_error(EBUSY, "", [&] { a.close(); });
	EXPECT(a && a.stats().used == 3 << 20);
	other.synchronize();
	a.close();
	EXPECT(!a);
}

/* @owner says so, and has nothing any more: its end is no second one. */
template <class Owner> static void expect_gone(int err, Owner &owner)
{
	expect_error(err, "", [&] { owner.close(); });
	EXPECT(!owner);
	owner.close();
}

static void what_c_gave_back_is_gone(const char *spec)
{
	log_kept log;
	space s = limited(spec);
	const std::size_t counts[] = { 10, 100 };
	buffer b(s, 100);
	group<int> g(s, counts);
	device_array<int> a(s, 10);
	arena pool(s);
	queue q(SLABDEV_QUEUE_MANUAL);

	EXPECT(slabdev_buf_put(b.get()) == 0);
	expect_gone(EALREADY, b);
	EXPECT(slabdev_group_free(g.get()) == 0);
	expect_gone(EALREADY, g);
	EXPECT(slabdev_free(s.get(), a.raw()) == 0);
	expect_gone(EALREADY, a);
	EXPECT(slabdev_arena_destroy(pool.get()) == 0);
	expect_gone(EALREADY, pool);
	EXPECT(slabdev_queue_destroy(q.get()) == 0);
	expect_gone(EINVAL, q);
	expect_nothing_live(s);
	EXPECT(slabdev_close(s.get(), 0) == 0);
	expect_gone(EINVAL, s);
}

/* Nothing is thrown: the thread's last error says it, and C gives it back. */
static void refused_ends_leak(const char *spec)
{
	need_host(spec);
	space s = limited(spec);
	::slabdev_buf *buf;
	void *p;

	{
		buffer b(s, 100);

		buf = b.get();
		b.put_on(no_stream());
		errno = EXDEV;
	}
	EXPECT(errno == EXDEV);
	EXPECT(std::strstr(slabdev_last_error(), "slabdev_buf_put_async"));
	{
		device_array<int> a(s, 10);

		p = a.raw();
		a.free_on(no_stream());
		a = device_array<int>();
	}
	EXPECT(std::strstr(slabdev_last_error(), "slabdev_free_async"));
	EXPECT(s.stats().live_objects == 2);
	EXPECT(slabdev_buf_put(buf) == 0);
	EXPECT(slabdev_free(s.get(), p) == 0);
	expect_nothing_live(s);
}

const std::vector<user_case> refused_cases = {
	{ "bad_streams_are_refused", bad_streams_are_refused },
	{ "too_many_streams_are_refused", too_many_streams_are_refused },
	{ "exported_memory_is_refused", exported_memory_is_refused },
	{ "arenas_in_use_are_refused", arenas_in_use_are_refused },
	{ "what_c_gave_back_is_gone", what_c_gave_back_is_gone },
	{ "refused_ends_leak", refused_ends_leak },
};
