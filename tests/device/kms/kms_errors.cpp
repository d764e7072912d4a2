// SPDX-License-Identifier: LGPL-2.1-or-later
// Everything that can be wrong with a device and with caps ends in one element error that names
// what failed, why, and what to try.
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "kms_errors.hpp"
#include "kms_ioctls.hpp"
#include "kms_support.hpp"

#include <gst/allocators/gstdmabuf.h>

using namespace gstdrm::test;

namespace gstdrm::test {

std::string card_of(const char *driver)
{
  for (int n = 0; n < 16; n++) {
    const std::string path = "/dev/dri/card" + std::to_string(n);
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0)
      continue;
    drmVersion *version = drmGetVersion(fd);
    const bool found = version && std::string(version->name) == driver;
    drmFreeVersion(version);
    close(fd);
    if (found)
      return path;
  }
  return "";
}

void expect_no_error(Sink &sink, const char *row)
{
  const std::string message = sink.next_message(GST_MESSAGE_ERROR);
  ck_assert_msg(message.empty(), "%s: one more error: %s", row, message.c_str());
}

void expect_open_error(const char *row, const std::string &properties, const std::vector<std::string> &words)
{
  Sink sink(properties.c_str());
  ck_assert_msg(!sink.set_state(GST_STATE_READY), "%s: the device was opened", row);
  expect_words(sink.next_message(GST_MESSAGE_ERROR), words, row);
  expect_no_error(sink, row);
}

} // namespace gstdrm::test

namespace {

struct OpenRow {
  const char *name;
  const char *properties;
  std::vector<std::string> words;
};

const OpenRow kOpenRows[] = {
    {"no such node", "device=/dev/dri/card99", {"/dev/dri/card99", "ENOENT", "no such device"}},
    {"no DRM device", "device=/dev/null driver-name=\"\"", {"/dev/null", "not a DRM device"}},
    {"closed descriptor", "fd=987", {"fd=987", "EBADF"}},
    {"no such driver", "driver-name=nosuch", {"driver-name=nosuch", "/dev/dri/card", "vkms"}},
    {"no such bus id", "bus-id=pci:0000:00:99.0", {"bus-id=pci:0000:00:99.0"}},
    {"no such connector", "connector=HDMI-A-7", {"HDMI-A-7", "Virtual-1", "connector"}},
    {"no such plane", "plane-id=99999", {"Plane 99999", "plane-id"}},
    {"no such property",
     "connector-properties=\"properties,no-such=1\"",
     {"connector-properties", "no property no-such"}},
    {"a property of the sink's",
     "plane-properties=\"properties,FB_ID=1\"",
     {"plane-properties", "FB_ID", "sink itself"}},
    {"a zpos that no plane can have", "plane-properties=s,zpos=99", {"zpos=99", "Plane"}},
    {"no zpos", "plane-properties=s,zpos=top", {"plane-properties", "zpos is set by the sink"}},
    {"a colour that the caps tell",
     "plane-properties=s,COLOR_RANGE=1",
     {"plane-properties", "COLOR_RANGE", "colorimetry of the caps"}},
    {"no value of a property",
     "plane-properties=\"properties,FB_ID=1.5\"",
     {"plane-properties", "FB_ID", "double"}},
    {"no variable refresh", "vrr=true", {"vrr=true", "vrr_capable"}},
    {"no tearing", "tearing=true", {"tearing=true", "asynchronous"}},
    {"a mode that shall not be set", "mode=640x480 mode-changes=never", {"mode-changes=never"}},
};

} // namespace

GST_START_TEST(test_open_errors)
{
  const OpenRow &row = kOpenRows[__i__];
  g_print("# %s\n", row.name);
  expect_open_error(row.name, row.properties, row.words);
}
GST_END_TEST

GST_START_TEST(test_card_without_outputs)
{
  const std::string vgem = card_of("vgem");
  ck_assert_str_ne(vgem.c_str(), "");
  expect_open_error("vgem", "driver-name=\"\" device=" + vgem, {vgem, "vgem", "card"});
}
GST_END_TEST

