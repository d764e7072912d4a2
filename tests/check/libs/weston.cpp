// SPDX-License-Identifier: LGPL-2.1-or-later
// What the library lists of a real compositor, weston without a screen, beside what a plain client
// of libwayland hears from it: with each of its renderers, and on a vendor's GL driver over
// mesa-drm-shim where there is one. Then a compositor that stops and one that goes away meanwhile.
#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <wayland-client.h>

#include <gst/drm/drm.h>

#include "gst/drm/core/format.hpp"
#include "gst/drm/core/unique_fd.hpp"
#include "linux-dmabuf-client.h"
#include "support/check_main.hpp"
#include "support/display_server.hpp"
#include "support/gpu_table.hpp"
#include "support/source_pairs.hpp"

namespace {

using gstdrm::Format;
using gstdrm::UniqueFd;
using gstdrm::test::DisplayServer;
using gstdrm::test::Pairs;
using gstdrm::test::pairs_of;

struct UnrefArray {
  void operator()(GPtrArray *array) const { g_ptr_array_unref(array); }
};
using List = std::unique_ptr<GPtrArray, UnrefArray>;

GstDrmSource *at(const List &list, guint index)
{
  return static_cast<GstDrmSource *>(g_ptr_array_index(list.get(), index));
}

// --- a client that shares no code with the library -----------------------------------------------

struct Heard {
  guint32 version = 0; // of zwp_linux_dmabuf_v1; 0: weston has none
  Pairs listed;        // by events before version 4
  std::vector<Format> table;
  Pairs tranche; // not ended yet
  std::vector<Pairs> tranches;
  bool done = false;
};

void on_table(void *data, zwp_linux_dmabuf_feedback_v1 *, gint32 fd, guint32 size)
{
  struct Entry {
    guint32 fourcc, padding;
    guint64 modifier;
  };
  const UniqueFd owner(fd);
  void *memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  fail_unless(memory != MAP_FAILED);
  const auto *entries = static_cast<const Entry *>(memory);
  for (std::size_t i = 0; i < size / sizeof(Entry); i++)
    static_cast<Heard *>(data)->table.push_back({entries[i].fourcc, entries[i].modifier});
  ::munmap(memory, size);
}

void on_indices(void *data, zwp_linux_dmabuf_feedback_v1 *, wl_array *indices)
{
  auto &heard = *static_cast<Heard *>(data);
  const auto *first = static_cast<const guint16 *>(indices->data);
  for (std::size_t i = 0; i < indices->size / sizeof(guint16); i++)
    heard.tranche.insert(heard.table.at(first[i]));
}

constexpr zwp_linux_dmabuf_feedback_v1_listener kFeedback = {
    [](void *data, zwp_linux_dmabuf_feedback_v1 *) { static_cast<Heard *>(data)->done = true; },
    on_table,
    [](void *, zwp_linux_dmabuf_feedback_v1 *, wl_array *) {},
    [](void *data, zwp_linux_dmabuf_feedback_v1 *) {
      auto &heard = *static_cast<Heard *>(data);
      heard.tranches.push_back(std::exchange(heard.tranche, {}));
    },
    [](void *, zwp_linux_dmabuf_feedback_v1 *, wl_array *) {},
    on_indices,
    [](void *, zwp_linux_dmabuf_feedback_v1 *, guint32) {}};

constexpr zwp_linux_dmabuf_v1_listener kDmabuf = {
    [](void *, zwp_linux_dmabuf_v1 *, guint32) {},
    [](void *data, zwp_linux_dmabuf_v1 *, guint32 fourcc, guint32 high, guint32 low) {
      static_cast<Heard *>(data)->listed.insert({fourcc, guint64{high} << 32 | low});
    }};

// An application's connection, with a surface.
class Client {
public:
  Client() : display_(wl_display_connect(nullptr))
  {
    fail_unless(display_ != nullptr, "no connection");
    registry_ = wl_display_get_registry(display_);
    wl_registry_add_listener(registry_, &kRegistry, this);
    wl_display_roundtrip(display_); // the globals
    wl_display_roundtrip(display_); // what they say
    fail_unless(factory_ != nullptr, "weston has no wl_compositor");
    surface_ = wl_compositor_create_surface(factory_);
    wl_display_roundtrip(display_);
  }
  Client(const Client &) = delete;
  Client &operator=(const Client &) = delete;
  ~Client()
  {
    wl_surface_destroy(surface_);
    wl_compositor_destroy(factory_);
    if (dmabuf_)
      zwp_linux_dmabuf_v1_destroy(dmabuf_);
    wl_registry_destroy(registry_);
    wl_display_disconnect(display_);
  }

