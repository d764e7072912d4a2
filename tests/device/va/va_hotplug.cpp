// SPDX-License-Identifier: LGPL-2.1-or-later
// Render nodes that come and go while a GstDeviceMonitor watches. The nodes are names of the first one, and the test
// driver plays another driver on each.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gst/drm/gstdrm-private.hpp>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;
using C = vadriver::Counter;

constexpr char kFirst[] = "/dev/dri/renderD128";
constexpr char kSecond[] = "/dev/dri/renderD129";
constexpr char kThird[] = "/dev/dri/renderD130";
constexpr char kLast[] = "/dev/dri/renderD131";
dev_t number; // of the first one

void plug(const char *path)
{
  fail_unless(::mknod(path, S_IFCHR | 0666, number) == 0, "%s: %s", path, g_strerror(errno));
}

void unplug(const char *path)
{
  fail_unless(::unlink(path) == 0, "%s: %s", path, g_strerror(errno));
}

// A monitor that runs, and what it says.
class Monitor {
public:
  Monitor() : monitor_(GstPtr<GstDeviceMonitor>::adopt(gst_device_monitor_new()))
  {
    gst_device_monitor_add_filter(monitor_.get(), "Video/GPU", nullptr);
    fail_unless(gst_device_monitor_start(monitor_.get()));
    const auto first = next(); // of the nodes that the plugin knows
    fail_unless(first == std::string("+") + kFirst, "%s", first.c_str());
  }
  Monitor(const Monitor &) = delete;
  Monitor &operator=(const Monitor &) = delete;
  ~Monitor() { gst_device_monitor_stop(monitor_.get()); }

  [[nodiscard]] GstDeviceMonitor *get() const { return monitor_.get(); }

  // "+/dev/dri/renderD129", "-/dev/dri/renderD129": the next one.
  std::string next()
  {
    const auto bus = GstPtr<GstBus>::adopt(gst_device_monitor_get_bus(monitor_.get()));
    const auto message = GstPtr<GstMessage>::adopt(
        gst_bus_timed_pop_filtered(bus.get(), GST_CLOCK_TIME_NONE,
                                   static_cast<GstMessageType>(GST_MESSAGE_DEVICE_ADDED | GST_MESSAGE_DEVICE_REMOVED)));
    GstDevice *device = nullptr;
    const bool added = GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_DEVICE_ADDED;
    if (added)
      gst_message_parse_device_added(message.get(), &device);
    else
      gst_message_parse_device_removed(message.get(), &device);
    last_ = GstPtr<GstDevice>::adopt(device);
    return (added ? "+" : "-") + path_of(device);
  }
  [[nodiscard]] GstDevice *last() const { return last_.get(); }

  // "/dev/dri/renderD128 /dev/dri/renderD129"
  std::string list()
  {
    std::string paths;
    GList *devices = gst_device_monitor_get_devices(monitor_.get());
    for (const GList *at = devices; at; at = at->next)
      paths += (paths.empty() ? "" : " ") + path_of(GST_DEVICE(at->data));
    g_list_free_full(devices, gst_object_unref);
    return paths;
  }

  static std::string path_of(GstDevice *device)
  {
    GstStructure *properties = gst_device_get_properties(device);
    std::string path = gst_structure_get_string(properties, "device.path");
    gst_structure_free(properties);
    return path;
  }

private:
  GstPtr<GstDeviceMonitor> monitor_;
  GstPtr<GstDevice> last_;
};

void expect(Monitor &monitor, const std::string &said)
{
  const auto next = monitor.next();
  fail_unless(next == said, "'%s', not '%s'", next.c_str(), said.c_str());
}

void tidy()
{
  ::rename("/dev/gone", "/dev/dri");
  for (const char *path : {kSecond, kThird, kLast})
    ::unlink(path);
}

void setup()
{
  tidy();
  g_unsetenv("GST_DRM_VA_PROBE_TIMEOUT");
}

