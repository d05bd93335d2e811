// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes a frame's tensors to boxes on the best available backend; runs in the streaming thread.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/run/processor.h"
#include "gst/decode/decodefiles.h"
#include "gst/decode/decodeprops.h"
#include "gst/decode/decodestats.h"
#include "gst/decode/producers.h"
#include "gst/decode/quantization.h"
#include "gst/decode/workerthreads.h"
#include "gst/metas/framebox.h"
#include "gst/metas/masks.h"
#include "gst/tensors/cudascope.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

/// The family that a producer's tensors were recognised as by shape and values.
struct Settled {
  SharedTensorSource source;
  std::vector<TensorForm> forms;  // of the tensors that were read
  std::string family;             // a name of the table
  Units units;
};

/// Decodes frame by frame. Only cuda() may be called from other threads.
class Decoder {
 public:
  /// @param element posts the messages. @param stop set by another thread to end a frame, see
  /// Processor::stop_by(). Both outlive the decoder.
  Decoder(GstElement* element, const std::atomic<bool>* stop) : element_(element), stop_(stop) {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { stop(); }

  /// Takes properties. The next frame is planned again unless only thresholds or classes differ.
  /// After the first decoded frame, invalid lists of classes, sizes and regions keep their previous
  /// value, with one element warning each.
  void set_props(DecodeProps props);
  const DecodeProps& props() const { return props_; }
  void set_picture(const Picture& picture);

  /// Checks what can be checked before the first frame: label file, and the requested device.
  Status start();
  void stop();

  /// Fills boxes(). If a device fails and the backend was not set, falls back to the CPU from this
  /// frame on, with an element warning.
  Status decode(GstBuffer* buffer);

  /// True if the inference element skipped the last frame on purpose; it then has no boxes.
  bool skipped() const { return skipped_; }
  std::span<FrameBox> boxes() { return boxes_; }
  Route route() const { return route_; }
  /// True if a plan was made for the last frame.
  bool planned() const { return planned_now_; }
  /// Returns the processor of the last frame, or nullptr.
  const Processor* processor() const { return processor_ ? &*processor_ : nullptr; }
  /// Returns the size of the frame that boxes are on.
  Size frame() const { return processor_ ? processor_->plan().letterbox.frame : picture_.size; }
  /// True if the last error was a device failure, which would repeat for every frame.
  bool device_failed() const { return device_failed_; }

  SharedCuda& cuda() { return cuda_; }

 private:
  static constexpr const char* kWithoutCuda = "set backend=auto";
  static bool takes_cuda(std::string_view backend);
  bool automatic() const { return backend_ == "auto"; }
  bool on_device() const {
    return processor_ && processor_->backend().memory == MemorySpace::kCuda;
  }
  std::string chosen_backend() const;
  MemorySpace wanted_memory() const;
  bool fits(const FrameTensors& tensors) const;
  void follow(const FrameTensors& tensors);
  Status retune();
  Status fetch(FrameTensors& tensors, std::span<const uint32_t> which, MemorySpace preferred);
  Status run(FrameTensors& tensors);
  Status attempt(GstBuffer* buffer);
  Status follow_picture(GstBuffer* buffer, FrameTensors& tensors);
  Status quantize(FrameTensors& tensors);
  Status take_boxes();
  void take_points();
  Status take_masks();
  void drop_empty_masks();
  void mark(GstBuffer* buffer, const FrameTensors& tensors) const;
  void mark_refused(GstBuffer* buffer) const;
  Status decode_on_cpu(GstBuffer* buffer, const Error& device);
  // Defined in decoderplan.cpp:
  struct Prepared;
  bool goes_on(FrameTensors& tensors, const Prepared& prepared) const;
  Status prepare(FrameTensors& tensors);
  Result<Prepared> plan_for(FrameTensors& tensors);
  Result<Plan> plan_unread(const FrameTensors& tensors, const Production& production,
                           const Settings& wanted) const;
  Result<Plan> plan_of(FrameTensors& tensors, const Production& production);
  Result<Plan> plan_with(FrameTensors& tensors, const Production& production,
                         const Settings& wanted);
  bool is_settled(const FrameTensors& tensors, const Production& production) const;
  void settle(const Prepared& prepared);
  Result<CudaContext> home_for(const FrameTensors& tensors);
  Status make_processor(const Prepared& prepared, const FrameTensors& tensors);
  void announce();
  void check_label_count(const Plan& plan);
  void leave_device(const Error& error);
  void drop_processor();
  Status believe(const Plan& plan, const Status& numbers);
  void warn_once(const Error& error);

  GstElement* element_;
  const std::atomic<bool>* stop_;
  DecodeProps props_;
  std::string backend_ = "auto";  // the name in force
  Picture picture_;
  bool tuned_ = false;                 // thresholds or classes differ from the processor's
  Result<Quantization> quantization_;  // parsed from props_
  DecodeFiles files_;
  SharedCuda cuda_;
  std::unique_ptr<ThreadPool> threads_;  // outlives the processor
  std::optional<Processor> processor_;
  SharedTensorSource source_;                 // of the tensors that it decodes
  std::optional<Settled> settled_;            // for streams whose number of rows varies
  SharedTensorSource decoded_;                // of the last decoded frame since the start
  std::shared_ptr<const Labels> labels_;      // of the model's classes
  CudaContext home_;                          // context of the processor, if on a device
  MemorySpace reads_ = MemorySpace::kSystem;  // memory that the processor reads
  std::string unsupported_;                   // why the device cannot run this plan
  std::string failed_;                        // why the device is not used again in this stream
  std::string announced_, told_;
  std::set<std::string> warned_;  // `expected` of each warning since the start
  bool began_ = false;            // a frame was decoded since the start
  bool planned_now_ = false;
  bool downloaded_now_ = false;
  bool skipped_ = false;
  bool device_failed_ = false;
  Route route_ = Route::kHost;
  std::vector<FrameBox> boxes_;
  MaskBuffers masks_;  // of boxes_
};

}  // namespace keepbox
