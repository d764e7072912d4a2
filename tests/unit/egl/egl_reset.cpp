// SPDX-License-Identifier: LGPL-2.1-or-later
// Contexts that are lost: who is asked, by which function, and what is said of it.
#include "engine/egl_device.hpp"

#include <string>

#include <drm_fourcc.h>

#include "egl_frames.hpp"
#include "engine/egl_fences.hpp"
#include "engine/gl_draw.hpp"

namespace gstdrm::egl {
namespace {

using test::MemfdFrame;

class Reset : public test::WithDevice {
protected:
  // A robust context of a driver with that version and those extensions.
  void be_robust(const char *version = "OpenGL ES 3.1 Mesa 26.1.6",
                 const char *extension = "GL_KHR_robustness")
  {
    driver_.gl_version = version;
    driver_.gl_extensions = std::string("GL_OES_EGL_image GL_OES_EGL_image_external ") + extension;
    driver_.reset_strategy = GL_LOSE_CONTEXT_ON_RESET_KHR;
    open();
  }
};

struct NameRow {
  const char *version;
  const char *extension;
  const char *missing;  // the loader does not find it
  const char *function; // that is asked; nullptr: none
};

// Each name belongs to an extension or to a version: the loader finds all of them (libglvnd).
TEST_F(Reset, EachDriverHasANameForIt)
{
  const NameRow rows[] = {
      {"OpenGL ES 3.1 Mesa 26.1.6", "GL_KHR_robustness", "", "glGetGraphicsResetStatusKHR"},
      {"OpenGL ES 3.2 Mesa 26.1.6", "GL_KHR_robustness", "", "glGetGraphicsResetStatusKHR"},
      {"OpenGL ES 3.1 Mesa 26.1.6", "GL_EXT_robustness", "", "glGetGraphicsResetStatusEXT"},
      {"OpenGL ES 3.1 Mesa 26.1.6", "GL_EXT_robustness GL_KHR_robustness",
       "glGetGraphicsResetStatusKHR", "glGetGraphicsResetStatusEXT"},
      {"OpenGL ES 3.2 Mesa 26.1.6", "", "", "glGetGraphicsResetStatus"},
      {"OpenGL ES 2.0 Mesa 26.1.6", "", "", nullptr},
      {"OpenGL ES 3.1 Mesa 26.1.6", "GL_ARB_robustness", "", nullptr},
      {"OpenGL ES 3.2 Mesa 26.1.6", "", "glGetGraphicsResetStatus", nullptr},
      {"4.5 (Core Profile) Mesa 26.1.6", "", "", "glGetGraphicsResetStatus"},
      {"4.6.0 NVIDIA 570.86.15", "", "", "glGetGraphicsResetStatus"},
      {"4.4 (Core Profile) Mesa 26.1.6", "", "", nullptr},
      {"3.3 (Core Profile) Mesa 26.1.6", "GL_KHR_robustness", "", "glGetGraphicsResetStatus"},
      {"2.1 Mesa 26.1.6", "GL_ARB_robustness", "", "glGetGraphicsResetStatusARB"},
      {"2.1 Mesa 26.1.6", "GL_EXT_robustness", "", nullptr},
  };
  for (const NameRow &row : rows) {
    const std::string name = std::string(row.version) + ", " + row.extension;
    driver_.missing = {row.missing};
    driver_.reset_status = GL_NO_ERROR;
    be_robust(row.version, row.extension);
    EXPECT_EQ(device_->reports_resets(), row.function != nullptr) << name;
    device_->look_for_reset();
    EXPECT_FALSE(device_->is_lost()) << name;
    driver_.reset_status = GL_INNOCENT_CONTEXT_RESET_KHR;
    device_->look_for_reset();
    EXPECT_EQ(device_->is_lost(), row.function != nullptr) << name;
    EXPECT_EQ(driver_.all_calls(), row.function ? 2U : 0U) << name;
    if (row.function) {
      EXPECT_EQ(driver_.calls_of(row.function), 2U) << name;
    }
  }
}

// GStreamer makes none that is told of resets: such a context is asked nothing at all.
TEST_F(Reset, OrdinaryContextsAreNotAsked)
{
  for (const GLint strategy : {GL_NO_RESET_NOTIFICATION_KHR, 0}) {
    be_robust();
    driver_.reset_strategy = strategy;
    open();
    driver_.reset_status = GL_GUILTY_CONTEXT_RESET_KHR;
    EXPECT_FALSE(device_->reports_resets());
    device_->look_for_reset();
    EXPECT_FALSE(device_->is_lost());
    EXPECT_EQ(driver_.all_calls(), 0U);
  }
}

struct StatusRow {
  GLenum status;
  const char *words;
};

// What was lost stays lost, though the status is none again when the reset is over
// (GL_KHR_robustness).
TEST_F(Reset, LossIsForEver)
{
  const StatusRow rows[] = {
      {GL_GUILTY_CONTEXT_RESET_KHR, "GL_GUILTY_CONTEXT_RESET (0x8253)"},
      {GL_INNOCENT_CONTEXT_RESET_KHR, "GL_INNOCENT_CONTEXT_RESET (0x8254)"},
      {GL_UNKNOWN_CONTEXT_RESET_KHR, "GL_UNKNOWN_CONTEXT_RESET (0x8255)"},
      {0x1234, "0x1234"},
  };
  for (const StatusRow &row : rows) {
    driver_.reset_status = row.status;
    be_robust();
    device_->look_for_reset();
    driver_.reset_status = GL_NO_ERROR;
    device_->look_for_reset();
    device_->note_error(EGL_CONTEXT_LOST); // which says less
    EXPECT_TRUE(device_->is_lost());
    const Error loss = device_->loss();
    EXPECT_EQ(loss.code, ErrorCode::Device);
    for (const std::string &part : {std::string(row.words), device_->driver().describe(),
                                    std::string("Set the pipeline to NULL")})
      EXPECT_NE(loss.message.find(part), std::string::npos) << loss.message;
  }
}

TEST_F(Reset, ErrorsThatSaySo)
{
  for (const unsigned error : {unsigned{EGL_CONTEXT_LOST}, 0x0507U}) {
    open();
    for (const unsigned other : {unsigned{EGL_BAD_ALLOC}, unsigned{EGL_BAD_CONTEXT},
                                 unsigned{GL_OUT_OF_MEMORY}, unsigned{GL_NO_ERROR}}) {
      device_->note_error(other);
      EXPECT_FALSE(device_->is_lost()) << other;
    }
    device_->note_error(error);
    EXPECT_TRUE(device_->is_lost());
    EXPECT_NE(device_->loss().message.find("CONTEXT_LOST"), std::string::npos)
        << device_->loss().message;
  }
}

struct CallRow {
  const char *function;
  unsigned error;
};

// Also where no context is robust: each call of an import, a fence and a draw.
TEST_F(Reset, EachCallThatSaysSo)
{
  const CallRow rows[] = {
      {"eglCreateImageKHR", EGL_CONTEXT_LOST},
      {"glEGLImageTargetTexture2DOES", 0x0507},
      {"glTexParameteri", 0x0507},
      {"eglCreateSyncKHR", EGL_CONTEXT_LOST},
      {"glFramebufferTexture2D", 0x0507},
      {"glBufferData", 0x0507},
      {"glBlitFramebuffer", 0x0507},
      {"glDrawArrays", 0x0507},
  };
  const MemfdFrame frame(DRM_FORMAT_XRGB8888, 64, 48, 256);
  for (const CallRow &row : rows) {
    open();
    driver_.fail(row.function, 1, row.error);
    const auto imported = import_frame(device_, frame.layout, Shape::OneImage, {});
    (void)static_cast<bool>(fence_of_commands(*device_));
    const auto painter = Painter::make(device_);
    auto target = DrawTarget::import(device_, frame.layout);
    if (imported && painter && target) {
      Picture picture;
      picture.texture = (*imported)->textures[0].id();
      picture.flip = std::string(row.function) == "glDrawArrays"; // else a blit does
      (void)static_cast<bool>((*painter)->draw(picture, **target, {}));
    }
    EXPECT_TRUE(device_->is_lost()) << row.function;
  }
}

} // namespace
} // namespace gstdrm::egl
