// SPDX-License-Identifier: LGPL-2.1-or-later
// Fuzz target: any bytes as a saved machine of gst-drm-inspect-1.0, and as a table of pairs. What is
// refused has one printable line that says why; what is read is written, and read as the same.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tools/inspect/snapshot.hpp"

namespace {

[[noreturn]] void fail(const char *what, const std::string &text)
{
  std::fprintf(stderr, "%s: %s\n", what, text.c_str());
  std::abort();
}

void check_refusal(const std::string &text)
{
  if (text.empty() || inspect::printable(text) != text)
    fail("a refusal that is no printable line", text);
}

void try_snapshot(std::string_view text)
{
  const inspect::Outcome<inspect::Machine> machine = inspect::parse_snapshot(text, "a file");
  if (!machine) {
    check_refusal(machine.failure.text);
    return;
  }
  const std::string written = inspect::write_snapshot(*machine.value);
  const auto again = inspect::parse_snapshot(written, "what was written");
  if (!again || inspect::write_snapshot(*again.value) != written)
    fail("what was written is read otherwise", written);
}

void try_table(std::string_view text)
{
  const inspect::Outcome<inspect::Source> table = inspect::parse_table(text, "a file");
  if (!table)
    check_refusal(table.failure.text);
  else if (!inspect::to_set(*table.value))
    fail("a table without a set", inspect::describe(*table.value));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  try_snapshot(text);
  try_table(text);
  return 0;
}
