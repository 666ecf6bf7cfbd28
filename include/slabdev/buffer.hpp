/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * buffer.hpp - memory with several owners. Included by slabdev.hpp.
 *
 * A *buffer* is one of the owners of a slabdev_buf. A copy is one owner more;
 * the last one that ends frees the memory. A view is a part of it, with owners
 * of its own, that keeps all of it.
 *
 * An owner whose work is in a stream says so by put_on(), and then its end
 * waits for that work; copies and views of it do the same, as they do its kind
 * of work.
 *
 * As with std::shared_ptr, a const owner may not be made to own another thing,
 * and what it owns may be written.
 */
#ifndef SLABDEV_BUFFER_HPP
#define SLABDEV_BUFFER_HPP

#include <utility>

#include <slabdev/buf.h>
#include <slabdev/space.hpp>

namespace slabxx {

class buffer {
public:
	buffer() noexcept = default;
	/** buffer - of @bytes, or throw; on(stream) is put_on(), too */
	buffer(space_ref in, std::size_t bytes, const request &how = request())
	{
		detail::check(make(in, bytes, how));
	}
	buffer(std::nothrow_t, space_ref in, std::size_t bytes,
	       const request &how = request()) noexcept
	{
		detail::tell(make(in, bytes, how));
	}
	/** buffer - of @n T; EOVERFLOW where no address can count the bytes */
	template <class T>
	static buffer of(space_ref in, std::size_t n,
			 const request &how = request())
	{
		request aligned = how;
		std::size_t bytes;

		if (!detail::multiplied(n, sizeof(T), &bytes))
			detail::raise(EOVERFLOW, "a buffer of more elements "
				      "than an address can count");
		if (alignof(T) > detail::least_align &&
		    how.get().align < alignof(T))
			aligned.align(alignof(T));
		return buffer(in, bytes, aligned);
	}

	/** buffer - one owner more, or throw */
	buffer(const buffer &other)
		: buf_(nullptr), stream_(other.stream_), kind_(other.kind_)
	{
		if (!other.buf_)
			return;
		buf_ = slabdev_buf_get(other.buf_);
		if (!buf_)
			detail::raise(errno, slabdev_last_error());
	}
	buffer(buffer &&other) noexcept
		: buf_(other.release()), stream_(other.stream_),
		  kind_(other.kind_)
	{
	}
	buffer &operator=(buffer other) noexcept
	{
		std::swap(buf_, other.buf_);
		std::swap(stream_, other.stream_);
		std::swap(kind_, other.kind_);
		return *this;
	}
	~buffer() { reset(); }

	::slabdev_buf *get() const noexcept { return buf_; }
	explicit operator bool() const noexcept { return buf_; }
	memory kind() const noexcept { return kind_; }

	/** raw - the address, for kernels and drivers; null when empty */
	void *raw() const noexcept
	{
		return buf_ ? slabdev_buf_ptr(buf_) : nullptr;
	}
	/** size_bytes - as asked for; 0 when empty */
	std::size_t size_bytes() const noexcept
	{
		return buf_ ? slabdev_buf_size(buf_) : 0;
	}
	/** owners - of this buffer or view; 0 when empty */
	unsigned int owners() const noexcept
	{
		return buf_ ? slabdev_buf_refs(buf_) : 0;
	}
	/** id - a number that no other buffer has; 0 when empty */
	std::uint64_t id() const noexcept
	{
		return buf_ ? slabdev_buf_id(buf_) : 0;
	}

	/** view - @bytes from @offset on, or throw: EINVAL beyond the end */
	buffer view(std::size_t offset, std::size_t bytes) const
	{
		buffer part;

		detail::check(slabdev_buf_view(&part.buf_, buf_, offset,
					       bytes));
		part.stream_ = stream_;
		part.kind_ = kind_;
		return part;
	}
	/** view_of - @n T from number @first on, or throw: EINVAL beyond the
	 *  end, or where this is no array of T, see span() */
	template <class T>
	buffer view_of(std::size_t first, std::size_t n) const
	{
		span<T>().subspan(first, n);
		return view(first * sizeof(T), n * sizeof(T));
	}

	/** span - all of it as T; EINVAL where it is no whole number of them,
	 *  or does not begin where a T may */
	template <class T> device_span<T> span() const
	{
		std::size_t bytes = size_bytes();
		std::uintptr_t at = reinterpret_cast<std::uintptr_t>(raw());
		char text[128];

		if (bytes % sizeof(T) || at % alignof(T)) {
			std::snprintf(text, sizeof(text), "%zu bytes at %p "
				      "are no array of elements of %zu bytes",
				      bytes, raw(), sizeof(T));
			detail::raise(EINVAL, text);
		}
		return { static_cast<T *>(raw()), bytes / sizeof(T) };
	}
	/** host - the same as the CPU sees it; ENOTSUP for memory::device */
	template <class T> host_span<T> host() const
	{
		return slabxx::host(kind_, span<T>());
	}

	/** put_on - work in that stream uses it until this owner ends */
	void put_on(on stream) noexcept { stream_ = stream.get(); }

	/** release - the caller is the owner from now on */
	[[nodiscard]] ::slabdev_buf *release() noexcept
	{
		::slabdev_buf *buf = buf_;

		buf_ = nullptr;
		return buf;
	}

	/** close - own it no more; throws a refusal, and still owns */
	void close()
	{
		int ret = buf_ ? put() : 0;

		if (detail::is_gone(buf_, ret))
			buf_ = nullptr;
		detail::check(ret);
	}

	/** reset - own it no more, as the end of the owner does */
	void reset() noexcept
	{
		detail::kept_errno keep;

		if (buf_)
			(void)put();
		buf_ = nullptr;
	}

private:
	int make(space_ref in, std::size_t bytes, const request &how) noexcept
	{
		stream_ = how.get().stream;
		kind_ = in.kind();
		return slabdev_buf_alloc(&buf_, in.get(), bytes, &how.get());
	}

	int put() noexcept
	{
		return stream_ ? (slabdev_buf_put_async)(buf_, stream_) :
				 slabdev_buf_put(buf_);
	}

	::slabdev_buf *buf_ = nullptr;
	slabdev_stream_t stream_ = nullptr;
	memory kind_ = memory::host;
};

} // namespace slabxx

#endif /* SLABDEV_BUFFER_HPP */
