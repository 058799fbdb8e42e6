#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of scripts/tidy.py: each rule with what it refuses and with what it lets pass."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import tidy  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


def problems(rule, text, path="core/a.cpp", **more):
    """What one rule says of a tree with this file and more ones (`shm__b_h` stands for shm/b.h)."""
    files = [tidy.File(path, text)]
    files += [tidy.File(name.replace("__", "/").replace("_", "."), content) for name, content in more.items()]
    if rule in (tidy.check_pairs, tidy.check_readmes, tidy.check_listed):
        return list(rule(files))
    if rule is tidy.check_includes:
        return list(rule(files[0], {file.path for file in files}))
    return list(rule(files[0]))


class Rules(unittest.TestCase):
    rule = None

    def refused(self, text, *says, path="core/a.cpp", **more):
        found = [problem for problem in problems(type(self).rule, text, path, **more) if not problem.note]
        self.assertTrue(found, f"let pass: {text!r}")
        for part in says:
            self.assertIn(part, " | ".join(problem.text for problem in found))

    def passes(self, text, path="core/a.cpp", **more):
        found = [problem for problem in problems(type(self).rule, text, path, **more) if not problem.note]
        self.assertEqual(found, [])


class Includes(Rules):
    rule = staticmethod(tidy.check_includes)

    def test_every_arrow_is_as_the_table_says(self):
        for of in tidy.ARROWS:
            for to in tidy.ARROWS:
                allowed = to in tidy.ARROWS[of]
                check = self.passes if allowed else self.refused
                check(f'#include "{to}/x.h"\n', path=f"{of}/a.cpp", **{f"{to}__x_h": ""})

    def test_the_table_goes_down_only(self):
        self.assertEqual(tidy.ARROWS["core"], {"core"})
        self.assertNotIn("journal", tidy.ARROWS["shm"])
        self.assertNotIn("shm", tidy.ARROWS["journal"])

    def test_a_path_that_does_not_start_at_the_root_is_refused(self):
        self.refused('#include "b.h"\n', "path from the root")
        self.refused('#include "../shm/b.h"\n', "path from the root")

    def test_a_header_that_is_not_there_is_refused(self):
        self.refused('#include "core/none.h"\n', "there is no")

    def test_brackets_are_no_way_around_an_arrow(self):
        self.refused("#include <shm/b.h>\n", "core may include core", shm__b_h="")

    def test_commented_includes_do_not_count(self):
        self.passes('// #include "shm/b.h"\n/*\n#include "shm/b.h"\n*/\n')

    def test_the_model_takes_only_the_expressions_of_the_product(self):
        path = "tests/model/reference/a.cpp"
        self.refused('#include "core/core.h"\n', "may include", path=path)
        self.refused('#include "tests/model/engine.h"\n', "may include", path=path)
        for target in ("core/expr/expression.h", "core/types.h", "tests/model/reference/b.h"):
            found = list(tidy.check_includes(tidy.File(path, f'#include "{target}"\n'), {target}))
            self.assertEqual(found, [])

    def test_the_core_has_no_system_and_no_threads(self):
        for header in ("thread", "mutex", "chrono", "unistd.h", "sys/mman.h", "random"):
            self.refused(f"#include <{header}>\n", "core has no")
            self.passes(f"#include <{header}>\n", path="shm/a.cpp")
        self.passes("#include <atomic>\n#include <vector>\n")


class Sizes(Rules):
    rule = staticmethod(tidy.check_sizes)

    def notes(self, text):
        return [problem.text for problem in problems(tidy.check_sizes, text) if problem.note]

    def test_a_file_is_reported_past_400_lines_and_refused_past_600(self):
        self.assertEqual(self.notes("\n" * 400), [])
        self.assertEqual(len(self.notes("\n" * 401)), 1)
        self.passes("\n" * 600)
        self.refused("\n" * 601, "601 lines")

    def test_a_function_is_reported_past_50_lines_and_refused_past_100(self):
        def body(lines):
            return "void f() {\n" + "    g();\n" * (lines - 2) + "}\n"

        self.assertEqual(self.notes(body(50)), [])
        self.assertEqual(len(self.notes(body(51))), 1)
        self.passes(body(100))
        self.refused(body(101), "function of 101 lines")

    def test_python_functions_count_as_well(self):
        self.refused("def f():\n" + "    g()\n" * 100, "function of 101", path="scripts/a.py")

    def test_a_line_has_at_most_110_columns(self):
        self.passes("// " + "x" * 107 + "\n")
        self.refused("// " + "x" * 108 + "\n", "111 columns")

    def test_columns_are_characters_and_not_bytes(self):
        self.passes("// " + "\u2550" * 107 + "\n")

    def test_texts_may_have_long_lines(self):
        self.passes("x" * 200 + "\n", path="core/README.md")


RELEASE = "a.store(1, std::memory_order_release);"
ACQUIRE = "a.load(std::memory_order_acquire);"


