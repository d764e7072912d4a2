// SPDX-License-Identifier: LGPL-2.1-or-later
// What the library lists of a Wayland compositor, over a real connection: good compositors of each
// version of linux-dmabuf, and hostile ones.
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <drm_fourcc.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <thread>
#include <wayland-client.h>

#include <gst/drm/drm.h>

#include "gst/drm/core/unique_fd.hpp"
#include "support/check_main.hpp"
#include "support/compositor.hpp"
#include "support/gpu_table.hpp"
#include "support/source_pairs.hpp"

namespace {

using gstdrm::Format;
using gstdrm::UniqueFd;
using gstdrm::test::Compositor;
using gstdrm::test::CompositorPlan;
using gstdrm::test::Pairs;
using gstdrm::test::pairs_of;

constexpr Format kNv12{DRM_FORMAT_NV12, 0};
constexpr Format kXrgb{DRM_FORMAT_XRGB8888, 0};
constexpr Format kTiled{DRM_FORMAT_XRGB8888, 0x0100000000000001}; // INTEL_X_TILED
constexpr Format kImplicit{DRM_FORMAT_XRGB8888, gstdrm::kModImplicit};
constexpr guint32 kScanout = 1;

struct UnrefArray {
  void operator()(GPtrArray *array) const { g_ptr_array_unref(array); }
};
using List = std::unique_ptr<GPtrArray, UnrefArray>;

GstDrmSource *at(const List &list, guint index)
{
  return static_cast<GstDrmSource *>(g_ptr_array_index(list.get(), index));
}

List ask()
{
  return List(gst_drm_enumerate_wayland());
}

// The only source has a problem with this text in it.
void fail_unless_problem(const List &list, const char *text)
{
  fail_unless(list->len == 1, "%u sources for: %s", list->len, text);
  const gchar *problem = gst_drm_source_get_problem(at(list, 0));
  fail_unless(problem && std::strstr(problem, text), "%s for: %s", problem, text);
  fail_unless(pairs_of(at(list, 0)).empty());
  gstdrm::test::say(problem);
}

CompositorPlan good_plan()
{
  CompositorPlan plan;
  plan.table = {kNv12, kXrgb, kTiled, kImplicit};
  plan.main_device = makedev(226, 250);
  plan.tranches = {{makedev(226, 250), 0, {0, 1, 2, 3}}};
  plan.surface_tranches = {{makedev(226, 251), kScanout, {2}}, {makedev(226, 250), 0, {0, 1}}};
  return plan;
}

GST_START_TEST(test_default_feedback)
{
  const Compositor compositor(good_plan());
  const List list = ask();
  fail_unless_equals_int(list->len, 1);
  fail_unless_equals_int(gst_drm_source_get_kind(at(list, 0)), GST_DRM_SOURCE_KIND_WAYLAND);
  fail_unless_equals_string(gst_drm_source_get_name(at(list, 0)), "wayland:wayland-0:0");
  fail_unless_equals_string(gst_drm_source_get_description(at(list, 0)),
                            "textures of the compositor");
  fail_unless(gst_drm_source_get_problem(at(list, 0)) == nullptr);
  fail_unless(pairs_of(at(list, 0)) == Pairs({kNv12, kXrgb, kTiled, kImplicit}));
}
GST_END_TEST

// A real node's number is its path; here any, for there is no GPU.
GST_START_TEST(test_real_table_and_tranches)
{
  CompositorPlan plan = good_plan();
  plan.table = gstdrm::test::load_gpu_table("amd-navi31");
  plan.tranches = {{makedev(226, 250), kScanout, {}}, {makedev(226, 250), 0, {}}};
  for (std::size_t i = 0; i < plan.table.size(); i++)
    plan.tranches[i % 7 == 0 ? 0 : 1].indices.push_back(static_cast<std::uint16_t>(i));
  Pairs wanted[2];
  for (std::size_t i = 0; i < plan.table.size(); i++)
    wanted[i % 7 == 0 ? 0 : 1].insert(plan.table[i]);
  const Compositor compositor(plan);
  const List list = ask();
  fail_unless_equals_int(list->len, 2);
  for (guint i = 0; i < 2; i++)
    fail_unless(pairs_of(at(list, i)) == wanted[i]);
  fail_unless_equals_string(gst_drm_source_get_description(at(list, 0)),
                            "direct scanout of the compositor");
}
GST_END_TEST

GST_START_TEST(test_older_versions)
{
  const std::pair<guint32, Pairs> rows[] = {
      {3, {kNv12, kXrgb, kTiled, kImplicit}},
      {1, {{DRM_FORMAT_NV12, gstdrm::kModImplicit}, kImplicit}},
  };
  for (const auto &[version, wanted] : rows) {
    CompositorPlan plan = good_plan();
    plan.version = version;
    const Compositor compositor(plan);
    const List list = ask();
    fail_unless_equals_int(list->len, 1);
    fail_unless_equals_string(gst_drm_source_get_name(at(list, 0)), "wayland:wayland-0");
    fail_unless(pairs_of(at(list, 0)) == wanted, "version %u", version);
  }
}
GST_END_TEST

// On the application's connection, whose own queue sees nothing of it.
GST_START_TEST(test_surface)
{
  const Compositor compositor(good_plan());
  wl_display *display = wl_display_connect(nullptr);
  fail_unless(display != nullptr);
  wl_compositor *factory = nullptr;
  const wl_registry_listener listener = {
      [](void *data, wl_registry *registry, guint32 name, const char *interface, guint32) {
        if (std::strcmp(interface, wl_compositor_interface.name) == 0)
          *static_cast<wl_compositor **>(data) = static_cast<wl_compositor *>(
              wl_registry_bind(registry, name, &wl_compositor_interface, 4));
      },
      [](void *, wl_registry *, guint32) {}};
  wl_registry *registry = wl_display_get_registry(display);
  wl_registry_add_listener(registry, &listener, &factory);
  wl_display_roundtrip(display);
  fail_unless(factory != nullptr);
  wl_surface *surface = wl_compositor_create_surface(factory);
  for (int i = 0; i < 2; i++) { // nothing is left of the first time
    const List of_surface(gst_drm_enumerate_wayland_surface(display, surface));
    fail_unless_equals_int(of_surface->len, 2);
    fail_unless_equals_string(gst_drm_source_get_name(at(of_surface, 0)), "wayland:surface:0");
    fail_unless(pairs_of(at(of_surface, 0)) == Pairs({kTiled}));
    fail_unless(pairs_of(at(of_surface, 1)) == Pairs({kNv12, kXrgb}));
    const List of_all(gst_drm_enumerate_wayland_surface(display, nullptr));
    fail_unless_equals_int(of_all->len, 1);
    fail_unless_equals_string(gst_drm_source_get_name(at(of_all, 0)), "wayland:display:0");
  }
  fail_unless_equals_int(wl_display_get_error(display), 0);
  wl_surface_destroy(surface);
  wl_compositor_destroy(factory);
  wl_registry_destroy(registry);
  wl_display_disconnect(display);
}
GST_END_TEST

struct Row {
  const char *name;
  void (*spoil)(CompositorPlan &plan);
  const char *problem; // nullptr: there is none, and the pairs are those of `pairs`
  Pairs pairs;
};

const Row kRows[] = {
    {"a truncated table", [](CompositorPlan &p) { p.table_bytes_missing = 1; }, "it ends at byte 63 of 64", {}},
    {"an empty file", [](CompositorPlan &p) { p.table_bytes_missing = 64; }, "it ends at byte 0 of 64", {}},
    {"a table of odd size", [](CompositorPlan &p) { p.table_size = 17; }, "it says to have 17 bytes", {}},
    {"a table larger than its file", [](CompositorPlan &p) { p.table_size = 1U << 20; }, "it ends at byte 64 of 1048576", {}},
    {"a table of 4 GiB", [](CompositorPlan &p) { p.table_size = 0xfffffff0U; }, "it says to have 4294967280 bytes", {}},
    {"a table that is a pipe", [](CompositorPlan &p) { p.table_is_a_pipe = true; }, "it is no file of memory", {}},
    {"indices out of range", [](CompositorPlan &p) { p.tranches[0].indices = {1, 4, 65535, 1}; }, nullptr, {kXrgb}},
    {"half an index", [](CompositorPlan &p) { p.odd_indices = true; }, nullptr, {kNv12, kXrgb, kTiled, kImplicit}},
    {"no index", [](CompositorPlan &p) { p.tranches[0].indices.clear(); }, nullptr, {}},
    {"fourccs that are none", [](CompositorPlan &p) { p.table = {{0, 0}, {0xffffffff, 1}, {1, 2}, kXrgb}; }, nullptr, {kXrgb}},
    {"devices of four bytes", [](CompositorPlan &p) { p.device_bytes = 4; }, nullptr, {kNv12, kXrgb, kTiled, kImplicit}},
    {"devices of no byte", [](CompositorPlan &p) { p.device_bytes = 0; }, nullptr, {kNv12, kXrgb, kTiled, kImplicit}},
    {"no tranche", [](CompositorPlan &p) { p.tranches.clear(); }, nullptr, {}},
    {"no zwp_linux_dmabuf_v1", [](CompositorPlan &p) { p.version = 0; }, "it has no zwp_linux_dmabuf_v1", {}},
    {"silence", [](CompositorPlan &p) { p.says_done = false; }, "did not answer within 2000 ms", {}},
    {"the end of the connection", [](CompositorPlan &p) { p.hangs_up = true; }, "the connection ended", {}},
};

GST_START_TEST(test_hostile_compositors)
{
  const Row &row = kRows[__i__];
  CompositorPlan plan = good_plan();
  row.spoil(plan);
  const Compositor compositor(plan);
  const List list = ask();
  if (row.problem) {
    fail_unless_problem(list, row.problem);
    return;
  }
  fail_unless(list->len == 1, "%s: %u sources", row.name, list->len);
  fail_unless(gst_drm_source_get_problem(at(list, 0)) == nullptr, "%s", row.name);
  fail_unless(pairs_of(at(list, 0)) == row.pairs, "%s", row.name);
}
GST_END_TEST

GST_START_TEST(test_too_many_tranches)
{
  CompositorPlan plan = good_plan();
  plan.endless = true;
  const Compositor compositor(plan);
  const List list = ask();
  fail_unless(list->len >= 1 && list->len <= 64, "%u sources", list->len);
}
GST_END_TEST

// A socket that is no compositor's: `answer` is all that it says to whoever connects.
void ask_socket(const std::string &answer, int backlog, unsigned clients, const char *problem)
{
  g_autofree gchar *folder = g_dir_make_tmp("socket-XXXXXX", nullptr);
  const std::string path = std::string(folder) + "/odd";
  const UniqueFd server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  const auto *raw = reinterpret_cast<const sockaddr *>(&address);
  fail_unless(::bind(server.get(), raw, sizeof(address)) == 0);
  fail_unless(backlog < 0 || ::listen(server.get(), backlog) == 0);
  std::vector<UniqueFd> others; // nobody accepts them
  for (unsigned i = 0; i < clients; i++) {
    others.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(others.back().get(), raw, sizeof(address)) != 0)
      break;
  }
  std::thread thread;
  if (!answer.empty())
    thread = std::thread([&] {
      const UniqueFd client(::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC));
      ::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      ::shutdown(client.get(), SHUT_WR);
      char rest[64];
      while (::recv(client.get(), rest, sizeof(rest), 0) > 0)
        ;
    });
  g_setenv("WAYLAND_DISPLAY", path.c_str(), TRUE);
  fail_unless_problem(ask(), problem);
  g_unsetenv("WAYLAND_DISPLAY");
  if (thread.joinable())
    thread.join();
  ::unlink(path.c_str());
  ::rmdir(folder);
}

