// SPDX-License-Identifier: LGPL-2.1-or-later
// What an application sees of an Error: domain, code and text of the message, once for one failure.
#include <gst/gst.h>

// With the macros of GStreamer, which errors.hpp forbids.
static void others_post(GstElement *element)
{
  GST_ELEMENT_ERROR(element, RESOURCE, FAILED, ("No context"), ("why"));
  GST_ELEMENT_FLOW_ERROR(element, GST_FLOW_NOT_LINKED);
}

#include <atomic>
#include <cerrno>
#include <string>

#include "support/check_main.hpp"
#include "support/threads.hpp"

#include <gst/drm/drm.h>
#include <gst/drm/element/errors.hpp>

namespace {

using gstdrm::Error;
using gstdrm::ErrorCode;

struct Row {
  const char *name;
  ErrorCode code;
  int sys_errno;
  GQuark (*domain)();
  gint bus_code;
  const char *advice = ""; // of what a process may not have more of
};

constexpr Row kRows[] = {
    {"unsupported", ErrorCode::Unsupported, 0, gst_core_error_quark, GST_CORE_ERROR_NEGOTIATION},
    {"caps", ErrorCode::Caps, 0, gst_core_error_quark, GST_CORE_ERROR_NEGOTIATION},
    {"layout", ErrorCode::Layout, 0, gst_stream_error_quark, GST_STREAM_ERROR_FORMAT},
    {"import, whatever the errno", ErrorCode::Import, EBUSY, gst_stream_error_quark, GST_STREAM_ERROR_FORMAT},
    {"no permission", ErrorCode::Device, EACCES, gst_resource_error_quark, GST_RESOURCE_ERROR_NOT_AUTHORIZED},
    {"not master", ErrorCode::Device, EPERM, gst_resource_error_quark, GST_RESOURCE_ERROR_NOT_AUTHORIZED},
    {"gone", ErrorCode::Device, ENODEV, gst_resource_error_quark, GST_RESOURCE_ERROR_NOT_FOUND},
    {"no node", ErrorCode::Device, ENOENT, gst_resource_error_quark, GST_RESOURCE_ERROR_NOT_FOUND},
    {"busy", ErrorCode::Device, EBUSY, gst_resource_error_quark, GST_RESOURCE_ERROR_BUSY},
    {"no memory", ErrorCode::Allocation, ENOMEM, gst_resource_error_quark, GST_RESOURCE_ERROR_FAILED,
     " Free memory, or raise the process's limit of it (ulimit -v)."},
    {"no descriptor", ErrorCode::Device, EMFILE, gst_resource_error_quark, GST_RESOURCE_ERROR_FAILED,
     " Raise the process's limit of open files (ulimit -n)."},
    {"no file", ErrorCode::Device, ENFILE, gst_resource_error_quark, GST_RESOURCE_ERROR_FAILED,
     " Raise the system's limit of open files (fs.file-max)."},
};

// An element whose messages are read.
struct Posting {
  GstElement *element = gst_element_factory_make("identity", nullptr);
  GstBus *bus = gst_bus_new();
  Posting() { gst_element_set_bus(element, bus); }
  ~Posting()
  {
    gst_element_set_bus(element, nullptr);
    gst_object_unref(bus);
    gst_object_unref(element);
  }
  // The text of the next error; empty: there is none.
  std::string next(GQuark domain, gint code)
  {
    GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    if (!message)
      return "";
    GError *error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    const GstStructure *details = nullptr;
    gst_message_parse_error_details(message, &details);
    fail_unless(details && g_str_equal(gst_structure_get_string(details, "text"), error->message));
    fail_unless(gst_structure_has_field_typed(details, "errno", G_TYPE_INT) &&
                gst_structure_has_field_typed(details, "code", G_TYPE_INT));
    fail_unless(g_error_matches(error, domain, code), "%s %d", g_quark_to_string(error->domain), error->code);
    std::string text = error->message;
    g_error_free(error);
    gst_message_unref(message);
    return text;
  }
};

GST_START_TEST(test_domain_and_code)
{
  const Row &row = kRows[__i__];
  gstdrm::test::say(row.name);
  Posting posting;
  gstdrm::post_error(posting.element, Error{row.code, "It failed.", row.sys_errno}, __i__ % 2 ? "Doing it" : nullptr);
  const std::string text = posting.next(row.domain(), row.bus_code);
  const std::string expected = std::string(__i__ % 2 ? "Doing it: It failed." : "It failed.") + row.advice;
  fail_unless_equals_string(text.c_str(), expected.c_str());
}
GST_END_TEST

// A path, or what a driver says of itself.
GST_START_TEST(test_any_bytes)
{
  Posting posting;
  gstdrm::post_error(posting.element, Error{ErrorCode::Device, "No /tmp/\xff\xc3.", 0});
  const std::string text = posting.next(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED);
  fail_unless(g_utf8_validate(text.c_str(), -1, nullptr), "%s", text.c_str());
  fail_unless(text.starts_with("No /tmp/") && text.ends_with("."), "%s", text.c_str());
}
GST_END_TEST

GST_START_TEST(test_once_per_failure)
{
  Posting posting;
  gstdrm::OncePerFailure once;
  const Error error{ErrorCode::Device, "It failed.", 0};
  for (int failure = 0; failure < 2; failure++) {
    once.post(posting.element, error);
    once.post(posting.element, error);
    fail_if(once.claim());
    fail_if(posting.next(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED).empty());
    fail_unless(posting.next(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED).empty());
    once.reset();
  }
  fail_unless(once.claim());
  fail_if(once.claim());
}
GST_END_TEST

struct Reentry {
  gstdrm::OncePerFailure *once;
  GstElement *element;
  int calls;
};

// A handler of the message that has the element fail again, and start again.
GstBusSyncReply fail_again(GstBus *, GstMessage *message, gpointer data) noexcept
{
  auto *reentry = static_cast<Reentry *>(data);
  if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_ERROR || reentry->calls++ > 0)
    return GST_BUS_PASS;
  const Error error{ErrorCode::Device, "It failed.", 0};
  reentry->once->post(reentry->element, error); // the same failure
  (void)reentry->once->claim();
  reentry->once->reset();
  reentry->once->post(reentry->element, error); // the next one
  return GST_BUS_PASS;
}

