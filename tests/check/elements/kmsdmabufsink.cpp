// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink without a device: what it is before it is opened, and what it says when it cannot be.
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "support/check_main.hpp"
#include "support/odd_queries.hpp"
#include <gst/drm/drm.h>
#include <gst/gst.h>
#include <gst/video/colorbalance.h>

namespace {

GstElement *make_sink(void)
{
  GstElement *sink = gst_element_factory_make("kmsdmabufsink", nullptr);
  ck_assert_msg(sink != nullptr, "kmsdmabufsink is not in GST_PLUGIN_PATH");
  return GST_ELEMENT(gst_object_ref_sink(sink));
}

bool template_takes(const char *text)
{
  GstElementFactory *factory = gst_element_factory_find("kmsdmabufsink");
  const GList *templates = gst_element_factory_get_static_pad_templates(factory);
  GstCaps *offered = gst_static_pad_template_get_caps(static_cast<GstStaticPadTemplate *>(templates->data));
  GstCaps *caps = gst_caps_from_string(text);
  const bool takes = gst_caps_is_subset(caps, offered) != FALSE;
  gst_caps_unref(caps);
  gst_caps_unref(offered);
  gst_object_unref(factory);
  return takes;
}

struct TemplateRow {
  const char *caps;
  bool takes;
};

const TemplateRow kTemplateRows[] = {
    {"video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=XR24, width=1, height=1, framerate=60/1", true},
    {"video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0100000000000002, width=8, height=8, "
     "framerate=0/1",
     true},
    {"video/x-raw(memory:DMABuf), format=DMA_DRM, width=[1,100], height=[1,100], framerate=[0/1,30/1]", true},
    {"video/x-raw, format=NV12, width=640, height=480, framerate=25/1", true},
    {"video/x-raw, format=BGRx, width=640, height=480, framerate=25/1", true},
    {"video/x-raw(memory:DMABuf), format=NV12, width=640, height=480, framerate=25/1", true},
    {"video/x-raw, format=BGRx, width=16384, height=16384, framerate=25/1", true},
    {"video/x-raw, format=BGRx, width=16385, height=480, framerate=25/1", false},
    {"video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=XR24, width=640, height=16385, framerate=25/1", false},
    {"video/x-raw, format=DMA_DRM, drm-format=XR24, width=640, height=480, framerate=25/1", false},
    {"video/x-raw, format=NV12_4L4, width=640, height=480, framerate=25/1", false},
    {"video/x-raw(memory:GLMemory), format=RGBA, width=640, height=480, framerate=25/1", false},
    {"video/x-h264", false},
    // one field in a buffer
    {"video/x-raw(memory:DMABuf, format:Interlaced), format=DMA_DRM, drm-format=NV12, width=64, height=64, "
     "framerate=25/1, interlace-mode=alternate",
     false},
    {"video/x-raw(format:Interlaced), format=NV12, width=64, height=64, framerate=25/1, interlace-mode=alternate", false},
};

} // namespace

GST_START_TEST(test_template)
{
  const TemplateRow &row = kTemplateRows[__i__];
  ck_assert_msg(template_takes(row.caps) == row.takes, "%s", row.caps);
}
GST_END_TEST

