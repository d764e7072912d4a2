// SPDX-License-Identifier: LGPL-2.1-or-later
// What GstBaseTransform's handler of queries leaves to elements with lists of formats.
#pragma once

#include <functional>

#include <gst/base/gstbasetransform.h>

namespace gstdrm {

// True for caps that a CAPS event could bring: fixed, and with all that a frame's layout needs.
bool can_be_set(const GstCaps *caps);

// Answers a CAPS query to an element in NULL with the pad's template; returns false for any other
// query. gst_parse_launch() links in NULL: where the answers of the neighbours made a link fail,
// gst-launch-1.0 would say "could not link" and no reason. What cannot work fails in PAUSED, where
// the element can say why.
bool answer_in_null(GstElement *element, GstPad *pad, GstQuery *query);

// The base class's answer to a query, except where that would be wrong: it warns of an answer to a
// CAPS query that it does not find in the filter, which may be the fault of the filter (a list in a
// list is not found in itself), and passes on caps that no CAPS event could bring, NULL among them.
// `settable` says whether one could bring them.
bool query_transform(GstBaseTransform *element, const GstBaseTransformClass *base,
                     GstPadDirection direction, GstQuery *query,
                     const std::function<bool(const GstCaps *caps)> &settable = can_be_set);

// Answers a CAPS query with a filter by what `ask` answers to one without, where that is true of
// `ask`. Elements on the way would intersect a list with a list string by string, which takes
// milliseconds for those of a GPU.
bool answer_without_filter(GstPadDirection direction, GstQuery *query,
                           const std::function<bool(GstQuery *whole)> &ask);

} // namespace gstdrm
