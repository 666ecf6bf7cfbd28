/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmr.hpp - containers of the standard library in a space. Included by
 * slabdev.hpp, where the library has <memory_resource>.
 *
 *	slabxx::space pinned("cuda-host:0");
 *	slabxx::memory_resource resource(pinned);
 *	std::pmr::vector<double> v(1000, &resource);
 *
 * The CPU constructs what containers hold, so memory of "cuda:N" is refused
 * when the resource is made (ENOTSUP). The space, and the resource, last longer
 * than the containers.
 *
 * A container says the size of what it gives back. The library checks it: a
 * wrong one is reported, and the memory stays.
 *
 * What a container has freed, a device may still be using: in a space that was
 * opened with SLABDEV_ORDER_STREAM wait for it before the container shrinks,
 * grows or ends. SLABDEV_ORDER_HOST, the default for these kinds of memory,
 * waits for the bound stream itself.
 */
#ifndef SLABDEV_PMR_HPP
#define SLABDEV_PMR_HPP

#if __has_include(<memory_resource>)
#include <memory_resource>

#include <slabdev/space.hpp>

namespace slabxx {

/** out_of_memory - a container got none; what() as of slabxx::error */
class out_of_memory : public std::bad_alloc {
public:
	explicit out_of_memory(const char *text) noexcept
	{
		std::snprintf(text_, sizeof(text_), "%s", text);
	}
	const char *what() const noexcept override { return text_; }

private:
	char text_[256];
};

class memory_resource : public std::pmr::memory_resource {
public:
	/** memory_resource - in a space that the CPU can touch, or throw */
	explicit memory_resource(space_ref in) : in_(in)
	{
		if (!in.is_host_visible())
			detail::raise(ENOTSUP, "a memory_resource in a space "
				      "of \"cuda:N\": the CPU cannot touch "
				      "what a container would have there; "
				      "\"cuda-host:N\" and \"cuda-managed:N\" "
				      "are for both");
	}

	space_ref space() const noexcept { return in_; }

private:
	/* Containers may ask for nothing, and want an address. */
	static std::size_t given(std::size_t bytes) noexcept
	{
		return bytes ? bytes : 1;
	}

	void *do_allocate(std::size_t bytes, std::size_t align) override
	{
		slabdev_req req = SLABDEV_REQ_INIT;
		void *p;

		if (align > detail::least_align)
			req.align = align;
		p = slabdev_alloc_ex(in_.get(), given(bytes), &req);
		if (!p)
			refuse();
		return p;
	}

	void do_deallocate(void *p, std::size_t bytes, std::size_t) override
	{
		detail::kept_errno keep;

		(void)slabdev_free_sized(in_.get(), p, given(bytes));
	}

	bool do_is_equal(const std::pmr::memory_resource &other)
		const noexcept override
	{
#if defined(__cpp_rtti)
		auto *same = dynamic_cast<const memory_resource *>(&other);

		return same && same->in_.get() == in_.get();
#else
		return this == &other;
#endif
	}

	[[noreturn]] static void refuse()
	{
#if defined(__cpp_exceptions)
		throw out_of_memory(slabdev_last_error());
#else
		detail::raise(errno, slabdev_last_error());
#endif
	}

	space_ref in_;
};

} // namespace slabxx
#endif

#endif /* SLABDEV_PMR_HPP */
