// SPDX-License-Identifier: LGPL-2.1-or-later
#include "support/gl_objects.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>
#include <utility>

#include <gst/gl/gl.h>

namespace gstdrm::test {
namespace {

// Functions of (count, names).
constexpr std::array<const char *, 4> kGen = {"glGenTextures", "glGenFramebuffers", "glGenBuffers",
                                              "glGenVertexArrays"};
constexpr std::array<const char *, 4> kDelete = {"glDeleteTextures", "glDeleteFramebuffers",
                                                 "glDeleteBuffers", "glDeleteVertexArrays"};
// Functions that return a name and take at most one number, or end one.
constexpr std::array<const char *, 2> kCreate = {"glCreateShader", "glCreateProgram"};
constexpr std::array<const char *, 2> kEnd = {"glDeleteShader", "glDeleteProgram"};

using Names = void (*)(int, const unsigned *);
using One = unsigned (*)(unsigned);

std::atomic<int> alive;
std::array<std::atomic<Names>, kGen.size()> gen_functions;
std::array<std::atomic<Names>, kDelete.size()> delete_functions;
std::array<std::atomic<One>, kCreate.size()> create_functions;
std::array<std::atomic<One>, kEnd.size()> end_functions;
decltype(GstGLContextClass::get_proc_address) get_proc_address;

template <std::size_t I> void gen(int count, const unsigned *names)
{
  gen_functions[I].load()(count, names);
  alive += count;
}

// A name of 0 is none.
template <std::size_t I> void delete_all(int count, const unsigned *names)
{
  for (int i = 0; i < count; i++)
    alive -= names[i] != 0;
  delete_functions[I].load()(count, names);
}

template <std::size_t I> unsigned create(unsigned kind)
{
  const unsigned name = create_functions[I].load()(kind);
  alive += name != 0;
  return name;
}

template <std::size_t I> unsigned end(unsigned name)
{
  alive -= name != 0;
  return end_functions[I].load()(name);
}

// The counting function in the place of a driver's; nullptr where it is another one.
template <std::size_t N, typename Function, std::size_t... I>
gpointer replace(std::string_view name, gpointer found, const std::array<const char *, N> &names,
                 std::array<std::atomic<Function>, N> &functions,
                 const std::array<Function, N> &counting, std::index_sequence<I...>)
{
  gpointer replaced = nullptr;
  ((names[I] == name ? (functions[I] = reinterpret_cast<Function>(found),
                        replaced = reinterpret_cast<gpointer>(counting[I]))
                     : nullptr),
   ...);
  return replaced;
}

gpointer find_function(GstGLAPI api, const gchar *name) noexcept
{
  const gpointer found = get_proc_address(api, name);
  if (!found)
    return nullptr;
  const auto four = std::make_index_sequence<4>();
  const auto two = std::make_index_sequence<2>();
  gpointer own =
      replace<4, Names>(name, found, kGen, gen_functions, {gen<0>, gen<1>, gen<2>, gen<3>}, four);
  if (!own)
    own = replace<4, Names>(name, found, kDelete, delete_functions,
                            {delete_all<0>, delete_all<1>, delete_all<2>, delete_all<3>}, four);
  if (!own)
    own = replace<2, One>(name, found, kCreate, create_functions, {create<0>, create<1>}, two);
  if (!own)
    own = replace<2, One>(name, found, kEnd, end_functions, {end<0>, end<1>}, two);
  return own ? own : found;
}

} // namespace

bool count_gl_objects()
{
  static gpointer contexts = nullptr; // its class lives as long as the process
  if (contexts)
    return true;
  const GType type = g_type_from_name("GstGLContextEGL");
  if (type == G_TYPE_INVALID)
    return false;
  contexts = g_type_class_ref(type);
  auto *klass = static_cast<GstGLContextClass *>(contexts);
  get_proc_address = std::exchange(klass->get_proc_address, find_function);
  return true;
}

int live_gl_objects()
{
  return alive;
}

} // namespace gstdrm::test
