// SPDX-License-Identifier: LGPL-2.1-or-later
// Prints what the engine's device says of a GBM display, for vendors.py:
//   device RENDERER, Mesa VERSION
//   node PATH
//   refusal TEXT
//   pair 0xFOURCC 0xMODIFIER external_only
// usage: egl-lists NODE
#include <cinttypes>
#include <cstdio>
#include <string>

#include "engine/egl_device.hpp"
#include "support/egl_context.hpp"

namespace {

void print_pairs(const gstdrm::FormatSet &set, int external_only)
{
  for (const gstdrm::Format format : set.pairs())
    std::printf("pair 0x%08" PRIx32 " 0x%016" PRIx64 " %d\n", format.fourcc, format.modifier,
                external_only);
}

int run(const char *node)
{
  std::string why_not;
  const auto context =
      gstdrm::test::EglContext::make({gstdrm::test::EglPlatform::Gbm, 2, node}, why_not);
  if (!context) {
    std::fprintf(stderr, "%s\n", why_not.c_str());
    return 1;
  }
  const auto device = gstdrm::egl::Device::open(context->calls(), context->display());
  if (!device) {
    std::fprintf(stderr, "%s\n", device.error().message.c_str());
    return 1;
  }
  const auto &driver = (*device)->driver();
  std::printf("device %s\nnode %s\nrefusal %s\n", driver.describe().c_str(), driver.node.c_str(),
              (*device)->import_refusal().c_str());
  print_pairs((*device)->formats().texture_2d, 0);
  print_pairs((*device)->formats().external_only, 1);
  return 0;
}

} // namespace

int main(int argc, char **argv)
{
  return argc == 2 ? run(argv[1]) : 2;
}
