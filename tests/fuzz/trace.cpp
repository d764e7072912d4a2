// SPDX-License-Identifier: LGPL-2.1-or-later
// Fuzz target: any bytes as a trace of drmverify. What is refused has one printable line that says
// why; what is read is judged and reported, and its result compared with itself.
#include "tools/verify/trace.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tools/verify/report.hpp"

namespace {

[[noreturn]] void fail(const char *what, const std::string &text)
{
  std::fprintf(stderr, "%s: %s\n", what, text.c_str());
  std::abort();
}

void check_text(std::string text)
{
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.empty() || inspect::printable(text) != text)
    fail("a text that is not printable", text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
  gst_init(nullptr, nullptr);
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const verify::Outcome<verify::Trace> trace = verify::parse_trace(text, "a file");
  if (!trace) {
    check_text(trace.failure.text);
    return 0;
  }
  const verify::Verdict verdict = verify::judge(*trace.value, {});
  check_text(verify::write_text(*trace.value, verdict));
  const std::string result = verify::write_json(*trace.value, verdict);
  check_text(result);
  const auto same = verify::compare(*trace.value, verdict, result, "its result");
  if (!same)
    fail("a result that is not read", same.failure.text);
  return 0;
}
