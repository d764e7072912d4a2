// SPDX-License-Identifier: LGPL-2.1-or-later
// The player of `./run demo`: a clip through a real decoder, dmabufupload and kmsdmabufsink, a
// picture of what the display scanned out, and what each step cost.

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <gst/gst.h>
#include <gst/video/video.h>

#include "links.hpp"

namespace {

using demo::take;

struct Options {
  gchar *png = nullptr;
  gchar *sink_properties = nullptr;
  gchar *upload_properties = nullptr;
  gchar *infer_properties = nullptr;
  gchar *decode_properties = nullptr;
  gint snapshot_ms = 2500;
  gint limit_s = 240;
  gchar **clip = nullptr;
};

struct Player {
  const Options &options;
  GMainLoop *loop = nullptr;
  GstElement *pipeline = nullptr;
  GstElement *upload = nullptr;
  GstElement *infer = nullptr;   // nullptr if no model was given
  GstElement *overlay = nullptr; // the same
  GstElement *sink = nullptr;
  std::atomic<guint64> frames_with_boxes{0}; // written by the streaming thread
  std::atomic<guint64> boxes{0};
  std::vector<std::string> links; // one row per link, taken while playing
  std::string picture;            // path of the snapshot, or why there is none
  bool snapshot_taken = false;
  int status = EXIT_SUCCESS;

