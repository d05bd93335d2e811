// SPDX-License-Identifier: LGPL-2.1-or-later
// Groups the values of all elements by metric, because Prometheus requires the lines of a metric to
// be adjacent. Each metric has a HELP line: without one, node_exporter makes one of the name of the
// file, and then rejects a metric that is in two files.
#include "gst/statistics/statstext.h"

#include <algorithm>
#include <format>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace keepbox {
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

void add_element(Metrics& metrics, const ElementStats& stats, const std::string& labels) {
  const std::string prefix = underscored("keepbox_" + stats.factory);
  std::string texts;
  for (int i = 0; i < gst_structure_n_fields(stats.values); ++i) {
    const std::string field = gst_structure_nth_field_name(stats.values, static_cast<guint>(i));
    const GValue& value = *gst_structure_get_value(stats.values, field.c_str());
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

}  // namespace keepbox
