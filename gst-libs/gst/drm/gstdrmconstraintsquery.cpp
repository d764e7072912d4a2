// SPDX-License-Identifier: LGPL-2.1-or-later
// Carries the constraints of consumers to their producer, as entries in the answer to the
// allocation query.
//
// A tee makes a query of its own for each branch, with the same caps object, and drops entries
// whose parameters differ (gsttee.c). So a producer that gathers constraints gives its query a copy
// of the caps, and a list on that copy: a GstMiniObject that every branch sees, and no other
// producer's query has. Consumers add their constraints to the list; the probe adds the list to the
// answer, and puts the caps back.
//
// A tee gives up at the first branch that does not answer (a fakesink), and a query that fails
// calls no probe. The list is then still on the caps: gst_query_get_drm_constraints() reads it
// there, and asks the branches that the tee did not ask.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/ordered_mutex.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmconstraints-private.hpp"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gstdrm::library_debug_category()

namespace {

// Name and field of the parameters (docs/buffers.md).
constexpr const char *kConstraintsStructure = "GstDrmConstraints";
constexpr const char *kConstraintsField = "constraints";

struct Freed {
  void operator()(GstDrmConstraints *constraints) const { gst_drm_constraints_free(constraints); }
};
using ConstraintsPtr = std::unique_ptr<GstDrmConstraints, Freed>;

// What one producer's query has gathered.
struct Gathering {
  Gathering(GstPad *from, GstCaps *caps) : asked(gstdrm::GstPtr<GstCaps>::share(caps))
  {
    g_weak_ref_init(&pad, from);
  }
  Gathering(const Gathering &) = delete;
  Gathering &operator=(const Gathering &) = delete;
  ~Gathering() { g_weak_ref_clear(&pad); }

  GWeakRef pad;                  // of the producer; weak, for anybody may keep the caps
  gstdrm::GstPtr<GstCaps> asked; // the caps that the query had, perhaps those of another gathering
  std::vector<ConstraintsPtr> found;
  bool has_asked_all = false; // also the branches that a tee left out
};

// Guards the lists on all caps. One lock suffices, because the lists are few and short.
gstdrm::OrderedMutex &gatherings_lock()
{
  static gstdrm::OrderedMutex lock(gstdrm::kLeafLockRank, "gatherings_lock()");
  return lock;
}

GQuark gathering_quark() noexcept
{
  static const GQuark quark = g_quark_from_static_string("GstDrmConstraintsGathering");
  return quark;
}

GstCaps *caps_of(GstQuery *query)
{
  GstCaps *caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  return caps;
}

bool is_same(const GstDrmConstraints *a, const GstDrmConstraints *b)
{
  return !a->values.name.empty() && a->values == b->values;
}

GType constraints_api_type()
{
  // Of the memory: an element that makes buffers of its own (videoconvert) takes such entries out
  // of the answer before it passes the others on (gst_base_transform_default_decide_allocation()).
  static const gchar *tags[] = {GST_META_TAG_MEMORY_STR, nullptr};
  static const GType type = gst_meta_api_type_register("GstDrmConstraintsAPI", tags);
  return type;
}

void add_entry(GstQuery *query, const GstDrmConstraints *constraints)
{
  GstStructure *params = gst_structure_new(kConstraintsStructure, kConstraintsField,
                                           GST_TYPE_DRM_CONSTRAINTS, constraints, nullptr);
  gst_query_add_allocation_meta(query, constraints_api_type(), params);
  gst_structure_free(params);
}

const GstDrmConstraints *entry_at(GstQuery *query, guint index)
{
  const GstStructure *params = nullptr;
  if (gst_query_parse_nth_allocation_meta(query, index, &params) != constraints_api_type() ||
      !params)
    return nullptr;
  const GValue *value = gst_structure_get_value(params, kConstraintsField);
  return value && G_VALUE_HOLDS(value, GST_TYPE_DRM_CONSTRAINTS)
             ? static_cast<const GstDrmConstraints *>(g_value_get_boxed(value))
             : nullptr;
}

bool has_entry(GstQuery *query, const GstDrmConstraints *constraints)
{
  for (guint i = 0; i < gst_query_get_n_allocation_metas(query); ++i)
    if (const GstDrmConstraints *entry = entry_at(query, i); entry && is_same(entry, constraints))
      return true;
  return false;
}

// With gatherings_lock() held.
Gathering *gathering_on(GstCaps *caps) noexcept
{
  return static_cast<Gathering *>(
      gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(caps), gathering_quark()));
}