  // true for an error of the display, which may come before the file is read
  bool is_display(const GstObject *object) const { return object == GST_OBJECT_CAST(sink); }
};

guint64 stat_of(const GstStructure *stats, const char *name)
{
  guint64 value = 0;
  if (stats)
    gst_structure_get_uint64(stats, name, &value);
  return value;
}

std::string save_png(GstSample *sample, const char *path)
{
  g_autoptr(GError) error = nullptr;
  g_autoptr(GstCaps) png = gst_caps_new_empty_simple("image/png");
  g_autoptr(GstSample) picture = gst_video_convert_sample(sample, png, 30 * GST_SECOND, &error);
  if (!picture)
    return std::string("not written: ") + (error ? error->message : "no PNG encoder");
  GstMapInfo map;
  if (!gst_buffer_map(gst_sample_get_buffer(picture), &map, GST_MAP_READ))
    return "not written: the encoded picture cannot be mapped";
  const bool written = g_file_set_contents(path, reinterpret_cast<const gchar *>(map.data),
                                           static_cast<gssize>(map.size), &error);
  gst_buffer_unmap(gst_sample_get_buffer(picture), &map);
  return written ? std::string(path) : std::string("not written: ") + error->message;
}

gboolean take_snapshot(gpointer user_data)
{
  auto &player = *static_cast<Player *>(user_data);
  player.links = demo::links_before(player.sink);
  GstSample *sample = nullptr;
  g_signal_emit_by_name(player.sink, "snapshot", &sample);
  player.snapshot_taken = sample != nullptr;
  if (!sample) {
    player.picture = "none: this display has no writeback connector, or refused";
    return G_SOURCE_REMOVE;
  }
  player.picture = save_png(sample, player.options.png);
  gst_sample_unref(sample);
  return G_SOURCE_REMOVE;
}

gboolean add_stream(GstElement *, GstPad *pad, gpointer user_data)
{
  auto *streams = static_cast<std::string *>(user_data);
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(pad);
  if (!caps)
    caps = gst_pad_query_caps(pad, nullptr);
  *streams += streams->empty() ? "" : ", ";
  *streams += gst_caps_get_size(caps) > 0 ? gst_structure_get_name(gst_caps_get_structure(caps, 0))
                                          : "an unknown stream";
  return TRUE;
}

// Returns an empty text if there is video. For a file without video that can be decoded here,
// GStreamer's own errors name only pads and flow returns.
std::string why_no_video(Player &player)
{
  g_autoptr(GstElement) convert = gst_bin_get_by_name(GST_BIN(player.pipeline), "convert");
  g_autoptr(GstPad) video = gst_element_get_static_pad(convert, "sink");
  if (gst_pad_is_linked(video))
    return "";
  g_autoptr(GstElement) decode = gst_bin_get_by_name(GST_BIN(player.pipeline), "decode");
  std::string streams;
  gst_element_foreach_src_pad(decode, add_stream, &streams);
  return std::string(player.options.clip[0]) + " has no video that can be decoded here; " +
         (streams.empty() ? "nothing in it is known" : "what it has: " + streams);
}

void stop(Player &player)
{
  player.status = EXIT_FAILURE;
  g_main_loop_quit(player.loop);
}

// Returns true if there is no video, and prints that with GStreamer's own `reason`.
bool ends_without_video(Player &player, const char *reason)
{
  const std::string why = player.status == EXIT_SUCCESS ? why_no_video(player) : "";
  if (!why.empty())
    std::fprintf(stderr, "demo: %s (%s)\n", why.c_str(), reason);
  return !why.empty();
}

gboolean give_up(gpointer user_data)
{
  auto &player = *static_cast<Player *>(user_data);
  if (!ends_without_video(player, "nothing came of it in time"))
    std::fprintf(stderr, "demo: the clip has not ended after %d s; stopped\n",
                 player.options.limit_s);
  stop(player);
  return G_SOURCE_REMOVE;
}

gboolean on_message(GstBus *, GstMessage *message, gpointer user_data)
{
  auto &player = *static_cast<Player *>(user_data);
  g_autoptr(GError) error = nullptr;
  g_autofree gchar *debug = nullptr;
  switch (GST_MESSAGE_TYPE(message)) {
  case GST_MESSAGE_ERROR:
    gst_message_parse_error(message, &error, &debug);
    if (player.is_display(GST_MESSAGE_SRC(message)) || !ends_without_video(player, error->message))
      std::fprintf(stderr, "demo: ERROR from %s: %s\n%s\n",
                   GST_OBJECT_NAME(GST_MESSAGE_SRC(message)), error->message, debug ? debug : "");
    stop(player);
    break;
  case GST_MESSAGE_WARNING:
    gst_message_parse_warning(message, &error, &debug);
    // all streams are known and none is video: perhaps no error and no EOS will follow
    if (g_error_matches(error, GST_PARSE_ERROR, GST_PARSE_ERROR_DELAYED_LINK) &&
        ends_without_video(player, error->message)) {
      stop(player);
      break;
    }
    std::printf("warning from %s: %s\n", GST_OBJECT_NAME(GST_MESSAGE_SRC(message)), error->message);
    break;
  case GST_MESSAGE_INFO:
    gst_message_parse_info(message, &error, &debug);
    std::printf("note from %s: %s\n", GST_OBJECT_NAME(GST_MESSAGE_SRC(message)), error->message);
    break;
  case GST_MESSAGE_EOS:
    g_main_loop_quit(player.loop);
    break;
  default:
    break;
  }
  return G_SOURCE_CONTINUE;
}

GstPadProbeReturn count_boxes(GstPad *, GstPadProbeInfo *info, gpointer user_data) noexcept
{
  auto &player = *static_cast<Player *>(user_data);
  const guint boxes = gst_buffer_get_n_meta(GST_PAD_PROBE_INFO_BUFFER(info),
                                            GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
  player.boxes += boxes;
  player.frames_with_boxes += boxes > 0;
  return GST_PAD_PROBE_OK;
}

// The counters of an element; nullptr for nullptr.
GstStructure *stats_of(GstElement *element)
{
  GstStructure *stats = nullptr;
  if (element)
    g_object_get(element, "drm-stats", &stats, nullptr);
  return stats;
}

void print_table(Player &player)
{
  g_autoptr(GstStructure) shown = stats_of(player.sink);
  g_autoptr(GstStructure) uploaded = stats_of(player.upload);
  g_autoptr(GstStructure) inferred = stats_of(player.infer);
  g_autoptr(GstStructure) drawn = stats_of(player.overlay);
  const guint64 frames = stat_of(shown, "frames");
  const double per_frame = frames ? 1.0 / static_cast<double>(frames) : 0.0;
  const auto row = [&](const char *name, guint64 value, const char *note) {
    std::printf("  %-26s %6" G_GUINT64_FORMAT "   %.3f per frame   %s\n", name, value,
                static_cast<double>(value) * per_frame, note);
  };

  std::printf("\nlinks\n");
  for (const std::string &link : player.links)
    std::printf("%s\n", link.c_str());
  std::printf("\nframes\n");
  row("reached the sink", frames, "");
  row("shown", stat_of(shown, "shown"), "flips that completed");
  row("dropped", stat_of(shown, "dropped"), "");
  row("late", stat_of(shown, "late"), "more than one refresh after their time");
  if (player.infer) {
    std::printf("\nwhat the network found\n");
    row("inferences", stat_of(inferred, "inferences"), "");
    row("frames with a box", player.frames_with_boxes, "");
    row("boxes", player.boxes, "");
  }
  std::printf("\nwhat it cost\n");
  row("copies by dmabufupload", stat_of(uploaded, "copies"),
      take(g_strdup(gst_structure_get_string(uploaded, "last-copy-reason"))).c_str());
  if (player.infer) {
    row("copies by metisdmabufinfer", stat_of(inferred, "copies"), "");
    row("copies by drmoverlay", stat_of(drawn, "copies"),
        take(g_strdup(gst_structure_get_string(drawn, "last-copy-reason"))).c_str());
  }
  row("copies by kmsdmabufsink", stat_of(shown, "copies"), "");
  row("imports", stat_of(shown, "imports"), "once per dma-buf");
  row("atomic commits", stat_of(shown, "commits"), "");
  row("fence waits", stat_of(shown, "waits") + stat_of(uploaded, "waits"), "");
  std::printf("\nwhat the display scanned out: %s\n", player.picture.c_str());
  if (player.infer && player.status == EXIT_SUCCESS && stat_of(inferred, "inferences") == 0) {
    std::fprintf(stderr, "demo: no frame went through the network\n");
    player.status = EXIT_FAILURE;
  }
  if (player.status == EXIT_SUCCESS && stat_of(shown, "shown") == 0) {
    std::fprintf(stderr, "demo: no frame was shown\n");
    player.status = EXIT_FAILURE;
  }
}

bool build_pipeline(Player &player)
{
  const Options &options = player.options;
  g_autofree gchar *line = g_strdup_printf(
      "filesrc name=file ! decodebin name=decode ! videoconvertscale name=convert "
      "! dmabufupload name=upload %s %s %s %s %s %s ! kmsdmabufsink name=display %s",
      options.upload_properties ? options.upload_properties : "",
      options.infer_properties ? "! metisdmabufinfer name=infer" : "",
      options.infer_properties ? options.infer_properties : "",
      options.infer_properties ? "! drmtensordecode name=tensors" : "",
      options.infer_properties && options.decode_properties ? options.decode_properties : "",
      options.infer_properties ? "! drmoverlay name=overlay" : "",
      options.sink_properties ? options.sink_properties : "");
  g_autoptr(GError) error = nullptr;
  player.pipeline = gst_parse_launch(line, &error);
  if (!player.pipeline || error) {
    std::fprintf(stderr, "demo: %s\n", error ? error->message : "the pipeline could not be made");
    return false;
  }
  g_autoptr(GstElement) file = gst_bin_get_by_name(GST_BIN(player.pipeline), "file");
  g_object_set(file, "location", options.clip[0], nullptr);
  player.upload = gst_bin_get_by_name(GST_BIN(player.pipeline), "upload");
  player.sink = gst_bin_get_by_name(GST_BIN(player.pipeline), "display");
  player.infer = gst_bin_get_by_name(GST_BIN(player.pipeline), "infer");
  player.overlay = gst_bin_get_by_name(GST_BIN(player.pipeline), "overlay");
  if (player.overlay) {
    g_autoptr(GstPad) pad = gst_element_get_static_pad(player.overlay, "sink");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, count_boxes, &player, nullptr);
  }
  return true;
}

void play(Player &player)
{
  g_autoptr(GstBus) bus = gst_element_get_bus(player.pipeline);
  player.loop = g_main_loop_new(nullptr, FALSE);
  const guint watch = gst_bus_add_watch(bus, on_message, &player);
  g_timeout_add(static_cast<guint>(player.options.snapshot_ms), take_snapshot, &player);
  g_timeout_add_seconds(static_cast<guint>(player.options.limit_s), give_up, &player);

  gst_element_set_state(player.pipeline, GST_STATE_PLAYING);
  g_main_loop_run(player.loop);
  if (player.status == EXIT_SUCCESS) {
    if (!player.snapshot_taken) // the clip was too short: take its last frame
      take_snapshot(&player);
    print_table(player);
    if (!player.snapshot_taken)
      player.status = EXIT_FAILURE;
  }
  gst_element_set_state(player.pipeline, GST_STATE_NULL);
  g_source_remove(watch);
  g_main_loop_unref(player.loop);
}

} // namespace

