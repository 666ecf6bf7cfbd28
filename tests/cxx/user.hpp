/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user.hpp - what the cases of tests/cxx/user share.
 *
 * The program is a user of slabdev.hpp and of nothing else of the tree; the
 * suite cxx runs it once for each case, with the memory to open spaces on. A
 * case that finds something wrong says so on standard error, and the exit
 * status is 1; 77 means that it is about other memory.
 */
#ifndef TESTS_CXX_USER_HPP
#define TESTS_CXX_USER_HPP

#include <string>
#include <vector>

#include <slabdev/slabdev.hpp>

struct user_case {
	const char *name;
	void (*run)(const char *spec);
};

extern const std::vector<user_case> owner_cases, typed_cases, shared_cases,
	stream_cases, container_cases, refused_cases, manager_cases;

/* The case is not about this memory: ends it. */
struct not_here {
	const char *why;
};

void expect_at(bool holds, const char *file, int line, const char *what);
#define EXPECT(what) \
	expect_at(static_cast<bool>(what), __FILE__, __LINE__, #what)

/* @call throws slabxx::error with that errno, and @text in its what(). */
template <class Call> void expect_error(int err, const char *text, Call call)
{
	try {
		call();
	} catch (const slabxx::error &e) {
		EXPECT(e.code() == std::error_code(err,
						   std::generic_category()));
		if (!std::strstr(e.what(), text))
			expect_at(false, __FILE__, __LINE__, e.what());
		return;
	}
	expect_at(false, __FILE__, __LINE__, text);
}

/* What the library logs while this lives. */
class log_kept {
public:
	log_kept() { slabdev_set_log(keep, this); }
	log_kept(const log_kept &) = delete;
	log_kept &operator=(const log_kept &) = delete;
	~log_kept() { slabdev_set_log(nullptr, nullptr); }

	bool has(const char *text) const
	{
		return text_.find(text) != std::string::npos;
	}
	bool is_empty() const { return text_.empty(); }

private:
	static void keep(int, const char *text, void *arg)
	{
		static_cast<log_kept *>(arg)->text_ += text;
	}

	std::string text_;
};

/* A space of 64 MiB. */
slabxx::space limited(const char *spec);
/* Nothing is live in it. */
void expect_nothing_live(const slabxx::space &space);

#endif /* TESTS_CXX_USER_HPP */
