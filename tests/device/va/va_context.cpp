// SPDX-License-Identifier: LGPL-2.1-or-later
// The VADisplay that elements share with each other, with the application and with upstream's elements
// (GstContext gst.va.display.handle): who opens one, what is refused, and who may go away first.
#include <gst/video/video.h>
#include <va/va.h>
#include <va/va_drm.h>

#include <fcntl.h>
#include <unistd.h>

#include <gst/drm/gstdrm-private.hpp>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;
using C = vadriver::Counter;

constexpr char kType[] = "gst.va.display.handle";
constexpr char kNode[] = "/dev/dri/renderD128";
constexpr char kOtherDevice[] = "/dev/dri/card1"; // vkms; the render node is vgem's

// The classes are made with another driver, so that the counters of a test count its displays alone.
void load_plugin()
{
  set_driver(kRichestDriver);
  for (const char *name : {"vadmabufsrc", "vadmabufconvert"})
    gst_object_unref(gst_object_ref_sink(gst_element_factory_make(name, nullptr)));
}

std::string both(const std::string &properties = "")
{
  return "vadmabufsrc name=src " + properties + " ! " + dma_caps("NV12", 64, 48) + " ! vadmabufconvert name=convert " +
         properties + " ! " + dma_caps("XR24", 128, 96) + " ! appsink name=sink sync=false max-buffers=2";
}

void pull_some(Pipeline &pipeline, int frames = 5)
{
  for (int i = 0; i < frames; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    (void)read_frame(sample);
  }
}

// A display of the application's own.
class OwnDisplay {
public:
  explicit OwnDisplay(const char *node = kNode, bool initialise = true) : fd_(::open(node, O_RDWR | O_CLOEXEC))
  {
    fail_unless(fd_ >= 0, "%s", node);
    display_ = vaGetDisplayDRM(fd_);
    fail_unless(display_ != nullptr);
    int major = 0;
    int minor = 0;
    if (initialise)
      fail_unless_equals_int(vaInitialize(display_, &major, &minor), VA_STATUS_SUCCESS);
  }
  OwnDisplay(const OwnDisplay &) = delete;
  OwnDisplay &operator=(const OwnDisplay &) = delete;
  ~OwnDisplay()
  {
    vaTerminate(display_);
    ::close(fd_);
  }
  [[nodiscard]] VADisplay get() const { return display_; }

private:
  int fd_;
  VADisplay display_ = nullptr;
};

GstPtr<GstContext> context_of(VADisplay display)
{
  auto context = GstPtr<GstContext>::adopt(gst_context_new(kType, TRUE));
  gst_structure_set(gst_context_writable_structure(context.get()), "va-display", G_TYPE_POINTER, display, nullptr);
  return context;
}

GstElement *parent_of(const Pipeline &pipeline)
{
  return GST_ELEMENT(GST_ELEMENT_PARENT(pipeline.get("src")));
}

guint64 calls_of(const Pipeline &pipeline, const char *name)
{
  GstStructure *stats = nullptr;
  g_object_get(pipeline.get(name), "drm-stats", &stats, nullptr);
  guint64 value = 0;
  fail_unless(gst_structure_get_uint64(stats, "va-calls", &value));
  gst_structure_free(stats);
  return value;
}

GstPtr<GstContext> ask(const Pipeline &pipeline, const char *name)
{
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_context(kType));
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get(name), "src"));
  GstContext *answer = nullptr;
  fail_unless(gst_pad_query(pad.get(), query.get()), "%s does not answer", name);
  gst_query_parse_context(query.get(), &answer);
  return GstPtr<GstContext>::share(answer);
}

VADisplay display_in(const GstPtr<GstContext> &context)
{
  gpointer display = nullptr;
  gst_structure_get(gst_context_get_structure(context.get()), "va-display", G_TYPE_POINTER, &display, nullptr);
  return display;
}

// The warnings of both elements while one of these lives.
class Warnings {
public:
  Warnings()
  {
    gst_debug_set_active(TRUE);
    gst_debug_remove_log_function(gst_debug_log_default);
    gst_debug_add_log_function(read, this, nullptr);
    gst_debug_set_threshold_for_name("vadmabuf*", GST_LEVEL_WARNING);
  }
  Warnings(const Warnings &) = delete;
  Warnings &operator=(const Warnings &) = delete;
  ~Warnings()
  {
    gst_debug_unset_threshold_for_name("vadmabuf*");
    gst_debug_remove_log_function_by_data(this);
  }
  std::string text()
  {
    const std::lock_guard guard(lock_);
    return text_;
  }

private:
  static void read(GstDebugCategory *from, GstDebugLevel, const gchar *, const gchar *, gint, GObject *, GstDebugMessage *message,
                   gpointer self) noexcept
  {
    if (!g_str_has_prefix(gst_debug_category_get_name(from), "vadmabuf"))
      return;
    auto &warnings = *static_cast<Warnings *>(self);
    const std::lock_guard guard(warnings.lock_);
    warnings.text_ += std::string(gst_debug_message_get(message)) + "\n";
  }