class Pairs(Rules):
    rule = staticmethod(tidy.check_pairs)

    def test_both_ends_may_lie_in_different_files(self):
        self.passes(f"{RELEASE}  // pair: filled\n", shm__b_h=f"{ACQUIRE}  // pair: filled\n")

    def test_an_unnamed_ordered_access_is_refused(self):
        for order in ("acquire", "release", "acq_rel", "seq_cst"):
            self.refused(f"f(std::memory_order_{order});\n", f"{order} names no pair")
            self.refused(f"f(std::memory_order::{order});\n", f"{order} names no pair")

    def test_a_missing_end_is_refused(self):
        self.refused(f"{RELEASE}  // pair: filled\n", "filled has no acquire end")
        self.refused(f"{ACQUIRE}  // pair: filled\n", "filled has no release end")
        self.refused(f"{RELEASE}  // pair: one\n{ACQUIRE}  // pair: two\n", "one has no", "two has no")

    def test_a_name_may_be_used_in_several_places(self):
        self.passes(f"{RELEASE}  // pair: x\n{ACQUIRE}  // pair: x\n{ACQUIRE}  // pair: x\n")

    def test_the_name_may_stand_in_the_comment_above(self):
        self.passes(f"// pair: x\n{RELEASE}\n// A word on why,\n// pair: x\n// and more.\n{ACQUIRE}\n")

    def test_the_name_of_the_access_above_is_not_borrowed(self):
        self.refused(f"{RELEASE}  // pair: x\n{ACQUIRE}\n", "acquire names no pair")

    def test_the_name_may_stand_at_the_end_of_a_longer_statement(self):
        self.passes("a.compare_exchange_strong(b, c, std::memory_order_acq_rel,\n"
                    "    std::memory_order_relaxed);  // pair: x\n")

    def test_an_acq_rel_is_both_ends(self):
        self.passes("a.fetch_add(1, std::memory_order_acq_rel);  // pair: x\n")

    def test_a_single_seq_cst_lacks_its_other(self):
        fence = "std::atomic_thread_fence(std::memory_order_seq_cst);  // pair: sleep\n"
        self.refused(fence, "other seq_cst is missing")
        self.passes(fence + fence)

    def test_one_access_may_be_an_end_of_two_pairs(self):
        self.refused(f"{RELEASE}  // pair: x, y\n{ACQUIRE}  // pair: y\n", "pair x has no acquire end")
        self.passes(f"{RELEASE}  // pair: x, y\n{ACQUIRE}  // pair: y\n{ACQUIRE}  // pair: x\n")

    def test_a_wrapper_leaves_the_name_to_its_callers(self):
        wrapper = ("inline void full_fence() {\n"
                   "    std::atomic_thread_fence(std::memory_order_seq_cst);  // pair: caller\n}\n")
        self.refused(wrapper + "void f() {\n    full_fence();\n}\n", "seq_cst names no pair")
        self.passes(wrapper + "{\n    full_fence();  // pair: x\n    shm::full_fence();  // pair: x\n}\n")
        self.refused("v = load_acquire(p);  // pair: x\n", "no release end")
        self.passes("v = load_acquire(p);  // pair: x\nreturn store_release(p, v);  // pair: x\n")

    def test_verbs_called_release_are_no_orders(self):
        self.passes("ring.release(frame);\nlease.try_release();\nfence(session);\n")

    def test_comments_and_relaxed_accesses_need_no_name(self):
        self.passes("// memory_order_release is what the producer does\na.load(std::memory_order_relaxed);\n")

    def test_an_order_by_default_is_refused(self):
        for access in ("load()", "store(1)", "fetch_add(1)", "exchange(2)", "compare_exchange_weak(b, c)"):
            self.refused(f"std::atomic<int> a;\na.{access};\n", "spells its order out")
            self.refused(f"std::atomic<int>* a;\na->{access};\n", "spells its order out")
        self.passes("std::atomic<int> a;\na.store(f(1),\n    std::memory_order_relaxed);\n")
        self.passes("checkpoint.load();\nviews.store(row);\n")

    def test_tests_and_benchmarks_are_free(self):
        self.passes(f"{RELEASE}\n", path="tests/shm/a.cpp")