GST_START_TEST(test_comes_and_goes)
{
  set_driver("formats=NV12@renderD129,formats=P010");
  Monitor monitor;
  fail_unless(monitor.list() == kFirst, "%s", monitor.list().c_str());
  for (int i = 0; i < 3; ++i) {
    plug(kSecond);
    expect(monitor, std::string("+") + kSecond);
    const auto device = GstPtr<GstDevice>::share(monitor.last());
    const auto caps = GstPtr<GstCaps>::adopt(gst_device_get_caps(device.get()));
    const auto wanted = GstPtr<GstCaps>::adopt(gst_caps_from_string(dma_caps("P010", 64, 64).c_str()));
    fail_unless(gst_caps_can_intersect(caps.get(), wanted.get()));
    const auto element =
        GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gst_device_create_element(device.get(), nullptr))));
    g_autofree gchar *path = nullptr;
    g_object_get(element.get(), "device", &path, nullptr);
    fail_unless_equals_string(path, kSecond);
    unplug(kSecond);
    expect(monitor, std::string("-") + kSecond);
    fail_unless(monitor.last() == device.get());
    fail_unless(monitor.list() == kFirst, "%s", monitor.list().c_str());
  }
}
GST_END_TEST

// A node that is made anew under its name is another device.
GST_START_TEST(test_is_replaced)
{
  set_driver("formats=NV12");
  Monitor monitor;
  plug(kSecond);
  expect(monitor, std::string("+") + kSecond);
  const auto before = GstPtr<GstDevice>::share(monitor.last());
  unplug(kSecond);
  plug(kSecond);
  expect(monitor, std::string("-") + kSecond);
  fail_unless(monitor.last() == before.get());
  expect(monitor, std::string("+") + kSecond);
  fail_unless(monitor.last() != before.get());
}
GST_END_TEST

// ---- nodes that are not announced: the next one is

const char *const kBad[] = {"fail=init", "crash=init", "crash=create", "exit=query", "export-refused=NV12"};

GST_START_TEST(test_bad_driver)
{
  set_driver(std::string("formats=NV12@renderD129,") + kBad[__i__]);
  Monitor monitor;
  plug(kSecond);
  plug(kThird);
  expect(monitor, std::string("+") + kThird);
  fail_unless(monitor.list().find(kSecond) == std::string::npos);
}
GST_END_TEST

// What is no node: another name, and a node that went before it could be opened.
GST_START_TEST(test_no_node)
{
  set_driver("formats=NV12");
  Monitor monitor;
  for (const char *path : {"/dev/dri/card99", "/dev/dri/renderDx", "/dev/dri/renderD"}) {
    plug(path);
    unplug(path);
  }
  plug(kThird);
  expect(monitor, std::string("+") + kThird);
}
GST_END_TEST

// A node comes with the rights of root, and gets its own a moment later.
GST_START_TEST(test_gets_its_rights)
{
  const Counters counters;
  set_driver("formats=NV12@renderD129,fail=init:1," + counters.setting());
  Monitor monitor;
  plug(kSecond);
  while (counters[C::Init] < 1)
    g_usleep(1000);
  fail_unless(::chmod(kSecond, 0600) == 0);
  expect(monitor, std::string("+") + kSecond);
  fail_unless_equals_uint64(counters[C::Init], 2);
  // of one that is announced nothing is asked again
  fail_unless(::chmod(kSecond, 0666) == 0);
  plug(kThird);
  expect(monitor, std::string("+") + kThird);
  fail_unless_equals_uint64(counters[C::Init], 2);
}
GST_END_TEST

GST_START_TEST(test_folder_goes)
{
  set_driver("formats=NV12");
  Monitor monitor;
  fail_unless(::rename("/dev/dri", "/dev/gone") == 0);
  expect(monitor, std::string("-") + kFirst);
  fail_unless(::rename("/dev/gone", "/dev/dri") == 0);
  expect(monitor, std::string("+") + kFirst);
  plug(kSecond); // the folder is watched again
  expect(monitor, std::string("+") + kSecond);
}
GST_END_TEST

// ---- the end

void wait_for_hang(const Counters &counters)
{
  while (counters[C::Init] == 0)
    g_usleep(1000);
}

// A probe that hangs is ended, long before its time.
GST_START_TEST(test_stops_in_a_probe)
{
  const Counters counters;
  g_setenv("GST_DRM_VA_PROBE_TIMEOUT", "3600", TRUE);
  set_driver("formats=NV12@renderD129,hang=init," + counters.setting());
  {
    Monitor monitor;
    plug(kSecond);
    wait_for_hang(counters);
  }
  siginfo_t child{};
  fail_unless(::waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0, "a child is left");
}
GST_END_TEST