  std::mutex lock_; // guards text_, which streaming threads add to
  std::string text_;
};

// ---- one display for the pipeline

const char *const kDrivers[] = {"formats=NV12:BGRX", "profile=ihd", "profile=i965", "formats=NV12:BGRX,async=1,fences=0"};

GST_START_TEST(test_neighbours_share)
{
  load_plugin();
  const Counters counters;
  set_driver(std::string(kDrivers[__i__]) + "," + counters.setting());
  Pipeline pipeline("vadmabufsrc name=src ! video/x-raw(memory:DMABuf),format=DMA_DRM,width=64,height=48 ! vadmabufconvert name=convert ! " +
                    dma_caps("XR24", 128, 96) + " ! appsink name=sink sync=false max-buffers=2");
  for (int round = 0; round < 2; ++round) { // the display of the first round was closed in NULL
    fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    pull_some(pipeline);
    fail_unless_equals_uint64(counters[C::Init], static_cast<std::uint64_t>(round) + 1);
    fail_unless(display_in(ask(pipeline, "src")) == display_in(ask(pipeline, "convert")));
    // counters of its own for each element
    fail_unless(calls_of(pipeline, "src") != calls_of(pipeline, "convert"));
    pipeline.stop();
  }
}
GST_END_TEST

GST_START_TEST(test_every_display_is_closed)
{
  load_plugin();
  set_driver(kDrivers[0]);
  unsigned before = 0;
  Pipeline pipeline(both());
  for (int round = 0; round < 3; ++round) {
    fail_unless(pipeline.play());
    pull_some(pipeline);
    pipeline.stop();
    if (round == 0)
      before = settled_fds();
    else
      fail_unless(settles_at(before), "%u descriptors, then %u", before, settled_fds());
  }
}
GST_END_TEST

// ---- the application's display

GstBusSyncReply answer_need(GstBus *, GstMessage *message, gpointer display) noexcept
{
  const gchar *type = nullptr;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_NEED_CONTEXT && gst_message_parse_context_type(message, &type) &&
      g_strcmp0(type, kType) == 0)
    gst_element_set_context(GST_ELEMENT(GST_MESSAGE_SRC(message)), context_of(display).get());
  return GST_BUS_PASS;
}

GST_START_TEST(test_application)
{
  load_plugin();
  const Counters counters;
  set_driver(std::string("formats=NV12:BGRX,") + counters.setting());
  const OwnDisplay own;
  {
    Pipeline pipeline(both(__i__ == 2 ? std::string("device=") + kNode : ""));
    const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(parent_of(pipeline)));
    if (__i__ == 0) {
      gst_bus_set_sync_handler(bus.get(), nullptr, nullptr, nullptr);
      gst_bus_set_sync_handler(bus.get(), answer_need, own.get(), nullptr);
    } else {
      gst_element_set_context(parent_of(pipeline), context_of(own.get()).get());
    }
    fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    pull_some(pipeline);
    fail_unless_equals_uint64(counters[C::Init], 1);
    fail_unless(display_in(ask(pipeline, "convert")) == own.get());
    pipeline.stop();
    gst_bus_set_sync_handler(bus.get(), nullptr, nullptr, nullptr);
  }
  // It is still the application's: nobody has terminated it.
  fail_unless(vaQueryVendorString(own.get()) != nullptr);
  VASurfaceID surface = VA_INVALID_ID;
  fail_unless_equals_int(vaCreateSurfaces(own.get(), VA_RT_FORMAT_YUV420, 64, 48, &surface, 1, nullptr, 0), VA_STATUS_SUCCESS);
  vaDestroySurfaces(own.get(), &surface, 1);
}
GST_END_TEST

// A context of another device, which was set before, does not hide the application's display of the right one.
GST_START_TEST(test_two_devices)
{
  load_plugin();
  set_driver("formats=NV12:BGRX");
  const OwnDisplay own;
  const OwnDisplay other(kOtherDevice);
  Warnings warnings;
  {
    Pipeline pipeline(both(std::string("device=") + kNode));
    const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(parent_of(pipeline)));
    for (const char *name : {"src", "convert"}) // not on the pipeline, which would answer with it before the application
      gst_element_set_context(pipeline.get(name), context_of(other.get()).get());
    gst_bus_set_sync_handler(bus.get(), nullptr, nullptr, nullptr);
    gst_bus_set_sync_handler(bus.get(), answer_need, own.get(), nullptr);
    fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    pull_some(pipeline);
    fail_unless(display_in(ask(pipeline, "src")) == own.get());
    fail_unless(display_in(ask(pipeline, "convert")) == own.get());
    pipeline.stop();
    gst_bus_set_sync_handler(bus.get(), nullptr, nullptr, nullptr);
  }
  fail_unless(warnings.text().empty(), "%s", warnings.text().c_str());
}
GST_END_TEST