  [[nodiscard]] wl_display *display() const { return display_; }
  [[nodiscard]] wl_surface *surface() const { return surface_; }
  // What it hears for `surface`, nullptr being all.
  Heard hear(wl_surface *surface)
  {
    Heard heard = heard_;
    if (heard.version < 4)
      return heard;
    zwp_linux_dmabuf_feedback_v1 *feedback =
        surface ? zwp_linux_dmabuf_v1_get_surface_feedback(dmabuf_, surface)
                : zwp_linux_dmabuf_v1_get_default_feedback(dmabuf_);
    zwp_linux_dmabuf_feedback_v1_add_listener(feedback, &kFeedback, &heard);
    while (!heard.done)
      fail_unless(wl_display_dispatch(display_) >= 0, "the connection ended");
    zwp_linux_dmabuf_feedback_v1_destroy(feedback);
    return heard;
  }

private:
  static void on_global(void *data, wl_registry *registry, guint32 name, const char *interface,
                        guint32 version)
  {
    auto &self = *static_cast<Client *>(data);
    if (std::strcmp(interface, wl_compositor_interface.name) == 0)
      self.factory_ = static_cast<wl_compositor *>(
          wl_registry_bind(registry, name, &wl_compositor_interface, 1));
    if (std::strcmp(interface, zwp_linux_dmabuf_v1_interface.name) != 0)
      return;
    self.heard_.version = std::min<guint32>(version, 4);
    self.dmabuf_ = static_cast<zwp_linux_dmabuf_v1 *>(
        wl_registry_bind(registry, name, &zwp_linux_dmabuf_v1_interface, self.heard_.version));
    zwp_linux_dmabuf_v1_add_listener(self.dmabuf_, &kDmabuf, &self.heard_);
  }
  static constexpr wl_registry_listener kRegistry = {on_global,
                                                     [](void *, wl_registry *, guint32) {}};

