#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The project's own style as a check: include arrows, sizes, ordering pairs, words, test names, READMEs.

usage: tidy.py [ROOT]    prints `file:line: what is wrong`, and notes for what is merely large; exit 1 if
                         anything is wrong
       tidy.py --list-cpp [ROOT]    prints the paths of the C and C++ files, each ended by a zero byte

Each rule is a function from a file, or from all files, to problems. A new rule starts with a test of its own
in tests/scripts/tidy_test.py.
"""
import ast
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cpp_text  # noqa: E402

# Who may include whom. A folder not named here is included by nobody.
PRODUCT = ("core", "shm", "journal", "bindings")
ARROWS = {
    "core": {"core"},
    "shm": {"shm", "core"},
    "journal": {"journal", "core"},
    "bindings": {"bindings", "core", "shm", "journal"},
    "bench": {"bench", *PRODUCT},
    "tests": {"tests", "bench", *PRODUCT},
}
# Folders within folders that may include less: what the targets of their includes must begin with.
NARROW = {
    # The model is written from the contract: of the product it takes the expressions and plain values only.
    "tests/model/reference/": ("tests/model/reference/", "core/expr/", "core/types.h"),
}
# The core has no operating system, thread, clock, file or randomness.
CORE_REFUSES = re.compile(
    r"(?:sys|linux|arpa|netinet)/.*|(?:unistd|pthread|fcntl|time|signal|poll|sched)\.h|ctime|chrono|thread|"
    r"mutex|shared_mutex|condition_variable|semaphore|random|fstream|filesystem|future|stop_token"
)

COLUMN_MAX = 110
FILE_LINES_REPORT, FILE_LINES_MAX = 400, 600
FUNCTION_LINES_REPORT, FUNCTION_LINES_MAX = 50, 100
README_LINES_REPORT, README_LINES_MAX = 100, 120
TEST_NAME_WORDS_MIN = 3

# What is refused and why. Written so that these lines do not find themselves.
WORDS = (
    (r"\b(?:TO[D]O|FIX[M]E|X[X]X)\b", "unfinished work belongs in an issue"),
    (r"\busing namespace st[d]\s*;", "name what you use from std"),
    (r"\bhardware_destructive_interference_siz[e]\b", "depends on the compiler; use kLineSize"),
)
SLEEP_CPP = r"\b(?:usleep|sleep_for|sleep_until|nanosleep|sleep)\s*\("
SLEEP_PYTHON = r"\btime\.slee[p]\s*\("
NOT_A_WAIT = "not a wait:"

Problem = collections.namedtuple("Problem", "path line text note", defaults=(False,))


class File:
    """One file: its path from the root, its text, and its code and comments line by line."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.folder = path.split("/")[0] if "/" in path else ""
        self.name = path.split("/")[-1]
        self.lines = text.split("\n")[: -1 if text.endswith("\n") else None]
        self.is_cpp = path.endswith((".h", ".hpp", ".cpp", ".cc", ".c"))
        self.is_python = path.endswith(".py") or bool(self.lines and re.match(r"#!.*python", self.lines[0]))
        self.is_script = bool(self.lines) and self.lines[0].startswith("#!")
        self.is_cmake = self.name == "CMakeLists.txt" or path.endswith(".cmake")
        self.is_source = self.is_cpp or self.is_python or self.is_script or self.is_cmake
        code, comments = cpp_text.split(text) if self.is_cpp else (text, text)
        count = len(self.lines)
        self.code, self.code_lines = code, code.split("\n")[:count]
        self.comment_lines = comments.split("\n")[:count]

    def line_of(self, at):
        return self.text.count("\n", 0, at) + 1


