# SPDX-License-Identifier: BSD-2-Clause
#
# From the functions of vmm/cuda_funcs.h, the linker's list of what a driver of
# one age exports: awk -v age=12.0 -f exports.awk cuda_funcs.h first.c model.h

BEGIN {
	split(age, part, ".")
	newest = 1000 * part[1] + 10 * part[2]
	print "/* SPDX-License-Identifier: BSD-2-Clause */"
	print "{ global:"
}

# "	F(E, cuMemAlloc, _v2, 3020,"
/^\tF\([EOT], / {
	gsub(/[(,\\]/, " ")
	name = $3
	if ($4 ~ /^_/)
		name = name $4
	version = $4 ~ /^_/ ? $5 : $4
	if (version + 0 <= newest)
		print name ";"
}

# The functions of the first interface.
/^FIRST\(/ {
	gsub(/[()]/, " ")
	print $2 ";"
}

END {
	print "model_*; local: *; };"
}