void add_once(Gathering &gathering, const GstDrmConstraints *constraints)
{
  // one more than a reconciliation takes, so that too many become a conflict and are not left out
  if (gathering.found.size() > gstdrm::kMaxAccessors)
    return;
  const auto known =
      std::any_of(gathering.found.begin(), gathering.found.end(),
                  [&](const ConstraintsPtr &other) { return is_same(other.get(), constraints); });
  if (!known)
    gathering.found.emplace_back(std::make_unique<GstDrmConstraints>(*constraints).release());
}

// Adds to the list of the query that has these caps, and to those of producers further upstream
// that the query came from: an answer may not reach them.
void leave_on(GstCaps *caps, const GstDrmConstraints *constraints)
{
  const std::lock_guard guard(gatherings_lock());
  for (Gathering *gathering = gathering_on(caps); gathering;
       gathering = gathering_on(gathering->asked.get()))
    add_once(*gathering, constraints);
}

void replace_caps(GstQuery *query, GstCaps *caps)
{
  gst_structure_set(gst_query_writable_structure(query), "caps", GST_TYPE_CAPS, caps, nullptr);
}

// A query that is never answered keeps the copy, and its list goes with it.
void begin_gathering(GstPad *pad, GstQuery *query, GstCaps *caps)
{
  if (!gst_query_is_writable(query))
    return;
  const auto copy = gstdrm::GstPtr<GstCaps>::adopt(gst_caps_copy(caps));
  auto gathering = std::make_unique<Gathering>(pad, caps);
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(copy.get()), gathering_quark(),
                            gathering.release(), [](gpointer data) noexcept {
                              std::default_delete<Gathering>()(static_cast<Gathering *>(data));
                            });
  replace_caps(query, copy.get());
}

// Adds what consumers have left to the answer.
void end_gathering(GstQuery *query, GstCaps *caps)
{
  std::unique_ptr<Gathering> gathering;
  {
    const std::lock_guard guard(gatherings_lock());
    gathering.reset(static_cast<Gathering *>(
        gst_mini_object_steal_qdata(GST_MINI_OBJECT_CAST(caps), gathering_quark())));
  }
  if (!gathering || !gst_query_is_writable(query))
    return;
  replace_caps(query, gathering->asked.get());
  for (const ConstraintsPtr &one : gathering->found)
    if (!has_entry(query, one.get()))
      add_entry(query, one.get());
}

using PadPtr = gstdrm::GstPtr<GstPad>;

struct FreeIterator {
  void operator()(GstIterator *iterator) const noexcept { gst_iterator_free(iterator); }
};

// What an iterator gives: unset at its end.
class Item {
public:
  Item() = default;
  Item(const Item &) = delete;
  Item &operator=(const Item &) = delete;
  ~Item()
  {
    if (G_IS_VALUE(&value))
      g_value_unset(&value);
  }
  GValue value = G_VALUE_INIT;
};

// Where a buffer that enters by this pad may leave.
std::vector<PadPtr> ways_on(GstPad *sink)
{
  std::vector<PadPtr> pads;
  const std::unique_ptr<GstIterator, FreeIterator> iterator(gst_pad_iterate_internal_links(sink));
  Item item;
  while (iterator) {
    switch (gst_iterator_next(iterator.get(), &item.value)) {
    case GST_ITERATOR_OK:
      pads.push_back(PadPtr::share(GST_PAD(g_value_get_object(&item.value))));
      g_value_reset(&item.value);
      break;
    case GST_ITERATOR_RESYNC:
      pads.clear();
      gst_iterator_resync(iterator.get());
      break;
    default:
      return pads;
    }
  }
  return pads;
}

