// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmsmemory.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace gstdrm {

namespace {

using Tokens = std::vector<std::shared_ptr<const void>>;

// Guards the making and the contents of every memory's tokens: two sinks may see one memory at
// once.
std::mutex tokens_lock;

GQuark tokens_quark()
{
  static const GQuark quark = g_quark_from_static_string("gst-kms-dmabuf-sink-tokens");
  return quark;
}

void free_tokens(gpointer tokens) noexcept
{
  delete static_cast<Tokens *>(tokens);
}

} // namespace

void hold_while_alive(GstMemory *memory, const std::shared_ptr<const void> &token)
{
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
