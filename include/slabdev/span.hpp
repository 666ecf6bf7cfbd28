/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * span.hpp - typed stretches of memory that somebody else owns. Included by
 * slabdev.hpp.
 *
 * A *device_span* is an address and a number of elements. It can be passed on,
 * cut, and handed to kernels and drivers by raw(); there is no way to read or
 * write an element through it, since the CPU may not be able to: that does not
 * compile.
 *
 * A *host_span* is the same stretch as the CPU sees it, with [] and iterators.
 * It comes from host(), which is refused for memory that is the device's alone,
 * and from nothing else.
 *
 * Cuts and [] are checked in every build. A span owns nothing: it is as good as
 * the object that it is of.
 */
#ifndef SLABDEV_SPAN_HPP
#define SLABDEV_SPAN_HPP

#include <type_traits>

#include <slabdev/block.h>
#include <slabdev/error.hpp>

namespace slabxx {

/** memory - who can touch it: the CPU all but memory::device */
enum class memory : unsigned int {
	host = SLABDEV_BLOCK_HOST,
	device = SLABDEV_BLOCK_DEVICE,
	pinned = SLABDEV_BLOCK_PINNED,
	managed = SLABDEV_BLOCK_MANAGED,
};

constexpr bool is_host_visible(memory kind) noexcept
{
	return kind != memory::device;
}

namespace detail {

/* For a static_assert that fails where a template is used. */
template <class T> inline constexpr bool never = false;

inline void check_cut(std::size_t first, std::size_t n, std::size_t size)
{
	char text[160];

	if (first <= size && n <= size - first)
		return;
	std::snprintf(text, sizeof(text), "%zu elements from number %zu on "
		      "are not in a span of %zu", n, first, size);
	raise(EINVAL, text);
}

/* What device_span and host_span have in common. */
template <class T> class stretch {
public:
	using element_type = T;
	using value_type = std::remove_cv_t<T>;
	using size_type = std::size_t;

	constexpr stretch() noexcept = default;

	constexpr std::size_t size() const noexcept { return size_; }
	constexpr std::size_t size_bytes() const noexcept
	{
		return size_ * sizeof(T);
	}
	constexpr bool empty() const noexcept { return !size_; }

protected:
	constexpr stretch(T *p, std::size_t n) noexcept : p_(p), size_(n) {}

	T *p_ = nullptr;
	std::size_t size_ = 0;
};

} // namespace detail

template <class T> class device_span : public detail::stretch<T> {
	using base = detail::stretch<T>;

public:
	constexpr device_span() noexcept = default;
	/* @n elements lie there, and are somebody's. */
	constexpr device_span(T *p, std::size_t n) noexcept : base(p, n) {}
	/* Of what may be written, what may be read. */
	template <class U,
		  class = std::enable_if_t<std::is_same_v<const U, T>>>
	constexpr device_span(const device_span<U> &span) noexcept
		: base(span.raw(), span.size())
	{
	}

	/** raw - the address, for kernels and drivers */
	constexpr T *raw() const noexcept { return base::p_; }

	/** subspan - @n elements from number @first on; EINVAL beyond the
	 *  end */
	device_span subspan(std::size_t first, std::size_t n) const
	{
		detail::check_cut(first, n, base::size_);
		return device_span(base::p_ + first, n);
	}
	device_span first(std::size_t n) const { return subspan(0, n); }
	device_span last(std::size_t n) const
	{
		detail::check_cut(0, n, base::size_);
		return subspan(base::size_ - n, n);
	}

	template <class U = T> U &operator[](std::size_t) const
	{
		static_assert(detail::never<U>,
			      "the CPU may not be able to touch this memory: "
			      "ask for host()");
		detail::raise(ENOTSUP, "device memory");
	}
	template <class U = T> U &operator*() const
	{
		static_assert(detail::never<U>,
			      "the CPU may not be able to touch this memory: "
			      "ask for host()");
		detail::raise(ENOTSUP, "device memory");
	}
};

class space_ref;

template <class T> class host_span : public detail::stretch<T> {
	using base = detail::stretch<T>;

public:
	using iterator = T *;

	constexpr host_span() noexcept = default;
	template <class U,
		  class = std::enable_if_t<std::is_same_v<const U, T>>>
	constexpr host_span(const host_span<U> &span) noexcept
		: base(span.data(), span.size())
	{
	}

	constexpr T *data() const noexcept { return base::p_; }
	constexpr T *begin() const noexcept { return base::p_; }
	constexpr T *end() const noexcept { return base::p_ + base::size_; }

	/* EINVAL beyond the end. Loops that cannot be begin to end. */
	T &operator[](std::size_t i) const
	{
		detail::check_cut(i, 1, base::size_);
		return base::p_[i];
	}
	host_span subspan(std::size_t first, std::size_t n) const
	{
		detail::check_cut(first, n, base::size_);
		return host_span(base::p_ + first, n);
	}

private:
	constexpr host_span(T *p, std::size_t n) noexcept : base(p, n) {}

	template <class U>
	friend host_span<U> host(memory kind, device_span<U> span);
};

/**
 * host - memory of that kind as the CPU sees it
 *
 * Throws ENOTSUP for memory::device. What the device still does to the memory
 * the caller has waited for.
 */
template <class T> host_span<T> host(memory kind, device_span<T> span)
{
	if (!is_host_visible(kind))
		detail::raise(ENOTSUP, "memory of \"cuda:N\" is for the device "
			      "alone: the CPU cannot touch it");
	return host_span<T>(span.raw(), span.size());
}

} // namespace slabxx

#endif /* SLABDEV_SPAN_HPP */
