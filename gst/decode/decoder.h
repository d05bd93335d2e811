// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes the frames of a stream, alone or in joint runs with other streams.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/threads.h"
#include "core/recognition/value_checks.h"
#include "core/run/processor.h"
#include "gst/decode/image.h"
#include "gst/decode/intake.h"
#include "gst/decode/settings.h"
#include "gst/decode/stats.h"
#include "gst/decode/stream.h"
#include "gst/tensors/provenance.h"

namespace keepbox {

// Decodes a frame's tensors to boxes on the best available backend; runs in the streaming thread.

/// A frame of which the tensors are mapped for a run together with others.
struct PreparedFrame {
  std::unique_ptr<FrameTensors> tensors;
  Letterbox map;
  Route route = Route::kHost;
  uint64_t processor = 0;  // ProcessorNumber::tuned of the decoder's
};

/// Decodes frame by frame. Only device() may be used from other threads.
class Decoder {
 public:
  /// @param element posts the messages. @param stop set by another thread to end a frame, see
  /// Processor::stop_by(). Both outlive the decoder.
  Decoder(GstElement* element, const std::atomic<bool>* stop)
      : stream_{.element = element}, stop_(stop), device_(element) {}
  /// Makes a started decoder for another stream of the element, with the properties of the first
  /// one. It shares the device and the warnings.
  Decoder(GstElement* element, const std::atomic<bool>* stop, Decoder& like);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { stop(); }

  /// Takes properties, which are valid, and the files that they name. The next frame is planned
  /// again unless only thresholds or classes differ.
  void set_props(const DecodeProps& props, const DecodeFiles& files = {});
  const DecodeProps& props() const { return stream_.props; }
  /// Returns what the tensors so far say about classes and ids.
  const StreamNames& names() const { return stream_.names; }
  void set_picture(const Picture& picture);

  /// Prepares for the first frame. kNoResource without the device that is set.
  Status start();
  void stop();

  /// Forgets what is kept of earlier frames.
  void flush() { images_.forget_parts(); }

  /// Fills boxes(). If a device fails and the backend was not set, falls back to the CPU from this
  /// frame on, with an element warning.
  Status decode(GstBuffer* buffer);

  /// Maps a frame's tensors for a run together with other frames. Nothing if decode() has to decode
  /// it: a frame without tensors, the first one with a plan, tiles, objects, and errors.
  std::optional<PreparedFrame> prepare(GstBuffer* buffer);
  /// Fills boxes() like decode() with a prepared frame's boxes from a run.
  /// @param number of the frame in the run. @return the error for which decode() has to decode it.
  Status take(GstBuffer* buffer, const PreparedFrame& frame, const Processor& joint,
              uint32_t number);
  /// Returns the processor of prepared frames.
  const StreamProcessor& stream_processor() const { return processor_; }

  std::span<FrameBox> boxes() { return images_.boxes(); }
  /// Returns the boxes that are for trackers only.
  std::span<FrameBox> weak() { return images_.weak(); }
  /// Returns the processor of the last frame, or nullptr.
  const Processor* processor() const { return processor_ ? &*processor_ : nullptr; }
  /// Returns the number of runs of a processor for the last frame; 0 if it was in a run that began
  /// with another frame.
  uint32_t runs() const { return images_.runs(); }
  /// True if the model did not look at the last frame, or not at all of its objects: the inference
  /// element skipped it, its tensors are held from an earlier one, or nothing is known of an object
  /// that was left out.
  bool skipped_by_model(GstBuffer* buffer) const;
  /// Returns the name of the model in a frame's boxes, as in FrameBox::model, also if the frame has
  /// none.
  GQuark model_on(GstBuffer* buffer) { return images_.model_on(buffer); }
  /// Adds the last frame to the counters.
  /// @param decoded false if its tensors did not fit. @param time that it took.
  void count(DecodeStats& stats, bool decoded, GstClockTime time);
  /// Returns the size of the frame that boxes are on.
  Size frame() const { return images_.frame(); }
  /// True if the last error was a device failure, which would repeat for every frame.
  bool device_failed() const { return device_.failed(); }

  Device& device() { return device_.device(); }

 private:
  bool needs_plan(const DecodeProps& props) const;
  void count_scores(FrameTensors& tensors);
  void check_input(const std::string& detector);
  void drop_processor();
  Status attempt(GstBuffer* buffer);
  Status decode_on_cpu(GstBuffer* buffer, const Error& device);
  void mark_undecodable(GstBuffer* buffer) const;
  void begin_frame();
  void end_frame(GstBuffer* buffer, const FrameTensors& tensors, Route route);
  Result<bool> map_for_processor(FrameTensors& tensors);
  Status make_ready(FrameTensors& tensors);
  Status retune();
  Status replan(FrameTensors& tensors);
  Status make_processor(const PlannedTensors& planned, const FrameTensors& tensors);
  Route route_of(const FrameTensors& tensors) const;

