// SPDX-License-Identifier: LGPL-2.1-or-later
// Every element of every plugin: what an application reads off the bus when the element fails (docs/errors.md). Rows with
// Where::Box need a display or a GPU, and run in the box (tests/device), the others everywhere.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gst/app/gstappsrc.h>

#include "config.h"
#include "metis_line.hpp"
#include "support/consumer.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/no_display_server.hpp"
#include "support/odd_queries.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

enum class Kind { Negotiation, Device }; // Device: a property that cannot be met, or a frame, too
enum class Where { Here, Box };

struct Row {
  const char *element; // the factory
  Kind kind;
  const char *name;
  std::string properties;
  std::string upstream;    // caps of what comes in
  std::string downstream;  // what the capsfilter after it lets through; empty: anything
  const char *structure;   // the name of the details
  std::vector<const char *> fields; // beside those of every error
  const char *says;                 // in the text
  GstBuffer *(*frame)() = nullptr;  // what comes in; otherwise a frame of the caps
  const char *variable = nullptr;   // "NAME=VALUE", in the environment meanwhile
  Where where = Where::Here;
  bool direct = false; // no capsfilter between, which would refuse the caps first
  const Consumer *consumer = nullptr; // what is behind the element asks for more than its caps
};

const Consumer kAligned{"display", 4096, 0};
const Consumer kOfHeap{"display", 0, 0, ask_for_heap};
const Consumer kOfOnePlane{"display", 0, 0, ask_for_one_plane};
const Consumer kOfTwoDescriptors{"display", 0, 0, ask_for_two_descriptors};

const std::vector<const char *> kBothSides{"sender",       "sent",   "receiver",  "taken",
                                           "nearest-miss", "advice", "sent-caps", "taken-caps"};
const std::vector<const char *> kProperty{"reason", "property", "value"};
const std::vector<const char *> kFrame{"reason", "sender", "caps"};
const std::vector<const char *> kUnmet{"reason", "advice", "device", "receiver"};
const std::vector<const char *> kConflict{"accessors", "failures"};

const std::string kNv12 = plain_caps("NV12", 64, 48);
const std::string kVaNv12 = "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=64,height=64";
const std::string kGl = "video/x-raw(memory:GLMemory), format=(string)RGBA, width=(int)64, height=(int)48, "
                        "framerate=(fraction)30/1, texture-target=(string)2D";
constexpr const char *kI420 = "video/x-raw, format=I420";

GstBuffer *cut_frame()
{
  return gst_buffer_new_allocate(nullptr, 100, nullptr);
}

// 64x48 NV12 in rows of 128 bytes: only a GstVideoMeta says so.
GstBuffer *padded_frame()
{
  GstBuffer *frame = gst_buffer_new_allocate(nullptr, 128 * 48 * 3 / 2, nullptr);
  gsize offsets[GST_VIDEO_MAX_PLANES] = {0, 128 * 48};
  gint strides[GST_VIDEO_MAX_PLANES] = {128, 128};
  gst_buffer_add_video_meta_full(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, 64, 48, 2, offsets, strides);
  return frame;
}

// Too small, and with something to draw.
GstBuffer *cut_frame_with_object()
{
  GstBuffer *frame = cut_frame();
  gst_buffer_add_video_region_of_interest_meta(frame, "face", 0, 0, 60, 44);
  return frame;
}

