// SPDX-License-Identifier: LGPL-2.1-or-later
// Fuzz target: two caps strings, parted by a new line. They are read as video infos and format sets, and
// intersected. Nothing may crash, and what is written has to be read as the same.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gst/drm/drm.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_LSAN 1
#elif defined(__has_feature)
#define HAVE_LSAN __has_feature(address_sanitizer)
#else
#define HAVE_LSAN 0
#endif
#if HAVE_LSAN
#include <sanitizer/lsan_interface.h>
#endif

namespace {

bool parsing = false;

// GStreamer's own parser warns of what it cannot read. Any critical message later is a fault here.
void handle_message(const gchar *, GLogLevelFlags level, const gchar *message, gpointer)
{
  if (parsing || (level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR)) == 0)
    return;
  std::fprintf(stderr, "%s\n", message);
  std::abort();
}

GstCaps *parse(const std::string &text)
{
#if HAVE_LSAN
  const __lsan::ScopedDisabler theirs; // gst_caps_from_string() leaks a structure that it cannot read to the end
#endif
  parsing = true;
  GstCaps *caps = gst_caps_from_string(text.c_str());
  parsing = false;
  return caps ? caps : gst_caps_new_empty();
}

void check_info(const GstCaps *caps)
{
  GstDrmVideoInfo info;
  GError *error = nullptr;
  if (!gst_drm_video_info_from_caps_full(&info, caps, &error)) {
    if (!error || !g_utf8_validate(error->message, -1, nullptr))
      std::abort();
    g_error_free(error);
    return;
  }
  g_autoptr(GstCaps) written = gst_drm_video_info_to_caps(&info);
  if (!written)
    return; // implicit, and without a name
  GstDrmVideoInfo again;
  if (!gst_drm_video_info_from_caps(&again, written) || again.drm_fourcc != info.drm_fourcc ||
      again.drm_modifier != info.drm_modifier)
    std::abort();
}

void check_set(const GstCaps *caps)
{
  GstDrmFormatSet *set = gst_drm_format_set_new_from_caps(caps);
  if (!set)
    return;
  g_autoptr(GstCaps) written = gst_drm_format_set_to_caps(set);
  GstDrmFormatSet *again = gst_drm_format_set_new_from_caps(written);
  if (!again || !gst_drm_format_set_is_equal(set, again))
    std::abort();
  gst_drm_format_set_unref(again);
  gst_drm_format_set_unref(set);
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  g_setenv("GST_REGISTRY_DISABLE", "yes", TRUE);
  gst_init(argc, argv);
  g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_FATAL_MASK)); // not G_DEBUG's: handle_message() decides
  g_log_set_default_handler(handle_message, nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
  const std::string text(reinterpret_cast<const char *>(data), size);
  const std::size_t line = text.find('\n');
  g_autoptr(GstCaps) first = parse(text.substr(0, line));
  g_autoptr(GstCaps) second = parse(line == std::string::npos ? text : text.substr(line + 1));
  for (const GstCaps *caps : {first, second}) {
    check_info(caps);
    check_set(caps);
  }
  g_autoptr(GstCaps) common = gst_drm_caps_intersect(first, second);
  check_set(common);
  return 0;
}
