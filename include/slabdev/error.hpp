/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.hpp - how the C++ wrapper fails. Included by slabdev.hpp.
 *
 * What fails throws slabxx::error, a std::system_error: code() is the errno
 * that the C call gave, what() begins with the text of slabdev_last_error().
 *
 * Who does not want exceptions has constructors and calls that take
 * std::nothrow first: they leave the object empty, and errno says why, as
 * slabdev_last_error() does. Everything else that can throw has a C call that
 * does not, on what get() gives.
 *
 * Compiled with -fno-exceptions, what would throw writes the same text to
 * standard error and aborts; the calls with std::nothrow are as before.
 */
#ifndef SLABDEV_ERROR_HPP
#define SLABDEV_ERROR_HPP

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>

#include <slabdev/group.h>
#include <slabdev/slabdev.h>

namespace slabxx {

/** error - a call of the library has failed */
class error : public std::system_error {
public:
	/* @err: an errno, positive */
	error(int err, const char *text)
		: std::system_error(err, std::generic_category(), text)
	{
	}
};

namespace detail {

/* Programs that warn of its cast include this. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
inline constexpr std::size_t least_align = SLABDEV_ALIGN;
inline constexpr std::size_t most_blocks = SLABDEV_GROUP_MAX;
#pragma GCC diagnostic pop

[[noreturn]] inline void raise(int err, const char *text)
{
#if defined(__cpp_exceptions)
	throw error(err, text);
#else
	std::fprintf(stderr, "slabdev: %s (errno %d)\n", text, err);
	std::abort();
#endif
}

/* Of a call that returns a negative errno. */
inline void check(int ret)
{
	if (ret < 0)
		raise(-ret, slabdev_last_error());
}

/* The same for a call with std::nothrow: 0 leaves errno alone. */
inline void tell(int ret) noexcept
{
	if (ret < 0)
		errno = -ret;
}

/* What ends by itself leaves errno as it was. */
class kept_errno {
public:
	kept_errno() noexcept = default;
	kept_errno(const kept_errno &) = delete;
	kept_errno &operator=(const kept_errno &) = delete;
	~kept_errno() { errno = saved_; }

private:
	int saved_ = errno;
};

/* @n objects of @size bytes; false: more than an address can count. */
inline bool multiplied(std::size_t n, std::size_t size,
		       std::size_t *bytes) noexcept
{
	*bytes = n * size;
	return !size || *bytes / size == n;
}

} // namespace detail
} // namespace slabxx

#endif /* SLABDEV_ERROR_HPP */