// Two names of one device, the node's and a link's, are one display.
GST_START_TEST(test_two_names)
{
  constexpr char kLink[] = "/tmp/va-context-link";
  (void)::unlink(kLink);
  fail_unless(::symlink(kNode, kLink) == 0);
  load_plugin();
  const Counters counters;
  set_driver(std::string("formats=NV12:BGRX,") + counters.setting());
  Warnings warnings;
  Pipeline pipeline(both());
  g_object_set(pipeline.get(__i__ == 0 ? "src" : "convert"), "device", kLink, nullptr);
  g_object_set(pipeline.get(__i__ == 0 ? "convert" : "src"), "device", kNode, nullptr);
  fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
  pull_some(pipeline);
  fail_unless_equals_uint64(counters[C::Init], 1);
  fail_unless(warnings.text().empty(), "%s", warnings.text().c_str());
}
GST_END_TEST

// ---- what is refused: a warning in the log, and a display of the element's own

struct BadRow {
  const char *name;
  void (*fill)(GstStructure *structure, const OwnDisplay &other, const OwnDisplay &raw);
  const char *said;
};
const BadRow kBad[] = {
    {"NULL", [](GstStructure *s, const OwnDisplay &, const OwnDisplay &) { gst_structure_set(s, "va-display", G_TYPE_POINTER, nullptr, nullptr); },
     "the VADisplay is NULL"},
    {"a string", [](GstStructure *s, const OwnDisplay &, const OwnDisplay &) { gst_structure_set(s, "va-display", G_TYPE_STRING, "x", nullptr); },
     "neither a GstVaDisplay as gst-display nor a pointer as va-display"},
    {"empty", [](GstStructure *, const OwnDisplay &, const OwnDisplay &) {}, "neither a GstVaDisplay"},
    {"another class",
     [](GstStructure *s, const OwnDisplay &, const OwnDisplay &) {
       const auto bin = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gst_bin_new("b"))));
       gst_structure_set(s, "gst-display", GST_TYPE_OBJECT, bin.get(), nullptr);
     },
     "gst-display is a GstBin, not a GstVaDisplay"},
    {"no object", [](GstStructure *s, const OwnDisplay &, const OwnDisplay &) { gst_structure_set(s, "gst-display", GST_TYPE_OBJECT, nullptr, nullptr); },
     "neither a GstVaDisplay"},
    {"another device",
     [](GstStructure *s, const OwnDisplay &other, const OwnDisplay &) { gst_structure_set(s, "va-display", G_TYPE_POINTER, other.get(), nullptr); },
     "the VADisplay is of /dev/dri/card1, not of /dev/dri/renderD128"},
    {"not initialised",
     [](GstStructure *s, const OwnDisplay &, const OwnDisplay &raw) { gst_structure_set(s, "va-display", G_TYPE_POINTER, raw.get(), nullptr); },
     "vaInitialize"},
};

GST_START_TEST(test_refused)
{
  const BadRow &row = kBad[__i__];
  load_plugin();
  set_driver("formats=NV12:BGRX");
  const OwnDisplay other(kOtherDevice);
  const OwnDisplay raw(kNode, false);
  auto context = GstPtr<GstContext>::adopt(gst_context_new(kType, TRUE));
  row.fill(gst_context_writable_structure(context.get()), other, raw);
  Warnings warnings;
  Pipeline pipeline(both());
  gst_element_set_context(parent_of(pipeline), context.get());
  fail_unless(pipeline.play(), "%s: %s", row.name, pipeline.message(GST_MESSAGE_ERROR).c_str());
  pull_some(pipeline);
  fail_unless(warnings.text().find(row.said) != std::string::npos, "%s: '%s'", row.name, warnings.text().c_str());
  fail_if(display_in(ask(pipeline, "src")) == other.get());
}
GST_END_TEST

// ---- who goes away first

// The context keeps the display open: its pipeline is gone, another one uses it.
GST_START_TEST(test_display_outlives_its_pipeline)
{
  load_plugin();
  const Counters counters;
  set_driver(std::string("formats=NV12:BGRX,") + counters.setting());
  GstPtr<GstContext> context;
  GstPtr<GstSample> kept;
  {
    Pipeline first(both());
    fail_unless(first.play());
    pull_some(first);
    context = ask(first, "convert");
    kept = GstPtr<GstSample>::adopt(first.pull());
  }
  fail_unless(vaQueryVendorString(display_in(context)) != nullptr);
  Pipeline second(both());
  gst_element_set_context(second.get("src"), context.get());
  gst_element_set_context(second.get("convert"), context.get());
  context = {};
  fail_unless(second.play());
  pull_some(second, 20);
  fail_unless_equals_uint64(counters[C::Init], 1);
  (void)read_frame(kept.get());
  second.stop();
}
GST_END_TEST

