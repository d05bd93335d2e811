// SPDX-License-Identifier: LGPL-2.1-or-later
// The words that users type for the values of core's enums, in properties and in files.
#pragma once

#include <string_view>

#include "core/formula/contract.h"
#include "core/model/detector.h"

namespace keepbox {

template <class E>
struct Nick {
  E value;
  std::string_view nick;
  std::string_view summary{};  // a sentence for gst-inspect-1.0; values of properties only
};

inline constexpr Nick<NmsMethod> kMethodNicks[]{
    {NmsMethod::kAuto, "auto",
     "The method of the contract: greedy for most, none for end-to-end models"},
    {NmsMethod::kGreedy, "greedy", "Exact greedy suppression: kept boxes suppress worse ones"},
    {NmsMethod::kNone, "none", "Keep every box above the score threshold"},
    {NmsMethod::kBitmask, "bitmask",
     "Same boxes as greedy, computed with an IoU bit mask as in Faster R-CNN"},
    {NmsMethod::kSegmented, "segmented",
     "Same boxes as greedy, computed by sorting by class, with one mask per class"},
    {NmsMethod::kFast, "fast",
     "One pass, as in YOLACT: suppressed boxes suppress too, so fewer boxes are kept"},
    {NmsMethod::kSoftLinear, "soft-linear",
     "Soft-NMS, linear: boxes that overlap a kept box beyond the IoU threshold have their scores "
     "multiplied by 1 - IoU"},
    {NmsMethod::kSoftGaussian, "soft-gaussian",
     "Soft-NMS, Gaussian: scores of overlapping boxes are multiplied by e^(-IoU^2 / sigma)"},
    {NmsMethod::kWeighted, "weighted",
     "Score-weighted mean of a kept box and the boxes that it suppresses, as in MediaPipe"},
    {NmsMethod::kDiou, "diou",
     "Greedy with DIoU: IoU minus the squared centre distance divided by the squared diagonal of "
     "the enclosing box"},
    {NmsMethod::kMatrix, "matrix",
     "Matrix NMS of SOLOv2, Gaussian: lowers each score once, less so by boxes that are suppressed "
     "themselves"},
    {NmsMethod::kMatrixLinear, "matrix-linear", "Matrix NMS of SOLOv2, linear (1 - IoU)"},
    {NmsMethod::kMerge, "merge",
     "Greedy, then each box becomes the score-weighted mean of all it overlaps, as in YOLOv5"}};

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
    {ResizeMode::kLetterboxScaler, "letterbox-scaler"}};

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
                                               {Payload::kMaskCoefficients, "mask-coefficients"}};

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
