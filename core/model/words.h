// SPDX-License-Identifier: LGPL-2.1-or-later
// The words for the values of enums, as in properties, files and messages: a table per enum.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/formula/conventions.h"
#include "core/formula/filter.h"
#include "core/formula/letterbox.h"
#include "core/formula/mask.h"
#include "core/model/detector.h"
#include "core/model/nms_methods.h"

namespace keepbox {

template <class E>
struct Word {
  E value;
  std::string_view word;
  std::string_view summary{};  // a sentence for gst-inspect-1.0; values of properties only
};

/// Returns the word of a value. @pre it is in the table.
template <class E>
constexpr std::string_view word_of(std::span<const Word<E>> words, E value) {
  return std::ranges::find(words, value, &Word<E>::value)->word;
}

/// A value of an enum of any type, with its words.
struct EnumValue {
  int value;
  std::string_view nick;     // as users type it
  std::string_view summary;  // a sentence for manuals
};

/// Returns the word of a value; empty if it has none.
inline std::string nick_of(std::span<const EnumValue> values, int value) {
  const auto found = std::ranges::find(values, value, &EnumValue::value);
  return found == values.end() ? std::string() : std::string(found->nick);
}

/// Returns the values of a table.
template <class E>
std::vector<EnumValue> enum_values(std::span<const Word<E>> words) {
  std::vector<EnumValue> values;
  for (const Word<E>& each : words)
    values.push_back({static_cast<int>(each.value), each.word, each.summary});
  return values;
}

/// The rows of the table of methods, "auto" first.
inline constexpr auto kMethodWords = [] {
  std::array<Word<NmsMethod>, std::size(kNmsMethods)> words;
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = {kNmsMethods[i].method, kNmsMethods[i].name, kNmsMethods[i].summary};
  return words;
}();

inline constexpr Word<Units> kUnitsWords[]{
    {Units::kAuto, "auto",
     "Units declared by the inference element, or else derived from the first frame"},
    {Units::kPixels, "pixels", "Pixels of the model input"},
    {Units::kNormalized, "normalized", "Fractions of the model input, 0 to 1"}};

inline constexpr Word<bool> kYesNo[]{{true, "true"}, {false, "false"}};

inline constexpr Word<Reader> kReaderWords[]{{Reader::kDense, "dense"},
                                             {Reader::kSplit, "split"},
                                             {Reader::kReady, "ready"},
                                             {Reader::kOutputs, "outputs"},
                                             {Reader::kIndices, "indices"}};

inline constexpr Word<BoxCoding> kCodingWords[]{
    {BoxCoding::kCenterSize, "center-size"},    {BoxCoding::kCorners, "corners"},
    {BoxCoding::kTopLeftSize, "top-left-size"}, {BoxCoding::kGridExp, "grid-exp"},
    {BoxCoding::kGridSize, "grid-size"},        {BoxCoding::kGridPixels, "grid-pixels"},
    {BoxCoding::kGridSigmoid, "grid-sigmoid"},  {BoxCoding::kGridDarknet, "grid-darknet"},
    {BoxCoding::kDistances, "distances"},       {BoxCoding::kDistanceBins, "distance-bins"},
    {BoxCoding::kPriorDelta, "prior-delta"}};

static_assert(std::size(kCodingWords) == kBoxCodings);

inline constexpr Word<bool> kChannelWords[]{{false, "rgb"}, {true, "bgr"}};

inline constexpr Word<ResizeMode> kResizeWords[]{
    {ResizeMode::kStretch, "stretch", "Each axis is scaled independently"},
    {ResizeMode::kLetterboxCenter, "letterbox-center",
     "Aspect ratio is kept, padded equally on both sides"},
    {ResizeMode::kLetterboxTopLeft, "letterbox-topleft",
     "Aspect ratio is kept, padded on the right or at the bottom"},
    {ResizeMode::kLetterboxScaler, "letterbox-scaler",
     "As letterbox-center, but with the picture rounded down to whole pixels of the model input, "
     "as "
     "videoconvertscale add-borders=true does"},
    {ResizeMode::kCrop, "crop",
     "Aspect ratio is kept, scaled to fill the model input, and what does not fit is cut off "
     "equally "
     "on both sides, as torchvision's Resize and CenterCrop do; objects in the parts cut off "
     "cannot "
     "be found"}};

inline constexpr Word<MaskSize> kMaskSizeWords[]{
    {MaskSize::kNone, "none", "No masks"},
    {MaskSize::kPrototypes, "prototypes",
     "Resolution of the prototypes, typically a quarter of the model input"},
    {MaskSize::kFrame, "frame",
     "Resolution of the frame, interpolated bilinearly as with Ultralytics' retina_masks"}};

inline constexpr Word<bool> kOrderWords[]{{false, "xy"}, {true, "yx"}};

inline constexpr Word<ScoreRule> kScoreWords[]{{ScoreRule::kClass, "class"},
                                               {ScoreRule::kProduct, "product"},
                                               {ScoreRule::kArgmaxFirst, "argmax-first"},
                                               {ScoreRule::kObjectness, "objectness"},
                                               {ScoreRule::kGeometricMean, "geometric-mean"}};

inline constexpr Word<Activation> kActivationWords[]{{Activation::kNone, "none"},
                                                     {Activation::kSigmoid, "sigmoid"},
                                                     {Activation::kSoftmax, "softmax"}};

inline constexpr Word<RegionRule> kRegionWords[]{{RegionRule::kCenter, "center"},
                                                 {RegionRule::kInside, "inside"},
                                                 {RegionRule::kTouch, "touch"}};

inline constexpr Word<Background> kBackgroundWords[]{
    {Background::kNone, "none"}, {Background::kFirst, "first"}, {Background::kLast, "last"}};

inline constexpr Word<Payload> kPayloadWords[]{{Payload::kNone, "none"},
                                               {Payload::kAngle, "angle"},
                                               {Payload::kKeypoints, "keypoints"},
                                               {Payload::kMaskCoefficients, "mask-coefficients"},
                                               {Payload::kEmbedding, "embedding"}};

inline constexpr Word<PointCoding> kPointCodingWords[]{{PointCoding::kBox, "box"},
                                                       {PointCoding::kCells, "cells"},
                                                       {PointCoding::kCellPixels, "cell-pixels"},
                                                       {PointCoding::kPriorDelta, "prior-delta"},
                                                       {PointCoding::kInBox, "in-box"}};

inline constexpr Word<Role> kRoleWords[]{{Role::kAll, "all"},
                                         {Role::kBoxes, "boxes"},
                                         {Role::kScores, "scores"},
                                         {Role::kObjectness, "objectness"},
                                         {Role::kSizes, "sizes"},
                                         {Role::kClasses, "classes"},
                                         {Role::kCount, "count"},
                                         {Role::kIndices, "indices"},
                                         {Role::kKeypoints, "keypoints"},
                                         {Role::kUnread, "unread"}};

inline std::string_view to_string(ResizeMode mode) {
  return word_of<ResizeMode>(kResizeWords, mode);
}

}  // namespace keepbox
