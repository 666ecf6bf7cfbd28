/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.hpp - typed objects with one owner. Included by slabdev.hpp.
 *
 * device_ptr<T> owns one T, device_array<T> a number of them, in any space.
 * Nothing is constructed or destroyed there, so T is trivially copyable; new
 * memory has any contents unless request().zero() was asked for.
 *
 * Neither converts to a pointer, so that host code is not handed device memory
 * by mistake: raw() gives the address to kernels and drivers, host() the
 * elements to the CPU, or throws where the CPU cannot touch them.
 *
 * One that was allocated on a stream is freed in the order of that stream;
 * free_on() names another one.
 */
#ifndef SLABDEV_OBJECT_HPP
#define SLABDEV_OBJECT_HPP

#include <slabdev/space.hpp>

namespace slabxx {
namespace detail {

/* Memory, its space, and the stream of its free: null is the bound one. */
class object {
public:
	object() noexcept = default;
	object(space_ref in, void *p) noexcept
		: sd_(in.get()), p_(p), kind_(in.kind())
	{
	}
	object(const object &) = delete;
	object &operator=(const object &) = delete;
	object(object &&other) noexcept
		: sd_(other.sd_), p_(other.release()), stream_(other.stream_),
		  kind_(other.kind_)
	{
	}
	object &operator=(object &&other) noexcept
	{
		if (this != &other) {
			reset();
			sd_ = other.sd_;
			stream_ = other.stream_;
			kind_ = other.kind_;
			p_ = other.release();
		}
		return *this;
	}
	~object() { reset(); }

	explicit operator bool() const noexcept { return p_; }
	memory kind() const noexcept { return kind_; }
	space_ref space() const noexcept { return space_ref(sd_, kind_); }

	/** free_on - work in that stream uses it until it is freed */
	void free_on(on stream) noexcept { stream_ = stream.get(); }
	/** use - work in that stream uses it too, as slabdev_use() */
	void use(on stream)
	{
		check((slabdev_use)(sd_, p_, stream.get()));
	}

	/** close - free it; throws a refusal, and still owns */
	void close()
	{
		int ret = p_ ? free() : 0;

		if (is_gone(p_, ret))
			p_ = nullptr;
		check(ret);
	}

	/** reset - free it as the end of the owner does */
	void reset() noexcept
	{
		kept_errno keep;

		if (p_)
			(void)free();
		p_ = nullptr;
	}

protected:
	/* @n objects of @size bytes; 0 or a negative errno. */
	int allocate(space_ref in, std::size_t n, std::size_t size,
		     std::size_t align, const request &how) noexcept
	{
		slabdev_req req = how.get();
		std::size_t bytes;

		if (req.align < align && align > least_align)
			req.align = align;
		sd_ = in.get();
		kind_ = in.kind();
		stream_ = req.stream;
		/* The library says what is wrong with the product. */
		if (multiplied(n, size, &bytes))
			p_ = slabdev_alloc_ex(sd_, bytes, &req);
		else
			p_ = slabdev_alloc_array(sd_, n, size);
		/* For 0 bytes there is no object, and errno is 0. */
		return p_ ? 0 : -errno;
	}

	void *release() noexcept
	{
		void *p = p_;

		p_ = nullptr;
		return p;
	}

	::slabdev *sd_ = nullptr;
	void *p_ = nullptr;

private:
	int free() noexcept
	{
		return stream_ ? (slabdev_free_async)(sd_, p_, stream_) :
				 slabdev_free(sd_, p_);
	}

