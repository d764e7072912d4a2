// SPDX-License-Identifier: LGPL-2.1-or-later
// A device on the tests' own driver.
#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "engine/egl_device.hpp"
#include "fake_egl.hpp"

namespace gstdrm::test {

// Null, and a failure of the case, where it does not open.
inline std::shared_ptr<egl::Device> open_device(const FakeEgl &driver)
{
  auto device = egl::Device::open(driver.calls(), driver.display());
  if (!device)
    ADD_FAILURE() << device.error().message;
  return device ? *device : nullptr;
}

} // namespace gstdrm::test
