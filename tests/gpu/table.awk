# SPDX-License-Identifier: BSD-2-Clause
#
# The table of gpu-check.sh, from $out/parts and the logs beside it. On the
# model each line with a figure begins with MODELLED.

BEGIN {
	FS = "\t"
	label = model ? "MODELLED  " : ""
	rule = "--------------------------------------"
	rule = rule rule
	print rule
	print "gpu-check: " device
	print host ", " date
	if (model)
		print "A model of the driver: no figure and no time below says " \
			"anything of hardware."
	print rule
	printf "%-24s%-9s%6s  %s\n", "part", "", "s", "result"
}

{
	printf "%-24s%-9s%6d  %s\n", $1, $2, $3, $4
	log_of[$1] = out "/" $1 ".log"
	parts[NR] = $1
	if ($2 == "failed" || $2 == "not run")
		bad = bad (bad == "" ? "" : ", ") $1
}

function title(text)
{
	print ""
	print "== " text
}

# The first lines of what case nr said, each behind start.
function notes(nr, start, most,    line, n, i)
{
	n = split(case_notes[nr], line, "\n")
	for (i = 1; i <= n && i <= most; i++)
		print start substr(line[i], 1, 150)
	if (n > most)
		print start "and " case_nr_notes[nr] - most " more"
}

function failures(part,    i, head)
{
	if (!(part in log_of))
		return
	ktap_read(log_of[part])
	for (i = 1; i <= nr_cases; i++) {
		if (case_verdict[i] != "failed")
			continue
		if (!head++)
			title("failed in " part)
		print case_name[i]
		notes(i, "    ", 4)
	}
}

function probes(    i, name)
{
	if (!("probes" in log_of))
		return
	title("probes: what each saw")
	ktap_read(log_of["probes"])
	for (i = 1; i <= nr_cases; i++) {
		name = case_name[i]
		sub(/.*\./, "", name)
		print name ": " case_verdict[i] " " case_reason[i]
		notes(i, label "    ", 30)
	}
}

function bytes(n,    mib)
{
	mib = n / 1048576
	if (!mib)
		return "-"
	return mib >= 1024 ? mib / 1024 " GiB" : mib " MiB"
}

function costs(    line, f, head, median, spread, ratio)
{
	if (!("costs" in log_of))
		return
	title("costs: one call, us; the model's figure, and where it is from")
	printf "%s%-22s%9s%12s%22s%12s  %s%9s\n", label, "call", "bytes",
		"median", "quartiles", "model", "from", "of model"
	while ((getline line < log_of["costs"]) > 0) {
		if (split(line, f, ",") != 8 || !head++)
			continue
		median = spread = ratio = "-"
		if (f[6]) {
			median = f[3]
			spread = f[4] " - " f[5]
			ratio = sprintf("%.2f", f[3] / f[7])
		}
		printf "%s%-22s%9s%12s%22s%12s  %-4s%9s\n", label, f[1],
			bytes(f[2]), median, spread, f[7], f[8], ratio
	}
	close(log_of["costs"])
}

function benchmarks(    line)
{
	if (!("benchmarks" in log_of))
		return
	title("benchmarks")
	while ((getline line < log_of["benchmarks"]) > 0)
		print label line
	close(log_of["benchmarks"])
}

END {
	for (i = 1; i <= NR; i++)
		if (parts[i] == "contract" || parts[i] ~ /^library-/)
			failures(parts[i])
	probes()
	costs()
	benchmarks()
	print ""
	print rule
	print (bad == "" ? "All is fine." : "Not fine: " bad ".")
	print "Logs, and all of it as JSON: " out
}
