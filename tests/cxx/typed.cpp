// SPDX-License-Identifier: BSD-2-Clause
/*
 * typed.cpp - spans: bounds, constness, and who may touch the memory.
 */
#include "user.hpp"

#include <numeric>

using slabxx::device_array;
using slabxx::device_ptr;
using slabxx::device_span;
using slabxx::host_span;
using slabxx::space;

/* A const owner has const elements, and spans go from T to const T only. */
using array = device_array<float>;
static_assert(std::is_same_v<decltype(std::declval<array &>().raw()),
			     float *>);
static_assert(std::is_same_v<decltype(std::declval<const array &>().raw()),
			     const float *>);
static_assert(std::is_same_v<decltype(std::declval<const array &>().span()),
			     device_span<const float>>);
static_assert(std::is_same_v<decltype(std::declval<const array &>().host()),
			     host_span<const float>>);
static_assert(std::is_convertible_v<device_span<float>,
				    device_span<const float>>);
static_assert(!std::is_convertible_v<device_span<const float>,
				     device_span<float>>);
static_assert(!std::is_convertible_v<device_span<double>,
				     device_span<const float>>);
static_assert(!std::is_constructible_v<host_span<float>, float *,
				       std::size_t>);
static_assert(!std::is_convertible_v<array, float *> &&
	      !std::is_convertible_v<device_ptr<float>, float *> &&
	      !std::is_convertible_v<array, bool>);

static void spans_are_checked(const char *spec)
{
	space s(spec);
	device_array<float> a(s, 100);
	device_span<float> all = a.span(), ten = all.first(10);

	EXPECT(all.raw() == a.raw() && all.size() == 100);
	EXPECT(all.size_bytes() == 400 && !all.empty());
	EXPECT(ten.raw() == a.raw() && ten.size() == 10);
	EXPECT(all.last(1).raw() == a.raw() + 99);
	EXPECT(all.subspan(100, 0).empty());
	EXPECT(all.subspan(30, 70).last(70).raw() == a.raw() + 30);
	expect_error(EINVAL, "2 elements from number 99 on are not in a span "
		     "of 100", [&] { all.subspan(99, 2); });
	expect_error(EINVAL, "span of 10", [&] { ten.first(11); });
	expect_error(EINVAL, "span of 10", [&] { ten.last(11); });
	/* Sums that come round to a number within. */
	expect_error(EINVAL, "span of 100", [&] { all.subspan(50, SIZE_MAX); });
	expect_error(EINVAL, "span of 100", [&] { all.subspan(SIZE_MAX, 2); });
	expect_error(EINVAL, "span of 0", [&] { device_span<int>().first(1); });
}

static void the_cpu_is_let_in(const char *spec)
{
	space s(spec);
	device_array<int> a(s, 1000, slabxx::request().zero());
	device_ptr<double> one(s);

	if (!s.is_host_visible())
		throw not_here{ "memory that the CPU cannot touch" };
	host_span<int> h = a.host();

	EXPECT(h.size() == 1000 && h.data() == a.raw());
	EXPECT(std::accumulate(h.begin(), h.end(), 0) == 0);
	for (int &x : h)
		x = 2;
	h[999] = 5;
	const device_array<int> &seen = a;
	host_span<const int> read = seen.host();

	EXPECT(std::accumulate(read.begin(), read.end(), 0) == 2003);
	EXPECT(h.subspan(999, 1)[0] == 5);
	expect_error(EINVAL, "span of 1000", [&] { h[1000] = 1; });
	expect_error(EINVAL, "span of 1000", [&] { h[SIZE_MAX] = 1; });
	expect_error(EINVAL, "span of 1000", [&] { h.subspan(1, 1000); });
	one.host() = 2.5;
	EXPECT(*one.raw() == 2.5);
	one.reset();
	expect_error(EINVAL, "span of 0", [&] { one.host() = 1; });
}

static void the_cpu_is_kept_out(const char *spec)
{
	space s(spec);
	device_array<int> a(s, 1000);
	device_ptr<double> one(s);

	EXPECT(s.is_host_visible() == (s.kind() != slabxx::memory::device));
	if (s.is_host_visible())
		throw not_here{ "memory that the CPU can touch" };
	expect_error(ENOTSUP, "the CPU cannot touch", [&] { a.host(); });
	expect_error(ENOTSUP, "the CPU cannot touch", [&] { one.host(); });
}

struct alignas(1024) wide {
	char c[1024];
};

static void alignment_is_that_of_the_type(const char *spec)
{
	space s(spec);
	auto offset = [](const void *p, std::size_t align) {
		return reinterpret_cast<std::uintptr_t>(p) % align;
	};
	device_array<char> before(s, 1);
	device_ptr<wide> one(s);
	device_array<wide> some(s, 3, slabxx::request().align(256));
	slabxx::buffer shared = slabxx::buffer::of<wide>(s, 2);
	device_array<char> asked(s, 10, slabxx::request().align(65536));

	EXPECT(offset(before.raw(), 256) == 0);
	EXPECT(offset(one.raw(), 1024) == 0);
	EXPECT(offset(some.raw(), 1024) == 0);
	EXPECT(shared.span<wide>().size() == 2);
	EXPECT(offset(asked.raw(), 65536) == 0);
}

const std::vector<user_case> typed_cases = {
	{ "spans_are_checked", spans_are_checked },
	{ "the_cpu_is_let_in", the_cpu_is_let_in },
	{ "the_cpu_is_kept_out", the_cpu_is_kept_out },
	{ "alignment_is_that_of_the_type", alignment_is_that_of_the_type },
};
