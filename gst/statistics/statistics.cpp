// SPDX-License-Identifier: LGPL-2.1-or-later
// Statistics of all elements, in a file for Prometheus.
#include "gst/statistics/statistics.h"

#include <gst/gsttracer.h>

#include <algorithm>
#include <atomic>
#include <format>
#include <map>
#include <optional>
#include <set>

#include "core/base/infile.h"
#include "core/base/text.h"
#include "gst/metas/skippedmodels.h"

namespace {

struct StatsTracer {
  GstTracer parent;
  keepbox::StatsFile* file;  // nullptr if parameters are wrong
};
using StatsTracerClass = GstTracerClass;

GType stats_tracer_get_type();
G_DEFINE_TYPE(StatsTracer, stats_tracer, GST_TYPE_TRACER)

StatsTracer* self_of(gpointer object) { return static_cast<StatsTracer*>(object); }

/// Adds an element when it starts, because it is in its pipeline by then. Writes the last values
/// before a pipeline stops, while elements still have them.
void before_change(GObject* object, GstClockTime, GstElement* element, GstStateChange change) {
  keepbox::StatsFile& file = *self_of(object)->file;
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED) file.watch(element);
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY && GST_IS_PIPELINE(element)) file.write();
}

/// Has the first values written when all elements of a pipeline have started, so that readers need
/// not wait for the first interval.
void after_change(GObject* object, GstClockTime, GstElement* element, GstStateChange change,
                  GstStateChangeReturn result) {
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED && GST_IS_PIPELINE(element) &&
      result != GST_STATE_CHANGE_FAILURE)
    self_of(object)->file->write_soon();
}

void constructed(GObject* object) {
  G_OBJECT_CLASS(stats_tracer_parent_class)->constructed(object);
  g_autofree gchar* params = nullptr;
  g_object_get(object, "params", &params, nullptr);
  auto place = keepbox::StatsPlace::parse(params == nullptr ? "" : params);
  if (!place) {
    g_printerr("keepboxstats: %s\n", place.error().message().c_str());
    return;
  }
  self_of(object)->file = new keepbox::StatsFile(*std::move(place));
  gst_tracing_register_hook(GST_TRACER(object), "element-change-state-pre",
                            G_CALLBACK(before_change));
  gst_tracing_register_hook(GST_TRACER(object), "element-change-state-post",
                            G_CALLBACK(after_change));
}

void finalize(GObject* object) {
  delete self_of(object)->file;
  G_OBJECT_CLASS(stats_tracer_parent_class)->finalize(object);
}

void stats_tracer_class_init(StatsTracerClass* klass) {
  G_OBJECT_CLASS(klass)->constructed = constructed;
  G_OBJECT_CLASS(klass)->finalize = finalize;
}

void stats_tracer_init(StatsTracer*) {}

}  // namespace

namespace keepbox {

bool register_stats_tracer(GstPlugin* plugin) {
  return gst_tracer_register(plugin, "keepboxstats", stats_tracer_get_type());
}

}  // namespace keepbox

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

