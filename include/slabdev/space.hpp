/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.hpp - memory spaces, and how something is asked of one. Included by
 * slabdev.hpp.
 *
 * A *space* owns what slabdev_open() gives. Everything that is made in one
 * takes a *space_ref*, which a space converts to: the pointer, and what kind of
 * memory it is. A space that C opened is used by a space_ref, too.
 *
 * What is in a space is to go before the space. Where it does not, the space
 * stays open when its owner ends, and leaks: what is live in it is as good as
 * before, and its own end frees it, but the space is closed by nobody. A report
 * lists what was live; slabdev_last_error() has this and any other reason.
 */
#ifndef SLABDEV_SPACE_HPP
#define SLABDEV_SPACE_HPP

#include <cstring>

#include <slabdev/owner.hpp>
#include <slabdev/span.hpp>

namespace slabxx {

/** space_ref - a space that somebody else keeps open */
class space_ref {
public:
	constexpr space_ref(::slabdev *sd, memory kind) noexcept
		: sd_(sd), kind_(kind)
	{
	}

	constexpr ::slabdev *get() const noexcept { return sd_; }
	constexpr memory kind() const noexcept { return kind_; }
	constexpr bool is_host_visible() const noexcept
	{
		return slabxx::is_host_visible(kind_);
	}

private:
	::slabdev *sd_;
	memory kind_;
};

/** space - an open space, closed at its end */
class space : public detail::owner<::slabdev> {
public:
	/** space - open what @spec says, as slabdev_open() does, or throw */
	explicit space(const char *spec, const slabdev_attr &attr = defaults())
	{
		detail::check(open(spec, attr));
	}
	explicit space(std::nothrow_t, const char *spec,
		       const slabdev_attr &attr = defaults()) noexcept
	{
		detail::tell(open(spec, attr));
	}

	operator space_ref() const noexcept
	{
		return space_ref(it_, kind_);
	}
	memory kind() const noexcept { return kind_; }
	bool is_host_visible() const noexcept
	{
		return slabxx::is_host_visible(kind_);
	}

	void set_policy(const slabdev_policy &policy)
	{
		detail::check(slabdev_set_policy(it_, &policy));
	}
	void trim(std::uint64_t keep_bytes = 0)
	{
		detail::check(slabdev_trim(it_, keep_bytes));
	}
	void prime(std::uint64_t bytes)
	{
		detail::check(slabdev_prime(it_, bytes));
	}
	void poll() { detail::check(slabdev_poll(it_)); }
	void validate() const { detail::check(slabdev_validate(it_)); }
	struct slabdev_stats stats() const
	{
		struct slabdev_stats st = {};

		detail::check(slabdev_stats(it_, &st, sizeof(st)));
		return st;
	}

	static slabdev_attr defaults() noexcept
	{
		slabdev_attr attr = SLABDEV_ATTR_INIT;

		return attr;
	}

private:
	/* What was opened is what was asked for: there is no other choice. */
	int open(const char *spec, const slabdev_attr &attr) noexcept
	{
		int ret = slabdev_open(&it_, spec, &attr);

		if (!ret)
			kind_ = kind_of(spec);
		return ret;
	}

	static memory kind_of(const char *spec) noexcept
	{
		if (!std::strncmp(spec, "cuda:", 5))
			return memory::device;
		if (!std::strncmp(spec, "cuda-host:", 10))
			return memory::pinned;
		if (!std::strncmp(spec, "cuda-managed:", 13))
			return memory::managed;
		return memory::host;
	}

	memory kind_ = memory::host;
};

/**
 * on - the stream whose work uses what is asked for
 *
 * What is allocated on a stream is freed on it, too: memory waits for what is
 * in the stream then. A null stream is refused (EINVAL), since it means one
 * thing or another as the source file is compiled: SLABDEV_STREAM_LEGACY and
 * SLABDEV_STREAM_PER_THREAD say which. Without a stream it is the bound one of
 * the space.
 */
class on {
public:
	explicit on(slabdev_stream_t stream) : stream_(stream)
	{
		if (!stream)
			detail::raise(EINVAL, "a null stream: say "
				      "SLABDEV_STREAM_LEGACY or "
				      "SLABDEV_STREAM_PER_THREAD");
	}

	slabdev_stream_t get() const noexcept { return stream_; }

private:
	slabdev_stream_t stream_;
};

/**
 * request - the details of an allocation, struct slabdev_req
 *
 * request().zero().align(4096).on(stream); on(stream) alone is one as well.
 */
class request {
public:
	request() noexcept = default;
	request(slabxx::on stream) noexcept { on(stream); }

	request &on(slabxx::on stream) noexcept
	{
		req_.stream = stream.get();
		return *this;
	}
	request &on(slabdev_stream_t stream)
	{
		return on(slabxx::on(stream));
	}
	/* A power of two up to 1 GiB; less than alignof(T) is that. */
	request &align(std::size_t bytes) noexcept
	{
		req_.align = bytes;
		return *this;
	}
	request &tag(std::uint64_t mark) noexcept
	{
		req_.tag = mark;
		return *this;
	}
	/* Zeroed. */
	request &zero() noexcept { return flag(SLABDEV_REQ_ZERO); }
	/* Only memory that is mapped already. */
	request &no_grow() noexcept { return flag(SLABDEV_REQ_NO_GROW); }
	/* Without a report when there is none. */
	request &no_report() noexcept { return flag(SLABDEV_REQ_NO_REPORT); }
	/* Comm memory, see comm.h. */
	request &comm() noexcept { return flag(SLABDEV_REQ_COMM); }

	const slabdev_req &get() const noexcept { return req_; }

private:
	request &flag(std::uint32_t flag) noexcept
	{
		req_.flags |= flag;
		return *this;
	}

	slabdev_req req_ = SLABDEV_REQ_INIT;
};

} // namespace slabxx

#endif /* SLABDEV_SPACE_HPP */