const std::vector<Row> &rows()
{
  using enum Kind;
  static const std::vector<Row> table = {
      {"dmabufupload", Negotiation, "another format", "allocator=memfd", kNv12, kI420, "GstDrmMismatch", kBothSides, "videoconvert"},
      {"dmabufupload", Device, "no allocator", "allocator=dumb device=/dev/null", kNv12, "", "GstDrmFailure",
       {"reason", "advice", "property", "value", "device"}, "/dev/null"},
      {"dmabufupload", Device, "a copy is forbidden", "allocator=memfd zero-copy=require", kNv12, "", "GstDrmFailure",
       {"reason", "advice", "property", "value", "sender"}, "zero-copy=require"},
      {"dmabufupload", Device, "a frame of 100 bytes", "allocator=memfd", kNv12, "", "GstDrmFailure", kFrame, "cannot take a frame of", cut_frame},
      {"dmabufupload", Device, "a written linear modifier", "allocator=memfd", dmabuf_caps("NV12:0x0000000000000000", 64, 48), "", "GstDrmFailure",
       kFrame, "NV12:0x0000000000000000", nullptr, nullptr, Where::Here, true},

      {"dmabufdownload", Negotiation, "another format", "", dmabuf_caps("NV12", 64, 48), kI420, "GstDrmMismatch", kBothSides, "videoconvert"},
      {"dmabufdownload", Device, "a frame of 100 bytes", "", kNv12, "", "GstDrmFailure", {"reason", "advice", "sender", "caps"},
       "cannot read a frame of", cut_frame},
      {"dmabufdownload", Device, "a copy is forbidden", "zero-copy=require", kNv12, kNv12, "GstDrmFailure",
       {"reason", "advice", "property", "value", "sender", "caps"}, "zero-copy=require", padded_frame},

      {"dmabufrelabel", Negotiation, "another format", "", dmabuf_caps("NV12", 64, 48), kI420, "GstDrmMismatch", kBothSides, "nothing in common"},
      {"dmabufrelabel", Device, "a frame in system memory", "", kNv12, "", "GstDrmFailure", {"reason", "advice", "sender", "caps"},
       "cannot take a frame of"},

      {"egldmabufupload", Negotiation, "downstream takes no textures", "", plain_caps("BGRx", 64, 48), kI420, "GstDrmMismatch",
       kBothSides, "nothing in common"},
      {"egldmabufupload", Device, "a frame of 100 bytes", "", plain_caps("BGRx", 64, 48), "", "GstDrmFailure", {"reason", "advice", "sender", "caps"},
       "cannot take a frame of", cut_frame},
      {"egldmabufupload", Device, "a written linear modifier", "", dmabuf_caps("NV12:0x0000000000000000", 64, 48), "", "GstDrmFailure",
       {"reason", "advice", "sender", "caps"}, "NV12:0x0000000000000000", nullptr, nullptr, Where::Here, true},
      {"egldmabufupload", Device, "no OpenGL", "", plain_caps("BGRx", 64, 48), "", "GstDrmFailure", {"reason", "advice"}, "OpenGL", nullptr,
       "GST_GL_PLATFORM=none"},

      {"egldmabufdownload", Negotiation, "a format that nobody draws", "", kGl, "video/x-raw, format=GRAY10_LE32", "GstDrmMismatch",
       kBothSides, "nothing in common"},
      {"egldmabufdownload", Device, "a frame that is no texture", "", kGl, "", "GstDrmFailure", {"reason", "advice", "sender", "caps"},
       "into DMA buffers"},
      {"egldmabufdownload", Device, "no OpenGL", "", kGl, "", "GstDrmFailure", {"reason", "advice"}, "OpenGL", nullptr,
       "GST_GL_PLATFORM=none"},

      {"kmsdmabufsink", Negotiation, "a tiling that no plane takes", "", dmabuf_caps("NV12:0x0100000000000002", 64, 48), "", "GstDrmMismatch",
       kBothSides, "NV12:0x0100000000000002", nullptr, nullptr, Where::Box, true},
      {"kmsdmabufsink", Negotiation, "a format that no plane takes", "", dmabuf_caps("YUYV", 64, 48), "", "GstDrmMismatch",
       kBothSides, "YUYV", nullptr, nullptr, Where::Box, true},
      {"kmsdmabufsink", Negotiation, "a size that no plane takes", "", dmabuf_caps("XR24", 16000, 48), "", "GstDrmMismatch",
       kBothSides, "The display takes sizes from", nullptr, nullptr, Where::Box, true},
      {"kmsdmabufsink", Negotiation, "a copy is forbidden", "zero-copy=require", kNv12, "", "GstDrmFailure",
       {"reason", "property", "value", "sender", "caps"}, "zero-copy=require", nullptr, nullptr, Where::Box, true},
      {"kmsdmabufsink", Device, "no display", "device=/dev/null driver-name=\"\"", kNv12, "", "GstDrmFailure", {"reason", "device"}, "/dev/null"},

      {"vadmabufsrc", Negotiation, "a format that the driver does not make", "", "", "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=XR24",
       "GstDrmMismatch", kBothSides, "format in common", nullptr, "GST_DRM_VA_TEST=formats=NV12", Where::Box},
      {"vadmabufsrc", Negotiation, "a consumer of other strides", "", "", kVaNv12, "GstDrmFailure", kUnmet,
       "makes plane 0 with a stride of 64 bytes, and display asks for a multiple of 4096", nullptr, "GST_DRM_VA_TEST=formats=NV12,stride-align=64", Where::Box, false, &kAligned},
      {"vadmabufsrc", Negotiation, "a consumer of another heap", "", "", kVaNv12, "GstDrmFailure", kUnmet,
       "and display asks for memory of the heap nowhere", nullptr, "GST_DRM_VA_TEST=formats=NV12", Where::Box, false, &kOfHeap},
      {"vadmabufsrc", Negotiation, "a consumer of one plane", "", "", kVaNv12, "GstDrmConflict", kConflict,
       "2 planes or more", nullptr, "GST_DRM_VA_TEST=formats=NV12", Where::Box, false, &kOfOnePlane},
      {"vadmabufsrc", Negotiation, "a consumer of two descriptors", "", "", kVaNv12, "GstDrmFailure", kUnmet,
       "makes frames of 1 descriptors, and display asks for 2 or more", nullptr, "GST_DRM_VA_TEST=formats=NV12", Where::Box, false, &kOfTwoDescriptors},
      {"vadmabufsrc", Device, "no GPU", "device=/dev/null", "", "", "GstDrmFailure", {"reason", "advice", "property", "value", "device"}, "/dev/null"},

      {"vadmabufconvert", Negotiation, "a format that the driver does not make", "", dmabuf_caps("NV12", 64, 48),
       "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=R8", "GstDrmMismatch", kBothSides, "nothing in common", nullptr,
       "GST_DRM_VA_TEST=formats=NV12", Where::Box},
      {"vadmabufconvert", Negotiation, "a consumer of other strides", "", dmabuf_caps("NV12", 64, 48), kVaNv12, "GstDrmFailure", kUnmet,
       "and display asks for a multiple of 4096", nullptr, "GST_DRM_VA_TEST=formats=NV12,stride-align=64", Where::Box, false, &kAligned},
      {"vadmabufconvert", Negotiation, "a consumer of another heap", "", dmabuf_caps("NV12", 64, 48), kVaNv12, "GstDrmFailure", kUnmet,
       "and display asks for memory of the heap nowhere", nullptr, "GST_DRM_VA_TEST=formats=NV12", Where::Box, false, &kOfHeap},
      {"vadmabufconvert", Negotiation, "a consumer of one plane", "", dmabuf_caps("NV12", 64, 48), kVaNv12, "GstDrmConflict", kConflict,
       "2 planes or more", nullptr, "GST_DRM_VA_TEST=formats=NV12", Where::Box, false, &kOfOnePlane},
      {"vadmabufconvert", Negotiation, "a consumer of two descriptors", "", dmabuf_caps("NV12", 64, 48), kVaNv12, "GstDrmFailure", kUnmet,
       "makes frames of 1 descriptors, and display asks for 2 or more", nullptr, "GST_DRM_VA_TEST=formats=NV12", Where::Box, false, &kOfTwoDescriptors},
      {"vadmabufconvert", Device, "no GPU", "device=/dev/null", kNv12, "", "GstDrmFailure",
       {"reason", "advice", "property", "value", "device"}, "/dev/null"},

#ifdef GST_DRM_TEST_CPU
      {"metisdmabufinfer", Negotiation, "downstream takes another format", "backend=cpu model=MODEL", kNv12, "video/x-raw, format=RGBA",
       "GstDrmMismatch", kBothSides, "nothing in common"},
#endif
      {"metisdmabufinfer", Device, "no model", "model=/nonexistent/face.onnx", kNv12, "", "GstDrmFailure", kProperty, "/nonexistent/face.onnx"},

      {"drmtensordecode", Negotiation, "downstream takes another format", "", kNv12, kI420, "GstDrmMismatch", kBothSides, "nothing in common"},
      {"drmtensordecode", Device, "no labels", "labels-file=/nonexistent/labels.txt", kNv12, "", "GstDrmFailure", kProperty,
       "/nonexistent/labels.txt"},
      {"drmtensordecode", Device, "no folder for the lines", "json-file=/nonexistent/lines", kNv12, "", "GstDrmFailure", kProperty,
       "/nonexistent/lines"},

      {"drmoverlay", Negotiation, "downstream takes another format", "", kNv12, kI420, "GstDrmMismatch", kBothSides, "nothing in common"},
      {"drmoverlay", Device, "a frame of 100 bytes", "", kNv12, "", "GstDrmFailure", kFrame, "cannot draw on a frame of", cut_frame_with_object},
  };
  return table;
}

