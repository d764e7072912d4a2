// SPDX-License-Identifier: LGPL-2.1-or-later
// What a Wayland compositor takes: the feedback of zwp_linux_dmabuf_v1, or the pairs that a
// compositor before version 4 lists. Everything has one time limit, and no call blocks: a
// compositor may hang, and an application's other threads may use the same connection.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <wayland-client.h>

#include "../core/errno_text.hpp"
#include "../core/log.hpp"
#include "../core/unique_fd.hpp"
#include "linux-dmabuf-client.h"
#include "wayland_feedback.hpp"

namespace gstdrm {

namespace {

using Clock = std::chrono::steady_clock;

// A compositor that works answers within a frame time.
constexpr std::chrono::milliseconds kLimit{2000};
// The first version with feedback, and the last one that this file knows.
constexpr std::uint32_t kFeedbackVersion = 4;

template <auto Free> struct Deleter {
  template <typename T> void operator()(T *object) const noexcept { Free(object); }
};
using Connection = std::unique_ptr<wl_display, Deleter<wl_display_disconnect>>;
using Queue = std::unique_ptr<wl_event_queue, Deleter<wl_event_queue_destroy>>;
using Wrapper = std::unique_ptr<wl_display, Deleter<wl_proxy_wrapper_destroy>>;
using Registry = std::unique_ptr<wl_registry, Deleter<wl_registry_destroy>>;
using Callback = std::unique_ptr<wl_callback, Deleter<wl_callback_destroy>>;
using Dmabuf = std::unique_ptr<zwp_linux_dmabuf_v1, Deleter<zwp_linux_dmabuf_v1_destroy>>;
using FeedbackObject =
    std::unique_ptr<zwp_linux_dmabuf_feedback_v1, Deleter<zwp_linux_dmabuf_feedback_v1_destroy>>;

// What the listeners write to.
struct Answers {
  std::uint32_t global =
      0; // number of zwp_linux_dmabuf_v1; 0 if there is none, as numbers begin at 1
  std::uint32_t version = 0; // of it
  bool synced = false;
  bool done = false;
  bool failed = false; // an exception in a listener: out of memory
  WaylandFeedback feedback;
};

// Runs `body` in a callback of C, which no exception may leave.
template <typename Body> void guarded(void *data, Body &&body) noexcept
{
  auto &answers = *static_cast<Answers *>(data);
  try {
    body(answers);
  } catch (...) {
    answers.failed = true;
  }
}

std::span<const std::byte> bytes_of(const wl_array *array)
{
  return {static_cast<const std::byte *>(array->data), array->size};
}

void on_global(void *data, wl_registry *, std::uint32_t name, const char *interface,
               std::uint32_t version) noexcept
{
  auto &answers = *static_cast<Answers *>(data);
  if (std::strcmp(interface, zwp_linux_dmabuf_v1_interface.name) != 0 || version == 0)
    return;
  answers.global = name;
  answers.version = std::min(version, kFeedbackVersion);
}
void on_global_remove(void *, wl_registry *, std::uint32_t) noexcept {}
constexpr wl_registry_listener kRegistryListener = {on_global, on_global_remove};

void on_synced(void *data, wl_callback *, std::uint32_t) noexcept
{
  static_cast<Answers *>(data)->synced = true;
}
constexpr wl_callback_listener kSyncListener = {on_synced};

void on_format(void *data, zwp_linux_dmabuf_v1 *, std::uint32_t fourcc) noexcept
{
  // from version 3 on each format comes again as a modifier event
  guarded(data, [=](Answers &answers) {
    if (answers.version < 3)
      answers.feedback.add_pair({fourcc, kModImplicit});
  });
}
void on_modifier(void *data, zwp_linux_dmabuf_v1 *, std::uint32_t fourcc, std::uint32_t high,
                 std::uint32_t low) noexcept
{
  guarded(data, [=](Answers &answers) {
    answers.feedback.add_pair({fourcc, std::uint64_t{high} << 32 | low});
  });
}
constexpr zwp_linux_dmabuf_v1_listener kDmabufListener = {on_format, on_modifier};

using Object = zwp_linux_dmabuf_feedback_v1;

void on_done(void *data, Object *) noexcept
{
  static_cast<Answers *>(data)->done = true;
}
void on_table(void *data, Object *, std::int32_t fd, std::uint32_t size) noexcept
{
  UniqueFd table(fd);
  guarded(data, [&](Answers &answers) { answers.feedback.set_table(std::move(table), size); });
}
void on_main_device(void *data, Object *, wl_array *device) noexcept
{
  guarded(data, [=](Answers &answers) { answers.feedback.set_main_device(bytes_of(device)); });
}
void on_tranche_done(void *data, Object *) noexcept
{
  guarded(data, [](Answers &answers) { answers.feedback.end_tranche(); });
}
void on_target_device(void *data, Object *, wl_array *device) noexcept
{
  guarded(data, [=](Answers &answers) { answers.feedback.set_target_device(bytes_of(device)); });
}
void on_formats(void *data, Object *, wl_array *indices) noexcept
{
  guarded(data, [=](Answers &answers) { answers.feedback.add_indices(bytes_of(indices)); });
}
void on_flags(void *data, Object *, std::uint32_t flags) noexcept
{
  guarded(data, [=](Answers &answers) { answers.feedback.set_flags(flags); });
}
constexpr zwp_linux_dmabuf_feedback_v1_listener kFeedbackListener = {
    on_done, on_table, on_main_device, on_tranche_done, on_target_device, on_formats, on_flags};

// The questions of one call, on a queue of their own.
class Conversation {
public:
  explicit Conversation(wl_display *display)
      : display_(display), queue_(wl_display_create_queue(display)),
        wrapper_(static_cast<wl_display *>(wl_proxy_create_wrapper(display)))
  {
    if (wrapper_ && queue_)
      wl_proxy_set_queue(reinterpret_cast<wl_proxy *>(wrapper_.get()), queue_.get());
  }