GST_START_TEST(test_handler_of_the_message)
{
  Posting posting;
  gstdrm::OncePerFailure once;
  Reentry reentry{&once, posting.element, 0};
  gst_bus_set_sync_handler(posting.bus, fail_again, &reentry, nullptr);
  once.post(posting.element, Error{ErrorCode::Device, "It failed.", 0});
  gst_bus_set_sync_handler(posting.bus, nullptr, nullptr, nullptr);
  fail_unless_equals_int(reentry.calls, 2);
  fail_if(once.claim());
  once.reset();
  fail_unless(once.claim());
}
GST_END_TEST

// The message is on the bus when any of the threads that notice a failure goes on.
GST_START_TEST(test_threads)
{
  Posting posting;
  gstdrm::OncePerFailure once;
  std::atomic<int> heard{0};
  const auto notice = [&] {
    once.post(posting.element, Error{ErrorCode::Device, "It failed.", 0});
    heard += gst_bus_have_pending(posting.bus);
  };
  gstdrm::test::at_once({notice, notice, notice, notice});
  fail_unless_equals_int(heard, 4);
  fail_if(posting.next(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED).empty());
  fail_unless(posting.next(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED).empty());
}
GST_END_TEST

struct Ending {
  gstdrm::OncePerFailure *once;
  std::atomic<bool> inside, waits_no_more;
  bool in_time;
};

// A handler of the message that ends the stream, and waits for its thread.
GstBusSyncReply end_stream(GstBus *, GstMessage *message, gpointer data) noexcept
{
  auto *ending = static_cast<Ending *>(data);
  if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_ERROR)
    return GST_BUS_PASS;
  ending->inside = true;
  g_usleep(20000); // the other thread waits by now, or will not
  ending->once->set_flushing(true);
  for (int ms = 0; ms < 3000 && !ending->waits_no_more; ms++)
    g_usleep(1000);
  ending->in_time = ending->waits_no_more;
  return GST_BUS_PASS;
}

GST_START_TEST(test_a_flush_ends_the_wait)
{
  Posting posting;
  gstdrm::OncePerFailure once;
  Ending ending{&once, {false}, {false}, false};
  gst_bus_set_sync_handler(posting.bus, end_stream, &ending, nullptr);
  const Error error{ErrorCode::Device, "It failed.", 0};
  gstdrm::test::at_once({[&] { once.post(posting.element, error); },
                         [&] {
                           while (!ending.inside)
                             g_usleep(1000);
                           once.post(posting.element, error); // the streaming thread
                           ending.waits_no_more = true;
                         }});
  gst_bus_set_sync_handler(posting.bus, nullptr, nullptr, nullptr);
  fail_unless(ending.in_time);
  fail_if(posting.next(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED).empty());
  fail_unless(posting.next(GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED).empty());
}
GST_END_TEST

GST_START_TEST(test_take_error)
{
  const Error taken = gstdrm::take_error(g_error_new_literal(GST_DRM_ERROR, GST_DRM_ERROR_IMPORT, "why"));
  fail_unless(taken.code == ErrorCode::Import);
  fail_unless_equals_string(taken.message.c_str(), "why");
  fail_unless(gstdrm::take_error(g_error_new_literal(GST_DRM_ERROR, GST_DRM_ERROR_IMPORT, "why"), ErrorCode::Caps).code ==
              ErrorCode::Caps);
  fail_unless(gstdrm::take_error(g_error_new_literal(GST_CORE_ERROR, 1, "why")).code == ErrorCode::Device);
}
GST_END_TEST