// An element that sends other caps on sends buffers of its own.
bool passes_buffers_on(GstPad *src, const GstCaps *caps)
{
  const auto sent = gstdrm::GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(src));
  return sent && gst_caps_is_equal(sent.get(), caps);
}

void ask_within(GstPad *src, GstCaps *caps, int most_elements)
{
  const auto peer = PadPtr::adopt(gst_pad_get_peer(src));
  if (!peer || most_elements == 0)
    return;
  const std::vector<PadPtr> pads = ways_on(peer.get());
  for (const PadPtr &pad : pads) {
    if (!passes_buffers_on(pad.get(), caps))
      continue;
    const auto query = gstdrm::GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps, FALSE));
    if (pads.size() == 1 || !gst_pad_peer_query(pad.get(), query.get()))
      ask_within(pad.get(), caps, most_elements - 1);
  }
}

// Asks every branch behind `src`, a producer's pad, with allocation queries of its own. Each leaves
// its constraints on `caps`. A tee asks none after the first one that does not answer (gsttee.c,
// gst_tee_query_allocation()).
void ask_branches(GstPad *src, GstCaps *caps)
{
  constexpr int kMostElements = 64; // in a row
  ask_within(src, caps, kMostElements);
}

// After a query that failed.
void ask_all_branches(GstCaps *caps)
{
  gstdrm::GstPtr<GstPad> pad;
  {
    const std::lock_guard guard(gatherings_lock());
    Gathering *gathering = gathering_on(caps);
    if (!gathering || std::exchange(gathering->has_asked_all, true))
      return;
    pad = gstdrm::GstPtr<GstPad>::adopt(static_cast<GstPad *>(g_weak_ref_get(&gathering->pad)));
  }
  if (pad)
    ask_branches(pad.get(), caps);
}

// Adds what is on the caps of a query that failed.
void take_from_caps(GstQuery *query, GstCaps *caps, GPtrArray *all)
{
  ask_all_branches(caps);
  const std::lock_guard guard(gatherings_lock());
  const Gathering *gathering = gathering_on(caps);
  for (std::size_t i = 0; gathering && i < gathering->found.size(); ++i)
    if (!has_entry(query, gathering->found[i].get()))
      g_ptr_array_add(all, std::make_unique<GstDrmConstraints>(*gathering->found[i]).release());
}

// What a producer adds to its own allocation queries. Any thread that sends a query calls it.
struct BeforeQuery {
  GstDrmQueryFunc call; // may be null
  gpointer user_data;
  GDestroyNotify notify;
};

void free_before_query(gpointer data) noexcept
{
  const std::unique_ptr<BeforeQuery> before(static_cast<BeforeQuery *>(data));
  if (before->notify)
    before->notify(before->user_data);
}

// Before the query leaves the pad, and after its answer is back. Every query of the pad gets here,
// most of them caps queries, so this is the pad's only probe.
GstPadProbeReturn on_any_query(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  const bool leaves = (info->type & GST_PAD_PROBE_TYPE_PUSH) != 0;
  if (const auto *before = static_cast<const BeforeQuery *>(data); leaves && before->call)
    before->call(query, before->user_data);
  GstCaps *caps = caps_of(query);
  if (!caps)
    return GST_PAD_PROBE_OK;
  if (leaves)
    begin_gathering(pad, query, caps);
  else
    end_gathering(query, caps);
  return GST_PAD_PROBE_OK;
}

} // namespace

/**
 * gst_query_add_drm_constraints:
 * @query: (transfer none): a writable allocation query, in a consumer's answer to it
 * @constraints: (transfer none): what the consumer asks of the buffers; copied
 *
 * A consumer says what it asks of buffers beyond their caps. Give each consumer a name of its own:
 * the same constraints under the same name count once.
 *
 * Adds an entry of the type `GstDrmConstraintsAPI` with the parameters `GstDrmConstraints,
 * constraints=…`. Elements that know nothing of it pass it on or leave it out; it asks for no meta
 * on buffers. A tee leaves it out, but a producer that gathers constraints has it all the same, see
 * gst_drm_pad_gather_constraints().
 *
 * Since: 0.1
 */
