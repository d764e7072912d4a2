// SPDX-License-Identifier: LGPL-2.1-or-later
// What the kernel says of dma-bufs and descriptors: /proc and debugfs, as text. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace gstdrm::verify {

// "exp_name:" of /proc/self/fdinfo/FD (dma_buf_show_fdinfo() in drivers/dma-buf/dma-buf.c); empty
// for what is no dma-buf.
std::string read_exporter(int fd);
std::string parse_exporter(std::string_view fdinfo);

// The devices that are attached to each dma-buf of the machine, by inode.
using Attachments = std::map<std::uint64_t, std::set<std::string>>;
// debugfs' dma_buf/bufinfo; nullopt if this process may not read it.
std::optional<Attachments> read_attachments();
Attachments parse_attachments(std::string_view bufinfo);

// The inodes of dma-bufs that this process has mapped now: /proc/self/maps.
std::set<std::uint64_t> read_mapped();
std::set<std::uint64_t> parse_mapped(std::string_view maps);

// Open descriptors of this process.
std::size_t count_descriptors();

} // namespace gstdrm::verify
