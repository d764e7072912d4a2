// SPDX-License-Identifier: LGPL-2.1-or-later
// Announces render nodes that come and go as devices of a provider.
#pragma once

#include <memory>
#include <thread>

#include <gst/gst.h>

#include "gstvamachine.hpp"

namespace gstdrm::va {

class NodeWatcher {
public:
  using MakeDevice = GstDevice *(*)(const MachineNode &node); // (transfer floating)

  // The devices of the nodes that the plugin knows are added before this returns; all else is done
  // by a thread. Where nothing can be watched, these devices are all, and the log says why.
  static std::unique_ptr<NodeWatcher> start(GstDeviceProvider *provider, MakeDevice make);
  // Waits for the thread, which ends a probe that is running. Called by the thread itself, from a
  // handler of the messages that it posts, it lets the thread end alone.
  ~NodeWatcher();
  NodeWatcher(const NodeWatcher &) = delete;
  NodeWatcher &operator=(const NodeWatcher &) = delete;

private:
  class Watch;
  explicit NodeWatcher(std::shared_ptr<Watch> watch);
  void start_thread();

  std::shared_ptr<Watch> watch_; // the thread's as well
  std::thread thread_;
};

} // namespace gstdrm::va
