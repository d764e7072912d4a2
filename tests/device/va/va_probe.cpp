// SPDX-License-Identifier: LGPL-2.1-or-later
// Drivers that crash, hang or exit when they are probed, and programs in place of the one that probes. Each row loads
// the plugin in a process of its own: this program again, with --load. In virtual time, so that a time limit takes none.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gst/drm/gstdrm-private.hpp>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;
using C = vadriver::Counter;
namespace fs = std::filesystem;

constexpr char kSecond[] = "/dev/dri/renderD129";
const fs::path kFolder = "/tmp/va-probe";
std::string program;
std::string helper; // the one of this build
fs::path plugins;   // GStreamer's own

// ---- in the process that loads the plugin

// What a probe must not leave behind: descriptors of pipes and processes, and children that nobody waits for.
std::string left_behind()
{
  std::string left;
  for (const auto &entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone; // the directory's own
    const std::string to = fs::read_symlink(entry.path(), gone).string();
    if (std::stoi(entry.path().filename()) > STDERR_FILENO && (to.starts_with("pipe:") || to.find("pidfd") != to.npos))
      left += " " + to;
  }
  siginfo_t child{};
  if (::waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0)
    left += " a child";
  return left;
}

// "played", or the error.
std::string play(const char *launch)
{
  g_autoptr(GError) error = nullptr;
  const auto pipeline = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gst_parse_launch(launch, &error))));
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  const auto end = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(
      bus.get(), GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS)));
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  if (GST_MESSAGE_TYPE(end.get()) == GST_MESSAGE_EOS)
    return "played";
  g_autoptr(GError) failure = nullptr;
  gst_message_parse_error(end.get(), &failure, nullptr);
  return failure->message;
}

constexpr int kInherited = 100; // a descriptor that is not closed on exec

int load(int argc, char **argv)
{
  if (::dup2(STDIN_FILENO, kInherited) < 0)
    return 1;
  int own = 1; // the options are none of GStreamer's
  gst_init(&own, &argv);
  GstElement *element = gst_element_factory_make("vadmabufsrc", nullptr);
  if (!element)
    return 1;
  const auto source = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(element)));
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(source.get(), "src"));
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(pad.get()));
  g_autofree gchar *text = gst_caps_to_string(caps.get());
  std::printf("caps: %s\nleft:%s.\n", text, left_behind().c_str());
  if (argc > 2)
    std::printf("stream: %s\n", play(argv[2]).c_str());
  return 0;
}

// ---- in the test

struct Loaded {
  std::string out;
  std::string log;
  [[nodiscard]] bool says(const char *part) const { return out.find(part) != out.npos; }
  [[nodiscard]] bool logs(const char *part) const { return log.find(part) != log.npos; }
};

Loaded load_in_a_process(const std::string &driver, const char *launch = nullptr)
{
  Loaded loaded;
  set_driver(driver);
  g_autofree gchar *out = nullptr;
  g_autofree gchar *log = nullptr;
  g_autoptr(GError) error = nullptr;
  gint status = 0;
  char option[] = "--load";
  gchar *argv[] = {program.data(), option, const_cast<gchar *>(launch), nullptr};
  fail_unless(g_spawn_sync(nullptr, argv, nullptr, G_SPAWN_DEFAULT, nullptr, nullptr, &out, &log, &status, &error), "%s",
              error ? error->message : "");
  loaded.out = out;
  loaded.log = log;
  fail_unless(status == 0, "%s: status %d\n%s", driver.c_str(), status, log);
  return loaded;
}

// A registry of few plugins, filled by the process itself: upstream's plugin opens the same drivers.
void setup()
{
  fs::remove_all(kFolder);
  fs::create_directories(kFolder / "plugins");
  for (const char *file : {"libgstcoreelements.so", "libgstapp.so", "libgstvideotestsrc.so"})
    fs::create_symlink(plugins / file, kFolder / "plugins" / file);
  g_setenv("GST_PLUGIN_SYSTEM_PATH_1_0", (kFolder / "plugins").c_str(), TRUE);
  g_setenv("GST_PLUGIN_PATH_1_0", fs::path(helper).parent_path().c_str(), TRUE);
  g_setenv("GST_REGISTRY_1_0", (kFolder / "registry.bin").c_str(), TRUE);
  g_unsetenv("GST_REGISTRY_UPDATE");
  g_setenv("GST_REGISTRY_FORK", "no", TRUE);
  g_setenv("GST_DEBUG", "vadmabufsrc:4", TRUE);
  g_setenv("GST_DEBUG_NO_COLOR", "1", TRUE);
  g_unsetenv("GST_DRM_VA_PROBE");
  g_unsetenv("GST_DRM_VA_PROBE_TIMEOUT");
}

