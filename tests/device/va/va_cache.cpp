// SPDX-License-Identifier: LGPL-2.1-or-later
// What the probe found is kept in GStreamer's registry. Each row loads the plugin in processes of its own: this
// program again, with --load.
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <sys/stat.h>

#include <gst/drm/gstdrm-private.hpp>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;
using C = vadriver::Counter;

std::string program;

struct Loaded {
  std::uint64_t displays = 0; // opened by the process
  gint64 load_us = 0;         // gst_plugin_feature_load()
  std::string caps;           // of the template
};

// In the child: loads the plugin and says what it found.
int load(int argc, char **argv)
{
  gst_init(&argc, &argv);
  GstElementFactory *factory = gst_element_factory_find("vadmabufsrc");
  if (!factory)
    return 1;
  const gint64 before = g_get_monotonic_time();
  GstPluginFeature *feature = gst_plugin_feature_load(GST_PLUGIN_FEATURE(factory));
  const gint64 spent = g_get_monotonic_time() - before;
  gst_object_unref(factory);
  if (!feature)
    return 1;
  const auto element = GstPtr<GstElement>::adopt(
      GST_ELEMENT(gst_object_ref_sink(gst_element_factory_create(GST_ELEMENT_FACTORY(feature), nullptr))));
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element.get(), "src"));
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(pad.get()));
  g_autofree gchar *text = gst_caps_to_string(caps.get());
  std::printf("%" G_GINT64_FORMAT "\n%s\n", spent, text);
  gst_object_unref(feature);
  return 0;
}

Loaded load_in_a_process(const Counters &counters, const std::string &driver)
{
  Loaded loaded;
  set_driver(driver + "," + counters.setting());
  const auto before = counters[C::Init];
  g_autofree gchar *out = nullptr;
  g_autoptr(GError) error = nullptr;
  gint status = 0;
  char option[] = "--load";
  gchar *argv[] = {program.data(), option, nullptr};
  fail_unless(g_spawn_sync(nullptr, argv, nullptr, G_SPAWN_DEFAULT, nullptr, nullptr, &out, nullptr, &status, &error), "%s",
              error ? error->message : "");
  fail_unless_equals_int(status, 0);
  loaded.displays = counters[C::Init] - before;
  loaded.load_us = g_ascii_strtoll(out, nullptr, 10);
  const char *line = std::strchr(out, '\n');
  loaded.caps = line ? line + 1 : "";
  return loaded;
}

struct Change {
  const char *name;
  void (*apply)();
  bool probes; // again
};
void nothing() {}
void other_driver_file()
{
  const std::filesystem::path file = std::filesystem::path(g_getenv("LIBVA_DRIVERS_PATH")) / "gstdrmtest_drv_video.so";
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::hours(1));
}
void other_environment()
{
  g_setenv("MESA_LOADER_DRIVER_OVERRIDE", "zink", TRUE);
}
void unrelated_environment()
{
  g_setenv("HOME", "/tmp", TRUE);
}
constexpr char kSecond[] = "/dev/dri/renderD129";
void another_node()
{
  struct stat first {};
  fail_unless(::stat("/dev/dri/renderD128", &first) == 0 && ::mknod(kSecond, S_IFCHR | 0666, first.st_rdev) == 0);
}
void another_mode()
{
  fail_unless(::chmod("/dev/dri/renderD128", 0600) == 0);
}
const Change kChanges[] = {
    {"nothing", nothing, false},
    {"the driver's file", other_driver_file, true},
    {"a variable that drivers read", other_environment, true},
    {"another variable", unrelated_environment, false},
    {"a node that comes", another_node, true},
    {"the rights on a node", another_mode, true},
};

// Where the plugin's file is.
std::filesystem::path plugin_folder()
{
  const auto plugin = GstPtr<GstPlugin>::adopt(gst_registry_find_plugin(gst_registry_get(), "vadmabuf"));
  fail_unless(static_cast<bool>(plugin));
  return std::filesystem::path(gst_plugin_get_filename(plugin.get())).parent_path();
}

// A copy of the driver, which a row may change, and a registry without anything else.
void use_own_copies()
{
  static const std::filesystem::path built = g_getenv("LIBVA_DRIVERS_PATH"); // also where the cases share a process
  const std::filesystem::path folder = "/tmp/va-cache";
  std::filesystem::create_directories(folder);
  const std::filesystem::path driver = built / "gstdrmtest_drv_video.so";
  std::filesystem::copy_file(driver, folder / "gstdrmtest_drv_video.so", std::filesystem::copy_options::overwrite_existing);
  g_setenv("LIBVA_DRIVERS_PATH", folder.c_str(), TRUE);
  g_setenv("GST_REGISTRY_1_0", (folder / "registry.bin").c_str(), TRUE);
  g_unsetenv("GST_REGISTRY_UPDATE");
  std::filesystem::remove(folder / "registry.bin");
  // Of this plugin alone: other people's take most of the time in which an empty registry is filled.
  static const std::filesystem::path plugins = plugin_folder();
  g_setenv("GST_PLUGIN_SYSTEM_PATH_1_0", "", TRUE);
  g_setenv("GST_PLUGIN_PATH_1_0", plugins.c_str(), TRUE);
  std::filesystem::remove(kSecond);
  fail_unless(::chmod("/dev/dri/renderD128", 0666) == 0);
}

GST_START_TEST(test_cache)
{
  const Change &row = kChanges[__i__];
  use_own_copies();
  const Counters counters;
  const std::string driver = "list-modifiers=1,formats=NV12:BGRX,modifiers=x-tiled:linear,deinterlace=bob";
  const auto scanned = load_in_a_process(counters, driver); // and the registry is written
  fail_unless(scanned.displays > 0);
  const auto warm = load_in_a_process(counters, driver);
  fail_unless_equals_uint64(warm.displays, 0);
  fail_unless(warm.caps == scanned.caps, "'%s' '%s'", warm.caps.c_str(), scanned.caps.c_str());
  fail_unless(warm.caps.find("XR24:0x0100000000000001") != std::string::npos, "%s", warm.caps.c_str());
  row.apply();
  const auto changed = load_in_a_process(counters, driver);
  fail_unless((changed.displays > 0) == row.probes, "%s: %d displays", row.name, static_cast<int>(changed.displays));
  fail_unless(changed.caps == scanned.caps);
  g_print("# %s: the plugin is loaded in %.2f ms from the registry, in %.2f ms behind the change\n", row.name,
          static_cast<double>(warm.load_us) / 1000, static_cast<double>(changed.load_us) / 1000);
}
GST_END_TEST

// Where nothing was found, a later process looks again.
GST_START_TEST(test_nothing_found)
{
  use_own_copies();
  const Counters counters;
  for (int i = 0; i < 2; ++i)
    fail_unless(load_in_a_process(counters, "fail=create").displays > 0);
}
GST_END_TEST

Suite *va_cache_suite()
{
  Suite *suite = suite_create("va_cache");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_cache, 0, G_N_ELEMENTS(kChanges));
  tcase_add_test(tcase, test_nothing_found);
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  if (argc > 1 && std::strcmp(argv[1], "--load") == 0)
    return load(argc, argv);
  program = std::filesystem::absolute(argv[0]).string();
  gst_check_init(&argc, &argv);
  return run_suite(va_cache_suite());
}
