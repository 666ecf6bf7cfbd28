#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: a value in .config that cannot be had is an error that names the
# symbol, whichever tool is there, and .config stays as it was. Method: a small
# tree of Kconfig with every kind of symbol, one bad .config after another.

. "$(dirname "$0")/common"

cat >Kconfig <<'EOF'
mainmenu "fixture"

config BASE
	bool "base"
	default y

config NEEDS_BASE
	bool "needs the base"
	depends on BASE
	default y

choice
	prompt "colour"
	default RED

config RED
	bool "red"

config GREEN
	bool "green"
	depends on BASE

endchoice

config COUNT
	int "count"
	range 0 10
	default 5
	help
	  A help text that says
	  config NOT_A_SYMBOL

config MASK
	hex "mask"
	default 0xff

config NAME
	string "name"
	default "x"

if BASE && (RED || COUNT = 3)

config DEEP
	bool "deep"
	default n

endif
EOF

good='CONFIG_BASE=y
CONFIG_NEEDS_BASE=y
CONFIG_RED=y
# CONFIG_GREEN is not set
CONFIG_COUNT=5
CONFIG_MASK=0xff
CONFIG_NAME="x"
# CONFIG_DEEP is not set'

# sync_with TOOL SED-SCRIPT: sync on the good configuration, edited. A script
# that begins with + is a line to add.
sync_with()
{
	case $2 in
	+*) printf '%s\n%s\n' "$good" "${2#+}" >.config ;;
	*) echo "$good" | sed "$2" >.config ;;
	esac
	cp .config before
	run env KCONFIG_TOOL="$1" sh "$SRCTREE/scripts/kconfig/sync" .config \
		auto.conf autoconf.h
}

# refuses SYMBOL TEXT SED-SCRIPT
refuses()
{
	sync_with "$tool" "$3"
	must_fail "$tool: $3"
	must_say "$1"
	must_say "$2"
	cmp .config before || fail "$tool: $3: .config was changed"
}

refuses_all()
{
	refuses CONFIG_TYPO 'unknown symbol' '+CONFIG_TYPO=y'
	refuses CONFIG_NOT_A_SYMBOL 'unknown' '+CONFIG_NOT_A_SYMBOL=y'
	refuses CONFIG_COUNT 'outside 0 .. 10' 's/COUNT=5/COUNT=99/'
	refuses CONFIG_COUNT 'no decimal number' 's/COUNT=5/COUNT=many/'
	refuses CONFIG_COUNT 'no decimal number' 's/COUNT=5/COUNT=007/'
	refuses CONFIG_COUNT 'no decimal number' 's/COUNT=5/COUNT=/'
	refuses CONFIG_MASK 'no hexadecimal number' 's/MASK=0xff/MASK=ff/'
	refuses CONFIG_NAME 'double quotes' 's/NAME="x"/NAME=x/'
	refuses CONFIG_BASE 'neither y nor n' 's/BASE=y/BASE=m/'
	refuses CONFIG_BASE 'set twice' '+# CONFIG_BASE is not set'
	refuses CONFIG_GREEN 'only one' 's/# CONFIG_GREEN .*/CONFIG_GREEN=y/'
	refuses CONFIG_NEEDS_BASE 'depends on BASE' \
		's/^CONFIG_BASE=y/# CONFIG_BASE is not set/'
	refuses CONFIG_GREEN 'depends on BASE' \
		's/^CONFIG_BASE=y/# CONFIG_BASE is not set/
		s/CONFIG_NEEDS_BASE=y/# CONFIG_NEEDS_BASE is not set/
		s/CONFIG_RED=y/# CONFIG_RED is not set/
		s/# CONFIG_GREEN .*/CONFIG_GREEN=y/'
	refuses CONFIG_DEEP 'depends on' \
		's/CONFIG_RED=y/# CONFIG_RED is not set/
		s/# CONFIG_GREEN .*/CONFIG_GREEN=y/
		s/# CONFIG_DEEP .*/CONFIG_DEEP=y/'
	refuses .config:1 'neither' '1i COUNT = 5'
}

accepts()
{
	sync_with "$tool" "$2"
	must_pass "$tool: $2"
	grep -qxF "$1" autoconf.h || fail "$tool: no \"$1\" in autoconf.h"
}

accepts_all()
{
	accepts '#define CONFIG_BASE 1' ''
	accepts '#define CONFIG_COUNT 10' 's/COUNT=5/COUNT=10/'
	accepts '#define CONFIG_NAME "a b"' 's/NAME="x"/NAME="a b"/'
	accepts '#define CONFIG_DEEP 1' 's/# CONFIG_DEEP .*/CONFIG_DEEP=y/'
	accepts '#define CONFIG_DEEP 1' \
		's/CONFIG_RED=y/# CONFIG_RED is not set/
		s/# CONFIG_GREEN .*/CONFIG_GREEN=y/
		s/COUNT=5/COUNT=3/
		s/# CONFIG_DEEP .*/CONFIG_DEEP=y/'
}

tools=none
! command -v kconfig-conf >/dev/null 2>&1 || tools="$tools frontends"
! /usr/bin/python3 -c 'import kconfiglib' 2>/dev/null ||
	tools="$tools kconfiglib"
for tool in $tools; do
	refuses_all
	accepts_all
done

# A symbol that is not there yet: with a tool it gets its default, without one
# it is an error.
tool=none
refuses CONFIG_MASK missing /MASK/d
refuses 'one of these must be y' CONFIG_GREEN 's/^CONFIG_RED=y/# CONFIG_RED is not set/'
for tool in ${tools#none}; do
	accepts '#define CONFIG_MASK 0xff' /MASK/d
	must_say 'CONFIG_MASK=0xff'
done

# What the check of this tree overlooks, the comparison with the tool's result
# finds: here a symbol that another one forces on.
printf 'config FORCED\n\tbool "forced"\n\tdefault BASE\n' >>Kconfig
printf 'config FORCING\n\tdef_bool y\n\tselect FORCED\n' >>Kconfig
for tool in ${tools#none}; do
	refuses CONFIG_FORCED 'asked for n' '+# CONFIG_FORCED is not set'
done
