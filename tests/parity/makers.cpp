// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors of dense models.
#include "tests/parity/makers.h"

#include <utility>

namespace keepbox::test {

Tensor dense(Random& random, size_t anchors, size_t channels, size_t scores_at, bool planes,
             float span) {
  Tensor out{.values = std::vector<float>(anchors * channels),
             .shape = planes ? Shape{1, channels, anchors} : Shape{1, anchors, channels}};
  for (size_t a = 0; a < anchors; ++a)
    for (size_t c = 0; c < channels; ++c) {
      float value = c < 2 ? uniform(random, 0, span) : uniform(random, 5, span / 3);
      if (c >= scores_at) value = uniform(random, 0, pick(random, 0, 20) ? 0.3f : 1.0f);
      out.values[planes ? c * anchors + a : a * channels + c] = value;
    }
  return out;
}

Input split(Random& random, const char* detector, float span) {
  constexpr size_t kAnchors = 300;
  const size_t classes = pick(random, 0, 9) == 0 ? 1 : 7;  // one is the background only
  Tensor boxes{.values = {}, .shape = {1, kAnchors, 4}};
  Tensor scores{.values = {}, .shape = {1, kAnchors, classes}};
  if (classes == 1 && pick(random, 0, 1)) scores.shape = {1, kAnchors};
  Input input{.settings = pixel_settings(300)};
  for (size_t a = 0; a < kAnchors; ++a) {
    for (int i = 0; i < 4; ++i) boxes.values.push_back(uniform(random, -3, 3));
    for (size_t c = 0; c < classes; ++c) scores.values.push_back(uniform(random, -span, span));
    input.settings.priors.push_back({uniform(random, 0, 1), uniform(random, 0, 1),
                                     uniform(random, 0.05f, 0.4f), uniform(random, 0.05f, 0.4f)});
  }
  input.settings.detector = detector;
  input.tensors = {std::move(boxes), std::move(scores)};
  return input;
}

Input forced(const char* detector, Tensor tensor, uint32_t side) {
  Input input{.settings = pixel_settings(side), .tensors = {std::move(tensor)}};
  input.settings.detector = detector;
  return input;
}

}  // namespace keepbox::test
