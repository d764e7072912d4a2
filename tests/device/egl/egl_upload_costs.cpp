// SPDX-License-Identifier: LGPL-2.1-or-later
// What a frame costs egldmabufupload: imports, textures, calls of EGL and GL, hops to the GL
// thread, system calls.
#include <atomic>
#include <iterator>
#include <thread>

#include <gst/drm/gstdrmallocator.h>

#include "egl_upload.hpp"
#include "support/gl_count.hpp"
#include "thread_syscalls.hpp"

namespace gstdrm::test {

namespace {

std::set<GstMemory *> memories_of(GstBuffer *buffer)
{
  std::set<GstMemory *> memories;
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++)
    memories.insert(gst_buffer_peek_memory(buffer, i));
  return memories;
}

struct Counted {
  const char *name;
  std::string plain;
  const char *gl_format;
  egl::Shape shape;
};
const Counted kCounted[] = {
    {"XR24", kXrgb, "RGBA", egl::Shape::OneImage},
    {"NV12 as planes", kNv12, "NV12", egl::Shape::PerPlane},
    {"NV12 as one image", kNv12, "RGBA", egl::Shape::OneImage},
};

// Four buffers go round: one import each, then neither an import, nor a texture, nor a hop; also
// where the producer wraps them anew, with other descriptors.
GST_START_TEST(test_steady)
{
  const Counted &row = kCounted[__i__];
  Frames frames(*gl, {row.plain, row.gl_format, row.shape});
  std::vector<GstPtr<GstBuffer>> pool;
  for (guint i = 0; i < 4; i++)
    pool.push_back(dmabuf(row.plain, i));
  std::set<GstMemory *> seen;
  for (const auto &frame : pool) {
    const auto out = frames.upload(frame);
    fail_unless(gst_buffer_get_gl_sync_meta(out.get()) != nullptr,
                "other contexts do not see the import");
    seen.merge(memories_of(out.get()));
  }
  fail_unless_equals_uint64(frames.stats.imports, 4);
  const std::size_t textures = seen.size();
  fail_unless_equals_int(textures, 4 * GST_VIDEO_INFO_N_PLANES(&frames.gl_info));
  const std::uint64_t hops = gl->thread->hops();
  for (guint i = 0; i < 40; i++) {
    const auto fresh = i % 2 ? wrapped_anew(pool[i % 4]) : pool[i % 4];
    const auto out = frames.upload(fresh);
    // it would cost a sync point, and whoever reads the frame a wait
    fail_if(gst_buffer_get_gl_sync_meta(out.get()), "%s: frame %u", row.name, i);
    seen.merge(memories_of(out.get()));
  }
  fail_unless_equals_uint64(frames.stats.imports, 4);
  fail_unless_equals_uint64(frames.stats.import_hits, 40);
  fail_unless_equals_uint64(gl->thread->hops(), hops);
  fail_unless_equals_int(seen.size(), textures);
  fail_unless_equals_uint64(frames.stats.copies, 0);
}
GST_END_TEST

// The GL thread has done all that it was given, and sleeps.
void until_asleep()
{
  gl->settle();
  while (gl->thread->sleep() == 0)
    std::this_thread::yield();
}

std::string text_of(const std::map<std::string, int> &calls)
{
  std::string text;
  for (const auto &[name, count] : calls)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  return text;
}

std::string called_since(const GlCalls &before)
{
  std::string text;
  for (const auto &[name, count] : gl_calls())
    if (count != before.at(name))
      text += name + " ";
  return text;
}

// Beyond the first frames nothing is asked of EGL, GL and their thread for frames that nobody
// draws. Of the kernel: one fstat for each dma-buf, by which it is recognized, however many planes
// lie in it, and one ppoll where there are no implicit fences. A dma-buf of this library is
// recognized without the fstat.
GST_START_TEST(test_calls)
{
  const Counted &row = kCounted[__i__];
  Frames frames(*gl, {row.plain, row.gl_format, row.shape});
  const auto frame = dmabuf(row.plain, 1);
  for (const auto &given : {frame, wrapped_anew(frame)}) {
    (void)frames.upload(given);
    until_asleep();
    const GlCalls before = gl_calls();
    constexpr unsigned kFrames = 10;
    std::map<std::string, int> asked;
    for (unsigned i = 0; i < kFrames; i++) {
      ThreadSyscalls calls;
      const auto out = frames.upload(given);
      for (const auto &[name, count] : calls.counts())
        asked[name] += count;
    }
    const GlCalls after = gl_calls();
    const bool is_software = gl->thread->device()->driver().is_software;
    for (const auto &[name, count] : after) {
      const auto made = count - before.at(name);
      fail_unless(made == 0, "%s: %s was called %" G_GUINT64_FORMAT " times", row.name,
                  name.c_str(), made);
    }
    std::map<std::string, int> expected{{"fstat", int{kFrames}}};
    if (is_software)
      expected["ppoll"] = int{kFrames};
    if (GST_IS_DRM_ALLOCATOR(gst_buffer_peek_memory(given.get(), 0)->allocator))
      expected.erase("fstat");
    fail_unless(asked == expected, "%s: %s in %u frames, expected %s", row.name,
                text_of(asked).c_str(), kFrames, text_of(expected).c_str());
  }
}
GST_END_TEST

// RGBA that is drawn of planes: one hop for each frame, in which nothing is made.
GST_START_TEST(test_drawn)
{
  const std::string plain = plain_caps("P010_10LE", 320, 240);
  Frames frames(*gl, {.plain = plain, .shape = egl::Shape::Drawn});
  std::vector<GstPtr<GstBuffer>> pool;
  for (guint i = 0; i < 4; i++)
    pool.push_back(dmabuf(plain, i));
  for (guint i = 0; i < 8; i++)
    (void)frames.upload(pool[i % 4]);
  until_asleep();
  const GlCalls before = gl_calls();
  const std::uint64_t hops = gl->thread->hops();
  for (guint i = 0; i < 40; i++) {
    const auto fresh = i % 2 ? wrapped_anew(pool[i % 4]) : pool[i % 4];
    (void)frames.upload(fresh);
    gl->settle(); // the frame is back
  }
  GlCalls after = gl_calls();
  fail_unless_equals_uint64(frames.stats.imports, 4);
  fail_unless_equals_uint64(frames.frames.draws(), 48);
  fail_unless_equals_uint64(gl->thread->hops() - hops, 40 + 40); // settle() is one, too
  fail_unless_equals_uint64(after["glDrawArrays"] - before.at("glDrawArrays"), 40);
  for (const char *made :
       {"eglCreateImage", "glGenTextures", "glTexImage2D", "glDeleteTextures", "glTexSubImage2D"})
    fail_unless(after[made] == before.at(made), "%s is called for each frame", made);
  fail_unless_equals_uint64(frames.stats.copies, 0);
}
GST_END_TEST

// The name of the texture, as an element that draws it asks for it; 0: none.
guint mapped_texture(GstMemory *memory)
{
  GstMapInfo map;
  if (!gst_memory_map(memory, &map, static_cast<GstMapFlags>(GST_MAP_READ | GST_MAP_GL)))
    return 0;
  const guint texture = *reinterpret_cast<guint *>(map.data);
  gst_memory_unmap(memory, &map);
  return texture;
}

// A texture of an import is mapped for GL without the GL thread; that it cannot be written stays,
// and a copy is a texture of GStreamer's.
GST_START_TEST(test_maps)
{
  const Counted &row = kCounted[__i__];
  Frames frames(*gl, {row.plain, row.gl_format, row.shape});
  const auto out = frames.upload(dmabuf(row.plain, 1));
  gl->settle();
  const GlCalls before = gl_calls();
  for (guint i = 0; i < gst_buffer_n_memory(out.get()); i++) {
    GstMemory *memory = gst_buffer_peek_memory(out.get(), i);
    const guint texture = gst_gl_memory_get_texture_id(reinterpret_cast<GstGLMemory *>(memory));
    fail_unless_equals_int(mapped_texture(memory), texture);
    GstMapInfo map;
    fail_if(gst_memory_map(memory, &map, static_cast<GstMapFlags>(GST_MAP_WRITE | GST_MAP_GL)));
  }
  fail_unless(gl_calls() == before, "%s: a map for GL has called %s", row.name,
              called_since(before).c_str());
  GstMemory *memory = gst_buffer_peek_memory(out.get(), 0);
  if (gst_gl_memory_get_texture_target(reinterpret_cast<GstGLMemory *>(memory)) !=
      GST_GL_TEXTURE_TARGET_2D)
    return; // GStreamer copies no others
  const auto copy = GstPtr<GstMemory>::adopt(gst_memory_copy(memory, 0, -1));
  const guint copied = copy ? mapped_texture(copy.get()) : 0;
  fail_if(copied == 0 || copied == mapped_texture(memory));
}
GST_END_TEST

// New pixels in the dma-buf: the texture is bound again once, for the first reader that maps it.
GST_START_TEST(test_bound_again)
{
  Frames frames(*gl, {kXrgb});
  const auto frame = dmabuf(kXrgb, 1);
  (void)frames.upload(frame);
  const auto out = frames.upload(frame);
  gl->settle();
  GlCalls before = gl_calls();
  for (int i = 0; i < 3; i++)
    (void)mapped_texture(gst_buffer_peek_memory(out.get(), 0));
  gl->settle();
  fail_unless_equals_uint64(
      gl_calls().at("glEGLImageTargetTexture2D") - before.at("glEGLImageTargetTexture2D"), 1);
}
GST_END_TEST

// Frames go back in one job of the GL thread, however many wait for it.
GST_START_TEST(test_one_job)
{
  Frames frames(*gl, {kXrgb});
  const auto frame = dmabuf(kXrgb, 1);
  (void)frames.upload(frame);
  std::vector<GstPtr<GstBuffer>> outs;
  for (int i = 0; i < 8; i++)
    outs.push_back(frames.upload(wrapped_anew(frame)));
  gl->settle();
  HeldGlThread held(*gl);
  const GlCalls before = gl_calls();
  outs.clear();
  held.let_go();
  gl->settle();
  const GlCalls after = gl_calls();
  fail_unless_equals_uint64(after.at("glFinish") - before.at("glFinish"), 1);
  fail_unless_equals_uint64(after.at("hop") - before.at("hop"), 1); // of settle()
}
GST_END_TEST

enum class Reader { None, Map, WithoutMap, OtherContext };
struct Read {
  const char *name;
  Reader reader;
  unsigned jobs; // of a software renderer, before the frame goes back
};
const Read kReads[] = {
    {"nobody", Reader::None, 0},
    {"a map that draws nothing", Reader::Map, 0},
    {"the GL thread, without a map", Reader::WithoutMap, 1},
    {"another context may", Reader::OtherContext, 1},
};

void do_nothing(GstGLContext *, gpointer) noexcept {}

GstPtr<GstGLContext> sharing_context()
{
  GError *error = nullptr;
  GstGLContext *other = nullptr;
  GST_OBJECT_LOCK(Gl::display());
  fail_unless(gst_gl_display_create_context(Gl::display(), gl->thread->context(), &other, &error),
              "%s", error ? error->message : "no error");
  GST_OBJECT_UNLOCK(Gl::display());
  return GstPtr<GstGLContext>::adopt(other);
}

// GL has to finish before a frame goes back that was read, or may have been: also without a map,
// and by a context of somebody else.
GST_START_TEST(test_readers)
{
  const Read &row = kReads[__i__];
  const bool is_software = gl->thread->device()->driver().is_software;
  Frames frames(*gl, {kXrgb});
  const auto frame = dmabuf(kXrgb, 1);
  (void)frames.upload(frame);
  until_asleep();
  auto out = frames.upload(frame);
  GstPtr<GstGLContext> other;
  if (row.reader == Reader::Map)
    (void)mapped_texture(gst_buffer_peek_memory(out.get(), 0));
  else if (row.reader == Reader::WithoutMap)
    gst_gl_context_thread_add(gl->thread->context(), do_nothing, nullptr);
  else if (row.reader == Reader::OtherContext)
    other = sharing_context();
  const GlCalls before = gl_calls();
  out.reset();
  const bool is_back = gst_buffer_is_writable(frame.get());
  gl->settle();
  const GlCalls after = gl_calls();
  const unsigned jobs = is_software ? row.jobs : 0;
  fail_unless_equals_uint64(after.at("glFinish") - before.at("glFinish"), jobs);
  fail_unless(after.at("job") - before.at("job") <= jobs);
  if (jobs == 0)
    fail_unless(is_back, "%s: the frame waits for the GL thread", row.name);
  fail_unless(gst_buffer_is_writable(frame.get()), "%s: the frame is not given back", row.name);
}
GST_END_TEST

// What the producer needs is no work of GL: a frame that is held meanwhile is still one that nobody
// has read.
GST_START_TEST(test_jobs_of_the_loop)
{
  until_asleep();
  const std::uint64_t sleep = gl->thread->sleep();
  const GlCalls before = gl_calls();
  std::atomic<bool> is_done{false}, had_context{false};
  gl->thread->run_soon([&](bool has_context) {
    had_context = has_context;
    is_done = true;
  });
  while (!is_done || gl->thread->sleep() == 0)
    std::this_thread::yield();
  fail_unless(had_context);
  fail_unless_equals_uint64(gl->thread->sleep(), sleep);
  fail_unless_equals_uint64(gl_calls().at("job"), before.at("job"));
  until_asleep();
  fail_if(gl->thread->sleep() == sleep, "a hop is a job of somebody else");
  bool waited = true;
  const auto done = gl->thread->run([&](egl::Device &) -> Result<void> {
    gl->thread->run_soon([&](bool) { waited = false; });
    return waited ? Result<void>(Error{ErrorCode::Sync, "", 0}) : Result<void>();
  });
  fail_unless(static_cast<bool>(done), "the GL thread draws before the job that it asks for");
}
GST_END_TEST

gboolean watch_loop(gpointer loop) noexcept
{
  static_cast<GlLoop *>(loop)->watch();
  return G_SOURCE_REMOVE;
}

// A loop that ends in its sleep leaves its jobs to whoever lets go of it.
GST_START_TEST(test_loop_that_ended)
{
  GMainContext *context = g_main_context_new();
  GSource *job = g_idle_source_new();
  {
    GlLoop loop;
    fail_if(loop.run([](bool) { fail("nothing is watched"); }));
    g_source_set_callback(job, watch_loop, &loop, nullptr);
    g_source_attach(job, context);
    fail_unless(g_main_context_iteration(context, FALSE));
    fail_unless_equals_uint64(loop.sleep(), 0);
    fail_unless(g_main_context_acquire(context));
    fail_if(g_main_context_prepare(context, nullptr));
    fail_if(loop.sleep() == 0);
    int dropped = 0;
    fail_unless(loop.run([&](bool runs) { dropped += runs ? 0 : 1; }));
    loop.drop_jobs();
    fail_unless_equals_int(dropped, 1);
    g_main_context_release(context);
  }
  g_source_unref(job);
  g_main_context_unref(context);
}
GST_END_TEST

// A source of the GL thread's main loop, asked behind the one that watches the loop.
struct Witness {
  GSource parent;
  std::uint64_t seen;
};

gboolean look(GSource *source, gint *timeout_ms) noexcept
{
  *timeout_ms = 0;
  reinterpret_cast<Witness *>(source)->seen |= gl->thread->sleep();
  return FALSE;
}

// A job that lets the main loop run within itself may draw afterwards: its sleep counts for none.
GST_START_TEST(test_loop_in_a_job)
{
  static GSourceFuncs functions = {look, nullptr, nullptr, nullptr, nullptr, nullptr};
  std::uint64_t seen = 1;
  const auto done = gl->thread->run([&](egl::Device &) -> Result<void> {
    GMainContext *loop = g_source_get_context(g_main_current_source());
    GSource *witness = g_source_new(&functions, sizeof(Witness));
    g_source_attach(witness, loop);
    g_main_context_iteration(loop, FALSE);
    seen = reinterpret_cast<Witness *>(witness)->seen;
    g_source_destroy(witness);
    g_source_unref(witness);
    return {};
  });
  fail_unless(static_cast<bool>(done));
  fail_unless_equals_uint64(seen, 0);
}
GST_END_TEST

} // namespace

void add_cost_tests(TCase *imports)
{
  tcase_add_loop_test(imports, test_steady, 0, 3);
  tcase_add_test(imports, test_drawn);
  tcase_add_loop_test(imports, test_calls, 0, 3);
  tcase_add_loop_test(imports, test_maps, 0, 3);
  tcase_add_test(imports, test_bound_again);
  tcase_add_test(imports, test_one_job);
  tcase_add_loop_test(imports, test_readers, 0, std::size(kReads));
  tcase_add_test(imports, test_jobs_of_the_loop);
  tcase_add_test(imports, test_loop_that_ended);
  tcase_add_test(imports, test_loop_in_a_job);
}

} // namespace gstdrm::test
