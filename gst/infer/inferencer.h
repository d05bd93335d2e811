// SPDX-License-Identifier: LGPL-2.1-or-later
// The interface from a frame to a model's tensors, on the host or on a GPU.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/scratch.h"
#include "core/plan/input.h"
#include "gst/infer/onnx/onnxsession.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {

/// Owns a buffer reference.
struct BufferUnref {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
};
using OwnedBuffer = std::unique_ptr<GstBuffer, BufferUnref>;

/// An output of a model for a frame. In CUDA memory it has kReadyEvent.
struct InferredTensor {
  DataType type = DataType::kFloat32;
  Shape shape;
  OwnedBuffer data;
};

/// The time spent per step of a frame. On a GPU these are times of an earlier frame, to avoid
/// waiting.
struct InferTimes {
  double input_us = 0;  // making the input, uploads included
  double model_us = 0;
  double queued_us = 0;  // waiting for frames before it
};

/// Runs a model frame by frame, in the order set_model(), set_frames(), infer() ... Only
/// interrupt() may be called from other threads; the model itself may be shared with others.
class Inferencer {
 public:
  virtual ~Inferencer() = default;

  virtual const ModelClaims& claims() const = 0;

  /// Takes the settled facts about the model. Called once, first.
  virtual Status set_model(const ModelFacts& facts) = 0;

  /// Takes the format and memory of the coming frames. CUDA memory is read in place if supported.
  virtual Status set_frames(const InputPlan& plan, const GstVideoInfo& info) = 0;

  /// Returns one tensor per output, in the model's order. When this returns, the frame may be
  /// written to in the order of its stream.
  virtual Result<std::vector<InferredTensor>> infer(GstBuffer* frame) = 0;

  /// Ends the current run, if any, and makes later ones fail while `on`; other users of a shared
  /// model are not affected. From any thread. @pre set_model().
  virtual void interrupt(bool on) = 0;

  /// Waits until all started work is complete.
  virtual void drain() {}

  virtual InferTimes times() const = 0;
  /// True if the model's launches are replayed from a graph.
  virtual bool graph() const { return false; }
};

/// Makes an inferencer on the host, with any provider that takes tensors in system memory.
Result<std::unique_ptr<Inferencer>> make_host_inferencer(const SessionSpec& spec);

/// Makes an inferencer on a GPU. @param context of the device's primary context (see
/// primary_context()).
Result<std::unique_ptr<Inferencer>> make_cuda_inferencer(const SessionSpec& spec,
                                                         const CudaContext& context);

/// An input in addition to the picture, such as the picture's size.
struct ExtraInput {
  std::vector<int64_t> dims;        // what it is bound with
  ScratchBuffer<std::byte> values;  // in the port's type
  size_t bytes = 0;                 // of the values
};

/// Makes an extra input for a picture. kUnsupported for a port of a type that such inputs lack, or
/// for a mask larger than the picture; kNoResource.
Result<ExtraInput> make_extra(const ModelPort& port, SizeInput::Kind kind, Size input);

/// Returns the dimensions that the picture's port is bound with: dynamic ones become batch 1, or
/// the picture's size.
std::vector<int64_t> bound_dims(const ModelPort& port, const InputForm& input);

}  // namespace keepbox