// No UTF-8: names that an application gives are part of the messages.
constexpr const char *kUpstreamName = "before \xff";

GstPtr<GstElement> add(GstElement *pipeline, const std::string &description)
{
  GstElement *element = make_element(description);
  gst_bin_add(GST_BIN(pipeline), element);
  return GstPtr<GstElement>::share(element);
}

// Whether a row can be run in this build and on this machine.
bool runs(const Row &row)
{
  const bool in_box = g_getenv("GST_DRM_TEST_DEVICES") != nullptr;
  if (in_box != (row.where == Where::Box))
    return false;
  const auto factory = GstPtr<GstElementFactory>::adopt(gst_element_factory_find(row.element));
  return static_cast<bool>(factory);
}

// Set for as long as it lives.
class Variable {
public:
  explicit Variable(const char *assignment)
  {
    if (!assignment)
      return;
    const std::string text = assignment;
    name_ = text.substr(0, text.find('='));
    const gchar *before = g_getenv(name_.c_str());
    had_ = before != nullptr;
    before_ = before ? before : "";
    g_setenv(name_.c_str(), text.substr(name_.size() + 1).c_str(), TRUE);
  }
  Variable(const Variable &) = delete;
  Variable &operator=(const Variable &) = delete;
  ~Variable()
  {
    if (had_)
      g_setenv(name_.c_str(), before_.c_str(), TRUE);
    else if (!name_.empty())
      g_unsetenv(name_.c_str());
  }

private:
  std::string name_;
  std::string before_;
  bool had_ = false;
};

