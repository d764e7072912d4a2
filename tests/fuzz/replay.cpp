// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a fuzz target over the files of a corpus directory, one TAP case each, and over every one of them with
// each byte cut, doubled or changed. The crashing inputs of a fuzzer go into the corpus, and stay.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);
extern "C" int __attribute__((weak)) LLVMFuzzerInitialize(int *argc, char ***argv);

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes read_file(const std::filesystem::path &path)
{
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

void run(const Bytes &bytes)
{
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

void run_neighbours(const Bytes &bytes)
{
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    Bytes cut = bytes;
    cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(i));
    run(cut);
    Bytes doubled = bytes;
    doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(i), bytes[i]);
    run(doubled);
    for (const std::uint8_t flip : {0x01, 0x20, 0x80, 0xff}) {
      Bytes changed = bytes;
      changed[i] ^= flip;
      run(changed);
    }
    run(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(i)));
  }
}

} // namespace

int main(int argc, char **argv)
{
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_DIRECTORY\n", argv[0]);
    return 2;
  }
  if (LLVMFuzzerInitialize)
    LLVMFuzzerInitialize(&argc, &argv);
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(argv[1]))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  int number = 0;
  for (const auto &file : files) {
    const Bytes bytes = read_file(file);
    run(bytes);
    run_neighbours(bytes);
    std::printf("ok %d - %s\n", ++number, file.filename().c_str());
  }
  std::printf("1..%d\n", number);
  return number > 0 ? 0 : 1;
}
