/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.hpp - many blocks in one allocation. Included by slabdev.hpp.
 *
 * A *group<T>* has blocks of T, of the lengths that it was made with, in one
 * buffer: raw() and size_bytes() are one message, [i] is block number i, and
 * stride() one batched product where the lengths allow it. On the host it keeps
 * a pointer and a length for each block.
 */
#ifndef SLABDEV_GROUP_HPP
#define SLABDEV_GROUP_HPP

#include <iterator>
#include <memory>
#include <utility>

#include <slabdev/space.hpp>

namespace slabxx {

template <class T> class group {
	static_assert(std::is_trivially_copyable_v<T>,
		      "blocks are bytes: nothing constructs them");

public:
	group() noexcept = default;
	/**
	 * group - one buffer for @n blocks of counts[i] T, or throw;
	 * std::bad_alloc where the host has no memory for the table
	 *
	 * Each block at @how's alignment, that of slabdev_group_alloc() where
	 * it has none; on(stream) is free_on(), too.
	 */
	group(space_ref in, const std::size_t *counts, std::size_t n,
	      const request &how = request())
	{
		if (counts && n <= detail::most_blocks) {
			ptrs_ = std::make_unique<void *[]>(n);
			bytes_ = std::make_unique<std::size_t[]>(n);
		}
		detail::check(make(in, counts, n, how));
	}
	/* The same of anything with data() and size(). */
	template <class Counts, class = decltype(std::data(
					std::declval<const Counts &>()))>
	group(space_ref in, const Counts &counts,
	      const request &how = request())
		: group(in, std::data(counts), std::size(counts), how)
	{
	}
	group(std::nothrow_t, space_ref in, const std::size_t *counts,
	      std::size_t n, const request &how = request()) noexcept
	{
		if (counts && n <= detail::most_blocks) {
			ptrs_.reset(new (std::nothrow) void *[n]);
			bytes_.reset(new (std::nothrow) std::size_t[n]);
			if (!ptrs_ || !bytes_) {
				errno = ENOMEM;
				return;
			}
		}
		detail::tell(make(in, counts, n, how));
	}
	group(const group &) = delete;
	group &operator=(const group &) = delete;
	group(group &&other) noexcept
		: group_(other.release()), n_(std::exchange(other.n_, 0)),
		  ptrs_(std::move(other.ptrs_)),
		  bytes_(std::move(other.bytes_)), stream_(other.stream_),
		  kind_(other.kind_)
	{
	}
	group &operator=(group &&other) noexcept
	{
		if (this != &other) {
			reset();
			n_ = std::exchange(other.n_, 0);
			ptrs_ = std::move(other.ptrs_);
			bytes_ = std::move(other.bytes_);
			stream_ = other.stream_;
			kind_ = other.kind_;
			group_ = other.release();
		}
		return *this;
	}
	~group() { reset(); }

	::slabdev_group *get() const noexcept { return group_; }
	explicit operator bool() const noexcept { return group_; }
	memory kind() const noexcept { return kind_; }

	/** size - blocks */
	std::size_t size() const noexcept { return group_ ? n_ : 0; }
	/** raw - where the buffer begins; null when empty */
	T *raw() noexcept { return base(); }
	const T *raw() const noexcept { return base(); }
	/** size_bytes - from there to the end of the last block */
	std::size_t size_bytes() const noexcept
	{
		return group_ ? slabdev_group_size(group_) : 0;
	}
	/** stride - bytes from each block to the next, 0 where they differ */
	std::size_t stride() const noexcept
	{
		return group_ ? slabdev_group_stride(group_) : 0;
	}

	/* Block number @i; EINVAL where there is none. */
	device_span<T> operator[](std::size_t i) { return block(i); }
	device_span<const T> operator[](std::size_t i) const
	{
		return block(i);
	}
	/** host - block number @i as the CPU sees it; ENOTSUP for
	 *  memory::device */
	host_span<T> host(std::size_t i)
	{
		return slabxx::host(kind_, block(i));
	}
	/** pointers - of the blocks, as batched calls take them */
	void *const *pointers() const noexcept { return ptrs_.get(); }

	/** free_on - work in that stream uses it until it is freed */
	void free_on(on stream) noexcept { stream_ = stream.get(); }

	/** release - the caller owns it from now on */
	[[nodiscard]] ::slabdev_group *release() noexcept
	{
		return std::exchange(group_, nullptr);
	}

	/** close - free it; throws a refusal, and still owns */
	void close()
	{
		int ret = group_ ? free() : 0;

		if (detail::is_gone(group_, ret))
			group_ = nullptr;
		detail::check(ret);
	}

	/** reset - free it as the end of the owner does */
	void reset() noexcept
	{
		detail::kept_errno keep;

		if (group_)
			(void)free();
		group_ = nullptr;
	}

private:
	int make(space_ref in, const std::size_t *counts, std::size_t n,
		 const request &how) noexcept
	{
		slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
		slabdev_req req = how.get();

		/* The library says what is wrong: too many blocks, or a sum
		 * that no address can count. */
		for (std::size_t i = 0; bytes_ && i < n; i++)
			if (!detail::multiplied(counts[i], sizeof(T),
						&bytes_[i]))
				bytes_[i] = SIZE_MAX;
		n_ = n;
		kind_ = in.kind();
		stream_ = req.stream;
		attr.align = req.align;
		if (attr.align ? attr.align < alignof(T) :
				 alignof(T) > detail::least_align)
			attr.align = alignof(T);
		req.align = 0;
		attr.req = &req;
		return slabdev_group_alloc_ex(&group_, in.get(),
					      bytes_ ? bytes_.get() : counts,
					      n, ptrs_.get(), &attr);
	}

	device_span<T> block(std::size_t i) const
	{
		detail::check_cut(i, 1, size());
		return { static_cast<T *>(ptrs_[i]), bytes_[i] / sizeof(T) };
	}
	T *base() const noexcept
	{
		return group_ ? static_cast<T *>(slabdev_group_base(group_)) :
				nullptr;
	}
	int free() noexcept
	{
		return stream_ ? (slabdev_group_free_async)(group_, stream_) :
				 slabdev_group_free(group_);
	}

	::slabdev_group *group_ = nullptr;
	std::size_t n_ = 0;
	std::unique_ptr<void *[]> ptrs_;
	std::unique_ptr<std::size_t[]> bytes_;
	slabdev_stream_t stream_ = nullptr;
	memory kind_ = memory::host;
};

} // namespace slabxx

#endif /* SLABDEV_GROUP_HPP */
