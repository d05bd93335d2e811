// SPDX-License-Identifier: LGPL-2.1-or-later
// Code that every element needs: its state as a C++ object, its properties, and its own errors.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <source_location>

#include "core/base/result.h"
#include "core/formula/letterbox.h"
#include "gst/base/props.h"

namespace keepbox {

// Default names of elements.

/// Names instances that are created without a name after their factory: "boxdecode0", "boxdecode1"
/// and so on. GStreamer uses the type's name, and drops only its own prefix. To be called in
/// class_init. @pre no parent class has called it.
void name_by_factory(gpointer klass);

}  // namespace keepbox

namespace keepbox {

/// The instance of an element for G_DEFINE_TYPE: the parent's instance, and a state that lives as
/// long as the element. A State with set() and get() as in TableProps gets the element's
/// properties, under the object lock.
template <class ParentInstance, class State>
struct Instance {
  ParentInstance parent;
  State* state;

  static Instance* cast(gpointer object) { return static_cast<Instance*>(object); }
  static State& of(gpointer object) { return *cast(object)->state; }

  /// Makes the state, which may take the element. To be called by the type's init function.
  void make_state() {
    if constexpr (std::constructible_from<State, GstElement*>) state = new State(GST_ELEMENT(this));
    else state = new State();
  }

  /// Returns the parent's class, for functions that extend the parent's own.
  template <class Class>
  static Class* parent_as() {
    return static_cast<Class*>(parent_class);
  }

  /// Sets the functions of the class and its name_by_factory(). To be called by the type's
  /// class_init function.
  static void set_up(gpointer klass) {
    name_by_factory(klass);
    parent_class = g_type_class_peek_parent(klass);
    auto* object = G_OBJECT_CLASS(klass);
    object->finalize = finalize;
    if constexpr (requires { &State::set; }) {
      object->set_property = set_property;
      object->get_property = get_property;
    }
  }

 private:
  static inline gpointer parent_class = nullptr;

  static void finalize(GObject* object) {
    delete cast(object)->state;
    G_OBJECT_CLASS(parent_class)->finalize(object);
  }

  static void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
    GST_OBJECT_LOCK(object);
    const bool known = of(object).set(id, value);
    GST_OBJECT_UNLOCK(object);
    if (!known) G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }

  static void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
    GST_OBJECT_LOCK(object);
    const bool known = of(object).get(id, value);
    GST_OBJECT_UNLOCK(object);
    if (!known) G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
};

/// The base of a State whose properties are a table.
/// @tparam table function that returns the PropertyTable<Props>.
template <class Props, const PropertyTable<Props>& (*table)()>
struct TableProps {
  Props props;  // under the object lock

  /// Installs the properties and returns the first free id.
  static guint install(GObjectClass* klass) { return table().install(klass); }
  /// Sets or gets a property. @return false for an unknown id. @pre the object lock is held
  bool set(guint id, const GValue* value) { return table().set(props, id, value); }
  bool get(guint id, GValue* value) const { return table().get(props, id, value); }
};

/// Installs the read-only property "stats", a GstStructure, with the next free id.
void install_stats(GObjectClass* klass, guint id, const char* blurb);

/// A TableProps with the read-only property "stats", of a Stats that has structure().
template <class Props, const PropertyTable<Props>& (*table)(), class Stats>
struct CountedProps : TableProps<Props, table> {
  Stats stats;  // under the object lock

  static void install(GObjectClass* klass, const char* blurb) {
    install_stats(klass, TableProps<Props, table>::install(klass), blurb);
  }
  static bool is_stats(guint id) { return id == table().size() + 1; }
  bool get(guint id, GValue* value) const {
    if (!is_stats(id)) return TableProps<Props, table>::get(id, value);
    g_value_take_boxed(value, stats.structure());
    return true;
  }
};

/// Sets what gst-inspect-1.0 shows of an element.
/// @param kind its place among GStreamer's elements, such as "Filter/Analyzer/Video".
void describe(gpointer klass, const char* name, const char* kind, const char* description);

/// Adds the pad of a template to an element, and returns it.
GstPad* add_pad(GstElement* element, const char* name);

