// SPDX-License-Identifier: LGPL-2.1-or-later
// Methods that others have published, written anew from their descriptions and as those do it:
// what they allocate, copy and compute is theirs. No core headers: nvcc compiles this, too.
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
  kContinuous,  // x1 to x2 is x2 - x1 wide
  kPlusOne,     // and one more: Faster R-CNN's own convention
};

/// Faster R-CNN's GPU NMS: allocates, uploads, compares all 64 x 64 tiles of pairs into a bit mask
/// in one kernel, downloads the mask and reduces it on the host. One class.
/// @param boxes in system memory, best score first.
/// @param kept takes the indices of boxes that stay, ascending.
void faster_rcnn_nms(std::span<const ScoredBox> boxes, float threshold, Pixels pixels,
                     std::vector<int>& kept);

/// When a FastDecoder gets its memory: each call is how it is published.
enum class Allocate { kEachCall, kOnce };
enum class Source { kSystem, kDevice };

struct FastSetup {
  size_t anchors = 0;
  size_t classes = 0;
  bool objectness = true;  // YOLOv5's rows; else YOLOv8's transposed ones
  float score_threshold = 0.25f;
  float iou_threshold = 0.45f;
  size_t most = 1000;  // candidates; those that arrive later are dropped, good ones too
  float to_frame[6] = {1, 0, 0, 0, 1, 0};  // affine, model to frame
  Allocate allocate = Allocate::kEachCall;
  Source source = Source::kDevice;
};

struct FastBox {
  float x1, y1, x2, y2, score, label, keep;
};

/// tensorRT_Pro's decoding of YOLO rows with its fast NMS: a thread an anchor appends candidates in
/// the order of arrival, then a thread a candidate looks for any better box of its class that
/// overlaps it, be that suppressed itself or not. Not greedy NMS: it keeps fewer boxes.
class FastDecoder {
 public:
  explicit FastDecoder(const FastSetup& setup);
  FastDecoder(const FastDecoder&) = delete;
  FastDecoder& operator=(const FastDecoder&) = delete;
  ~FastDecoder();

  /// Boxes that stay, in no order. Valid until the next call.
  /// @param rows anchors x (4 or 5 + classes), where the setup says.
  const std::vector<FastBox>& run(const float* rows);

  /// Candidates of the last call, dropped ones included.
  size_t candidates() const { return candidates_; }

 private:
  struct Memory;
  FastSetup setup_;
  std::unique_ptr<Memory> memory_;  // with Allocate::kOnce
  std::vector<FastBox> boxes_;
  size_t candidates_ = 0;
};

}  // namespace keepbox::peers