  wl_display *display_;
  wl_registry *registry_ = nullptr;
  wl_compositor *factory_ = nullptr;
  zwp_linux_dmabuf_v1 *dmabuf_ = nullptr;
  wl_surface *surface_ = nullptr;
  Heard heard_;
};

// --- what is listed ------------------------------------------------------------------------------

struct Row {
  const char *name;
  DisplayServer::Options options;
  guint32 least;     // version of zwp_linux_dmabuf_v1
  const char *table; // of the vendor's driver that weston draws with; nullptr: a software renderer
};

const std::vector<Row> &rows()
{
  static const std::vector<Row> all = {
      {"pixman", {}, 0, nullptr},
      {"OpenGL", {.gl = true}, 0, nullptr},
#ifdef GST_DRM_TEST_SHIM
      {"freedreno",
       {.gl = true,
        .variables = {{"LD_PRELOAD", "libfreedreno_noop_drm_shim.so"}, {"FD_GPU_ID", "660"}}},
       4,
       "freedreno-a660"},
      {"radeonsi",
       {.gl = true,
        .variables = {{"LD_PRELOAD", "libamdgpu_noop_drm_shim.so"}, {"AMDGPU_GPU_ID", "navi31"}}},
       4,
       "amd-navi31"},
#endif
  };
  return all;
}

void check(const Heard &heard, const List &list, const std::string &name)
{
  if (heard.version == 0) {
    fail_unless_equals_int(list->len, 1);
    const gchar *problem = gst_drm_source_get_problem(at(list, 0));
    fail_unless(problem && std::strstr(problem, "it has no zwp_linux_dmabuf_v1"), "%s", problem);
    fail_unless(pairs_of(at(list, 0)).empty());
    return;
  }
  const std::vector<Pairs> wanted =
      heard.version < 4 ? std::vector<Pairs>{heard.listed} : heard.tranches;
  fail_unless_equals_int(list->len, wanted.size());
  for (guint i = 0; i < list->len; i++) {
    const GstDrmSource *source = at(list, i);
    const std::string expected = heard.version < 4 ? name : name + ":" + std::to_string(i);
    fail_unless_equals_int(gst_drm_source_get_kind(source), GST_DRM_SOURCE_KIND_WAYLAND);
    fail_unless_equals_string(gst_drm_source_get_name(source), expected.c_str());
    fail_unless(gst_drm_source_get_problem(source) == nullptr, "%s",
                gst_drm_source_get_problem(source));
    fail_unless(!wanted[i].empty() && pairs_of(source) == wanted[i], "%s: %zu pairs for %zu",
                expected.c_str(), pairs_of(source).size(), wanted[i].size());
  }
}

// The first tranche is for the GPU that weston draws with: each pair of its driver.
void check_table(const List &list, const char *table)
{
  const auto recorded = gstdrm::test::load_gpu_table(table);
  const Pairs found = pairs_of(at(list, 0));
  const auto known = static_cast<std::size_t>(
      std::count_if(recorded.begin(), recorded.end(),
                    [&](const Format &format) { return found.contains(format); }));
  // another Mesa adds pairs and takes some away
  fail_unless(known * 2 > recorded.size(), "%zu of %zu pairs", known, recorded.size());
}

GST_START_TEST(test_weston)
{
  const Row &row = rows()[static_cast<std::size_t>(__i__)];
  const DisplayServer weston(DisplayServer::Kind::Wayland, row.options);
  fail_unless(weston.failure().empty(), "%s", weston.failure().c_str());
  Client client;
  for (int i = 0; i < 2; i++) { // nothing is left of the first time
    const Heard all = client.hear(nullptr);
    gstdrm::test::say(std::string(row.name) + ": zwp_linux_dmabuf_v1 " +
                      std::to_string(all.version));
    fail_unless(all.version >= row.least, "weston with %s has version %u", row.name, all.version);
    const List list(gst_drm_enumerate_wayland());
    check(all, list, "wayland:wayland-gst-drm");
    check(all, List(gst_drm_enumerate_wayland_surface(client.display(), nullptr)),
          "wayland:display");
    check(client.hear(client.surface()),
          List(gst_drm_enumerate_wayland_surface(client.display(), client.surface())),
          "wayland:surface");
    if (row.table)
      check_table(list, row.table);
  }
  fail_unless_equals_int(wl_display_get_error(client.display()), 0);
}
GST_END_TEST

// --- a compositor that does not stay -------------------------------------------------------------

std::string problem_of(const List &list)
{
  fail_unless_equals_int(list->len, 1);
  const gchar *problem = gst_drm_source_get_problem(at(list, 0));
  fail_unless(pairs_of(at(list, 0)).empty());
  return problem ? problem : "none";
}

// Asks on a connection that there is already, so that the compositor is known to end in the middle.
std::string ask_on(const Client &client)
{
  return problem_of(List(gst_drm_enumerate_wayland_surface(client.display(), client.surface())));
}

GST_START_TEST(test_ends_in_the_middle)
{
  DisplayServer weston(DisplayServer::Kind::Wayland);
  fail_unless(weston.failure().empty(), "%s", weston.failure().c_str());
  const Client client;
  weston.send(SIGSTOP); // it answers nothing from here on
  std::string problem;
  std::thread asking([&] { problem = ask_on(client); });
  weston.kill();
  asking.join();
  gstdrm::test::say(problem);
  fail_unless(problem.find("wayland:surface cannot be asked: the connection ended") !=
                  std::string::npos,
              "%s", problem.c_str());
  // and the dead connection, and the socket that is left of it
  fail_unless(ask_on(client).find("the connection ended") != std::string::npos);
  const std::string later = problem_of(List(gst_drm_enumerate_wayland()));
  fail_unless(later.find("wayland:wayland-gst-drm cannot be asked") != std::string::npos, "%s",
              later.c_str());
}
GST_END_TEST

GST_START_TEST(test_does_not_answer)
{
  DisplayServer weston(DisplayServer::Kind::Wayland);
  fail_unless(weston.failure().empty(), "%s", weston.failure().c_str());
  const Client client;
  weston.send(SIGSTOP);
  fail_unless(ask_on(client).find("it did not answer within 2000 ms") != std::string::npos);
  fail_unless(
      problem_of(List(gst_drm_enumerate_wayland())).find("it did not answer within 2000 ms") !=
      std::string::npos);
  weston.send(SIGCONT); // what it was asked meanwhile harms nobody
  fail_unless(ask_on(client).find("did not answer") == std::string::npos);
  fail_unless_equals_int(wl_display_get_error(client.display()), 0);
}
GST_END_TEST

Suite *weston_suite()
{
  Suite *suite = suite_create("weston");
  TCase *tcase = tcase_create("compositor");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_weston, 0, static_cast<int>(rows().size()));
  tcase_add_test(tcase, test_ends_in_the_middle);
  tcase_add_test(tcase, test_does_not_answer);
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  if (!DisplayServer::is_installed(DisplayServer::Kind::Wayland)) {
    g_printerr("weston is not on this machine, so that no compositor can be asked\n");
    return 77;
  }
  gst_check_init(&argc, &argv);
  return gstdrm::test::run_suite(weston_suite());
}
