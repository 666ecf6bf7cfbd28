// SPDX-License-Identifier: BSD-2-Clause
/*
 * managers.cpp - managers, what they give, and blocks.
 */
#include "user.hpp"

#include <utility>

using slabxx::arena;
using slabxx::arena_scope;
using slabxx::block;
using slabxx::booked_array;
using slabxx::buffer;
using slabxx::device_array;
using slabxx::device_ptr;
using slabxx::manager;
using slabxx::memory;
using slabxx::space;

/* What a manager calls the memory that @spec is. */
struct pair {
	explicit pair(const char *spec) : kind(space(spec).kind())
	{
		device = kind == memory::host ? manager::no_device : 0;
	}

	memory kind;
	int device;
};

/* Goal: 1,000 floats are 4,000 bytes in the ledger, and 500 doubles; what is
 * refused is in no figure but that of failures. */
static void managers_keep_books(const char *spec)
{
	log_kept log;
	const pair at(spec);
	manager m("solver");

	EXPECT(!slabxx::efficiency(m.total()) && m.total().spaces == 0);
	{
		booked_array<float> a(m, at.kind, at.device, 1000);
		booked_array<double> b(m, at.kind, at.device, 500, 4096);

		EXPECT(a.size_bytes() == 4000 && b.size_bytes() == 4000);
		EXPECT(a.kind() == at.kind);
		EXPECT(reinterpret_cast<std::uintptr_t>(b.raw()) % 4096 == 0);
		EXPECT(m.total().current == 8000 && m.total().active == 2);
		expect_error(EOVERFLOW, "", [&] {
			booked_array<double> c(m, at.kind, at.device,
					       std::size_t(1) << 61);
		});
		expect_error(EINVAL, "", [&] {
			booked_array<double> c(m, at.kind, at.device, 0);
		});
		errno = 0;
		booked_array<char> none(std::nothrow, m, at.kind, at.device,
					1, 3);
		EXPECT(!none && errno == EINVAL && !none.size());
		EXPECT(m.total().failed == 3 && m.total().active == 2);
		EXPECT(slabxx::efficiency(m.total()) == 1.0);
	}
	slabdev_ledger books = m.ledger(at.kind, at.device);

	EXPECT(books.current == 0 && books.peak == 8000 && books.frees == 2);
	EXPECT(slabxx::efficiency(books) == 0.0);
	m.close();
	EXPECT(!m);
}

/* Goal: a pair is served as it was asked for, or the reason is thrown. */
static void managers_route(const char *spec)
{
	const pair at(spec);
	manager m("routes");
	slabdev_attr attr = space::defaults();

	attr.limit = 64 << 20;
	EXPECT(m.open(at.kind, at.device, attr).kind() == at.kind);
	expect_error(EEXIST, "", [&] { m.open(at.kind, at.device, attr); });
	EXPECT(m.space(at.kind, at.device).get() ==
	       m.space(at.kind, at.device).get());
	EXPECT(m.total().spaces == 1);
	expect_error(EINVAL, "device", [&] { m.space(memory::host, 0); });
	expect_error(EINVAL, "device", [&] { m.space(memory::device); });
	int err = 0;
	try {
		m.space(memory::device, 99);
	} catch (const slabxx::error &e) {
		err = e.code().value();
	}
	EXPECT(err == ENODEV || err == ENOTSUP);
	expect_error(EINVAL, "name", [] { manager bad(""); });
	manager none(std::nothrow, "\n");
	EXPECT(!none && errno == EINVAL);

	device_array<int> a(m.space(at.kind, at.device), 10);

	EXPECT(m.total().active == 1);
}

