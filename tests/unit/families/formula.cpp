// SPDX-License-Identifier: LGPL-2.1-or-later
// Generates frames: anchors, values, tensors, and the boxes by formula.
#include "tests/unit/families/formula.h"

#include <algorithm>
#include <cmath>
#include <ranges>

namespace keepbox::test {
namespace {

constexpr size_t kBoxes = 20;

/// Returns a threshold in the widest gap between the scores around 0.2.
double clear_threshold(std::vector<double> scores) {
  scores.push_back(0.15);
  scores.push_back(0.25);
  std::erase_if(scores, [](double score) { return score < 0.15 || score > 0.25; });
  std::ranges::sort(scores);
  double best = 0, at = 0.2;
  for (size_t i = 1; i < scores.size(); ++i)
    if (scores[i] - scores[i - 1] > best) {
      best = scores[i] - scores[i - 1];
      at = (scores[i] + scores[i - 1]) / 2;
    }
  return at;
}

std::vector<Numbers> draw(Chance& chance, const Model& model, const std::vector<Place>& places) {
  std::vector<bool> hot(places.size());
  for (size_t i = 0; i < kBoxes; ++i) {
    const size_t at = chance() % places.size();
    hot[at] = true;
    if (model.peaks && i % 2 == 0 && at + 1 < places.size()) hot[at + 1] = true;  // adjacent cells
  }
  std::vector<Numbers> out(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    out[i][kBox] = model.draw_box(chance, places[i]);
    out[i][kScore] = model.draw_scores(chance, hot[i]);
    if (model.draw_object) out[i][kObject] = {model.draw_object(chance, hot[i])};
    for (const Column& column : model.columns) {
      if (column.field != kSide && column.field != kMore) continue;
      for (size_t c = 0; c < column.channels; ++c)
        out[i][column.field].push_back(column.field == kSide ? model.draw_side(chance)
                                                             : between(chance, 0, 1));
    }
  }
  return out;
}

/// True if no adjacent cell has a higher score in that class.
bool is_peak(const std::vector<Place>& places, const std::vector<std::vector<double>>& scores,
             size_t at, size_t class_id) {
  for (size_t i = 0; i < places.size(); ++i) {
    const Place &a = places[at], &b = places[i];
    const bool near =
        a.level == b.level && a.x <= b.x + 1 && b.x <= a.x + 1 && a.y <= b.y + 1 && b.y <= a.y + 1;
    if (near && scores[i][class_id] > scores[at][class_id]) return false;
  }
  return true;
}

std::vector<Point> points_of(const Model& model, const Numbers& numbers, const Place& place) {
  std::vector<Point> out;
  const size_t each = model.point_numbers;
  for (size_t first = 0; each != 0 && first + each <= numbers[kMore].size(); first += each)
    out.push_back(model.point(numbers, place, model.box(numbers, place), first));
  return out;
}

std::vector<Truth> decode(const Model& model, const std::vector<Place>& places,
                          const std::vector<Numbers>& numbers, bool labels, float& threshold) {
  std::vector<std::vector<double>> scores;
  std::vector<double> all;
  for (const Numbers& each : numbers) {
    scores.push_back(model.scores(each));
    all.insert(all.end(), scores.back().begin(), scores.back().end());
  }
  threshold = static_cast<float>(clear_threshold(all));
  std::vector<Truth> out;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto best = static_cast<size_t>(std::ranges::max_element(scores[i]) - scores[i].begin());
    for (size_t c = 0; c < scores[i].size(); ++c) {
      if (!(scores[i][c] > threshold) || (!labels && c != best)) continue;
      if (model.peaks && !is_peak(places, scores, i, c)) continue;
      out.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(c), scores[i][c],
                     model.box(numbers[i], places[i]),
                     model.angle ? std::optional(model.angle(numbers[i])) : std::nullopt,
                     points_of(model, numbers[i], places[i])});
    }
  }
  return out;
}

}  // namespace

double between(Chance& chance, double low, double high) {
  return low + (high - low) * static_cast<double>(chance()) / 4294967295.0;
}

Point as_it_is(const Numbers& numbers, size_t first, size_t each) {
  const auto& n = numbers[kMore];
  return {n[first], n[first + 1], each == 3 ? n[first + 2] : 1};
}

double sigmoid64(double x) { return 1 / (1 + std::exp(-x)); }

Scores as_they_are(const Numbers& numbers) { return numbers[kScore]; }

Scores activated(const Numbers& numbers) {
  Scores out;
  for (const double logit : numbers[kScore]) out.push_back(sigmoid64(logit));
  return out;
}

Corners centered(double cx, double cy, double w, double h) {
  return {cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2};
}

std::vector<double> draw_logits(Chance& chance, size_t classes, bool hot) {
  std::vector<double> out;
  for (size_t c = 0; c < classes; ++c) out.push_back(between(chance, -9, -5));
  for (int i = 0; hot && i < 2; ++i) out[chance() % classes] = between(chance, -1, 4);
  return out;
}

std::vector<double> draw_probabilities(Chance& chance, size_t classes, bool hot) {
  std::vector<double> out;
  for (size_t c = 0; c < classes; ++c) out.push_back(between(chance, 0, 0.01));
  for (int i = 0; hot && i < 2; ++i) out[chance() % classes] = between(chance, 0.3, 0.98);
  return out;
}

Frame make_frame(const Model& model, const Form& form, unsigned seed) {
  Chance chance(seed);
  Frame out{.family = model.family, .form = to_string(form)};
  const std::vector<Place> at = places(model, form);
  std::vector<Numbers> numbers = draw(chance, model, at);
  out.tensors = write(model, form, at, numbers);
  Settings& settings = out.settings;
  settings.detector = model.family;
  settings.frame.size = settings.model_size = form.input;
  settings.nms_method = NmsMethod::kNone;
  settings.max_detections = 100000;
  settings.multi_label = form.multi_label;
  const bool labels = form.multi_label.value_or(model.multi_label);
  float threshold = kScoreThreshold;
  out.truths = decode(model, at, numbers, labels, threshold);
  settings.score_threshold = threshold;
  for (size_t i = 0; model.with_priors && i < at.size(); ++i) {
    const auto p = model.prior(at[i]);
    settings.priors.push_back(
        {static_cast<float>(p[0] / at[i].width), static_cast<float>(p[1] / at[i].height),
         static_cast<float>(p[2] / at[i].width), static_cast<float>(p[3] / at[i].height)});
  }
  return out;
}

std::vector<Model> models() {
  std::vector<Model> out;
  for (auto* const make : {yolo_models, query_models, anchor_models, face_models})
    for (Model& model : make()) out.push_back(std::move(model));
  return out;
}

void each_frame(const std::function<void(const Frame&)>& visit) {
  unsigned seed = 1;
  for (const Model& model : models())
    for (const Form& form : model.forms) visit(make_frame(model, form, seed++));
  for (const Frame& frame : ready_frames()) visit(frame);
}

}  // namespace keepbox::test
