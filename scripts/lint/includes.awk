# SPDX-License-Identifier: BSD-2-Clause
#
# Prints each #include that its folder may not have.

BEGIN {
	may["core"] = "^core/"
	may["vmm"] = "^(core|vmm)/"
	may["slab"] = "^(core/|slab/|vmm/vmm\\.h$)"
	may["include"] = "^$"
	may["tools"] = "^([^/]*|tools/.*|(\\.\\./)?(lib|bench)/.*)$"
	may["samples"] = "^[^/]*$"
}

function forbid(why)
{
	print FILENAME ":" FNR ": " $0 ": " why
}

!/^#[ \t]*include[ \t]/ {
	next
}

{
	folder = FILENAME
	sub(/\/.*/, "", folder)
	match($0, /["<][^">]*/)
	what = substr($0, RSTART + 1, RLENGTH - 1)
	quoted = substr($0, RSTART, 1) == "\""
}

what ~ /\.c$/ {
	forbid("a .c file is compiled, not included")
}

what == "cuda.h" && FILENAME !~ /^vmm\/cuda/ {
	forbid("only the CUDA backend sees driver declarations")
}

what ~ /generated\// && FILENAME != "core/prelude.h" {
	forbid("only core/prelude.h reads the configuration")
}

quoted && what !~ may[folder] {
	forbid(folder "/ may not include this")
}

!quoted && what ~ /^(core|vmm|slab|tests|tools)\// {
	forbid("headers of the tree are included with quotes")
}
