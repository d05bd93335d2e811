// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a processor on the images of a frame, and collects their boxes.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <span>
#include <vector>

#include "gst/decode/decodestream.h"
#include "gst/decode/detectedboxes.h"
#include "gst/decode/keptparts.h"
#include "gst/decode/planner.h"
#include "gst/decode/streamprocessor.h"

namespace keepbox {

/// Decodes the frame, its tiles or its objects, and keeps the results of the last frame.
class ImageDecoder {
 public:
  /// All outlive this.
  ImageDecoder(DecodeStream& stream, Planner& planner, StreamProcessor& processor)
      : stream_(stream), planner_(planner), processor_(processor) {}

  void clear();
  /// Sets the names of the processor's classes.
  void set_labels(std::shared_ptr<const Labels> labels) { labels_ = std::move(labels); }
  /// Adds the boxes of the frame. @pre the processor is made for the tensors, which are mapped.
  Status decode(GstBuffer* buffer, FrameTensors& tensors);
  /// Adds the kept parts of objects to a frame that has no tensors on purpose.
  void skip(GstBuffer* buffer);
  /// Adds the boxes of a frame of a run. @param joint by a joint plan that is alike the
  /// processor's.
  /// @param number of the frame in the run.
  Status take(const Processor& joint, uint32_t number);

  std::span<FrameBox> boxes() { return boxes_.boxes(); }
  std::span<FrameBox> weak() { return boxes_.weak(); }
  const Funnel& funnel() const { return funnel_; }
  std::span<const guint> image_boxes() const { return image_boxes_; }
  /// Returns the number of runs for the last frame.
  uint32_t runs() const { return runs_; }
  /// Returns the size of the frame that boxes are on.
  Size frame() const;
  /// True if the last frame has an object that its model left out, and of which nothing is known.
  bool incomplete() const { return incomplete_; }
  /// Forgets the parts of earlier frames.
  void forget_parts() { parts_.forget(); }
  /// Forgets the name of the model, too.
  void stop() { forget_parts(), model_ = 0; }
  /// True if the tensors of the last frame are those of an earlier one.
  bool held() const { return processor_.source() != nullptr && processor_.source()->held; }
  /// Returns the name of the model in a frame's boxes, as in FrameBox::model, also if the frame has
  /// none.
  GQuark model_on(GstBuffer* buffer);

 private:
  Status check(const Processor& processor, uint32_t number);
  Status decode_image(const FrameTensors& tensors);
  Status decode_frame(const FrameTensors& tensors);
  Status decode_objects(GstBuffer* buffer, FrameTensors& tensors);
  void keep_parts(GstBuffer* buffer, guint64 producer, std::span<const PictureRecord> decoded);
  void limit_parts(GstBuffer* buffer);
  GQuark name_of(const std::string& model) const;
  const std::string& model_of(const SharedProvenance& source) const;
  FrameBox common() const;

  DecodeStream& stream_;
  Planner& planner_;
  StreamProcessor& processor_;
  std::shared_ptr<const Labels> labels_;
  DetectedBoxes boxes_;
  Funnel funnel_;  // over all images
  std::vector<guint> image_boxes_;
  uint32_t runs_ = 0;
  KeptParts parts_;
  bool incomplete_ = false;
  GQuark model_ = 0;  // on the last frames, without model-name; 0: there was none
};

}  // namespace keepbox