/* Goal: who owns what a manager gave is one, and the manager ends last. */
static void booked_arrays_move(const char *spec)
{
	log_kept log;
	const pair at(spec);
	manager m("moves");
	booked_array<float> a(m, at.kind, at.device, 1000);
	const float *p = a.raw();
	booked_array<float> b = std::move(a);

	EXPECT(!a && !a.raw() && !a.size() && b.raw() == p);
	a = std::move(b);
	EXPECT(a.raw() == p && a.size() == 1000 && !b);
	b = booked_array<float>(m, at.kind, at.device, 10);
	b = std::move(a);
	EXPECT(b.raw() == p && m.total().active == 1);
	if (at.kind == memory::device)
		expect_error(ENOTSUP, "", [&] { b.host(); });
	else
		b.host()[999] = 1;
	expect_error(EBUSY, "", [&] { m.close(); });
	EXPECT(m);
	b.close();
	b.close();

	booked_array<int> taken(m, at.kind, at.device, 10);
	int *raw = taken.release();

	EXPECT(!taken && slabdev_manager_free(m.get(), raw) == 0);
	taken = booked_array<int>(m, at.kind, at.device, 10);
	EXPECT(slabdev_manager_free(m.get(), taken.raw()) == 0);
	expect_error(EALREADY, "", [&] { taken.close(); });
	EXPECT(!taken);
	m.close();
	EXPECT(slabdev_manager_count(m.get()) == -EINVAL);
}

/* Goal: no copy of a block believes anything of its own. */
static void blocks_tell(const char *spec)
{
	log_kept log;
	space s = limited(spec);
	device_array<float> a(s, 1000);
	device_ptr<long> one(s);
	block seen(a), copy = seen, other(one);

	EXPECT(seen.is_live() && copy.is_live());
	EXPECT(seen.raw() == a.raw() && seen.size_bytes() == 4000);
	EXPECT(seen.usable_bytes() >= 4000 && seen.align() >= 256);
	EXPECT(seen.kind() == s.kind() && seen.id() && seen.id() != other.id());
	EXPECT((seen.device() == -1) == (s.kind() == memory::host));
	a.reset();
	EXPECT(!seen.is_live() && !copy.is_live() && other.is_live());
	/* What lies there next is another one. */
	device_array<float> next(s, 1000);
	EXPECT(!copy.is_live());
	expect_error(EALREADY, "", [&] { copy.free(); });
	EXPECT(s.stats().live_objects == 2);
	other.free();
	expect_error(EALREADY, "", [&] { other.free(); });
	EXPECT(!other.is_live());
	expect_error(EALREADY, "", [&] { one.close(); });
	expect_error(EINVAL, "", [&] { block b(s, nullptr); });

	space elsewhere = limited(spec);

	expect_error(EINVAL, "", [&] {
		block b(elsewhere, next.raw());
	});
	next.reset();
	expect_nothing_live(s);
}

/* Goal: a scope that keeps uses up no mark, and the scopes around it hold. */
static void kept_scopes_leave_no_mark(const char *spec)
{
	space s = limited(spec);
	arena a(s);

	for (unsigned int i = 0; i < SLABDEV_ARENA_MARKS_MAX + 1; i++) {
		arena_scope stays(a);

		a.alloc<char>(1);
		stays.keep();
		stays.keep();
	}
	EXPECT(a.stats().marks == 0);
	EXPECT(a.stats().allocs == SLABDEV_ARENA_MARKS_MAX + 1);
	a.clear();
	{
		arena_scope outer(a);
		arena_scope middle(a);

		a.alloc<char>(100);
		arena_scope inner(a);

		a.alloc<char>(100);
		middle.keep();
		EXPECT(a.stats().marks == 2);
		inner.rewind();
		EXPECT(a.stats().used == 100);
	}
	EXPECT(a.stats().used == 0 && a.stats().marks == 0);
	{
		arena_scope late(a);

		a.clear();
		errno = EXDEV;
		late.keep();
		EXPECT(errno == EXDEV);
	}
}

const std::vector<user_case> manager_cases = {
	{ "managers_keep_books", managers_keep_books },
	{ "managers_route", managers_route },
	{ "booked_arrays_move", booked_arrays_move },
	{ "blocks_tell", blocks_tell },
	{ "kept_scopes_leave_no_mark", kept_scopes_leave_no_mark },
};
