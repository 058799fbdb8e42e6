#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one folder of scenarios and compares with the list of those that are not expected to hold yet.

usage: check.py [--live] PINNACE FOLDER LIST...

A LIST has a line for each such file: its path from the list's folder, then why. It is checked both ways: a
scenario on a list that holds is an error too, so that the lists can only shrink. With --live a real engine
runs
them.
"""
import os
import re
import subprocess
import sys


def read_list(path):
    """The files on the list, as paths from its folder."""
    with open(path, encoding="utf-8") as lines:
        return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def outcomes(pinnace, options, folder):
    """What the runner says of each file: (path, None) or (path, the failure), and its exit code."""
    run = subprocess.run([pinnace, "scenario", *options, folder], capture_output=True, text=True, check=False)
    sys.stderr.write(run.stderr)
    found = {}
    for line in run.stdout.splitlines():
        if match := re.fullmatch(r"ok (.*)", line):
            found[match[1] + ".scn"] = None
        elif match := re.fullmatch(r"FAIL (.*?\.scn):(\d+: .*)", line):
            found[match[1]] = match[2]
        else:
            print(line)
    return found, run.returncode


def main():
    arguments = sys.argv[1:]
    options = [argument for argument in arguments if argument == "--live"]
    pinnace, folder, *list_paths = [argument for argument in arguments if argument != "--live"]
    root = os.path.dirname(os.path.abspath(list_paths[0]))
    listed = [path for list_path in list_paths for path in read_list(list_path)]
    wrong = [f"{path}: on the list, but there is no such file" for path in listed
             if not os.path.isfile(os.path.join(root, path))]
    found, exit_code = outcomes(pinnace, options, folder)
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if not name.endswith(".scn"):
            continue
        relative = os.path.relpath(path, root)
        if path not in found:
            wrong.append(f"{relative}: the runner says nothing of it")
        elif found[path] is not None and relative not in listed:
            wrong.append(f"{relative}:{found[path]}")
        elif found[path] is None and relative in listed:
            wrong.append(f"{relative}: it holds now; take it off the list")
    expected_code = 1 if any(failure is not None for failure in found.values()) else 0
    if exit_code != expected_code:
        wrong.append(f"exit code {exit_code}, expected {expected_code}")
    for line in wrong:
        print(line)
    print(f"{len(found)} scenarios, {sum(failure is not None for failure in found.values())} do not hold yet")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
