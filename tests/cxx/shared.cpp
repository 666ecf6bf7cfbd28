// SPDX-License-Identifier: BSD-2-Clause
/*
 * shared.cpp - buffers, arenas, and groups.
 */
#include "user.hpp"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

using slabxx::arena;
using slabxx::arena_scope;
using slabxx::buffer;
using slabxx::group;
using slabxx::space;

static std::uintptr_t address(const void *p)
{
	return reinterpret_cast<std::uintptr_t>(p);
}

/* 1 -> 2 -> 1 -> 0, by copies, moves and assignments. */
static void copies_are_owners(const char *spec)
{
	space s = limited(spec);

	{
		buffer a = buffer::of<float>(s, 100);

		EXPECT(a.owners() == 1 && a.size_bytes() == 400);
		{
			buffer b = a;

			EXPECT(a.owners() == 2 && b.raw() == a.raw());
			buffer c = std::move(b);

			EXPECT(a.owners() == 2 && !b && !b.raw());
			b = c;
			EXPECT(a.owners() == 3);
			b = std::move(c);
			EXPECT(a.owners() == 2);
			a = b;
			EXPECT(a.owners() == 2 && a.id() == b.id());
		}
		EXPECT(a.owners() == 1 && s.stats().live_objects == 1);
		const buffer &self = a;

		a = self;
		EXPECT(a.owners() == 1);
		/* The old one goes, the new one is shared. */
		buffer other(s, 1000);

		other = a;
		EXPECT(a.owners() == 2 && s.stats().live_objects == 1);
		a.close();
		EXPECT(!a && !a.owners() && other.owners() == 1);
		buffer none, copy = none;

		EXPECT(!copy && !copy.size_bytes() && !copy.id());
	}
	expect_nothing_live(s);
	expect_error(EOVERFLOW, "", [&] {
		buffer::of<double>(s, std::size_t(1) << 61);
	});
	expect_error(EINVAL, "", [&] { buffer zero(s, 0); });
	buffer zero(std::nothrow, s, 0);
	EXPECT(!zero && errno == EINVAL);
}

/* The first ten elements of a hundred keep all of it. */
static void views_keep(const char *spec)
{
	space s = limited(spec);
	buffer ten;

	{
		buffer all = buffer::of<float>(s, 100);

		ten = all.view_of<float>(0, 10);
		EXPECT(ten.raw() == all.raw() && ten.size_bytes() == 40);
		buffer last = all.view(396, 4);

		EXPECT(last.span<float>().raw() ==
		       all.span<float>().raw() + 99);
		expect_error(EINVAL, "", [&] { all.view(396, 5); });
		expect_error(EINVAL, "", [&] { all.view(SIZE_MAX, 2); });
		expect_error(EINVAL, "span of 100", [&] {
			all.view_of<float>(100, 1);
		});
		expect_error(EINVAL, "span of 100", [&] {
			all.view_of<float>(SIZE_MAX / 4 + 1, 1);
		});
		/* No array of that type. */
		expect_error(EINVAL, "elements of 8 bytes", [&] {
			all.view(0, 12).span<double>();
		});
		expect_error(EINVAL, "elements of 8 bytes", [&] {
			all.view(4, 16).span<double>();
		});
	}
	EXPECT(s.stats().live_objects == 1);
	if (s.is_host_visible()) {
		ten.host<float>()[9] = 1;
		expect_error(EINVAL, "span of 10", [&] {
			ten.host<float>()[10] = 1;
		});
	} else {
		expect_error(ENOTSUP, "", [&] { ten.host<float>(); });
	}
	ten.reset();
	expect_nothing_live(s);
}

static void threads_share(const char *spec)
{
	space s = limited(spec);

	{
		buffer a(s, 4096);
		std::vector<std::thread> threads;

		for (int i = 0; i < 4; i++)
			threads.emplace_back([mine = a] {
				for (int j = 0; j < 1000; j++) {
					buffer b = mine, c = std::move(b);

					b = c.view(0, 16);
				}
			});
		a.reset();
		for (std::thread &t : threads)
			t.join();
	}
	expect_nothing_live(s);
}

