// SPDX-License-Identifier: LGPL-2.1-or-later
// GStreamer's own tensors, which it has since 1.26, to compare with what a table says.
#pragma once

#include <string>

#define GST_USE_UNSTABLE_API
#include <gst/analytics/analytics.h>

#include "check_main.hpp"

namespace gstdrm::test {

inline void check_text(const std::string &text, const char *expected)
{
  fail_unless(text == expected, "'%s' where '%s' was expected", text.c_str(), expected);
}

// "1x896x16"
inline std::string dims_of(const GstTensor &tensor)
{
  std::string text;
  for (gsize i = 0; i < tensor.num_dims; i++)
    text += (i > 0 ? "x" : "") + std::to_string(tensor.dims[i]);
  return text;
}

} // namespace gstdrm::test
