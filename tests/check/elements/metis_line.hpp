// SPDX-License-Identifier: LGPL-2.1-or-later
// What the hostile tests of metisdmabufinfer, drmtensordecode and drmoverlay share: a network that
// finds the same two objects in every picture, and the three elements in a line.
#pragma once

#include <string>

#include "support/constant_network.hpp"
#include "support/dmabuf_elements.hpp"

namespace gstdrm::test::line {

inline ConstantNetwork two_objects()
{
  ConstantNetwork network;
  network.give("boxes", {1, 3, 4}, {0.25F, 0.125F, 0.75F, 0.5F, 0, 0.5F, 0.25F, 0.75F, 0, 0, 0.5F, 0.5F});
  network.give("scores", {1, 3}, {0.875F, 0.5F, 0.75F});
  network.give("classes", {1, 3}, {1, 0, 1});
  network.give("count", {1}, {2});
  return network;
}

// The model's file, for as long as the process runs.
inline const std::string &model_path()
{
  static const ScratchFile file(".onnx", two_objects().file());
  return file.path();
}

inline std::string infer(const std::string &properties = "")
{
  return "metisdmabufinfer backend=cpu cpu-threads=1 model=" + model_path() + " " + properties;
}

// The element that a row of a table names.
inline std::string described(const char *element)
{
  return g_str_equal(element, "metisdmabufinfer") ? infer() : element;
}

} // namespace gstdrm::test::line
