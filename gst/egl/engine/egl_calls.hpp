// SPDX-License-Identifier: LGPL-2.1-or-later
// The functions of EGL and of GL that the engine calls, as one driver has them. A test fills in
// functions of its own.
#pragma once

#include <functional>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h> // has what gl2ext.h needs
#include <GLES2/gl2ext.h>
#include <GLES3/gl3.h>

#include <gst/drm/core/result.hpp>

namespace gstdrm::egl {

// Looks a function up by its name; nullptr where there is none.
using Loader = std::function<void *(const char *name)>;

// A function of an extension that the driver has not is nullptr; those without a remark are there
// always.
struct EglCalls {
  PFNEGLGETERRORPROC get_error = nullptr;
  PFNEGLQUERYSTRINGPROC query_string = nullptr;
  PFNEGLGETCURRENTDISPLAYPROC get_current_display = nullptr;
  // EGL_KHR_image_base
  PFNEGLCREATEIMAGEKHRPROC create_image = nullptr;
  PFNEGLDESTROYIMAGEKHRPROC destroy_image = nullptr;
  // EGL_EXT_image_dma_buf_import_modifiers
  PFNEGLQUERYDMABUFFORMATSEXTPROC query_formats = nullptr;
  PFNEGLQUERYDMABUFMODIFIERSEXTPROC query_modifiers = nullptr;
  // EGL_KHR_fence_sync, EGL_KHR_wait_sync, EGL_ANDROID_native_fence_sync
  PFNEGLCREATESYNCKHRPROC create_sync = nullptr;
  PFNEGLDESTROYSYNCKHRPROC destroy_sync = nullptr;
  PFNEGLCLIENTWAITSYNCKHRPROC client_wait_sync = nullptr;
  PFNEGLWAITSYNCKHRPROC wait_sync = nullptr;
  PFNEGLDUPNATIVEFENCEFDANDROIDPROC dup_native_fence_fd = nullptr;
  // EGL_EXT_device_query
  PFNEGLQUERYDISPLAYATTRIBEXTPROC query_display_attrib = nullptr;
  PFNEGLQUERYDEVICESTRINGEXTPROC query_device_string = nullptr;
};

// OpenGL ES 2.0 and what desktop GL has of it.
struct GlCalls {
  PFNGLGETERRORPROC get_error = nullptr;
  PFNGLGETSTRINGPROC get_string = nullptr;
  PFNGLGETSTRINGIPROC get_stringi = nullptr; // GL 3.0, GL ES 3.0
  PFNGLGETINTEGERVPROC get_integerv = nullptr;
  PFNGLISENABLEDPROC is_enabled = nullptr;
  PFNGLENABLEPROC enable = nullptr;
  PFNGLDISABLEPROC disable = nullptr;
  PFNGLFLUSHPROC flush = nullptr;
  PFNGLFINISHPROC finish = nullptr;
  PFNGLGENTEXTURESPROC gen_textures = nullptr;
  PFNGLDELETETEXTURESPROC delete_textures = nullptr;
  PFNGLACTIVETEXTUREPROC active_texture = nullptr;
  PFNGLBINDTEXTUREPROC bind_texture = nullptr;
  PFNGLTEXPARAMETERIPROC tex_parameteri = nullptr;
  PFNGLGENFRAMEBUFFERSPROC gen_framebuffers = nullptr;
  PFNGLDELETEFRAMEBUFFERSPROC delete_framebuffers = nullptr;
  PFNGLBINDFRAMEBUFFERPROC bind_framebuffer = nullptr;
  PFNGLFRAMEBUFFERTEXTURE2DPROC framebuffer_texture_2d = nullptr;
  PFNGLCHECKFRAMEBUFFERSTATUSPROC check_framebuffer_status = nullptr;
  PFNGLVIEWPORTPROC viewport = nullptr;
  PFNGLCOLORMASKPROC color_mask = nullptr;
  PFNGLBINDSAMPLERPROC bind_sampler = nullptr; // OpenGL 3.3, OpenGL ES 3.0
  // Of one draw buffer: OpenGL 3.0, OpenGL ES 3.2, GL_OES_draw_buffers_indexed; null where there
  // are none. Those of an extension are null in an opened device, which calls the others.
  PFNGLCOLORMASKIOESPROC color_mask_i = nullptr;
  PFNGLCOLORMASKIOESPROC color_mask_i_oes = nullptr;
  // of one viewport: OpenGL 4.1, GL_ARB_viewport_array, GL_OES_viewport_array
  PFNGLVIEWPORTINDEXEDFVOESPROC viewport_i = nullptr;
  PFNGLVIEWPORTINDEXEDFVOESPROC viewport_i_oes = nullptr;
  PFNGLGETFLOATI_VOESPROC get_float_i = nullptr;
  PFNGLGETFLOATI_VOESPROC get_float_i_oes = nullptr;
  // of one draw buffer or of one viewport, whichever there is
  PFNGLENABLEIOESPROC enable_i = nullptr;
  PFNGLENABLEIOESPROC enable_i_oes = nullptr;
  PFNGLDISABLEIOESPROC disable_i = nullptr;
  PFNGLDISABLEIOESPROC disable_i_oes = nullptr;
  // OpenGL 4.5, GL_ARB_clip_control, GL_EXT_clip_control
  PFNGLCLIPCONTROLEXTPROC clip_control = nullptr;
  PFNGLCLIPCONTROLEXTPROC clip_control_ext = nullptr;
  PFNGLPOLYGONMODENVPROC polygon_mode = nullptr; // desktop GL
  PFNGLCREATESHADERPROC create_shader = nullptr;
  PFNGLDELETESHADERPROC delete_shader = nullptr;
  PFNGLSHADERSOURCEPROC shader_source = nullptr;
  PFNGLCOMPILESHADERPROC compile_shader = nullptr;
  PFNGLGETSHADERIVPROC get_shaderiv = nullptr;
  PFNGLGETSHADERINFOLOGPROC get_shader_info_log = nullptr;
  PFNGLCREATEPROGRAMPROC create_program = nullptr;
  PFNGLDELETEPROGRAMPROC delete_program = nullptr;
  PFNGLATTACHSHADERPROC attach_shader = nullptr;
  PFNGLBINDATTRIBLOCATIONPROC bind_attrib_location = nullptr;
  PFNGLLINKPROGRAMPROC link_program = nullptr;
  PFNGLGETPROGRAMIVPROC get_programiv = nullptr;
  PFNGLGETPROGRAMINFOLOGPROC get_program_info_log = nullptr;
  PFNGLUSEPROGRAMPROC use_program = nullptr;
  PFNGLGETUNIFORMLOCATIONPROC get_uniform_location = nullptr;
  PFNGLUNIFORM1IPROC uniform_1i = nullptr;
  PFNGLUNIFORM2FPROC uniform_2f = nullptr;
  PFNGLUNIFORM4FPROC uniform_4f = nullptr;
  PFNGLGENBUFFERSPROC gen_buffers = nullptr;
  PFNGLDELETEBUFFERSPROC delete_buffers = nullptr;
  PFNGLBINDBUFFERPROC bind_buffer = nullptr;
  PFNGLBUFFERDATAPROC buffer_data = nullptr;
  PFNGLVERTEXATTRIBPOINTERPROC vertex_attrib_pointer = nullptr;
  PFNGLENABLEVERTEXATTRIBARRAYPROC enable_vertex_attrib_array = nullptr;
  PFNGLDISABLEVERTEXATTRIBARRAYPROC disable_vertex_attrib_array = nullptr;
  PFNGLDRAWARRAYSPROC draw_arrays = nullptr;
  // OpenGL 3.0, where a core profile draws nothing without one, and OpenGL ES 3.0
  PFNGLGENVERTEXARRAYSPROC gen_vertex_arrays = nullptr;
  PFNGLBINDVERTEXARRAYPROC bind_vertex_array = nullptr;
  PFNGLDELETEVERTEXARRAYSPROC delete_vertex_arrays = nullptr;
  // OpenGL 3.0 and OpenGL ES 3.0
  PFNGLBLITFRAMEBUFFERPROC blit_framebuffer = nullptr;
  PFNGLREADPIXELSPROC read_pixels = nullptr;
  PFNGLPIXELSTOREIPROC pixel_storei = nullptr;
  // GL_OES_EGL_image
  PFNGLEGLIMAGETARGETTEXTURE2DOESPROC image_target_texture_2d = nullptr;
  // one function under the names of several versions and extensions, see reset_status_function()
  PFNGLGETGRAPHICSRESETSTATUSKHRPROC get_reset_status = nullptr;
  PFNGLGETGRAPHICSRESETSTATUSKHRPROC get_reset_status_khr = nullptr;
  PFNGLGETGRAPHICSRESETSTATUSKHRPROC get_reset_status_ext = nullptr;
  PFNGLGETGRAPHICSRESETSTATUSKHRPROC get_reset_status_arb = nullptr;
};

struct Calls {
  EglCalls egl;
  GlCalls gl;
};

// Error of code Unsupported, with the name, where a function is missing that every driver has.
// `egl` and `gl` are called before the function returns, and not kept. A function that is found
// here may still be one that the driver has not: libglvnd makes a stub for every name.
// Device::open() takes out those whose extension is missing.
Result<Calls> load_calls(const Loader &egl, const Loader &gl);
// Those of GL alone, for a context that is not of EGL.
Result<GlCalls> load_gl_calls(const Loader &gl);

// Whether a list of extensions, separated by spaces, has the one of that name. Null is an empty
// list.
bool has_extension(const char *list, const char *name) noexcept;

} // namespace gstdrm::egl
