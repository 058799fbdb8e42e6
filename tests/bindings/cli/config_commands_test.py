#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve CONFIG.xml, check, eval: the commands around configurations, as processes.

usage: config_commands_test.py PINNACE CONFIGURATIONS
"""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

PINNACE, CONFIGURATIONS = sys.argv[1:3]
QUEUE = "<Queue><Name>{}</Name>{}</Queue>"


def run(*arguments, text=None, **environment):
    return subprocess.run([PINNACE, *arguments], input=text, capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="pinnace-test-")
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "pinnace.xml")

    def write(self, queues, rest=""):
        with open(self.path, "w", encoding="utf-8") as out:
            out.write(f"<Pinnace>{rest}<Limits><MessageSizeMax>1MiB</MessageSizeMax></Limits>"
                      "<Memory><LogSize>1MiB</LogSize><LargeLogSize>4MiB</LargeLogSize>"
                      "<ReadBufferSize>2MiB</ReadBufferSize></Memory><Threads><Wait>block</Wait></Threads>"
                      f"<TransactionLog><JournalDirectory>{self.folder.name}/j</JournalDirectory>"
                      "<SegmentSize>16MiB</SegmentSize><Topic><Name>.*</Name></Topic></TransactionLog>"
                      f"<SOW>{queues}</SOW></Pinnace>\n")

    def test_check_accepts_what_is_good_and_prints_it_the_same_again(self):
        for name in sorted(os.listdir(CONFIGURATIONS)):
            if not name.endswith(".xml"):
                continue
            first = run("check", "--print", os.path.join(CONFIGURATIONS, name), PINNACE_TEST_DIR="/nowhere")
            self.assertEqual(first.returncode, 0, first.stderr)
            with open(self.path, "w", encoding="utf-8") as out:
                out.write(first.stdout)
            self.assertEqual(run("check", "--print", self.path).stdout, first.stdout, name)

    def test_check_names_every_error_with_its_place(self):
        self.write(QUEUE.format("A", "<MaxBacklog>0</MaxBacklog>") + "\n" +
                   QUEUE.format("B", "<Filter>/a =</Filter>"))
        done = run("check", self.path)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"{self.path}:1:\d+: error: SOW/Queue/MaxBacklog: ")
        self.assertRegex(done.stderr, rf"{self.path}:2:\d+: error: SOW/Queue/Filter: queue B: column 5")
        self.assertEqual(run("serve", self.path).returncode, 1)

    def test_a_hang_up_applies_what_can_be_applied_and_names_the_rest(self):
        log = "<Logging><Target><Protocol>stdout</Protocol></Target></Logging>"
        self.write(QUEUE.format("A", ""), log)
        engine = subprocess.Popen([PINNACE, "serve", self.path], stdout=subprocess.PIPE, text=True)
        self.addCleanup(engine.stdout.close)
        # Ends the test if the engine says nothing.
        watch = threading.Timer(300, engine.kill)
        watch.start()
        self.addCleanup(watch.cancel)
        self.addCleanup(engine.kill)

        def until(word):
            for line in engine.stdout:
                if word in line:
                    return line
            self.fail(f"it ended without saying {word}")
            return None

        until("ready")
        engine.send_signal(signal.SIGHUP)
        until("nothing has changed")
        self.write(QUEUE.format("A", "<Priority>/p</Priority><LeasePeriod>5s</LeasePeriod>") +
                   QUEUE.format("B", ""), log)
        engine.send_signal(signal.SIGHUP)
        until("SOW/Queue B is applied")
        until("SOW/Queue A/LeasePeriod is applied")
        until("SOW/Queue A/Priority needs a restart")
        self.write("<Queue/>", log)
        engine.send_signal(signal.SIGHUP)
        until("nothing changes")
        engine.send_signal(signal.SIGTERM)
        self.assertEqual(engine.wait(), 0)

    def test_eval_gives_a_line_of_json_for_each_message(self):
        messages = '{"a":1}\n{"a":"x"}\n{}\n{"a":18446744073709551615}'
        self.assertEqual(run("eval", "/a", text=messages).stdout, '1\n"x"\nnull\n18446744073709551615\n')
        self.assertEqual(run("eval", "0.0 / 0", "-", text="{}\n").stdout, '"nan"\n')
        self.assertEqual(run("eval", "--whole", "/a + 1", text='{"a":\n1}\n').stdout, "2\n")
        self.assertEqual(run("eval", "--type", "nvfix", "/px > 1", text="px=2\x01\n").stdout, "true\n")

    def test_eval_counts_the_messages_that_are_malformed(self):
        done = run("eval", "/a", text='{"a":1}\n{"a":\n')
        self.assertEqual(done.stdout, "1\nnull\n")
        self.assertIn("not well-formed, so that all their fields are NULL: 1\n", done.stderr)

    def test_eval_shows_what_is_wrong_with_an_expression(self):
        done = run("eval", "/a = ", text="")
        self.assertEqual(done.returncode, 1)
        self.assertIn("column 6", done.stderr)
        self.assertIn("\n", done.stderr.strip())

    def test_eval_takes_the_layout_of_a_type_from_a_configuration(self):
        types = ("<MessageTypes><MessageType><Name>quote</Name><Module>struct</Module>"
                 "<Field>/qty = &lt;I</Field></MessageType></MessageTypes>")
        self.write("", types)
        body = os.path.join(self.folder.name, "body")
        with open(body, "wb") as out:
            out.write(b"\x0a\0\0\0")
        done = run("eval", "--type", "quote", "--config", self.path, "--whole", "/qty * 2", body)
        self.assertEqual(done.stdout, "20\n", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
