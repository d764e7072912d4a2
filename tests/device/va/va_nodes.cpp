// SPDX-License-Identifier: LGPL-2.1-or-later
// A machine with three render nodes: a feature for each node behind the first, and caps of the node that an
// element is set to. The further nodes are names of the first one, and the test driver plays another driver
// on each.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <gst/drm/gstdrm-private.hpp>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr char kSecond[] = "/dev/dri/renderD129";
constexpr char kThird[] = "/dev/dri/renderD130";
constexpr char kDriver[] = "list-modifiers=1,formats=NV12:BGRX@renderD129,formats=P010,vendor=Second@renderD130,formats=RGBA,vpp=0";

GstPtr<GstElement> make(const char *factory)
{
  GstElement *element = gst_element_factory_make(factory, nullptr);
  fail_unless(element != nullptr, "no %s", factory);
  return GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(element)));
}

bool has_feature(const char *name)
{
  GstElementFactory *factory = gst_element_factory_find(name);
  if (factory)
    gst_object_unref(factory);
  return factory != nullptr;
}

GstPtr<GstCaps> caps_of(GstElement *element, const char *pad_name)
{
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, pad_name));
  return GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr));
}

bool takes(const GstCaps *caps, const char *fourcc)
{
  const auto wanted = GstPtr<GstCaps>::adopt(gst_caps_from_string(dma_caps(fourcc, 64, 64).c_str()));
  return gst_caps_can_intersect(caps, wanted.get()) != FALSE;
}

std::string text(const GstPtr<GstCaps> &caps)
{
  g_autofree gchar *made = gst_caps_to_string(caps.get());
  return made;
}

std::string device_of(GstElement *element)
{
  g_autofree gchar *device = nullptr;
  g_object_get(element, "device", &device, nullptr);
  return device ? device : "";
}

// ---- features

struct FeatureRow {
  const char *name;
  bool there;
};
const FeatureRow kFeatures[] = {
    {"vadmabufsrc", true},
    {"vadmabufconvert", true},
    {"varenderD128dmabufsrc", false}, // the default one
    {"varenderD129dmabufsrc", true},
    {"varenderD129dmabufconvert", true},
    {"varenderD130dmabufsrc", true},
    {"varenderD130dmabufconvert", false}, // no video processing
};

GST_START_TEST(test_features)
{
  const FeatureRow &row = kFeatures[__i__];
  fail_unless_equals_int(has_feature(row.name), row.there);
}
GST_END_TEST

// ---- caps in the NULL state, and what then runs

struct CapsRow {
  const char *factory;
  const char *device; // nullptr: not set
  const char *node;   // what the device property says then
  const char *takes;
  const char *refuses;
};
const CapsRow kCaps[] = {
    {"vadmabufsrc", nullptr, "", "NV12", "P010"},
    {"vadmabufsrc", kSecond, kSecond, "P010", "NV12"},
    {"vadmabufsrc", kThird, kThird, "AB24", "NV12"},
    {"varenderD129dmabufsrc", nullptr, kSecond, "P010", "NV12"},
    {"varenderD130dmabufsrc", nullptr, kThird, "AB24", "P010"},
    {"varenderD129dmabufsrc", kThird, kThird, "AB24", "P010"}, // a default, which may be changed
    {"vadmabufconvert", nullptr, "", "XR24", "P010"},
    {"vadmabufconvert", kSecond, kSecond, "P010", "XR24"},
    {"varenderD129dmabufconvert", nullptr, kSecond, "P010", "XR24"},
};

GST_START_TEST(test_caps)
{
  const CapsRow &row = kCaps[__i__];
  const auto element = make(row.factory);
  if (row.device)
    g_object_set(element.get(), "device", row.device, nullptr);
  fail_unless(device_of(element.get()) == row.node, "%s: '%s'", row.factory, device_of(element.get()).c_str());
  const auto caps = caps_of(element.get(), "src");
  fail_unless(takes(caps.get(), row.takes), "%s: %s", row.factory, text(caps).c_str());
  fail_if(takes(caps.get(), row.refuses), "%s: %s", row.factory, text(caps).c_str());
}
GST_END_TEST

// A link by path (/dev/dri/by-path) is the node that it leads to.
GST_START_TEST(test_link_to_a_node)
{
  const char link[] = "/tmp/va-node";
  fail_unless(::symlink(kSecond, link) == 0);
  const auto element = make("vadmabufsrc");
  g_object_set(element.get(), "device", link, nullptr);
  const auto caps = caps_of(element.get(), "src");
  fail_unless(takes(caps.get(), "P010") && !takes(caps.get(), "NV12"), "%s", text(caps).c_str());
  ::unlink(link);
}
GST_END_TEST

struct RunRow {
  const char *launch; // with an element named src, and a sink
  const char *fourcc;
};
const RunRow kRuns[] = {
    {"vadmabufsrc name=src", "NV12"},
    {"vadmabufsrc name=src device=/dev/dri/renderD129", "P010"},
    {"varenderD129dmabufsrc name=src", "P010"},
    {"varenderD130dmabufsrc name=src", "AB24"},
    {"varenderD129dmabufsrc name=src ! varenderD129dmabufconvert video-direction=180", "P010"},
    {"vadmabufsrc name=src ! vadmabufconvert video-direction=180", "XR24"},
};

GST_START_TEST(test_runs)
{
  const RunRow &row = kRuns[__i__];
  Pipeline pipeline(std::string(row.launch) + " ! " + dma_caps(row.fourcc, 96, 112) + " ! appsink name=sink sync=false max-buffers=2");
  fail_unless(pipeline.play(), "%s: %s", row.launch, pipeline.message(GST_MESSAGE_ERROR).c_str());
  for (int i = 0; i < 5; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s: %s", row.launch, pipeline.message(GST_MESSAGE_ERROR).c_str());
  }
}
GST_END_TEST

Suite *va_nodes_suite()
{
  Suite *suite = suite_create("va_nodes");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_features, 0, G_N_ELEMENTS(kFeatures));
  tcase_add_loop_test(tcase, test_caps, 0, G_N_ELEMENTS(kCaps));
  tcase_add_test(tcase, test_link_to_a_node);
  tcase_add_loop_test(tcase, test_runs, 0, G_N_ELEMENTS(kRuns));
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  // In the box, whose /dev is its own; the registry is that of these nodes.
  struct stat first {};
  if (::stat("/dev/dri/renderD128", &first) != 0)
    return 1;
  for (const char *path : {kSecond, kThird})
    if (::mknod(path, S_IFCHR | 0666, first.st_rdev) != 0)
      return 1;
  own_registry("va-nodes-registry.bin");
  set_driver(kDriver);
  gst_check_init(&argc, &argv);
  return run_suite(va_nodes_suite());
}
