#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: each check of scripts/lint finds what it is there for. Method: a small
# tree with one offence for each.

. "$(dirname "$0")/common"

fresh()
{
	rm -rf tree
	mkdir -p tree/include/slabdev tree/core tree/vmm tree/slab \
		tree/tools tree/samples tree/tests
	cp -r "$SRCTREE/scripts" tree/scripts
	cp -r "$SRCTREE/Kconfig" tree
	for folder in core vmm slab tests; do
		echo '# SPDX-License-Identifier: BSD-2-Clause' \
			>"tree/$folder/Kconfig"
	done
	printf '/* SPDX-License-Identifier: BSD-2-Clause */\nstruct s;\n' |
		tee tree/core/a.c tree/core/a.h tree/core/prelude.h \
		tree/vmm/b.c tree/vmm/vmm.h tree/vmm/ops.h tree/slab/c.c \
		tree/tools/d.c tree/samples/e.c \
		>tree/include/slabdev/slabdev.h
	# What the checks that follow the build look at.
	touch tree/core/a.o tree/tools/d.o
	cp "$SRCTREE/.clang-tidy" tree
}

# check NAME: runs one check on the tree.
check()
{
	run env -C tree OBJTREE=. "CC=${CC:-gcc}" "scripts/lint/$1"
}

# finds NAME FILE TEXT: after this line is added to the file.
finds()
{
	fresh
	mkdir -p "tree/$(dirname "$2")"
	check "$1"
	must_pass "$1 on a clean tree"
	printf '%s\n' "$3" >>"tree/$2"
	check "$1"
	must_fail "$1: $2: $3"
	must_say "$2"
}

finds includes core/a.c '#include "vmm/vmm.h"'
finds includes vmm/b.c '#include "slab/slab.h"'
finds includes slab/c.c '#include "vmm/ops.h"'
finds includes tools/d.c '#include "core/a.h"'
finds includes samples/e.c '#include "core/a.h"'
finds includes samples/e.cpp '#include "core/a.h"'
finds includes core/a.c '#include "core/b.c"'
finds includes vmm/b.c '#include <cuda.h>'
finds includes core/a.c '#include <generated/autoconf.h>'
finds conditionals slab/c.c '#ifdef CONFIG_SLAB_VALIDATE'
finds conditionals slab/c.c '  #  if IS_ENABLED(CONFIG_SLAB_VALIDATE)'
finds asserts vmm/b.c '	assert(chunk);'
finds asserts core/a.c '	abort();'
finds headers core/a.h 'struct unknown_type *f(size_t x);'
finds headers include/slabdev/slabdev.h 'static int f(long x) { return x; }'
finds kernel-doc include/slabdev/slabdev.h 'SLABDEV_API int slabdev_x(int a);'

finds headers tests/t.h 'struct unknown_type *f(size_t x);'
finds headers tools/t.h 'struct unknown_type *f(size_t x);'

# finds_with TOOL CHECK FILE TEXT: the same, where the tool is installed.
finds_with()
{
	! command -v "$1" >/dev/null 2>&1 || finds "$2" "$3" "$4"
}

finds_with g++ headers include/slabdev/slabdev.hpp \
	'static int f(long x) { return x; }'
finds_with cppcheck cppcheck core/a.c 'int f(void) { int a[2]; return a[2]; }'
finds_with cppcheck cppcheck tools/d.c \
	'int f(int *p) { *p = 1; return p ? 1 : 0; }'
finds_with sparse sparse core/a.c 'int shared;'
finds_with sparse sparse tools/d.c 'static int f(int a) { return !a & 2; }'
finds_with shellcheck shellcheck scripts/new.sh "echo \$1"
finds_with mandoc manpages Documentation/man/x.1 '.Xx nonsense'