std::string script(const std::string &name, const std::string &text)
{
  const fs::path path = kFolder / name;
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

// What the helper begins with.
std::string greeting()
{
  return "printf 'gst-drm-va-probe " VERSION "\\n'; ";
}

void check_offer(const Loaded &loaded, const char *row, bool first, bool second)
{
  fail_unless(loaded.says("left:.\n"), "%s: %s", row, loaded.out.c_str());
  fail_unless(loaded.says("NV12") == first && loaded.says("P010") == second, "%s: %s\n%s", row, loaded.out.c_str(),
              loaded.log.c_str());
}

struct DriverRow {
  const char *driver;
  bool first;  // the NV12 of renderD128 is offered
  bool second; // the P010 of renderD129
  std::vector<const char *> logged;
};
const DriverRow kDrivers[] = {
    {"formats=NV12@renderD129,formats=P010", true, true, {}},
    {"formats=NV12@renderD129,formats=P010,fail=init", true, false, {"not in the templates: vaInitialize on /dev/dri/renderD129"}},
    {"formats=NV12@renderD129,formats=P010,crash=init", true, false,
     {" WARN ", "/dev/dri/renderD129: its VA-API driver (", "/gstdrmtest_drv_video.so) crashed (SIGSEGV) when it was probed", "Found init function",
      "LIBVA_DRIVER_NAME", "/gst-drm-va-probe /dev/dri/renderD129` shows"}},
    {"formats=NV12@renderD129,formats=P010,hang=init", true, false, {" WARN ", "gave no answer within 20 s (GST_DRM_VA_PROBE_TIMEOUT)"}},
    {"formats=NV12@renderD129,formats=P010,crash=query,vendor=Fragile", true, false, {"(Fragile, /", "crashed (SIGSEGV)", "log: 'opened /dev/dri/renderD129"}},
    {"formats=NV12@renderD129,formats=P010,hang=query", true, false, {"gave no answer within 20 s"}},
    {"formats=NV12@renderD129,formats=P010,exit=export", true, false, {"ended the process with status 3"}},
    {"formats=NV12@renderD129,formats=P010,crash=end", true, false, {"crashed (SIGSEGV)"}},
    {"formats=NV12@renderD128,crash=create@renderD129,formats=P010", false, true, {"renderD128: its VA-API driver"}},
    {"formats=NV12@renderD128,hang=create@renderD129,formats=P010", false, true, {"renderD128: its VA-API driver"}},
    {"formats=NV12,prints=1@renderD129,formats=P010", true, true, {}},
    // exports, and cannot draw
    {"formats=NV12@renderD128,vpp-refused=NV12,derive=0,put=0@renderD129,formats=P010", false, true,
     {"/dev/dri/renderD128", "has no surface that it exports as DMA buffers and draws into: "}},
    {"formats=NV12@renderD128,fail=end,derive=0,put=0@renderD129,formats=P010", false, true,
     {"/dev/dri/renderD128", "has no surface that it exports as DMA buffers and draws into: vaPutImage on "}},
};

GST_START_TEST(test_drivers)
{
  const DriverRow &row = kDrivers[__i__];
  const auto loaded = load_in_a_process(row.driver);
  check_offer(loaded, row.driver, row.first, row.second);
  for (const char *part : row.logged)
    fail_unless(loaded.logs(part), "%s: no '%s' in\n%s", row.driver, part, loaded.log.c_str());
}
GST_END_TEST

struct ProgramRow {
  const char *name;
  std::string variable; // GST_DRM_VA_PROBE; in kFolder where it has no slash, with the text as its script
  std::string text;
  bool offered;
  const char *logged;
};
const std::string kNode = "node /dev/dri/renderD128 1 1 0 0 1 1 8192 8192 0 1 842094158 0 0 x\\nend\\n";
const ProgramRow kPrograms[] = {
    {"none is wanted", "no", "", true, "GST_DRM_VA_PROBE=no: drivers are probed in this process"},
    {"no such file", "/there-is/no-such-program", "", true, "/there-is/no-such-program is no program that can be run"},
    {"an empty name", "", "", true, "is no program that can be run"},
    {"a folder", "/tmp", "", true, "/tmp cannot be started: /tmp: EACCES"},
    {"ends at once", "ends", "exit 127", true, "is not the program of this version (status 127"},
    {"of another version", "other", "printf 'gst-drm-va-probe 99\\nend\\n'", true, "is not the program of this version"},
    {"says nothing and hangs", "mute", "sleep 100000", false, "gave no answer within 20 s"},
    {"ignores signals", "deaf", "trap '' TERM INT HUP; " + greeting() + "while true; do sleep 1; done", false, "gave no answer within 20 s"},
    {"hangs without its output", "shut", greeting() + "exec >&-; sleep 100000", false, "gave no answer within 20 s"},
    {"leaves a process behind", "fork", greeting() + "sleep 100000 & exit 0", false, "spoiled the probe's report: its end is missing"},
    {"cut", "cut", greeting() + "printf 'node /dev/dri/rend'", false, "spoiled the probe's report: its last line is cut"},
    {"no text", "zero", greeting() + "printf 'log 5 a\\000b\\n" + kNode + "'", false, "spoiled the probe's report: it is no text"},
    {"no UTF-8", "latin", greeting() + "printf 'log 5 a\\377b\\n" + kNode + "'", false, "spoiled the probe's report: it is no text"},
    {"too long", "long", greeting() + "exec head -c 5000000 /dev/zero", false, "made the probe write too much"},
    {"another node", "node", greeting() + "printf 'node /dev/dri/renderD7 1 1 0 0 1 1 8192 8192 0 1 842094158 0 0 x\\nend\\n'", false,
     "spoiled the probe's report: it is of another node"},
    {"killed behind its answer", "late", greeting() + "printf '" + kNode + "'; kill -ABRT $$", false, "crashed (SIGABRT)"},
};

GST_START_TEST(test_programs)
{
  const ProgramRow &row = kPrograms[__i__];
  const std::string value = row.text.empty() ? row.variable : script(row.variable, row.text);
  g_setenv("GST_DRM_VA_PROBE", value.c_str(), TRUE);
  const auto loaded = load_in_a_process("formats=NV12@renderD129,fail=init");
  check_offer(loaded, row.name, row.offered, false);
  fail_unless(loaded.logs(row.logged), "%s: no '%s' in\n%s", row.name, row.logged, loaded.log.c_str());
}
GST_END_TEST

struct LimitRow {
  const char *value;
  const char *logged;
};
const LimitRow kLimits[] = {
    {"3", "gave no answer within 3 s"},
    {"0", "GST_DRM_VA_PROBE_TIMEOUT='0' is not used: it is a number of seconds from 1 to 3600"},
    {"5s", "gave no answer within 20 s"},
    {"99999999999999999999", "gave no answer within 20 s"},
};

GST_START_TEST(test_limits)
{
  const LimitRow &row = kLimits[__i__];
  g_setenv("GST_DRM_VA_PROBE_TIMEOUT", row.value, TRUE);
  const auto loaded = load_in_a_process("formats=NV12@renderD129,hang=init");
  check_offer(loaded, row.value, true, false);
  fail_unless(loaded.logs(row.logged), "%s: no '%s' in\n%s", row.value, row.logged, loaded.log.c_str());
}
GST_END_TEST

// ---- what elements do then

struct StreamRow {
  const char *driver;
  const char *launch;
  const char *says;
};
const StreamRow kStreams[] = {
    {"formats=NV12@renderD128,crash=create@renderD129,formats=P010", "vadmabufsrc num-buffers=2 ! fakesink", "stream: played"},
    {"formats=NV12@renderD129,hang=query", "vadmabufsrc num-buffers=2 ! fakesink", "stream: played"},
    {"formats=NV12@renderD129,crash=create", "vadmabufsrc device=/dev/dri/renderD129 ! fakesink",
     " has no VA-API device: /dev/dri/renderD129: its VA-API driver (gst-drm test driver"},
    {"formats=NV12@renderD129,crash=create", "vadmabufsrc device=/tmp/va-probe/link ! fakesink", "GST_DRM_VA_PROBE=no opens it all the same"},
    {"formats=NV12@renderD128,vpp-refused=NV12,derive=0,put=0@renderD129,formats=P010", "vadmabufsrc num-buffers=2 ! fakesink", "stream: played"},
    {"formats=NV12@renderD128,vpp-refused=NV12,derive=0,put=0@renderD129,formats=P010",
     "vadmabufsrc device=/dev/dri/renderD128 num-buffers=2 ! fakesink", "has no surface that it exports as DMA buffers and draws into: "},
    {"crash=create", "vadmabufsrc ! fakesink", "No render node has a VA-API driver that exports DMA buffers. /dev/dri/renderD128: its VA-API driver"},
};

GST_START_TEST(test_streams)
{
  const StreamRow &row = kStreams[__i__];
  fs::create_symlink(kSecond, kFolder / "link");
  for (const char *known : {"probed", "known from the registry"}) {
    const auto loaded = load_in_a_process(row.driver, row.launch);
    fail_unless(loaded.says(row.says), "%s, %s: %s\n%s", row.driver, known, loaded.out.c_str(), loaded.log.c_str());
  }
}
GST_END_TEST

// A driver that was too slow, or killed for memory, is asked again when an element is to open its node; one that crashed is
// not.
struct AgainRow {
  const char *name;
  const char *first_time; // what the program does for renderD128 then
  const char *launch;
  const char *says;
};
const AgainRow kAgain[] = {
    {"slow", "sleep 100000", "vadmabufsrc device=/dev/dri/renderD128 num-buffers=2 ! fakesink", "stream: played"},
    {"killed", "kill -KILL $$", "vadmabufsrc device=/dev/dri/renderD128 num-buffers=2 ! fakesink", "stream: played"},
    {"crashed", "kill -SEGV $$", "vadmabufsrc device=/dev/dri/renderD128 num-buffers=2 ! fakesink", "crashed (SIGSEGV) when it was probed, so it is not opened"},
    {"the only one", "sleep 100000", "vadmabufsrc num-buffers=2 ! fakesink", "stream: played"},
};

GST_START_TEST(test_asked_again)
{
  const AgainRow &row = kAgain[__i__];
  const std::string flag = (kFolder / "flag").string();
  g_setenv("GST_DRM_VA_PROBE", script("once", "case $1 in *128) if [ ! -e " + flag + " ]; then touch " + flag + "; " + greeting() + row.first_time +
                                                  "; fi;; esac; exec " + helper + " \"$@\"").c_str(), TRUE);
  const auto loaded = load_in_a_process("formats=NV12@renderD129,fail=init", row.launch);
  fail_unless(loaded.says(row.says), "%s: %s\n%s", row.name, loaded.out.c_str(), loaded.log.c_str());
}
GST_END_TEST

// All nodes are asked at the same time: the first one answers when the second one is asked.
GST_START_TEST(test_at_the_same_time)
{
  const std::string asked = (kFolder / "asked-").string();
  g_setenv("GST_DRM_VA_PROBE", script("meet", "n=${1#/dev/dri/renderD}; touch " + asked + "$n; while [ ! -e " + asked + "128 -o ! -e " + asked +
                                                  "129 ]; do sleep 0.01; done; exec " + helper + " \"$@\"").c_str(), TRUE);
  check_offer(load_in_a_process("formats=NV12@renderD129,formats=P010"), "both", true, true);
}
GST_END_TEST

// ---- the registry

int count_lines(const fs::path &path)
{
  std::ifstream file(path);
  int lines = 0;
  for (std::string line; std::getline(file, line);)
    ++lines;
  return lines;
}

struct WarmRow {
  const char *driver;
  const char *fork; // GST_REGISTRY_FORK
  const char *warns;
};
const WarmRow kWarm[] = {
    {"formats=NV12@renderD129,formats=P010", "no", nullptr},
    {"formats=NV12@renderD129,formats=P010,crash=init", "no", "crashed (SIGSEGV) when it was probed. Known from the registry"},
    {"crash=create", "no", "crashed (SIGSEGV) when it was probed. Known from the registry"},
    {"formats=NV12@renderD129,formats=P010,hang=init", "no", "gave no answer within 20 s"},
    // the plugin is in gst-plugin-scanner then, which a sanitized plugin cannot be: the last row
    {"formats=NV12@renderD129,formats=P010,hang=init", "yes", "gave no answer within 20 s"},
};

#ifdef __SANITIZE_ADDRESS__
constexpr int kWarmRows = G_N_ELEMENTS(kWarm) - 1;
#else
constexpr int kWarmRows = G_N_ELEMENTS(kWarm);
#endif

GST_START_TEST(test_warm)
{
  const WarmRow &row = kWarm[__i__];
  g_setenv("GST_REGISTRY_FORK", row.fork, TRUE);
  const fs::path list = kFolder / "started";
  g_setenv("GST_DRM_VA_PROBE", script("count", "echo \"$1\" >>" + list.string() + "; exec " + helper + " \"$@\"").c_str(), TRUE);
  const auto cold = load_in_a_process(row.driver);
  fail_unless_equals_int(count_lines(list), 2); // one a node
  const auto warm = load_in_a_process(row.driver);
  fail_unless_equals_int(count_lines(list), 2);
  fail_unless(warm.out == cold.out, "'%s' '%s'", warm.out.c_str(), cold.out.c_str());
  fail_unless(warm.logs(" WARN ") == (row.warns != nullptr), "%s", warm.log.c_str());
  fail_unless(!row.warns || warm.logs(row.warns), "%s", warm.log.c_str());
}
GST_END_TEST

// ---- the process that waits for the probe is killed

// The process that probes; empty: there is none.
fs::path find_helper()
{
  for (const auto &entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "comm");
    std::string name;
    if (std::getline(file, name) && name == std::string("gst-drm-va-probe").substr(0, 15))
      return entry.path();
  }
  return {};
}