  // What went wrong, as the end of a sentence; empty if there is nothing.
  std::string ask(wl_surface *surface)
  {
    if (!queue_ || !wrapper_)
      return "out of memory";
    registry_.reset(wl_display_get_registry(wrapper_.get()));
    if (!registry_)
      return "out of memory";
    wl_registry_add_listener(registry_.get(), &kRegistryListener, &answers_);
    if (std::string problem = sync(); !problem.empty())
      return problem;
    if (answers_.global == 0)
      return "it has no zwp_linux_dmabuf_v1, and takes no DMA buffers";
    dmabuf_.reset(static_cast<zwp_linux_dmabuf_v1 *>(wl_registry_bind(
        registry_.get(), answers_.global, &zwp_linux_dmabuf_v1_interface, answers_.version)));
    if (!dmabuf_)
      return "out of memory";
    zwp_linux_dmabuf_v1_add_listener(dmabuf_.get(), &kDmabufListener, &answers_);
    return answers_.version < kFeedbackVersion ? sync() : ask_feedback(surface);
  }

  [[nodiscard]] const WaylandFeedback &feedback() const noexcept { return answers_.feedback; }

private:
  std::string ask_feedback(wl_surface *surface)
  {
    feedback_.reset(surface ? zwp_linux_dmabuf_v1_get_surface_feedback(dmabuf_.get(), surface)
                            : zwp_linux_dmabuf_v1_get_default_feedback(dmabuf_.get()));
    if (!feedback_)
      return "out of memory";
    zwp_linux_dmabuf_feedback_v1_add_listener(feedback_.get(), &kFeedbackListener, &answers_);
    return wait(answers_.done);
  }

  std::string sync()
  {
    answers_.synced = false;
    callback_.reset(wl_display_sync(wrapper_.get()));
    if (!callback_)
      return "out of memory";
    wl_callback_add_listener(callback_.get(), &kSyncListener, &answers_);
    return wait(answers_.synced);
  }

