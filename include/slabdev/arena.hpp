/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.hpp - memory that goes back all at once. Included by slabdev.hpp.
 *
 * An *arena* gives typed spans, which it keeps: they are as good until it goes
 * back behind them. An *arena_scope* takes it back, at its end, to where it was
 * at its beginning; scopes nest as blocks do.
 */
#ifndef SLABDEV_ARENA_HPP
#define SLABDEV_ARENA_HPP

#include <utility>

#include <slabdev/space.hpp>

namespace slabxx {

class arena : public detail::owner<::slabdev_arena> {
public:
	arena() noexcept = default;
	/** arena - as slabdev_arena_create(), or throw */
	explicit arena(space_ref in,
		       const slabdev_arena_attr &attr = defaults())
	{
		detail::check(make(in, attr));
	}
	arena(std::nothrow_t, space_ref in,
	      const slabdev_arena_attr &attr = defaults()) noexcept
	{
		detail::tell(make(in, attr));
	}

	/**
	 * alloc - the next @n T, or throw
	 *
	 * At the arena's alignment, or at @align where it is not 0; at that of
	 * T in any case. EOVERFLOW where no address can count the bytes.
	 */
	template <class T>
	device_span<T> alloc(std::size_t n, std::size_t align = 0)
	{
		device_span<T> span = alloc<T>(std::nothrow, n, align);

		if (!span.raw() && n)
			detail::raise(errno, slabdev_last_error());
		return span;
	}
	template <class T>
	device_span<T> alloc(std::nothrow_t, std::size_t n,
			     std::size_t align = 0) noexcept
	{
		static_assert(std::is_trivially_copyable_v<T>,
			      "memory of an arena is bytes: nothing "
			      "constructs or destroys what is there");
		std::size_t bytes;
		void *p;

		/* More than any arena has; the library says so. */
		if (!detail::multiplied(n, sizeof(T), &bytes))
			bytes = SIZE_MAX;
		if ((align ? align : align_) < alignof(T))
			align = alignof(T);
		p = align ? slabdev_arena_alloc_aligned(it_, bytes, align) :
			    slabdev_arena_alloc(it_, bytes);
		return { static_cast<T *>(p), p ? n : 0 };
	}

	/** host - a span of it as the CPU sees it; ENOTSUP for
	 *  memory::device */
	template <class T> host_span<T> host(device_span<T> span) const
	{
		return slabxx::host(kind_, span);
	}

	/** clear - give back everything, as slabdev_arena_reset() */
	void clear() { detail::check(slabdev_arena_reset(it_)); }
	/** use - work in that stream uses it too, as slabdev_arena_use() */
	void use(on stream)
	{
		detail::check((slabdev_arena_use)(it_, stream.get()));
	}
	struct slabdev_arena_stats stats() const
	{
		struct slabdev_arena_stats st = {};

		detail::check(slabdev_arena_stats(it_, &st, sizeof(st)));
		return st;
	}
	memory kind() const noexcept { return kind_; }

	static slabdev_arena_attr defaults() noexcept
	{
		slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;

		return attr;
	}

private:
	int make(space_ref in, const slabdev_arena_attr &attr) noexcept
	{
		align_ = attr.align ? attr.align : detail::least_align;
		kind_ = in.kind();
		return slabdev_arena_create(&it_, in.get(), &attr);
	}

	std::size_t align_ = detail::least_align;
	memory kind_ = memory::host;
};

/** arena_scope - what is allocated from now on goes at its end */
class arena_scope {
public:
	/** arena_scope - begin, or throw; the arena is to last longer */
	explicit arena_scope(const arena &in) : arena_(in.get())
	{
		detail::check(slabdev_arena_mark(arena_, &mark_));
	}
	arena_scope(const arena_scope &) = delete;
	arena_scope &operator=(const arena_scope &) = delete;
	arena_scope(arena_scope &&other) noexcept
		: arena_(std::exchange(other.arena_, nullptr)),
		  mark_(other.mark_)
	{
	}
	arena_scope &operator=(arena_scope &&) = delete;
	~arena_scope()
	{
		detail::kept_errno keep;

		if (arena_)
			(void)slabdev_arena_rewind(arena_, &mark_);
	}

	/** rewind - end now; throws a refusal, and has not ended */
	void rewind()
	{
		if (!arena_)
			return;
		detail::check(slabdev_arena_rewind(arena_, &mark_));
		arena_ = nullptr;
	}
	/** keep - what was allocated stays: the end does nothing */
	void keep() noexcept
	{
		detail::kept_errno kept;
		::slabdev_arena *arena = std::exchange(arena_, nullptr);

		/* A mark that an earlier scope has ended is none to drop. */
		if (arena)
			(void)slabdev_arena_unmark(arena, &mark_);
	}

private:
	::slabdev_arena *arena_;
	struct slabdev_arena_mark mark_ = SLABDEV_ARENA_MARK_INIT;
};

} // namespace slabxx

#endif /* SLABDEV_ARENA_HPP */
