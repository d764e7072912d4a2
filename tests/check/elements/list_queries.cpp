// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps queries with a GPU's list as their filter, through every element that has both pads: the
// answer is what both sides have in common, and no list goes on as a filter, which the elements of
// GStreamer behind would intersect string by string.
#include <memory>
#include <string>

#include "support/dmabuf_elements.hpp"
#include "support/gpu_table.hpp"
#include "support/no_display_server.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

struct SetDeleter {
  void operator()(GstDrmFormatSet *set) const { gst_drm_format_set_unref(set); }
};
using SetPtr = std::unique_ptr<GstDrmFormatSet, SetDeleter>;

SetPtr set_of_table(const char *name)
{
  SetPtr set(gst_drm_format_set_new());
  for (const gstdrm::Format &format : load_gpu_table(name))
    gst_drm_format_set_add(set.get(), format.fourcc, format.modifier);
  return set;
}

// A pad that takes a table, and counts the filters with lists that it sees.
struct Peer {
  GstPtr<GstCaps> caps;
  int queries = 0;
  int lists = 0;
};

bool has_list(const GstCaps *caps)
{
  for (guint i = 0; caps && i < gst_caps_get_size(caps); i++) {
    const GValue *value = gst_structure_get_value(gst_caps_get_structure(caps, i), "drm-format");
    if (value && GST_VALUE_HOLDS_LIST(value))
      return true;
  }
  return false;
}

gboolean answer(GstPad *pad, GstObject *parent, GstQuery *query)
{
  auto &peer = *static_cast<Peer *>(g_object_get_data(G_OBJECT(pad), "peer"));
  if (GST_QUERY_TYPE(query) != GST_QUERY_CAPS)
    return gst_pad_query_default(pad, parent, query);
  GstCaps *filter = nullptr;
  gst_query_parse_caps(query, &filter);
  peer.queries++;
  peer.lists += has_list(filter) ? 1 : 0;
  const auto caps =
      filter ? GstPtr<GstCaps>::adopt(gst_drm_caps_intersect(filter, peer.caps.get())) : peer.caps;
  gst_query_set_caps_result(query, caps.get());
  return TRUE;
}

struct Row {
  const char *element;
  bool passes_pairs; // the same pairs on both sides
};

const Row kRows[] = {
    {"dmabufupload", true},       {"dmabufdownload", false},   {"drmtensordecode", true},
    {"drmoverlay", false}, // its template has the formats that it can draw on
    {"metisdmabufinfer", false},  {"vadmabufconvert", false}, {"egldmabufupload", false},
    {"egldmabufdownload", false}, {"dmabufrelabel", true},
};

GST_START_TEST(test_list_as_filter)
{
  const Row &row = kRows[__i__];
  GstElement *element = gst_element_factory_make(row.element, nullptr);
  if (!element) // not built
    return;
  gst_element_set_state(element, GST_STATE_READY); // in NULL an element answers with its template
  const SetPtr theirs = set_of_table("amd-navi31");
  const SetPtr wanted = set_of_table("amd-vangogh");
  for (const auto &[near, far] : {std::pair{"sink", "src"}, std::pair{"src", "sink"}}) {
    Peer peer{GstPtr<GstCaps>::adopt(gst_drm_format_set_to_caps(theirs.get()))};
    GstPad *other = gst_pad_new("peer", far[1] == 'r' ? GST_PAD_SINK : GST_PAD_SRC);
    g_object_set_data(G_OBJECT(other), "peer", &peer);
    gst_pad_set_query_function(other, answer);
    GstPad *end = gst_element_get_static_pad(element, far);
    fail_unless(GST_PAD_LINK_SUCCESSFUL(
        GST_PAD_IS_SRC(end) ? gst_pad_link_full(end, other, GST_PAD_LINK_CHECK_NOTHING)
                            : gst_pad_link_full(other, end, GST_PAD_LINK_CHECK_NOTHING)));
    GstPad *asked = gst_element_get_static_pad(element, near);
    const auto filter = GstPtr<GstCaps>::adopt(gst_drm_format_set_to_caps(wanted.get()));
    const auto caps = GstPtr<GstCaps>::adopt(gst_pad_query_caps(asked, filter.get()));
    fail_unless_equals_int(peer.lists, 0);
    const SetPtr found(gst_drm_format_set_new_from_caps(caps.get()));
    fail_unless(found != nullptr, "%s.%s answers with any format", row.element, near);
    fail_unless(gst_drm_format_set_is_subset(found.get(), wanted.get()), "%s.%s", row.element,
                near);
    if (row.passes_pairs) {
      const SetPtr common(gst_drm_format_set_intersect(theirs.get(), wanted.get()));
      const g_autofree gchar *text = gst_caps_to_string(caps.get());
      fail_unless(peer.queries > 0 && gst_drm_format_set_get_size(common.get()) == 67);
      fail_unless(gst_drm_format_set_is_subset(common.get(), found.get()), "%s.%s: %s", row.element,
                  near, text);
    }
    GST_PAD_IS_SRC(end) ? gst_pad_unlink(end, other) : gst_pad_unlink(other, end);
    gst_object_unref(asked);
    gst_object_unref(end);
    gst_object_unref(other);
  }
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
}
GST_END_TEST

Suite *list_queries_suite()
{
  use_no_display_server();
  Suite *suite = suite_create("list_queries");
  TCase *tcase = tcase_create("elements");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_list_as_filter, 0, G_N_ELEMENTS(kRows));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(list_queries)
