#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: what install puts in place works through pkg-config, statically and
# dynamically, and uninstall leaves nothing behind, for a build in the tree and
# outside; a place that cannot work is refused. Method: install into a folder,
# build and run a program against it.

. "$(dirname "$0")/common"
need pkg-config
compiler=$(command -v gcc || command -v cc)

run_build -j2 lib tools
must_pass "a build"

# After the build and with other variables: nothing may be built again.
run env CC=false make -C "$SRCTREE" --no-print-directory O="$dir/build" \
	install prefix="$dir/usr" libdir="$dir/usr/lib64"
must_pass install
must_not_say '  CC '
must_not_say '  LD '
must_say "  export PKG_CONFIG_PATH=$dir/usr/lib64/pkgconfig"
must_say "  export LD_LIBRARY_PATH=$dir/usr/lib64"
# shellcheck disable=SC2016 # as it is printed
must_say "  export PATH=$dir/usr/bin:"'$PATH'

for file in include/slabdev/slabdev.h lib64/libslabdev.a \
	lib64/libslabdev.so lib64/libslabdev.so.0 \
	lib64/pkgconfig/slabdev.pc bin/slabinfo; do
	[ -e "usr/$file" ] || fail "not installed: $file"
done

export PKG_CONFIG_PATH="$dir/usr/lib64/pkgconfig"
version=$(pkg-config --modversion slabdev)
cat >program.c <<'EOF'
#include <slabdev/slabdev.h>
#include <string.h>

/* Names that the library has inside are free for programs to use. */
int lock_init(void);
int lock_init(void)
{
	return 0;
}

int main(void)
{
	return lock_init() || strcmp(slabdev_version(), SLABDEV_VERSION);
}
EOF
# shellcheck disable=SC2046 # pkg-config prints lists
{
	"$compiler" -o dynamic program.c $(pkg-config --cflags --libs slabdev)
	"$compiler" -static -o static program.c \
		$(pkg-config --static --cflags --libs slabdev)
}
LD_LIBRARY_PATH="$dir/usr/lib64" ./dynamic || fail "the dynamic program"
./static || fail "the static program"
grep -q "SLABDEV_VERSION \"$version\"" "$SRCTREE/include/slabdev/base.h" ||
	fail "pkg-config says version $version"
readelf -d dynamic | grep -q 'libslabdev\.so\.0' || fail "the SONAME"

# The tool needs no library beside it.
usr/bin/slabinfo --devices >devices || fail "slabinfo --devices"
grep -q '^host: ' devices || fail "slabinfo --devices shows no host"

run_build uninstall prefix="$dir/usr" libdir="$dir/usr/lib64"
must_pass uninstall
[ -z "$(find usr ! -type d)" ] || fail "left: $(find usr ! -type d)"
[ ! -d usr/include/slabdev ] || fail "left: include/slabdev"

# DESTDIR goes before each path and is in no file.
run_build install prefix=/opt/p DESTDIR="$dir/de st"
must_pass DESTDIR
must_not_say export
! grep -r "de st" "de st/opt/p/lib/pkgconfig" || fail "DESTDIR is in a file"
grep -qx 'prefix=/opt/p' "de st/opt/p/lib/pkgconfig/slabdev.pc" ||
	fail "the prefix is not in slabdev.pc"
run_build uninstall prefix=/opt/p DESTDIR="$dir/de st"
[ -z "$(find "de st" ! -type d)" ] || fail "left: $(find "de st" ! -type d)"

# refuses TEXT VARIABLE=VALUE: at once, and with these words.
refuses()
{
	run_build install "$2"
	must_fail "install $2"
	must_say "$1"
	must_not_say '  CC '
}
rm -rf build
refuses 'prefix="usr": must be an absolute path' prefix=usr
refuses 'without blanks' "prefix=$dir/a b"
refuses 'libdir=' "libdir=$dir/a:b"
refuses 'bindir=' "bindir=$dir/a&b"
refuses 'includedir=' "includedir=$dir/a|b"
run_build uninstall prefix=usr
must_fail "uninstall from a relative path"

# A file in the way stops root, too.
: >file
run_build -j2 install prefix="$dir/file/usr"
must_fail "a prefix that cannot be made"
must_say 'use prefix=FOLDER or become root'

copy_tree "$dir/tree"
cd "$dir/tree"
run make CFLAGS=-O0 install prefix="$dir/in-tree"
must_pass "install from the tree"
[ -x "$dir/in-tree/bin/slabinfo" ] || fail "nothing installed from the tree"
run make uninstall prefix="$dir/in-tree"
must_pass "uninstall from the tree"
left=$(find "$dir/in-tree" ! -type d)
[ -z "$left" ] || fail "left: $left"