// "appsrc ! ELEMENT ! capsfilter ! fakesink", without what the element has no pad for. Keeps every message.
class Line {
public:
  explicit Line(const Row &row)
      : pipeline_(GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gst_pipeline_new(nullptr))))),
        bus_(GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline_.get())))
  {
    g_object_set(pipeline_.get(), "auto-flush-bus", FALSE, nullptr);
    std::string properties = row.properties;
    if (const std::size_t at = properties.find("MODEL"); at != std::string::npos) // its file lives as long as this process
      properties.replace(at, 5, line::model_path());
    element_ = add(pipeline_.get(), std::string(row.element) + " " + properties);
    if (element_->numsinkpads > 0)
      put_source_before(row);
    if (element_->numsrcpads > 0) {
      const auto filter = add(pipeline_.get(), "capsfilter");
      const auto sink = add(pipeline_.get(), "fakesink");
      fail_unless(gst_element_link_pads_full(element_.get(), "src", filter.get(), "sink", GST_PAD_LINK_CHECK_NOTHING));
      fail_unless(gst_element_link_pads_full(filter.get(), "src", sink.get(), "sink", GST_PAD_LINK_CHECK_NOTHING));
      if (row.consumer)
        answer_as(GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.get(), "sink")).get(), *row.consumer);
      if (!row.downstream.empty()) // once it is linked: gst-launch-1.0 refuses what cannot work
        g_object_set(filter.get(), "caps", caps_of(row.downstream).get(), nullptr);
    }
    locks_ = std::make_shared<NoLocks>();
    watch_signals(element_.get(), locks_);
    for (const char *name : {"sink", "src"})
      if (const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element_.get(), name)))
        watch_events(GstPtr<GstPad>::adopt(gst_pad_get_peer(pad.get())).get(), GST_PAD_PROBE_TYPE_EVENT_BOTH, locks_);
    gst_bus_set_sync_handler(bus_.get(), on_message, this, nullptr);
  }
  Line(const Line &) = delete;
  Line &operator=(const Line &) = delete;
  ~Line()
  {
    gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
    gst_bus_set_sync_handler(bus_.get(), nullptr, nullptr, nullptr);
    gst_bus_set_flushing(bus_.get(), TRUE); // messages hold the pipeline, which holds the bus
  }

  // Plays until something fails, and stops.
  void play(const Row &row)
  {
    if (gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE) {
      push(row);
      wait_for_end();
    }
    gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
  }
  // The errors of the element so far.
  std::vector<GstPtr<GstMessage>> take_errors()
  {
    const std::lock_guard guard(lock_);
    return std::exchange(errors_, {});
  }

