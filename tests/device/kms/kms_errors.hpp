// SPDX-License-Identifier: LGPL-2.1-or-later
// What the sources of the program kms_errors share.
#pragma once

#include <string>
#include <vector>

#include "kms_support.hpp"

namespace gstdrm::test {

inline void expect_words(const std::string &message, const std::vector<std::string> &words,
                         const char *row)
{
  for (const std::string &word : words)
    ck_assert_msg(message.find(word) != std::string::npos, "%s: \"%s\" is not in \"%s\"", row,
                  word.c_str(), message.c_str());
}

// The card of a driver; empty: there is none. Numbers differ from kernel to kernel.
std::string card_of(const char *driver);
void expect_no_error(Sink &sink, const char *row);
// The sink refuses to open, with one error that has all these words.
void expect_open_error(const char *row, const std::string &properties,
                       const std::vector<std::string> &words);

// kms_errors_programs.cpp: other programs that have the display
void add_program_error_cases(TCase *tc);
// kms_errors_buffers.cpp
void add_buffer_error_cases(TCase *tc);

} // namespace gstdrm::test
