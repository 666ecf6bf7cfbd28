# SPDX-License-Identifier: BSD-2-Clause
"""A C source file as functions, statements, and tokens.

This is no C parser. It knows the C of this tree, as coding-style.rst has it:
one statement after another, loops by macros, declarations that begin with a
type. What it does not understand it leaves out, and so it is never mutated.

Three kinds of place matter to mutate.py, each a run of tokens:

    condition   of an if, a while, a for
    statement   an expression statement, a return, or a jump, with its ";"
    initial     what a variable is initialized with
"""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""
    (?P<blank>\s+|/\*.*?\*/|//[^\n]*)
  | (?P<line>\#(?:[^\n\\]|\\.|\\\n)*)
  | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<number>(?:0[xX][0-9a-fA-F]+|[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?)[uUlLf]*)
  | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
  | (?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\|
      |[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)

OPEN, CLOSE = "([{", ")]}"

TYPES = {
    "u8", "u16", "u32", "u64", "s64", "bool", "char", "int", "long", "short",
    "unsigned", "signed", "void", "double", "float", "struct", "union", "enum",
    "const", "static", "volatile", "typeof", "extern", "register",
}
JUMPS = {"goto", "break", "continue"}


@dataclass
class Token:
    kind: str
    text: str
    begin: int
    end: int


@dataclass
class Place:
    """Where mutations are made: tokens [first, last) of a function."""

    kind: str
    first: int
    last: int


@dataclass
class Function:
    name: str
    result: str
    begin: int
    places: list = field(default_factory=list)


class Unknown(Exception):
    """The file has something that this parser has not been taught."""


def is_type_name(text):
    return text in TYPES or text.endswith("_t")


class Source:
    def __init__(self, name, text):
        self.name = name
        self.text = text
        self.tokens = tokenize(text)
        self.match = match_brackets(self.tokens)
        self.functions = []
        self._find_functions()

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def span(self, first, last):
        """The text of tokens [first, last)."""
        return self.text[self.tokens[first].begin:self.tokens[last - 1].end]

    # ---- Functions ------------------------------------------------------

    def _find_functions(self):
        at = 0
        while at < len(self.tokens):
            text = self.tokens[at].text
            if text == "{" and self.tokens[at - 1].text == ")":
                self._add_function(at)
            at = self.match[at] + 1 if text in OPEN else at + 1

    def _add_function(self, body):
        name = self.match[body - 1] - 1
        first = name
        while first and self.tokens[first - 1].text not in (";", "}"):
            first -= 1
        func = Function(self.tokens[name].text,
                        self.span(first, name) if first < name else "",
                        self.tokens[name].begin)
        self.func = func
        self._block(body)
        self.functions.append(func)

    # ---- Statements -----------------------------------------------------

    def _place(self, kind, first, last):
        if first < last:
            self.func.places.append(Place(kind, first, last))

    def _block(self, at):
        end = self.match[at]
        at += 1
        while at < end:
            at = self._statement(at)
        return end + 1

    def _statement(self, at):
        """Parses one, and returns the token after it."""
        text = self.tokens[at].text
        after = self.tokens[at + 1].text
        if text == "{":
            return self._block(at)
        if text == ";":
            return at + 1
        if text in ("if", "while", "for", "switch") or self._is_loop(at):
            return self._control(at)
        if text == "do":
            return self._do(at)
        if text in ("case", "default"):
            return self._find(at, ":") + 1
        if text not in JUMPS and after == ":" and text != "return":
            return at + 2
        end = self._find(at, ";")
        if self._is_declaration(at, end):
            self._declaration(at, end)
        else:
            self._place("statement", at, end + 1)
        return end + 1

    def _is_loop(self, at):
        """A macro that is a loop: what follows its ")" begins a statement."""
        if self.tokens[at].kind != "name" or \
                self.tokens[at].text == "return" or \
                self.tokens[at + 1].text != "(":
            return False
        after = self.tokens[self.match[at + 1] + 1]
        return after.text == "{" or after.kind == "name"

    def _control(self, at):
        word = self.tokens[at].text
        first, last = at + 2, self.match[at + 1]
        if self.tokens[last + 1].text == ";":
            return last + 2
        if word in ("if", "while"):
            self._place("condition" if word == "if" else "loop", first, last)
        elif word == "for":
            semicolon = self._find(first, ";")
            self._place("loop", semicolon + 1,
                        self._find(semicolon + 1, ";"))
        at = self._statement(last + 1)
        if word == "if" and self.tokens[at].text == "else":
            at = self._statement(at + 1)
        return at

    def _do(self, at):
        at = self._statement(at + 1)
        self._place("loop", at + 2, self.match[at + 1])
        return self.match[at + 1] + 2

    def _find(self, at, text):
        while self.tokens[at].text != text:
            if self.tokens[at].text in CLOSE:
                raise Unknown(f"{self.name}:"
                              f"{self.line_of(self.tokens[at].begin)}")
            at = self.match[at] + 1 if self.tokens[at].text in OPEN else at + 1
        return at

    # ---- Declarations ---------------------------------------------------

    def _is_declaration(self, at, end):
        first, second = self.tokens[at], self.tokens[at + 1]
        if first.text == "static_assert" or is_type_name(first.text):
            return True
        if first.kind != "name" or first.text in JUMPS | {"return"}:
            return False
        if second.text == "*" and at + 3 < end:
            return self.tokens[at + 3].text in ("=", ",", ";")
        return second.kind == "name"

    def _declaration(self, at, end):
        if self.tokens[at].text in ("static", "static_assert", "extern"):
            return
        while at < end:
            if self.tokens[at].text in OPEN:
                at = self.match[at]
            elif self.tokens[at].text == "=":
                first = at + 1
                while at < end and self.tokens[at].text != ",":
                    opens = self.tokens[at].text in OPEN
                    at = self.match[at] + 1 if opens else at + 1
                if not self._is_list(first):
                    self._place("initial", first, at)
            at += 1

    def _is_list(self, at):
        """{ ... }, or a macro that stands for one: LIST_INIT(x)."""
        text = self.tokens[at].text
        return text == "{" or re.fullmatch(r"[A-Z_]+_INIT", text)


def tokenize(text):
    tokens = []
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if not found:
            raise Unknown(f"a character {text[at]!r}")
        if found.lastgroup not in ("blank", "line"):
            tokens.append(Token(found.lastgroup, found.group(), at,
                                found.end()))
        at = found.end()
    return tokens


def match_brackets(tokens):
    """For each bracket the index of its partner."""
    match = {}
    stack = []
    for i, token in enumerate(tokens):
        if token.text in OPEN and token.kind == "mark":
            stack.append(i)
        elif token.text in CLOSE and token.kind == "mark":
            match[i] = stack.pop()
            match[match[i]] = i
    return match
