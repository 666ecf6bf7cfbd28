// SPDX-License-Identifier: BSD-2-Clause
/*
 * cxx.cpp - a sparse system of equations in blocks, solved by conjugate
 * gradients: cxx [SPEC]. The memory is "host" unless SPEC says otherwise; it
 * has to be some that the CPU can touch.
 *
 * Each kind of memory in it has the owner that fits: the blocks of the matrix,
 * which are many and small, are one group; vectors of one solution lie in an
 * arena, and go with its scope; the solution is a buffer, which the caller gets
 * a view of; how it went is a vector of the standard library.
 *
 * Nothing here is freed by name, and every way out of main() frees all of it.
 */
#include <cmath>
#include <cstdio>

#include <slabdev/slabdev.hpp>

using vector = slabxx::host_span<double>;

/* Block row i couples part i of a vector to itself and to part i + 1. */
class matrix {
public:
	matrix(slabxx::space_ref in, std::size_t parts)
		: blocks_(in, shape(parts)), size_(0)
	{
		for (std::size_t i = 0; i < parts; i++) {
			fill(blocks_.host(2 * i), part(i), part(i));
			if (i + 1 < parts)
				fill(blocks_.host(2 * i + 1), part(i),
				     part(i + 1));
			size_ += part(i);
		}
	}

	std::size_t size() const { return size_; }
	std::size_t blocks() const { return blocks_.size(); }
	std::size_t bytes() const { return blocks_.size_bytes(); }

	/* y = A x */
	void apply(vector x, vector y)
	{
		std::size_t parts = (blocks_.size() + 1) / 2, at = 0;

		for (double &v : y)
			v = 0;
		for (std::size_t i = 0; i < parts; i++) {
			std::size_t next = at + part(i);

			multiply(blocks_.host(2 * i), x, at, part(i), y, at,
				 part(i), false);
			if (i + 1 < parts) {
				vector c = blocks_.host(2 * i + 1);

				multiply(c, x, next, part(i + 1), y, at,
					 part(i), false);
				multiply(c, x, at, part(i), y, next,
					 part(i + 1), true);
			}
			at = next;
		}
	}

private:
	/* Blocks of symmetry sectors differ in size. */
	static std::size_t part(std::size_t i) { return 4 + i * 7 % 29; }

	static std::vector<std::size_t> shape(std::size_t parts)
	{
		std::vector<std::size_t> counts;

		for (std::size_t i = 0; i < parts; i++) {
			counts.push_back(part(i) * part(i));
			if (i + 1 < parts)
				counts.push_back(part(i) * part(i + 1));
		}
		return counts;
	}

	/* Symmetric, and of a dominant diagonal where the block has one. */
	static void fill(vector block, std::size_t rows, std::size_t cols)
	{
		for (std::size_t r = 0; r < rows; r++)
			for (std::size_t c = 0; c < cols; c++)
				block[r * cols + c] =
					rows == cols && r == c ? 4 :
					-1 / static_cast<double>(rows + cols);
	}

	static void multiply(vector a, vector x, std::size_t from,
			     std::size_t cols, vector y, std::size_t to,
			     std::size_t rows, bool transposed)
	{
		for (std::size_t r = 0; r < rows; r++)
			for (std::size_t c = 0; c < cols; c++)
				y[to + r] += x[from + c] *
					(transposed ? a[c * rows + r] :
						      a[r * cols + c]);
	}

	slabxx::group<double> blocks_;
	std::size_t size_;
};

static double dot(vector x, vector y)
{
	double sum = 0;

	for (std::size_t i = 0; i < x.size(); i++)
		sum += x[i] * y[i];
	return sum;
}

/* y += factor x */
static void add(vector y, double factor, vector x)
{
	for (std::size_t i = 0; i < y.size(); i++)
		y[i] += factor * x[i];
}

/* A x = b; @norms gets the norm of each residual. */
static slabxx::buffer solve(slabxx::space_ref in, slabxx::arena &temporary,
			    matrix &a, vector b,
			    std::pmr::vector<double> &norms)
{
	slabxx::buffer solution = slabxx::buffer::of<double>(
		in, a.size(), slabxx::request().zero());
	slabxx::arena_scope scope(temporary);
	auto make = [&] {
		return temporary.host(temporary.alloc<double>(a.size()));
	};
	vector x = solution.host<double>(), r = make(), p = make(), q = make();

	for (std::size_t i = 0; i < a.size(); i++)
		p[i] = r[i] = b[i];
	for (double old = dot(r, r); std::sqrt(old) > 1e-10;) {
		a.apply(p, q);
		double step = old / dot(p, q);

		add(x, step, p);
		add(r, -step, q);
		double now = dot(r, r);

		for (std::size_t i = 0; i < a.size(); i++)
			p[i] = r[i] + now / old * p[i];
		old = now;
		norms.push_back(std::sqrt(now));
		if (norms.size() == 1000)
			throw std::runtime_error("it does not converge");
	}
	return solution;
}

static void run(const char *spec)
{
	slabxx::space space(spec);
	slabxx::memory_resource resource(space);
	slabxx::arena temporary(space);
	matrix a(space, 100);
	slabxx::device_array<double> ones(space, a.size()), b(space, a.size());
	std::pmr::vector<double> norms(&resource);
	slabxx::buffer head;

	for (double &v : ones.host())
		v = 1;
	a.apply(ones.host(), b.host());
	/* The solution ends here; the part of it that is wanted keeps it. */
	head = solve(space, temporary, a, b.host(), norms)
		       .view_of<double>(0, 10);
	for (double v : head.host<double>())
		if (std::fabs(v - 1) > 1e-9)
			throw std::runtime_error("the solution is wrong");
	std::printf("%zu equations, %zu blocks in 1 allocation of %zu bytes\n",
		    a.size(), a.blocks(), a.bytes());
	std::printf("solved in %zu steps, %llu objects live\n", norms.size(),
		    static_cast<unsigned long long>(
			    space.stats().live_objects));
}

int main(int argc, char **argv)
{
	try {
		run(argc > 1 ? argv[1] : "host");
	} catch (const std::exception &e) {
		std::fprintf(stderr, "cxx: %s\n", e.what());
		return 1;
	}
	return 0;
}
