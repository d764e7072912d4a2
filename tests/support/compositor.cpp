// SPDX-License-Identifier: LGPL-2.1-or-later
#include "compositor.hpp"

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>
#include <wayland-server.h>

#include "gst/drm/core/unique_fd.hpp"
#include "linux-dmabuf-server.h"

namespace gstdrm::test {

namespace {

struct Entry {
  std::uint32_t fourcc;
  std::uint32_t padding;
  std::uint64_t modifier;
};

const CompositorPlan &plan_of(wl_resource *resource)
{
  return *static_cast<const CompositorPlan *>(wl_resource_get_user_data(resource));
}

// An array of bytes for the wire.
class Bytes {
public:
  Bytes(const void *data, std::size_t size)
  {
    wl_array_init(&array_);
    if (size > 0)
      std::memcpy(wl_array_add(&array_, size), data, size);
  }
  Bytes(const Bytes &) = delete;
  Bytes &operator=(const Bytes &) = delete;
  ~Bytes() { wl_array_release(&array_); }
  wl_array *get() { return &array_; }

private:
  wl_array array_{};
};

UniqueFd table_of(const CompositorPlan &plan)
{
  if (plan.table_is_a_pipe) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe");
    const UniqueFd write(ends[1]);
    return UniqueFd(ends[0]);
  }
  std::vector<Entry> entries;
  for (const Format &format : plan.table)
    entries.push_back({format.fourcc, 0, format.modifier});
  UniqueFd fd(::memfd_create("table", MFD_CLOEXEC));
  const std::size_t size = entries.size() * sizeof(Entry) - plan.table_bytes_missing;
  if (!fd || ::write(fd.get(), entries.data(), size) != static_cast<ssize_t>(size))
    throw std::runtime_error("no memfd");
  return fd;
}

void send_device(const CompositorPlan &plan, std::uint64_t device, auto &&send)
{
  std::vector<std::uint64_t> words(plan.device_bytes / sizeof(device) + 1, device);
  Bytes bytes(words.data(), plan.device_bytes);
  send(bytes.get());
}

void send_tranche(const CompositorPlan &plan, wl_resource *feedback,
                  const CompositorTranche &tranche)
{
  send_device(plan, tranche.device, [=](wl_array *device) {
    zwp_linux_dmabuf_feedback_v1_send_tranche_target_device(feedback, device);
  });
  std::vector<std::uint16_t> indices = tranche.indices;
  indices.push_back(0);
  Bytes bytes(indices.data(),
              tranche.indices.size() * sizeof(std::uint16_t) + (plan.odd_indices ? 1 : 0));
  zwp_linux_dmabuf_feedback_v1_send_tranche_formats(feedback, bytes.get());
  zwp_linux_dmabuf_feedback_v1_send_tranche_flags(feedback, tranche.flags);
  zwp_linux_dmabuf_feedback_v1_send_tranche_done(feedback);
}

const struct zwp_linux_dmabuf_feedback_v1_interface kFeedback = {
    [](wl_client *, wl_resource *resource) { wl_resource_destroy(resource); }};

void give_feedback(wl_client *client, wl_resource *dmabuf, std::uint32_t id,
                   const std::vector<CompositorTranche> &tranches)
{
  const CompositorPlan &plan = plan_of(dmabuf);
  wl_resource *feedback = wl_resource_create(client, &zwp_linux_dmabuf_feedback_v1_interface,
                                             wl_resource_get_version(dmabuf), id);
  wl_resource_set_implementation(feedback, &kFeedback, nullptr, nullptr);
  const UniqueFd table = table_of(plan);
  const std::uint32_t real = static_cast<std::uint32_t>(plan.table.size() * sizeof(Entry));
  zwp_linux_dmabuf_feedback_v1_send_format_table(feedback, table.get(),
                                                 plan.table_size ? plan.table_size : real);
  send_device(plan, plan.main_device, [=](wl_array *device) {
    zwp_linux_dmabuf_feedback_v1_send_main_device(feedback, device);
  });
  for (const CompositorTranche &tranche : tranches)
    send_tranche(plan, feedback, tranche);
  for (int i = 0; plan.endless && i < 2000; i++) {
    send_tranche(plan, feedback, tranches.front());
    wl_client_flush(client);
  }
  if (plan.hangs_up) // not in the midst of a request, which libwayland-server 1.23 does not survive
    wl_event_loop_add_idle(wl_display_get_event_loop(wl_client_get_display(client)),
                           [](void *one) { wl_client_destroy(static_cast<wl_client *>(one)); }, client);
  else if (plan.says_done)
    zwp_linux_dmabuf_feedback_v1_send_done(feedback);
}

const struct zwp_linux_dmabuf_v1_interface kDmabuf = {
    [](wl_client *, wl_resource *resource) { wl_resource_destroy(resource); },
    [](wl_client *, wl_resource *, std::uint32_t) {},
    [](wl_client *client, wl_resource *resource, std::uint32_t id) {
      give_feedback(client, resource, id, plan_of(resource).tranches);
    },
    [](wl_client *client, wl_resource *resource, std::uint32_t id, wl_resource *) {
      give_feedback(client, resource, id, plan_of(resource).surface_tranches);
    }};

void bind_dmabuf(wl_client *client, void *data, std::uint32_t version, std::uint32_t id)
{
  wl_resource *resource =
      wl_resource_create(client, &zwp_linux_dmabuf_v1_interface, static_cast<int>(version), id);
  wl_resource_set_implementation(resource, &kDmabuf, data, nullptr);
  for (const Format &format : plan_of(resource).table) {
    if (version < 4)
      zwp_linux_dmabuf_v1_send_format(resource, format.fourcc);
    if (version == 3)
      zwp_linux_dmabuf_v1_send_modifier(resource, format.fourcc,
                                        static_cast<std::uint32_t>(format.modifier >> 32),
                                        static_cast<std::uint32_t>(format.modifier));
  }
}

// Surfaces can be made, and nothing can be done with them.
const struct wl_surface_interface kSurface = {
    .destroy = [](wl_client *, wl_resource *resource) { wl_resource_destroy(resource); }};
const struct wl_compositor_interface kCompositor = {
    .create_surface =
        [](wl_client *client, wl_resource *resource, std::uint32_t id) {
          wl_resource *surface = wl_resource_create(client, &wl_surface_interface,
                                                    wl_resource_get_version(resource), id);
          wl_resource_set_implementation(surface, &kSurface, nullptr, nullptr);
        },
    .create_region = [](wl_client *, wl_resource *, std::uint32_t) {}};

void bind_compositor(wl_client *client, void *, std::uint32_t version, std::uint32_t id)
{
  wl_resource *resource =
      wl_resource_create(client, &wl_compositor_interface, static_cast<int>(version), id);
  wl_resource_set_implementation(resource, &kCompositor, nullptr, nullptr);
}

} // namespace

