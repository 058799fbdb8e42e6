#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands that are clients of an engine, with a real one: what they print, and their exit codes.

usage: client_commands_test.py PINNACE
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

PINNACE = os.path.abspath(sys.argv.pop(1))
TIMEOUT_S = 120


class ClientCommands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        data = os.path.join(cls.folder.name, "data")
        queues = ["Work", "Dead", "Spent MaxCancels=1 DeadLetterQueue=Dead", "Ledger Type=fifo DedupWindow=0",
                  "Once DedupWindow=1h"]
        cls.engine = subprocess.Popen(
            [PINNACE, "serve", "--data", data, "--wait", "block", "--segment-size", "8MiB",
             "--message-size-max", "1MiB", "--log-size", "1MiB"] +
            [word for queue in queues for word in ("--queue", queue)], stdout=subprocess.PIPE, text=True)
        assert "ready" in cls.engine.stdout.readline()
        cls.environment = dict(os.environ, PINNACE_SOCKET=os.path.join(data, "pinnace.sock"))

    @classmethod
    def tearDownClass(cls):
        cls.engine.send_signal(signal.SIGTERM)
        cls.engine.wait(TIMEOUT_S)
        cls.engine.stdout.close()
        cls.folder.cleanup()

    def tearDown(self):
        for queue in ("Work", "Dead", "Spent", "Ledger", "Once"):
            self.done("purge", queue)

    def run_it(self, *arguments, text=""):
        return subprocess.run([PINNACE, *arguments], input=text, capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_S, env=self.environment)

    def done(self, *arguments, text=""):
        """The lines of a command that succeeds, as JSON where they are."""
        run = self.run_it(*arguments, text=text)
        self.assertEqual(run.returncode, 0, run.stderr)
        return [json.loads(line) for line in run.stdout.splitlines()]

    def failed(self, exit_code, *arguments, text=""):
        """The one line on stderr of a command that fails."""
        run = self.run_it(*arguments, text=text)
        self.assertEqual(run.returncode, exit_code, run.stdout + run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        self.assertTrue(run.stderr.startswith("pinnace " + arguments[0]), run.stderr)
        return run.stderr

    def publish(self, queue, *bodies, options=()):
        """The bookmarks."""
        answers = self.done("publish", "--answers", *options, queue, text="".join(b + "\n" for b in bodies))
        self.assertTrue(all(answer["answer"] == "stored" for answer in answers), answers)
        return [answer["bookmark"] for answer in answers]

    def bodies(self, *arguments):
        return [message["body"] for message in self.done(*arguments)]

    def test_every_command_has_a_help_and_refuses_what_it_does_not_know(self):
        for command in ("publish", "query", "receive", "ack", "cancel", "expire", "purge", "redrive"):
            run = self.run_it(command, "--help")
            self.assertEqual(run.returncode, 0)
            self.assertIn("--socket", run.stdout)
            self.assertIn("--sideways", self.failed(2, command, "Work", "Dead", "--sideways"))
            self.failed(2, command)

    def test_a_misspelt_queue_is_refused_by_name(self):
        for arguments in (["query", "Wrok"], ["receive", "Wrok"], ["ack", "Wrok", "1"], ["purge", "Wrok"],
                          ["expire", "Wrok", "--where", "/a = 1"], ["redrive", "Wrok", "Work"],
                          ["redrive", "Work", "Wrok"], ["publish", "Wrok"]):
            error = self.failed(1, *arguments)
            self.assertIn("unknown_topic", error)
            self.assertIn("Wrok", error)

    def test_a_query_shows_what_is_available_in_order_and_leases_nothing(self):
        marks = self.publish("Work", '{"n":1}', '{"n":2}', '{"n":3}')
        shown = self.done("query", "Work")
        self.assertEqual([message["bookmark"] for message in shown], marks)
        self.assertEqual(shown[0]["queue"], "Work")
        self.assertEqual(shown[0]["topic"], "Work")
        self.assertEqual(self.bodies("query", "Work", "--where", "/n >= 2"), ['{"n":2}', '{"n":3}'])
        self.assertEqual(self.bodies("query", "Work", "--where", "/n >= 2", "--count", "1"), ['{"n":2}'])
        self.assertEqual(self.bodies("query", "Work", "--count", "0"), [])
        self.assertIn("bad_filter", self.failed(1, "query", "Work", "--where", "/n >="))

    def test_a_query_brings_large_bodies_and_long_lists_whole(self):
        bodies = [str(i % 10) * size for i, size in enumerate([100_000, 0, 700_000, 1, 60_000])]
        self.publish("Work", *bodies)
        self.assertEqual(self.bodies("query", "Work"), bodies)
        self.done("purge", "Work")
        # More than the engine's log holds: most come from the journal.
        many = [f'{{"n":{i},"pad":"{"x" * 1000}"}}' for i in range(3000)]
        self.publish("Work", *many, options=["--persisted"])
        self.assertEqual(self.bodies("query", "Work"), many)
        self.assertEqual(self.bodies("query", "Work", "--where", "/n IN (5, 2999)"), [many[5], many[2999]])

    def test_verbs_by_bookmark_are_answered_each(self):
        marks = self.publish("Work", "a", "b", "c")
        self.assertEqual(self.done("ack", "Work", marks[1]), [{"bookmark": marks[1], "answer": "ok"}])
        run = self.run_it("ack", "Work", marks[0], marks[1])
        self.assertEqual(run.returncode, 1)
        self.assertEqual([json.loads(line)["answer"] for line in run.stdout.splitlines()], ["ok", "unknown"])
        self.assertEqual(self.bodies("query", "Work"), ["c"])
        run = self.run_it("cancel", "Work", marks[2])
        self.assertEqual((run.returncode, json.loads(run.stdout)["answer"]), (1, "stale"))
        self.done("expire", "Work", marks[2])
        self.assertEqual(self.bodies("query", "Work"), [])

    def test_wrong_usage_of_verbs_is_said(self):
        self.assertIn("--where", self.failed(2, "ack", "Work"))
        self.failed(2, "ack", "Work", "1", "--where", "/n = 1")
        self.assertIn("bookmark", self.failed(2, "expire", "Work", "first"))
        self.assertIn("bad_filter", self.failed(1, "ack", "Work", "--where", "(("))

    def test_verbs_by_filter_say_how_many(self):
        self.publish("Work", '{"n":1}', '{"n":2}', '{"n":3}', '{"n":4}')
        self.assertEqual(self.done("ack", "Work", "--where", "/n < 3"), [{"acknowledged": 2}])
        self.assertEqual(self.done("expire", "Work", "--where", "/n = 4"), [{"expired": 1}])
        self.assertEqual(self.bodies("query", "Work"), ['{"n":3}'])

    def test_a_pull_takes_the_oldest_and_does_with_them_as_told(self):
        self.publish("Work", '{"n":1}', '{"n":2}', '{"n":3}')
        self.assertEqual(self.bodies("receive", "Work", "--max", "2", "--then", "nothing"),
                         ['{"n":1}', '{"n":2}'])
        again = self.done("receive", "Work", "--filter", "/n = 2")
        self.assertEqual([(m["body"], m["count"]) for m in again], [('{"n":2}', 2)])
        self.assertEqual(self.bodies("receive", "Work", "--max", "9"), ['{"n":1}', '{"n":3}'])
        self.assertEqual(self.bodies("receive", "Work", "--wait", "10ms"), [])
        self.failed(2, "receive", "Work", "--wait", "soon")
        self.failed(2, "receive", "Work", "--max", "0")

    def test_a_pull_waits_for_the_first_message(self):
        pull = subprocess.Popen([PINNACE, "receive", "Work", "--wait", "60s"], stdout=subprocess.PIPE,
                                text=True,
                                env=self.environment)
        self.publish("Work", "late")
        out, _ = pull.communicate(timeout=TIMEOUT_S)
        self.assertEqual(json.loads(out)["body"], "late")

    def test_dead_letters_are_redriven(self):
        self.publish("Spent", '{"n":1}', '{"n":2}')
        self.assertEqual(len(self.done("receive", "Spent", "--max", "2", "--then", "cancel")), 2)
        self.assertEqual(self.bodies("query", "Spent"), [])
        self.assertEqual(self.bodies("query", "Dead"), ['{"n":1}', '{"n":2}'])
        self.assertEqual(self.done("redrive", "Dead", "Work"), [{"redriven": 2}])
        self.assertEqual(self.bodies("query", "Work"), ['{"n":1}', '{"n":2}'])
        self.assertEqual(self.done("purge", "Work"), [{"purged": 2}])
        self.assertEqual(self.done("purge", "Work"), [{"purged": 0}])

    def test_what_is_more_than_the_journals_feed_holds_is_done_in_slices(self):
        count = 20_000
        self.done("publish", "Work", "--persisted", text="".join(f'{{"n":{i}}}\n' for i in range(count)))
        self.assertEqual(self.done("ack", "Work", "--where", "/n >= 15000"), [{"acknowledged": 5000}])
        self.assertEqual(self.done("redrive", "Work", "Dead"), [{"redriven": 15_000}])
        self.assertEqual(self.bodies("query", "Dead", "--count", "2"), ['{"n":0}', '{"n":1}'])
        self.assertEqual(self.done("purge", "Dead"), [{"purged": 15_000}])

    def test_publish_options_reach_the_queue(self):
        self.assertIn("bad_group", self.failed(1, "publish", "Ledger", text="x\n"))
        self.publish("Ledger", "x", options=["--group", "g1"])
        self.assertIn("bad_dedup", self.failed(1, "publish", "Once", text="x\n"))
        first = self.publish("Once", "x", options=["--dedup", "k1"])
        answers = self.done("publish", "--answers", "--dedup", "k1", "Once", text="y\n")
        self.assertEqual([(a["answer"], a["bookmark"]) for a in answers], [("duplicate", first[0])])
        self.publish("Work", "later", options=["--delay", "1h"])
        self.assertEqual(self.bodies("query", "Work"), [])
        self.assertEqual(self.done("purge", "Work"), [{"purged": 1}])
        self.publish("Work", "gone", options=["--expiration", "1ns"])
        self.assertEqual(self.bodies("query", "Work"), [])
        self.failed(2, "publish", "Work", "--delay", "1 fortnight")

    def test_a_publisher_that_numbers_is_stored_once(self):
        marks = self.publish("Work", "a", "b", options=["--from", "gateway", "--seq", "5"])
        answers = self.done("publish", "--answers", "--from", "gateway", "--seq", "6", "Work", text="b\nc\n")
        self.assertEqual([(a["number"], a["answer"]) for a in answers], [(6, "duplicate"), (7, "stored")])
        self.assertIn(answers[0]["bookmark"], (marks[1], None))
        self.assertEqual(self.bodies("query", "Work"), ["a", "b", "c"])
        # Without a number it goes on after the highest one.
        answers = self.done("publish", "--answers", "--from", "gateway", "Work", text="d\n")
        self.assertEqual([(a["number"], a["answer"]) for a in answers], [(8, "stored")])

    def test_a_batch_is_stored_whole_or_not_at_all(self):
        self.publish("Work", "a", "b", "c", options=["--batch"])
        self.assertEqual(self.bodies("query", "Work"), ["a", "b", "c"])
        self.failed(1, "publish", "--batch", "Ledger", text="a\nb\n")
        self.assertEqual(self.bodies("query", "Ledger"), [])
        self.failed(2, "publish", "--batch", "--whole", "Work", text="a\n")
        self.assertEqual(self.publish("Work", options=["--batch"]), [])


if __name__ == "__main__":
    unittest.main()
