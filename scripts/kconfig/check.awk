# SPDX-License-Identifier: BSD-2-Clause
#
# Checks a .config against the Kconfig files, without a kconfig tool:
#
#	awk [-v complete=1] [-v shown=NAME] -f kconfig.awk -f check.awk .config
#
# Run where Kconfig lies. Each finding is one line that names the symbol; with
# complete=1 a symbol that has no line in .config is one too. The messages call
# the file NAME. Follows kconfig.awk, which reads the Kconfig files.

BEGIN {
	read_kconfig("Kconfig")
	for (i = 1; i <= nr_symbols; i++)
		known[symbol[i]] = 1
	if (shown == "")
		shown = ARGV[1]
}

function complain(name, text)
{
	fail(shown ": CONFIG_" name ": " text)
}

function set(name, value)
{
	if (!(name in known))
		complain(name, "unknown symbol; delete the line")
	else if (name in config)
		complain(name, "set twice: " config[name] ", then " value)
	config[name] = value
}

/^CONFIG_[A-Za-z0-9_]+=/ {
	at = index($0, "=")
	set(substr($0, 8, at - 8), substr($0, at + 1))
	next
}

/^# CONFIG_[A-Za-z0-9_]+ is not set$/ {
	set(substr($2, 8), "n")
	next
}

!/^(#.*)?[ \t]*$/ {
	fail(shown ":" FNR ": neither CONFIG_NAME=value nor a comment: " $0)
}

# ---- Expressions: || lowest, then &&, !, comparison, and parentheses ----

function next_token(    t)
{
	sub(/^[ \t]+/, "", input)
	if (match(input, /^(\|\||&&|!=|[!=()]|"[^"]*"|[A-Za-z0-9_-]+)/)) {
		t = substr(input, 1, RLENGTH)
		input = substr(input, RLENGTH + 1)
	} else {
		t = input = ""
	}
	token = t
}

function value_of(t)
{
	if (t ~ /^"/)
		return substr(t, 2, length(t) - 2)
	if (!(t in known))
		return t
	if (!(t in config))
		return "n"
	t = config[t]
	return t ~ /^"/ ? substr(t, 2, length(t) - 2) : t
}

function parse_primary(    left, op, v)
{
	if (token == "!") {
		next_token()
		return !parse_primary()
	}
	if (token == "(") {
		next_token()
		v = parse_or()
		next_token()
		return v
	}
	left = value_of(token)
	next_token()
	if (token != "=" && token != "!=")
		return left == "y"
	op = token
	next_token()
	v = (left == value_of(token)) == (op == "=")
	next_token()
	return v
}

function parse_and(    v, w)
{
	v = parse_primary()
	while (token == "&&") {
		next_token()
		w = parse_primary()
		v = v && w
	}
	return v
}

function parse_or(    v, w)
{
	v = parse_and()
	while (token == "||") {
		next_token()
		w = parse_and()
		v = v || w
	}
	return v
}

function holds(expr)
{
	if (expr == "")
		return 1
	input = expr
	next_token()
	return parse_or()
}

# ---- What may be wrong with a value -------------------------------------

function selected(name,    by, n, i)
{
	n = split(selector[name], by)
	for (i = 1; i <= n; i++)
		if (value_of(by[i]) == "y")
			return by[i]
	return ""
}

function check_bool(name, value)
{
	if (value != "y" && value != "n")
		complain(name, value " is neither y nor n")
	else if (value == "y" && !holds(depends[name]) && !selected(name))
		complain(name, "asked for y, but it depends on " depends[name])
	else if (value == "n" && selected(name))
		complain(name, "asked for n, but CONFIG_" selected(name) \
			 " needs it")
}

function check_int(name, value)
{
	if (value !~ /^-?(0|[1-9][0-9]*)$/)
		complain(name, "\"" value "\" is no decimal number")
	else if (low[name] ~ /^-?[0-9]/ && value + 0 < low[name] + 0 ||
		 high[name] ~ /^-?[0-9]/ && value + 0 > high[name] + 0)
		complain(name, value " is outside " low[name] " .. " high[name])
}

function check_value(name, value)
{
	if (type[name] == "bool")
		check_bool(name, value)
	else if (type[name] == "int")
		check_int(name, value)
	else if (type[name] == "hex" && value !~ /^0[xX][0-9A-Fa-f]+$/)
		complain(name, "\"" value "\" is no hexadecimal number")
	else if (type[name] == "string" && value !~ /^".*"$/)
		complain(name, value " is not in double quotes")
}

function check_choices(    c, i, name, members, on)
{
	for (c = 1; c <= nr_choices; c++) {
		members = on = ""
		for (i = 1; i <= nr_symbols; i++) {
			name = symbol[i]
			if (choice_of[name] != c)
				continue
			members = members " CONFIG_" name
			if (config[name] == "y")
				on = on " CONFIG_" name
		}
		if (split(on, unused) > 1)
			fail(shown ": only one of these can be y:" on)
		else if (on == "" && complete && holds(choice_depends[c]))
			fail(shown ": one of these must be y:" members)
	}
}

END {
	for (i = 1; i <= nr_symbols; i++) {
		name = symbol[i]
		if (name in config)
			check_value(name, config[name])
		else if (complete && asks[name] && holds(depends[name]))
			complain(name, "missing; \"make olddefconfig\" adds" \
				 " new symbols with their defaults")
	}
	check_choices()
	exit failed
}
