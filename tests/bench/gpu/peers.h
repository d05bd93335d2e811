// SPDX-License-Identifier: LGPL-2.1-or-later
// Published methods, reimplemented from their descriptions with their allocations, copies and
// computations. No core headers, because nvcc compiles this file, too.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace keepbox::peers {

/// A box x1 y1 x2 y2 and its score.
struct ScoredBox {
  float x1, y1, x2, y2, score;
};

enum class Pixels {
  kContinuous,  // width is x2 - x1
  kPlusOne,     // width is x2 - x1 + 1: Faster R-CNN's own convention
};

/// Faster R-CNN's GPU NMS: allocates, uploads, compares all 64x64 tiles of pairs into a bit mask in
/// one kernel, downloads the mask and reduces it on the host. One class.
/// @param boxes in system memory, best score first.
/// @param kept receives the indices of kept boxes, ascending.
void faster_rcnn_nms(std::span<const ScoredBox> boxes, float threshold, Pixels pixels,
                     std::vector<int>& kept);

/// Time of a FastDecoder's allocation; the published code allocates for each call.
enum class Allocate { kEachCall, kOnce };
enum class Source { kSystem, kDevice };

struct FastSetup {
  size_t anchors = 0;
  size_t classes = 0;
  bool objectness = true;  // YOLOv5's rows; otherwise YOLOv8's transposed ones
  float score_threshold = 0.25f;
  float iou_threshold = 0.45f;
  size_t most = 1000;  // maximum candidates; later arrivals are dropped, whatever their score
  float to_frame[6] = {1, 0, 0, 0, 1, 0};  // affine, model to frame
  Allocate allocate = Allocate::kEachCall;
  Source source = Source::kDevice;
};

struct FastBox {
  float x1, y1, x2, y2, score, label, keep;
};

/// tensorRT_Pro's decoding of YOLO rows with its fast NMS: one thread per anchor appends candidates
/// in the order of arrival, then one thread per candidate looks for any better box of its class
/// that overlaps it, suppressed or not. Keeps fewer boxes than greedy NMS.
class FastDecoder {
 public:
  explicit FastDecoder(const FastSetup& setup);
  FastDecoder(const FastDecoder&) = delete;
  FastDecoder& operator=(const FastDecoder&) = delete;
  ~FastDecoder();

  /// Returns the kept boxes, unordered. Valid until the next call.
  /// @param rows anchors x (4 or 5 + classes), in the memory given by the setup.
  const std::vector<FastBox>& run(const float* rows);

  /// Returns the number of candidates of the last call, dropped ones included.
  size_t candidates() const { return candidates_; }

 private:
  struct Memory;
  FastSetup setup_;
  std::unique_ptr<Memory> memory_;  // with Allocate::kOnce
  std::vector<FastBox> boxes_;
  size_t candidates_ = 0;
};

}  // namespace keepbox::peers
