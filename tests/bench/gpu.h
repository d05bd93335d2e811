// SPDX-License-Identifier: LGPL-2.1-or-later
// The GPU benchmark's parts: inputs, those who compete on them, and the rows of its table.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/processor.h"
#include "tests/bench/device.h"
#include "tests/bench/scenes.h"
#include "tests/scene.h"

namespace keepbox::test::gpu {

constexpr size_t kTensors = 8;  // taken in turn
constexpr float kIou = 0.45f;
constexpr uint32_t kMost = 300;

/// A line of the table.
struct Row {
  std::string section, input, contender;
  std::string state;  // of the GPU's L2 cache, where that was seen to
  std::string check;  // how the boxes compare with the reference's; empty: there are none
  double p50 = 0, p99 = 0;  // microseconds
  size_t calls = 0;
  size_t candidates = 0, boxes = 0;
  double gb_per_s = 0, frames_per_s = 0;
  double cpu_us = 0;  // microseconds a frame of all the process's threads together
};

struct Times {
  double p50 = 0, p99 = 0;
  size_t calls = 0;
};

/// Times work(0), work(1), ... after a warm-up: 600 calls, or fewer when a second has passed.
/// @param before runs before each call, and is not timed.
Times timed(const std::function<void(size_t)>& before, const std::function<void(size_t)>& work);

/// The median and the 99th percentile.
Times times_of(std::vector<double> microseconds);

/// What all sections share: the device's helpers, and what they found.
class Session {
 public:
  /// @param dump a folder for the tensors, for other programs to read; empty: none
  explicit Session(std::string dump);

  void add(Row row);
  /// Did everyone find the boxes that they should?
  bool agreed() const { return agreed_; }
  void write(const std::string& path) const;

  /// Reads a buffer, so that the L2 cache has it, or writes another, so that it has not.
  void warm(const DeviceBuffer& buffer) const;
  void flush() const;

  const std::string& dump() const { return dump_; }
  nlohmann::ordered_json& manifest() { return manifest_; }
  void write_manifest() const;
  const DeviceBuffer& sink() const { return sink_; }

 private:
  std::string dump_;
  DeviceBuffer scratch_, sink_;
  std::vector<Row> rows_;
  nlohmann::ordered_json manifest_ = nlohmann::ordered_json::array();
  std::string heading_;
  bool agreed_ = true;
};

/// Tensors of one kind, settings for them, and the boxes that are right.
struct Input {
  std::string section, name;
  Settings settings;
  std::vector<Tensor> tensors;
  std::vector<DeviceBuffer> on_device;  // the same
  Plan plan;
  std::vector<std::vector<Detection>> expected;    // by the reference
  std::vector<std::vector<Candidate>> candidates;  // by the reference, before any suppression

  bool planes() const { return plan.spec->columns.objectness < 0; }
  size_t size() const { return tensors.size(); }
  /// The tensor's view in system or device memory.
  TensorView view(size_t index, MemorySpace space) const;
};

/// Frames of several tensors, and settings for them.
void measure_families(Session& session);

/// Computes what is right and uploads; writes the tensors where the session dumps them.
/// @param file the tensors' name there, the same for inputs that share them; empty: they stay here.
Input make_input(Session& session, std::string section, std::string name, const std::string& file,
                 const Settings& settings, std::vector<Tensor> tensors);

/// So many frames of one kind, see scenes.h.
std::vector<Tensor> scenes(bool planes, size_t anchors, const SceneSize& size, size_t count);

/// Settings for frames of 640 x 640 pixels.
Settings frame_settings(bool planes, float threshold);

/// Exactly the same boxes in the same order: "exact", or what differs.
std::string compare(std::span<const Detection> found, std::span<const Detection> expected);

/// Somebody who makes boxes of tensors.
struct Contender {
  std::string name;
  std::function<size_t(size_t)> run;  // of a tensor; the number of boxes
  // of a tensor that run() just found so many boxes in; what Row::check says
  std::function<std::string(size_t, size_t)> check;
  const std::vector<DeviceBuffer>* reads = nullptr;  // on the device; null: system memory
};

/// A backend on tensors in one memory, or nothing (said on stderr) where it cannot.
std::optional<Contender> backend(const Input& input, std::string_view name, MemorySpace space);
std::optional<Processor> make_processor(const Plan& plan, std::string_view name,
                                        MemorySpace space);

/// The published methods, see peers.h. Rows of YOLOv8 are transposed for them beforehand.
std::vector<Contender> fast_decoders(const Input& input, size_t most);
/// Of boxes that are sorted beforehand.
Contender faster_rcnn(const Input& input);

/// Checks a contender on every tensor, then times it: on the device in three states of its cache.
void measure(Session& session, const Input& input, const Contender& contender,
             bool all_states = true);

void measure_floors(Session& session);
void measure_contents(Session& session);
void measure_candidates(Session& session);
void measure_nms(Session& session);
void measure_batches(Session& session);
void measure_instances(Session& session);
/// Instances whose tensors are not there yet.
void measure_waiting(Session& session);
/// One instance beside kernels of others.
void measure_neighbours(Session& session);

/// Bytes per second, read and written, of a copy on the device, in GB/s; measured once.
double copy_bandwidth();

}  // namespace keepbox::test::gpu
