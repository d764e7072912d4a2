// SPDX-License-Identifier: LGPL-2.1-or-later
// What frames without copies need of Linux, told by its version.
#pragma once

#include <string_view>

namespace gstdrm {

enum class KernelLack {
  Nothing,
  SyncFiles, // dma-buf fences as sync_files: DMA_BUF_IOCTL_EXPORT_SYNC_FILE, Linux 6.0
  Inodes,    // an inode for each dma-buf, Linux 5.3; and the above
};

// `release` is that of uname(), such as "5.10.104-tegra". Nothing if it cannot be read.
KernelLack kernel_lack(std::string_view release) noexcept;

// What is missing and what happens without it, as the end of a sentence; empty for Nothing.
const char *describe(KernelLack lack) noexcept;

} // namespace gstdrm
