// SPDX-License-Identifier: LGPL-2.1-or-later
// Fuzz target: any bytes as a saved machine of gst-drm-inspect-1.0, and as a table of pairs. What
// is refused has one printable line that says why; what is read is written, and read as the same.
// All that the tool says of a machine without starting anything is said: the list, --why and the
// matrices.
#include "tools/inspect/snapshot.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tools/inspect/matrix.hpp"
#include "tools/inspect/why.hpp"

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

void check_text(const std::string &text)
{
  std::string one_line = text;
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  if (one_line.empty() || inspect::printable(one_line) != one_line)
    fail("a text that is not printable", text);
}

void tell(const inspect::Machine &machine)
{
  using inspect::Form;
  if (machine.sources.empty())
    return;
  check_text(inspect::list_machine(machine));
  const inspect::Side first = inspect::side_of(machine, machine.sources.front());
  const inspect::Side last = inspect::side_of(machine, machine.sources.back());
  check_text(inspect::explain(first, last).text);
  check_text(inspect::explain(last, first).text);
  for (const Form form : {Form::Text, Form::Svg, Form::Html, Form::Json}) {
    const inspect::Outcome<std::string> matrix = inspect::draw_matrix(machine.sources, form);
    if (matrix)
      check_text(*matrix.value);
    else
      check_refusal(matrix.failure.text);
  }
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
  tell(*machine.value);
}

void try_table(std::string_view text)
{
  const inspect::Outcome<inspect::Source> table = inspect::parse_table(text, "a file");
  if (!table) {
    check_refusal(table.failure.text);
    return;
  }
  if (!inspect::to_set(*table.value))
    fail("a table without a set", inspect::describe(*table.value));
  inspect::Machine machine;
  machine.sources.push_back(*table.value);
  tell(machine);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  try_snapshot(text);
  try_table(text);
  return 0;
}