// DMA_DRM before plain memory, without a list of formats: those are the device's to say.
GST_START_TEST(test_template_order)
{
  GstElement *sink = make_sink();
  GstPad *pad = gst_element_get_static_pad(sink, "sink");
  GstCaps *caps = gst_pad_query_caps(pad, nullptr);
  ck_assert_uint_eq(gst_caps_get_size(caps), 6);
  // the same once more with overlays beside the frames, so that nobody gets the feature unasked
  for (guint i = 0; i < 6; i++)
    ck_assert_int_eq(gst_caps_features_contains(gst_caps_get_features(caps, i), "meta:GstVideoOverlayComposition"),
                     i >= 3);
  const GstStructure *first = gst_caps_get_structure(caps, 0);
  ck_assert_str_eq(gst_structure_get_string(first, "format"), "DMA_DRM");
  ck_assert(!gst_structure_has_field(first, "drm-format"));
  ck_assert(gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:DMABuf"));
  ck_assert(!gst_caps_features_contains(gst_caps_get_features(caps, 1), "memory:DMABuf"));
  gst_caps_unref(caps);

  GstCaps *filter = gst_caps_from_string("video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format={ XR24, NV12 }");
  caps = gst_pad_query_caps(pad, filter);
  ck_assert_uint_eq(gst_caps_get_size(caps), 1);
  gst_caps_unref(caps);
  gst_caps_unref(filter);
  gst_object_unref(pad);
  gst_object_unref(sink);
}
GST_END_TEST

namespace {

struct DirectionRow {
  const char *direction;
  const char *rotation; // the same for KMS, which turns counter-clockwise
};

const DirectionRow kDirectionRows[] = {
    {"identity", "rotate-0"},           {"90r", "rotate-270"},
    {"180", "rotate-180"},              {"90l", "rotate-90"},
    {"horiz", "rotate-0+reflect-x"},    {"vert", "rotate-0+reflect-y"},
    {"ul-lr", "rotate-90+reflect-x"},   {"ur-ll", "rotate-90+reflect-y"},
    {"auto", "rotate-0"}, // the stream has said nothing yet
};

guint rotation_of(GstElement *sink)
{
  guint rotation = 0;
  g_object_get(sink, "rotation", &rotation, nullptr);
  return rotation;
}

} // namespace

// One turn, set by either property.
GST_START_TEST(test_directions)
{
  GstElement *sink = make_sink(), *expected = make_sink();
  for (const DirectionRow &row : kDirectionRows) {
    gst_util_set_object_arg(G_OBJECT(sink), "video-direction", row.direction);
    gst_util_set_object_arg(G_OBJECT(expected), "rotation", row.rotation);
    ck_assert_msg(rotation_of(sink) == rotation_of(expected), "%s: 0x%x", row.direction,
                  rotation_of(sink));
  }
  gst_util_set_object_arg(G_OBJECT(sink), "rotation", "rotate-180");
  gst_util_set_object_arg(G_OBJECT(expected), "video-direction", "180");
  ck_assert_uint_eq(rotation_of(sink), rotation_of(expected));
  gint direction = 0;
  g_object_get(sink, "video-direction", &direction, nullptr);
  ck_assert_int_eq(direction, GST_VIDEO_ORIENTATION_CUSTOM);
  gst_object_unref(expected);
  gst_object_unref(sink);
}
GST_END_TEST

namespace {

struct ErrorRow {
  const char *name;
  const char *property;
  const char *value;
  const char *words[3];
};

const ErrorRow kErrorRows[] = {
    {"no such node", "device", "/dev/dri/card987", {"/dev/dri/card987", "ENOENT", "driver-name"}},
    {"no DRM device", "device", "/dev/null", {"/dev/null", "not a DRM device", "device"}},
    {"a directory", "device", "/", {"/", "EISDIR", "KMS"}},
    {"no such driver", "driver-name", "no-such-driver", {"no-such-driver", "/dev/dri", "No KMS device"}},
};

} // namespace

GST_START_TEST(test_open_errors)
{
  const ErrorRow &row = kErrorRows[__i__];
  GstElement *sink = make_sink();
  GstBus *bus = gst_bus_new();
  gst_element_set_bus(sink, bus);
  gst_util_set_object_arg(G_OBJECT(sink), row.property, row.value);
  ck_assert_int_eq(gst_element_set_state(sink, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
  GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  ck_assert_msg(message != nullptr, "%s: no error", row.name);
  GError *error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  ck_assert_uint_eq(error->domain, GST_RESOURCE_ERROR);
  for (const char *word : row.words)
    ck_assert_msg(strstr(error->message, word) != nullptr, "%s: \"%s\" is not in \"%s\"", row.name, word,
                  error->message);
  g_error_free(error);
  gst_message_unref(message);
  ck_assert(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR) == nullptr); // once
  gst_element_set_state(sink, GST_STATE_NULL);
  gst_element_set_bus(sink, nullptr);
  gst_object_unref(bus);
  gst_object_unref(sink);
}
GST_END_TEST

// A descriptor that is no device is refused, and stays open: it is the application's.
GST_START_TEST(test_descriptor_stays_the_applications)
{
  const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  GstElement *sink = make_sink();
  g_object_set(sink, "fd", fd, nullptr);
  ck_assert_int_eq(gst_element_set_state(sink, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
  gst_element_set_state(sink, GST_STATE_NULL);
  gst_object_unref(sink);
  ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
  close(fd);
}
GST_END_TEST

GST_START_TEST(test_properties)
{
  GstElement *sink = make_sink();
  g_object_set(sink, "driver-name", "vkms", "bus-id", "pci:0000:00:02.0", "device", "/dev/dri/card1", "fd", 5,
               "connector", "HDMI-A-1", "plane-id", 31U, nullptr);
  gst_util_set_object_arg(G_OBJECT(sink), "zero-copy", "require");
  gchar *driver = nullptr, *bus_id = nullptr, *device = nullptr, *connector = nullptr;
  gint fd = 0, zero_copy = -1;
  guint plane = 0;
  g_object_get(sink, "driver-name", &driver, "bus-id", &bus_id, "device", &device, "fd", &fd, "connector",
               &connector, "plane-id", &plane, "zero-copy", &zero_copy, nullptr);
  ck_assert_str_eq(driver, "vkms");
  ck_assert_str_eq(bus_id, "pci:0000:00:02.0");
  ck_assert_str_eq(device, "/dev/dri/card1");
  ck_assert_str_eq(connector, "HDMI-A-1");
  ck_assert_int_eq(fd, 5);
  ck_assert_uint_eq(plane, 31);
  ck_assert_int_eq(zero_copy, 1);
  g_free(driver);
  g_free(bus_id);
  g_free(device);
  g_free(connector);
  g_object_set(sink, "driver-name", nullptr, nullptr); // NULL is as good as empty
  for (const char *any : {"-1", "0"}) { // as users of kmssink write it, and as it was
    gst_util_set_object_arg(G_OBJECT(sink), "plane-id", any);
    gint number = 0;
    g_object_get(sink, "plane-id", &number, nullptr);
    ck_assert_int_eq(number, -1);
  }
  gst_object_unref(sink);
}
GST_END_TEST

// As users of kmssink write them, and what is set by that.
struct KmssinkName {
  const char *name, *value, *own, *own_value;
  const char *before_name = nullptr, *before = nullptr; // set before
};

static const KmssinkName kKmssinkNames[] = {
    {"connector-id", "36", "connector", "36"},
    {"connector-id", "-1", "connector", ""},
    {"force-modesetting", "true", "mode", "match"},
    {"force-modesetting", "false", "mode", "auto"},
    // kmssink's defaults, written after what they must not undo, and after what they must
    {"connector-id", "-1", "connector", "HDMI-A-1", "connector", "HDMI-A-1"},
    {"connector-id", "-1", "connector", "", "connector-id", "36"},
    {"force-modesetting", "false", "mode", "1920x1080", "mode", "1920x1080"},
    {"force-modesetting", "false", "mode", "preferred", "mode", "preferred"},
    {"force-modesetting", "false", "mode", "auto", "force-modesetting", "true"},
    {"can-scale", "true", "fit", "cover", "fit", "cover"},
    {"can-scale", "true", "fit", "contain", "can-scale", "false"},
    {"restore-crtc", "false", "restore", "FALSE"},
    {"can-scale", "false", "fit", "none"},
    {"can-scale", "true", "fit", "contain"},
    {"skip-vsync", "true", "skip-vsync", "TRUE"},
    {"plane-properties", "s,zpos=1", "zpos", "1"},
    {"plane-properties", "s,zpos=(uint)2", "zpos", "2"},
    {"plane-properties", "s,alpha=5,zpos=1", "plane-properties", "s, alpha=(int)5;"},
    {"plane-properties", "s,rotation=4", "rotation", "rotate-180"},
    {"plane-properties", "s,rotation=16", "rotation", "rotate-0+reflect-x"},
    {"plane-properties", "s,rotation=rotate-90+reflect-y", "rotation", "rotate-90+reflect-y"},
    // READY fails with these
    {"plane-properties", "s,zpos=-2", "plane-properties", "s, zpos=(int)-2;"},
    {"plane-properties", "s,zpos=-2", "zpos", "-1"},
    {"plane-properties", "s,zpos=5000000000", "zpos", "-1"},
    {"plane-properties", "s,zpos=1.5", "plane-properties", "s, zpos=(double)1.5;"},
    {"plane-properties", "s,zpos=top", "plane-properties", "s, zpos=(string)top;"},
    {"plane-properties", "s,rotation=64", "plane-properties", "s, rotation=(int)64;"},
    {"plane-properties", "s,rotation=rotate-45", "rotation", "rotate-0"},
};

// As gst_value_serialize() writes flags with their names.
static gchar *nicks_of(const GValue *flags)
{
  GString *text = g_string_new(nullptr);
  const auto *known = G_FLAGS_CLASS(g_type_class_peek(G_VALUE_TYPE(flags)));
  for (guint i = 0; i < known->n_values; i++)
    if (g_value_get_flags(flags) & known->values[i].value)
      g_string_append_printf(text, "%s%s", text->len ? "+" : "", known->values[i].value_nick);
  return g_string_free(text, FALSE);
}

GST_START_TEST(test_kmssink_names)
{
  const KmssinkName &row = kKmssinkNames[__i__];
  GstElement *sink = make_sink();
  if (row.before)
    gst_util_set_object_arg(G_OBJECT(sink), row.before_name, row.before);
  gst_util_set_object_arg(G_OBJECT(sink), row.name, row.value);
  GValue value = G_VALUE_INIT, text = G_VALUE_INIT;
  g_value_init(&text, G_TYPE_STRING);
  g_object_get_property(G_OBJECT(sink), row.own, &value);
  if (G_VALUE_HOLDS_ENUM(&value))
    g_value_set_string(&text, g_enum_get_value(G_ENUM_CLASS(g_type_class_peek(G_VALUE_TYPE(&value))),
                                               g_value_get_enum(&value))
                                  ->value_nick);
  else if (G_VALUE_HOLDS_FLAGS(&value))
    g_value_take_string(&text, nicks_of(&value));
  else
    g_value_transform(&value, &text);
  ck_assert_str_eq(g_value_get_string(&text), row.own_value);
  g_value_unset(&text);
  g_value_unset(&value);
  gst_object_unref(sink);
}
GST_END_TEST

// Channels are those of the display that is open.
GST_START_TEST(test_color_balance_before_start)
{
  GstElement *sink = gst_element_factory_make("kmsdmabufsink", nullptr);
  ck_assert(GST_IS_COLOR_BALANCE(sink));
  ck_assert(!gst_color_balance_list_channels(GST_COLOR_BALANCE(sink)));
  ck_assert_int_eq(gst_color_balance_get_balance_type(GST_COLOR_BALANCE(sink)),
                   GST_COLOR_BALANCE_HARDWARE);
  // a channel of another element's
  auto *channel =
      GST_COLOR_BALANCE_CHANNEL(g_object_new(GST_TYPE_COLOR_BALANCE_CHANNEL, nullptr));
  channel->label = g_strdup("GAMMA");
  channel->max_value = 10;
  gst_color_balance_set_value(GST_COLOR_BALANCE(sink), channel, 5);
  ck_assert_int_eq(gst_color_balance_get_value(GST_COLOR_BALANCE(sink), channel), 0);
  g_free(channel->label);
  channel->label = g_strdup("HUE"); // what is set before the display is open is kept for it
  gst_color_balance_set_value(GST_COLOR_BALANCE(sink), channel, 50);
  ck_assert_int_eq(gst_color_balance_get_value(GST_COLOR_BALANCE(sink), channel), 10);
  g_object_unref(channel);
  gst_object_unref(sink);
}
GST_END_TEST

GST_START_TEST(test_statistics_before_start)
{
  const char *counters[] = {"frames", "imports", "import-hits", "copies", "bytes-copied", "waits",
                            "shown",  "dropped", "late",        "commits"};
  GstElement *sink = make_sink();
  GstStructure *stats = nullptr;
  g_object_get(sink, "drm-stats", &stats, nullptr);
  for (const char *counter : counters) {
    guint64 value = 1;
    ck_assert_msg(gst_structure_get_uint64(stats, counter, &value), "no %s", counter);
    ck_assert_uint_eq(value, 0);
  }
  guint held = 1;
  ck_assert(gst_structure_get_uint(stats, "held", &held));
  ck_assert_uint_eq(held, 0);
  ck_assert_str_eq(gst_structure_get_string(stats, "last-copy-reason"), "");
  gst_structure_free(stats);
  gst_object_unref(sink);
}
GST_END_TEST

// No snapshot without a device: NULL, and a warning that says why.
GST_START_TEST(test_snapshot_before_start)
{
  GstElement *sink = make_sink();
  GstBus *bus = gst_bus_new();
  gst_element_set_bus(sink, bus);
  GstSample *sample = nullptr;
  g_signal_emit_by_name(sink, "snapshot", &sample);
  ck_assert(sample == nullptr);
  GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_WARNING);
  ck_assert(message != nullptr);
  gst_message_unref(message);
  gst_element_set_bus(sink, nullptr);
  gst_object_unref(bus);
  gst_object_unref(sink);
}
GST_END_TEST

// Queries and events that nobody should send, in NULL; tests/device/kms/kms_odd_queries.cpp has the other states.
GST_START_TEST(test_odd_queries)
{
  GstElement *sink = make_sink();
  GstPad *pad = gst_element_get_static_pad(sink, "sink");
  gstdrm::test::ask_everything(pad, gstdrm::test::could_be_sent);
  gstdrm::test::send_odd_events(pad);
  for (const gstdrm::test::OddCaps &row : gstdrm::test::kOddCaps)
    gstdrm::test::send_odd_caps(pad, row);
  gst_object_unref(pad);
  gst_object_unref(sink);
}
GST_END_TEST

static Suite *kmsdmabufsink_suite(void)
{
  Suite *s = suite_create("kmsdmabufsink");
  TCase *tc = tcase_create("without a device");
  suite_add_tcase(s, tc);
  tcase_add_loop_test(tc, test_template, 0, G_N_ELEMENTS(kTemplateRows));
  tcase_add_test(tc, test_template_order);
  tcase_add_test(tc, test_directions);
  tcase_add_loop_test(tc, test_open_errors, 0, G_N_ELEMENTS(kErrorRows));
  tcase_add_test(tc, test_descriptor_stays_the_applications);
  tcase_add_test(tc, test_properties);
  tcase_add_loop_test(tc, test_kmssink_names, 0, G_N_ELEMENTS(kKmssinkNames));
  tcase_add_test(tc, test_color_balance_before_start);
  tcase_add_test(tc, test_statistics_before_start);
  tcase_add_test(tc, test_snapshot_before_start);
  tcase_add_test(tc, test_odd_queries);
  return s;
}

GST_DRM_CHECK_MAIN(kmsdmabufsink)
