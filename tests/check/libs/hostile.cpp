// SPDX-License-Identifier: LGPL-2.1-or-later
// Every public function, one row each, is fed what no sane caller would give it: numbers out of range, structs that
// were never filled, metas that lie, descriptors that are none. Pointers are good, for a bad one is nobody's to check.
// Nothing may end the process or be said as CRITICAL (fatal here), and an error has a message.
#include "hostile_values.hpp"

namespace {

using namespace gstdrm::test;

const hostile::Rows &all_rows()
{
  static const hostile::Rows all = [] {
    hostile::Rows joined;
    for (auto *rows : {hostile::allocation_rows, hostile::constraint_rows, hostile::format_rows, hostile::frame_rows, hostile::source_rows, hostile::tensor_rows, hostile::video_info_rows})
      joined.insert(joined.end(), rows().begin(), rows().end());
    return joined;
  }();
  return all;
}

GST_START_TEST(test_row)
{
  const hostile::Row &row = all_rows().at(static_cast<std::size_t>(__i__));
  say(row.function);
  row.feed();
}
GST_END_TEST

Suite *hostile_suite()
{
  Suite *suite = suite_create("hostile");
  TCase *tcase = tcase_create("every public function");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_row, 0, static_cast<int>(all_rows().size()));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(hostile)
