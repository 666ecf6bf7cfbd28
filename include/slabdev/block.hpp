/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * block.hpp - descriptions of objects that can be asked whether they still
 * hold. Included by slabdev.hpp.
 *
 * A *block* owns nothing and may be copied: it has the facts of an object as
 * they were, and asks the space whether that is still the same object. The
 * space lasts longer.
 *
 *	slabxx::block seen(x);
 *	x.reset();
 *	seen.is_live()				false, as in every copy
 */
#ifndef SLABDEV_BLOCK_HPP
#define SLABDEV_BLOCK_HPP

#include <slabdev/block.h>
#include <slabdev/object.hpp>

namespace slabxx {

class block {
public:
	/** block - of a live object of @in, or throw: EINVAL, none begins
	 *  there */
	block(space_ref in, void *p) : sd_(in.get())
	{
		detail::check(slabdev_block_get(sd_, p, &facts_));
	}
	template <class T> explicit block(device_ptr<T> &object)
		: block(object.space(), object.raw())
	{
	}
	template <class T> explicit block(device_array<T> &object)
		: block(object.space(), object.raw())
	{
	}

	/** is_live - is it still the same object? Throws where the space
	 *  cannot tell */
	bool is_live() const
	{
		int ret = slabdev_block_check(sd_, &facts_);

		if (ret == -ESTALE)
			return false;
		detail::check(ret);
		return true;
	}

	/** free - free the object, or throw: EALREADY, it was freed before,
	 *  by this copy or by anything else. An owner of it finds that at its
	 *  end, which is refused */
	void free() { detail::check(slabdev_block_free(sd_, &facts_)); }

	void *raw() const noexcept { return facts_.ptr; }
	/** size_bytes - as asked for */
	std::size_t size_bytes() const noexcept { return facts_.bytes; }
	/** usable_bytes - as slabdev_usable_size() */
	std::size_t usable_bytes() const noexcept { return facts_.usable; }
	/** align - the largest power of two in the address, to 1 GiB */
	std::size_t align() const noexcept { return facts_.align; }
	/** id - a number that no other object of the space ever has */
	std::uint64_t id() const noexcept { return facts_.id; }
	memory kind() const noexcept
	{
		return static_cast<memory>(facts_.kind);
	}
	/** device - its ordinal; -1: host memory */
	int device() const noexcept { return facts_.device; }
	/** get - for calls of C */
	const slabdev_block &get() const noexcept { return facts_; }

private:
	::slabdev *sd_;
	slabdev_block facts_ = SLABDEV_BLOCK_INIT;
};

} // namespace slabxx

#endif /* SLABDEV_BLOCK_HPP */
