// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of an element as the members of one struct, whose initial values are the defaults.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <type_traits>
#include <utility>

#include <gst/gst.h>

#include "properties.hpp"

namespace gstdrm {

constexpr auto kPlainProperty =
    static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
constexpr auto kReadyProperty = static_cast<GParamFlags>(kPlainProperty | GST_PARAM_MUTABLE_READY);
constexpr auto kPlayingProperty =
    static_cast<GParamFlags>(kPlainProperty | GST_PARAM_MUTABLE_PLAYING);

// What a property's values are limited to.
struct PropertyRange {
  double least = 0, most = 0; // of a number
  GType (*type)() = nullptr;  // of an enumeration
};

// One property, and how it is copied to the settings and back. The texts live as long as the class.
template <typename Settings> struct Property {
  GParamSpec *(*make_spec)(const Property &); // nullptr: the class installs it otherwise
  void (*set)(Settings &settings, const GValue *value);
  void (*get)(const Settings &settings, GValue *value);
  const char *name = nullptr, *nick = nullptr, *blurb = nullptr;
  GParamFlags flags = kReadyProperty;
  PropertyRange range{};
};

template <typename> struct OwnerOf;
template <typename S, typename V> struct OwnerOf<V S::*> {
  using Type = S;
};
template <typename T> struct ValueOf {
  using Type = T;
};
template <typename T> struct ValueOf<std::atomic<T>> {
  using Type = T;
};

// A member of the settings, named by the members that lead to it. It may be atomic.
template <auto first, auto... rest> struct MemberOf {
  using S = typename OwnerOf<decltype(first)>::Type;
  using Member = decltype(((std::declval<S &>().*first).*....*rest));
  using V = typename ValueOf<std::remove_reference_t<Member>>::Type; // of the property
  static auto &in(S &settings) { return ((settings.*first).*....*rest); }
  static const auto &in(const S &settings) { return ((settings.*first).*....*rest); }

  static void set(S &settings, const GValue *value)
  {
    auto &place = in(settings);
    if constexpr (std::is_same_v<V, std::string>) {
      const gchar *text = g_value_get_string(value);
      place = text && *text ? text : in(S{});
    } else if constexpr (std::is_same_v<V, bool>) {
      place = g_value_get_boolean(value) != FALSE;
    } else if constexpr (std::is_same_v<V, guint>) {
      place = g_value_get_uint(value);
    } else if constexpr (std::is_same_v<V, guint64>) {
      place = g_value_get_uint64(value);
    } else if constexpr (std::is_same_v<V, gint>) {
      place = g_value_get_int(value);
    } else if constexpr (std::is_same_v<V, gfloat>) {
      place = g_value_get_float(value);
    } else {
      static_assert(std::is_enum_v<V>);
      place = static_cast<V>(g_value_get_enum(value));
    }
  }

  static void get(const S &settings, GValue *value)
  {
    if constexpr (std::is_same_v<V, std::string>) {
      const std::string &text = in(settings);
      g_value_set_string(value, text.empty() ? nullptr : text.c_str());
    } else if constexpr (std::is_same_v<V, bool>) {
      g_value_set_boolean(value, in(settings));
    } else if constexpr (std::is_same_v<V, guint>) {
      g_value_set_uint(value, in(settings));
    } else if constexpr (std::is_same_v<V, guint64>) {
      g_value_set_uint64(value, in(settings));
    } else if constexpr (std::is_same_v<V, gint>) {
      g_value_set_int(value, in(settings));
    } else if constexpr (std::is_same_v<V, gfloat>) {
      g_value_set_float(value, in(settings));
    } else {
      const V number = in(settings);
      g_value_set_enum(value, static_cast<gint>(number));
    }
  }

  static GParamSpec *make_spec(const Property<S> &row)
  {
    const auto &[least, most, type] = row.range;
    const V initial = in(S{});
    if constexpr (std::is_same_v<V, std::string>) {
      return g_param_spec_string(row.name, row.nick, row.blurb,
                                 initial.empty() ? nullptr : initial.c_str(), row.flags);
    } else if constexpr (std::is_same_v<V, bool>) {
      return g_param_spec_boolean(row.name, row.nick, row.blurb, initial, row.flags);
    } else if constexpr (std::is_same_v<V, guint>) {
      return g_param_spec_uint(row.name, row.nick, row.blurb, static_cast<guint>(least),
                               static_cast<guint>(most), initial, row.flags);
    } else if constexpr (std::is_same_v<V, guint64>) { // of any size
      return g_param_spec_uint64(row.name, row.nick, row.blurb, 0, G_MAXUINT64, initial, row.flags);
    } else if constexpr (std::is_same_v<V, gint>) {
      return g_param_spec_int(row.name, row.nick, row.blurb, static_cast<gint>(least),
                              static_cast<gint>(most), initial, row.flags);
    } else if constexpr (std::is_same_v<V, gfloat>) {
      return g_param_spec_float(row.name, row.nick, row.blurb, static_cast<gfloat>(least),
                                static_cast<gfloat>(most), initial, row.flags);
    } else {
      gst_type_mark_as_plugin_api(type(), static_cast<GstPluginAPIFlags>(0));
      return g_param_spec_enum(row.name, row.nick, row.blurb, type(), static_cast<gint>(initial),
                               row.flags);
    }
  }
};

template <auto... path>
constexpr auto property(const char *name, const char *nick, const char *blurb, GParamFlags flags,
                        PropertyRange range = {})
{
  using Member = MemberOf<path...>;
  return Property<typename Member::S>{
      Member::make_spec, Member::set, Member::get, name, nick, blurb, flags, range};
}
// A property that install_common_properties() installs, or an interface has.
template <auto... path> constexpr auto common_property()
{
  using Member = MemberOf<path...>;
  return Property<typename Member::S>{nullptr, Member::set, Member::get};
}

// The ids of drm-stats, and of the property of a row.
constexpr guint kStatsId = 1;
template <std::size_t row> constexpr guint row_id = static_cast<guint>(row + 2);

template <typename Rows> void install_properties(GObjectClass *klass, const Rows &rows)
{
  for (std::size_t i = 0; i < rows.size(); i++)
    if (rows[i].make_spec)
      g_object_class_install_property(klass, static_cast<guint>(i) + 2, rows[i].make_spec(rows[i]));
}

// The row of a property's id; nullptr if there is none.
template <typename Rows> auto row_of(const Rows &rows, guint id) -> decltype(&rows[0])
{
  return id >= 2 && id - 2 < rows.size() ? &rows[id - 2] : nullptr;
}

// GObjectClass::set_property: change(set) calls set(settings) where no other thread changes them.
template <typename Rows, typename Change>
void set_property(GObject *object, const Rows &rows, guint id, const GValue *value,
                  GParamSpec *spec, const Change &change)
{
  const auto *row = row_of(rows, id);
  if (!row) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    return;
  }
  change([&](auto &settings) { row->set(settings, value); });
}

// GObjectClass::get_property of all but `drm-stats`.
template <typename Rows, typename Settings>
void get_property(GObject *object, const Rows &rows, guint id, GValue *value, GParamSpec *spec,
                  const Settings &settings)
{
  if (const auto *row = row_of(rows, id))
    row->get(settings, value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

// RAII: the lock of a GstObject.
class ObjectLock {
public:
  explicit ObjectLock(gpointer object) : object_(object) { GST_OBJECT_LOCK(object_); }
  ObjectLock(const ObjectLock &) = delete;
  ObjectLock &operator=(const ObjectLock &) = delete;
  ~ObjectLock() { GST_OBJECT_UNLOCK(object_); }

private:
  gpointer object_;
};

} // namespace gstdrm
