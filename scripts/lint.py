#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy (.clang-tidy has the list) on the sources that a change touches, within a bound of time.

usage: lint.py [--all] [--base COMMIT] [--seconds N]

A change is what differs between the base and the working tree. The base is where this branch left
origin/main, or the commit before where there is no such branch; where history is too short for that, all
sources are looked at. A changed header is looked at through one source that includes it. What the time does
not suffice for is named.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ("core", "shm", "journal", "bindings", "bench", "tests")  # in the order of looking at them
PRESETS = ("release", "dev")
CONFIGURATION = ".clang-tidy"


def git(*arguments):
    """What git prints, or None where it refuses."""
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def find_base():
    head = git("rev-parse", "HEAD")
    fork = git("merge-base", "HEAD", "origin/main")
    return fork if fork and fork != head else git("rev-parse", "--verify", "--quiet", "HEAD~1")


def changed_since(base):
    """Paths in the working tree that differ from the base, or None where that cannot be told."""
    if base is None:
        return None
    changed = git("diff", "--name-only", "--diff-filter=d", base)
    untracked = git("ls-files", "--others", "--exclude-standard")
    if changed is None or untracked is None:
        return None
    return set(changed.split("\n") + untracked.split("\n")) - {""}


def choose(sources, changed, includes):
    """Which sources to look at: the changed ones, and for each changed header one source that includes it.

    `includes` maps a source to what it includes itself. A source of the header's name comes first."""
    chosen = [source for source in sources if source in changed]
    for header in sorted(path for path in changed if path.endswith(".h")):
        users = [source for source in sources if header in includes(source)]
        stem = os.path.basename(header)[:-2]
        users.sort(key=lambda source: not os.path.basename(source).startswith(stem))
        if users and not any(user in chosen for user in users):
            chosen.append(users[0])
    return chosen


def included_by(source):
    with open(os.path.join(ROOT, source), encoding="utf-8", errors="replace") as opened:
        return set(re.findall(r'^\s*#\s*include\s*"([^"]+)"', opened.read(), re.MULTILINE))


def build_folder():
    """A build folder whose compile commands are those of now."""
    present = [preset for preset in PRESETS if os.path.exists(f"{ROOT}/build/{preset}/CMakeCache.txt")]
    preset = (present or PRESETS)[0]
    command = ["cmake", "--preset", preset, "--log-level=NOTICE"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return os.path.join(ROOT, "build", preset)


def sources_of(folder):
    """Our sources that the build knows, as paths from the root."""
    commands = os.path.join(folder, "compile_commands.json")
    if not os.path.exists(commands):  # a project without a single target has none
        return []
    with open(commands, encoding="utf-8") as opened:
        entries = json.load(opened)
    paths = {os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT) for entry in entries}
    ours = [path for path in paths if path.split("/")[0] in FOLDERS]
    return sorted(ours, key=lambda path: (FOLDERS.index(path.split("/")[0]), path))


def look_at(folder, source, end):
    """What clang-tidy says of one source, empty when all is well; None when time was up."""
    left = end - time.monotonic()
    if left <= 0:
        return None
    command = ["clang-tidy-19", "--quiet", "-p", folder, source]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=left)
    except subprocess.TimeoutExpired:
        return None
    return "" if done.returncode == 0 else done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--all", action="store_true", help="look at every source")
    parser.add_argument("--base", help="the commit to compare with")
    parser.add_argument("--seconds", type=float, default=240, help="bound of the time (240)")
    options = parser.parse_args()

    changed = None if options.all else changed_since(options.base or find_base())
    kinds = (".h", ".cpp", ".c", CONFIGURATION)
    if changed is not None and not any(path.endswith(kinds) for path in changed):
        print("lint: no source has changed")
        return 0
    folder = build_folder()
    sources = sources_of(folder)
    whole = changed is None or CONFIGURATION in changed
    chosen = sources if whole else choose(sources, changed, included_by)

    end = time.monotonic() + options.seconds
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = list(pool.map(lambda source: look_at(folder, source, end), chosen))
    wrong = [said for said in results if said]
    skipped = [source for source, said in zip(chosen, results) if said is None]
    for said in wrong:
        print(said.strip())
    if skipped:
        print(f"lint: no time for {len(skipped)}: {' '.join(skipped)}")
    seen = len(chosen) - len(skipped)
    print(f"lint: {seen} of {len(sources)} sources looked at, {len(wrong)} with findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