// Upstream's elements open theirs on the way to READY, so it is theirs that is shared.
GST_START_TEST(test_upstream)
{
  load_plugin();
  if (GstElementFactory *factory = gst_element_factory_find("vapostproc"))
    gst_object_unref(gst_object_ref_sink(gst_element_factory_create(factory, nullptr))), gst_object_unref(factory);
  else
    return; // gstreamer1.0-plugins-bad is not installed
  const Counters counters;
  set_driver(std::string("derive=0,") + counters.setting());
  guint minor = 0;
  guint unused = 0;
  gst_version(&unused, &minor, &unused, &unused);
  Pipeline pipeline(source("num-buffers=5", minor >= 24 ? dma_caps("NV12", 320, 240) : "video/x-raw,format=NV12,width=320,height=240",
                           "vapostproc disable-passthrough=true ! video/x-raw(memory:VAMemory),width=160,height=120 ! appsink name=sink sync=false"));
  fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
  for (int i = 0; i < 5; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
  }
  fail_unless_equals_uint64(counters[C::Init], 1);
}
GST_END_TEST

// Upstream's element takes ours: of a context that the application passes on to another pipeline, or of the pipeline to
// which it is added while that plays.
GST_START_TEST(test_upstream_takes_ours)
{
  load_plugin();
  const auto postproc = [] { return gst_element_factory_make("vapostproc", "postproc"); };
  if (GstElement *first = postproc())
    gst_object_unref(gst_object_ref_sink(first)); // its class is made with another driver
  else
    return; // gstreamer1.0-plugins-bad is not installed
  const Counters counters;
  set_driver(std::string("derive=0,") + counters.setting());
  Pipeline first("vadmabufsrc name=src ! " + dma_caps("NV12", 64, 48) + " ! appsink name=sink sync=false max-buffers=2");
  fail_unless(first.play(), "%s", first.message(GST_MESSAGE_ERROR).c_str());
  pull_some(first);
  const auto ours = ask(first, "src");
  if (__i__ == 0) {
    guint minor = 0;
    guint unused = 0;
    gst_version(&unused, &minor, &unused, &unused);
    Pipeline second(source("num-buffers=5", minor >= 24 ? dma_caps("NV12", 320, 240) : "video/x-raw,format=NV12,width=320,height=240",
                           "vapostproc name=postproc disable-passthrough=true ! video/x-raw(memory:VAMemory),width=160,height=120 ! "
                           "appsink name=sink sync=false"));
    gst_element_set_context(parent_of(second), ours.get());
    fail_unless(second.play(), "%s", second.message(GST_MESSAGE_ERROR).c_str());
    for (int i = 0; i < 5; ++i) {
      const auto sample = GstPtr<GstSample>::adopt(second.pull());
      fail_unless(static_cast<bool>(sample), "%s", second.message(GST_MESSAGE_ERROR).c_str());
    }
    second.stop();
  } else {
    GstElement *added = postproc();
    fail_unless(gst_bin_add(GST_BIN(parent_of(first)), added));
    fail_unless_equals_int(gst_element_set_state(added, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
    const auto contexts = GstPtr<GstContext>::adopt(gst_element_get_context(added, kType));
    fail_unless(contexts && display_in(contexts) == display_in(ours));
  }
  fail_unless_equals_uint64(counters[C::Init], 1);
  // upstream terminates no display that it did not open
  pull_some(first);
  fail_unless(vaQueryVendorString(display_in(ours)) != nullptr);
}
GST_END_TEST

Suite *va_context_suite()
{
  Suite *suite = suite_create("va_context");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_neighbours_share, 0, G_N_ELEMENTS(kDrivers));
  tcase_add_test(tcase, test_every_display_is_closed);
  tcase_add_loop_test(tcase, test_application, 0, 3);
  tcase_add_test(tcase, test_two_devices);
  tcase_add_loop_test(tcase, test_two_names, 0, 2);
  tcase_add_loop_test(tcase, test_refused, 0, G_N_ELEMENTS(kBad));
  tcase_add_test(tcase, test_display_outlives_its_pipeline);
  tcase_add_test(tcase, test_upstream);
  tcase_add_loop_test(tcase, test_upstream_takes_ours, 0, 2);
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  g_setenv("GST_VA_ALL_DRIVERS", "1", TRUE); // upstream takes Mesa's and Intel's only
  set_driver(kRichestDriver);
  gst_check_init(&argc, &argv);
  return run_suite(va_context_suite());
}
