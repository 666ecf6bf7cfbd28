// SPDX-License-Identifier: BSD-2-Clause
/*
 * streams.cpp - ends in the order of a stream; queues, captures, sharing.
 */
#include "user.hpp"

#include <atomic>
#include <utility>

using slabxx::attachment;
using slabxx::device_array;
using slabxx::on;
using slabxx::queue;
using slabxx::space;

static void need_host(const char *spec)
{
	if (std::string(spec) != "host")
		throw not_here{ "about host queues" };
}

static void queues_run(const char *spec)
{
	std::atomic<int> sum{ 0 };
	int moved = 0;

	need_host(spec);
	{
		queue q, behind;
		auto boxed = std::make_unique<int>(7);

		for (int i = 0; i < 100; i++)
			q.submit([&sum, i] { sum += i; });
		/* Work that can only be moved. */
		q.submit([&moved, box = std::move(boxed)] { moved = *box; });
		behind.wait_for(q);
		behind.submit([&] { sum = sum * 2; });
		behind.synchronize();
	}
	EXPECT(sum == 9900 && moved == 7);

	queue empty(std::nothrow, SLABDEV_QUEUE_MANUAL);
	queue taken = std::move(empty);

	EXPECT(taken && !empty);
	/* Nobody has this work, and it does not leak. */
	expect_error(EINVAL, "", [&] {
		empty.submit([p = std::make_shared<int>(1)] { (void)*p; });
	});
}

/* Large objects: no thread's sheaf has them for the same stream. */
static constexpr std::size_t large = std::size_t(1) << 20;

/* The memory waits for the stream that uses it, however its owner ends. */
static void ends_wait_for_streams(const char *spec)
{
	need_host(spec);
	space s = limited(spec);
	queue q(SLABDEV_QUEUE_MANUAL);

	{
		attachment attached(s, q);
		device_array<float> a(s, large, on(q)), b(s, large);
		device_array<float> c = std::move(a);
		slabxx::cache<float> tiles(s, "tiles", 1000);

		b.free_on(q);
		q.submit([] {});
		{
			device_array<float> d = tiles.alloc(q);
			device_array<float> e(s, large);

			/* Freed here, and used there. */
			e.use(q);
		}
		EXPECT(s.stats().live_objects == 2);
		EXPECT(s.stats().pending >= large * 4);
		b.reset();
		c.reset();
		EXPECT(s.stats().live_objects == 0);
		EXPECT(s.stats().pending >= 3 * large * 4);
		q.synchronize();
		s.poll();
	}
	expect_nothing_live(s);
	EXPECT(s.stats().streams == 0);
	EXPECT(s.stats().pending == 0);
}

/* On any memory: the default streams have names. */
static void default_streams(const char *spec)
{
	space s = limited(spec);
	on legacy(SLABDEV_STREAM_LEGACY);

	{
		device_array<float> a(s, 1000, legacy);
		device_array<float> b(s, 1000, slabxx::request().zero().on(
			SLABDEV_STREAM_PER_THREAD));
		attachment attached(s, on(SLABDEV_STREAM_PER_THREAD));
		attachment moved = std::move(attached);

		EXPECT(!attached && moved);
		moved.close();
		EXPECT(!moved);
		a.use(legacy);
	}
	s.poll();
	s.trim();
	expect_nothing_live(s);
}

static void graphs_hold(const char *spec)
{
	need_host(spec);
	space s = limited(spec);
	queue q(SLABDEV_QUEUE_MANUAL);

	{
		attachment attached(s, q);
		slabxx::graph g(s, q);

		{
			device_array<float> a(s, 1000, on(q));
		}
		EXPECT(s.stats().held > 0);
		expect_error(EBUSY, "", [&] { g.close(); });
		EXPECT(g);
		g.end();
		slabxx::graph moved = std::move(g);

		EXPECT(!g && moved && s.stats().graphs == 1);
		moved.close();
		EXPECT(s.stats().graphs == 0 && s.stats().held == 0);
		/* One whose capture never came to its end. */
		try {
			slabxx::graph lost(s, q);
			device_array<float> a(s, 1000, on(q));

			throw 1;
		} catch (int) {
		}
		EXPECT(s.stats().graphs == 0);
		expect_error(EINVAL, "", [&] {
			slabxx::graph legacy(s, on(SLABDEV_STREAM_LEGACY));
		});
	}
	expect_nothing_live(s);
}

static void exports_end(const char *spec)
{
	need_host(spec);
	slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.handle_type = SLABDEV_HANDLE_FD;
	space s(spec, attr);
	log_kept log;

	{
		device_array<int> a(s, 1000, slabxx::request().comm());
		slabxx::exported out(a);

		expect_error(EBUSY, "", [&] { a.close(); });
		EXPECT(a && s.stats().exported == 1);
		slabxx::imported in(out.get());

		EXPECT(in.size_bytes() == 4000);
		a.host()[10] = 7;
		EXPECT(in.host<int>()[10] == 7);
		EXPECT(in.span<int>().size() == 1000);
		slabxx::exported moved = std::move(out);

		EXPECT(moved && !out);
	}
	expect_nothing_live(s);
	EXPECT(s.stats().exported == 0);
	expect_error(EINVAL, "", [&] { slabxx::exported none(s, nullptr); });
}

const std::vector<user_case> stream_cases = {
	{ "queues_run", queues_run },
	{ "ends_wait_for_streams", ends_wait_for_streams },
	{ "default_streams", default_streams },
	{ "graphs_hold", graphs_hold },
	{ "exports_end", exports_end },
};
