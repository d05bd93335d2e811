// SPDX-License-Identifier: LGPL-2.1-or-later
// The fields of a detector file: their keys, and their values as text.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/formula/conventions.h"
#include "core/model/detector.h"
#include "core/model/nms_methods.h"

namespace keepbox {

// The fields of a model family as text: one table for reading and writing files.

/// Owns the data that a family read from a file points to.
struct FamilyStorage {
  std::deque<std::string> texts;
  std::deque<std::vector<float>> numbers;
  std::deque<std::vector<AnchorSize>> sizes;
};

/// A field of a family or of one of its tensors.
template <class Of>
struct TextField {
  std::string_view key;
  std::string_view summary;  // a sentence for the manual
  std::string expected;      // accepted values: "true or false"
  /// Parses a text; returns false and changes nothing if the text is not an accepted value.
  std::function<bool(std::string_view, Of&, FamilyStorage&)> read;
  std::function<std::string(const Of&)> print;
  bool always = false;  // always printed; otherwise only if not the default
};

/// Return the fields in the order in which they are printed.
std::span<const TextField<DetectorSpec>> detector_fields();
std::span<const TextField<TensorRule>> tensor_fields();

template <class Of>
const TextField<Of>* find_field(std::span<const TextField<Of>> fields, std::string_view key) {
  for (const TextField<Of>& field : fields)
    if (field.key == key) return &field;
  return nullptr;
}

/// Returns the columns that core's table gives readers without columns.
Columns default_columns(Reader reader);

std::string_view role_nick(Role role);

// The words that users type for the values of core's enums, in properties and in files.

template <class E>
struct Nick {
  E value;
  std::string_view nick;
  std::string_view summary{};  // a sentence for gst-inspect-1.0; values of properties only
};

/// The rows of core's table, "auto" first.
inline constexpr auto kMethodNicks = [] {
  std::array<Nick<NmsMethod>, std::size(kNmsMethods)> nicks;
  for (size_t i = 0; i < nicks.size(); ++i)
    nicks[i] = {kNmsMethods[i].method, kNmsMethods[i].name, kNmsMethods[i].summary};
  return nicks;
}();

inline constexpr Nick<Units> kUnitsNicks[]{
    {Units::kAuto, "auto",
     "Units declared by the inference element, or else derived from the first frame"},
    {Units::kPixels, "pixels", "Pixels of the model input"},
    {Units::kNormalized, "normalized", "Fractions of the model input, 0 to 1"}};

inline constexpr Nick<bool> kYesNo[]{{true, "true"}, {false, "false"}};

inline constexpr Nick<Reader> kReaderNicks[]{{Reader::kDense, "dense"},
                                             {Reader::kSplit, "split"},
                                             {Reader::kReady, "ready"},
                                             {Reader::kOutputs, "outputs"},
                                             {Reader::kIndices, "indices"}};

inline constexpr Nick<BoxCoding> kCodingNicks[]{
    {BoxCoding::kCenterSize, "center-size"},    {BoxCoding::kCorners, "corners"},
    {BoxCoding::kTopLeftSize, "top-left-size"}, {BoxCoding::kGridExp, "grid-exp"},
    {BoxCoding::kGridSize, "grid-size"},        {BoxCoding::kGridPixels, "grid-pixels"},
    {BoxCoding::kGridSigmoid, "grid-sigmoid"},  {BoxCoding::kGridDarknet, "grid-darknet"},
    {BoxCoding::kDistances, "distances"},       {BoxCoding::kDistanceBins, "distance-bins"},
    {BoxCoding::kPriorDelta, "prior-delta"}};

inline constexpr Nick<bool> kChannelNicks[]{{false, "rgb"}, {true, "bgr"}};

inline constexpr Nick<ResizeMode> kResizeNicks[]{
    {ResizeMode::kStretch, "stretch"},
    {ResizeMode::kLetterboxCenter, "letterbox-center"},
    {ResizeMode::kLetterboxTopLeft, "letterbox-topleft"},
    {ResizeMode::kLetterboxScaler, "letterbox-scaler"},
    {ResizeMode::kCrop, "crop"}};

inline constexpr Nick<bool> kOrderNicks[]{{false, "xy"}, {true, "yx"}};

inline constexpr Nick<ScoreRule> kScoreNicks[]{{ScoreRule::kClass, "class"},
                                               {ScoreRule::kProduct, "product"},
                                               {ScoreRule::kArgmaxFirst, "argmax-first"},
                                               {ScoreRule::kObjectness, "objectness"},
                                               {ScoreRule::kGeometricMean, "geometric-mean"}};

inline constexpr Nick<Activation> kActivationNicks[]{{Activation::kNone, "none"},
                                                     {Activation::kSigmoid, "sigmoid"},
                                                     {Activation::kSoftmax, "softmax"}};

inline constexpr Nick<Background> kBackgroundNicks[]{
    {Background::kNone, "none"}, {Background::kFirst, "first"}, {Background::kLast, "last"}};

inline constexpr Nick<Payload> kPayloadNicks[]{{Payload::kNone, "none"},
                                               {Payload::kAngle, "angle"},
                                               {Payload::kKeypoints, "keypoints"},
                                               {Payload::kMaskCoefficients, "mask-coefficients"},
                                               {Payload::kEmbedding, "embedding"}};

inline constexpr Nick<PointCoding> kPointCodingNicks[]{{PointCoding::kBox, "box"},
                                                       {PointCoding::kCells, "cells"},
                                                       {PointCoding::kCellPixels, "cell-pixels"},
                                                       {PointCoding::kPriorDelta, "prior-delta"},
                                                       {PointCoding::kInBox, "in-box"}};

inline constexpr Nick<Role> kRoleNicks[]{{Role::kAll, "all"},
                                         {Role::kBoxes, "boxes"},
                                         {Role::kScores, "scores"},
                                         {Role::kObjectness, "objectness"},
                                         {Role::kSizes, "sizes"},
                                         {Role::kClasses, "classes"},
                                         {Role::kCount, "count"},
                                         {Role::kIndices, "indices"},
                                         {Role::kKeypoints, "keypoints"},
                                         {Role::kUnread, "unread"}};

}  // namespace keepbox
