// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvanodewatcher.hpp"

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <sys/stat.h>

#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/core/wake_fd.hpp>
#include <gst/drm/gstdrm-private.hpp>

#include "engine/va_node_watch.hpp"
#include "gstvamachineprobe.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {
namespace {

// A file in /dev/dri. One that was made anew under its old name is another one.
struct Identity {
  ino_t inode = 0;
  dev_t number = 0;
  friend bool operator==(const Identity &, const Identity &) = default;
};

// What decides who may open it. The time alone does not tell: the kernel's clock for files stands
// still for a tick, 1 to 10 ms, in which udev may be done.
struct Rights {
  mode_t mode = 0;
  uid_t user = 0;
  gid_t group = 0;
  timespec changed{};
};

struct Looked {
  Identity identity;
  Rights rights;
};

std::optional<Looked> look_at(const std::string &path)
{
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return std::nullopt;
  return Looked{{status.st_ino, status.st_rdev},
                {status.st_mode, status.st_uid, status.st_gid, status.st_ctim}};
}

bool same_rights(const Rights &a, const Rights &b)
{
  return a.mode == b.mode && a.user == b.user && a.group == b.group &&
         a.changed.tv_sec == b.changed.tv_sec && a.changed.tv_nsec == b.changed.tv_nsec;
}

} // namespace

// The thread's, but for begin() and end().
class NodeWatcher::Watch {
public:
  Watch(GstDeviceProvider *provider, MakeDevice make, NodeWatch nodes, WakeFd wake)
      : provider_(GstPtr<GstDeviceProvider>::share(provider)), make_(make),
        nodes_(std::move(nodes)), wake_(std::move(wake))
  {
  }

  void begin();
  void end() noexcept
  {
    ended_ = true;
    wake_.wake();
  }
  void run() noexcept;

private:
  struct Seen {
    Looked looked;
    GstPtr<GstDevice> device; // empty: its driver was refused, or failed
  };

  void look();
  void remove_gone();
  [[nodiscard]] bool is_to_be_probed(const std::string &path, const Looked &looked) const;
  void probe(const std::string &path, const Looked &looked);
  void add(const std::string &path, const Looked &looked, const MachineNode *node);

  GstPtr<GstDeviceProvider> provider_;
  MakeDevice make_;
  NodeWatch nodes_;
  WakeFd wake_;
  std::atomic<bool> ended_{false};
  std::map<std::string, Seen> seen_;
};

void NodeWatcher::Watch::begin()
{
  for (const MachineNode &node : machine_nodes())
    if (const auto looked = look_at(node.path))
      add(node.path, *looked, &node);
  for (const FailedNode &node : failed_nodes())
    if (const auto looked = look_at(node.path))
      add(node.path, *looked, nullptr);
}

void NodeWatcher::Watch::add(const std::string &path, const Looked &looked, const MachineNode *node)
{
  Seen &seen = seen_[path];
  seen = {looked, {}};
  if (!node)
    return;
  GstDevice *device = make_(*node);
  seen.device = GstPtr<GstDevice>::share(device);
  GST_INFO("%s has come: %s", path.c_str(), node->vendor.c_str());
  gst_device_provider_device_add(provider_.get(), device); // takes the floating reference
}

void NodeWatcher::Watch::remove_gone()
{
  for (auto at = seen_.begin(); at != seen_.end() && !ended_;) {
    const auto looked = look_at(at->first);
    if (looked && looked->identity == at->second.looked.identity) {
      ++at;
      continue;
    }
    GST_INFO("%s has gone", at->first.c_str());
    const auto device = std::move(at->second.device);
    at = seen_.erase(at);
    if (device)
      gst_device_provider_device_remove(provider_.get(), device.get());
  }
}

// What was refused is asked again when its rights change: a node comes with those of root, and udev
// gives it to a group a moment later.
bool NodeWatcher::Watch::is_to_be_probed(const std::string &path, const Looked &looked) const
{
  const auto at = seen_.find(path);
  return at == seen_.end() ||
         (!at->second.device && !same_rights(at->second.looked.rights, looked.rights));
}

void NodeWatcher::Watch::probe(const std::string &path, const Looked &looked)
{
  const auto machine = probe_nodes({path}, plugin_folder(), wake_.get());
  if (!ended_)
    add(path, looked, machine.nodes.empty() ? nullptr : &machine.nodes.front());
}

void NodeWatcher::Watch::look()
{
  remove_gone();
  for (const auto &path : list_drm_nodes(DrmNodeType::Render)) {
    const auto looked = look_at(path);
    if (!ended_ && looked && is_to_be_probed(path, *looked))
      probe(path, *looked);
  }
}

void NodeWatcher::Watch::run() noexcept
try {
  pthread_setname_np(pthread_self(), "va-nodes");
  do
    look();
  while (!ended_ && nodes_.wait(wake_.get()));
} catch (...) {
  GST_ERROR("render nodes that come and go are not announced any more: out of memory");
}

std::unique_ptr<NodeWatcher> NodeWatcher::start(GstDeviceProvider *provider, MakeDevice make)
{
  auto nodes = NodeWatch::create();
  auto wake = WakeFd::create();
  const bool watches = nodes && wake;
  if (!watches)
    GST_WARNING_OBJECT(provider, "%s", (nodes ? wake.error() : nodes.error()).message.c_str());
  auto watch = watches
                   ? std::make_shared<Watch>(provider, make, std::move(*nodes), std::move(*wake))
                   : std::make_shared<Watch>(provider, make, NodeWatch(), WakeFd());
  watch->begin();
  std::unique_ptr<NodeWatcher> watcher(new NodeWatcher(std::move(watch)));
  if (watches)
    watcher->start_thread();
  return watcher;
}

void NodeWatcher::start_thread()
try {
  thread_ = std::thread([watch = watch_] { watch->run(); });
} catch (const std::system_error &failure) {
  GST_WARNING("Render nodes that come and go are not noticed: no thread (%s)", failure.what());
}

NodeWatcher::NodeWatcher(std::shared_ptr<Watch> watch) : watch_(std::move(watch)) {}

NodeWatcher::~NodeWatcher()
{
  watch_->end();
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else if (thread_.joinable())
    thread_.join();
}

} // namespace gstdrm::va