private:
  void put_source_before(const Row &row)
  {
    source_ = add(pipeline_.get(), "appsrc format=time");
    g_object_set(source_.get(), "caps", caps_of(row.upstream).get(), nullptr);
    if (row.direct) {
      fail_unless(gst_element_link_pads_full(source_.get(), "src", element_.get(), "sink", GST_PAD_LINK_CHECK_NOTHING));
      return;
    }
    GstElement *filter = make_element("capsfilter"); // posts no message, whose source would have to be UTF-8
    fail_unless(gst_object_set_name(GST_OBJECT_CAST(filter), kUpstreamName));
    g_object_set(filter, "caps", caps_of(row.upstream).get(), nullptr);
    gst_bin_add(GST_BIN(pipeline_.get()), filter);
    fail_unless(gst_element_link_pads_full(source_.get(), "src", filter, "sink", GST_PAD_LINK_CHECK_NOTHING));
    fail_unless(gst_element_link_pads_full(filter, "src", element_.get(), "sink", GST_PAD_LINK_CHECK_NOTHING));
  }
  void push(const Row &row)
  {
    if (!source_)
      return;
    constexpr gsize kEnough = 64 * 48 * 4;
    gst_app_src_push_buffer(GST_APP_SRC_CAST(source_.get()), row.frame ? row.frame() : gst_buffer_new_allocate(nullptr, kEnough, nullptr));
    gst_app_src_end_of_stream(GST_APP_SRC_CAST(source_.get()));
  }
  // The element's error comes before that of the source, which hears of it by what its push returns.
  void wait_for_end()
  {
    constexpr auto kEnds = static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
    const GstElement *last = source_ ? source_.get() : element_.get();
    for (bool ended = false; !ended;) {
      const auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(bus_.get(), 60 * GST_SECOND, kEnds));
      fail_unless(static_cast<bool>(message), "neither an error nor the end");
      ended = GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_EOS || GST_MESSAGE_SRC(message.get()) == GST_OBJECT_CAST(last);
    }
  }
  static GstBusSyncReply on_message(GstBus *, GstMessage *message, gpointer self) noexcept
  {
    static_cast<Line *>(self)->call_back(message);
    return GST_BUS_PASS;
  }
  // An application may ask the element on the thread that posts: a lock that is held meanwhile stops the test.
  void call_back(GstMessage *message)
  {
    locks_->check(GST_MESSAGE_TYPE_NAME(message));
    if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_ERROR || GST_MESSAGE_SRC(message) != GST_OBJECT_CAST(element_.get()))
      return;
    {
      const std::lock_guard guard(lock_);
      errors_.push_back(GstPtr<GstMessage>::share(message));
    }
    pass_through(GST_OBJECT_GET_LOCK(element_.get()));
    touch_properties(G_OBJECT(element_.get()));
    for (const char *name : {"sink", "src"})
      if (const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element_.get(), name)))
        gst_caps_unref(gst_pad_query_caps(pad.get(), nullptr));
  }

  GstPtr<GstElement> pipeline_;
  GstPtr<GstBus> bus_;
  GstPtr<GstElement> element_;
  GstPtr<GstElement> source_;
  std::shared_ptr<NoLocks> locks_;
  std::mutex lock_; // guards errors_, which any thread may post
  std::vector<GstPtr<GstMessage>> errors_;
};

gboolean check_field(GQuark field, const GValue *value, gpointer row) noexcept
{
  const char *text = G_VALUE_HOLDS_STRING(value) ? g_value_get_string(value) : "valid";
  const bool may_be_empty = field == g_quark_from_static_string("common");
  fail_unless(text && (*text || may_be_empty) && g_utf8_validate(text, -1, nullptr), "%s: field %s",
              static_cast<const Row *>(row)->name, g_quark_to_string(field));
  return TRUE;
}

std::string error_text(GstMessage *message)
{
  g_autoptr(GError) error = nullptr;
  g_autofree gchar *debug = nullptr;
  gst_message_parse_error(message, &error, &debug);
  return std::string(error->message) + " (" + (debug ? debug : "") + ")";
}

