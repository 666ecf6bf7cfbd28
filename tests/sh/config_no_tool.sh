#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: on a machine without any kconfig tool the defconfigs and a build work,
# and the goals that need a tool name its package. Method: a PATH that has the
# compiler and POSIX tools only.

. "$(dirname "$0")/common"

mkdir bin
for tool in sh make gcc ar as ld awk cat cmp cp dirname env grep ln mkdir mv \
	objcopy rm sed; do
	ln -s "$(command -v "$tool")" "bin/$tool"
done

without()
{
	run env PATH="$dir/bin" KCONFIG_TOOL="$tool" make -s -C "$SRCTREE" \
		O="$dir/build" CFLAGS=-O0 "$@"
}

tool=none
for name in tiny debug cuda; do
	without "${name}_defconfig"
	must_pass "$name"
	cmp "$SRCTREE/configs/$name.config" build/.config ||
		fail "$name: not the configuration that is checked in"
done
without tiny_defconfig lib
must_pass "a build"
[ -f build/libslabdev.so.0 ] || fail "no library"

cp build/.config before
for goal in menuconfig nconfig oldconfig olddefconfig savedefconfig \
	randconfig; do
	for tool in none frontends; do
		without "$goal"
		must_fail "$goal"
		must_say "make $goal: "
		must_say kconfig-frontends-nox
	done
done
cmp build/.config before || fail ".config was changed"

tool=none
sed -i '/VMM_FAULT/d' build/.config
without lib
must_fail "an incomplete .config"
must_say 'CONFIG_VMM_FAULT: missing'