// Each part of a failure is in the text and in the details (docs/errors.md).
GST_START_TEST(test_parts)
{
  Posting posting;
  GstCaps *caps = gst_caps_new_empty_simple("video/x-raw");
  gstdrm::Failure failure({GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT}, "a \xff fails", Error{ErrorCode::Layout, "It is odd", EINVAL});
  failure.advise("Make it even.").add_property("zero-copy", "require").add("buffers", 7).add("sender", "s \xff").add("caps", caps);
  failure.add("device", "").add("taken-caps", static_cast<GstCaps *>(nullptr)); // no value, no field
  gstdrm::post_failure(posting.element, failure);
  gst_caps_unref(caps);
  GstMessage *message = gst_bus_pop_filtered(posting.bus, GST_MESSAGE_ERROR);
  const GstStructure *details = nullptr;
  gst_message_parse_error_details(message, &details);
  fail_unless_equals_string(gst_structure_get_name(details), "GstDrmFailure");
  fail_unless_equals_string(gst_structure_get_string(details, "text"), "a \uFFFD fails: It is odd. Make it even.");
  fail_unless_equals_string(gst_structure_get_string(details, "reason"), "It is odd");
  fail_unless_equals_string(gst_structure_get_string(details, "advice"), "Make it even.");
  fail_unless_equals_string(gst_structure_get_string(details, "property"), "zero-copy");
  fail_unless_equals_string(gst_structure_get_string(details, "value"), "require");
  fail_unless_equals_string(gst_structure_get_string(details, "sender"), "s \uFFFD");
  gint code = 0;
  gint number = 0;
  guint64 buffers = 0;
  fail_unless(gst_structure_get(details, "code", G_TYPE_INT, &code, "errno", G_TYPE_INT, &number, "buffers", G_TYPE_UINT64, &buffers, nullptr));
  fail_unless(code == GST_DRM_ERROR_LAYOUT && number == EINVAL && buffers == 7);
  fail_unless(gst_structure_has_field_typed(details, "caps", GST_TYPE_CAPS));
  fail_unless_equals_int(gst_structure_n_fields(details), 10);
  gst_message_unref(message);
}
GST_END_TEST

// What a base class of GStreamer says, and what the element says in its place.
GST_START_TEST(test_base_class)
{
  Posting posting;
  GstMessage *messages[3];
  others_post(posting.element);
  gstdrm::post_error(posting.element, Error{ErrorCode::Device, "It failed.", 0});
  for (GstMessage *&message : messages)
    message = gst_bus_pop_filtered(posting.bus, GST_MESSAGE_ERROR);
  const auto plain = gstdrm::base_error_in(posting.element, messages[0]);
  fail_unless(plain && plain->text == "No context" && plain->flow == GST_FLOW_OK);
  fail_unless(plain->on_bus.domain == GST_RESOURCE_ERROR && plain->on_bus.code == GST_RESOURCE_ERROR_FAILED);
  const auto flow = gstdrm::base_error_in(posting.element, messages[1]);
  fail_unless(flow && flow->flow == GST_FLOW_NOT_LINKED);
  fail_unless(!gstdrm::base_error_in(posting.element, messages[2]) && gstdrm::is_own_error(posting.element, messages[2]));
  GstElement *other = gst_element_factory_make("identity", nullptr);
  for (GstMessage *message : messages) {
    fail_unless(!gstdrm::base_error_in(other, message) && !gstdrm::is_own_error(other, message)); // passed on by a bin
    gst_message_unref(message);
  }
  gst_object_unref(other);
  GstPad *src = gst_element_get_static_pad(posting.element, "src");
  gstdrm::post_failure(posting.element, gstdrm::stopped_stream(posting.element, src, GST_FLOW_NOT_LINKED));
  fail_unless(posting.next(GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED).ends_with("Link its source pad to an element that takes video."));
  gst_object_unref(src);
}
GST_END_TEST

Suite *kit_errors_suite()
{
  Suite *suite = suite_create("kit errors");
  TCase *tcase = tcase_create("errors on the bus");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_domain_and_code, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tcase, test_any_bytes);
  tcase_add_test(tcase, test_once_per_failure);
  tcase_add_test(tcase, test_handler_of_the_message);
  tcase_add_test(tcase, test_threads);
  tcase_add_test(tcase, test_a_flush_ends_the_wait);
  tcase_add_test(tcase, test_take_error);
  tcase_add_test(tcase, test_parts);
  tcase_add_test(tcase, test_base_class);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_errors)
