/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * share.hpp - objects that other processes use, too. Included by slabdev.hpp.
 *
 * An *exported* keeps an object exported; it is to end before the object is
 * freed, and closes the descriptor. An *imported* owns a mapping of what
 * another process has exported.
 */
#ifndef SLABDEV_SHARE_HPP
#define SLABDEV_SHARE_HPP

#include <utility>

#include <slabdev/object.hpp>
#include <slabdev/share.h>

namespace slabxx {

/** exported - an object that others may import until its end */
class exported {
public:
	exported() noexcept = default;
	/** exported - an object of @in, or throw */
	exported(space_ref in, void *p)
	{
		detail::check(slabdev_export(in.get(), p, &share_));
		sd_ = in.get();
		p_ = p;
	}
	template <class T> explicit exported(device_ptr<T> &object)
		: exported(object.space(), object.raw())
	{
	}
	template <class T> explicit exported(device_array<T> &object)
		: exported(object.space(), object.raw())
	{
	}
	exported(const exported &) = delete;
	exported &operator=(const exported &) = delete;
	exported(exported &&other) noexcept
		: sd_(std::exchange(other.sd_, nullptr)), p_(other.p_),
		  share_(other.share_)
	{
	}
	exported &operator=(exported &&other) noexcept
	{
		if (this != &other) {
			reset();
			p_ = other.p_;
			share_ = other.share_;
			sd_ = std::exchange(other.sd_, nullptr);
		}
		return *this;
	}
	~exported() { reset(); }

	explicit operator bool() const noexcept { return sd_; }
	/** get - what slabdev_share_send() takes */
	const slabdev_share &get() const noexcept { return share_; }

	/** reset - end the export, as the end does */
	void reset() noexcept
	{
		detail::kept_errno keep;

		if (sd_)
			(void)slabdev_export_end(sd_, p_, &share_);
		sd_ = nullptr;
	}

private:
	::slabdev *sd_ = nullptr;
	void *p_ = nullptr;
	slabdev_share share_ = SLABDEV_SHARE_INIT;
};

/** imported - what another process has exported */
class imported : public detail::owner<struct ::slabdev_import> {
public:
	/** imported - for the device that has it, or for @spec; or throw */
	explicit imported(const slabdev_share &share,
			  const char *spec = nullptr)
		: kind_(share.kind == SLABDEV_SHARE_HOST ? memory::host :
							   memory::device)
	{
		detail::check(slabdev_import(&it_, spec, &share));
	}

	void *raw() const noexcept
	{
		return it_ ? slabdev_import_ptr(it_) : nullptr;
	}
	std::size_t size_bytes() const noexcept
	{
		return it_ ? slabdev_import_size(it_) : 0;
	}
	memory kind() const noexcept { return kind_; }

	/** span - all of it as T; what is behind the last whole one is left
	 *  out */
	template <class T> device_span<T> span() const noexcept
	{
		return { static_cast<T *>(raw()), size_bytes() / sizeof(T) };
	}
	/** host - the same as the CPU sees it; ENOTSUP for memory::device */
	template <class T> host_span<T> host() const
	{
		return slabxx::host(kind_, span<T>());
	}

private:
	memory kind_;
};

} // namespace slabxx

#endif /* SLABDEV_SHARE_HPP */