GST_START_TEST(test_odd_sockets)
{
  ask_socket("HTTP/1.1 400 Bad Request\r\n\r\n", 1, 0, "the connection ended");
  ask_socket(std::string(64, '\0'), 1, 0, "the connection ended");
  ask_socket(std::string(64, '\xff'), 1, 0, "the connection ended");
  ask_socket("", 1, 0, "did not answer within 2000 ms"); // nobody accepts
  ask_socket("", 0, 8, "it accepts no connections");     // nor is there room to wait
  ask_socket("", -1, 0, "ECONNREFUSED");
}
GST_END_TEST

GST_START_TEST(test_no_compositor)
{
  g_unsetenv("WAYLAND_DISPLAY");
  g_unsetenv("XDG_RUNTIME_DIR");
  fail_unless_equals_int(ask()->len, 0);
  g_setenv("XDG_RUNTIME_DIR", "/nonexistent", TRUE);
  fail_unless_equals_int(ask()->len, 0);
  g_setenv("WAYLAND_DISPLAY", "wayland-7", TRUE); // somebody said that there is one
  fail_unless_problem(ask(), "/nonexistent/wayland-7: ENOENT");
  g_setenv("WAYLAND_DISPLAY", std::string(200, 'x').c_str(), TRUE);
  fail_unless_problem(ask(), "ENAMETOOLONG");
}
GST_END_TEST

Suite *wayland_suite()
{
  Suite *suite = suite_create("wayland");
  TCase *tcase = tcase_create("compositors");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_default_feedback);
  tcase_add_test(tcase, test_real_table_and_tranches);
  tcase_add_test(tcase, test_older_versions);
  tcase_add_test(tcase, test_surface);
  tcase_add_loop_test(tcase, test_hostile_compositors, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tcase, test_too_many_tranches);
  tcase_add_test(tcase, test_odd_sockets);
  tcase_add_test(tcase, test_no_compositor);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(wayland)
