/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.hpp - named caches of objects of one type. Included by slabdev.hpp.
 *
 * A cache<T> gives device_array<T> of one length, 1 unless it was made with
 * another. They are to go before the cache: its end, as that of a space, is
 * refused while one of them is live.
 */
#ifndef SLABDEV_CACHE_HPP
#define SLABDEV_CACHE_HPP

#include <slabdev/object.hpp>

namespace slabxx {

template <class T> class cache : public detail::owner<::slabdev_cache> {
public:
	cache() noexcept = default;
	/** cache - of objects of @n T, or throw */
	cache(space_ref in, const char *name, std::size_t n = 1,
	      const slabdev_cache_args &args = defaults())
	{
		detail::check(make(in, name, n, args));
	}
	cache(std::nothrow_t, space_ref in, const char *name,
	      std::size_t n = 1,
	      const slabdev_cache_args &args = defaults()) noexcept
	{
		detail::tell(make(in, name, n, args));
	}

	/** alloc - one object, or throw */
	device_array<T> alloc()
	{
		return owned(slabdev_cache_alloc(it_));
	}
	/** alloc - for work in a stream, in whose order it is freed, too */
	device_array<T> alloc(on stream)
	{
		device_array<T> object = owned((slabdev_cache_alloc_async)(
			it_, stream.get()));

		object.free_on(stream);
		return object;
	}
	device_array<T> alloc(std::nothrow_t) noexcept
	{
		return given(slabdev_cache_alloc(it_));
	}

	void prefill(std::size_t n)
	{
		detail::check(slabdev_cache_prefill(it_, n));
	}
	void shrink() { detail::check(slabdev_cache_shrink(it_)); }
	void validate() const
	{
		detail::check(slabdev_cache_validate(it_));
	}
	struct slabdev_cache_stats stats() const
	{
		struct slabdev_cache_stats st = {};

		detail::check(slabdev_cache_stats(it_, &st, sizeof(st)));
		return st;
	}

	static slabdev_cache_args defaults() noexcept
	{
		slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;

		return args;
	}

private:
	int make(space_ref in, const char *name, std::size_t n,
		 slabdev_cache_args args) noexcept
	{
		std::size_t bytes;

		/* No cache has such objects; the library says so. */
		if (!detail::multiplied(n, sizeof(T), &bytes))
			bytes = SIZE_MAX;
		if (args.align && args.align < alignof(T))
			args.align = alignof(T);
		in_ = in;
		n_ = n;
		return slabdev_cache_create(&it_, in.get(), name, bytes,
					    &args);
	}

	device_array<T> given(void *p) const noexcept
	{
		return device_array<T>(in_, static_cast<T *>(p), n_);
	}
	device_array<T> owned(void *p) const
	{
		if (!p)
			detail::raise(errno, slabdev_last_error());
		return given(p);
	}

	space_ref in_{ nullptr, memory::host };
	std::size_t n_ = 0;
};

} // namespace slabxx

#endif /* SLABDEV_CACHE_HPP */
