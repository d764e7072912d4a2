// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufdeviceprovider in the program's own process: nodes come and go by inotify while several threads start it, stop it,
// list its devices, make elements of them and play.
#include <atomic>
#include <set>
#include <string>

#include <gst/app/gstappsink.h>

#include "device/va/va_support.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/threads.hpp"
#include "va_native.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr unsigned kNodes[] = {129, 130, 131};

GstPtr<GstDeviceProvider> provider()
{
  auto found = GstPtr<GstDeviceProvider>::adopt(gst_device_provider_factory_get_by_name("vadmabufdeviceprovider"));
  fail_unless(static_cast<bool>(found));
  return found;
}

std::string path_of(GstDevice *device)
{
  GstStructure *properties = gst_device_get_properties(device);
  std::string path = gst_structure_get_string(properties, "device.path");
  gst_structure_free(properties);
  return path;
}

std::set<std::string> listed(GstDeviceProvider *provider)
{
  std::set<std::string> paths;
  GList *devices = gst_device_provider_get_devices(provider);
  for (const GList *at = devices; at; at = at->next)
    paths.insert(path_of(GST_DEVICE(at->data)));
  g_list_free_full(devices, gst_object_unref);
  return paths;
}

void all_plugged(bool plugged)
{
  for (const unsigned node : kNodes)
    (void)(plugged ? plug(node) : unplug(node));
}

void setup()
{
  all_plugged(false);
  plug(129);
  set_driver(kNativeDriver);
}

std::set<std::string> nodes_up_to(unsigned last)
{
  std::set<std::string> paths;
  for (unsigned node = 128; node <= last; ++node)
    paths.insert("/dev/dri/renderD" + std::to_string(node));
  return paths;
}

void wait_for(GstDeviceProvider *provider, const std::set<std::string> &paths)
{
  while (listed(provider) != paths)
    g_usleep(1000);
}

// Whoever asks last sees the nodes that there are.
GST_START_TEST(test_nodes_come_and_go)
{
  const auto watched = provider();
  fail_unless(gst_device_provider_start(watched.get()));
  for (int round = 0; round < 4; ++round) {
    at_once({[] {
               for (int i = 0; i < 30; ++i) {
                 plug(130);
                 g_usleep(static_cast<gulong>(i % 4) * 300);
                 unplug(130);
               }
             },
             [] {
               for (int i = 0; i < 30; ++i) {
                 unplug(129);
                 plug(131);
                 g_usleep(static_cast<gulong>(i % 3) * 400);
                 unplug(131);
                 plug(129);
               }
             },
             [&] {
               for (int i = 0; i < 30; ++i)
                 (void)listed(watched.get());
             }});
    wait_for(watched.get(), nodes_up_to(129));
  }
  all_plugged(true);
  wait_for(watched.get(), nodes_up_to(131));
  gst_device_provider_stop(watched.get());
}
GST_END_TEST

// A stop waits for the thread that watches, wherever that is: in a probe, or announcing a device.
GST_START_TEST(test_started_and_stopped)
{
  const auto watched = provider();
  const auto bus = GstPtr<GstBus>::adopt(gst_device_provider_get_bus(watched.get()));
  std::atomic<bool> over{false};
  std::atomic<int> starters{2};
  const auto start = [&] {
    for (int i = 0; i < 60; ++i) {
      gst_device_provider_start(watched.get());
      g_usleep(static_cast<gulong>(i % 5) * 700);
      gst_device_provider_stop(watched.get());
    }
    over = --starters == 0;
  };
  at_once({start, start,
           [&] {
             for (unsigned i = 0; !over; ++i) {
               plug(kNodes[i % 3]);
               g_usleep(500);
               unplug(kNodes[(i + 1) % 3]);
             }
           },
           [&] {
             while (!over) {
               (void)listed(watched.get());
               while (GstMessage *message = gst_bus_pop(bus.get()))
                 gst_message_unref(message);
               g_usleep(300);
             }
           }});
}
GST_END_TEST

// Elements of devices that come and go: whichever of them start, the devices stay what they were.
GST_START_TEST(test_elements_of_devices)
{
  const auto watched = provider();
  fail_unless(gst_device_provider_start(watched.get()));
  std::atomic<bool> over{false};
  std::atomic<int> frames{0};
  const auto small = caps_of(dma_caps("NV12", 64, 48));
  at_once({[&] {
             for (int i = 0; !over; ++i) {
               plug(130);
               g_usleep(static_cast<gulong>(i % 4) * 1000);
               unplug(130);
             }
           },
           [&] {
             for (int i = 0; i < 12 || frames == 0; ++i) {
               GList *devices = gst_device_provider_get_devices(watched.get());
               for (const GList *at = devices; at; at = at->next) {
                 const auto pipeline = GstPtr<GstElement>::adopt(gst_pipeline_new(nullptr));
                 GstElement *source = gst_device_create_element(GST_DEVICE(at->data), nullptr);
                 GstElement *sink = gst_element_factory_make("appsink", nullptr);
                 g_object_set(source, "num-buffers", 2, nullptr);
                 g_object_set(sink, "sync", FALSE, "caps", small.get(), nullptr);
                 gst_bin_add_many(GST_BIN(pipeline.get()), source, sink, nullptr);
                 gst_element_link(source, sink);
                 if (gst_element_set_state(pipeline.get(), GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE)
                   if (const auto sample = GstPtr<GstSample>::adopt(gst_app_sink_try_pull_sample(GST_APP_SINK(sink), 300 * GST_MSECOND)))
                     ++frames;
                 gst_element_set_state(pipeline.get(), GST_STATE_NULL);
               }
               g_list_free_full(devices, gst_object_unref);
             }
             over = true;
           }});
  gst_device_provider_stop(watched.get());
}
GST_END_TEST

// A handler of the thread's own messages lists, starts and stops.
GstBusSyncReply call_back(GstBus *, GstMessage *message, gpointer calls) noexcept
{
  auto *watched = GST_DEVICE_PROVIDER(GST_MESSAGE_SRC(message));
  (void)listed(watched);
  if (gst_device_provider_start(watched))
    gst_device_provider_stop(watched);
  ++*static_cast<std::atomic<int> *>(calls);
  return GST_BUS_PASS;
}

GST_START_TEST(test_handler_calls_back)
{
  const auto watched = provider();
  std::atomic<int> calls{0};
  const auto bus = GstPtr<GstBus>::adopt(gst_device_provider_get_bus(watched.get()));
  fail_unless(gst_device_provider_start(watched.get()));
  gst_bus_set_sync_handler(bus.get(), call_back, &calls, nullptr);
  plug(130);
  while (calls < 1)
    g_usleep(1000);
  wait_for(watched.get(), nodes_up_to(130));
  unplug(130);
  while (calls < 2)
    g_usleep(1000);
  gst_device_provider_stop(watched.get());
  gst_bus_set_sync_handler(bus.get(), nullptr, nullptr, nullptr);
}
GST_END_TEST

Suite *va_nodes_suite()
{
  Suite *suite = suite_create("va-nodes");
  TCase *tcase = tcase_create("provider");
  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, nullptr);
  tcase_add_test(tcase, test_nodes_come_and_go);
  tcase_add_test(tcase, test_started_and_stopped);
  tcase_add_test(tcase, test_elements_of_devices);
  tcase_add_test(tcase, test_handler_calls_back);
  return suite;
}

} // namespace

GST_DRM_VA_NATIVE_MAIN(va_nodes)
