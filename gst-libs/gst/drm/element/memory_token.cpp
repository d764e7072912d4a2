// SPDX-License-Identifier: LGPL-2.1-or-later
#include "memory_token.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include <gst/drm/core/ordered_mutex.hpp>

namespace gstdrm {

namespace {

using Tokens = std::vector<std::shared_ptr<const void>>;

// Guards the making and the contents of every memory's tokens: two elements may see one memory at
// the same time.
OrderedMutex tokens_lock{kLeafLockRank, "tokens_lock"};

// The kit is linked into each plugin, and each of these copies has a lock of its own. The name
// holds the address of the lock, so that each copy keeps its tokens where only its lock is needed.
GQuark make_tokens_quark()
{
  gchar *name = g_strdup_printf("gst-drm-memory-tokens-%p", static_cast<void *>(&tokens_lock));
  const GQuark quark = g_quark_from_string(name);
  g_free(name);
  return quark;
}

GQuark tokens_quark()
{
  static const GQuark quark = make_tokens_quark();
  return quark;
}

void free_tokens(gpointer tokens) noexcept
{
  delete static_cast<Tokens *>(tokens);
}

} // namespace

void hold_while_alive(GstMemory *memory, const std::shared_ptr<const void> &token)
{
  // A share is made anew for each frame, of memory that a pool keeps.
  while (memory->parent)
    memory = memory->parent;
  const std::lock_guard guard(tokens_lock);
  GstMiniObject *object = GST_MINI_OBJECT_CAST(memory);
  auto *tokens = static_cast<Tokens *>(gst_mini_object_get_qdata(object, tokens_quark()));
  if (!tokens) {
    auto fresh = std::make_unique<Tokens>();
    tokens = fresh.get();
    gst_mini_object_set_qdata(object, tokens_quark(), fresh.release(), free_tokens);
  }
  if (std::find(tokens->begin(), tokens->end(), token) != tokens->end())
    return;
  tokens->erase(std::remove_if(tokens->begin(), tokens->end(),
                               [](const auto &held) { return held.use_count() == 1; }),
                tokens->end());
  tokens->push_back(token);
}

} // namespace gstdrm
