#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: a sample whose package is missing is named, and everything else is
# built. Method: a pkg-config that finds nothing.

. "$(dirname "$0")/common"

export PKG_CONFIG_LIBDIR="$dir/nowhere" PKG_CONFIG_PATH=
run_build -j2 tiny_defconfig lib samples
must_pass "a build without OpenBLAS"
must_say "samples/dmrg: not built: Debian package libopenblas-dev is missing"
[ -x build/samples/hello/hello ] || fail "samples/hello was not built"
[ ! -e build/samples/dmrg/dmrg ] || fail "samples/dmrg was built"