void gst_query_add_drm_constraints(GstQuery *query, const GstDrmConstraints *constraints) noexcept
try {
  g_return_if_fail(GST_IS_QUERY(query));
  g_return_if_fail(GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION);
  g_return_if_fail(constraints != nullptr);

  if (!has_entry(query, constraints))
    add_entry(query, constraints);
  if (GstCaps *caps = caps_of(query))
    leave_on(caps, constraints);
} catch (...) {
  gstdrm::caught(__func__);
}

/**
 * gst_query_get_drm_constraints:
 * @query: (transfer none): an answered allocation query
 *
 * Reads what gst_query_add_drm_constraints() added. A producer adds its own to the array and calls
 * gst_drm_constraints_reconcile().
 *
 * Call it also where the query failed: a tee fails it at the first branch that does not answer, and
 * the other branches may have constraints all the same. If the query left a pad with
 * gst_drm_pad_gather_constraints(), the branches that the tee did not ask are asked now.
 *
 * Returns: (transfer container) (element-type GstDrmConstraints): the constraints of every consumer
 * that stated any, which the array owns; empty where none did
 *
 * Since: 0.1
 */
GPtrArray *gst_query_get_drm_constraints(GstQuery *query) noexcept
try {
  g_return_val_if_fail(GST_IS_QUERY(query), nullptr);
  g_return_val_if_fail(GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION, nullptr);

  g_autoptr(GPtrArray) all =
      g_ptr_array_new_with_free_func(reinterpret_cast<GDestroyNotify>(gst_drm_constraints_free));
  for (guint i = 0; i < gst_query_get_n_allocation_metas(query); ++i)
    if (const GstDrmConstraints *entry = entry_at(query, i))
      if (GstDrmConstraints *copy = gst_drm_constraints_copy(entry))
        g_ptr_array_add(all, copy);
  if (GstCaps *caps = caps_of(query))
    take_from_caps(query, caps, all);
  return g_steal_pointer(&all);
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_pad_gather_constraints:
 * @pad: the source #GstPad of a producer
 * @before: (nullable) (scope notified) (closure user_data) (destroy notify): called with each
 *   allocation query before it leaves @pad
 * @user_data: for @before
 * @notify: (nullable): frees @user_data with the probe; not called where 0 is returned
 *
 * Has the answers to allocation queries that leave @pad hold the constraints of all consumers, also
 * of those behind a tee, which leaves out what its branches say differently. Call it once for a
 * pad, before its first query. Where a tee fails the query, gst_query_get_drm_constraints() has
 * them all the same.
 *
 * A producer that adds to its allocation queries, by gst_drm_query_announce_release_fences() for
 * instance, does that in @before: one probe for both costs the caps queries that pass @pad less
 * than two probes.
 *
 * Returns: the id of a pad probe, for gst_pad_remove_probe(); 0 where memory is exhausted
 *
 * Since: 0.1
 */
gulong gst_drm_pad_gather_constraints(GstPad *pad, GstDrmQueryFunc before, gpointer user_data,
                                      GDestroyNotify notify) noexcept
try {
  g_return_val_if_fail(GST_IS_PAD(pad), 0);
  g_return_val_if_fail(GST_PAD_IS_SRC(pad), 0);

  const auto mask = static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM |
                                                 GST_PAD_PROBE_TYPE_PUSH | GST_PAD_PROBE_TYPE_PULL);
  auto data = std::make_unique<BeforeQuery>(BeforeQuery{before, user_data, notify});
  return gst_pad_add_probe(pad, mask, gstdrm::logging<on_any_query>, data.release(), free_before_query);
} catch (...) {
  return gstdrm::caught(gulong{0}, __func__);
}
