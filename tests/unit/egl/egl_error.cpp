// SPDX-License-Identifier: LGPL-2.1-or-later
#include "engine/egl_error.hpp"

#include <set>

#include <gtest/gtest.h>

namespace gstdrm::egl {
namespace {

TEST(EglError, Names)
{
  EXPECT_EQ(egl_error_name(EGL_SUCCESS), "EGL_SUCCESS (0x3000)");
  EXPECT_EQ(egl_error_name(EGL_BAD_MATCH), "EGL_BAD_MATCH (0x3009)");
  EXPECT_EQ(egl_error_name(EGL_CONTEXT_LOST), "EGL_CONTEXT_LOST (0x300e)");
  EXPECT_EQ(egl_error_name(0x300f), "0x300f");
  EXPECT_EQ(egl_error_name(0), "0x0000");
  EXPECT_EQ(egl_error_name(-1), "0xffffffff");
  EXPECT_EQ(gl_error_name(GL_INVALID_OPERATION), "GL_INVALID_OPERATION (0x0502)");
  EXPECT_EQ(gl_error_name(0x0507), "GL_CONTEXT_LOST (0x0507)");
  EXPECT_EQ(gl_error_name(0x9999), "0x9999");
}

// EGL 1.5 numbers its errors without a gap; each has a name of its own.
TEST(EglError, EveryNumberOfTheSpecification)
{
  std::set<std::string> names;
  for (EGLint error = EGL_SUCCESS; error <= EGL_CONTEXT_LOST; ++error) {
    EXPECT_EQ(egl_error_name(error).find("EGL_"), 0U) << error;
    names.insert(egl_error_name(error));
  }
  EXPECT_EQ(names.size(), 15U);
}

TEST(EglError, WhatImportsMean)
{
  for (const EGLint error :
       {EGL_BAD_ACCESS, EGL_BAD_ALLOC, EGL_BAD_ATTRIBUTE, EGL_BAD_MATCH, EGL_BAD_PARAMETER})
    EXPECT_STRNE(import_error_meaning(error), "") << egl_error_name(error);
  EXPECT_STREQ(import_error_meaning(EGL_BAD_NATIVE_WINDOW), "");
  EXPECT_STREQ(import_error_meaning(EGL_SUCCESS), "");
  EXPECT_STREQ(import_error_meaning(0x1234), "");
}

TEST(DescribeLayout, EveryPlane)
{
  FrameLayout layout;
  layout.format = *parse_format("NV12:0x0100000000000002");
  layout.width = 640;
  layout.height = 480;
  layout.n_planes = 2;
  layout.planes[0] = {7, 0, 640, {{}, 460800}};
  layout.planes[1] = {8, 4096, 704, {{}, 172032}};
  EXPECT_EQ(
      describe_layout(layout),
      "NV12:0x0100000000000002 (INTEL_Y_TILED), 640x480; plane 0: fd 7, offset 0, stride 640, "
      "in 460800 bytes; plane 1: fd 8, offset 4096, stride 704, in 172032 bytes");
  layout.n_planes = 1000; // of somebody's mistake
  EXPECT_NE(describe_layout(layout).find("plane 3"), std::string::npos);
  EXPECT_EQ(describe_layout(layout).find("plane 4"), std::string::npos);
}

} // namespace
} // namespace gstdrm::egl
