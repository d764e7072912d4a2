// SPDX-License-Identifier: LGPL-2.1-or-later
// Fuzz target: any bytes as a drm-format string. What is read has to be written back and read as the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/format.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const gstdrm::Result<gstdrm::Format> format = gstdrm::parse_format(text);
  if (!format) {
    if (format.error().message.empty())
      std::abort();
    return 0;
  }
  const gstdrm::FormatText written = gstdrm::format_to_text(*format);
  const gstdrm::Result<gstdrm::Format> again = gstdrm::parse_format(written.view());
  if (!again || *again != *format || written.length > 31)
    std::abort();
  if (gstdrm::describe_format(*format).empty())
    std::abort();
  return 0;
}