# Each family of clang-tidy's checks that is on.
tidy()
{
	finds_with clang-tidy clang-tidy "$1" "$2"
}
tidy core/a.c 'int f(int a); int f(int a) { return a == a; }'
tidy core/a.c 'int f(int a); int f(int a) { return 1; }'
tidy core/a.c 'int f(int a); int f(int a) { if (a); return 1; }'
tidy core/a.c 'int f(void); int f(void) { int *p = 0; return *p; }'
tidy tools/d.c 'int f(int a); int f(int a) { return a ? f(a - 1) : 0; }'
tidy tools/d.c 'void f(void); void f(void) { for (float x = 0; x < 1; x++) f(); }'

# Exported names, of a library that has one of another kind.
names()
{
	fresh
	printf 'int slabdev_a;\nint %s;\n' "$1" >tree/core/a.c
	"${CC:-gcc}" -shared -fPIC -o tree/libslabdev.so.0 tree/core/a.c
	"${CC:-gcc}" -c -o tree/a.o tree/core/a.c
	rm -f tree/libslabdev.a
	ar rcs tree/libslabdev.a tree/a.o
	check symbols
}
names slabdev_b
must_pass "symbols of ours"
names other
must_fail "a symbol of another name"
must_say 'libslabdev.so.0: other'
must_say 'libslabdev.a: other'

# Sizes are advice.
fresh
{
	echo 'void f(void)'
	echo '{'
	yes '	f();' | head -n 71
	echo '}'
	yes '' | head -n 530
	printf '%081d\n' 0
} >>tree/core/a.c
check sizes
must_pass "sizes only advise"
must_say 'a function of 71 lines'
must_say 'more than 80 columns'
must_say 'more than 600 lines'

# A tool that is not there, and what the runner makes of each verdict.
fresh
touch tree/libslabdev.a
mkdir bin
for tool in sh dirname mktemp rm cat sed tail grep; do
	ln -sf "$(command -v "$tool")" "bin/$tool"
done
printf '#!/bin/sh\necho bad\nexit 1\n' >tree/scripts/lint/bad
printf '#!/bin/sh\nsleep 0.2\necho slow\n' >tree/scripts/lint/fine
chmod +x tree/scripts/lint/bad tree/scripts/lint/fine
run env -C tree OBJTREE=. PATH="$dir/bin" sh scripts/lint/run fine bad sparse
must_fail "a check that fails"
must_say 'ok      fine'
must_say 'FAIL    bad'
must_say 'skip    sparse: sparse is not installed'
must_say 'lint found something: bad'
run env -C tree OBJTREE=. PATH="$dir/bin" sh scripts/lint/run fine sparse
must_pass "no finding"
must_say 'lint found nothing'

fresh
echo 'int x;' >tree/core/a.c
check spdx
must_fail "no licence"
must_say core/a.c:1

fresh
echo 'int x = IS_ENABLED(CONFIG_NOWHERE);' >>tree/core/a.c
printf 'config UNUSED\n\tbool "unused"\n' >>tree/core/Kconfig
check kconfig-symbols
must_fail kconfig-symbols
must_say 'CONFIG_NOWHERE is used'
must_say 'UNUSED is in a Kconfig file'

# Two headers that include each other.
fresh
echo '#include "vmm/ops.h"' >>tree/vmm/vmm.h
echo '#include "vmm/vmm.h"' >>tree/vmm/ops.h
check includes
must_fail "a cycle"
must_say 'include cycle'

# Documentation that lacks one line at a time.
document()
{
	fresh
	printf '%s\n' "$2" 'SLABDEV_API int slabdev_x(int a);' \
		>>tree/include/slabdev/slabdev.h
	check kernel-doc
	[ -z "$1" ] || must_say "$1"
}
document '' '/**
 * slabdev_x - do it
 * @a: this
 *
 * Context: any thread.
 * Return: 0.
 */'
must_pass "complete documentation"
document '@a is not described' '/**
 * slabdev_x - do it
 *
 * Context: any thread.
 * Return: 0.
 */'
document 'no Context: line' '/**
 * slabdev_x - do it
 * @a: this
 *
 * Return: 0.
 */'
document 'no Return: line' '/**
 * slabdev_x - do it
 * @a: this
 *
 * Context: any thread.
 */'
