// SPDX-License-Identifier: LGPL-2.1-or-later
// Plans how a stream's tensors are decoded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "gst/decode/decodestream.h"
#include "gst/decode/devicechoice.h"
#include "gst/decode/producers.h"
#include "gst/decode/streamprocessor.h"

namespace keepbox {

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

}  // namespace keepbox
