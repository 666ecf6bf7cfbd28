/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * manager.hpp - the spaces of a program under one owner, with their books.
 * Included by slabdev.hpp.
 *
 * A *manager* opens a space for each pair of a kind of memory and a device, and
 * closes all of them at its end. A pair is served as it was asked for, or
 * throws the reason:
 *
 *	slabxx::manager all("solver");
 *	slabxx::booked_array<float> x(all, slabxx::memory::host, 1000);
 *	slabxx::booked_array<float> y(all, slabxx::memory::device, 0, 1000);
 *
 * A *booked_array* owns elements that the manager gave: the peaks in the ledger
 * are exact for these. Everything else of slabdev.hpp works in space(kind,
 * device), too, and is in the other figures.
 *
 * The manager is to end after what it has given; else its end is refused, and
 * it leaks with its spaces (owner.hpp).
 */
#ifndef SLABDEV_MANAGER_HPP
#define SLABDEV_MANAGER_HPP

#include <optional>
#include <utility>

#include <slabdev/manager.h>
#include <slabdev/space.hpp>

namespace slabxx {

class manager : public detail::owner<::slabdev_manager> {
public:
	manager() noexcept = default;
	/** manager - as slabdev_manager_create(), or throw; without a space
	 *  yet. @name is for reports and slabinfo; null: "manager" */
	explicit manager(const char *name) { detail::check(make(name)); }
	manager(std::nothrow_t, const char *name) noexcept
	{
		detail::tell(make(name));
	}

	/** space - of that kind, on that device; opened the first time, with
	 *  the default attributes. It is the manager's */
	space_ref space(memory kind, int device = no_device) const
	{
		::slabdev *sd;

		detail::check(slabdev_manager_space(it_, number(kind), device,
						    &sd));
		return space_ref(sd, kind);
	}
	/** open - the same with attributes, before it is used; EEXIST it was
	 *  opened already */
	space_ref open(memory kind, int device, const slabdev_attr &attr)
	{
		::slabdev *sd;

		detail::check(slabdev_manager_open(it_, number(kind), device,
						   &attr, &sd));
		return space_ref(sd, kind);
	}

	/** ledger - of one space; ENOENT it was not opened */
	slabdev_ledger ledger(memory kind, int device = no_device) const
	{
		slabdev_ledger books = {};

		detail::check(slabdev_manager_ledger(it_, number(kind), device,
						     &books, sizeof(books)));
		return books;
	}
	/** total - of all spaces */
	slabdev_ledger total() const
	{
		slabdev_ledger books = {};

		detail::check(slabdev_manager_total(it_, &books,
						    sizeof(books)));
		return books;
	}
	void report(std::FILE *out) const
	{
		detail::check(slabdev_manager_report(it_, out));
	}

	/** no_device - that of memory::host */
	static constexpr int no_device = SLABDEV_NO_DEVICE;

private:
	static std::uint32_t number(memory kind) noexcept
	{
		return static_cast<std::uint32_t>(kind);
	}

	int make(const char *name) noexcept
	{
		slabdev_manager_attr attr = SLABDEV_MANAGER_ATTR_INIT;

		attr.name = name;
		return slabdev_manager_create(&it_, &attr);
	}
};

/** efficiency - of the peak, what is in use: 0 to 1; nothing before the first
 *  allocation */
inline std::optional<double> efficiency(const slabdev_ledger &books) noexcept
{
	double part;

	if (slabdev_ledger_efficiency(&books, &part))
		return std::nullopt;
	return part;
}

/** booked_array - a number of T that a manager gave */
template <class T> class booked_array {
	static_assert(std::is_trivially_copyable_v<T>,
		      "objects in a space are bytes: nothing constructs them");

public:
	using value_type = T;

	booked_array() noexcept = default;
	/** booked_array - @n elements of that memory on that device, or throw;
	 *  EINVAL where @n is 0, EOVERFLOW where no address can count them.
	 *  @align of 0 is 256, and never less than that of T */
	booked_array(const manager &in, memory kind, int device, std::size_t n,
		     std::size_t align = 0)
	{
		detail::check(make(in, kind, device, n, align));
	}
	/* In host memory, which is of no device. */
	booked_array(const manager &in, memory kind, std::size_t n)
		: booked_array(in, kind, manager::no_device, n)
	{
	}
	booked_array(std::nothrow_t, const manager &in, memory kind,
		     int device, std::size_t n, std::size_t align = 0) noexcept
	{
		detail::tell(make(in, kind, device, n, align));
	}
	booked_array(const booked_array &) = delete;
	booked_array &operator=(const booked_array &) = delete;
	booked_array(booked_array &&other) noexcept
		: from_(other.from_), size_(other.size_), kind_(other.kind_),
		  p_(other.release())
	{
	}
	booked_array &operator=(booked_array &&other) noexcept
	{
		if (this != &other) {
			reset();
			from_ = other.from_;
			size_ = other.size_;
			kind_ = other.kind_;
			p_ = other.release();
		}
		return *this;
	}
	~booked_array() { reset(); }

	explicit operator bool() const noexcept { return p_; }
	memory kind() const noexcept { return kind_; }
	std::size_t size() const noexcept { return p_ ? size_ : 0; }
	std::size_t size_bytes() const noexcept { return size() * sizeof(T); }

	/** raw - the address, for kernels and drivers */
	T *raw() noexcept { return p_; }
	const T *raw() const noexcept { return p_; }

	device_span<T> span() noexcept { return { p_, size() }; }
	device_span<const T> span() const noexcept { return { p_, size() }; }
	/** host - the elements as the CPU sees them; throws ENOTSUP for
	 *  memory::device */
	host_span<T> host() { return slabxx::host(kind_, span()); }
	host_span<const T> host() const { return slabxx::host(kind_, span()); }

	/** release - the caller frees it, by slabdev_manager_free() */
	[[nodiscard]] T *release() noexcept
	{
		return std::exchange(p_, nullptr);
	}

	/** close - free it; throws a refusal, and still owns */
	void close()
	{
		int ret = p_ ? slabdev_manager_free(from_, p_) : 0;

		if (detail::is_gone(p_, ret))
			p_ = nullptr;
		detail::check(ret);
	}

	/** reset - free it as the end of the owner does */
	void reset() noexcept
	{
		detail::kept_errno keep;

		if (p_)
			(void)slabdev_manager_free(from_, release());
	}

	template <class U = T> U &operator[](std::size_t) const
	{
		static_assert(detail::never<U>,
			      "the CPU may not be able to touch this memory: "
			      "ask for host()");
		detail::raise(ENOTSUP, "device memory");
	}

private:
	int make(const manager &in, memory kind, int device, std::size_t n,
		 std::size_t align) noexcept
	{
		std::size_t bytes;

		/* More than there is of any memory; the library says so. */
		if (!detail::multiplied(n, sizeof(T), &bytes))
			bytes = SIZE_MAX;
		if (alignof(T) > detail::least_align && align < alignof(T))
			align = alignof(T);
		from_ = in.get();
		size_ = n;
		kind_ = kind;
		p_ = static_cast<T *>(slabdev_manager_alloc(
			from_, static_cast<std::uint32_t>(kind), device, bytes,
			align));
		return p_ ? 0 : -errno;
	}

	::slabdev_manager *from_ = nullptr;
	std::size_t size_ = 0;
	memory kind_ = memory::host;
	T *p_ = nullptr;
};

} // namespace slabxx

#endif /* SLABDEV_MANAGER_HPP */
