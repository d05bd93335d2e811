// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs pictures in batches, and compares their outputs.
#include "gst/infer/runs/batchchecks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/formula/numeric.h"
#include "gst/infer/facts/modelports.h"
#include "gst/infer/runs/hostrun.h"
#include "gst/infer/runs/triedpictures.h"
#include "gst/tensors/slices.h"

namespace keepbox {
namespace {

/// Differences relative to an output's largest value. In float16 they are two to four units of its
/// last place, which may hide small values.
constexpr double kRounding = 1e-5, kHalfRounding = 4.0 / (1 << 11);

Result<std::vector<ModelOutput>> run(const ModelSession& session, const ModelFacts& facts,
                                     std::span<std::byte> pictures, unsigned batch) {
  KB_ASSIGN(const auto runs, session.runs());
  KB_ASSIGN(const auto bound, HostRun::create(session, *runs, facts, pictures, batch));
  return bound.run();
}

double value_at(const std::byte* data, DataType type, size_t i) {
  if (type == DataType::kFloat64) {
    double value;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    return value;
  }
  return load({.data = data, .type = type}, i);
}

bool near(std::span<const std::byte> a, std::span<const std::byte> b, DataType type,
          double rounding) {
  const size_t count = a.size() / size_of(type);
  double largest = 0, difference = 0;
  for (size_t i = 0; i < count; ++i) {
    const double one = value_at(a.data(), type, i), other = value_at(b.data(), type, i);
    if (std::isfinite(one) != std::isfinite(other)) return false;
    if (!std::isfinite(one)) continue;
    largest = std::max(largest, std::abs(one));
    difference = std::max(difference, std::abs(one - other));
  }
  return difference <= rounding * largest;
}

/// Returns the sum of the differences of two outputs, relative to their values.
double distance(std::span<const std::byte> a, std::span<const std::byte> b, DataType type) {
  constexpr double kNothing = 1e-3;  // smaller values count as that
  const size_t count = a.size() / size_of(type);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const double one = value_at(a.data(), type, i), other = value_at(b.data(), type, i);
    if (std::isfinite(one) && std::isfinite(other))
      sum += std::abs(one - other) / (std::abs(one) + std::abs(other) + kNothing);
  }
  return sum;
}

std::span<const std::byte> bytes_of(const ModelOutput& output) {
  return {output.data, output.bytes};
}

/// True if values of a type are rounded: not those of integers.
bool is_rounded(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kFloat32 || type == DataType::kFloat64;
}

/// True if a picture's part of a batch is its own result, in float16 much nearer to it than to that
/// of another picture. @param half the model computes in float16.
bool is_slice(const ModelOutput& batch, unsigned picture, const ModelOutput& own,
              const ModelOutput& other, bool half) {
  constexpr double kNearer = 4;
  if (slice_shape(batch.shape) != own.shape || batch.bytes != own.bytes * kTriedPictures)
    return false;
  const auto slice = bytes_of(batch).subspan(picture * own.bytes, own.bytes);
  if (std::ranges::equal(bytes_of(own), slice)) return true;
  if (!is_rounded(own.type)) return false;
  if (own.type != DataType::kFloat16) {
    if (near(bytes_of(own), slice, own.type, kRounding)) return true;
    if (!half) return false;
  }
  if (!near(bytes_of(own), slice, own.type, kHalfRounding)) return false;
  if (other.bytes != own.bytes) return true;
  return kNearer * distance(slice, bytes_of(own), own.type) <=
         distance(slice, bytes_of(other), own.type);
}

/// True if the rows of a table begin with 0, 1, 2 and so on. @pre it has several rows.
bool is_numbered(const ModelOutput& table) {
  if (table.shape.rank() != 2) return false;
  const TensorView view{
      .data = table.data, .bytes = table.bytes, .type = table.type, .shape = table.shape};
  for (size_t row = 0; row < table.shape[0]; ++row)
    if (load(view, row * table.shape[1]) != static_cast<float>(row)) return false;
  return true;
}

}  // namespace

std::unexpected<Error> no_batch(const std::string& found) {
  return reject(ErrorKind::kUnsupported, "The model cannot run batches: " + found,
                "export it with a dynamic batch");
}

Status compare_batches(const ModelSession& one, const ModelSession& many, const ModelFacts& facts,
                       bool half) {
  const size_t bytes = facts.input.bytes();
  std::vector<std::byte> pictures(kTriedPictures * bytes);
  draw_tried(pictures, facts.input);
  KB_ASSIGN(const auto batch, run(many, facts, pictures, kTriedPictures));
  std::vector<std::vector<ModelOutput>> alone;
  for (unsigned i = 0; i < kTriedPictures; ++i) {
    KB_ASSIGN(auto outputs, run(one, facts, std::span(pictures).subspan(i * bytes, bytes), 1));
    alone.push_back(std::move(outputs));
  }
  bool different = false;  // equal outputs for all pictures would prove nothing
  for (unsigned i = 0; i < kTriedPictures; ++i)
    for (size_t k = 0; k < batch.size(); ++k) {
      const ModelOutput &own = alone[i][k], &other = alone[(i + 1) % kTriedPictures][k];
      KB_TRY(check_slices(one.declaration(), k, batch[k].shape, kTriedPictures));
      if (!is_slice(batch[k], i, own, other, half))
        return no_batch("output " + one.declaration().outputs[k].name +
                        " has other values in a batch");
      different = different || !std::ranges::equal(bytes_of(own), bytes_of(other));
    }
  if (different) return {};
  return no_batch("its outputs are the same for all tried pictures");
}

Status check_parts(const ModelSession& session, const ModelFacts& facts, unsigned batch) {
  const size_t bytes = facts.input.bytes();
  std::vector<std::byte> pictures(batch * bytes);
  draw_tried(std::span(pictures).first(bytes), facts.input);
  for (unsigned i = 1; i < batch; ++i)
    std::copy_n(pictures.begin(), bytes, pictures.begin() + static_cast<ptrdiff_t>(i * bytes));
  KB_ASSIGN(const std::vector<ModelOutput> outputs, run(session, facts, pictures, batch));
  const ModelDeclaration& declaration = session.declaration();
  for (size_t i = 0; i < outputs.size(); ++i) {
    KB_TRY(check_slices(declaration, i, outputs[i].shape, batch));
    if (is_numbered(outputs[i]))
      return no_slices(declaration, "output " + declaration.outputs[i].name +
                                        ", whose rows begin with the number of their picture");
  }
  return {};
}

}  // namespace keepbox
