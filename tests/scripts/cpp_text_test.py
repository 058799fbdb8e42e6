#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of scripts/cpp_text.py: what is code, what is comment, and how long functions are."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import cpp_text  # noqa: E402


def lengths(text):
    return [length for _, length in cpp_text.functions(cpp_text.split(text)[0])]


class Split(unittest.TestCase):
    def code_is(self, text, code):
        self.assertEqual(cpp_text.split(text)[0].rstrip(), code)

    def test_both_texts_keep_the_length_and_the_lines(self):
        text = 'int a; // one\n/* two\n three */ auto b = R"x(\n"quoted" )y" )x"; char c = \'"\';\n'
        for part in cpp_text.split(text):
            self.assertEqual(len(part), len(text))
            self.assertEqual(part.count("\n"), text.count("\n"))

    def test_comments_are_no_code(self):
        self.code_is("f(); // g();", "f();")
        self.code_is("f(/* g() */);", "f(         );")
        self.assertIn("// g();", cpp_text.split("f(); // g();")[1])

    def test_a_comment_sign_within_a_string_is_no_comment(self):
        self.code_is('f("// no"); g();', 'f("     "); g();')
        self.assertEqual(cpp_text.split('f("// no");')[1].strip(), "")

    def test_an_escaped_quote_ends_no_string(self):
        self.code_is(r'f("\"; //"); g();', 'f("      "); g();')
        self.code_is(r"f('\''); g();", "f('  '); g();")

    def test_a_raw_string_ends_at_its_own_delimiter(self):
        self.code_is('f(R"a()" )b" // )a"); g();', 'f(R               "); g();')

    def test_digit_separators_start_no_character(self):
        self.code_is("a = 1'000'000; b = 'x';", "a = 1_000_000; b = ' ';")

    def test_a_line_comment_goes_on_after_a_backslash(self):
        self.code_is("// a \\\n b();\nc();", " " * 6 + "\n" + " " * 5 + "\nc();")


class Functions(unittest.TestCase):
    def test_a_body_counts_from_brace_to_brace(self):
        self.assertEqual(lengths("void f() {\n    g();\n}\n"), [3])

    def test_namespaces_and_classes_are_no_functions(self):
        text = "namespace a::b {\nclass C final : public D {\n public:\n    void f() {\n    }\n};\n}\n"
        self.assertEqual(lengths(text), [2])

    def test_a_template_parameter_called_class_makes_no_class(self):
        self.assertEqual(lengths("template <class T, template <class> class R>\nvoid f(T t) {\n\n}\n"), [3])

    def test_a_function_that_returns_a_struct_is_one(self):
        self.assertEqual(lengths("struct point f(int x) {\n}\n"), [2])

    def test_blocks_and_lambdas_belong_to_their_function(self):
        inner = "if (a) {\n}\nauto l = [] {\n};\nstruct S {\n    int a() { return 1; }\n};\n"
        self.assertEqual(lengths("void f() {\n" + inner + "}\n"), [9])

    def test_a_constructor_counts_after_its_initializers(self):
        self.assertEqual(lengths("C::C(int a) : a_{a}, b_{1, 2} {\n    f();\n\n}\n"), [4])

    def test_tables_are_no_functions(self):
        self.assertEqual(lengths("constexpr Row kTable[] = {\n    {1, 2},\n    {make(3), 4},\n};\n"), [])
        members = "    int a{0};\n    int b = f({1});\n    S() {\n    }\n"
        self.assertEqual(lengths("struct S {\n" + members + "};\n"), [2])

    def test_test_macros_are_functions(self):
        self.assertEqual(lengths("TEST(Ring, IsEmptyAtFirst) {\n    EXPECT_TRUE(a);\n}\n"), [3])

    def test_braces_of_macros_do_not_count(self):
        self.assertEqual(lengths("#define BEGIN { \\\n    {\nvoid f() {\n}\n"), [2])

    def test_the_place_is_the_line_of_the_brace(self):
        self.assertEqual(cpp_text.functions("\nint f(\n    int a) {\n}\n"), [(3, 2)])


if __name__ == "__main__":
    unittest.main()
