// SPDX-License-Identifier: BSD-2-Clause
/*
 * owners.cpp - acquired in the constructor, released in the destructor, and no
 * path leaks or aliases.
 */
#include "user.hpp"

#include <utility>

using slabxx::cache;
using slabxx::device_array;
using slabxx::device_ptr;
using slabxx::space;

template <class T> constexpr bool is_owner =
	std::is_nothrow_move_constructible_v<T> &&
	std::is_nothrow_move_assignable_v<T> &&
	std::is_nothrow_destructible_v<T> &&
	!std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;

static_assert(is_owner<space> && is_owner<device_ptr<int>> &&
	      is_owner<device_array<int>> && is_owner<cache<int>> &&
	      is_owner<slabxx::arena> && is_owner<slabxx::group<int>> &&
	      is_owner<slabxx::queue> && is_owner<slabxx::attachment> &&
	      is_owner<slabxx::graph> && is_owner<slabxx::exported> &&
	      is_owner<slabxx::imported>);
/* The one that is shared. */
static_assert(std::is_copy_constructible_v<slabxx::buffer> &&
	      std::is_nothrow_move_constructible_v<slabxx::buffer> &&
	      std::is_nothrow_destructible_v<slabxx::buffer>);
static_assert(std::is_nothrow_move_constructible_v<slabxx::arena_scope> &&
	      !std::is_copy_constructible_v<slabxx::arena_scope>);

/* The opposite of std::move for a reader, and for compilers that warn of it. */
template <class T> T &same(T &x)
{
	return x;
}

static void space_closes(const char *spec)
{
	::slabdev *sd;

	{
		space s(spec);

		sd = s.get();
		EXPECT(s);
		EXPECT(s.stats().live_objects == 0);
	}
	log_kept log;
	/* No open space any more. */
	EXPECT(slabdev_close(sd, 0) == -EINVAL);
}

static void space_moves(const char *spec)
{
	space a = limited(spec);
	::slabdev *sd = a.get();
	space b = std::move(a);

	EXPECT(!a && b.get() == sd);
	b = std::move(same(b));
	EXPECT(b.get() == sd);
	EXPECT(b.kind() == slabxx::space_ref(b).kind());

	space c = limited(spec);
	::slabdev *old = c.get();

	c = std::move(b);
	EXPECT(!b && c.get() == sd);
	log_kept log;
	EXPECT(slabdev_close(old, 0) == -EINVAL);

	::slabdev *raw = c.release();

	EXPECT(!c && raw == sd);
	EXPECT(slabdev_close(raw, 0) == 0);
}

/* The owner still owns, and the close works when nothing is live any more. */
static void close_is_refused(const char *spec)
{
	log_kept log;
	space s = limited(spec);
	device_array<double> a(s, 500);

	expect_error(EBUSY, "", [&] { s.close(); });
	EXPECT(s);
	EXPECT(log.has("4000"));
	a.reset();
	s.close();
	EXPECT(!s);
	s.close();
}

/* What is live when the owner of a space ends is as good as before. */
static void object_outlives_space(const char *spec)
{
	log_kept log;
	device_array<float> a;
	::slabdev *sd;

	{
		space s = limited(spec);

		sd = s.get();
		a = device_array<float>(s, 1000);
		errno = EXDEV;
	}
	EXPECT(errno == EXDEV);
	EXPECT(!log.is_empty());
	EXPECT(slabdev_usable_size(sd, a.raw()) >= 4000);
	a.reset();
	EXPECT(slabdev_close(sd, 0) == 0);
}

static void objects_move(const char *spec)
{
	space s = limited(spec);
	device_array<float> a(s, 1000);
	const float *p = a.raw();
	device_array<float> b = std::move(a);

	EXPECT(!a && a.size() == 0 && !a.raw());
	EXPECT(b.raw() == p && b.size() == 1000);
	b = std::move(same(b));
	EXPECT(b.raw() == p && b.size() == 1000);
	a = std::move(b);
	EXPECT(a.raw() == p && !b && s.stats().live_objects == 1);

	device_array<float> c(s, 10);

	c = std::move(a);
	EXPECT(c.raw() == p && c.size() == 1000);
	EXPECT(s.stats().live_objects == 1);

	device_ptr<int> one(s), other(s);
	int *q = one.raw();

	other = std::move(one);
	EXPECT(other.raw() == q && !one);
	EXPECT(s.stats().live_objects == 2);

	float *raw = c.release();

	EXPECT(!c && slabdev_free(s.get(), raw) == 0);
	other.close();
	expect_nothing_live(s);
}