GST_START_TEST(test_starts_again)
{
  set_driver("formats=NV12");
  {
    Monitor monitor;
    plug(kSecond);
    expect(monitor, std::string("+") + kSecond);
  }
  const unsigned before = settled_fds();
  for (int i = 0; i < 3; ++i) {
    Monitor monitor;
    plug(kThird);
    expect(monitor, std::string("+") + kSecond); // found again
    expect(monitor, std::string("+") + kThird);
    unplug(kThird);
    expect(monitor, std::string("-") + kThird);
  }
  fail_unless(settles_at(before));
}
GST_END_TEST

GstBusSyncReply stop_monitor(GstBus * /*bus*/, GstMessage *message, gpointer monitor) noexcept
{
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_DEVICE_ADDED)
    gst_device_monitor_stop(GST_DEVICE_MONITOR(monitor));
  return GST_BUS_PASS;
}

bool watcher_runs()
{
  for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    if (std::getline(file, name) && name == "va-nodes")
      return true;
  }
  return false;
}

// By the thread that announces the node.
GST_START_TEST(test_stops_in_a_handler)
{
  set_driver("formats=NV12");
  const auto monitor = GstPtr<GstDeviceMonitor>::adopt(gst_device_monitor_new());
  gst_device_monitor_add_filter(monitor.get(), "Video/GPU", nullptr);
  fail_unless(gst_device_monitor_start(monitor.get()));
  const auto bus = GstPtr<GstBus>::adopt(gst_device_monitor_get_bus(monitor.get()));
  GstPtr<GstMessage>::adopt(gst_bus_pop(bus.get())); // the first node's
  gst_bus_set_sync_handler(bus.get(), stop_monitor, monitor.get(), nullptr);
  plug(kSecond);
  while (!gst_bus_have_pending(bus.get()))
    g_usleep(1000);
  while (watcher_runs()) // it is still in the monitor, which must not go before
    g_usleep(1000);
  gst_bus_set_sync_handler(bus.get(), nullptr, nullptr, nullptr);
}
GST_END_TEST

// ---- a GPU that is unplugged while it plays: its driver's calls fail, and the error says why

// Two names of one device are one display, which vadmabufsrc would take of its neighbour: frames come from the CPU.
const char *const kPlaying[] = {
    "vadmabufsrc name=element device=/dev/dri/renderD129 ! appsink name=sink sync=false max-buffers=1",
    "videotestsrc ! video/x-raw,format=BGRx,width=64,height=48 ! vadmabufconvert name=element device=/dev/dri/renderD129 video-direction=180 ! appsink name=sink sync=false max-buffers=1",
};

struct UnplugRow {
  const char *driver; // of the node that goes
  const char *call;   // that fails first
  bool gone;          // else the driver fails, and the node stays
};
#define ANY_DRIVER "formats=BGRX"
const UnplugRow kUnplugs[] = {
    {ANY_DRIVER, "begin", true},         {ANY_DRIVER, "render", true},         {ANY_DRIVER, "end", true},         {ANY_DRIVER, "begin", false},
    {"profile=ihd", "begin", true},      {"profile=ihd", "render", true},      {"profile=ihd", "end", true},      {"profile=ihd", "begin", false},
    {"profile=i965", "begin", true},     {"profile=i965", "render", true},     {"profile=i965", "end", true},     {"profile=i965", "begin", false},
    {"profile=radeonsi", "begin", true}, {"profile=radeonsi", "render", true}, {"profile=radeonsi", "end", true}, {"profile=radeonsi", "begin", false},
    {"profile=radeonsi26", "begin", true}, {"profile=radeonsi26", "render", true}, {"profile=radeonsi26", "end", true}, {"profile=radeonsi26", "begin", false},
    {"profile=nouveau", "begin", true},  {"profile=nouveau", "render", true},  {"profile=nouveau", "end", true},  {"profile=nouveau", "begin", false},
};
// So many calls come before: i965 draws each piece of a picture by calls of its own, and frames are drawn ahead.
constexpr int kCallsBefore = 300;

