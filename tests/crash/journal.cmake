# SPDX-License-Identifier: Apache-2.0
pinnace_test(journal_crash_test crash
    SOURCES journal_kill_test.cpp
    LINKS pinnace_journal)