  DecodeStream stream_;
  const std::atomic<bool>* stop_;
  DeviceChoice device_;
  TensorIntake intake_{stream_};
  Planner planner_{stream_, device_};
  std::shared_ptr<ThreadPool> threads_;
  StreamProcessor processor_;
  ImageDecoder images_{stream_, planner_, processor_};
  Route route_ = Route::kHost;
  bool tuned_ = false;         // thresholds or classes differ from the processor's
  bool started_ = false;       // a frame was decoded since the start
  ScoreCount scores_;          // of the last frame that was looked at because it had no candidate
  uint64_t empty_frames_ = 0;  // frames without a candidate since the start
  bool planned_ = false;
  bool skipped_ = false;
  bool shares_device_ = false;  // the device is another one's
};

// Answers to queries that boxdecode gets from elements upstream: caps without tensors, and the
// input of the family that is set.

/// Removes the tensors that the template lists for tensordecodebin from the result of a caps query:
/// upstream needs none to link, and downstream gets the actual ones with the caps.
void remove_tensors_from_caps(GstQuery* query);

/// Returns the family that is set; std::nullopt for auto and for a file that cannot be read, which
/// is reported with the first frame. May run in any thread, so a file is read just for this.
/// @param detector the property.
std::optional<WantedFamily> wanted_family(const std::string& detector);

// A processor for frames of several decoders whose plans are alike.

/// Decodes prepared frames in one run.
class JointProcessor {
 public:
  /// Maximum number of frames in a run, which limits its memory.
  static constexpr size_t kMost = 64;

  /// @param like runs frames with the same plan one by one.
  explicit JointProcessor(const StreamProcessor& like);
  JointProcessor(const JointProcessor&) = delete;
  JointProcessor& operator=(const JointProcessor&) = delete;
  ~JointProcessor() { drop(); }

  /// True if a run makes the same boxes of its frames as that processor. If the settings of one
  /// that it took have changed, it takes that one again, and others if theirs have changed, too.
  /// @pre there is one
  bool takes(const StreamProcessor& other);
  /// Forgets all processors but those with these numbers, which it removes from them. @return false
  /// if it knows none.
  bool keep(std::vector<ProcessorNumber>& numbers);

  /// True if a frame can be in a run directly after another one. @param frame, next of processors
  /// that it takes.
  bool follows(const PreparedFrame& frame, const PreparedFrame& next) const;
  /// Decodes up to kMost frames of processors that it takes. kNoResource if there is no memory for
  /// so many, and from then on.
  Status run(std::span<const PreparedFrame* const> frames);
  /// Returns the processor with the results of the last run. @pre it was successful.
  const Processor& operator*() const { return *processor_; }

 private:
  Status make(size_t frames);
  void retune(const StreamProcessor& like);
  void drop();

  Plan plan_;  // of one frame
  ProcessorSite site_;
  std::vector<ProcessorNumber> alike_;  // of processors that it takes
  std::optional<Processor> processor_;
  Status made_;  // an error if there is no processor for these settings
};

// Decodes the frames of a batch together.

/// Gathers frames of several decoders. Those with the same plan are decoded in one run, others one
/// by one, as is each frame for which that fails.
class FrameGroup {
 public:
  /// Gets each frame in turn when it is decoded: the decoder has its boxes. @param started when its
  /// decoding would have begun if it had taken place at once.
  using Finish = std::function<GstFlowReturn(Decoder& decoder, GstBuffer* frame,
                                             const Status& status, GstClockTime started)>;

  /// Adds a frame. Both outlive the next finish() or clear().
  void add(Decoder& decoder, GstBuffer* frame);
  /// Decodes the frames in their order, up to the first that does not flow.
  GstFlowReturn finish(const Finish& finish);

  /// Drops processors that none of the decoders needs.
  void keep_for(std::span<const Decoder* const> decoders);
  /// Drops all processors and frames.
  void clear();

 private:
  struct Entry {
    Decoder* decoder;
    GstBuffer* frame;
    GstClockTime spent;                     // so far
    std::optional<PreparedFrame> prepared;  // none: to be decoded alone
    JointProcessor* joint = nullptr;        // of a prepared frame
    uint32_t number = 0;                    // in the run
    bool ran = false;                       // the processor has its boxes
  };

  JointProcessor* joint_for(const StreamProcessor& processor);
  Status run_from(size_t first);
  std::vector<Entry*> run_of(size_t first);
  static Status complete(Entry& entry);

  std::vector<std::unique_ptr<JointProcessor>> joints_;
  std::vector<Entry> entries_;
};

}  // namespace keepbox
