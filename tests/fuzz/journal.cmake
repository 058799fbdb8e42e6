# SPDX-License-Identifier: Apache-2.0
if(PINNACE_FUZZ)
    add_executable(journal_reader_fuzz journal_reader_fuzz.cpp)
    target_link_libraries(journal_reader_fuzz PRIVATE pinnace_journal)
    target_compile_options(journal_reader_fuzz PRIVATE -fsanitize=fuzzer)
    target_link_options(journal_reader_fuzz PRIVATE -fsanitize=fuzzer)
endif()