/* After each of its steps something throws; nothing stays. */
static void throw_after(space &s, int steps)
{
	auto next = [&steps] {
		if (!steps--)
			throw 7;
	};

	next();
	device_array<float> a(s, 1000);
	next();
	cache<double> c(s, "doubles", 8);
	next();
	device_array<double> b = c.alloc();
	next();
	std::vector<device_ptr<long>> many;
	for (int i = 0; i < 100; i++)
		many.emplace_back(s);
	next();
	device_array<float> moved = std::move(a);
	next();
}

static void nothing_leaks(const char *spec)
{
	space s = limited(spec);

	for (int steps = 0; steps < 6; steps++) {
		bool has_thrown = false;

		try {
			throw_after(s, steps);
		} catch (int) {
			has_thrown = true;
		}
		EXPECT(has_thrown);
		expect_nothing_live(s);
		EXPECT(s.stats().caches == 0);
	}
}

static void errors_say_why(const char *spec)
{
	expect_error(EINVAL, "floppy", [] { space s("floppy"); });
	try {
		space s("floppy");
	} catch (const std::system_error &e) {
		EXPECT(e.code() == std::errc::invalid_argument);
	}

	space none(std::nothrow, "floppy");

	EXPECT(!none && errno == EINVAL);
	EXPECT(std::strstr(slabdev_last_error(), "floppy"));

	space s = limited(spec);
	slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = 99;
	expect_error(EINVAL, "", [&] { s.set_policy(policy); });
	expect_error(EINVAL, "3", [&] {
		device_array<int> a(s, 1, slabxx::request().align(3));
	});
	expect_error(EINVAL, "SLABDEV_STREAM_LEGACY", [&] {
		device_array<int> a(s, 1, slabxx::on(nullptr));
	});
	expect_nothing_live(s);
}

static void products_are_checked(const char *spec)
{
	space s = limited(spec);

	{
		device_array<float> floats(s, 1000);
		EXPECT(floats.size_bytes() == 4000 && s.stats().live == 4000);
		device_array<double> doubles(s, 500);
		EXPECT(doubles.size_bytes() == 4000 && s.stats().live == 8000);
		device_array<double> none(s, 0);
		EXPECT(!none && none.empty() && s.stats().live_objects == 2);
	}
	/* 2 to the 61st of 8 bytes: a product of 0. */
	const std::size_t n = std::size_t(1) << 61;

	expect_error(EOVERFLOW, "2305843009213693952 objects of 8 bytes",
		     [&] { device_array<double> a(s, n); });
	expect_error(EOVERFLOW, "", [&] {
		device_array<char> a(s, SIZE_MAX);
	});
	errno = 0;
	device_array<double> a(std::nothrow, s, n + 1);
	EXPECT(!a && a.size() == 0 && errno == EOVERFLOW);
	expect_error(EINVAL, "", [&] { cache<double> c(s, "many", n); });
	expect_nothing_live(s);
	EXPECT(s.stats().failed == 3);
}

static void limit_is_told(const char *spec)
{
	log_kept log;
	space s = limited(spec);

	expect_error(EDQUOT, "", [&] { device_array<char> a(s, 100 << 20); });
	device_array<char> a(std::nothrow, s, 100 << 20);
	EXPECT(!a && errno == EDQUOT);
	device_ptr<long> b(std::nothrow, s);
	EXPECT(b);
	b.close();
	expect_nothing_live(s);
	EXPECT(s.stats().failed == 2);
}

static void caches_own(const char *spec)
{
	log_kept log;
	space s = limited(spec);
	cache<double> c(s, "tiles", 64);
	device_array<double> a = c.alloc(), b = c.alloc(std::nothrow);

	EXPECT(a.size() == 64 && b.size() == 64 && a.raw() != b.raw());
	EXPECT(c.stats().live == 2 && c.stats().object_size == 512);
	expect_error(EBUSY, "", [&] { c.close(); });
	EXPECT(c);
	expect_error(EEXIST, "tiles", [&] { cache<int> again(s, "tiles"); });
	a.reset();
	b.reset();
	c.prefill(100);
	c.shrink();
	c.validate();
	c.close();
	EXPECT(!c && s.stats().caches == 0);
}

const std::vector<user_case> owner_cases = {
	{ "space_closes", space_closes },
	{ "space_moves", space_moves },
	{ "close_is_refused", close_is_refused },
	{ "object_outlives_space", object_outlives_space },
	{ "objects_move", objects_move },
	{ "nothing_leaks", nothing_leaks },
	{ "errors_say_why", errors_say_why },
	{ "products_are_checked", products_are_checked },
	{ "limit_is_told", limit_is_told },
	{ "caches_own", caches_own },
};
