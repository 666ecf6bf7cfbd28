/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * owner.hpp - one owner for each thing that C has a pointer for. Included by
 * slabdev.hpp.
 *
 * An owner is moved and not copied, so that what it owns is given back once: a
 * second release does not compile. It is empty when it was moved from, released
 * or closed, and gives back at its end what it has then.
 *
 * - The end of an owner has nobody to tell. What is refused there (the put of a
 *   buffer that is exported, the close of a space in which something is live)
 *   changes nothing, slabdev_last_error() has the reason, and what was owned
 *   leaks: it is as good as before, and nobody gives it back. reset() and an
 *   assignment do the same.
 * - close() throws the refusal, and the owner still owns. When nothing is there
 *   any more (EALREADY: C has given it back) it throws that, and is empty.
 * - release() hands the pointer over, to C for instance; get() lends it.
 */
#ifndef SLABDEV_OWNER_HPP
#define SLABDEV_OWNER_HPP

#include <slabdev/arena.h>
#include <slabdev/error.hpp>
#include <slabdev/group.h>
#include <slabdev/manager.h>

namespace slabxx {
namespace detail {

inline int end_of(::slabdev *sd) noexcept
{
	return slabdev_close(sd, 0);
}

inline int end_of(::slabdev_manager *manager) noexcept
{
	return slabdev_manager_destroy(manager, 0);
}

inline int end_of(::slabdev_cache *cache) noexcept
{
	return slabdev_cache_destroy(cache);
}

inline int end_of(::slabdev_arena *arena) noexcept
{
	return slabdev_arena_destroy(arena);
}

inline int end_of(struct ::slabdev_import *import) noexcept
{
	return slabdev_import_close(import);
}

inline int end_of(slabdev_stream_t queue) noexcept
{
	return slabdev_queue_destroy(queue);
}

/* Is nothing there any more? Else it was refused, and is what it was. */
inline bool is_gone(const void *, int ret) noexcept
{
	return ret >= 0 || ret == -EALREADY;
}

/* It goes in steps, and of some memory the driver has lost (EIO). */
inline bool is_gone(const ::slabdev_arena *, int ret) noexcept
{
	return ret >= 0 || ret == -EALREADY || ret == -EIO;
}

/* The same. */
inline bool is_gone(const ::slabdev_manager *, int ret) noexcept
{
	return ret >= 0 || ret == -EALREADY || ret == -EIO;
}

/* The same. EINVAL: it is not open, as C has closed it; the next space may get
 * its address, so the pointer is not kept. */
inline bool is_gone(const ::slabdev *, int ret) noexcept
{
	return ret >= 0 || ret == -EINVAL || ret == -EIO;
}

/* EINVAL: it is no queue, as C has destroyed it. */
inline bool is_gone(const CUstream_st *, int ret) noexcept
{
	return ret >= 0 || ret == -EINVAL;
}

template <class C> class owner {
public:
	owner() noexcept = default;
	explicit owner(C *it) noexcept : it_(it) {}
	owner(const owner &) = delete;
	owner &operator=(const owner &) = delete;
	owner(owner &&other) noexcept : it_(other.release()) {}
	owner &operator=(owner &&other) noexcept
	{
		if (this != &other) {
			reset();
			it_ = other.release();
		}
		return *this;
	}
	~owner() { reset(); }

	/** get - the pointer, for calls of C */
	C *get() const noexcept { return it_; }
	explicit operator bool() const noexcept { return it_; }

	/** release - the caller owns it from now on */
	[[nodiscard]] C *release() noexcept
	{
		C *it = it_;

		it_ = nullptr;
		return it;
	}

	/** close - give it back; throws a refusal, and still owns */
	void close()
	{
		int ret = it_ ? end_of(it_) : 0;

		if (is_gone(it_, ret))
			it_ = nullptr;
		check(ret);
	}

	/** reset - give it back as the end of the owner does */
	void reset() noexcept
	{
		kept_errno keep;

		if (it_)
			(void)end_of(release());
	}

protected:
	C *it_ = nullptr;
};

} // namespace detail
} // namespace slabxx

#endif /* SLABDEV_OWNER_HPP */
