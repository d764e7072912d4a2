// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_egl.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include <unistd.h>

#include "support/gpu_table.hpp"

namespace gstdrm::test {
namespace {

FakeEgl *the_driver = nullptr;

} // namespace

unsigned FakeImage::plane_count() const
{
  return static_cast<unsigned>(
      std::count_if(planes.begin(), planes.end(), [](const auto &plane) { return !!plane; }));
}

FakeEgl &FakeEgl::now()
{
  if (!the_driver)
    std::abort(); // a call after the driver is gone
  return *the_driver;
}

FakeEgl::FakeEgl()
{
  if (the_driver)
    throw std::logic_error("there is one fake driver at a time");
  the_driver = this;
}

FakeEgl::~FakeEgl()
{
  for (const auto &[number, sync] : syncs)
    if (sync.fd >= 0)
      ::close(sync.fd);
  the_driver = nullptr;
}

egl::Loader FakeEgl::loader() const
{
  return [this](const char *name) -> void * {
    if (missing.contains(name))
      return nullptr;
    void *const function = fake_egl_function(name);
    return function ? function : fake_gl_function(name);
  };
}

egl::Calls FakeEgl::calls() const
{
  Result<egl::Calls> calls = egl::load_calls(loader(), loader());
  if (!calls)
    throw std::runtime_error(calls.error().message);
  return *calls;
}

EGLDisplay FakeEgl::display() const noexcept
{
  return const_cast<FakeEgl *>(this); // any value that is not EGL_NO_DISPLAY
}

void FakeEgl::load_table(const std::string &name)
{
  formats.clear();
  for (const GpuRow &row : load_gpu_rows(name)) {
    auto format = std::find_if(formats.begin(), formats.end(), [&row](const FakeFormat &known) {
      return known.fourcc == row.format.fourcc;
    });
    if (format == formats.end())
      format = formats.insert(formats.end(), {row.format.fourcc, {}});
    if (row.format.modifier != kModImplicit)
      format->modifiers.push_back({row.format.modifier, row.external_only});
  }
}

void FakeEgl::fail(const std::string &function, unsigned nth, unsigned error)
{
  failures_[function] = {nth, error};
}

unsigned FakeEgl::calls_of(const std::string &function) const
{
  const auto found = counts_.find(function);
  return found == counts_.end() ? 0 : found->second;
}

unsigned FakeEgl::all_calls() const
{
  unsigned all = 0;
  for (const auto &[name, count] : counts_)
    all += count;
  return all;
}

std::vector<std::string> FakeEgl::order_of(const std::set<std::string> &functions) const
{
  std::vector<std::string> order;
  for (const std::string &name : order_)
    if (functions.contains(name))
      order.push_back(name);
  return order;
}

unsigned FakeEgl::alive() const
{
  return static_cast<unsigned>(images.size() + syncs.size() + textures.size() +
                               framebuffers.size() + buffers.size() + shaders.size() +
                               programs.size() + vertex_arrays.size());
}

bool FakeEgl::fails(const char *function, unsigned &error)
{
  counts_[function]++;
  order_.push_back(function);
  const auto failure = failures_.find(function);
  if (failure == failures_.end() || --failure->second.in > 0)
    return false;
  error = failure->second.error;
  failures_.erase(failure);
  return true;
}

bool FakeEgl::enter_egl(const char *function)
{
  unsigned error = EGL_SUCCESS;
  const bool failed = fails(function, error);
  egl_error_ = error;
  return !failed;
}

bool FakeEgl::enter_gl(const char *function)
{
  if (std::this_thread::get_id() != thread_)
    foreign_calls++;
  unsigned error = GL_NO_ERROR;
  if (!fails(function, error))
    return true;
  set_gl_error(error);
  return false;
}

EGLBoolean FakeEgl::set_egl_error(unsigned error)
{
  egl_error_ = error;
  return EGL_FALSE;
}

// The first error stays until it is read.
void FakeEgl::set_gl_error(unsigned error)
{
  if (gl_error_ == GL_NO_ERROR)
    gl_error_ = error;
}

unsigned FakeEgl::take_egl_error()
{
  return std::exchange(egl_error_, EGL_SUCCESS);
}

unsigned FakeEgl::take_gl_error()
{
  return std::exchange(gl_error_, GL_NO_ERROR);
}

EGLint FakeEgl::next_count_error(std::vector<EGLint> &errors)
{
  if (errors.empty())
    return 0;
  const EGLint error = errors.front();
  errors.erase(errors.begin());
  return error;
}

} // namespace gstdrm::test
