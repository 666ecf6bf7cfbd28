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