  // Reads and dispatches until `flag` is set.
  std::string wait(const bool &flag)
  {
    while (!flag) {
      if (answers_.failed)
        return "out of memory";
      if (Clock::now() >= deadline_)
        return "it did not answer within " + std::to_string(kLimit.count()) + " ms";
      if (wl_display_prepare_read_queue(display_, queue_.get()) == 0 && !read())
        return lost();
      if (wl_display_dispatch_queue_pending(display_, queue_.get()) < 0)
        return lost();
    }
    return {};
  }

  // After wl_display_prepare_read_queue(). false: the connection is lost.
  bool read()
  {
    pollfd wanted{wl_display_get_fd(display_), POLLIN, 0};
    // EPIPE: the compositor's last words can still be read
    if (wl_display_flush(display_) < 0 && errno == EAGAIN)
      wanted.events |= POLLOUT;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    const int ready =
        ::poll(&wanted, 1, static_cast<int>(std::clamp<long>(left.count(), 0, kLimit.count())));
    const bool ended = ready > 0 && is_at_end(wanted.fd);
    if (ready > 0 && !ended && (wanted.revents & ~POLLOUT))
      return wl_display_read_events(display_) == 0;
    wl_display_cancel_read(display_);
    return !ended;
  }

  // libwayland 1.23 hands out half a message again and again at the end of a connection, and never
  // says that it is the end.
  static bool is_at_end(int fd)
  {
    char byte = 0;
    return ::recv(fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) == 0;
  }

  std::string lost()
  {
    const int error = wl_display_get_error(display_);
    return "the connection ended: " + errno_text(error ? error : EPIPE);
  }

  Clock::time_point deadline_ = Clock::now() + kLimit;
  wl_display *display_;
  Queue queue_; // destroyed after the proxies that are on it
  Wrapper wrapper_;
  Answers answers_;
  Registry registry_;
  Callback callback_;
  Dmabuf dmabuf_;
  FeedbackObject feedback_;
};

Sources failed(const std::string &name, const std::string &problem)
{
  return {Source{.kind = SourceKind::Wayland,
                 .name = name,
                 .problem = "The compositor of " + name + " cannot be asked: " + problem + "."}};
}

Sources ask(wl_display *display, wl_surface *surface, const std::string &name)
{
  Conversation conversation(display);
  const std::string problem = conversation.ask(surface);
  return problem.empty() ? conversation.feedback().sources(name) : failed(name, problem);
}

// Path of the compositor's socket, as wl_display_connect() finds it; empty where there is none.
// WAYLAND_SOCKET, an open connection for whoever uses it first, is left to the application.
std::string socket_path()
{
  const char *const display = std::getenv("WAYLAND_DISPLAY");
  const std::string name = display && *display ? display : "wayland-0";
  if (name.starts_with('/'))
    return name;
  const char *const folder = std::getenv("XDG_RUNTIME_DIR");
  return folder && *folder ? std::string(folder) + "/" + name : std::string();
}

// Not by wl_display_connect(), whose connect(2) blocks where a compositor accepts nobody.
int connect_to(const std::string &path, UniqueFd &socket)
{
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return ENAMETOOLONG;
  path.copy(address.sun_path, path.size());
  socket.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket)
    return errno;
  return ::connect(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0
             ? 0
             : errno;
}

} // namespace

Sources enumerate_wayland()
{
  const std::string path = socket_path();
  if (path.empty())
    return {};
  const std::string name = "wayland:" + node_name(path);
  UniqueFd socket;
  if (const int error = connect_to(path, socket); error != 0) {
    const bool named = std::getenv("WAYLAND_DISPLAY") != nullptr;
    if (error == ENOENT && !named)
      return {};
    return failed(name, path + ": " + errno_text(error) +
                            (error == EAGAIN ? "; it accepts no connections" : ""));
  }
  // owns the socket from here on, whatever happens
  const Connection display(wl_display_connect_to_fd(socket.release()));
  return display ? ask(display.get(), nullptr, name) : failed(name, "out of memory");
}

Sources enumerate_wayland_surface(wl_display *display, wl_surface *surface)
{
  return ask(display, surface, surface ? "wayland:surface" : "wayland:display");
}

} // namespace gstdrm
