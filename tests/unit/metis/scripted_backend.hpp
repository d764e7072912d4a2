// SPDX-License-Identifier: LGPL-2.1-or-later
// A back end whose answers a test decides: descriptors and memory are real, the device is none.
#pragma once

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <gst/drm/core/wake_fd.hpp>

#include "engine/backend.hpp"

namespace gstdrm::metis::test {

// What a device does with its n-th request, one letter each; after the last letter it answers.
//   .  answers at once    h  answers when the test says    n  never answers
//   f  fails              x  refuses the request           L  is lost at the submission
//   D  is lost at the end of the request                   r  says that it is done, and is not
//   m  finds no memory at the submission                   M  finds none at the end
class Device {
public:
  explicit Device(std::string script) : script_(std::move(script)) {}

  // Answers request n, counted from 0, and all that come before it are answered already.
  void answer(std::size_t n)
  {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return n < requests_.size(); });
    complete(requests_[n]);
  }
  void wait_for_submissions(std::size_t n)
  {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return requests_.size() >= n; });
  }
  [[nodiscard]] std::size_t n_submitted()
  {
    const std::lock_guard guard(lock_);
    return requests_.size();
  }
  [[nodiscard]] std::size_t most_inside()
  {
    const std::lock_guard guard(lock_);
    return most_inside_;
  }
  [[nodiscard]] bool is_closed()
  {
    const std::lock_guard guard(lock_);
    return closed_;
  }
  // Bytes that requests found in their input tensors.
  [[nodiscard]] std::vector<std::uint8_t> inputs()
  {
    const std::lock_guard guard(lock_);
    return inputs_;
  }

  // The back end's side.
  Result<Submitted> submit(const Request &request)
  {
    const std::lock_guard guard(lock_);
    const char act = requests_.size() < script_.size() ? script_[requests_.size()] : '.';
    auto done = WakeFd::create();
    Submitted submitted;
    submitted.id = requests_.size();
    submitted.done = done->get();
    requests_.push_back({act, std::move(*done), request.outputs[0], request.keeper, false});
    changed_.notify_all();
    if (act == 'm')
      throw std::bad_alloc();
    if (act == 'L')
      return Error{ErrorCode::Device, "The device is gone.", ENODEV};
    if (act == 'x')
      return Error{ErrorCode::Unsupported, "The device refuses.", EINVAL};
    most_inside_ = std::max(most_inside_, ++inside_);
    if (request.input.data)
      inputs_.push_back(static_cast<std::uint8_t>(request.input.data[0]));
    if (act != 'h' && act != 'n')
      complete(requests_.back());
    if (request.frame) {
      auto &token = tokens_[request.frame->planes[0].object.identity.inode];
      submitted.imported = !token;
      if (!token)
        token = std::make_shared<int>(0);
      submitted.liveness = token;
    }
    return submitted;
  }
  Result<Finished> finish(std::uint64_t id)
  {
    const std::lock_guard guard(lock_);
    inside_--;
    switch (requests_.at(id).act) {
    case 'f':
      return Error{ErrorCode::Device, "The firmware says error 7.", EIO};
    case 'D':
      return Error{ErrorCode::Device, "The device is gone.", ENODEV};
    case 'M':
      throw std::bad_alloc();
    case 'r':
      return Error{ErrorCode::Sync, "The request is not done.", 0};
    default:
      return Finished{std::chrono::microseconds(100), {}};
    }
  }
  void close()
  {
    const std::lock_guard guard(lock_);
    for (Waiting &request : requests_)
      request.keeper.reset();
    closed_ = true;
  }

private:
  struct Waiting {
    char act;
    WakeFd done;
    TensorView output;
    std::shared_ptr<const void> keeper;
    bool answered;
  };

  // The result is the number of the request.
  void complete(Waiting &request)
  {
    if (std::exchange(request.answered, true))
      return;
    if (request.output.data)
      std::memset(request.output.data, static_cast<int>(&request - requests_.data()),
                  request.output.size_bytes);
    request.keeper.reset();
    request.done.wake();
  }

  const std::string script_;
  std::mutex lock_; // guards all below
  std::condition_variable changed_;
  std::vector<Waiting> requests_;
  std::map<std::uint64_t, std::shared_ptr<int>> tokens_;
  std::vector<std::uint8_t> inputs_;
  std::size_t inside_ = 0;
  std::size_t most_inside_ = 0;
  bool closed_ = false;
};

class ScriptedBackend final : public Backend {
public:
  static constexpr std::size_t kInputBytes = 48;
  static constexpr std::size_t kOutputBytes = 16;

  ScriptedBackend(std::shared_ptr<Device> device, Takes takes)
      : device_(std::move(device)), takes_(takes)
  {
    model_.input.type = TensorType::UInt8;
    model_.input.dims = {1, 4, 4, 3};
    model_.outputs.resize(1);
    model_.outputs[0].type = TensorType::UInt8;
    model_.outputs[0].dims = {1, kOutputBytes};
  }
  ~ScriptedBackend() override { device_->close(); }

  [[nodiscard]] const char *name() const noexcept override { return "scripted"; }
  [[nodiscard]] const Model &model() const noexcept override { return model_; }
  [[nodiscard]] Takes takes() const noexcept override { return takes_; }
  [[nodiscard]] bool takes_dmabuf_input() const noexcept override { return true; }
  [[nodiscard]] bool takes_dmabuf_output() const noexcept override { return true; }
  Result<Submitted> submit(const Request &request) override { return device_->submit(request); }
  Result<Finished> finish(std::uint64_t id) override { return device_->finish(id); }

private:
  const std::shared_ptr<Device> device_;
  const Takes takes_;
  Model model_;
};

} // namespace gstdrm::metis::test
