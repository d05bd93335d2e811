// SPDX-License-Identifier: LGPL-2.1-or-later
// Crops: parts of a frame, upright, rotated or aligned to a template, as inputs of a model.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/formula/box.h"
#include "core/formula/input.h"
#include "core/formula/keypoint.h"
#include "core/plan/input.h"

namespace keepbox {

/// A part of a frame, and the rectangle of the model input that shows it. The rest of the
/// rectangle, where the frame has no pixels, and the input around it are padding.
struct Crop {
  CropMap map;      // from the whole input
  PixelRect place;  // in the input
};

/// Conversion of crops of frames of one size, settled before the first frame.
struct CropPlan {
  FrameForm frame;
  InputForm input;
  PixelRules rules;
  uint32_t par_n = 1, par_d = 1;  // pixel aspect ratio of the frame
};

/// Plans crops. Returns errors as plan_input() does.
Result<CropPlan> plan_crops(const FrameForm& frame, uint32_t par_n, uint32_t par_d,
                            const InputForm& input);

/// Returns the box enlarged about its centre. @param factor of its sides, above 0.
OrientedBox enlarged(const OrientedBox& box, float factor);

/// Returns the crop that shows a box, rotated upright, fitted into the input as `mode` fits whole
/// frames. An upright box is clipped to the frame first; nothing if less than a pixel of it
/// remains, or if a value is not finite. @param box in frame pixels.
std::optional<Crop> crop_of(const CropPlan& plan, const OrientedBox& box, ResizeMode mode);

/// Positions that keypoints have in an aligned picture.
struct AlignTemplate {
  struct Point {
    float x, y;  // the centre of the first pixel is 0, 0
    bool used;   // false: ignored in the alignment
  };
  Size size;
  std::vector<Point> points;  // by keypoint
};

/// The five points of InsightFace's ArcFace models for pictures of 112x112: eyes, nose, corners of
/// the mouth, left to right (insightface/utils/face_align.py).
const AlignTemplate& arcface_template();

/// Reads a template: a line with width and height, then one per keypoint with x and y, or "-" for a
/// keypoint that does not count. Empty lines and lines that begin with # are ignored. kInvalid with
/// the line's number.
Result<AlignTemplate> parse_template(std::string_view text);

/// Returns the crop whose similarity transform brings the keypoints as close to the template as
/// possible, by least squares of distances in the template (Umeyama, "Least-squares estimation of
/// transformation parameters between two point patterns", 1991). The template is scaled to the
/// input, centred if the aspect ratios differ. Nothing if there are fewer keypoints than template
/// points, or if all of them coincide. @param points in frame pixels.
std::optional<Crop> aligned_crop(const CropPlan& plan, std::span<const Keypoint> points,
                                 const AlignTemplate& to);

/// Makes inputs from parts of frames, by one plan.
class CropMaker {
 public:
  virtual ~CropMaker() = default;

  /// Writes the whole input including the padding. Allocates nothing. Parameters as for
  /// InputMaker::make().
  virtual Status make(const FramePlanes& frame, const Crop& crop, void* input, void* stream) = 0;
};

}  // namespace keepbox