/// Copies a value under the element's object lock.
template <class T>
T locked_copy(gpointer element, const T& value) {
  GST_OBJECT_LOCK(element);
  T copy = value;
  GST_OBJECT_UNLOCK(element);
  return copy;
}

/// An error that an element posted, after which its stream is to stop. For the streaming thread.
class PostedError {
 public:
  /// Posts the error.
  void post(GstElement* element, const Error& error,
            std::source_location where = std::source_location::current());
  /// Posts the error of a status that has one. @return false if it has one.
  bool check(GstElement* element, const Status& status,
             std::source_location where = std::source_location::current());
  void clear() { posted_ = false; }
  explicit operator bool() const { return posted_; }

  /// Takes an EOS after the error, because it would declare a stream complete that is not: files
  /// downstream are truncated. A flush clears the error.
  /// @return true if it took the event, which then is transfer full.
  bool take(GstEvent* event);

 private:
  bool posted_ = false;
};

}  // namespace keepbox

/// Defines the GObject type of an instance with keepbox::State, and `Self` for its functions.
#define KEEPBOX_DEFINE_TYPE(Type, type, Parent, PARENT_TYPE) \
  using Type = keepbox::Instance<Parent, keepbox::State>;    \
  using Type##Class = Parent##Class;                         \
  GType type##_get_type();                                   \
  G_DEFINE_TYPE(Type, type, PARENT_TYPE)                     \
  namespace {                                                \
  using Self = Type;                                         \
  }

/// Defines the type of an element that applications make by the name of its factory.
#define KEEPBOX_DEFINE_ELEMENT(factory, Type, type, Parent, PARENT_TYPE) \
  KEEPBOX_DEFINE_TYPE(Type, type, Parent, PARENT_TYPE)                   \
  GST_ELEMENT_REGISTER_DEFINE(factory, #factory, GST_RANK_NONE, type##_get_type())

// The elements of this plugin.

G_BEGIN_DECLS

GST_ELEMENT_REGISTER_DECLARE(boxcount)
GST_ELEMENT_REGISTER_DECLARE(boxdecode)
GST_ELEMENT_REGISTER_DECLARE(boxoverlay)
GST_ELEMENT_REGISTER_DECLARE(boxpublish)
GST_ELEMENT_REGISTER_DECLARE(boxsink)
GST_ELEMENT_REGISTER_DECLARE(boxtrack)
GST_ELEMENT_REGISTER_DECLARE(classdecode)
GST_ELEMENT_REGISTER_DECLARE(framerestore)
GST_ELEMENT_REGISTER_DECLARE(framesave)
GST_ELEMENT_REGISTER_DECLARE(tensorinfer)
GST_ELEMENT_REGISTER_DECLARE(tensorrecord)
GST_ELEMENT_REGISTER_DECLARE(tensorreplay)

G_END_DECLS

namespace keepbox {

// Running times of frames, also of those without timestamps.

/// Returns the interval of frames in ns by their caps; 0 if it varies.
int64_t interval_of(const GstCaps* caps);

/// Returns the running time of a frame in ns; without one, that of the next frame after `last`.
/// @param interval of frames in ns; 0: that of 30 frames per second
int64_t running_time_after(int64_t last, int64_t interval, const GstSegment& segment,
                           GstBuffer* buffer);

// Caps of elements that accept any video, and the picture size from caps.

/// Returns size, pixel aspect ratio and chroma of fixed video caps of any format and memory;
/// std::nullopt if they lack a size.
std::optional<Picture> picture_of(const GstCaps* caps);

Picture picture_of(const GstVideoInfo& info);

/// Reads the size of fixed video caps. @return false if they lack one.
bool read_size(const GstCaps* caps, Size& size);

/// Adds pad templates "sink" and "src" with these caps.
void add_templates(gpointer klass, GstCaps* caps, GstPadPresence sink = GST_PAD_ALWAYS);
/// Adds pad templates "sink" and "src" for video of any format and memory.
void add_video_templates(gpointer klass, GstPadPresence sink = GST_PAD_ALWAYS);

}  // namespace keepbox