def check_includes(file, paths):
    if not file.is_cpp:
        return
    for number, line in enumerate(file.lines, 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if not match or "#" not in file.code_lines[number - 1]:
            continue
        quoted, target = match.group(1) == '"', match.group(2)
        to = target.split("/")[0]
        if file.folder == "core" and CORE_REFUSES.fullmatch(target):
            yield Problem(file.path, number, f"core has no system, thread, clock or file, so no <{target}>")
        if to in ARROWS:
            if file.folder in ARROWS and to not in ARROWS[file.folder]:
                allowed = ", ".join(sorted(ARROWS[file.folder]))
                yield Problem(file.path, number, f"{file.folder} may include {allowed}, but not {target}")
            for narrow, allowed in NARROW.items():
                if file.path.startswith(narrow) and not target.startswith(allowed):
                    yield Problem(file.path, number,
                                  f"{narrow} may include {', '.join(allowed)}, but not {target}")
            if target not in paths:
                yield Problem(file.path, number, f"there is no {target}")
        elif quoted and file.folder in ARROWS:
            yield Problem(file.path, number, f'"{target}" is not a path from the root')


def check_sizes(file):
    if not file.is_source:
        return
    count = len(file.lines)
    if count > FILE_LINES_REPORT:
        yield Problem(file.path, 1, f"{count} lines, refused above {FILE_LINES_MAX}: which noun wants a file "
                      "of its own?", count <= FILE_LINES_MAX)
    for number, line in enumerate(file.lines, 1):
        if len(line) > COLUMN_MAX:
            yield Problem(file.path, number, f"{len(line)} columns, at most {COLUMN_MAX}")
    for first, length in _functions(file):
        if length > FUNCTION_LINES_REPORT:
            yield Problem(file.path, first, f"a function of {length} lines (at most {FUNCTION_LINES_MAX})",
                          length <= FUNCTION_LINES_MAX)


def _functions(file):
    if file.is_cpp:
        return cpp_text.functions(file.code)
    if file.is_python:
        return [(node.lineno, node.end_lineno - node.lineno + 1) for node in ast.walk(ast.parse(file.text))
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return []


# An ordered access: an order spelled out, or a call of a function that has the order in its name. (`release`
# alone is a verb of the rings, and `fence` alone one of the sessions.)
_ORDER = re.compile(r"\bmemory_order(?:_|::)(acquire|release|acq_rel|seq_cst)\b")
_WRAPPER = re.compile(
    r"\b(?:(?:\w+_)?(?:load|store|exchange|fetch_\w+|compare_exchange\w*)_(acquire|release|acq_rel|seq_cst)|"
    r"(?:full|memory|store_load|seq_cst)_fence)\s*\(")
_UNORDERED = re.compile(
    r"(?:\.|->)\s*(?:load\(\s*\)|store\((?!.*memory_order)|exchange\((?!.*memory_order)|"
    r"fetch_\w+\((?!.*(?:memory_order|order))|compare_exchange_\w+\((?!.*(?:memory_order|order)))")
_PAIR = re.compile(r"\bpair:\s*([a-z][\w.-]*(?:\s*,\s*[a-z][\w.-]*)*)")
# In a function that only wraps an ordered access; then each of its calls names the pair.
CALLER = "caller"


def check_pairs(files):
    """Each ordered access names its pair, and each pair has a release end and an acquire end, in any file."""
    ends = collections.defaultdict(list)
    for file in files:
        if file.folder not in PRODUCT or not file.is_cpp:
            continue
        for number, code in enumerate(file.code_lines, 1):
            orders = _orders(code)
            names = _pair_names(file, number) if orders else ()
            if orders and not names:
                yield Problem(file.path, number, f"{'/'.join(orders)} names no pair (`// pair: NAME`)")
            for name in names:
                ends[name].append((file.path, number, orders))
        yield from _unordered(file)
    for name, sites in sorted(ends.items()):
        if name == CALLER:
            continue
        orders = [order for _, _, at_site in sites for order in at_site]
        path, line, _ = sites[0]
        if not any(order in ("release", "acq_rel", "seq_cst") for order in orders):
            yield Problem(path, line, f"pair {name} has no release end")
        if not any(order in ("acquire", "acq_rel", "seq_cst") for order in orders):
            yield Problem(path, line, f"pair {name} has no acquire end")
        if len(sites) == 1 and orders == ["seq_cst"]:
            yield Problem(path, line, f"pair {name} has one end only; the other seq_cst is missing")


def _orders(code):
    orders = [match.group(1) for match in _ORDER.finditer(code)]
    for match in _WRAPPER.finditer(code):
        before = re.search(r"(\w+)[\s*&>]+$", code[: match.start()])
        if not before or before.group(1) in ("return", "case", "co_return", "else", "do"):
            orders.append(match.group(1) or "seq_cst")
    return list(dict.fromkeys(orders))


def _pair_names(file, number):
    """Names on the line itself, on the rest of its statement, or in the comment right above."""
    index = number - 1
    last = index
    while last < min(index + 4, len(file.code_lines) - 1) and not re.search(r"[;{}]", file.code_lines[last]):
        last += 1
    comments = file.comment_lines[index : last + 1]
    above = index - 1
    while above >= 0 and not file.code_lines[above].strip() and file.comment_lines[above].strip():
        comments.append(file.comment_lines[above])
        above -= 1
    lists = [match.group(1) for text in comments for match in _PAIR.finditer(text)]
    return [name.strip() for names in lists for name in names.split(",")]


def _unordered(file):
    if not re.search(r"\batomic(?:_ref|_flag)?\b", file.code):
        return
    for number, code in enumerate(file.code_lines, 1):
        match = _UNORDERED.search(" ".join(file.code_lines[number - 1 : number + 2]))
        if match and match.start() <= len(code) and match.end() <= len(code) + 1:
            yield Problem(file.path, number, "an atomic access spells its order out")


def check_words(file):
    for number, line in enumerate(file.lines, 1):
        for pattern, why in WORDS:
            match = re.search(pattern, line)
            if match:
                yield Problem(file.path, number, f"`{match.group()}`: {why}")
    sleep = SLEEP_CPP if file.is_cpp else SLEEP_PYTHON if file.is_python else None
    if file.folder != "tests" or not sleep:
        return
    for number, code in enumerate(file.code_lines, 1):
        above = file.lines[number - 2].strip() if number > 1 else ""
        near = file.lines[number - 1] + (above if above.startswith(("//", "#")) else "")
        if re.search(sleep, code) and NOT_A_WAIT not in near:
            yield Problem(file.path, number, "wait for the event, or say `not a wait:` and why")


def check_heads(file):
    if file.is_source and file.lines:
        second = 1 if file.is_script and len(file.lines) > 1 else 0
        if "SPDX-License-Identifier: Apache-2.0" not in file.lines[second]:
            yield Problem(file.path, second + 1, "the SPDX line of Apache-2.0 comes first")
    if file.path.endswith(".h") and not any(re.match(r"#pragma once\b", line) for line in file.code_lines):
        yield Problem(file.path, 1, "#pragma once is missing")


_TEST = re.compile(r"^[ \t]*(?:TYPED_)?TEST(?:_F|_P)?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.MULTILINE)


def check_test_names(file):
    if not file.is_cpp or file.folder != "tests":
        return
    for match in _TEST.finditer(file.code):
        name = match.group(2)
        words = re.findall(r"[A-Z][a-z0-9]*|[0-9]+", name)
        if "".join(words) != name or len(words) < TEST_NAME_WORDS_MIN:
            yield Problem(file.path, file.line_of(match.start(2)), f"{name} is not a sentence of at least "
                          f"{TEST_NAME_WORDS_MIN} words in UpperCamel")


def check_readmes(files):
    by_path = {file.path: file for file in files}
    for folder in sorted({file.folder for file in files if file.is_source} & {*ARROWS, "scripts"}):
        if f"{folder}/README.md" not in by_path:
            yield Problem(f"{folder}/README.md", 1, f"{folder} has no README.md")
    for path, file in sorted(by_path.items()):
        if file.name == "README.md" and file.folder and len(file.lines) > README_LINES_REPORT:
            yield Problem(path, 1, f"{len(file.lines)} lines; a folder's README is one screen "
                          f"(refused above {README_LINES_MAX})", len(file.lines) <= README_LINES_MAX)


def check_listed(files):
    """No dead sources: CMake names each one, in its folder or one above, or by its path from the root."""
    cmake = {file.path: file.text for file in files if file.is_cmake}
    for file in files:
        if not file.path.endswith((".cpp", ".c")) or file.folder not in ARROWS:
            continue
        parts, stem = file.path.split("/")[:-1], re.escape(file.name.rsplit(".", 1)[0])
        above = {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
        name = re.compile(rf"(?<!\w){stem}(?!\w)|\bfile\(GLOB")
        near = (text for path, text in cmake.items() if path.rpartition("/")[0] in above)
        by_path = any(file.path in text for text in cmake.values())
        if not by_path and not any(name.search(text) for text in near):
            yield Problem(file.path, 1, "no CMakeLists.txt names this file")


def check(files):
    """All problems of all files, in order of place."""
    paths = {file.path for file in files}
    problems = []
    for file in files:
        for rule in (check_sizes, check_words, check_heads, check_test_names):
            problems += rule(file)
        problems += check_includes(file, paths)
    for rule in (check_pairs, check_readmes, check_listed):
        problems += rule(files)
    return sorted(set(problems), key=lambda problem: (problem.note, problem.path, problem.line, problem.text))


def list_files(root):
    """What git knows or would take in; without git, whatever lies under the root."""
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, check=False)
    if listed.returncode == 0:
        return sorted({os.fsdecode(name) for name in listed.stdout.split(b"\0") if name})
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", "build", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/") for name in names]
    return sorted(found)


def read_files(root):
    files = []
    for path in list_files(root):
        full = os.path.join(root, path)
        if os.path.islink(full) or not os.path.isfile(full) or path == "LICENSE" or "/golden/" in path:
            continue
        with open(full, "rb") as opened:
            content = opened.read()
        if b"\0" not in content:
            files.append(File(path, content.decode("utf-8", "replace")))
    return files


def main(arguments):
    listing = arguments[:1] == ["--list-cpp"]
    arguments = arguments[1:] if listing else arguments
    root = arguments[0] if arguments else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files = read_files(root)
    if listing:
        sys.stdout.write("".join(file.path + "\0" for file in files if file.is_cpp))
        return 0
    problems = check(files)
    for problem in problems:
        print(f"{problem.path}:{problem.line}: {'note: ' if problem.note else ''}{problem.text}")
    wrong = sum(not problem.note for problem in problems)
    print(f"tidy: {len(files)} files, {wrong} wrong, {len(problems) - wrong} to look at again")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