	slabdev_stream_t stream_ = nullptr;
	memory kind_ = memory::host;
};

} // namespace detail

/** device_ptr - one T */
template <class T> class device_ptr : public detail::object {
	static_assert(std::is_trivially_copyable_v<T>,
		      "objects in a space are bytes: nothing constructs them");

public:
	device_ptr() noexcept = default;
	/** device_ptr - allocate, or throw */
	explicit device_ptr(space_ref in, const request &how = request())
	{
		detail::check(allocate(in, 1, sizeof(T), alignof(T), how));
	}
	device_ptr(std::nothrow_t, space_ref in,
		   const request &how = request()) noexcept
	{
		detail::tell(allocate(in, 1, sizeof(T), alignof(T), how));
	}
	/** device_ptr - own @p, an object of @in, from now on */
	device_ptr(space_ref in, T *p) noexcept : object(in, p) {}

	/** raw - the address, for kernels and drivers */
	T *raw() noexcept { return static_cast<T *>(p_); }
	const T *raw() const noexcept { return static_cast<const T *>(p_); }

	device_span<T> span() noexcept { return { raw(), p_ ? 1u : 0u }; }
	device_span<const T> span() const noexcept
	{
		return { raw(), p_ ? 1u : 0u };
	}

	/** host - the T as the CPU sees it; throws ENOTSUP for memory::device,
	 *  EINVAL where there is none */
	T &host() { return slabxx::host(kind(), span())[0]; }
	const T &host() const { return slabxx::host(kind(), span())[0]; }

	/** release - the caller owns the object from now on */
	[[nodiscard]] T *release() noexcept
	{
		return static_cast<T *>(object::release());
	}
};

/** device_array - a number of T */
template <class T> class device_array : public detail::object {
	static_assert(std::is_trivially_copyable_v<T>,
		      "objects in a space are bytes: nothing constructs them");

public:
	using value_type = T;

	device_array() noexcept = default;
	/**
	 * device_array - allocate @n elements, or throw
	 *
	 * EOVERFLOW where they are more bytes than an address can count. No
	 * element takes no memory.
	 */
	device_array(space_ref in, std::size_t n,
		     const request &how = request())
	{
		detail::check(make(in, n, how));
	}
	device_array(std::nothrow_t, space_ref in, std::size_t n,
		     const request &how = request()) noexcept
	{
		detail::tell(make(in, n, how));
	}
	/** device_array - own @n elements at @p, an object of @in */
	device_array(space_ref in, T *p, std::size_t n) noexcept
		: object(in, p), size_(n)
	{
	}
	device_array(device_array &&other) noexcept
		: object(std::move(other)), size_(other.size_)
	{
		other.size_ = 0;
	}
	device_array &operator=(device_array &&other) noexcept
	{
		std::size_t size = other.size_;

		if (this != &other) {
			object::operator=(std::move(other));
			other.size_ = 0;
			size_ = size;
		}
		return *this;
	}

	std::size_t size() const noexcept { return p_ ? size_ : 0; }
	std::size_t size_bytes() const noexcept { return size() * sizeof(T); }
	bool empty() const noexcept { return !size(); }

	/** raw - the address, for kernels and drivers */
	T *raw() noexcept { return static_cast<T *>(p_); }
	const T *raw() const noexcept { return static_cast<const T *>(p_); }

	device_span<T> span() noexcept { return { raw(), size() }; }
	device_span<const T> span() const noexcept { return { raw(), size() }; }

	/** host - the elements as the CPU sees them; throws ENOTSUP for
	 *  memory::device */
	host_span<T> host() { return slabxx::host(kind(), span()); }
	host_span<const T> host() const
	{
		return slabxx::host(kind(), span());
	}

	/** release - the caller owns the object from now on */
	[[nodiscard]] T *release() noexcept
	{
		return static_cast<T *>(object::release());
	}

	template <class U = T> U &operator[](std::size_t) const
	{
		static_assert(detail::never<U>,
			      "the CPU may not be able to touch this memory: "
			      "ask for host()");
		detail::raise(ENOTSUP, "device memory");
	}

private:
	int make(space_ref in, std::size_t n, const request &how) noexcept
	{
		int ret = allocate(in, n, sizeof(T), alignof(T), how);

		size_ = n;
		return ret;
	}

	std::size_t size_ = 0;
};

} // namespace slabxx

#endif /* SLABDEV_OBJECT_HPP */
