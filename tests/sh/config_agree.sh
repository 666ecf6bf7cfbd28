#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: each complete configuration in configs/ is what both kconfig tools make
# of the minimal one beside it. Method: let each tool make it, and compare the
# values. A failure most likely means that a Kconfig file changed and "make
# updateconfigs" was not run.

. "$(dirname "$0")/common"

values()
{
	grep -E '^(CONFIG_|# CONFIG_.* is not set)' "$1" | sort
}

compare_with()
{
	values made >made.values
	values "configs/$2.config" >checked-in.values
	diff checked-in.values made.values >difference || {
		cat difference
		fail "configs/$2.config is not what $1 makes"
	}
	rm -f made
}

cp -r "$SRCTREE/configs" .
for folder in . core vmm slab tests; do
	mkdir -p "$folder"
	cp "$SRCTREE/$folder/Kconfig" "$folder/Kconfig"
done

tools=
for minimal in configs/*defconfig; do
	name=$(basename "$minimal" | sed 's/_*defconfig$//')
	name=${name:-default}
	if command -v kconfig-conf >/dev/null 2>&1; then
		tools="$tools kconfig-frontends"
		KCONFIG_CONFIG=made kconfig-conf --defconfig="$minimal" \
			Kconfig >output 2>&1 || fail "$(cat output)"
		! grep -i warning output || fail "kconfig-frontends warns"
		compare_with kconfig-frontends "$name"
	fi
	if /usr/bin/python3 -c 'import kconfiglib' 2>/dev/null; then
		tools="$tools kconfiglib"
		KCONFIG_CONFIG=made /usr/bin/python3 -m defconfig "$minimal" \
			>output 2>&1 || fail "$(cat output)"
		! grep -i warning output || fail "kconfiglib warns"
		compare_with kconfiglib "$name"
	fi
done
[ -n "$tools" ] ||
	skip "neither kconfig-frontends nor python3-kconfiglib is installed"
