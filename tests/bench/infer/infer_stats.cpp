// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads the elements' statistics.
#include "tests/bench/infer/infer_stats.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace keepbox::test {
namespace {

void with_stats(GstElement* element, const std::function<void(const GstStructure*)>& use) {
  GstStructure* stats = nullptr;
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), "stats") != nullptr)
    g_object_get(element, "stats", &stats, nullptr);
  if (stats == nullptr) return;
  use(stats);
  gst_structure_free(stats);
}

double number(const GstStructure* stats, const char* name) {
  const GValue* value = gst_structure_get_value(stats, name);
  if (value == nullptr) return 0;
  if (G_VALUE_HOLDS_UINT(value)) return g_value_get_uint(value);
  return G_VALUE_HOLDS_UINT64(value) ? static_cast<double>(g_value_get_uint64(value))
                                     : g_value_get_double(value);
}

std::string text(const GstStructure* stats, const char* name) {
  const char* found = gst_structure_get_string(stats, name);
  return found != nullptr ? found : "";
}

}  // namespace

void Sums::add(GstElement* infer, GstElement* boxes_element) {
  with_stats(infer, [this](const GstStructure* stats) {
    inferred += number(stats, "inferred");
    // of the model, which streams share
    batch = std::max(batch, number(stats, "batch-size"));
    batches = std::max(batches, number(stats, "batches"));
    batched = std::max(batched, number(stats, "batches") * number(stats, "batch-fill"));
    provider = text(stats, "provider");
    runtime = text(stats, "runtime");
    gboolean replayed = FALSE;
    gst_structure_get_boolean(stats, "cuda-graph", &replayed);
    graph = replayed;
  });
  with_stats(boxes_element, [this](const GstStructure* stats) {
    decoded += number(stats, "frames");
    boxes += number(stats, "boxes");
    zero_copy += number(stats, "zero-copy-frames");
    uploaded += number(stats, "uploaded-frames");
    downloaded += number(stats, "downloaded-frames");
  });
}

void Samples::take(GstElement* infer, GstElement* boxes_element) {
  with_stats(infer, [this](const GstStructure* stats) {
    input.push_back(number(stats, "last-preprocess-us"));
    model.push_back(number(stats, "last-inference-us"));
  });
  with_stats(boxes_element,
             [this](const GstStructure* stats) { boxes.push_back(number(stats, "last-time-us")); });
}

void Samples::join(const Samples& other) {
  for (auto each : {&Samples::input, &Samples::model, &Samples::boxes})
    (this->*each).insert((this->*each).end(), (other.*each).begin(), (other.*each).end());
}

double quantile(std::vector<double> times, double part) {
  if (times.empty()) return 0;
  const auto at = static_cast<ptrdiff_t>(std::lround(part * static_cast<double>(times.size() - 1)));
  std::ranges::nth_element(times, times.begin() + at);
  return times[static_cast<size_t>(at)];
}

}  // namespace keepbox::test