class Words(Rules):
    rule = staticmethod(tidy.check_words)

    def test_unfinished_work_is_refused(self):
        for word in ("TO" + "DO", "FIX" + "ME", "X" * 3):
            self.refused(f"// {word}: later\n", word)
        self.passes('mkdtemp("/tmp/pinnace-XXXXXX");\n')

    def test_the_whole_of_std_is_not_taken_in(self):
        self.refused("using namespace std" + ";\n")
        self.passes("using namespace std::chrono_literals;\n")

    def test_the_size_that_depends_on_the_compiler_is_refused(self):
        self.refused("alignas(std::hardware_destructive_interference_" + "size) int a;\n")

    def test_a_test_does_not_sleep_in_place_of_a_wait(self):
        for call in ("usleep(5);", "std::this_thread::sleep_for(1ms);", "::nanosleep(&t, nullptr);"):
            self.refused(call + "\n", path="tests/shm/a.cpp")
            self.passes(call + "\n", path="bindings/daemon/a.cpp")
            self.passes(f"{call}  // not a wait: the clock has to move\n", path="tests/shm/a.cpp")
            self.passes(f"// not a wait: the clock has to move\n{call}\n", path="tests/shm/a.cpp")
        self.refused("time" + ".sleep(1)\n", path="tests/scripts/a.py")

    def test_talking_of_sleep_is_allowed(self):
        self.passes("// sleep(1) would be wrong here\nasleep(1);\n", path="tests/shm/a.cpp")


class Heads(Rules):
    rule = staticmethod(tidy.check_heads)

    def test_the_licence_comes_first(self):
        self.passes(SPDX + "int a;\n")
        self.refused("int a;\n" + SPDX, "SPDX")
        self.refused("# a folder\n", "SPDX", path="core/CMakeLists.txt")

    def test_a_script_has_it_below_its_first_line(self):
        self.passes("#!/usr/bin/env bash\n# SPDX-License-Identifier: Apache-2.0\n", path="scripts/x")
        self.refused("#!/usr/bin/env bash\nset -e\n", "SPDX", path="scripts/x")

    def test_a_header_is_included_once(self):
        self.passes(SPDX + "#pragma once\n", path="core/a.h")
        self.refused(SPDX + "// #pragma once\n", "pragma", path="core/a.h")

    def test_a_text_needs_no_head(self):
        self.passes("# Title\n", path="core/README.md")


class TestNames(Rules):
    rule = staticmethod(tidy.check_test_names)

    def test_a_sentence_is_three_words_in_upper_camel(self):
        for macro in ("TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"):
            self.passes(f"{macro}(SpscRing, ClaimIsRefused) {{\n", path="tests/a.cpp")
            self.refused(f"{macro}(SpscRing, ClaimRefused) {{\n", "not a sentence", path="tests/a.cpp")

    def test_underscores_and_small_letters_are_refused(self):
        self.refused("TEST(A, Claim_Is_Refused) {\n", path="tests/a.cpp")
        self.refused("TEST(A, claimIsRefused) {\n", path="tests/a.cpp")

    def test_numbers_and_broken_lines_are_fine(self):
        self.passes("TEST(A, Rule7HoldsForAStep) {\nTEST(A,\n     ItHoldsAsWell) {\n", path="tests/a.cpp")


class Readmes(Rules):
    rule = staticmethod(tidy.check_readmes)

    def test_a_folder_with_sources_has_one(self):
        self.refused(SPDX, "core has no README.md")
        self.passes(SPDX, **{"core__README_md": "# core\n"})

    def test_one_screen_is_enough(self):
        def readme(lines):
            return problems(tidy.check_readmes, "x\n" * lines, path="core/README.md")

        self.assertEqual(readme(100), [])
        self.assertEqual([problem.note for problem in readme(101)], [True])
        self.assertEqual([problem.note for problem in readme(121)], [False])
        self.assertEqual(problems(tidy.check_readmes, "x\n" * 500, path="README.md"), [])


class Listed(Rules):
    rule = staticmethod(tidy.check_listed)

    def test_a_source_that_no_list_names_is_dead(self):
        self.refused("", "names this file")
        self.refused("", core__CMakeLists_txt="add_library(core aa.cpp a_b.cpp)")
        self.passes("", core__CMakeLists_txt="add_library(core a.cpp)")

    def test_the_list_of_a_folder_above_counts(self):
        self.passes("", path="core/queue/a.cpp", core__CMakeLists_txt="add_library(core queue/a.cpp)")


class Program(unittest.TestCase):
    def run_on(self, files, git=False):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as opened:
                    opened.write(text)
            if git:
                subprocess.run(["git", "-C", root, "init", "-q"], check=True)
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                code = tidy.main([root])
            return code, output.getvalue()

    def test_a_clean_tree_passes(self):
        code, output = self.run_on({"core/a.h": SPDX + "#pragma once\n", "core/README.md": "# core\n"})
        self.assertEqual((code, output), (0, "tidy: 2 files, 0 wrong, 0 to look at again\n"))

    def test_a_problem_is_printed_with_its_place(self):
        code, output = self.run_on({"core/a.h": SPDX + "\n#pragma once\n// " + "x" * 120 + "\n"})
        self.assertEqual(code, 1)
        self.assertIn("core/a.h:4: 123 columns", output)

    def test_what_git_ignores_is_not_looked_at(self):
        files = {".gitignore": "/out/\n", "out/a.h": "", "core/README.md": ""}
        self.assertEqual(self.run_on(files, git=True)[0], 0)
        self.assertEqual(self.run_on(files)[0], 1)


if __name__ == "__main__":
    unittest.main()
