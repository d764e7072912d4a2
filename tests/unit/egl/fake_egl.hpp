// SPDX-License-Identifier: LGPL-2.1-or-later
// A driver of the tests' own behind the functions of EGL and GL that the engine calls. Lists what
// it is told to, checks what it is given as the extensions say, counts what is alive, and fails the
// call it is told to. For failures that no real driver produces on demand; pixels are for real
// ones.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/format.hpp"
#include "engine/egl_calls.hpp"

namespace gstdrm::test {

struct FakeModifier {
  std::uint64_t modifier = 0;
  bool external_only = false;
};

struct FakeFormat {
  std::uint32_t fourcc = 0;
  std::vector<FakeModifier> modifiers;
};

// What eglCreateImageKHR() was given.
struct FakeImage {
  struct Plane {
    int fd = -1;
    EGLint offset = -1;
    EGLint pitch = -1;
    std::optional<std::uint64_t> modifier;
  };
  EGLint width = 0;
  EGLint height = 0;
  std::uint32_t fourcc = 0;
  std::array<std::optional<Plane>, kMaxPlanes> planes;
  std::map<EGLint, EGLint> hints; // EGL_YUV_COLOR_SPACE_HINT_EXT and the like
  bool external_only = false;

  [[nodiscard]] unsigned plane_count() const;
};

struct FakeTexture {
  GLenum target = 0; // 0: never bound
  std::optional<FakeImage> image;
  std::map<GLenum, GLint> parameters;
};

// One at a time. GL functions belong to the thread that made it.
class FakeEgl {
public:
  FakeEgl();
  FakeEgl(const FakeEgl &) = delete;
  FakeEgl &operator=(const FakeEgl &) = delete;
  ~FakeEgl();

  [[nodiscard]] egl::Calls calls() const;
  // As eglGetProcAddress() would be; a name in `missing` is not found.
  [[nodiscard]] egl::Loader loader() const;
  [[nodiscard]] EGLDisplay display() const noexcept;
  // GL calls from now on belong to this thread.
  void take_thread() noexcept { thread_ = std::this_thread::get_id(); }
  // One of the tables of tests/data/egl-formats.
  void load_table(const std::string &name);
  // The n-th call of a function from now on fails, with an error of EGL or GL; 1 is the next.
  // In brackets, as gstcheck.h has a macro of that name.
  void(fail)(const std::string &function, unsigned nth, unsigned error = EGL_BAD_ALLOC);

  // What tests set.
  std::set<std::string> missing;
  std::string egl_vendor = "Fake";
  std::string egl_version = "1.5";
  std::string egl_extensions =
      "EGL_KHR_image_base EGL_EXT_image_dma_buf_import EGL_EXT_image_dma_buf_import_modifiers "
      "EGL_KHR_fence_sync EGL_KHR_wait_sync EGL_ANDROID_native_fence_sync";
  std::string client_extensions = "EGL_EXT_client_extensions EGL_EXT_device_query";
  std::string device_extensions = "EGL_EXT_device_drm EGL_EXT_device_drm_render_node";
  std::string card_node = "/dev/null"; // a node that every machine has
  std::string render_node;             // empty: the query fails
  bool has_device = true;
  std::string gl_renderer = "Fake GPU";
  std::string gl_version = "OpenGL ES 3.2 Mesa 26.1.6";
  std::string gl_extensions = "GL_OES_EGL_image GL_OES_EGL_image_external";
  bool has_context = true; // else every glGetString() answers nothing
  GLint max_texture_size = 16384;
  GLint reset_strategy = GL_NO_RESET_NOTIFICATION_KHR;
  GLenum reset_status = GL_NO_ERROR;
  std::vector<FakeFormat> formats;
  EGLint pitch_alignment = 1;  // eglCreateImageKHR() refuses others with EGL_BAD_ALLOC
  bool takes_dead_fds = false; // as Mesa 25.0 without a surface does
  bool framebuffers_complete = true;
  // Added to the counts of the queries, one value for each call; 0 after the last.
  std::vector<EGLint> format_count_errors;
  std::vector<EGLint> modifier_count_errors;
  GLint extension_count_error = 0;
  // Refuses an image with the error that it returns; EGL_SUCCESS: takes it.
  std::function<EGLint(const FakeImage &)> refuse_image;
  // A descriptor for each native fence; a memfd where it is empty.
  std::function<int()> make_fence_fd;

