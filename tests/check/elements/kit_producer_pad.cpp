// SPDX-License-Identifier: LGPL-2.1-or-later
// A producer's source pad announces release fences in allocation queries, when it may, and gathers the constraints of all
// consumers.
#include <memory>
#include <new>
#include <set>
#include <string>

#include "support/check_main.hpp"

#include <gst/drm/drm.h>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/element/producer.hpp>
#include <gst/drm/gstdrm-private.hpp>

namespace {

using gstdrm::GstPtr;

// Answers allocation and latency queries, and says in an object's data whether the query has the announcement. States
// constraints as a consumer behind a tee does: in another query with the same caps.
gboolean answer(GstPad *pad, GstObject *parent, GstQuery *query) noexcept
{
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION && GST_QUERY_TYPE(query) != GST_QUERY_LATENCY)
    return gst_pad_query_default(pad, parent, query);
  const bool announced = GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION && gst_drm_query_has_release_fences(query);
  g_object_set_data(G_OBJECT(pad), "announced", GINT_TO_POINTER(announced));
  GstCaps *caps = nullptr;
  if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION)
    gst_query_parse_allocation(query, &caps, nullptr);
  if (caps) {
    const auto branch = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps, FALSE));
    g_autoptr(GstDrmConstraints) asked = gst_drm_constraints_new("consumer", nullptr);
    gst_query_add_drm_constraints(branch.get(), asked);
  }
  return TRUE;
}

// A source pad that announces, and the consumer that it is linked to.
class Link {
public:
  Link() : src_(new_pad("src", GST_PAD_SRC)), sink_(new_pad("sink", GST_PAD_SINK))
  {
    gst_pad_set_query_function(sink_.get(), answer);
    gst_pad_set_active(src_.get(), TRUE);
    gst_pad_set_active(sink_.get(), TRUE);
    fail_unless(gst_pad_link(src_.get(), sink_.get()) == GST_PAD_LINK_OK);
  }
  ~Link()
  {
    gst_pad_unlink(src_.get(), sink_.get());
    gst_pad_set_active(src_.get(), FALSE);
    gst_pad_set_active(sink_.get(), FALSE);
  }
  Link(const Link &) = delete;
  Link &operator=(const Link &) = delete;
  [[nodiscard]] GstPad *src() const { return src_.get(); }
  // Sends the query; true where the consumer saw the announcement.
  [[nodiscard]] bool announces(GstQuery *query)
  {
    const auto owned = GstPtr<GstQuery>::adopt(query);
    fail_unless(gst_pad_peer_query(src_.get(), query));
    return GPOINTER_TO_INT(g_object_get_data(G_OBJECT(sink_.get()), "announced")) != 0;
  }

private:
  static GstPtr<GstPad> new_pad(const char *name, GstPadDirection direction)
  {
    return GstPtr<GstPad>::adopt(GST_PAD(gst_object_ref_sink(gst_pad_new(name, direction))));
  }
  GstPtr<GstPad> src_, sink_;
};

GstQuery *allocation()
{
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_new_empty_simple("video/x-raw"));
  return gst_query_new_allocation(caps.get(), FALSE);
}

GST_START_TEST(test_always)
{
  Link link;
  fail_if(link.announces(allocation()));
  gstdrm::set_up_producer_pad(link.src());
  fail_unless(link.announces(allocation()));
  fail_if(link.announces(gst_query_new_latency()));
}
GST_END_TEST

// The answer is asked for with each query, and the callable goes with the pad.
GST_START_TEST(test_when)
{
  const auto kept = std::make_shared<bool>(false);
  {
    Link link;
    gstdrm::set_up_producer_pad(link.src(), [kept] { return *kept; });
    fail_if(link.announces(allocation()));
    *kept = true;
    fail_unless(link.announces(allocation()));
    fail_unless(kept.use_count() == 2);
  }
  fail_unless(kept.use_count() == 1);
}
GST_END_TEST

// How many constraints the answer has.
guint gathered(Link &link)
{
  const auto query = GstPtr<GstQuery>::adopt(allocation());
  fail_unless(gst_pad_peer_query(link.src(), query.get()));
  g_autoptr(GPtrArray) all = gst_query_get_drm_constraints(query.get());
  return all->len;
}

// Elements of one name in two bins are two consumers, and a name says in which bin.
GST_START_TEST(test_names)
{
  GstElement *pipeline = gst_parse_launch("bin.( name=left fakesink name=sink ) bin.( name=right fakesink name=sink ) fakesink name=sink", nullptr);
  fail_unless(pipeline != nullptr);
  const auto query = GstPtr<GstQuery>::adopt(allocation());
  std::set<std::string> names;
  GstIterator *sinks = gst_bin_iterate_recurse(GST_BIN(pipeline));
  gst_iterator_foreach(sinks, [](const GValue *item, gpointer data) {
    GstElement *element = GST_ELEMENT(g_value_get_object(item));
    gstdrm::Needs needs;
    needs.buffers_held = 4;
    if (!GST_IS_BIN(element))
      gstdrm::add_needs(element, static_cast<GstQuery *>(data), needs); }, query.get());
  gst_iterator_free(sinks);
  g_autoptr(GPtrArray) all = gst_query_get_drm_constraints(query.get());
  for (guint i = 0; i < all->len; ++i)
    names.insert(gst_drm_constraints_get_name(static_cast<GstDrmConstraints *>(all->pdata[i])));
  fail_unless((names == std::set<std::string>{"left/sink (fakesink)", "right/sink (fakesink)", "sink (fakesink)"}));
  g_autoptr(GstDrmConstraints) done = gst_drm_constraints_reconcile(all, nullptr);
  guint64 held = 0;
  fail_unless(gst_drm_constraints_get_range(done, GST_DRM_CONSTRAINT_BUFFERS_HELD, &held, nullptr));
  fail_unless_equals_uint64(held, 12);
  gst_object_unref(pipeline);
}
GST_END_TEST

// Also where release fences are not announced, and in a query without caps, which no consumer answers.
GST_START_TEST(test_constraints)
{
  for (const bool waits : {true, false}) {
    Link link;
    fail_unless_equals_int(gathered(link), 0);
    gstdrm::set_up_producer_pad(link.src(), [waits] { return waits; });
    fail_unless_equals_int(gathered(link), 1);
    fail_unless_equals_int(gathered(link), 1);
    fail_unless(link.announces(gst_query_new_allocation(nullptr, FALSE)) == waits);
  }
}
GST_END_TEST

// Each probe costs every caps query that passes the pad.
GST_START_TEST(test_one_probe)
{
  Link link;
  gstdrm::set_up_producer_pad(link.src());
  fail_unless_equals_int(link.src()->num_probes, 1);
}
GST_END_TEST

GST_START_TEST(test_exception)
{
  Link link;
  gstdrm::set_up_producer_pad(link.src(), []() -> bool { throw std::bad_alloc(); });
  fail_if(link.announces(allocation()));
  fail_unless_equals_int(gathered(link), 1);
}
GST_END_TEST

Suite *kit_producer_pad_suite()
{
  Suite *suite = suite_create("kit producer pad");
  TCase *tcase = tcase_create("producer pad");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_always);
  tcase_add_test(tcase, test_when);
  tcase_add_test(tcase, test_constraints);
  tcase_add_test(tcase, test_one_probe);
  tcase_add_test(tcase, test_exception);
  tcase_add_test(tcase, test_names);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_producer_pad)
