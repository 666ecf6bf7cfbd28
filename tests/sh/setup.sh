#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Goal: scripts/setup asks for what is missing and nothing else, needs no
# network where nothing is missing, and fails only without what a build needs.
# Method: a PATH that holds some tools, an apt-get that writes down what it was
# asked for, and in one case "installs" it.

. "$(dirname "$0")/common"

mkdir bin
for tool in sh env id dirname uname sed grep cat ln; do
	ln -s "$(command -v "$tool")" "bin/$tool"
done
for tool in true gcc make kconfig-conf mandoc sphinx-build; do
	ln -s /bin/true "bin/$tool"
done
cat >bin/sudo <<'EOF'
#!/bin/sh
[ ! -e "$APT_LOG.refused" ] || exit 1
[ "$1" != -n ] || shift
exec "$@"
EOF
cat >bin/apt-get <<'EOF'
#!/bin/sh
echo "$*" >>"$APT_LOG"
[ ! -e "$APT_WORKS" ] || ln -sf /bin/true "$APT_WORKS/pkg-config"
[ -e "$APT_WORKS" ]
EOF
cat >bin/apt-cache <<'EOF'
#!/bin/sh
[ "$2" != tmux ]
EOF
chmod +x bin/sudo bin/apt-get bin/apt-cache
export APT_LOG="$dir/apt.log" APT_WORKS="$dir/no"

setup()
{
	rm -f apt.log
	run env PATH="$dir/bin" sh "$SRCTREE/scripts/setup" "$@"
}

setup
must_fail "no pkg-config"
must_say "cannot build without: pkg-config libopenblas-dev"
grep -q update apt.log || fail "apt-get was not asked"

APT_WORKS=$dir/bin
setup
must_pass "apt-get works"
must_say "packages: gcc libc6-dev make pkg-config libopenblas-dev"
grep -q 'install .*pkg-config libopenblas-dev' apt.log ||
	fail "apt-get was asked for: $(cat apt.log)"
! grep -q 'install .*gcc' apt.log || fail "apt-get was asked for gcc"
! grep -q tmux apt.log || fail "apt-get was asked for what it does not know"
[ "$(grep -c install apt.log)" = 1 ] || fail "more than one install"

APT_WORKS=$dir/no
setup
must_pass "everything that is required is there"

# Somebody who may not install anything, with sudo and without.
rm bin/pkg-config bin/id
printf '#!/bin/sh\necho 1000\n' >bin/id
chmod +x bin/id
: >"$APT_LOG.refused"
setup
must_fail "sudo refuses"
must_say "as one who may use sudo"
must_say "cannot build without: pkg-config"
rm bin/sudo
setup
must_fail "no sudo"
must_say "there is no sudo here"

setup --what
must_fail "an unknown option"