GST_START_TEST(test_display_is_taken)
{
  const int other = open(card_of("vkms").c_str(), O_RDWR | O_CLOEXEC); // the first to open is master
  ck_assert_int_ge(other, 0);
  ck_assert(drmIsMaster(other));
  expect_open_error("taken", "", {"vkms", "Another program holds the display", "SET_MASTER", "compositor"});
  close(other);
  Sink sink;
  ck_assert(sink.set_state(GST_STATE_READY));
}
GST_END_TEST

GST_START_TEST(test_no_permission)
{
  const Sink loaded; // the plugin may be in a folder that is root's alone
  ck_assert_int_eq(seteuid(65534), 0);
  expect_open_error("no permission", "", {"/dev/dri/card", "EACCES", "group"});
  ck_assert_int_eq(seteuid(0), 0);
}
GST_END_TEST

// What can be opened and shows nothing, by name and as a descriptor.
GST_START_TEST(test_no_display_device)
{
  const std::string card = card_of("vgem");
  const int card_fd = open(card.c_str(), O_RDWR | O_CLOEXEC);
  char *name = drmGetRenderDeviceNameFromFd(card_fd);
  ck_assert(name);
  const std::string render = name;
  free(name);
  close(card_fd);
  const struct {
    const char *row;
    std::string path;
    std::vector<std::string> words;
  } rows[] = {
      {"render node", render, {render, "render node", "card"}},
      {"no DRM device", "/dev/null", {"not a DRM device"}},
  };
  for (const auto &row : rows) {
    expect_open_error(row.row, "driver-name=\"\" device=" + row.path, row.words);
    const int fd = open(row.path.c_str(), O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    expect_open_error(row.row, "driver-name=\"\" fd=" + std::to_string(fd), row.words);
    ck_assert_int_ge(fcntl(fd, F_GETFD), 0); // it stays the application's
    close(fd);
  }
}
GST_END_TEST

// The application's own descriptor: used, and left as it was.
GST_START_TEST(test_descriptor_of_the_application)
{
  const int fd = open(card_of("vkms").c_str(), O_RDWR | O_CLOEXEC);
  ck_assert_int_ge(fd, 0);
  const GstVideoInfo info = video_info(plain_caps("BGRx", 640, 480));
  {
    Sink sink(("driver-name=\"\" fd=" + std::to_string(fd)).c_str());
    ck_assert(sink.set_caps(dma_drm_caps("XR24", 640, 480)));
    ck_assert_int_eq(sink.push(to_dmabuf(info, make_noise(info, 1).get(), Shape::Tight).release()), GST_FLOW_OK);
    sink.eos();
    ck_assert_uint_eq(sink.stat("shown"), 1);
  }
  ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
  ck_assert(drmIsMaster(fd));
  close(fd);
}
GST_END_TEST

namespace {

bool write_file(const std::string &path, const char *text)
{
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written = fd >= 0 && write(fd, text, strlen(text)) == static_cast<ssize_t>(strlen(text));
  if (fd >= 0)
    close(fd);
  return written;
}

// A second vkms made through configfs, whose only connector is unplugged.
void make_unplugged_vkms(const std::string &root)
{
  for (const char *directory : {"", "/planes/p", "/crtcs/c", "/encoders/e", "/connectors/x"})
    ck_assert_msg(mkdir((root + directory).c_str(), 0755) == 0, "%s%s: %s", root.c_str(), directory,
                  strerror(errno));
  ck_assert(write_file(root + "/planes/p/type", "1"));
  ck_assert(write_file(root + "/connectors/x/status", "2"));
  ck_assert_int_eq(symlink((root + "/crtcs/c").c_str(), (root + "/planes/p/possible_crtcs/c").c_str()), 0);
  ck_assert_int_eq(symlink((root + "/crtcs/c").c_str(), (root + "/encoders/e/possible_crtcs/c").c_str()), 0);
  ck_assert_int_eq(
      symlink((root + "/encoders/e").c_str(), (root + "/connectors/x/possible_encoders/e").c_str()), 0);
  ck_assert(write_file(root + "/enabled", "1"));
}

} // namespace

GST_START_TEST(test_nothing_is_connected)
{
  make_unplugged_vkms("/sys/kernel/config/vkms/unplugged");
  expect_open_error("unplugged", "driver-name=\"\" device=/dev/dri/card2",
                    {"No output", "/dev/dri/card2", "disconnected", "connector"});
  expect_open_error("unplugged, by name", "driver-name=\"\" device=/dev/dri/card2 connector=Virtual-2",
                    {"Virtual-2", "/dev/dri/card2"});
  // left to choose, the sink takes the device that has a display
  Sink sink("driver-name=\"\"");
  ck_assert(sink.set_state(GST_STATE_READY));
}
GST_END_TEST

namespace {

struct CapsRow {
  const char *name;
  const char *properties;
  std::string caps;
  std::vector<std::string> words;
};

const CapsRow kCapsRows[] = {
    {"format of no plane", "", dma_drm_caps("YUYV", 640, 480), {"YUYV", "XR24", "The display takes", "videoconvert"}},
    {"modifier of no plane", "", dma_drm_caps("XR24:0x0100000000000001", 640, 480),
     {"XR24:0x0100000000000001", "INTEL_X_TILED", "Ask upstream for XR24"}},
    {"larger than every mode", "", dma_drm_caps("XR24", 5000, 3000),
     {"5000x3000", "takes sizes from", "to 4096x2160", "videoscale"}},
    {"wider than every mode", "", dma_drm_caps("XR24", 4097, 10), {"4097x10", "sizes from"}},
    {"system memory with zero-copy=require", "zero-copy=require", plain_caps("BGRx", 640, 480),
     {"zero-copy=require", "dmabufupload"}},
    {"written linear modifier", "", dma_drm_caps("XR24:0x0000000000000000", 640, 480), {"XR24:0x0000000000000000"}},
};

} // namespace

namespace {

void keep_warnings(GstDebugCategory *, GstDebugLevel level, const gchar *, const gchar *, gint, GObject *,
                   GstDebugMessage *message, gpointer data)
{
  if (level == GST_LEVEL_WARNING)
    *static_cast<std::string *>(data) += gst_debug_message_get(message);
}

} // namespace

GST_START_TEST(test_refused_caps)
{
  const CapsRow &row = kCapsRows[__i__];
  g_print("# %s\n", row.name);
  std::string log;
  gst_debug_set_active(TRUE);
  gst_debug_set_threshold_for_name("kmsdmabufsink", GST_LEVEL_WARNING);
  gst_debug_remove_log_function(gst_debug_log_default);
  gst_debug_add_log_function(keep_warnings, &log, nullptr);
  Sink sink(row.properties);
  ck_assert_msg(!sink.set_caps(row.caps), "%s was accepted", row.name);
  gst_debug_remove_log_function(keep_warnings);
  expect_words(sink.next_message(GST_MESSAGE_ERROR), row.words, row.name);
  expect_no_error(sink, row.name);
  // the formats are listed where one of them would have helped
  const bool is_size = strstr(row.name, "every mode") != nullptr;
  ck_assert_msg((log.find("sizes from") != std::string::npos) == is_size, "%s: %s", row.name, log.c_str());
  ck_assert_msg(!is_size || log.find("planes take") == std::string::npos, "%s: %s", row.name, log.c_str());
}
GST_END_TEST

namespace {

struct FilterRow {
  const char *name;
  const char *launch; // before the sink
  std::vector<std::string> words;
};

// Nobody sends caps: the source finds out by a query that there are none to send. Its own error says
// that negotiation failed, and no more; the sink's comes first.
const FilterRow kFilterRows[] = {
    {"a format of no plane", "videotestsrc name=video ! capsfilter name=f caps=video/x-raw,format=YUY2",
     {"video (videotestsrc), through f (capsfilter)", "YUY2", "The display takes", "videoconvert"}},
    {"a size of no mode", "videotestsrc ! capsfilter name=f caps=video/x-raw,width=5000,height=3000",
     {"through f (capsfilter)", "width 5000 against", "The display takes"}},
    {"behind a converter", "videotestsrc ! videoconvert name=c ! queue ! capsfilter name=f caps=video/x-raw,format=GRAY16_BE",
     {"c (videoconvert), through f (capsfilter)", "GRAY16_BE", "The display takes"}},
};

} // namespace

GST_START_TEST(test_refused_by_a_query)
{
  const FilterRow &row = kFilterRows[__i__];
  g_print("# %s\n", row.name);
  GError *error = nullptr;
  const auto pipeline = GstPtr<GstElement>::adopt(
      gst_parse_launch((std::string(row.launch) + " ! kmsdmabufsink name=sink mode=match driver-name=vkms").c_str(), &error));
  ck_assert_msg(error == nullptr, "%s", error ? error->message : "");
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  int reasons = 0;
  while (true) {
    const auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(
        bus.get(), GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING)));
    ck_assert_int_eq(GST_MESSAGE_TYPE(message.get()), GST_MESSAGE_ERROR);
    if (strcmp(GST_MESSAGE_SRC_NAME(message.get()), "sink") != 0)
      break; // upstream's
    GError *raw = nullptr;
    gst_message_parse_error(message.get(), &raw, nullptr);
    const std::unique_ptr<GError, decltype(&g_error_free)> owned(raw, g_error_free);
    gstdrm::test::say(raw->message);
    ck_assert_msg(std::string(raw->message).find("Composition") == std::string::npos, "%s", raw->message);
    expect_words(raw->message, row.words, row.name);
    const GstStructure *details = nullptr;
    gst_message_parse_error_details(message.get(), &details);
    ck_assert(details && gst_structure_has_name(details, "GstDrmMismatch"));
    ck_assert_str_eq(gst_structure_get_string(details, "text"), raw->message);
    reasons++;
  }
  ck_assert_int_eq(reasons, 1);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
}
GST_END_TEST

