// SPDX-License-Identifier: LGPL-2.1-or-later
// Several elements whose frames run together.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/gst/infer/infer.h"

namespace keepbox::test {

/// Returns a number of an element's stats.
inline double stat(GstElement* element, const char* field) {
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(element, "stats", &stats, nullptr);
  GValue number = G_VALUE_INIT;
  g_value_init(&number, G_TYPE_DOUBLE);
  const GValue* value = gst_structure_get_value(stats, field);
  EXPECT_TRUE(value != nullptr && g_value_transform(value, &number)) << field;
  return g_value_get_double(&number);
}

/// Runs two frames in each element at the same time. Afterwards all of them take part in the
/// batches: their models are loaded with the first frame, and on a GPU they join with the second.
inline void warm_up(const std::vector<Harness*>& elements, const std::vector<std::string>& caps) {
  for (int round = 0; round < 2; ++round) {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < elements.size(); ++i)
      threads.emplace_back(
          [&, i] { EXPECT_TRUE(elements[i]->run(painted(caps[i % caps.size()], grey))); });
  }
}

/// Counts of batches since the object was made.
class BatchesSince {
 public:
  explicit BatchesSince(GstElement* element) : element_(element) {}
  double batches() const { return stat(element_, "batches") - batches_; }
  /// Returns the pictures per batch.
  double fill() const { return (all_pictures() - pictures_) / batches(); }

 private:
  double all_pictures() const { return stat(element_, "batches") * stat(element_, "batch-fill"); }

  GstElement* element_;
  const double batches_ = stat(element_, "batches"), pictures_ = all_pictures();
};

/// Returns the red and blue rectangles of a stream's frame.
inline Paint scene(int stream, int frame) {
  const int left = 10 + 8 * stream, top = 5 + 4 * frame;
  return patches({left, top, left + 60 + 10 * stream, top + 40}, {200, 150, 260, 170 + 5 * stream});
}

class InferBatches : public Inference {
 protected:
  static constexpr int kStreams = 4, kFrames = 6;

  /// Returns all tensors of some streams' frames, run by elements of the same line in threads.
  std::vector<std::vector<Numbers>> run_streams(const std::string& line, int streams) {
    const std::string caps = raw("RGB", 320, 240);
    std::vector<std::vector<Numbers>> out(static_cast<size_t>(streams));
    std::vector<std::unique_ptr<Harness>> elements;
    for (int i = 0; i < streams; ++i) elements.push_back(std::make_unique<Harness>(line, caps));
    std::vector<Harness*> all;
    for (const auto& each : elements) all.push_back(each.get());
    warm_up(all, {caps});
    const BatchesSince counts(elements[0]->element());
    std::vector<std::jthread> threads;
    for (int i = 0; i < streams; ++i)
      threads.emplace_back([&, i] {
        for (int frame = 0; frame < kFrames; ++frame) {
          const Buffer buffer = elements[size_t(i)]->run(painted(caps, scene(i, frame)));
          ASSERT_TRUE(buffer) << elements[size_t(i)]->error();
          for (Numbers& each : tensors_of(buffer.get())) out[size_t(i)].push_back(std::move(each));
        }
      });
    threads.clear();
    batches_ = counts.batches();
    fill_ = counts.fill();
    size_ = stat(elements[0]->element(), "batch-size");
    for (std::string text; !(text = elements[0]->warning()).empty();) warnings_ += text + "\n";
    return out;
  }

  void expect_same(const std::vector<std::vector<Numbers>>& all, const std::string& line) {
    for (int i = 0; i < kStreams; ++i) {
      const auto alone = run_one(line, i);
      ASSERT_EQ(all[size_t(i)].size(), alone.size());
      for (size_t k = 0; k < alone.size(); ++k) {
        EXPECT_EQ(all[size_t(i)][k].dims, alone[k].dims);
        EXPECT_EQ(all[size_t(i)][k].id, alone[k].id);
        EXPECT_EQ(all[size_t(i)][k].values, alone[k].values) << "stream " << i << " tensor " << k;
      }
    }
  }

  std::vector<Numbers> run_one(const std::string& line, int stream) {
    const std::string caps = raw("RGB", 320, 240);
    Harness h(line, caps);
    std::vector<Numbers> out;
    for (int frame = 0; frame < kFrames; ++frame)
      for (Numbers& each : tensors_of(h.run(painted(caps, scene(stream, frame))).get()))
        out.push_back(std::move(each));
    return out;
  }

  double batches_ = 0, fill_ = 0, size_ = 0;
  std::string warnings_;
};

inline const std::string kFourAtOnce = "batch-size=4 batch-timeout=2000 ";

}  // namespace keepbox::test
