// SPDX-License-Identifier: BSD-2-Clause
/*
 * plain.cpp - the wrapper in a program without exceptions and without RTTI.
 *
 * plain SPEC: what fails is seen by std::nothrow. plain SPEC --abort: what
 * would throw says why, and aborts.
 */
#include <cstdio>

#include <slabdev/slabdev.hpp>

int main(int, char **argv)
{
	slabdev_attr attr = SLABDEV_ATTR_INIT;

	slabdev_set_log([](int, const char *, void *) {}, nullptr);
	attr.limit = 64 << 20;
	slabxx::space s(std::nothrow, argv[1], attr);
	slabxx::space none(std::nothrow, "floppy");

	if (!s || none || errno != EINVAL)
		return 1;
	slabxx::device_array<float> a(std::nothrow, s, 1000);
	slabxx::device_array<float> b(std::nothrow, s, 100 << 20);

	if (!a || a.size_bytes() != 4000 || b || errno != EDQUOT)
		return 2;
	if (argv[2])
		slabxx::device_array<float> c(s, 100 << 20);
	slabxx::cache<double> tiles(std::nothrow, s, "tiles", 64);

	if (!tiles || !tiles.alloc(std::nothrow))
		return 3;
	return 0;
}