namespace {

// Those of GStreamer 1.22 pass DMA_DRM on in caps queries, and fail on such caps.
constexpr const char *kFilters[] = {"videocrop left=32 top=8", "videobalance", "queue ! videoflip method=clockwise",
                                    "overlaycomposition"};

} // namespace

GST_START_TEST(test_filters_before_the_sink)
{
  const std::string filter = kFilters[__i__];
  g_print("# %s\n", filter.c_str());
  const auto pipeline = GstPtr<GstElement>::adopt(gst_parse_launch(
      ("videotestsrc num-buffers=3 ! dmabufupload ! " + filter + " ! kmsdmabufsink driver-name=vkms sync=false").c_str(),
      nullptr));
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  const auto end = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(
      bus.get(), GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
  ck_assert_int_eq(GST_MESSAGE_TYPE(end.get()), GST_MESSAGE_EOS);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
}
GST_END_TEST

// An application that asks, whatever it asks for, is told by the answer alone.
GST_START_TEST(test_queries_that_are_no_failure)
{
  Sink sink;
  ck_assert(sink.set_state(GST_STATE_READY));
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
  const auto ask = [&pad](const char *filter) {
    const auto wanted = GstPtr<GstCaps>::adopt(gst_caps_from_string(filter));
    const auto caps = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), wanted.get()));
    return gst_caps_is_empty(caps.get()) != FALSE;
  };
  ck_assert(ask("video/x-raw, format=YUY2")); // before PAUSED
  ck_assert(sink.set_caps(dma_drm_caps("XR24", 640, 480)));
  ck_assert(ask("video/x-h264"));
  ck_assert(ask("EMPTY"));
  ck_assert(!ask("video/x-raw, format={ YUY2, BGRx }"));
  ck_assert(ask("video/x-raw, format=YUY2"));
  const auto kTold = static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  ck_assert(sink.next_message(kTold).empty());
}
GST_END_TEST

