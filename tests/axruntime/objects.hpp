// SPDX-License-Identifier: LGPL-2.1-or-later
// The test runtime's objects. The context owns all that is made of it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "axruntime.h"
#include "network.hpp"
#include "settings.hpp"

namespace gstdrm::test {
inline std::atomic<int> alive{0};
} // namespace gstdrm::test

struct axrObject {
  explicit axrObject(axrContext *its_context) : context(its_context) { ++gstdrm::test::alive; }
  axrObject(const axrObject &) = delete;
  axrObject &operator=(const axrObject &) = delete;
  virtual ~axrObject() { --gstdrm::test::alive; }
  axrContext *const context;
};

struct axrContext : axrObject {
  axrContext() : axrObject(this) {}

  template <typename T, typename... Arguments> T *make(Arguments &&...arguments)
  {
    const std::lock_guard guard(lock);
    owned.push_back(std::make_unique<T>(this, std::forward<Arguments>(arguments)...));
    return static_cast<T *>(owned.back().get());
  }
  void destroy(const axrObject *object)
  {
    const std::lock_guard guard(lock);
    std::erase_if(owned, [object](const auto &each) { return each.get() == object; });
  }
  void fail(axrResult its_code, std::string its_text)
  {
    const std::lock_guard guard(lock);
    code = its_code;
    text = std::move(its_text);
  }

  const gstdrm::test::Settings settings = gstdrm::test::Settings::read();
  std::vector<char> devices; // records of the size that is set
  std::atomic<unsigned long> runs{0};
  std::atomic<bool> lost{false};

  std::mutex lock; // guards all below
  std::vector<std::unique_ptr<axrObject>> owned;
  axrResult code = AXR_SUCCESS;
  std::string text;
};

struct axrProperties : axrObject {
  axrProperties(axrContext *its_context, std::string its_lines)
      : axrObject(its_context), lines('\n' + std::move(its_lines) + '\n')
  {
  }
  [[nodiscard]] bool is_set(const std::string &name) const
  {
    return lines.find('\n' + name + "=1\n") != std::string::npos;
  }
  const std::string lines;
};

struct axrConnection : axrObject {
  using axrObject::axrObject;
};

struct axrModel : axrObject {
  using axrObject::axrObject;
  std::vector<gstdrm::test::NetworkTensor> inputs;
  std::vector<gstdrm::test::NetworkTensor> outputs;
};

struct axrModelInstance : axrObject {
  axrModelInstance(axrContext *its_context, const axrModel &its_model, bool its_input_dmabuf,
                   bool its_output_dmabuf)
      : axrObject(its_context), model(its_model), input_dmabuf(its_input_dmabuf),
        output_dmabuf(its_output_dmabuf)
  {
  }
  const axrModel &model;
  const bool input_dmabuf;
  const bool output_dmabuf;
};

namespace gstdrm::test {

// Reads tensors of a model.json into `model`; empty: done, else what is wrong.
std::string read_model(const char *path, axrModel &model);

// One inference, on whatever the arguments are.
axrResult run(axrModelInstance &instance, const axrArgument *inputs, std::size_t n_inputs,
              const axrArgument *outputs, std::size_t n_outputs);

// Sleeps until release() is called.
void hang();
void release();

} // namespace gstdrm::test
