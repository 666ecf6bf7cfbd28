// SPDX-License-Identifier: BSD-2-Clause
/*
 * mistakes.cpp - what must not compile. With MISTAKE=0 all of it does; with
 * MISTAKE=N one line differs, and the compiler refuses that line. The suite cxx
 * compiles it, and looks for the reason in what the compiler says.
 */
#include <memory>
#include <utility>

#include <slabdev/slabdev.hpp>

using slabxx::booked_array;
using slabxx::device_array;
using slabxx::device_ptr;

extern void host_code(float *p);
extern void kernel(device_array<float> a);

/* Two owners would release the same memory twice. */
void release_twice(device_array<float> &a)
{
#if MISTAKE == 1
	device_array<float> b = a;
#else
	device_array<float> b = std::move(a);
#endif
}

void assign_twice(device_ptr<float> &a, device_ptr<float> &b)
{
#if MISTAKE == 2
	b = a;
#else
	b = std::move(a);
#endif
}

/* A space is no value. */
void copy_space(slabxx::space &a)
{
#if MISTAKE == 3
	slabxx::space b(a);
#else
	slabxx::space b(std::move(a));
#endif
}

void pass_by_value(device_array<float> &a)
{
#if MISTAKE == 4
	kernel(a);
#else
	kernel(std::move(a));
#endif
}

/* Memory that the CPU may not be able to touch. */
float read_element(slabxx::device_span<float> span)
{
#if MISTAKE == 5
	return span[0];
#else
	return span.raw()[0];
#endif
}

float read_array(device_array<float> &a)
{
#if MISTAKE == 6
	return a[0];
#else
	return a.host()[0];
#endif
}

void pass_to_host(device_array<float> &a)
{
#if MISTAKE == 7
	host_code(a);
#else
	host_code(a.host().data());
#endif
}

void pass_one_to_host(device_ptr<float> &a)
{
#if MISTAKE == 8
	host_code(a);
#else
	host_code(&a.host());
#endif
}

/* A view that the CPU did not ask for. */
void make_host_span(float *p)
{
#if MISTAKE == 9
	slabxx::host_span<float> span(p, 10);
#else
	slabxx::device_span<float> span(p, 10);
#endif
	(void)span;
}

/* Nothing would construct it, and nothing destroy it. */
void hold(const slabxx::space &s)
{
#if MISTAKE == 10
	device_ptr<std::unique_ptr<int>> p(s);
#else
	device_ptr<int *> p(s);
#endif
}

/* What was taken must go somewhere. */
void drop(device_array<float> &a)
{
#if MISTAKE == 11
	a.release();
#else
	(void)a.release();
#endif
}

void write_const(const device_array<float> &a)
{
#if MISTAKE == 12
	a.host()[0] = 1;
#else
	const_cast<device_array<float> &>(a).host()[0] = 1;
#endif
}

/* Two managers would close the same spaces, and keep one ledger. */
void copy_manager(slabxx::manager &a)
{
#if MISTAKE == 13
	slabxx::manager b(a);
#else
	slabxx::manager b(std::move(a));
#endif
}

void release_booked_twice(booked_array<float> &a)
{
#if MISTAKE == 14
	booked_array<float> b(a);
#else
	booked_array<float> b(std::move(a));
#endif
}

void assign_booked_twice(booked_array<float> &a, booked_array<float> &b)
{
#if MISTAKE == 15
	b = a;
#else
	b = std::move(a);
#endif
}

float read_booked(booked_array<float> &a)
{
#if MISTAKE == 16
	return a[0];
#else
	return a.host()[0];
#endif
}

void pass_booked_to_host(booked_array<float> &a)
{
#if MISTAKE == 17
	host_code(a);
#else
	host_code(a.host().data());
#endif
}

void drop_booked(booked_array<float> &a)
{
#if MISTAKE == 18
	a.release();
#else
	(void)a.release();
#endif
}

void free_group_twice(slabxx::group<float> &a)
{
#if MISTAKE == 19
	slabxx::group<float> b(a);
#else
	slabxx::group<float> b(std::move(a));
#endif
}

void copy_arena(slabxx::arena &a)
{
#if MISTAKE == 20
	slabxx::arena b(a);
#else
	slabxx::arena b(std::move(a));
#endif
}

/* It would be rewound to twice. */
void copy_scope(slabxx::arena_scope &a)
{
#if MISTAKE == 21
	slabxx::arena_scope b(a);
#else
	slabxx::arena_scope b(std::move(a));
#endif
}

/* A description owns nothing. */
void own_block(slabxx::block &seen, device_ptr<float> &a)
{
#if MISTAKE == 22
	device_ptr<float> b = seen;
#else
	device_ptr<float> b = std::move(a);
#endif
	(void)seen;
	(void)a;
}
