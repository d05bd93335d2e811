// SPDX-License-Identifier: LGPL-2.1-or-later
// The words that users type for the values of core's enums, in properties and in files.
#pragma once

#include <array>
#include <iterator>
#include <string_view>

#include "core/formula/conventions.h"
#include "core/model/detector.h"
#include "core/model/nms_methods.h"

namespace keepbox {

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
