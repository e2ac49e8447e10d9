"""Reading C++ just well enough to check rules: comments, includes, functions."""

import re
from dataclasses import dataclass

CPP = (".cpp", ".h", ".c", ".def", ".cu", ".hip")

_TOKENS = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def without_comments(text, keep_strings=True):
    """The code alone; lines stay where they were. Digit separators (1'000) are no characters."""

    def blank(match):
        token = match.group(0)
        if not token.startswith(("//", "/*")) and keep_strings:
            return token
        return ('""' if token[0] in "\"R'" else " ") + "\n" * token.count("\n")

    return _TOKENS.sub(blank, re.sub(r"(?<=\d)'(?=\d)", "", text))


def without_directives(code):
    """Without preprocessor lines and their continuations."""
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: "\n" * match.group(0).count("\n"), code, flags=re.M)


@dataclass
class Function:
    name: str
    first_line: int
    last_line: int
    parameters: list
    body: str  # It is empty for a declaration.


_SCOPES = re.compile(r"^(?:\[\[.*?\]\]\s*)?(?:inline\s+)?(?:template\s*<.*>\s*)?(?:namespace|struct|class|union|enum|extern\s*\"\")\b(?![^{]*\)\s*(?:const)?\s*$)", re.S)
_HEADER = re.compile(r"([~\w:]+|operator\s*\S+)\s*\(")


def is_macro(name):
    return len(name) > 1 and name.isupper()


def _closing(code, at):
    """Index after the brace or parenthesis that closes the one at `at`."""
    pairs = {"(": ")", "{": "}"}
    depth = 0
    for index in range(at, len(code)):
        if code[index] == code[at]:
            depth += 1
        elif code[index] == pairs[code[at]]:
            depth -= 1
            if depth == 0:
                return index + 1
    return len(code)


def _parameters(header, at):
    inside = header[at + 1 : _closing(header, at) - 1]
    depth, parts, part = 0, [], ""
    for sign in inside.replace("->", "  "):
        depth += sign in "(<[{"
        depth -= sign in ")>]}"
        if sign == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += sign
    parts.append(part)
    return [one.strip() for one in parts if one.strip() not in ("", "void")]


def _function(code, header_at, end, body_end):
    header = code[header_at:end]
    found = _HEADER.search(re.sub(r"\[\[.*?\]\]", lambda m: " " * len(m.group(0)), header))
    if found is None or "=" in header[: found.start()] or (body_end == end and is_macro(found.group(1))):
        return None
    start = header_at + len(header) - len(header.lstrip())
    return Function(
        name=found.group(1).split("::")[-1],
        first_line=code.count("\n", 0, start) + 1,
        last_line=code.count("\n", 0, body_end) + 1,
        parameters=_parameters(header, found.end() - 1),
        body=code[end:body_end] if body_end > end else "",
    )


def functions(text):
    """Functions defined or declared in namespaces and classes. A heuristic, good for this style."""
    code = without_directives(without_comments(text, keep_strings=False))
    found, header_at, at = [], 0, 0
    while at < len(code):
        sign = code[at]
        if sign == "(":
            at = _closing(code, at)
            continue
        if sign == "{" and not _SCOPES.match(code[header_at:at].strip()):
            end = _closing(code, at)
            found.append(_function(code, header_at, at, end))
            at = header_at = end
            continue
        if sign == ";":
            found.append(_function(code, header_at, at, at))
        if sign in "{};":
            header_at = at + 1
        at += 1
    return [one for one in found if one is not None]


def includes(text):
    """(line number, what is included)."""
    code = without_comments(text)
    return [
        (code.count("\n", 0, match.start(1)) + 1, match.group(1))
        for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*([<"]?[\w./]+[>"]?)', code, flags=re.M)
    ]