void check_details(const Row &row, GstMessage *message)
{
  g_autoptr(GError) error = nullptr;
  g_autofree gchar *debug = nullptr;
  gst_message_parse_error(message, &error, &debug);
  say(error->message);
  const GstStructure *details = nullptr;
  gst_message_parse_error_details(message, &details);
  fail_unless(details != nullptr, "%s: no details: %s", row.name, error->message);
  g_autofree gchar *written = gst_structure_to_string(details);
  say(written);
  fail_unless(gst_structure_has_name(details, row.structure), "%s: %s", row.name, gst_structure_get_name(details));
  fail_unless(g_utf8_validate(error->message, -1, nullptr) && (!debug || g_utf8_validate(debug, -1, nullptr)), "%s", row.name);
  fail_unless_equals_string(gst_structure_get_string(details, "text"), error->message);
  fail_unless(std::strstr(error->message, row.says) != nullptr, "%s: '%s' does not say '%s'", row.name, error->message, row.says);
  fail_unless(gst_structure_has_field_typed(details, "code", G_TYPE_INT) && gst_structure_has_field_typed(details, "errno", G_TYPE_INT), "%s", written);
  for (const char *field : row.fields)
    fail_unless(gst_structure_has_field(details, field), "%s: no field %s in %s", row.name, field, written);
  for (const char *part : {"..", ". .", ": ."}) // parts that do not fit together
    fail_unless(std::strstr(error->message, part) == nullptr, "%s: '%s' in '%s'", row.name, part, error->message);
  gst_structure_foreach(details, check_field, const_cast<Row *>(&row));
}

GST_START_TEST(test_failure)
{
  const Row &row = rows()[static_cast<std::size_t>(__i__)];
  say(std::string(row.element) + ": " + row.name);
  if (!runs(row))
    return;
  const Variable variable(row.variable);
  Line line(row);
  for (int attempt = 0; attempt < 2; attempt++) { // another start is another failure
    line.play(row);
    const auto errors = line.take_errors();
    std::string texts;
    for (const auto &message : errors)
      texts += "\n" + error_text(message.get());
    fail_unless(errors.size() == 1, "%s, start %d:%s", row.name, attempt + 1, texts.c_str());
    check_details(row, errors.front().get());
  }
}
GST_END_TEST

// A new element needs rows.
GST_START_TEST(test_every_element_has_rows)
{
  std::set<std::string> elements;
  GstRegistry *registry = gst_registry_get();
  GList *plugins = gst_registry_get_plugin_list(registry);
  for (GList *plugin = plugins; plugin; plugin = plugin->next) {
    if (std::strcmp(gst_plugin_get_package(GST_PLUGIN_CAST(plugin->data)), GST_PACKAGE_NAME) != 0)
      continue;
    GList *features = gst_registry_get_feature_list_by_plugin(registry, gst_plugin_get_name(GST_PLUGIN_CAST(plugin->data)));
    for (GList *feature = features; feature; feature = feature->next)
      if (GST_IS_ELEMENT_FACTORY(feature->data))
        elements.insert(GST_OBJECT_NAME(feature->data));
    gst_plugin_feature_list_free(features);
  }
  gst_plugin_list_free(plugins);
  fail_unless(!elements.empty(), "no plugin is of the package %s", GST_PACKAGE_NAME);
  for (const std::string &element : elements) {
    const auto has = [&](Kind kind) {
      return std::any_of(rows().begin(), rows().end(), [&](const Row &row) { return element == row.element && row.kind == kind; });
    };
    fail_unless(has(Kind::Device), "%s: no row with a device or a property", element.c_str());
#ifndef GST_DRM_TEST_CPU
    if (element == "metisdmabufinfer") // it has no caps without a model, and no model without a back end
      continue;
#endif
    fail_unless(has(Kind::Negotiation), "%s: no row with a negotiation", element.c_str());
  }
}
GST_END_TEST

Suite *element_errors_suite()
{
  Suite *suite = suite_create("element errors");
  TCase *tcase = tcase_create("every element");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_failure, 0, static_cast<int>(rows().size()));
  tcase_add_test(tcase, test_every_element_has_rows);
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  gstdrm::test::use_no_display_server();
  gst_check_init(&argc, &argv);
  return gstdrm::test::run_suite(element_errors_suite());
}
