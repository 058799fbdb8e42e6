#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pinnace journal verify and dump on the journal of a real engine: whole, in use, and damaged.

usage: journal_command_crash.py PINNACE
"""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

PINNACE = os.path.abspath(sys.argv.pop(1))
TIMEOUT_S = 120


def pinnace(*arguments, text=None):
    """Runs a command to its end."""
    return subprocess.run([PINNACE, *arguments], input=text, capture_output=True, text=True, check=False,
                          timeout=TIMEOUT_S)


class JournalCommand(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.data = os.path.join(self.folder.name, "data")
        self.addCleanup(self.folder.cleanup)
        self.engine = subprocess.Popen(
            [PINNACE, "serve", "--data", self.data, "--queue", "Work", "--wait", "block",
             "--segment-size", "8MiB", "--message-size-max", "1MiB"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        self.assertIn("ready", self.engine.stdout.readline())
        socket = os.path.join(self.data, "pinnace.sock")
        published = pinnace("publish", "--socket", socket, "--persisted", "Work",
                            text='{"id":"first"}\n{"id":"second"}\n')
        self.assertEqual(published.returncode, 0, published.stderr)

    def stop(self, how=signal.SIGTERM):
        if self.engine.poll() is None:
            self.engine.send_signal(how)
        self.engine.wait(TIMEOUT_S)
        self.engine.stdout.close()

    def segment(self):
        return os.path.join(self.data, "j-0000000000000001.seg")

    def test_a_journal_in_use_is_left_alone(self):
        run = pinnace("journal", "verify", self.data)
        self.assertEqual(run.returncode, 1)
        self.assertIn("in use", run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1)

    def test_a_whole_journal_is_verified_and_dumped(self):
        self.stop()
        run = pinnace("journal", "verify", self.data)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertTrue(run.stdout.endswith("whole\n"), run.stdout)
        run = pinnace("journal", "dump", "--records-only", "--first", "2", "--last", "2", self.data)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn('{"id":"second"}', run.stdout)
        self.assertNotIn('{"id":"first"}', run.stdout)

    def test_a_killed_engine_leaves_no_damage(self):
        self.stop(signal.SIGKILL)
        run = pinnace("journal", "verify", self.data)
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_a_changed_byte_is_named_with_file_and_offset(self):
        self.stop()
        with open(self.segment(), "r+b") as segment:
            at = segment.read().index(b"second")
            segment.seek(at)
            segment.write(b"S")
        run = pinnace("journal", "verify", self.data)
        self.assertEqual(run.returncode, 1)
        self.assertIn("j-0000000000000001.seg", run.stdout)
        self.assertRegex(run.stdout, r"offset [0-9]+")


if __name__ == "__main__":
    unittest.main()