int main(int argc, char **argv)
{
  Options options;
  const GOptionEntry entries[] = {
      {"png", 'o', 0, G_OPTION_ARG_FILENAME, &options.png, "Where the picture goes", "FILE"},
      {"sink", 0, 0, G_OPTION_ARG_STRING, &options.sink_properties, "Properties of kmsdmabufsink",
       "TEXT"},
      {"upload", 0, 0, G_OPTION_ARG_STRING, &options.upload_properties,
       "Properties of dmabufupload", "TEXT"},
      {"infer", 0, 0, G_OPTION_ARG_STRING, &options.infer_properties,
       "Properties of metisdmabufinfer; without it nothing is looked for", "TEXT"},
      {"decode", 0, 0, G_OPTION_ARG_STRING, &options.decode_properties,
       "Properties of drmtensordecode", "TEXT"},
      {"snapshot-ms", 0, 0, G_OPTION_ARG_INT, &options.snapshot_ms, "When to take the picture",
       "MS"},
      {"limit", 0, 0, G_OPTION_ARG_INT, &options.limit_s, "Give up after so many seconds", "S"},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.clip, "The clip", "CLIP"},
      {nullptr, 0, 0, G_OPTION_ARG_NONE, nullptr, nullptr, nullptr}};
  g_autoptr(GOptionContext) context = g_option_context_new("- play a clip on a KMS display");
  g_option_context_add_main_entries(context, entries, nullptr);
  g_option_context_add_group(context, gst_init_get_option_group());
  g_autoptr(GError) error = nullptr;
  if (!g_option_context_parse(context, &argc, &argv, &error) || !options.clip || !options.png) {
    std::fprintf(stderr, "demo: %s\n", error ? error->message : "a clip and --png are needed");
    return 2;
  }

  Player player{options};
  if (build_pipeline(player))
    play(player);
  else
    player.status = EXIT_FAILURE;
  g_clear_object(&player.upload);
  g_clear_object(&player.infer);
  g_clear_object(&player.overlay);
  g_clear_object(&player.sink);
  g_clear_object(&player.pipeline);
  g_free(options.png);
  g_free(options.sink_properties);
  g_free(options.upload_properties);
  g_free(options.infer_properties);
  g_free(options.decode_properties);
  g_strfreev(options.clip);
  return player.status;
}
