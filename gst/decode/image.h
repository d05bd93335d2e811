// SPDX-License-Identifier: LGPL-2.1-or-later
// Plans and decodes one image of a frame.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"
#include "gst/decode/boxes.h"
#include "gst/decode/keptparts.h"
#include "gst/decode/settings.h"
#include "gst/decode/stream.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

// Groups a frame's tensors by the model that produced them.

/// Tensors of a frame that have the same source.
struct ProducerTensors {
  SharedProvenance source;        // nullptr if unknown
  std::vector<uint32_t> tensors;  // indices in listed()
};

/// Groups the listed tensors by source, in order of appearance; those without a source form one
/// group. Returns at least one group, which may be empty. With ids there is a single group, with
/// the source of the first tensor that is named. Groups that declare the wanted detector come
/// first.
std::vector<ProducerTensors> by_tensor_producer(const FrameTensors& tensors,
                                                std::span<const std::string> ids,
                                                std::string_view detector);

/// Returns the model for messages, such as "best (a/best.onnx)" with the end of the file's path.
std::string to_string(const ProducerTensors& produced);

/// Returns the properties of tensors that are known without reading them. @param which indices in
/// listed().
std::vector<TensorView> forms_of(const FrameTensors& tensors, std::span<const uint32_t> which);

// Plans how a stream's tensors are decoded.

/// Plans for one decoder; remembers what was recognised and logged.
class Planner {
 public:
  /// @param stream, device outlive this.
  Planner(DecodeStream& stream, DeviceChoice& device) : stream_(stream), device_(device) {}

  /// Plans the first model whose tensors this decoder accepts; reads them if their values are
  /// needed. Tensors of objects are planned with the first image whose values show the units.
  Result<PlannedTensors> plan(FrameTensors& tensors);

  /// Applies changed thresholds and classes to a processor, with its warnings.
  Status retune(StreamProcessor& processor);

  /// Accepts a family that was set even if the values contradict it, with a warning.
  /// @return the error for other families.
  Status accept(const Plan& plan, const Status& values);

  /// Logs what a new processor decodes, and warns about implausible settings and labels.
  void announce(const Processor& processor);

  /// Forgets the recognised family.
  void forget_family() { recognized_.reset(); }
  /// Logs everything again, for a new stream.
  void start() { logged_.clear(); }

 private:
  /// The family that a producer's tensors were recognised as by shape and values.
  struct Recognized {
    SharedProvenance source;
    std::vector<TensorForm> forms;  // of the tensors that were read
    std::string family;             // a name of the table
    Units units;
  };

  bool is_recognized(const FrameTensors& tensors, const ProducerTensors& produced) const;
  void remember(const PlannedTensors& planned);
  Result<Plan> plan_unread(const FrameTensors& tensors, const ProducerTensors& produced,
                           const Settings& wanted) const;
  Result<Plan> plan_with(FrameTensors& tensors, const ProducerTensors& produced,
                         const Settings& wanted);
  Result<Plan> plan_again(FrameTensors& tensors, const ProducerTensors& produced, Settings wanted);
  Result<Plan> plan_of(FrameTensors& tensors, const ProducerTensors& produced);
  Result<PlannedTensors> plan_image(FrameTensors& tensors);
  void check_label_count(const Plan& plan) const;

  DecodeStream& stream_;
  DeviceChoice& device_;
  std::optional<Recognized> recognized_;  // for streams whose number of rows varies
  std::string logged_;                    // the last remark of a plan
};

// Runs a processor on the images of a frame, and collects their boxes.

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