  // What tests read.
  [[nodiscard]] bool is_gles() const { return gl_version.starts_with("OpenGL ES"); }
  [[nodiscard]] bool is_core_profile() const;
  [[nodiscard]] bool has_gl_extension(const std::string &name) const;
  [[nodiscard]] bool has_clip_control() const;
  [[nodiscard]] unsigned calls_of(const std::string &function) const;
  [[nodiscard]] unsigned all_calls() const;
  // Those of these functions, in their order.
  [[nodiscard]] std::vector<std::string> order_of(const std::set<std::string> &functions) const;
  void forget_calls()
  {
    counts_.clear();
    order_.clear();
  }
  [[nodiscard]] unsigned live_images() const { return static_cast<unsigned>(images.size()); }
  [[nodiscard]] unsigned live_syncs() const { return static_cast<unsigned>(syncs.size()); }
  [[nodiscard]] unsigned live_textures() const { return static_cast<unsigned>(textures.size()); }
  // Images, syncs, textures, framebuffers, buffers, vertex arrays, shaders, programs.
  [[nodiscard]] unsigned alive() const;
  std::optional<FakeImage> last_image; // also one that was refused
  unsigned double_frees = 0;           // destroyed what was not there
  unsigned foreign_calls = 0;          // GL calls on another thread than the context's
  unsigned flushes = 0;

  // What is alive, by its number.
  struct Sync {
    int fd = -1; // that was handed over, or that is handed out
    bool is_import = false;
    unsigned flushes = 0; // when it was made
  };
  std::map<std::uintptr_t, FakeImage> images;
  std::map<std::uintptr_t, Sync> syncs;
  std::map<GLuint, FakeTexture> textures;
  std::map<GLuint, GLuint> framebuffers; // to the texture that is attached
  std::set<GLuint> buffers, shaders, programs, vertex_arrays;
  std::map<GLenum, bool> enabled;
  std::map<GLenum, GLuint> bound; // texture, framebuffer and buffer targets
  GLuint program = 0;
  GLenum active_texture = GL_TEXTURE0;
  std::array<GLboolean, 4> color_mask{GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE};
  std::array<GLboolean, 4> second_color_mask = color_mask; // of the second draw buffer
  bool second_blends = false;                              // with glEnablei(), or glEnable()
  bool second_is_cut = false;                              // GL_SCISSOR_TEST, likewise
  std::array<GLfloat, 4> viewport{}, second_viewport{};    // with glViewport(), both
  bool is_upside_down = false;                             // GL_CLIP_ORIGIN
  std::array<GLint, 2> polygon_mode{GL_FILL_NV, GL_FILL_NV};
  GLuint vertex_array = 0;           // bound
  unsigned foreign_attributes = 0;   // set in a vertex array that the engine has not made
  std::map<GLuint, GLuint> samplers; // bound to texture units
  // Of the last glDrawArrays(): what would have kept its samples out of the frame, or changed them.
  std::vector<std::string> in_the_way;

  // For the functions of the driver. Counts the call; false: it fails, with the error set.
  bool enter_egl(const char *function);
  bool enter_gl(const char *function);
  EGLBoolean set_egl_error(unsigned error);
  void set_gl_error(unsigned error);
  unsigned take_egl_error();
  unsigned take_gl_error();
  EGLint next_count_error(std::vector<EGLint> &errors);
  GLuint next_number() { return ++last_number_; }
  static FakeEgl &now();

private:
  struct Failure {
    unsigned in = 0; // calls from now
    unsigned error = 0;
  };
  bool fails(const char *function, unsigned &error);

  std::map<std::string, unsigned> counts_;
  std::vector<std::string> order_; // of all calls
  std::map<std::string, Failure> failures_;
  unsigned egl_error_ = EGL_SUCCESS;
  unsigned gl_error_ = GL_NO_ERROR;
  GLuint last_number_ = 0;
  std::thread::id thread_ = std::this_thread::get_id();
};

// The functions by name: fake_egl_functions.cpp, fake_gl.cpp and fake_gl_drawing.cpp.
void *fake_egl_function(const std::string &name);
void *fake_gl_function(const std::string &name);
void *fake_gl_drawing_function(const std::string &name);
// What glGetIntegerv() answers of the state that fake_gl_drawing.cpp sets.
void fake_gl_state(FakeEgl &driver, GLenum name, GLint *value);

} // namespace gstdrm::test
