// SPDX-License-Identifier: LGPL-2.1-or-later
// The functions of EGL and of GL that the engine calls, as one driver has them. A test fills in
// functions of its own.
#pragma once

#include <functional>
#include <set>
#include <string>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h> // has what gl2ext.h needs
#include <GLES2/gl2ext.h>
#include <GLES3/gl3.h>

#include <gst/drm/core/result.hpp>

namespace gstdrm::egl {

// Looks a function up by its name; nullptr where there is none.
using Loader = std::function<void *(const char *name)>;

// Each function once: its member, its type and its name. A function of an extension that the driver
// has not is nullptr.
#define GSTDRM_EGL_FUNCTIONS(ALWAYS, EXTENSION)                                                    \
  ALWAYS(get_error, PFNEGLGETERRORPROC, "eglGetError")                                             \
  ALWAYS(query_string, PFNEGLQUERYSTRINGPROC, "eglQueryString")                                    \
  ALWAYS(get_current_display, PFNEGLGETCURRENTDISPLAYPROC, "eglGetCurrentDisplay")                 \
  /* EGL_KHR_image_base */                                                                         \
  EXTENSION(create_image, PFNEGLCREATEIMAGEKHRPROC, "eglCreateImageKHR")                           \
  EXTENSION(destroy_image, PFNEGLDESTROYIMAGEKHRPROC, "eglDestroyImageKHR")                        \
  /* EGL_EXT_image_dma_buf_import_modifiers */                                                     \
  EXTENSION(query_formats, PFNEGLQUERYDMABUFFORMATSEXTPROC, "eglQueryDmaBufFormatsEXT")            \
  EXTENSION(query_modifiers, PFNEGLQUERYDMABUFMODIFIERSEXTPROC, "eglQueryDmaBufModifiersEXT")      \
  /* EGL_KHR_fence_sync, EGL_KHR_wait_sync, EGL_ANDROID_native_fence_sync */                       \
  EXTENSION(create_sync, PFNEGLCREATESYNCKHRPROC, "eglCreateSyncKHR")                              \
  EXTENSION(destroy_sync, PFNEGLDESTROYSYNCKHRPROC, "eglDestroySyncKHR")                           \
  EXTENSION(client_wait_sync, PFNEGLCLIENTWAITSYNCKHRPROC, "eglClientWaitSyncKHR")                 \
  EXTENSION(wait_sync, PFNEGLWAITSYNCKHRPROC, "eglWaitSyncKHR")                                    \
  EXTENSION(dup_native_fence_fd, PFNEGLDUPNATIVEFENCEFDANDROIDPROC, "eglDupNativeFenceFDANDROID")  \
  /* EGL_EXT_device_query */                                                                       \
  EXTENSION(query_display_attrib, PFNEGLQUERYDISPLAYATTRIBEXTPROC, "eglQueryDisplayAttribEXT")     \
  EXTENSION(query_device_string, PFNEGLQUERYDEVICESTRINGEXTPROC, "eglQueryDeviceStringEXT")

// OpenGL ES 2.0 and what desktop GL has of it.
#define GSTDRM_GL_FUNCTIONS(ALWAYS, EXTENSION)                                                     \
  ALWAYS(get_error, PFNGLGETERRORPROC, "glGetError")                                               \
  ALWAYS(get_string, PFNGLGETSTRINGPROC, "glGetString")                                            \
  /* GL 3.0, GL ES 3.0 */                                                                          \
  EXTENSION(get_stringi, PFNGLGETSTRINGIPROC, "glGetStringi")                                      \
  ALWAYS(get_integerv, PFNGLGETINTEGERVPROC, "glGetIntegerv")                                      \
  ALWAYS(is_enabled, PFNGLISENABLEDPROC, "glIsEnabled")                                            \
  ALWAYS(enable, PFNGLENABLEPROC, "glEnable")                                                      \
  ALWAYS(disable, PFNGLDISABLEPROC, "glDisable")                                                   \
  ALWAYS(flush, PFNGLFLUSHPROC, "glFlush")                                                         \
  ALWAYS(finish, PFNGLFINISHPROC, "glFinish")                                                      \
  ALWAYS(gen_textures, PFNGLGENTEXTURESPROC, "glGenTextures")                                      \
  ALWAYS(delete_textures, PFNGLDELETETEXTURESPROC, "glDeleteTextures")                             \
  ALWAYS(active_texture, PFNGLACTIVETEXTUREPROC, "glActiveTexture")                                \
  ALWAYS(bind_texture, PFNGLBINDTEXTUREPROC, "glBindTexture")                                      \
  ALWAYS(tex_parameteri, PFNGLTEXPARAMETERIPROC, "glTexParameteri")                                \
  ALWAYS(gen_framebuffers, PFNGLGENFRAMEBUFFERSPROC, "glGenFramebuffers")                          \
  ALWAYS(delete_framebuffers, PFNGLDELETEFRAMEBUFFERSPROC, "glDeleteFramebuffers")                 \
  ALWAYS(bind_framebuffer, PFNGLBINDFRAMEBUFFERPROC, "glBindFramebuffer")                          \
  ALWAYS(framebuffer_texture_2d, PFNGLFRAMEBUFFERTEXTURE2DPROC, "glFramebufferTexture2D")          \
  ALWAYS(check_framebuffer_status, PFNGLCHECKFRAMEBUFFERSTATUSPROC, "glCheckFramebufferStatus")    \
  ALWAYS(viewport, PFNGLVIEWPORTPROC, "glViewport")                                                \
  ALWAYS(color_mask, PFNGLCOLORMASKPROC, "glColorMask")                                            \
  /* OpenGL 3.3, OpenGL ES 3.0 */                                                                  \
  EXTENSION(bind_sampler, PFNGLBINDSAMPLERPROC, "glBindSampler")                                   \
  /* Of one draw buffer: OpenGL 3.0, OpenGL ES 3.2, GL_OES_draw_buffers_indexed. Those of an */    \
  /* extension are null in an opened device, which calls the others. */                            \
  EXTENSION(color_mask_i, PFNGLCOLORMASKIOESPROC, "glColorMaski")                                  \
  EXTENSION(color_mask_i_oes, PFNGLCOLORMASKIOESPROC, "glColorMaskiOES")                           \
  /* of one viewport: OpenGL 4.1, GL_ARB_viewport_array, GL_OES_viewport_array */                  \
  EXTENSION(viewport_i, PFNGLVIEWPORTINDEXEDFVOESPROC, "glViewportIndexedfv")                      \
  EXTENSION(viewport_i_oes, PFNGLVIEWPORTINDEXEDFVOESPROC, "glViewportIndexedfvOES")               \
  EXTENSION(get_float_i, PFNGLGETFLOATI_VOESPROC, "glGetFloati_v")                                 \
  EXTENSION(get_float_i_oes, PFNGLGETFLOATI_VOESPROC, "glGetFloati_vOES")                          \
  /* of one draw buffer or of one viewport, whichever there is */                                  \
  EXTENSION(enable_i, PFNGLENABLEIOESPROC, "glEnablei")                                            \
  EXTENSION(enable_i_oes, PFNGLENABLEIOESPROC, "glEnableiOES")                                     \
  EXTENSION(disable_i, PFNGLDISABLEIOESPROC, "glDisablei")                                         \
  EXTENSION(disable_i_oes, PFNGLDISABLEIOESPROC, "glDisableiOES")                                  \
  /* OpenGL 4.5, GL_ARB_clip_control, GL_EXT_clip_control */                                       \
  EXTENSION(clip_control, PFNGLCLIPCONTROLEXTPROC, "glClipControl")                                \
  EXTENSION(clip_control_ext, PFNGLCLIPCONTROLEXTPROC, "glClipControlEXT")                         \
  /* desktop GL */                                                                                 \
  EXTENSION(polygon_mode, PFNGLPOLYGONMODENVPROC, "glPolygonMode")                                 \
  ALWAYS(create_shader, PFNGLCREATESHADERPROC, "glCreateShader")                                   \
  ALWAYS(delete_shader, PFNGLDELETESHADERPROC, "glDeleteShader")                                   \
  ALWAYS(shader_source, PFNGLSHADERSOURCEPROC, "glShaderSource")                                   \
  ALWAYS(compile_shader, PFNGLCOMPILESHADERPROC, "glCompileShader")                                \
  ALWAYS(get_shaderiv, PFNGLGETSHADERIVPROC, "glGetShaderiv")                                      \
  ALWAYS(get_shader_info_log, PFNGLGETSHADERINFOLOGPROC, "glGetShaderInfoLog")                     \
  ALWAYS(create_program, PFNGLCREATEPROGRAMPROC, "glCreateProgram")                                \
  ALWAYS(delete_program, PFNGLDELETEPROGRAMPROC, "glDeleteProgram")                                \
  ALWAYS(attach_shader, PFNGLATTACHSHADERPROC, "glAttachShader")                                   \
  ALWAYS(bind_attrib_location, PFNGLBINDATTRIBLOCATIONPROC, "glBindAttribLocation")                \
  ALWAYS(link_program, PFNGLLINKPROGRAMPROC, "glLinkProgram")                                      \
  ALWAYS(get_programiv, PFNGLGETPROGRAMIVPROC, "glGetProgramiv")                                   \
  ALWAYS(get_program_info_log, PFNGLGETPROGRAMINFOLOGPROC, "glGetProgramInfoLog")                  \
  ALWAYS(use_program, PFNGLUSEPROGRAMPROC, "glUseProgram")                                         \
  ALWAYS(get_uniform_location, PFNGLGETUNIFORMLOCATIONPROC, "glGetUniformLocation")                \
  ALWAYS(uniform_1i, PFNGLUNIFORM1IPROC, "glUniform1i")                                            \
  ALWAYS(uniform_2f, PFNGLUNIFORM2FPROC, "glUniform2f")                                            \
  ALWAYS(uniform_4f, PFNGLUNIFORM4FPROC, "glUniform4f")                                            \
  ALWAYS(gen_buffers, PFNGLGENBUFFERSPROC, "glGenBuffers")                                         \
  ALWAYS(delete_buffers, PFNGLDELETEBUFFERSPROC, "glDeleteBuffers")                                \
  ALWAYS(bind_buffer, PFNGLBINDBUFFERPROC, "glBindBuffer")                                         \
  ALWAYS(buffer_data, PFNGLBUFFERDATAPROC, "glBufferData")                                         \
  ALWAYS(vertex_attrib_pointer, PFNGLVERTEXATTRIBPOINTERPROC, "glVertexAttribPointer")             \
  ALWAYS(enable_vertex_attrib_array, PFNGLENABLEVERTEXATTRIBARRAYPROC,                             \
         "glEnableVertexAttribArray")                                                              \
  ALWAYS(disable_vertex_attrib_array, PFNGLDISABLEVERTEXATTRIBARRAYPROC,                           \
         "glDisableVertexAttribArray")                                                             \
  ALWAYS(draw_arrays, PFNGLDRAWARRAYSPROC, "glDrawArrays")                                         \
  /* OpenGL 3.0, where a core profile draws nothing without one, and OpenGL ES 3.0 */              \
  EXTENSION(gen_vertex_arrays, PFNGLGENVERTEXARRAYSPROC, "glGenVertexArrays")                      \
  EXTENSION(bind_vertex_array, PFNGLBINDVERTEXARRAYPROC, "glBindVertexArray")                      \
  EXTENSION(delete_vertex_arrays, PFNGLDELETEVERTEXARRAYSPROC, "glDeleteVertexArrays")             \
  /* OpenGL 3.0 and OpenGL ES 3.0 */                                                               \
  EXTENSION(blit_framebuffer, PFNGLBLITFRAMEBUFFERPROC, "glBlitFramebuffer")                       \
  ALWAYS(read_pixels, PFNGLREADPIXELSPROC, "glReadPixels")                                         \
  ALWAYS(pixel_storei, PFNGLPIXELSTOREIPROC, "glPixelStorei")                                      \
  /* GL_OES_EGL_image */                                                                           \
  EXTENSION(image_target_texture_2d, PFNGLEGLIMAGETARGETTEXTURE2DOESPROC,                          \
            "glEGLImageTargetTexture2DOES")                                                        \
  /* one function under the names of several versions and extensions (gl_version.cpp) */           \
  EXTENSION(get_reset_status, PFNGLGETGRAPHICSRESETSTATUSKHRPROC, "glGetGraphicsResetStatus")      \
  EXTENSION(get_reset_status_khr, PFNGLGETGRAPHICSRESETSTATUSKHRPROC,                              \
            "glGetGraphicsResetStatusKHR")                                                         \
  EXTENSION(get_reset_status_ext, PFNGLGETGRAPHICSRESETSTATUSKHRPROC,                              \
            "glGetGraphicsResetStatusEXT")                                                         \
  EXTENSION(get_reset_status_arb, PFNGLGETGRAPHICSRESETSTATUSKHRPROC, "glGetGraphicsResetStatusARB")

#define GSTDRM_MEMBER(member, type, name) type member = nullptr;
struct EglCalls {
  GSTDRM_EGL_FUNCTIONS(GSTDRM_MEMBER, GSTDRM_MEMBER)
};
struct GlCalls {
  GSTDRM_GL_FUNCTIONS(GSTDRM_MEMBER, GSTDRM_MEMBER)
};
#undef GSTDRM_MEMBER

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

// Those of a list of extensions, separated by spaces. Null is an empty list.
using Names = std::set<std::string, std::less<>>;
Names names_in(const char *list);

} // namespace gstdrm::egl