/* The worked example: 400 bytes, then 200 at 512, then back. */
static void arenas_go_back(const char *spec)
{
	space s = limited(spec);
	slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;

	attr.max_bytes = 4096;
	{
		arena a(s, attr);
		auto first = a.alloc<char>(400);
		auto offset = [&](const void *p) {
			return static_cast<const char *>(p) - first.raw();
		};

		EXPECT(first.size() == 400 && a.stats().used == 400);
		{
			arena_scope scope(a);
			auto second = a.alloc<float>(50);

			EXPECT(second.size() == 50);
			EXPECT(offset(second.raw()) == 512);
			EXPECT(a.stats().used == 712);
			{
				arena_scope inner(a);

				EXPECT(a.alloc<double>(10).size() == 10);
				inner.rewind();
				EXPECT(a.stats().used == 712);
				inner.rewind();
			}
			/* 1000 floats do not fit; nothing has changed. */
			expect_error(ENOSPC, "", [&] { a.alloc<float>(1000); });
			EXPECT(a.alloc<float>(std::nothrow, 1000).empty());
			expect_error(EOVERFLOW, "", [&] {
				a.alloc<double>(std::size_t(1) << 61);
			});
			EXPECT(a.stats().used == 712);
			EXPECT(a.alloc<float>(0).empty());
		}
		EXPECT(a.stats().used == 400);
		{
			arena_scope stays(a);

			a.alloc<char>(1);
			stays.keep();
		}
		EXPECT(a.stats().used == 513);
		arena b = std::move(a);

		EXPECT(!a && b.stats().used == 513);
		b.clear();
		EXPECT(b.stats().used == 0);
		EXPECT(b.alloc<char>(1).raw() == first.raw());
		EXPECT(address(b.alloc<char>(1, 1024).raw()) % 1024 == 0);
		if (s.is_host_visible())
			b.host(first)[399] = 1;
		else
			expect_error(ENOTSUP, "", [&] { b.host(first); });
	}
	expect_nothing_live(s);
}

static void scopes_end_by_exceptions(const char *spec)
{
	space s = limited(spec);
	arena a(s);

	a.alloc<char>(100);
	for (int i = 0; i < 3; i++) {
		try {
			arena_scope outer(a);
			a.alloc<char>(1000);
			arena_scope inner(a);
			a.alloc<char>(1000);
			throw i;
		} catch (int) {
		}
		EXPECT(a.stats().used == 100 && a.stats().marks == 0);
	}
}

static void groups_are_one(const char *spec)
{
	space s = limited(spec);

	{
		const std::vector<std::size_t> counts = { 10, 0, 100, 64 };
		group<double> g(s, counts);

		EXPECT(g.size() == 4 && s.stats().live_objects == 1);
		EXPECT(g[0].raw() == g.raw() && g[0].size() == 10);
		EXPECT(g[1].empty() && !g[1].raw());
		EXPECT(g[2].raw() == g.raw() + 32 && g[2].size() == 100);
		EXPECT(g[3].size_bytes() == 512);
		EXPECT(g[3].raw() + 64 == g.raw() + g.size_bytes() / 8);
		EXPECT(g.pointers()[2] == g[2].raw());
		expect_error(EINVAL, "", [&] { g[4]; });
		const group<double> &seen = g;
		static_assert(std::is_same_v<decltype(seen[0]),
			      slabxx::device_span<const double>>);

		if (s.is_host_visible()) {
			g.host(2)[99] = 1;
			EXPECT(seen[2].raw()[99] == 1);
		}
		group<double> h = std::move(g);

		EXPECT(!g && g.size() == 0 && h.size() == 4);
		h = std::move(h.size() ? h : g);
		EXPECT(h.size() == 4);

		const std::array<std::size_t, 3> equal = { 64, 64, 64 };
		group<float> strided(s, equal, slabxx::request().align(512));

		EXPECT(strided.stride() == 512);
		EXPECT(s.stats().live_objects == 2);
		h = group<double>(s, equal);
		EXPECT(h.size() == 3 && s.stats().live_objects == 2);
		h.close();
		EXPECT(s.stats().live_objects == 1);
	}
	expect_nothing_live(s);

	const std::size_t many[] = { 1, std::size_t(1) << 61 };

	expect_error(EOVERFLOW, "", [&] { group<double> g(s, many); });
	expect_error(EINVAL, "", [&] { group<int> g(s, nullptr, 3); });
	group<double> none(std::nothrow, s, many, 2);
	EXPECT(!none && none.size() == 0 && errno == EOVERFLOW);
	expect_nothing_live(s);
}

/* What a stream uses of these waits for it, too. */
static void shared_ends_wait(const char *spec)
{
	if (std::string(spec) != "host")
		throw not_here{ "about host queues" };
	space s = limited(spec);
	slabxx::queue q(SLABDEV_QUEUE_MANUAL);
	const std::size_t counts[] = { 100, 1 << 20 };

	{
		slabxx::attachment attached(s, q);

		q.submit([] {});
		{
			buffer a(s, 4 << 20, slabxx::on(q)), b = a;
			group<int> g(s, counts, slabxx::on(q));
		}
		EXPECT(s.stats().live_objects == 0);
		EXPECT(s.stats().pending >= 8 << 20);
		q.synchronize();
	}
	s.poll();
	EXPECT(s.stats().pending == 0);
	expect_nothing_live(s);
}

const std::vector<user_case> shared_cases = {
	{ "copies_are_owners", copies_are_owners },
	{ "views_keep", views_keep },
	{ "threads_share", threads_share },
	{ "arenas_go_back", arenas_go_back },
	{ "scopes_end_by_exceptions", scopes_end_by_exceptions },
	{ "groups_are_one", groups_are_one },
	{ "shared_ends_wait", shared_ends_wait },
};
