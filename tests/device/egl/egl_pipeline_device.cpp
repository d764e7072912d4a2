// SPDX-License-Identifier: LGPL-2.1-or-later
// On which device GL draws, in the allocation queries of both elements: egldmabufupload says it to
// upstream, egldmabufdownload compares it with what downstream says. The machine's own software
// driver draws, under the name of a GPU with a node.
#include <string>
#include <string_view>
#include <utility>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <drm_fourcc.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/drm.h>
#include <gst/gl/gl.h>

#include "egl_pipeline.hpp"

namespace gstdrm::test {
namespace {

constexpr unsigned kWidth = 64; // llvmpipe draws into tight rows of them
constexpr unsigned kHeight = 48;
constexpr const char *kNode = "/dev/null"; // any node is one
constexpr const char *kOther = "/dev/zero";

decltype(GstGLContextClass::get_proc_address) driver_look_up = nullptr;
PFNGLGETSTRINGPROC driver_get_string = nullptr;

const GLubyte *get_string(GLenum name) noexcept
{
  return name == GL_RENDERER ? reinterpret_cast<const GLubyte *>("GPU of the test")
                             : driver_get_string(name);
}

const char *query_device_string(EGLDeviceEXT, EGLint name) noexcept
{
  return name == EGL_EXTENSIONS ? "EGL_EXT_device_drm" : kNode;
}

EGLBoolean query_display_attrib(EGLDisplay, EGLint, EGLAttrib *value) noexcept
{
  *value = 1;
  return EGL_TRUE;
}

gpointer find_function(GstGLAPI api, const gchar *name) noexcept
{
  const gpointer found = driver_look_up(api, name);
  const std::string_view asked(name);
  if (asked == "glGetString") {
    driver_get_string = reinterpret_cast<PFNGLGETSTRINGPROC>(found);
    return reinterpret_cast<gpointer>(get_string);
  }
  if (asked == "eglQueryDeviceStringEXT")
    return reinterpret_cast<gpointer>(query_device_string);
  if (asked == "eglQueryDisplayAttribEXT")
    return reinterpret_cast<gpointer>(query_display_attrib);
  return found;
}

GstGLContextClass *context_class()
{
  return static_cast<GstGLContextClass *>(g_type_class_peek(g_type_from_name("GstGLContextEGL")));
}

// Drivers that elements ask meanwhile go by that name.
class NamedGpu {
public:
  NamedGpu() { driver_look_up = std::exchange(context_class()->get_proc_address, find_function); }
  NamedGpu(const NamedGpu &) = delete;
  NamedGpu &operator=(const NamedGpu &) = delete;
  ~NamedGpu() { context_class()->get_proc_address = driver_look_up; }
};

guint64 number_of(const char *node)
{
  struct stat facts {};
  fail_unless(::stat(node, &facts) == 0, "%s", node);
  return facts.st_rdev;
}

// What the sink says of its device.
GstPadProbeReturn say_device(GstPad *, GstPadProbeInfo *info, gpointer node) noexcept
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  const UniqueFd fd(::open(static_cast<const char *>(node), O_RDWR | O_CLOEXEC));
  gst_drm_query_add_device(query, fd.get());
  return GST_PAD_PROBE_HANDLED;
}

// The texts of the warnings that are on the bus; takes them off.
std::string warnings_of(const EglPipeline &stream)
{
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(stream.bin()));
  std::string texts;
  while (GstMessage *message = gst_bus_pop_filtered(bus.get(), GST_MESSAGE_WARNING)) {
    g_autoptr(GError) error = nullptr;
    gst_message_parse_warning(message, &error, nullptr);
    texts += std::string(GST_OBJECT_NAME(GST_MESSAGE_SRC(message))) + ": " + error->message + "\n";
    gst_message_unref(message);
  }
  return texts;
}

struct Row {
  const char *name;
  bool is_gpu;
  const char *downstream; // the node that it names; nullptr: none
  bool warns;
};
const Row kRows[] = {
    {"downstream says nothing", true, nullptr, false},
    {"the same device", true, kNode, false},
    {"another device", true, kOther, true},
    {"the CPU draws", false, kOther, false},
};

void check_said(const EglPipeline &stream, const Row &row, const std::string &text)
{
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(text.c_str()));
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps.get(), FALSE));
  const auto pad =
      GstPtr<GstPad>::adopt(gst_element_get_static_pad(stream.element("u").get(), "sink"));
  fail_unless(gst_pad_query(pad.get(), query.get()), "%s", row.name);
  guint64 said = 0;
  fail_unless(gst_drm_query_get_device(query.get(), &said) == row.is_gpu, "%s", row.name);
  fail_unless_equals_uint64(said, row.is_gpu ? number_of(kNode) : 0);
}

} // namespace

GST_START_TEST(test_device_in_queries)
{
  const Row &row = kRows[__i__];
  if (!imports_here())
    return;
  EglPipeline stream("appsrc name=in format=time ! egldmabufupload name=u ! "
                     "video/x-raw(memory:GLMemory),format=RGBA,texture-target=2D ! "
                     "egldmabufdownload name=d ! video/x-raw,format=RGBA ! "
                     "appsink name=out sync=false");
  if (row.downstream) {
    const auto pad =
        GstPtr<GstPad>::adopt(gst_element_get_static_pad(stream.element("out").get(), "sink"));
    gst_pad_add_probe(
        pad.get(),
        static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH),
        say_device, const_cast<char *>(row.downstream), nullptr);
  }
  const std::string caps = dma_drm_caps("XR24", kWidth, kHeight);
  const auto send = [&] {
    stream.play();
    for (const unsigned width : {2 * kWidth, kWidth}) { // each change of caps asks again
      PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_XRGB8888, width, kHeight, {});
      frame.fill(1);
      const auto sample =
          stream.pass(frame, dma_drm_caps("XR24", static_cast<int>(width), kHeight));
      fail_unless(rgba_distance(sample.get(), frame, {}) <= 1, "%s", row.name);
    }
  };
  if (row.is_gpu) {
    const NamedGpu gpu;
    send();
  } else {
    send();
  }
  check_said(stream, row, caps);
  const std::string said = warnings_of(stream);
  say(said);
  if (!row.warns) {
    fail_unless_equals_string(said.c_str(), "");
    return;
  }
  for (const char *part : {"d: ", kNode, "another device", "DRI_PRIME"})
    fail_unless(contains(said, part), "%s: no %s in '%s'", row.name, part, said.c_str());
  fail_unless(said.find('\n') + 1 == said.size(), "said more than once: %s", said.c_str());
}
GST_END_TEST

void add_device_queries(Suite *suite)
{
  TCase *tcase = add_case(suite, "device");
  tcase_add_loop_test(tcase, test_device_in_queries, 0, G_N_ELEMENTS(kRows));
}

} // namespace gstdrm::test
