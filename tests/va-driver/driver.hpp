// SPDX-License-Identifier: LGPL-2.1-or-later
// State of one VADisplay of the test driver. libva's entry points (entry.cpp, surfaces.cpp,
// images.cpp, pictures.cpp) take the lock, look objects up here and do the rest.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <va/va.h>
#include <va/va_backend.h>
#include <va/va_backend_vpp.h>
#include <va/va_vpp.h>

#include "blit.hpp"
#include "counters.hpp"
#include "fences.hpp"
#include "settings.hpp"
#include "surface.hpp"

namespace gstdrm::test::vadriver {

struct Buffer {
  VABufferType type{};
  std::vector<std::uint8_t> data;
  std::shared_ptr<Surface> surface; // a derived image maps the surface's own memory
};

struct Image {
  VAImage va{};
  const PixelFormat *format = nullptr;
};

struct Blit {
  std::shared_ptr<Surface> source;
  Rect source_rect;
  Rect target_rect;
  Conversion colours;
  Turn turn{};
  Field field{};
  std::shared_ptr<Surface> before; // the frame before, where motion is looked for
  std::uint32_t background = 0;    // ARGB; filled around target_rect where its alpha is not 0
};

struct Picture {
  std::shared_ptr<Surface> target;
  std::function<void()> upload; // of an image that is put, in place of blits
  std::vector<Blit> blits;
  std::array<UniqueFd, 4> wait_for;
};

struct Context {
  Picture picture; // between vaBeginPicture and vaEndPicture
};

class Driver {
public:
  // nullptr with a message on stderr where the settings cannot be read.
  static std::unique_ptr<Driver> create(int drm_fd);
  ~Driver();
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

  static Driver &of(VADriverContextP context)
  {
    return *static_cast<Driver *>(context->pDriverData);
  }

  // Counts the call; an error where the settings say that this one fails.
  VAStatus count(Counter counter, VAStatus failure = VA_STATUS_ERROR_OPERATION_FAILED);
  [[nodiscard]] bool has_format(const PixelFormat &format) const;

  VAGenericID next_id() { return ++last_id_; }

  // Runs a picture now, or queues it for the "GPU".
  void submit(Picture &picture);
  bool wait_idle(const Surface &surface, std::uint64_t timeout_ns);

  Settings settings;
  std::mutex lock; // guards the tables below
  std::map<VASurfaceID, std::shared_ptr<Surface>> surfaces;
  std::map<VABufferID, Buffer> buffers;
  std::map<VAImageID, Image> images;
  std::map<VAContextID, Context> contexts;
  std::vector<VAProfile> configs; // VAConfigID is the index plus 1
  std::uint64_t exports = 0;

  [[nodiscard]] std::shared_ptr<Surface> surface(VASurfaceID id) const
  {
    const auto it = surfaces.find(id);
    return it == surfaces.end() ? nullptr : it->second;
  }

private:
  Driver() = default;
  void work();
  static void empty(Picture &picture);

  VAGenericID last_id_ = 0;
  CounterPage *counters_ = nullptr; // in counters_file_, or local_
  CounterPage local_{};
  Mapping counters_file_;
  Timeline timeline_ = Timeline::create();

  std::mutex queue_lock_; // guards the queue; taken after `lock`
  std::condition_variable queue_changed_;
  std::list<Picture> queue_;
  // Pictures that are made already, so that queueing one costs the caller's thread no memory: its
  // tests count that.
  static constexpr std::size_t kPicturesAtHand = 32;
  static constexpr std::size_t kBlitsAtHand = 64;
  std::list<Picture> spare_;
  bool quit_ = false;
  std::thread worker_;
};

// The function as libva may call it. A driver in C says so where memory is short; C++ says it by an
// exception.
template <auto function> struct InC;
template <typename... Arguments, VAStatus (*function)(VADriverContextP, Arguments...)>
struct InC<function> {
  static VAStatus call(VADriverContextP context, Arguments... arguments) noexcept
  {
    try {
      return function(context, arguments...);
    } catch (const std::bad_alloc &) {
      return VA_STATUS_ERROR_ALLOCATION_FAILED;
    }
  }
};
template <auto function> inline constexpr auto in_c = InC<function>::call;

// The parts of the vtable, one per file.
void install_surfaces(VADriverVTable &vtable);
void install_images(VADriverVTable &vtable);
void install_pictures(VADriverVTable &vtable, VADriverVTableVPP *vpp);

} // namespace gstdrm::test::vadriver