struct Compositor::Server {
  CompositorPlan plan;
  std::string folder;
  wl_display *display = nullptr;
  int stop[2] = {-1, -1};
  wl_event_source *stop_source = nullptr;
  std::thread thread;
};

Compositor::Compositor(CompositorPlan plan) : server_(std::make_unique<Server>())
{
  Server &server = *server_;
  server.plan = std::move(plan);
  char folder[] = "/tmp/compositor-XXXXXX";
  if (!::mkdtemp(folder) || ::pipe2(server.stop, O_CLOEXEC) != 0)
    throw std::runtime_error("no directory for the compositor");
  server.folder = folder;
  ::setenv("XDG_RUNTIME_DIR", folder, 1);
  ::unsetenv("WAYLAND_DISPLAY");
  server.display = wl_display_create();
  if (!server.display || wl_display_add_socket(server.display, "wayland-0") != 0)
    throw std::runtime_error("no socket for the compositor");
  wl_global_create(server.display, &wl_compositor_interface, 4, nullptr, bind_compositor);
  if (server.plan.version > 0)
    wl_global_create(server.display, &zwp_linux_dmabuf_v1_interface,
                     static_cast<int>(server.plan.version), &server.plan, bind_dmabuf);
  // ends the loop in its own thread
  server.stop_source = wl_event_loop_add_fd(
      wl_display_get_event_loop(server.display), server.stop[0], WL_EVENT_READABLE,
      [](int, std::uint32_t, void *display) {
        wl_display_terminate(static_cast<wl_display *>(display));
        return 0;
      },
      server.display);
  server.thread = std::thread([&server] { wl_display_run(server.display); });
}

Compositor::~Compositor()
{
  if (::write(server_->stop[1], "x", 1) == 1)
    server_->thread.join();
  wl_event_source_remove(server_->stop_source);
  wl_display_destroy_clients(server_->display);
  wl_display_destroy(server_->display);
  ::close(server_->stop[0]);
  ::close(server_->stop[1]);
  ::rmdir(server_->folder.c_str());
  ::unsetenv("XDG_RUNTIME_DIR");
}

} // namespace gstdrm::test
