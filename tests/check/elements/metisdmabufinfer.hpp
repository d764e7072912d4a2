// SPDX-License-Identifier: LGPL-2.1-or-later
// What the parts of the program metisdmabufinfer share.
#pragma once

#include <string>
#include <vector>

#include <gst/drm/gstdrmtensormeta.h>

#include "support/dmabuf_elements.hpp"
#include "support/open_fds.hpp"
#include "support/templates.hpp"

namespace gstdrm::test::infer {

using gstdrm::GstPtr;
using gstdrm::test::dmabuf_caps;
using gstdrm::test::Harness;
using gstdrm::test::new_dmabuf_frame;
using gstdrm::test::new_frame;
using gstdrm::test::plain_caps;
using gstdrm::test::test_kinds;

inline constexpr int kWidth = 64;
inline constexpr int kHeight = 48;
inline constexpr const char *kGroup = "blazeface-short-range-128";

inline std::string model_path()
{
  return std::string(g_getenv("GST_DRM_TEST_DATA")) + "/models/blazeface-short-128.onnx";
}

inline std::string element_with(const std::string &properties)
{
  return "metisdmabufinfer backend=cpu cpu-threads=1 model=" + model_path() + " " + properties;
}

inline GstPtr<GstBuffer> pull(const Harness &harness)
{
  GstPtr<GstBuffer> buffer = harness.pull();
  fail_unless(static_cast<bool>(buffer), "no buffer: %s", harness.last_error().c_str());
  return buffer;
}

inline void push(const Harness &harness, GstBuffer *buffer)
{
  const GstFlowReturn flow = gst_harness_push(harness.get(), buffer);
  fail_unless(flow == GST_FLOW_OK, "%s: %s", gst_flow_get_name(flow), harness.last_error().c_str());
}

inline void check_tensors(GstBuffer *buffer, bool dmabuf)
{
  GstDrmTensorMeta *meta = gst_buffer_get_drm_tensor_meta(buffer, kGroup);
  fail_unless(meta != nullptr, "no tensors");
  fail_unless_equals_int(gst_drm_tensor_meta_get_n_tensors(meta), 2);
  fail_unless_equals_string(gst_drm_tensor_meta_get_decoder(meta), "blazeface");
  fail_unless_equals_int(meta->placement.input_width, 128);
  fail_unless_equals_int(meta->placement.input_height, 128);
  fail_unless_equals_float(meta->placement.scale_x, 128.0 / kWidth);
  const GstDrmTensor *scores = gst_drm_tensor_meta_get_tensor(meta, 1);
  fail_unless_equals_string(scores->name, "blazeface-short-range-128-scores");
  fail_unless_equals_int(scores->n_dims, 3);
  fail_unless_equals_int(static_cast<int>(scores->dims[1].size), 896);
  fail_unless(gst_is_dmabuf_memory(scores->memory) == dmabuf);
  gsize n_values = 0;
  GError *error = nullptr;
  gfloat *values = gst_drm_tensor_meta_dup_float32(meta, 1, GST_SECOND, &n_values, &error);
  fail_unless(values != nullptr, "%s", error ? error->message : "");
  fail_unless_equals_int(static_cast<int>(n_values), 896);
  bool differ = false;
  for (gsize i = 1; i < n_values; i++)
    differ |= values[i] != values[0];
  fail_unless(differ, "all scores are %f", values[0]);
  g_free(values);
}

TCase *change_cases(); // flushes, new caps, pads and states
TCase *nvmm_cases();   // memory:NVMM

} // namespace gstdrm::test::infer