namespace {

// Of the device's planes, which share it.
unsigned plane_property(const std::string &path, const char *name)
{
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  drmSetClientCap(fd, DRM_CLIENT_CAP_ATOMIC, 1);
  drmModePlaneRes *planes = drmModeGetPlaneResources(fd);
  drmModeObjectProperties *list =
      drmModeObjectGetProperties(fd, planes->planes[0], DRM_MODE_OBJECT_PLANE);
  unsigned id = 0;
  for (std::uint32_t i = 0; i < list->count_props; i++) {
    drmModePropertyRes *property = drmModeGetProperty(fd, list->props[i]);
    if (strcmp(property->name, name) == 0)
      id = property->prop_id;
    drmModeFreeProperty(property);
  }
  drmModeFreeObjectProperties(list);
  drmModeFreePlaneResources(planes);
  close(fd);
  return id;
}

} // namespace

// Every plane has to cover the screen, as the primary plane of many drivers has: the sizes that
// work are offered, a scaler takes one of them, and who sends another is told what to do, on one
// screen.
GST_START_TEST(test_only_sizes_that_cover)
{
  const std::string card = card_of("vkms");
  refuse_commits_that_set(plane_property(card, "CRTC_X"), plane_property(card, "CRTC_Y"));
  {
    Sink sink;
    ck_assert(sink.set_state(GST_STATE_READY));
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
    const auto caps = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr));
    ck_assert_uint_gt(gst_caps_get_size(caps.get()), 2);
    for (guint i = 0; i < gst_caps_get_size(caps.get()); i++) {
      gint width = 0, height = 0;
      const GstStructure *structure = gst_caps_get_structure(caps.get(), i);
      ck_assert(gst_structure_get_int(structure, "width", &width));
      ck_assert(gst_structure_get_int(structure, "height", &height));
    }
    ck_assert(sink.set_caps(dma_drm_caps("XR24", 300, 200)));
    const GstVideoInfo info = video_info(plain_caps("BGRx", 300, 200));
    const GstPtr<GstBuffer> picture = make_noise(info, 1);
    GstFlowReturn ret = GST_FLOW_OK;
    for (int i = 0; i < 100 && ret == GST_FLOW_OK; i++)
      ret = sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release());
    ck_assert_int_ne(ret, GST_FLOW_OK);
    const std::string message = sink.next_message(GST_MESSAGE_ERROR);
    gstdrm::test::say(message);
    expect_words(message, {"videoscale", "cover the screen"}, "300x200");
    ck_assert_uint_lt(message.find("videoscale"), message.find("Plane "));
    ck_assert_uint_lt(message.size(), 80 * 24);
  }
  const auto pipeline = GstPtr<GstElement>::adopt(gst_parse_launch(
      "videotestsrc num-buffers=3 ! video/x-raw,width=300,height=200 ! videoscale ! kmsdmabufsink "
      "driver-name=vkms",
      nullptr));
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  const auto end = GstPtr<GstMessage>::adopt(
      gst_bus_timed_pop_filtered(bus.get(), GST_CLOCK_TIME_NONE,
                                 static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
  ck_assert_int_eq(GST_MESSAGE_TYPE(end.get()), GST_MESSAGE_EOS);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  refuse_commits_that_set(0, 0);
}
GST_END_TEST

static Suite *kms_errors_suite(void)
{
  Suite *s = suite_create("kms-errors");
  TCase *tc = tcase_create("errors");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, test_open_errors, 0, G_N_ELEMENTS(kOpenRows));
  tcase_add_test(tc, test_card_without_outputs);
  tcase_add_test(tc, test_display_is_taken);
  add_program_error_cases(tc);
  tcase_add_test(tc, test_no_permission);
  tcase_add_test(tc, test_no_display_device);
  tcase_add_test(tc, test_descriptor_of_the_application);
  tcase_add_loop_test(tc, test_refused_caps, 0, G_N_ELEMENTS(kCapsRows));
  tcase_add_loop_test(tc, test_refused_by_a_query, 0, G_N_ELEMENTS(kFilterRows));
  tcase_add_loop_test(tc, test_filters_before_the_sink, 0, G_N_ELEMENTS(kFilters));
  tcase_add_test(tc, test_queries_that_are_no_failure);
  add_buffer_error_cases(tc);
  tcase_add_test(tc, test_only_sizes_that_cover);
  tcase_add_test(tc, test_nothing_is_connected); // last: the second device stays
  return s;
}

GST_DRM_CHECK_MAIN(kms_errors)
