// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the property "stats" of elements and replaces the file.
#include "gst/statistics/statsfile.h"

#include <algorithm>
#include <cmath>

#include "gst/base/fileerror.h"
#include "gst/base/words.h"
#include "gst/statistics/statstext.h"

namespace keepbox {
namespace {

constexpr const char* kStatsHint =
    "write GST_TRACERS='keepboxstats(file=/var/lib/prometheus/node-exporter/front.prom,"
    "interval=10,source=front)'";
constexpr double kShortestInterval = 0.1, kLongestInterval = 86400;
constexpr int kReadable = 0644;  // other users read it

/// Returns the name of the outermost bin that an element is in.
std::string pipeline_of(GstElement* element) {
  auto* at = static_cast<GstObject*>(gst_object_ref(element));
  while (GstObject* parent = gst_object_get_parent(at)) {
    gst_object_unref(at);
    at = parent;
  }
  g_autofree gchar* name = gst_object_get_name(at);
  gst_object_unref(at);
  return name;
}

/// True for statistics of the element itself: GstBaseSink has a property of that name, too.
bool has_stats(GstElement* element) {
  GstElementFactory* factory = gst_element_get_factory(element);
  const char* plugin = factory == nullptr
                           ? nullptr
                           : gst_plugin_feature_get_plugin_name(GST_PLUGIN_FEATURE(factory));
  const GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), "stats");
  return plugin != nullptr && g_str_has_prefix(plugin, "keepbox") && spec != nullptr &&
         spec->owner_type == G_OBJECT_TYPE(element);
}

double interval_of(const GstStructure* params) {
  const GValue* value = gst_structure_get_value(params, "interval");
  GValue number = G_VALUE_INIT;
  g_value_init(&number, G_TYPE_DOUBLE);
  return value == nullptr                    ? 10
         : g_value_transform(value, &number) ? g_value_get_double(&number)
                                             : NAN;
}

Status replace_file(const std::string& file, const std::string& text) {
  g_autoptr(GError) error = nullptr;
  if (g_file_set_contents_full(file.c_str(), text.data(), static_cast<gssize>(text.size()),
                               G_FILE_SET_CONTENTS_CONSISTENT, kReadable, &error))
    return {};
  const std::string why = error->message;
  return file_error("Cannot write the statistics: " + why,
                    limit_hint(why, "set file= to a file in an existing, writable folder"));
}

}  // namespace

Result<StatsPlace> StatsPlace::parse(const std::string& params) {
  g_autoptr(GstStructure) read =
      gst_structure_from_string(("keepboxstats," + params).c_str(), nullptr);
  const char* file = read == nullptr ? nullptr : gst_structure_get_string(read, "file");
  if (file == nullptr)
    return reject(ErrorKind::kInvalid,
                  params.empty() ? "file= is not set" : "file= is not set in " + in_quotes(params),
                  kStatsHint);
  StatsPlace place;
  place.file = file;
  if (const char* source = gst_structure_get_string(read, "source")) place.source = source;
  const double interval = interval_of(read);
  if (!(interval >= kShortestInterval && interval <= kLongestInterval))
    return reject(ErrorKind::kInvalid,
                  "interval= is not a number of seconds from 0.1 to 86,400 in " + in_quotes(params),
                  kStatsHint);
  place.interval = std::chrono::duration<double>(interval);
  return place;
}

StatsFile::Watched::Watched(GstElement* element)
    : address(element), pipeline(pipeline_of(element)), frames(element) {
  g_weak_ref_init(&weak, element);
}

void StatsFile::watch(GstElement* element) {
  if (!has_stats(element)) return;
  const std::lock_guard lock(list_mutex_);
  // also a destroyed one that had the same address
  watched_.remove_if([&](const Watched& each) { return each.address == element; });
  watched_.emplace_back(element);
  if (!thread_.joinable())
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void StatsFile::write_soon() {
  const std::lock_guard lock(list_mutex_);
  due_ = true;
  changed_.notify_all();
}

std::vector<StatsFile::Element> StatsFile::elements() {
  std::vector<Element> found;
  const std::lock_guard lock(list_mutex_);
  watched_.remove_if([&](Watched& each) {
    auto* element = static_cast<GstElement*>(g_weak_ref_get(&each.weak));
    if (element != nullptr)
      found.push_back({element, each.pipeline, each.frames.frame_age(), each.frames.look_age()});
    return element == nullptr;
  });
  return found;
}

void StatsFile::write() {
  const std::lock_guard lock(file_mutex_);
  std::vector<ElementStats> stats;
  for (const auto& [element, pipeline, frame_age, look_age] : elements()) {
    GstStructure* values = nullptr;
    g_object_get(element, "stats", &values, nullptr);
    g_autofree gchar* name = gst_element_get_name(element);
    if (values != nullptr)
      stats.push_back({pipeline, name, GST_OBJECT_NAME(gst_element_get_factory(element)), values,
                       frame_age, look_age});
    gst_object_unref(element);
  }
  if (stats.empty()) return;
  const Status done = replace_file(place_.file, prometheus_text(stats, place_.source));
  for (const ElementStats& each : stats) gst_structure_free(const_cast<GstStructure*>(each.values));
  if (!done && !failed_) g_printerr("keepboxstats: %s\n", done.error().message().c_str());
  failed_ = !done;
}

void StatsFile::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(list_mutex_);
      changed_.wait_for(lock, stop, place_.interval, [this] { return due_; });
      due_ = false;
    }
    if (!stop.stop_requested()) write();
  }
}

}  // namespace keepbox
