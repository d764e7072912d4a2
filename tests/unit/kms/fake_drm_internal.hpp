// SPDX-License-Identifier: LGPL-2.1-or-later
// What the parts of the fake libdrm share.
#pragma once

#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "fake_drm.hpp"
#include "fake_model.hpp"

namespace gstdrm::test::fakedrm {

// Ids of properties are 100 * position in this list of objects + position in its properties.
const ObjectList &objects();
// null: there is none of that id
const PropertySpec *property(std::uint32_t id);

// Of the kernel's end of the descriptor.
struct Event {
  std::uint64_t serial;
};
void send_event(Event event);
void hold_event(Event event);

// true: this call is the one that fails; errno is set
bool fails(const char *name);

template <typename T> T *allocate(int &counter)
{
  counter++;
  return static_cast<T *>(std::calloc(1, sizeof(T)));
}

template <typename... Parts> void release(int &counter, Parts *...parts)
{
  counter--;
  (std::free(parts), ...);
}

using Guard = std::lock_guard<std::mutex>;

} // namespace gstdrm::test::fakedrm
