// SPDX-License-Identifier: LGPL-2.1-or-later
// Dense matrices, all assignments, and ByteTrack by its lists.
#include "tests/unit/track/second.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace keepbox::test {
namespace {

using Matrix = DenseFilter::Matrix;

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out{};
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < 8; ++j)
      for (size_t k = 0; k < 8; ++k) out[i][j] += a[i][k] * b[k][j];
  return out;
}

Matrix transposed(const Matrix& a) {
  Matrix out{};
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < 8; ++j) out[i][j] = a[j][i];
  return out;
}

double squared(double x) { return x * x; }

/// Inverts a 4x4 matrix by Gauss and Jordan.
std::array<std::array<double, 4>, 4> inverse(std::array<std::array<double, 4>, 4> a) {
  std::array<std::array<double, 4>, 4> out{};
  for (size_t i = 0; i < 4; ++i) out[i][i] = 1;
  for (size_t i = 0; i < 4; ++i) {
    const double pivot = a[i][i];
    for (size_t j = 0; j < 4; ++j) a[i][j] /= pivot, out[i][j] /= pivot;
    for (size_t k = 0; k < 4; ++k) {
      const double by = k == i ? 0 : a[k][i];
      for (size_t j = 0; j < 4; ++j) a[k][j] -= by * a[i][j], out[k][j] -= by * out[i][j];
    }
  }
  return out;
}

}  // namespace

std::array<double, 4> DenseFilter::measure(const Box& b) const {
  const double w = double{b.x2} - b.x1, h = double{b.y2} - b.y1;
  if (model_ == MotionModel::kAreaAspect) return {b.x1 + w / 2, b.y1 + h / 2, w * h, w / h};
  return {b.x1 + w / 2, b.y1 + h / 2, w / h, h};
}

DenseFilter::DenseFilter(MotionModel model, const Box& box) : model_(model) {
  const auto z = measure(box);
  std::ranges::copy(z, mean_.begin());
  std::array<double, 8> variance{10, 10, 10, 10, 1e4, 1e4, 1e4, 0};
  if (model == MotionModel::kCenterHeight) {
    const double h = z[3];
    variance = {squared(h / 10), squared(h / 10), 1e-4,  squared(h / 10),
                squared(h / 16), squared(h / 16), 1e-10, squared(h / 16)};
  }
  for (size_t i = 0; i < 8; ++i) covariance_[i][i] = variance[i];
}

void DenseFilter::predict(bool sees) {
  std::array<double, 8> noise{1, 1, 1, 1, 0.01, 0.01, 0.0001, 0};
  if (model_ == MotionModel::kAreaAspect) {
    if (mean_[6] + mean_[2] <= 0) mean_[6] = 0;
  } else {
    const double h = mean_[3];
    if (!sees) mean_[7] = 0;
    noise = {squared(h / 20),  squared(h / 20),  1e-4,  squared(h / 20),
             squared(h / 160), squared(h / 160), 1e-10, squared(h / 160)};
  }
  Matrix step{};
  for (size_t i = 0; i < 8; ++i) step[i][i] = 1;
  for (size_t i = 0; i < 4; ++i) step[i][i + 4] = 1, mean_[i] += mean_[i + 4];
  covariance_ = product(product(step, covariance_), transposed(step));
  for (size_t i = 0; i < 8; ++i) covariance_[i][i] += noise[i];
}

void DenseFilter::update(const Box& box) {
  const auto z = measure(box);
  std::array<double, 4> noise{1, 1, 10, 10};
  if (model_ == MotionModel::kCenterHeight) {
    const double h = mean_[3];
    noise = {squared(h / 20), squared(h / 20), 1e-2, squared(h / 20)};
  }
  std::array<std::array<double, 4>, 4> s{};
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j) s[i][j] = covariance_[i][j] + (i == j ? noise[i] : 0);
  const auto inverted = inverse(s);
  Matrix gain{};  // 8x4
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < 4; ++j)
      for (size_t k = 0; k < 4; ++k) gain[i][j] += covariance_[i][k] * inverted[k][j];
  std::array<double, 4> off{};
  for (size_t j = 0; j < 4; ++j) off[j] = z[j] - mean_[j];
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < 4; ++j) mean_[i] += gain[i][j] * off[j];
  Matrix keep{};  // I - K H
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < 8; ++j) keep[i][j] = (i == j) - (j < 4 ? gain[i][j] : 0);
  covariance_ = product(keep, covariance_);
}

Box DenseFilter::box() const {
  double w = mean_[2] * mean_[3], h = mean_[3];
  if (model_ == MotionModel::kAreaAspect) {
    w = std::sqrt(w);
    h = mean_[2] / w;
  }
  const auto f = [](double x) { return static_cast<float>(x); };
  return {f(mean_[0] - w / 2), f(mean_[1] - h / 2), f(mean_[0] + w / 2), f(mean_[1] + h / 2)};
}

