// SPDX-License-Identifier: LGPL-2.1-or-later
// From a frame to a model's tensors, on the host or on a GPU.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <memory>
#include <string>
#include <vector>

#include "core/input.h"
#include "gst/infer/onnxsession.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {

/// A buffer, owned.
struct BufferUnref {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
};
using OwnedBuffer = std::unique_ptr<GstBuffer, BufferUnref>;

/// One of a model's outputs for a frame. Where it is in CUDA memory it has kReadyEvent.
struct InferredTensor {
  DataType type = DataType::kFloat32;
  Shape shape;
  OwnedBuffer data;
};

/// Where a frame's time went. On a GPU of an earlier frame, since nobody waits for this one.
struct InferTimes {
  double input_us = 0;   // making the input, uploads included
  double model_us = 0;
  double queued_us = 0;  // waiting for frames before it
};

/// Runs a model frame by frame, in the order frames() -> infer() ... For one thread at a time, but
/// for interrupt(); the model itself may be shared with others.
class Inferencer {
 public:
  virtual ~Inferencer() = default;

  virtual const ModelClaims& claims() const = 0;

  /// Takes what was settled about the model. Called once, first.
  virtual Status set_model(const ModelFacts& facts) = 0;

  /// Takes how frames come from now on, and where: CUDA memory is read in place by those that can.
  virtual Status set_frames(const InputPlan& plan, const GstVideoInfo& info) = 0;

  /// One tensor an output, in the model's order. The frame may be written to when this returns, by
  /// whoever comes in the order of its stream.
  virtual Result<std::vector<InferredTensor>> infer(GstBuffer* frame) = 0;

  /// Ends the run that is under way, if any, and lets those to come fail as long as `on`: not those
  /// of others who share the model. From any thread. @pre set_model().
  virtual void interrupt(bool on) = 0;

  /// Waits until all that was started is done.
  virtual void drain() {}

  virtual InferTimes times() const = 0;
  /// Are the model's launches replayed from a graph?
  virtual bool graph() const { return false; }
};

/// On the host, by whatever provider takes the host's tensors.
Result<std::unique_ptr<Inferencer>> make_host_inferencer(const SessionSpec& spec);

/// On a GPU. @param context of the device's primary context (see primary_context()).
Result<std::unique_ptr<Inferencer>> make_cuda_inferencer(const SessionSpec& spec,
                                                         const CudaContext& context);

/// An input in addition to the picture, such as the picture's size.
struct ExtraInput {
  std::vector<int64_t> dims;     // what it is bound with
  std::vector<std::byte> bytes;  // its values, in the port's type
};

/// Makes an extra input for a picture. kUnsupported for a port of a type that such inputs lack.
Result<ExtraInput> make_extra(const ModelPort& port, SizeInput::Kind kind, Size input);

/// The dimensions that the picture's port is bound with: dynamic ones are a batch of 1, or the
/// picture's.
std::vector<int64_t> bound_dims(const ModelPort& port, const InputForm& input);

}  // namespace keepbox
