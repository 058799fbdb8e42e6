# SPDX-License-Identifier: Apache-2.0
"""Reads C++ just well enough for tidy.py: what is code, what is comment, and how long functions are."""
import re

# Alternatives in the order in which they must be tried; whatever matches none of them is code.
_TOKEN = re.compile(
    r"""(?P<line_comment>//(?:[^\n\\]|\\.|\\\n)*)
      | (?P<block_comment>/\*.*?\*/)
      | (?P<raw>R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)")
      | (?P<string>"(?:[^"\\\n]|\\.|\\\n)*")
      | (?P<number>\b\d(?:'?[0-9A-Za-z_.])*)
      | (?P<char>'(?:[^'\\\n]|\\.)+')""",
    re.VERBOSE | re.DOTALL,
)
_COMMENTS = ("line_comment", "block_comment")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)
_TEMPLATE = re.compile(r"template\s*<[^{};()]*?>\s*(?=[\w\[])")
_SCOPE = re.compile(r"(?:(?:inline|export|typedef|static|const|constexpr)\s+)*"
                    r"(?:namespace|class|struct|union|enum|extern)\b")


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def split(text):
    """Two texts as long as the given one: the code without comments and literals, and the comments alone.

    Quotes stay in the code, so that `extern "" {` can still be told."""
    code, comments, last = [], [], 0
    for match in _TOKEN.finditer(text):
        token, kind = match.group(), match.lastgroup if match.lastgroup != "tag" else "raw"
        before = text[last : match.start()]
        code.append(before)
        comments.append(_blank(before))
        if kind in _COMMENTS:
            code.append(_blank(token))
            comments.append(token)
        elif kind == "number":
            code.append(token.replace("'", "_"))
            comments.append(_blank(token))
        else:
            code.append(token[0] + _blank(token[1:-1]) + token[-1])
            comments.append(_blank(token))
        last = match.end()
    code.append(text[last:])
    comments.append(_blank(text[last:]))
    return "".join(code), "".join(comments)


def functions(code):
    """(first line, number of lines) of each function body in code that split() made, both counted from 1.

    A simple count of braces: an outermost block that has parentheses before it and does not open a namespace,
    a class or an initializer. What lies within a function (lambdas, local classes) belongs to it."""
    code = _DIRECTIVE.sub(lambda match: _blank(match.group()), code)
    found, blocks, head_start = [], [], 0
    for match in re.finditer(r"[{};]", code):
        at, mark = match.start(), match.group()
        inside = any(kind != "scope" for kind, _ in blocks)
        if mark == "{":
            kind = "inner" if inside else _kind_of_block(code[head_start:at])
            blocks.append((kind, at))
            if kind in ("scope", "function"):
                head_start = at + 1
        elif mark == "}" and blocks:
            kind, start = blocks.pop()
            if kind == "function":
                first = code.count("\n", 0, start) + 1
                found.append((first, code.count("\n", start, at) + 1))
            if kind in ("scope", "function"):
                head_start = at + 1
        elif mark == ";" and not inside:
            head_start = at + 1
    return found


def _kind_of_block(head):
    plain = _TEMPLATE.sub("", head).strip()
    plain = re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", plain)
    if _SCOPE.match(plain) and not re.search(r"\)\s*(?:const|noexcept|override|final|\s)*$", plain):
        return "scope"
    # `member_{0}` and `= {` open initializers; the formatter puts a space before a body's brace.
    if plain.endswith(("=", ",", "(", "return")) or not head or not head[-1].isspace():
        return "initializer"
    return "function" if "(" in plain else "initializer"