double iou64(const Box& a, const Box& b) {
  const double w = std::min<double>(a.x2, b.x2) - std::max<double>(a.x1, b.x1);
  const double h = std::min<double>(a.y2, b.y2) - std::max<double>(a.y1, b.y1);
  if (w <= 0 || h <= 0) return 0;
  const auto area = [](const Box& c) { return (double{c.x2} - c.x1) * (double{c.y2} - c.y1); };
  return w * h / (area(a) + area(b) - w * h);
}

std::vector<uint32_t> try_all(uint32_t rows, uint32_t cols,
                              const std::function<double(uint32_t, uint32_t)>& weight) {
  // The best sum of the rows from `row` on without the columns of a mask, by memory.
  std::map<std::pair<uint32_t, uint32_t>, double> memory;
  std::function<double(uint32_t, uint32_t)> best = [&](uint32_t row, uint32_t mask) -> double {
    if (row == rows) return 0;
    const auto [at, is_new] = memory.try_emplace({row, mask}, 0);
    if (!is_new) return at->second;
    double out = best(row + 1, mask);
    for (uint32_t col = 0; col < cols; ++col)
      if (!(mask >> col & 1) && weight(row, col) >= 0)
        out = std::max(out, weight(row, col) + best(row + 1, mask | 1u << col));
    return memory[{row, mask}] = out;
  };
  std::vector<uint32_t> out(rows, UINT32_MAX);
  uint32_t mask = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    const double wanted = best(row, mask);
    for (uint32_t col = 0; col < cols; ++col) {
      if (mask >> col & 1 || weight(row, col) < 0) continue;
      if (weight(row, col) + best(row + 1, mask | 1u << col) != wanted) continue;
      out[row] = col;
      mask |= 1u << col;
      break;
    }
  }
  return out;
}

void PlainByteTrack::match(std::vector<Scored>& boxes, const std::vector<size_t>& rows,
                           std::vector<size_t>& cols, double threshold, bool scored) {
  const auto weight = [&](uint32_t row, uint32_t col) {
    const Scored& box = boxes[cols[col]];
    const double iou = iou64(all_[rows[row]].filter.box(), box.box);
    const double distance = 1 - (scored ? iou * double{box.score} : iou);
    return threshold - distance;
  };
  const auto found =
      try_all(static_cast<uint32_t>(rows.size()), static_cast<uint32_t>(cols.size()), weight);
  std::vector<size_t> taken;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (found[row] == UINT32_MAX) continue;
    One& one = all_[rows[row]];
    one.box = cols[found[row]];
    one.filter.update(boxes[one.box].box);
    one.activated = true;
    one.lost = false;
    one.ended = frame_;
    taken.push_back(one.box);
  }
  std::erase_if(cols, [&](size_t col) { return std::ranges::contains(taken, col); });
}

void PlainByteTrack::update(std::vector<Scored>& boxes) {
  ++frame_;
  std::vector<size_t> strong, weak;
  for (size_t i = 0; i < boxes.size(); ++i)
    if (double{boxes[i].score} > high) strong.push_back(i);
    else if (double{boxes[i].score} > low) weak.push_back(i);
  for (One& one : all_) {
    one.box = SIZE_MAX;
    if (one.activated) one.filter.predict(!one.lost);
  }
  const auto those = [&](const auto& wanted) {
    std::vector<size_t> out;
    for (size_t i = 0; i < all_.size(); ++i)
      if (all_[i].box == SIZE_MAX && wanted(all_[i])) out.push_back(i);
    return out;
  };
  const auto pool = those([](const One& one) { return one.activated; });
  const auto fresh_ones = those([](const One& one) { return !one.activated; });
  match(boxes, pool, strong, 1 - least, true);
  match(boxes, those([](const One& one) { return one.activated && !one.lost; }), weak, 0.5, false);
  for (One& one : all_) one.lost |= one.activated && one.box == SIZE_MAX;
  match(boxes, fresh_ones, strong, 0.7, true);
  std::erase_if(all_, [](const One& one) { return !one.activated && one.box == SIZE_MAX; });
  for (const size_t i : strong)
    if (double{boxes[i].score} >= fresh)
      all_.push_back({DenseFilter(MotionModel::kCenterHeight, boxes[i].box), frame_ == 1, false,
                      frame_, frame_, 0, i});
  std::erase_if(all_, [&](const One& one) { return one.lost && frame_ - one.ended > buffer; });
  std::vector<bool> drop(all_.size());
  for (size_t a = 0; a < all_.size(); ++a)
    for (size_t b = 0; b < all_.size(); ++b) {
      if (!all_[a].activated || all_[a].lost || !all_[b].lost) continue;
      if (1 - iou64(all_[a].filter.box(), all_[b].filter.box()) >= 0.15) continue;
      const bool longer = all_[a].ended - all_[a].started > all_[b].ended - all_[b].started;
      drop[longer ? b : a] = true;
    }
  std::vector<One> kept;
  for (size_t i = 0; i < all_.size(); ++i)
    if (!drop[i]) kept.push_back(all_[i]);
  all_ = std::move(kept);
  for (One& one : all_) {
    if (!one.activated || one.box == SIZE_MAX) continue;
    if (one.id == 0) one.id = ++last_;
    boxes[one.box].id = one.id;
  }
}

}  // namespace keepbox::test
