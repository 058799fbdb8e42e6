#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of scripts/lint.py: which sources a change makes it look at."""
import contextlib
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import lint  # noqa: E402

INCLUDES = {
    "core/queue.cpp": {"core/queue.h", "core/types.h"},
    "core/types.cpp": {"core/types.h"},
    "shm/ring.cpp": {"shm/ring.h", "core/types.h"},
    "tests/core/queue_test.cpp": {"core/queue.h"},
}


class Choose(unittest.TestCase):
    def chosen(self, *changed):
        return lint.choose(list(INCLUDES), set(changed), INCLUDES.get)

    def test_a_changed_source_is_looked_at(self):
        self.assertEqual(self.chosen("shm/ring.cpp", "README.md"), ["shm/ring.cpp"])

    def test_a_changed_header_is_looked_at_through_its_own_source(self):
        self.assertEqual(self.chosen("core/types.h"), ["core/types.cpp"])
        self.assertEqual(self.chosen("core/queue.h"), ["core/queue.cpp"])

    def test_a_header_that_a_changed_source_includes_needs_no_other(self):
        self.assertEqual(self.chosen("core/types.h", "shm/ring.cpp"), ["shm/ring.cpp"])

    def test_a_source_that_the_build_does_not_know_is_left_out(self):
        self.assertEqual(self.chosen("core/other.cpp", "core/unused.h"), [])


class Changes(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.root = stack.enter_context(tempfile.TemporaryDirectory())
        before = lint.ROOT
        self.addCleanup(setattr, lint, "ROOT", before)
        lint.ROOT = self.root
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments, root=None):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", root or self.root, *identity, *arguments]
        subprocess.run(command, check=True, capture_output=True)

    def write(self, name, text="x\n"):
        with open(os.path.join(lint.ROOT, name), "w", encoding="utf-8") as opened:
            opened.write(text)

    def commit(self, name):
        self.write(name)
        self.git("add", "-A", root=lint.ROOT)
        self.git("commit", "-q", "-m", name, root=lint.ROOT)

    def test_a_single_commit_has_no_base_and_everything_counts(self):
        self.commit("a.cpp")
        self.assertIsNone(lint.changed_since(lint.find_base()))

    def test_without_a_remote_the_last_commit_and_the_working_tree_count(self):
        for name in ("a.cpp", "b.cpp", "c.cpp"):
            self.commit(name)
        self.write("d.cpp")
        self.write("a.cpp", "y\n")
        self.assertEqual(lint.changed_since(lint.find_base()), {"a.cpp", "c.cpp", "d.cpp"})

    def test_with_a_remote_all_since_the_fork_counts_and_removed_files_do_not(self):
        self.commit("a.cpp")
        self.commit("b.cpp")
        with tempfile.TemporaryDirectory() as clone:
            self.git("clone", "-q", self.root, clone)
            lint.ROOT = clone
            self.assertEqual(lint.changed_since(lint.find_base()), {"b.cpp"})
            self.commit("c.cpp")
            self.commit("d.cpp")
            os.remove(os.path.join(clone, "a.cpp"))
            self.assertEqual(lint.changed_since(lint.find_base()), {"c.cpp", "d.cpp"})

    def test_a_shallow_clone_has_no_base(self):
        self.commit("a.cpp")
        self.commit("b.cpp")
        with tempfile.TemporaryDirectory() as clone:
            self.git("clone", "-q", "--depth", "1", "file://" + self.root, clone)
            lint.ROOT = clone
            self.assertIsNone(lint.find_base())


if __name__ == "__main__":
    unittest.main()
