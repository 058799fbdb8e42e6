#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example in the README is the program that is built, and it works.

usage: example_test.py ROOT EXAMPLE [PINNACE]    without PINNACE only the text is compared
"""
import os
import subprocess
import sys
import tempfile


def main(root, example, pinnace=None):
    with open(f"{root}/bindings/cpp/README.md") as file:
        shown = file.read().split("```cpp\n")[1].split("```")[0]
    with open(f"{root}/bindings/cpp/example.cpp") as file:
        built = file.read().split("\n", 2)[2]
    if shown != built:
        return "bindings/cpp/README.md shows another program than example.cpp"
    if pinnace is None:
        return None
    with tempfile.TemporaryDirectory() as data:
        socket = f"{data}/socket"
        engine = subprocess.Popen([pinnace, "serve", "--data", f"{data}/data", "--socket", socket,
                                   "--queue", "orders"])
        try:
            done = subprocess.run([example], env={**os.environ, "PINNACE_SOCKET": socket},
                                  capture_output=True, text=True, timeout=60, check=False)
        finally:
            engine.terminate()
            engine.wait()
        texts = [line.partition(": ")[2] for line in done.stdout.splitlines()]
        if done.returncode != 0 or texts != ["order 1", "order 2", "order 3"]:
            return f"the example ended with {done.returncode}: {done.stdout}{done.stderr}"
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
