// SPDX-License-Identifier: LGPL-2.1-or-later
#include "preprocess.hpp"

#include <utility>

#include <drm_fourcc.h>

#include <gst/drm/core/format.hpp>
#include <gst/drm/core/limits.hpp>
#include <gst/drm/core/log.hpp>

#include "engine/preprocess/picture_reader.hpp"
#include "engine/preprocess/tensor_writer.hpp"

namespace gstdrm::metis {

extern const RowLoops baseline_row_loops;
#ifdef GSTDRM_HAVE_AVX2_ROWS
extern const RowLoops avx2_row_loops;
#endif

const RowLoops *row_loops_at(std::size_t index) noexcept
{
  if (index == 0)
    return &baseline_row_loops;
#ifdef GSTDRM_HAVE_AVX2_ROWS
  if (index == 1 && __builtin_cpu_supports("avx2"))
    return &avx2_row_loops;
#endif
  return nullptr;
}

const RowLoops &row_loops() noexcept
{
  static const RowLoops *const fastest = row_loops_at(1) ? row_loops_at(1) : row_loops_at(0);
  return *fastest;
}

PictureView part_of(const PictureView &picture, std::uint32_t x, std::uint32_t y,
                    std::uint32_t width, std::uint32_t height) noexcept
{
  PictureView part = picture;
  part.width = width;
  part.height = height;
  const FourccInfo *info = fourcc_info(picture.fourcc);
  for (std::size_t i = 0; info && i < info->n_planes && i < part.planes.size(); i++)
    if (part.planes[i])
      part.planes[i] += std::size_t{plane_rows(info->planes[i], y)} * part.strides[i] +
                        plane_row_bytes(info->planes[i], x);
  return part;
}

struct Preprocessor::State {
  PictureReader reader;
  TensorWriter writer;
  Placement placement;
  std::size_t tensor_bytes;
  bool blue_first; // in the tensor
};

namespace {

Result<void> check_size(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height)
{
  if (width == 0 || height == 0 || width > kMaxFrameSize || height > kMaxFrameSize)
    return Error{ErrorCode::Layout,
                 "No tensor can be made of " + fourcc_to_string(fourcc) + " frames of " +
                     std::to_string(width) + "x" + std::to_string(height) +
                     ": each direction has to be 1 to " + std::to_string(kMaxFrameSize) +
                     " pixels. Scale the frames before."};
  return {};
}

} // namespace

Preprocessor::Preprocessor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Preprocessor::Preprocessor(Preprocessor &&other) noexcept = default;
Preprocessor &Preprocessor::operator=(Preprocessor &&other) noexcept = default;
Preprocessor::~Preprocessor() = default;

std::vector<std::uint32_t> Preprocessor::readable_fourccs()
{
  return PictureReader::fourccs();
}

Result<Preprocessor> Preprocessor::create(const Model &model, std::uint32_t fourcc,
                                          std::uint32_t width, std::uint32_t height,
                                          ColorMatrix matrix, bool full_range,
                                          const Sampling &sampling)
{
  if (const auto sized = check_size(fourcc, width, height); !sized)
    return sized.error();
  const auto plan = make_tensor_plan(model);
  if (!plan)
    return plan.error();
  const auto quantiser = make_quantiser(model);
  if (!quantiser)
    return quantiser.error();
  const auto room_x = static_cast<std::uint32_t>(plan->width.size);
  const auto room_y = static_cast<std::uint32_t>(plan->height.size);
  Extent x{0, room_x};
  Extent y{0, room_y};
  if (model.image.fit == Fit::Letterbox) {
    const std::uint64_t wide = std::uint64_t{width} * sampling.par_n;
    const std::uint64_t high = std::uint64_t{height} * sampling.par_d;
    x = letterbox(wide, room_x, high, room_y);
    y = letterbox(high, room_y, wide, room_x);
    if (model.image.place == LetterboxPlace::TopLeft)
      x.start = y.start = 0;
  }
  const RowLoops &loops = row_loops();
  PictureFormat format{fourcc, width, height, matrix, full_range, sampling};
  auto reader = PictureReader::create(format, x.size, y.size, loops);
  if (!reader)
    return reader.error();
  const Placement placement{static_cast<float>(x.size) / static_cast<float>(width),
                            static_cast<float>(y.size) / static_cast<float>(height),
                            static_cast<float>(x.start), static_cast<float>(y.start)};
  return Preprocessor(std::make_unique<State>(
      State{std::move(*reader), TensorWriter(*plan, *quantiser, x, y, model.image.bars, loops),
            placement, plan->bytes(), model.image.order == ChannelOrder::Bgr}));
}

bool Preprocessor::accepts(const PictureView &picture) const noexcept
{
  return state_->reader.accepts(picture);
}

void Preprocessor::run(const PictureView &picture, std::byte *tensor) noexcept
{
  State &state = *state_;
  if (!state.reader.accepts(picture)) {
    GSTDRM_WARNING(
        "the frame does not fit the tables made for the model's input: the tensor is empty");
    state.writer.write_empty(tensor);
    return;
  }
  state.writer.write_outside(tensor);
  state.reader.start_picture();
  for (std::uint32_t y = 0; y < state.reader.n_rows(); ++y) {
    const auto rgb = state.reader.read_row(picture, y);
    const std::uint8_t *const channels[3] = {rgb[state.blue_first ? 2 : 0], rgb[1],
                                             rgb[state.blue_first ? 0 : 2]};
    state.writer.write_row(tensor, y, channels);
  }
}

Placement Preprocessor::placement() const noexcept
{
  return state_->placement;
}

std::size_t Preprocessor::tensor_bytes() const noexcept
{
  return state_->tensor_bytes;
}

} // namespace gstdrm::metis
