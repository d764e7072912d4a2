// SPDX-License-Identifier: LGPL-2.1-or-later
// A queue on a device whose answers each test decides, and frames for it.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <drm_fourcc.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <gst/drm/alloc/sealed_memfd.hpp>

#include "engine/inference_queue.hpp"
#include "scripted_backend.hpp"

namespace gstdrm::metis::test {

using namespace std::chrono_literals;
using Passage = InferenceQueue::Passage;
using Takes = Backend::Takes;

inline std::atomic<int> payloads_alive{0};

inline Payload number(int value)
{
  payloads_alive++;
  return {new int(value), [](void *data) {
            delete static_cast<int *>(data);
            payloads_alive--;
          }};
}
inline int number_in(const Outcome &outcome)
{
  return *static_cast<const int *>(outcome.payload.get());
}

// A frame of 4x4 pixels of XR24 in a memfd, which is the kit's dma-buf where there is none.
class Frame {
public:
  explicit Frame(std::uint8_t value) : fd_(std::move(create_sealed_memfd(4096)).value())
  {
    const std::vector<std::uint8_t> bytes(64, value);
    EXPECT_EQ(::pwrite(fd_.get(), bytes.data(), bytes.size(), 0), 64);
    layout_.format = {DRM_FORMAT_XRGB8888, kModLinear};
    layout_.width = layout_.height = 4;
    layout_.n_planes = 1;
    layout_.planes[0] = {fd_.get(), 0, 16, *query_object(fd_.get())};
  }
  [[nodiscard]] const FrameLayout &layout() const { return layout_; }

private:
  UniqueFd fd_;
  FrameLayout layout_;
};

struct Options {
  unsigned max_in_flight = 1;
  unsigned places = 8;
  std::chrono::milliseconds timeout = 1h;
  Takes takes = Takes::Frames;
  bool cache_maps = true;
  bool leaky = false;
};

// A queue on a scripted device, and frames for it.
class Fixture {
public:
  explicit Fixture(const std::string &script, const Options &options = {})
      : device(std::make_shared<Device>(script))
  {
    InferenceSetup setup;
    setup.backend = std::make_unique<ScriptedBackend>(device, options.takes);
    setup.inputs = *TensorPool::open(TensorMemory::System);
    outputs = *TensorPool::open(TensorMemory::System);
    setup.outputs = outputs;
    setup.max_in_flight = options.max_in_flight;
    setup.places = options.places;
    setup.timeout = options.timeout;
    setup.cache_maps = options.cache_maps;
    setup.leaky = options.leaky;
    queue = std::move(*InferenceQueue::start(std::move(setup), counters));
    auto prepared = std::make_shared<FrameFormat>();
    prepared->prepare = [](const PictureView &picture, std::byte *tensor) {
      std::memset(tensor, picture.planes[0][picture.strides[0] * 3 + 15],
                  ScriptedBackend::kInputBytes);
    };
    format = prepared;
  }

  Item frame(int value, UniqueFd acquire = {})
  {
    Item item;
    item.payload = number(value);
    item.frame = FrameItem{frame_.layout(), {}, std::move(acquire), format};
    return item;
  }
  static Item passive(int value, bool takes_place = true)
  {
    Item item;
    item.payload = number(value);
    item.takes_place = takes_place;
    return item;
  }

  std::shared_ptr<Device> device;
  std::shared_ptr<TensorPool> outputs;
  InferenceCounters counters;
  std::shared_ptr<const FrameFormat> format;
  std::unique_ptr<InferenceQueue> queue;

private:
  Frame frame_{77};
};

// r: a result; t: not in time; l: no device; e: another error; p: passive.
inline char letter_of(const Outcome &outcome)
{
  if (!outcome.was_frame)
    return 'p';
  if (!outcome.error)
    return outcome.outputs.size() == 1 ? 'r' : '?';
  if (outcome.error->sys_errno == ENODEV)
    return 'l';
  return outcome.error->sys_errno == ETIMEDOUT ? 't' : 'e';
}

} // namespace gstdrm::metis::test