GST_START_TEST(test_parent_dies)
{
  const Counters counters;
  g_setenv("GST_DRM_VA_PROBE_TIMEOUT", "3600", TRUE);
  set_driver("hang=init," + counters.setting());
  char option[] = "--load";
  gchar *argv[] = {program.data(), option, nullptr};
  GPid pid = 0;
  fail_unless(g_spawn_async(nullptr, argv, nullptr, G_SPAWN_DO_NOT_REAP_CHILD, nullptr, nullptr, &pid, nullptr));
  while (counters[C::Init] == 0)
    g_usleep(1000);
  const fs::path probe = find_helper();
  fail_unless(!probe.empty());
  fail_unless(fs::exists(probe / "fd" / "2") && !fs::exists(fs::symlink_status(probe / "fd" / std::to_string(kInherited))),
              "a descriptor of the application's is open in the probe");
  fail_unless(::kill(pid, SIGKILL) == 0);
  fail_unless(::waitpid(pid, nullptr, 0) == pid);
  for (int i = 0; i < 1000 && fs::exists(probe); ++i)
    g_usleep(1000);
  fail_unless(!fs::exists(probe), "the probe outlives its parent");
}
GST_END_TEST

Suite *va_probe_suite()
{
  Suite *suite = suite_create("va_probe");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, nullptr);
  tcase_add_loop_test(tcase, test_drivers, 0, G_N_ELEMENTS(kDrivers));
  tcase_add_loop_test(tcase, test_programs, 0, G_N_ELEMENTS(kPrograms));
  tcase_add_loop_test(tcase, test_limits, 0, G_N_ELEMENTS(kLimits));
  tcase_add_loop_test(tcase, test_streams, 0, G_N_ELEMENTS(kStreams));
  tcase_add_loop_test(tcase, test_asked_again, 0, G_N_ELEMENTS(kAgain));
  tcase_add_test(tcase, test_at_the_same_time);
  tcase_add_loop_test(tcase, test_warm, 0, kWarmRows);
  tcase_add_test(tcase, test_parent_dies);
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  if (argc > 1 && std::strcmp(argv[1], "--load") == 0)
    return load(argc, argv);
  // In the box, whose /dev is its own: the second node is a name of the first one.
  struct stat first {};
  if (::stat("/dev/dri/renderD128", &first) != 0 || ::mknod(kSecond, S_IFCHR | 0666, first.st_rdev) != 0)
    return 1;
  program = fs::absolute(argv[0]).string();
  helper = std::string(g_getenv("GST_PLUGIN_PATH_1_0")) + "/va/gst-drm-va-probe";
  plugins = g_getenv("GST_PLUGIN_SYSTEM_PATH_1_0");
  gst_check_init(&argc, &argv);
  return run_suite(va_probe_suite());
}
