// SPDX-License-Identifier: LGPL-2.1-or-later
// Render nodes without a kernel that has any: /dev and /dev/dri are folders of the program's own, and a file in them is a
// device file of DRM to whoever looks at it. Drivers that make their memory themselves (tests/va-driver) run on them, in
// the program's own process.
#pragma once

#include <string>

namespace gstdrm::test {

// Makes the folders, and takes them away at its end. One for the program, before any thread.
class FakeNodes {
public:
  FakeNodes();
  FakeNodes(const FakeNodes &) = delete;
  FakeNodes &operator=(const FakeNodes &) = delete;
  ~FakeNodes();

  // A place for files of the test.
  [[nodiscard]] const std::string &folder() const { return folder_; }

private:
  std::string folder_;
};

// renderD129: number is 129. Any thread. False: it is there already, or was not.
bool plug(unsigned number) noexcept;
bool unplug(unsigned number) noexcept;

} // namespace gstdrm::test
