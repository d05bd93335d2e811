// SPDX-License-Identifier: LGPL-2.1-or-later
// What users type for the values of core's enums, in properties and in files.
#pragma once

#include <string_view>

#include "core/contract.h"
#include "core/detector.h"

namespace keepbox {

template <class E>
struct Nick {
  E value;
  std::string_view nick;
  std::string_view summary{};  // a sentence for the manual, of properties' values
};

inline constexpr Nick<NmsMethod> kMethodNicks[]{
    {NmsMethod::kAuto, "auto",
     "As the contract says, which is greedy for most; none for end-to-end models that did it "
     "themselves"},
    {NmsMethod::kGreedy, "greedy", "Exact greedy suppression by a better box that was kept"},
    {NmsMethod::kNone, "none", "Every box above the threshold is kept"},
    {NmsMethod::kBitmask, "bitmask",
     "The boxes of greedy, by words of an IoU mask as in Faster R-CNN's code"},
    {NmsMethod::kSegmented, "segmented",
     "The boxes of greedy, by sorting by class and resolving a mask for each class"},
    {NmsMethod::kFast, "fast",
     "One pass as in YOLACT: loses boxes that greedy keeps, for suppressed boxes suppress too"},
    {NmsMethod::kSoftLinear, "soft-linear",
     "A kept box lowers the scores of those that it overlaps beyond the threshold, to 1 - IoU of "
     "them"},
    {NmsMethod::kSoftGaussian, "soft-gaussian",
     "A kept box lowers the scores of all that it overlaps, to e^(-IoU^2 / sigma) of them"},
    {NmsMethod::kWeighted, "weighted",
     "A box becomes the mean, by scores, of those that it suppresses and itself, as in MediaPipe"},
    {NmsMethod::kDiou, "diou",
     "Greedy by the IoU less the squared distance of the centres, as a part of the squared "
     "diagonal "
     "around both"},
    {NmsMethod::kMatrix, "matrix",
     "SOLOv2's Matrix NMS: each score falls once, as with soft-gaussian, less so by boxes that are "
     "suppressed themselves"},
    {NmsMethod::kMatrixLinear, "matrix-linear", "The same, to 1 - IoU of the scores"},
    {NmsMethod::kMerge, "merge",
     "The boxes of greedy, each then the mean, by scores, of all that it overlaps, as in YOLOv5"}};

inline constexpr Nick<Units> kUnitsNicks[]{
    {Units::kAuto, "auto", "Seen from the first frame's numbers"},
    {Units::kPixels, "pixels", "Pixels of the model's input"},
    {Units::kNormalized, "normalized", "Fractions of the model's input, 0 to 1"}};

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