namespace {

struct Metric {
  std::string help;
  const char* type;
  std::string lines;
};
using Metrics = std::map<std::string, Metric>;

/// Escapes the value of a label.
std::string escaped_label(std::string_view text) {
  std::string out;
  for (const char each : text) {
    if (each == '\\' || each == '"') out += '\\';
    if (each == '\n') out += "\\n";
    else out += each;
  }
  return out;
}

std::string underscored(std::string text) {
  std::ranges::replace(text, '-', '_');
  return text;
}

std::optional<std::string> number_text(const GValue& value) {
  switch (G_VALUE_TYPE(&value)) {
    case G_TYPE_UINT64: return std::format("{}", g_value_get_uint64(&value));
    case G_TYPE_UINT: return std::format("{}", g_value_get_uint(&value));
    case G_TYPE_DOUBLE: return std::format("{}", g_value_get_double(&value));
    case G_TYPE_BOOLEAN: return g_value_get_boolean(&value) ? "1" : "0";
    default: return std::nullopt;
  }
}

/// Elements store counters in 64 bits; the length of a queue is 64 bits, too, but no counter.
bool is_counter(std::string_view field, const GValue& value) {
  return G_VALUE_HOLDS_UINT64(&value) && field != "queued";
}

void add_line(Metrics& metrics, const std::string& name, Metric about, const std::string& labels,
              const std::string& number) {
  Metric& metric = metrics.try_emplace(name, std::move(about)).first->second;
  metric.lines += std::format("{}{{{}}} {}\n", name, labels, number);
}

std::string labels_of(const ElementStats& stats, const std::string& source) {
  std::string labels = std::format(R"(pipeline="{}",element="{}")", escaped_label(stats.pipeline),
                                   escaped_label(stats.element));
  return source.empty() ? labels : std::format(R"(source="{}",{})", escaped_label(source), labels);
}

/// Adds the numbers of each structure of a list, such as those of boxcount's lines, with its name
/// as a label.
void add_list(Metrics& metrics, const ElementStats& stats, const std::string& field,
              const GValue& list, const std::string& labels) {
  for (guint i = 0; i < gst_value_list_get_size(&list); ++i) {
    const GValue* item = gst_value_list_get_value(&list, i);
    if (!GST_VALUE_HOLDS_STRUCTURE(item)) return;
    const GstStructure* each = gst_value_get_structure(item);
    const char* called = gst_structure_get_string(each, "name");
    const std::string of =
        std::format(R"({},name="{}")", labels, escaped_label(called != nullptr ? called : ""));
    for (int k = 0; k < gst_structure_n_fields(each); ++k) {
      const std::string key = gst_structure_nth_field_name(each, static_cast<guint>(k));
      const GValue& value = *gst_structure_get_value(each, key.c_str());
      const auto number = number_text(value);
      if (!number) continue;
      const bool counter = is_counter(key, value);
      const std::string name = underscored("keepbox_" + stats.factory + '_' + field + '_' + key);
      add_line(metrics, counter ? name + "_total" : name,
               {stats_help(stats.factory, field + '-' + key), counter ? "counter" : "gauge", {}},
               of, *number);
    }
  }
}

void add_element(Metrics& metrics, const ElementStats& stats, const std::string& labels) {
  const std::string prefix = underscored("keepbox_" + stats.factory);
  std::string texts;
  for (int i = 0; i < gst_structure_n_fields(stats.values); ++i) {
    const std::string field = gst_structure_nth_field_name(stats.values, static_cast<guint>(i));
    const GValue& value = *gst_structure_get_value(stats.values, field.c_str());
    if (GST_VALUE_HOLDS_LIST(&value)) add_list(metrics, stats, field, value, labels);
    const char* text = G_VALUE_HOLDS_STRING(&value) ? g_value_get_string(&value) : nullptr;
    if (text != nullptr && *text != '\0')
      texts += std::format(",{}=\"{}\"", underscored(field), escaped_label(text));
    const auto number = number_text(value);
    if (!number) continue;
    const bool counter = is_counter(field, value);
    add_line(metrics, std::format("{}_{}{}", prefix, underscored(field), counter ? "_total" : ""),
             {stats_help(stats.factory, field), counter ? "counter" : "gauge", {}}, labels,
             *number);
  }
  if (!texts.empty())
    add_line(metrics, prefix + "_info",
             {"How " + stats.factory + " is set up, as labels", "gauge", {}}, labels + texts, "1");
  add_line(metrics, "keepbox_frame_age_seconds",
           {"Seconds since a frame left the element, or it started", "gauge", {}}, labels,
           std::format("{:.3f}", stats.frame_age));
  add_line(metrics, "keepbox_look_age_seconds",
           {"Seconds since a frame left the element that the models looked at", "gauge", {}},
           labels, std::format("{:.3f}", stats.look_age));
}

void add_build(Metrics& metrics, const std::string& source) {
  g_autofree gchar* gstreamer = gst_version_string();
  const std::string version =
      std::format(R"(version="{}",gstreamer="{}")", PACKAGE_VERSION, escaped_label(gstreamer));
  add_line(
      metrics, "keepbox_build_info",
      {"Versions of keepbox and GStreamer in the process, as labels", "gauge", {}},
      source.empty() ? version : std::format(R"(source="{}",{})", escaped_label(source), version),
      "1");
}

}  // namespace

std::string prometheus_text(std::span<const ElementStats> elements, const std::string& source) {
  Metrics metrics;
  std::set<std::string> seen;
  for (const ElementStats& stats : elements) {
    const std::string labels = labels_of(stats, source);
    if (seen.insert(labels).second) add_element(metrics, stats, labels);
  }
  if (!elements.empty()) add_build(metrics, source);
  std::string text;
  for (const auto& [name, metric] : metrics)
    text += std::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}", name, metric.help, metric.type,
                        metric.lines);
  return text;
}

