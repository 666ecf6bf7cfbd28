// SPDX-License-Identifier: BSD-2-Clause
/*
 * containers.cpp - containers of the standard library in a space.
 */
#include "user.hpp"

#if __has_include(<memory_resource>)
#include <map>
#include <memory_resource>
#include <numeric>

using slabxx::memory_resource;
using slabxx::space;

static void need_visible(const space &s)
{
	if (!s.is_host_visible())
		throw not_here{ "memory that the CPU cannot touch" };
}

static void device_memory_is_refused(const char *spec)
{
	space s(spec);

	if (s.is_host_visible())
		throw not_here{ "memory that the CPU can touch" };
	expect_error(ENOTSUP, "cuda-host:N", [&] { memory_resource r(s); });
}

static void vectors_grow(const char *spec)
{
	space s = limited(spec);

	need_visible(s);
	memory_resource r(s);

	{
		std::pmr::vector<double> v(&r);

		for (int i = 0; i < 10000; i++)
			v.push_back(i);
		EXPECT(std::accumulate(v.begin(), v.end(), 0.0) == 49995000);
		EXPECT(s.stats().live_objects == 1);
		EXPECT(slabdev_usable_size(s.get(), v.data()) >= 80000);

		std::pmr::vector<double> copy(v, &r), stays(v);
		std::pmr::vector<double> moved = std::move(v);

		/* A copy is of the heap unless it is told otherwise. */
		EXPECT(s.stats().live_objects == 2);
		EXPECT(moved == copy && stays == copy);
		EXPECT(moved.get_allocator().resource() == &r);
	}
	{
		std::pmr::map<int, std::pmr::string> m(&r);

		for (int i = 0; i < 1000; i++)
			m.emplace(i, "a string that does not fit in itself ");
		/* Nodes, and the strings in them. */
		EXPECT(s.stats().live_objects == 2000);
		m.erase(m.begin(), m.find(500));
		EXPECT(s.stats().live_objects == 1000);
	}
	{
		std::pmr::vector<std::max_align_t> none(0, &r);
		void *p = r.allocate(0, 1), *q = r.allocate(0, 1);

		EXPECT(p && q && p != q);
		r.deallocate(p, 0, 1);
		r.deallocate(q, 0, 1);
		p = r.allocate(100, 4096);
		EXPECT(reinterpret_cast<std::uintptr_t>(p) % 4096 == 0);
		r.deallocate(p, 100, 4096);
	}
	expect_nothing_live(s);
}

static void resources_compare(const char *spec)
{
	space s = limited(spec), t = limited(spec);

	need_visible(s);
	memory_resource a(s), b(s), c(t);

	EXPECT(a == b && a != c);
	EXPECT(a != *std::pmr::new_delete_resource());
	EXPECT(a.space().get() == s.get());
}

static void full_space_throws_bad_alloc(const char *spec)
{
	log_kept log;
	space s = limited(spec);

	need_visible(s);
	memory_resource r(s);
	std::pmr::vector<char> v(&r);
	bool was_thrown = false;

	try {
		v.resize(100 << 20);
	} catch (const std::bad_alloc &e) {
		was_thrown = true;
		EXPECT(std::strlen(e.what()) > 20);
	}
	EXPECT(was_thrown && v.empty());
	v.resize(1000);
	/* An alignment that no space has. */
	was_thrown = false;
	try {
		(void)r.allocate(1, std::size_t(1) << 31);
	} catch (const std::bad_alloc &) {
		was_thrown = true;
	}
	EXPECT(was_thrown);
}

/* The library does not trust the caller's count. */
static void wrong_sizes_are_found(const char *spec)
{
	space s = limited(spec);

	need_visible(s);
	memory_resource r(s);
	void *p = r.allocate(1000);

	{
		log_kept log;

		r.deallocate(p, 999);
		EXPECT(log.has("999"));
		EXPECT(s.stats().live_objects == 1);
	}
	r.deallocate(p, 1000);
	{
		log_kept log;

		r.deallocate(p, 1000);
		EXPECT(!log.is_empty());
	}
	expect_nothing_live(s);
}

const std::vector<user_case> container_cases = {
	{ "device_memory_is_refused", device_memory_is_refused },
	{ "vectors_grow", vectors_grow },
	{ "resources_compare", resources_compare },
	{ "full_space_throws_bad_alloc", full_space_throws_bad_alloc },
	{ "wrong_sizes_are_found", wrong_sizes_are_found },
};
#else
const std::vector<user_case> container_cases;
#endif
