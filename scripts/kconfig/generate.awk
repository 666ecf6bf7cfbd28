# SPDX-License-Identifier: BSD-2-Clause
#
# Makes what the compiler and make read from a .config:
#
#	awk -v header=autoconf.h -v make=auto.conf -f generate.awk .config

BEGIN {
	print "/* Made from .config. */" > header
	print "# Made from .config." > make
}

/^CONFIG_[A-Za-z0-9_]+=/ {
	at = index($0, "=")
	name = substr($0, 1, at - 1)
	value = substr($0, at + 1)
	if (value == "n")
		next
	print name "=" value > make
	print "#define " name " " (value == "y" ? 1 : value) > header
}
