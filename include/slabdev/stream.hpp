/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.hpp - host queues, attached streams, and captures. Included by
 * slabdev.hpp.
 *
 * A *queue* owns a host queue. An *attachment* keeps a stream attached to a
 * space; it is to end before the stream does. A *graph* owns what a capture
 * uses: it begins with the capture, end() ends that, and its own end releases
 * the memory, when no launch is running any more. One that ends earlier, by an
 * exception for instance, ends the capture first.
 */
#ifndef SLABDEV_STREAM_HPP
#define SLABDEV_STREAM_HPP

#include <memory>
#include <utility>

#include <slabdev/space.hpp>

namespace slabxx {

/** queue - a host queue: a stream of host spaces */
class queue : public detail::owner<CUstream_st> {
public:
	/** queue - 0 or SLABDEV_QUEUE_MANUAL; or throw */
	explicit queue(unsigned int flags = 0)
	{
		detail::check(slabdev_queue_create(&it_, flags));
	}
	explicit queue(std::nothrow_t, unsigned int flags = 0) noexcept
	{
		detail::tell(slabdev_queue_create(&it_, flags));
	}

	operator on() const { return on(it_); }

	/**
	 * submit - have the queue call @work
	 *
	 * An exception that leaves @work ends the program, as in a thread.
	 */
	template <class Work> void submit(Work work)
	{
		auto job = std::make_unique<Work>(std::move(work));

		detail::check(slabdev_queue_submit(it_, run<Work>,
						   job.get()));
		/* The queue has it, and may have run it. */
		(void)job.release();
	}
	/** wait_for - what is submitted from now on comes after what @other
	 *  has */
	void wait_for(const queue &other)
	{
		detail::check(slabdev_queue_wait(it_, other.get()));
	}
	void synchronize()
	{
		detail::check(slabdev_queue_synchronize(it_));
	}

private:
	template <class Work> static void run(void *arg) noexcept
	{
		std::unique_ptr<Work> job(static_cast<Work *>(arg));

		(*job)();
	}
};

/** attachment - a stream is attached to a space until its end */
class attachment {
public:
	attachment() noexcept = default;
	/** attachment - as slabdev_stream_attach(), or throw */
	attachment(space_ref in, on stream)
	{
		detail::check(
			(slabdev_stream_attach)(in.get(), stream.get()));
		sd_ = in.get();
		stream_ = stream.get();
	}
	attachment(const attachment &) = delete;
	attachment &operator=(const attachment &) = delete;
	attachment(attachment &&other) noexcept
		: sd_(std::exchange(other.sd_, nullptr)),
		  stream_(other.stream_)
	{
	}
	attachment &operator=(attachment &&other) noexcept
	{
		if (this != &other) {
			reset();
			stream_ = other.stream_;
			sd_ = std::exchange(other.sd_, nullptr);
		}
		return *this;
	}
	~attachment() { reset(); }

	explicit operator bool() const noexcept { return sd_; }

	/** close - detach; throws a refusal, and is still attached */
	void close()
	{
		if (!sd_)
			return;
		detail::check((slabdev_stream_detach)(sd_, stream_));
		sd_ = nullptr;
	}

	/** reset - detach as the end does */
	void reset() noexcept
	{
		detail::kept_errno keep;

		if (sd_)
			(void)(slabdev_stream_detach)(sd_, stream_);
		sd_ = nullptr;
	}

private:
	::slabdev *sd_ = nullptr;
	slabdev_stream_t stream_ = nullptr;
};

/** graph - what a captured stream uses */
class graph {
public:
	graph() noexcept = default;
	/** graph - slabdev_capture_begin(), or throw */
	graph(space_ref in, on stream)
	{
		detail::check((slabdev_capture_begin)(in.get(), stream.get(),
						      &graph_));
		is_captured_ = true;
	}
	graph(const graph &) = delete;
	graph &operator=(const graph &) = delete;
	graph(graph &&other) noexcept
		: graph_(std::exchange(other.graph_, nullptr)),
		  is_captured_(other.is_captured_)
	{
	}
	graph &operator=(graph &&other) noexcept
	{
		if (this != &other) {
			reset();
			is_captured_ = other.is_captured_;
			graph_ = std::exchange(other.graph_, nullptr);
		}
		return *this;
	}
	~graph() { reset(); }

	::slabdev_graph *get() const noexcept { return graph_; }
	explicit operator bool() const noexcept { return graph_; }

	/** end - the capture is over */
	void end()
	{
		detail::check(slabdev_capture_end(graph_));
		is_captured_ = false;
	}
	/** close - release the memory; throws a refusal, and still owns */
	void close()
	{
		detail::check(slabdev_graph_release(graph_));
		graph_ = nullptr;
	}

	/** reset - end and release as the end does */
	void reset() noexcept
	{
		detail::kept_errno keep;

		if (graph_ && is_captured_)
			(void)slabdev_capture_end(graph_);
		if (graph_)
			(void)slabdev_graph_release(graph_);
		graph_ = nullptr;
	}

private:
	::slabdev_graph *graph_ = nullptr;
	bool is_captured_ = false;
};

} // namespace slabxx

#endif /* SLABDEV_STREAM_HPP */
