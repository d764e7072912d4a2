// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dmabuf_facts.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace gstdrm::verify {

namespace {

constexpr const char *kBufinfo = "/sys/kernel/debug/dma_buf/bufinfo";

std::string_view next_line(std::string_view &text)
{
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string_view trimmed(std::string_view text)
{
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

// The number in a column, counted from 0; nullopt if there is none.
std::optional<std::uint64_t> number_in(std::string_view line, std::size_t wanted)
{
  std::string_view word;
  for (std::size_t column = 0; column <= wanted; column++) {
    line = trimmed(line);
    const std::size_t end = line.find_first_of(" \t");
    word = line.substr(0, end);
    line.remove_prefix(word.size());
    if (word.empty())
      return std::nullopt;
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? std::optional(number)
                                                                  : std::nullopt;
}

// The inode of a row "size flags mode count exp_name ino name"; nullopt for any other line. The
// first four are hexadecimal digits but for the count.
std::optional<std::uint64_t> inode_of_row(std::string_view line)
{
  constexpr std::size_t kInodeColumn = 5;
  if (line.empty() || line[0] == '\t' || line[0] == ' ')
    return std::nullopt;
  return number_in(line, kInodeColumn);
}

std::optional<std::string> read_all(const std::string &path)
{
  std::ifstream file(path);
  if (!file)
    return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

} // namespace

std::string parse_exporter(std::string_view fdinfo)
{
  constexpr std::string_view kKey = "exp_name:";
  while (!fdinfo.empty())
    if (const std::string_view line = next_line(fdinfo); line.starts_with(kKey))
      return std::string(trimmed(line.substr(kKey.size())));
  return {};
}

std::string read_exporter(int fd)
{
  return parse_exporter(read_all("/proc/self/fdinfo/" + std::to_string(fd)).value_or(""));
}

// dma_buf_debug_show() of drivers/dma-buf/dma-buf.c: a row for each dma-buf, then "\tAttached
// Devices:", a line "\tDEVICE" for each, and "Total N devices attached".
Attachments parse_attachments(std::string_view bufinfo)
{
  Attachments found;
  std::set<std::string> *devices = nullptr; // of the row before
  bool in_list = false;
  while (!bufinfo.empty()) {
    const std::string_view line = next_line(bufinfo);
    if (const std::optional<std::uint64_t> inode = inode_of_row(line)) {
      devices = &found[*inode];
      in_list = false;
    } else if (line.starts_with("Total ")) {
      in_list = false;
    } else if (trimmed(line) == "Attached Devices:") {
      in_list = true;
    } else if (in_list && devices && !trimmed(line).empty()) {
      devices->emplace(trimmed(line));
    }
  }
  return found;
}

std::optional<Attachments> read_attachments()
{
  const std::optional<std::string> text = read_all(kBufinfo);
  return text ? std::optional(parse_attachments(*text)) : std::nullopt;
}

// Rows "address perms offset dev inode path" (proc_pid_maps(5)); the path of a dma-buf is its name
// behind "/dmabuf:" (dmabuffs_dname() in drivers/dma-buf/dma-buf.c).
std::set<std::uint64_t> parse_mapped(std::string_view maps)
{
  constexpr std::size_t kInodeColumn = 4;
  std::set<std::uint64_t> found;
  while (!maps.empty()) {
    const std::string_view line = next_line(maps);
    if (line.find(" /dmabuf:") == std::string_view::npos)
      continue;
    if (const std::optional<std::uint64_t> inode = number_in(line, kInodeColumn))
      found.insert(*inode);
  }
  return found;
}

std::set<std::uint64_t> read_mapped()
{
  return parse_mapped(read_all("/proc/self/maps").value_or(""));
}

std::size_t count_descriptors()
{
  std::error_code error;
  const std::filesystem::directory_iterator all("/proc/self/fd", error);
  if (error)
    return 0;
  const auto found = static_cast<std::size_t>(std::distance(begin(all), end(all)));
  return found > 0 ? found - 1 : 0; // without the one that reads the directory
}

} // namespace gstdrm::verify
