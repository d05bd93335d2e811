// SPDX-License-Identifier: LGPL-2.1-or-later
// Families that fit by the shapes of tensors, the most probable first.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/result.h"
#include "core/recognition/layout.h"
#include "core/recognition/recognise.h"

namespace keepbox {

// Families that a single tensor without an id may belong to, by the hints of their rows.

/// Kind of evidence for a family, the weakest first.
enum class ShapeEvidence : uint8_t { kFits, kShape, kPattern, kPrototypes, kRank };

/// A family that a tensor may belong to.
struct FamilyCandidate {
  const DetectorSpec* spec = nullptr;
  ShapeEvidence evidence = ShapeEvidence::kFits;
  uint8_t cells = 0;      // match of its number of anchors with a grid: 0 none, 1 weak, 2 strong
  uint8_t classes = 0;    // match of its number of classes: 0 none, 1 published, 2 set or labels
  bool decisive = false;  // recognised if no other candidate has this rank
  std::string why;        // for the log

  auto rank() const { return std::tuple(evidence, cells, classes); }
  /// Returns kValues for evidence that other families cannot give.
  Basis basis() const {
    const bool sure = evidence == ShapeEvidence::kPattern || evidence == ShapeEvidence::kRank;
    return sure ? Basis::kValues : Basis::kShape;
  }
};

/// Ranks the families of one of the tensors, the most likely first; equal ranks stay in the order
/// of the table. Reads values only to detect value patterns.
std::vector<FamilyCandidate> rank_families(std::span<const TensorView> tensors, size_t index,
                                           const Request& request);

/// Returns the first candidate if its evidence suffices, or nullptr.
const FamilyCandidate* decided(std::span<const FamilyCandidate> ranked);

/// Returns the fits of the candidates that the tensor's values do not contradict, the most likely
/// first.
std::vector<Layout> fitting_layouts(const TensorView& tensor, const Request& request);

/// Texts about these candidates for an error; empty if there are none.
struct Candidates {
  std::string families;  // with their classes and payloads
  std::string inputs;    // for the end of a hint, as input_hint()
};
Candidates candidates_of(const TensorView& tensor, const Request& request);

/// Returns the error for tensors that no candidate decides: kAmbiguous with a list of them and of
/// families of end-to-end rows with a payload, or kMismatch.
std::unexpected<Error> undecided(std::span<const TensorView> tensors, const Request& request);

// Recognition of families with several tensors by shapes and values.

struct ShapeMatch {
  Layout layout;
  std::string why;               // for the log: "8 tensors of 4 levels"
  std::optional<Error> warning;  // for a warning, if a similar family fits as well
};

/// Returns the fits of all families to several tensors, in the order of the table.
std::vector<Layout> fitting_families(std::span<const TensorView> tensors, const Request& request);

/// Returns the only family that fits these tensors, or nothing. Errors: kAmbiguous, with the
/// families that fit.
Result<std::optional<ShapeMatch>> match_by_shape(std::span<const TensorView> tensors,
                                                 const Request& request);

/// Returns the only family all of whose tensors have generic names that fit, or nothing. Among
/// families that nothing distinguishes, chooses the one that may be recognised by shape.
Result<std::optional<ShapeMatch>> match_by_names(std::span<const TensorView> tensors,
                                                 const Request& request);

}  // namespace keepbox
