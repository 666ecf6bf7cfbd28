// SPDX-License-Identifier: BSD-2-Clause
/*
 * main.cpp - user CASE SPEC: one case; user --list: their names.
 */
#include "user.hpp"

#include <cstdio>

static bool has_failed;

void expect_at(bool holds, const char *file, int line, const char *what)
{
	if (holds)
		return;
	std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, what,
		     slabdev_last_error());
	has_failed = true;
}

slabxx::space limited(const char *spec)
{
	slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = 64 << 20;
	return slabxx::space(spec, attr);
}

void expect_nothing_live(const slabxx::space &space)
{
	EXPECT(space.stats().live_objects == 0);
	EXPECT(space.stats().live == 0);
	space.validate();
}

static std::vector<user_case> all_cases()
{
	std::vector<user_case> all;

	for (const auto *some : { &owner_cases, &typed_cases, &shared_cases,
				  &stream_cases, &container_cases,
				  &refused_cases, &manager_cases })
		all.insert(all.end(), some->begin(), some->end());
	return all;
}

static int run(const user_case &wanted, const char *spec)
{
	try {
		wanted.run(spec);
	} catch (const not_here &other) {
		std::printf("%s\n", other.why);
		return 77;
	} catch (const std::exception &e) {
		expect_at(false, __FILE__, __LINE__, e.what());
	}
	return has_failed;
}

int main(int argc, char **argv)
{
	for (const user_case &one : all_cases()) {
		if (argc == 2 && std::string(argv[1]) == "--list")
			std::printf("%s\n", one.name);
		if (argc == 3 && std::string(argv[1]) == one.name)
			return run(one, argv[2]);
	}
	return argc == 2 ? 0 : 2;
}
