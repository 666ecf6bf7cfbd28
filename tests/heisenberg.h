/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heisenberg.h - the Heisenberg chain solved exactly, to test against
 */
#ifndef TESTS_HEISENBERG_H
#define TESTS_HEISENBERG_H

#define HEISENBERG_SITES_MAX 12

/*
 * heisenberg_energy - the lowest energy of the open chain of @sites sites with
 * the smallest total S^z, to about 1e-12; NAN when memory is short or @sites
 * is out of range
 */
double heisenberg_energy(int sites);

#endif /* TESTS_HEISENBERG_H */