// The call, the node and what to do are in the one error of the element.
void expect_said(Pipeline &pipeline, const UnplugRow &row)
{
  const auto message = pipeline.message(GST_MESSAGE_ERROR);
  const std::string name = row.call == std::string("end") ? "vaEndPicture" : row.call == std::string("begin") ? "vaBeginPicture" : "vaRenderPicture";
  fail_unless(message.find(name + " on /dev/dri/renderD129") != std::string::npos, "%s, %s: %s", row.driver, row.call, message.c_str());
  fail_unless((message.find("/dev/dri/renderD129 has gone: its GPU was unplugged") != std::string::npos) == row.gone, "%s", message.c_str());
  const char *advice = row.gone ? "set another device" : "See the kernel log";
  fail_unless(message.find(advice) != std::string::npos, "%s", message.c_str());
}

GST_START_TEST(test_unplugged_while_it_plays)
{
  const UnplugRow &row = kUnplugs[static_cast<std::size_t>(__i__) % G_N_ELEMENTS(kUnplugs)];
  const char *launch = kPlaying[static_cast<std::size_t>(__i__) / G_N_ELEMENTS(kUnplugs)];
  plug(kSecond);
  set_driver(std::string("formats=BGRX@renderD129,") + row.driver + ",fail=" + row.call + ":" + std::to_string(kCallsBefore));
  const unsigned before = settled_fds();
  {
    Pipeline pipeline(launch);
    fail_unless(pipeline.play(), "%s: %s", row.driver, pipeline.message(GST_MESSAGE_ERROR).c_str());
    g_autoptr(GstSample) kept = nullptr;
    for (int i = 0;; ++i) {
      g_autoptr(GstSample) sample = pipeline.pull();
      if (!sample)
        break;
      fail_unless(i < 2 * kCallsBefore);
      if (i == 0 && row.gone)
        unplug(kSecond);
      if (i == 0)
        std::swap(kept, sample);
    }
    fail_unless(kept != nullptr, "%s: no frame", row.driver);
    expect_said(pipeline, row);
    pipeline.stop();
    fail_unless(pipeline.errors_of("element").size() == 1, "%s, %s: %u errors", row.driver, row.call, static_cast<unsigned>(pipeline.errors_of("element").size()));
    if (row.gone) { // a second failure is said as well, once
      fail_unless(!pipeline.play());
      pipeline.stop();
      fail_unless(pipeline.errors_of("element").size() == 1, "%s: %u errors", row.driver, static_cast<unsigned>(pipeline.errors_of("element").size()));
      fail_unless(pipeline.errors_of("element")[0].find(kSecond) != std::string::npos, "%s", pipeline.errors_of("element")[0].c_str());
      // with another device it goes on, while the application still has a frame of the first one
      set_driver("formats=BGRX");
      g_object_set(pipeline.get("element"), "device", kFirst, nullptr);
      fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
      g_autoptr(GstSample) sample = pipeline.pull();
      fail_unless(sample != nullptr, "%s: %s", row.driver, pipeline.message(GST_MESSAGE_ERROR).c_str());
    }
    pipeline.stop();
  }
  fail_unless(settles_at(before), "%s, %s: descriptors are left", row.driver, row.call);
}
GST_END_TEST

Suite *va_hotplug_suite()
{
  Suite *suite = suite_create("va_hotplug");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, tidy);
  tcase_add_test(tcase, test_comes_and_goes);
  tcase_add_test(tcase, test_is_replaced);
  tcase_add_loop_test(tcase, test_bad_driver, 0, G_N_ELEMENTS(kBad));
  tcase_add_test(tcase, test_no_node);
  tcase_add_test(tcase, test_gets_its_rights);
  tcase_add_test(tcase, test_folder_goes);
  tcase_add_test(tcase, test_stops_in_a_probe);
  tcase_add_test(tcase, test_starts_again);
  tcase_add_test(tcase, test_stops_in_a_handler);
  tcase_add_loop_test(tcase, test_unplugged_while_it_plays, 0, G_N_ELEMENTS(kUnplugs) * G_N_ELEMENTS(kPlaying));
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  struct stat first {};
  if (::stat(kFirst, &first) != 0)
    return 1;
  number = first.st_rdev;
  g_setenv("GST_REGISTRY_1_0", "/tmp/va-hotplug-registry.bin", TRUE);
  set_driver("formats=NV12");
  gst_check_init(&argc, &argv);
  start_again_if_loaded(argv);
  return run_suite(va_hotplug_suite());
}
