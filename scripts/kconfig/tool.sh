# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
#
# The kconfig tools that scripts in this folder can use, sourced by them.
#
# KCONFIG_TOOL says which to look for: frontends (Debian's kconfig-frontends,
# or kconfig-frontends-nox), kconfiglib (python3-kconfiglib), none, or auto,
# the default: the first that is installed. Neither knows the --syncconfig of
# the Linux kernel, and both change values without an error; conf, the caller,
# looks for that.

have_frontends()
{
	command -v kconfig-conf >/dev/null 2>&1
}

# Debian's module is installed for Debian's Python.
have_kconfiglib()
{
	/usr/bin/python3 -c 'import kconfiglib' >/dev/null 2>&1
}

# Sets $tool to frontends, kconfiglib, or nothing.
find_tool()
{
	tool=
	case ${KCONFIG_TOOL:-auto} in
	auto)
		if have_frontends; then
			tool=frontends
		elif have_kconfiglib; then
			tool=kconfiglib
		fi ;;
	frontends)
		have_frontends && tool=frontends ;;
	kconfiglib)
		have_kconfiglib && tool=kconfiglib ;;
	none) ;;
	*)
		echo "KCONFIG_TOOL=$KCONFIG_TOOL: must be auto, frontends," \
			"kconfiglib, or none" >&2
		exit 1 ;;
	esac
	:
}

# run_tool TARGET [OUTPUT]: runs it on $KCONFIG_CONFIG; savedefconfig writes
# OUTPUT. Says where it wrote to only when it fails: the file is a temporary one.
run_tool()
{
	case $tool-$1 in
	frontends-menuconfig)
		beside_copy kconfig-mconf Kconfig ;;
	frontends-nconfig)
		beside_copy kconfig-nconf Kconfig ;;
	frontends-oldconfig)
		kconfig-conf --oldconfig Kconfig ;;
	frontends-savedefconfig)
		quietly kconfig-conf --savedefconfig "$2" Kconfig ;;
	frontends-*)
		quietly kconfig-conf "--$1" Kconfig ;;
	kconfiglib-savedefconfig)
		quietly /usr/bin/python3 -m savedefconfig --out "$2" ;;
	kconfiglib-menuconfig)
		beside_copy /usr/bin/python3 -m menuconfig ;;
	kconfiglib-oldconfig)
		/usr/bin/python3 -m oldconfig ;;
	kconfiglib-olddefconfig)
		quietly /usr/bin/python3 -m "$1" ;;
	*)
		echo "make $1: not with $tool; install the Debian package" \
			"kconfig-frontends-nox" >&2
		return 1 ;;
	esac
}

# The menus show the path of their file: where that is the working folder,
# people see ".config".
beside_copy()
{
	(
		export srctree="$PWD"
		cd "${KCONFIG_CONFIG%/*}" || exit
		KCONFIG_CONFIG=${KCONFIG_CONFIG##*/} "$@"
	)
}

quietly()
{
	tool_output=$("$@" 2>&1 </dev/null) && return 0
	printf '%s\n' "$tool_output" >&2
	return 1
}