namespace {

struct Row {
  std::string_view factory, field, help;
};

constexpr Row kRows[] = {
    {"", "frames", "Frames processed, skipped ones included"},
    {"", "time-per-frame-us", "Mean microseconds of a frame in the element"},
    {"", "boxes", "Boxes that the element attached or passed on"},

    {"boxdecode", "mismatches", "Frames whose tensors did not fit the family of the model"},
    {"boxdecode", "skipped-frames",
     "Frames without tensors, because the model did not run on them"},
    {"boxdecode", "runs", "Runs of the decoder, one for all frames of a batch of streams"},
    {"boxdecode", "zero-copy-frames",
     "Frames whose tensors were decoded in the memory they were in"},
    {"boxdecode", "uploaded-frames", "Frames whose tensors were copied to a GPU first"},
    {"boxdecode", "downloaded-frames", "Frames whose tensors were copied from a GPU first"},
    {"boxdecode", "last-time-us", "Time in microseconds that the last frame took"},
    {"boxdecode", "anchors", "Anchors of the model, each of which may be a box"},
    {"boxdecode", "above-threshold",
     "Candidates of the last frame with a score above the threshold"},
    {"boxdecode", "not-finite",
     "Candidates of the last frame that were not numbers (NaN or infinite)"},
    {"boxdecode", "after-class-filter", "Candidates of the last frame of the wanted classes"},
    {"boxdecode", "after-top-k",
     "Candidates of the last frame that non-maximum suppression compared"},
    {"boxdecode", "kept", "Boxes of the last frame that non-maximum suppression kept"},
    {"boxdecode", "clipped-away", "Boxes of the last frame that were outside of it"},
    {"boxdecode", "filtered-out",
     "Boxes of the last frame dropped by limits of size or by regions"},
    {"boxdecode", "merged-away", "Boxes of the last frame merged into one of another tile"},
    {"boxdecode", "empty-masks", "Boxes of the last frame dropped because their mask was empty"},
    {"boxdecode", "for-tracker", "Boxes of low score on the last frame that only trackers see"},
    {"boxdecode", "attached", "Boxes attached to the last frame"},
    {"boxdecode", "keypoints", "Keypoints of each box of the model, 0 if it has none"},
    {"boxdecode", "masks", "1 if boxes of the model have masks"},
    {"boxdecode", "embedding",
     "Values in the embedding of each box of the model, 0 if it has none"},

    {"tensorinfer", "inferred", "Frames that the model ran on"},
    {"tensorinfer", "skipped", "Frames that the model did not run on, on purpose or by lateness"},
    {"tensorinfer", "held", "Skipped frames that got the tensors of the last run"},
    {"tensorinfer", "late", "Frames skipped because they would have been late at the sink"},
    {"tensorinfer", "preprocess-us", "Mean time in microseconds that making a model input takes"},
    {"tensorinfer", "inference-us", "Mean time in microseconds that the model takes for a frame"},
    {"tensorinfer", "queue-us", "Mean time in microseconds that a frame waits for the model"},
    {"tensorinfer", "last-preprocess-us",
     "Time in microseconds that making the last model input took"},
    {"tensorinfer", "last-inference-us",
     "Time in microseconds that the model took for the last frame"},
    {"tensorinfer", "batch-size", "Most images that the shared model runs on at once"},
    {"tensorinfer", "batches", "Runs of the shared model"},
    {"tensorinfer", "batch-fill", "Mean number of images in a run of the shared model"},
    {"tensorinfer", "batch-dropped",
     "Images that flushes removed from batches of the shared model"},
    {"tensorinfer", "cuda-graph", "1 if the model runs as a CUDA graph"},

    {"boxtrack", "analysed-frames", "Frames that the model looked at"},
    {"boxtrack", "tracked-boxes", "Boxes that got an id"},
    {"boxtrack", "recovered-boxes", "Boxes of low score that continued an object"},
    {"boxtrack", "predicted-boxes", "Boxes placed where an object is expected, between runs"},
    {"boxtrack", "tracks", "Objects followed now"},
    {"boxtrack", "ids", "Different ids that were given"},

    {"boxcount", "boxes", "Boxes with an id that count"},
    {"boxcount", "crossings", "Crossings of all lines"},
    {"boxcount", "uncertain-crossings", "Objects that began beyond a line where one was lost"},
    {"boxcount", "visits", "Visits of all zones"},
    {"boxcount", "now", "Objects in zones now"},
    {"boxcount", "objects", "Objects followed now"},
    {"boxcount", "lines-in", "Crossings of a line from its right to its left"},
    {"boxcount", "lines-out", "Crossings of a line from its left to its right"},
    {"boxcount", "lines-uncertain-in", "Uncertain crossings of a line to its left"},
    {"boxcount", "lines-uncertain-out", "Uncertain crossings of a line to its right"},
    {"boxcount", "zones-now", "Objects in a zone now"},
    {"boxcount", "zones-visits", "Visits of a zone"},
    {"boxcount", "zones-mean-seconds", "Mean time of a visit of a zone"},
    {"boxcount", "zones-max-seconds", "Longest time of a visit of a zone"},

    {"classdecode", "images", "Images of objects or frames whose classes or text were decoded"},
    {"classdecode", "results", "Results above the threshold"},
    {"classdecode", "kept-results", "Results taken from an earlier frame of the same object"},

    {"boxpublish", "connected", "1 while the broker is connected"},
    {"boxpublish", "published", "Messages that the broker has confirmed"},
    {"boxpublish", "queued", "Messages that wait for the broker"},
    {"boxpublish", "dropped",
     "Messages dropped: the queue was full, they could not be sent, or they were lost at a stop"},
    {"boxpublish", "connections", "Connections to the broker so far"},
};

const Row* row_of(std::string_view factory, std::string_view field) {
  const auto found = [&](std::string_view owner) {
    return std::ranges::find_if(
        kRows, [&](const Row& row) { return row.factory == owner && row.field == field; });
  };
  auto row = found(factory);
  if (row == std::end(kRows)) row = found("");
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

bool has_stats_help(std::string_view factory, std::string_view field) {
  return row_of(factory, field) != nullptr;
}

std::string stats_help(std::string_view factory, std::string_view field) {
  const Row* row = row_of(factory, field);
  return row != nullptr ? std::string(row->help)
                        : std::format("The statistic {} of {}, see gst-inspect-1.0 {}", field,
                                      factory, factory);
}

/// Time of g_get_monotonic_time(), in microseconds.
struct PassedFrames::Times {
  std::atomic<gint64> frame = g_get_monotonic_time();
  std::atomic<gint64> look = frame.load();
};

namespace {

using SharedTimes = std::shared_ptr<PassedFrames::Times>;

void note(PassedFrames::Times& times, GstBuffer* buffer) {
  const gint64 now = g_get_monotonic_time();
  times.frame = now;
  if (!SkippedModels(buffer).any()) times.look = now;
}

GstPadProbeReturn pass(GstPad*, GstPadProbeInfo* info, gpointer data) {
  PassedFrames::Times& times = **static_cast<SharedTimes*>(data);
  if ((info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST) != 0) {
    GstBufferList* list = GST_PAD_PROBE_INFO_BUFFER_LIST(info);
    for (guint i = 0; i < gst_buffer_list_length(list); ++i)
      note(times, gst_buffer_list_get(list, i));
  } else {
    note(times, GST_PAD_PROBE_INFO_BUFFER(info));
  }
  return GST_PAD_PROBE_OK;
}

double seconds_since(gint64 time) {
  return static_cast<double>(g_get_monotonic_time() - time) / G_USEC_PER_SEC;
}

}  // namespace

PassedFrames::PassedFrames(GstElement* element) : times_(std::make_shared<Times>()) {
  GstPad* pad = gst_element_get_static_pad(element, "src");
  if (pad == nullptr) pad = gst_element_get_static_pad(element, "sink");
  g_weak_ref_init(&pad_, pad);
  if (pad == nullptr) return;
  probe_ = gst_pad_add_probe(
      pad, GstPadProbeType(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST), pass,
      new SharedTimes(times_), [](gpointer data) { delete static_cast<SharedTimes*>(data); });
  gst_object_unref(pad);
}

PassedFrames::~PassedFrames() {
  auto* pad = static_cast<GstPad*>(g_weak_ref_get(&pad_));
  g_weak_ref_clear(&pad_);
  if (pad == nullptr) return;
  gst_pad_remove_probe(pad, probe_);
  gst_object_unref(pad);
}

double PassedFrames::frame_age() const { return seconds_since(times_->frame); }

double PassedFrames::look_age() const { return seconds_since(times_->look); }

}  // namespace keepbox
