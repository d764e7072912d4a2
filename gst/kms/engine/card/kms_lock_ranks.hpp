// SPDX-License-Identifier: LGPL-2.1-or-later
// The orders of the engine's mutexes: a thread takes them by rising order. docs/architecture.md has
// what each of them guards, and those of the other rooms.
#pragma once

namespace gstdrm::kms {

inline constexpr int kSnapshotLockRank = 30;
inline constexpr int kRegistryLockRank = 32;
inline constexpr int kChoiceLockRank = 34;
inline constexpr int kEventHubLockRank = 40;
inline constexpr int kEventLoopLockRank = 50;
inline constexpr int kFlipQueueLockRank = 60;
inline constexpr int kHandleTableLockRank = 90;

} // namespace gstdrm::kms
