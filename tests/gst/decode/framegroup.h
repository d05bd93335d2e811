// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams with decoders in a group, each compared with a decoder alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gst/decode/decoder.h"
#include "gst/decode/stats.h"
#include "tests/gst/frames.h"

namespace keepbox::test {

/// Bytes of a mask, or none.
inline std::string pixels_of(const FrameMask& mask) {
  if (mask.pixels == nullptr) return {};
  std::string out(gst_buffer_get_size(mask.pixels), '\0');
  gst_buffer_extract(mask.pixels, 0, out.data(), out.size());
  return out;
}

inline bool same_boxes(const FrameBox& a, const FrameBox& b) {
  return a.box == b.box && a.score == b.score && a.angle == b.angle && a.label == b.label &&
         a.class_id == b.class_id && a.anchor == b.anchor && a.model == b.model &&
         a.held == b.held && std::ranges::equal(a.keypoints.points, b.keypoints.points) &&
         a.keypoints.name == b.keypoints.name &&
         std::ranges::equal(a.values.values, b.values.values) && a.mask.place == b.mask.place &&
         a.mask.region == b.mask.region && pixels_of(a.mask) == pixels_of(b.mask);
}

/// Frames with this tensor.
inline GstBuffer* with(std::vector<Tensor> tensors) {
  GstBuffer* out = empty_frame().release();
  for (const Tensor& each : tensors) attach(out, each);
  return out;
}

/// Result of a decoder for a frame of a group.
struct Finished {
  size_t boxes = 0;
  uint32_t runs = 0;
  bool alike = false;  // it is what a decoder alone makes of it
  Status status;
};

/// Streams with different pictures, each with a decoder in the group and one that works alone.
class FrameGroups : public ::testing::Test {
 protected:
  FrameGroups() : element_(gst_bin_new("decoder")) { gst_object_ref_sink(element_); }
  ~FrameGroups() override {
    clear_streams();
    gst_object_unref(element_);
  }

  void clear_streams() {
    group_.clear();
    streams_.clear();
  }

  /// Adds streams. @param props of all of them.
  void add_streams(size_t count, DecodeProps props = {}) {
    if (props.model_size.empty()) props.model_size = "320x320";
    for (size_t i = 0; i < count; ++i) {
      auto stream = std::make_unique<Stream>();
      if (i == 0) {
        stream->own = std::make_unique<Decoder>(element_, &stop_);
        stream->own->set_props(props);
        EXPECT_TRUE(stream->own->start());
      } else {
        stream->own = std::make_unique<Decoder>(element_, &stop_, *streams_[0]->own);
      }
      stream->alone = std::make_unique<Decoder>(element_, &stop_);
      stream->alone->set_props(props);
      EXPECT_TRUE(stream->alone->start());
      for (Decoder* each : {stream->own.get(), stream->alone.get()})
        each->set_picture({.size = {320 + 160 * guint(i), 240 + 100 * guint(i)}});
      streams_.push_back(std::move(stream));
    }
  }

  void set_props(const DecodeProps& props) {
    for (const auto& each : streams_) each->own->set_props(props), each->alone->set_props(props);
  }

  void set_picture(size_t stream, const Picture& picture) {
    for (auto* each : {&streams_[stream]->own, &streams_[stream]->alone})
      (*each)->set_picture(picture);
  }

  Decoder& decoder(size_t stream) { return *streams_[stream]->own; }

  /// Decodes frames (transfer full) of the streams with these numbers in one group.
  std::vector<Finished> run(const std::vector<std::pair<size_t, GstBuffer*>>& frames) {
    std::vector<Buffer> held;
    for (const auto& [stream, frame] : frames) {
      held.emplace_back(frame);
      group_.add(decoder(stream), frame);
    }
    std::vector<Finished> out;
    const auto flow = group_.finish(
        [&](Decoder& decoder, GstBuffer* frame, const Status& status, GstClockTime started) {
          EXPECT_EQ(&decoder, &this->decoder(frames[out.size()].first));
          EXPECT_EQ(frame, frames[out.size()].second);
          EXPECT_LE(started, gst_util_get_timestamp());
          out.push_back(finished(*streams_[frames[out.size()].first], frame, status));
          return status || status.error().kind != ErrorKind::kInterrupted ? GST_FLOW_OK
                                                                          : GST_FLOW_FLUSHING;
        });
    EXPECT_EQ(flow == GST_FLOW_OK, out.size() == frames.size());
    std::vector<const Decoder*> decoders;
    for (const auto& each : streams_) decoders.push_back(each->own.get());
    group_.keep_for(decoders);
    return out;
  }

  /// Decodes one frame of each stream.
  std::vector<Finished> run_each(const std::function<GstBuffer*(size_t stream)>& make) {
    std::vector<std::pair<size_t, GstBuffer*>> frames;
    for (size_t i = 0; i < streams_.size(); ++i) frames.emplace_back(i, make(i));
    return run(frames);
  }

  static uint32_t runs_of(const std::vector<Finished>& all) {
    uint32_t runs = 0;
    for (const Finished& each : all) runs += each.runs;
    return runs;
  }

  static void expect_alike(const std::vector<Finished>& all, size_t frames) {
    ASSERT_EQ(all.size(), frames);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(all[i].status) << i << ": " << all[i].status.error().message();
      EXPECT_TRUE(all[i].alike) << i;
      EXPECT_GT(all[i].boxes, 0u) << i;
    }
  }

  std::atomic<bool> stop_ = false;
  FrameGroup group_;

 private:
  struct Stream {
    std::unique_ptr<Decoder> own, alone;
  };

  /// Compares with the decoder that works alone, on a frame that has the same tensors.
  static Finished finished(Stream& stream, GstBuffer* frame, const Status& status) {
    Decoder& own = *stream.own;
    const Buffer again(empty_frame());
    for (const GstMeta* meta : tensors_on(frame)) copy_meta(meta, again.get());
    const Status wanted = stream.alone->decode(again.get());
    const bool alike =
        wanted.has_value() == status.has_value() &&
        std::ranges::equal(own.boxes(), stream.alone->boxes(), same_boxes) &&
        std::ranges::equal(own.weak(), stream.alone->weak(), same_boxes) &&
        own.frame() == stream.alone->frame() &&
        counted(own, status.has_value()) == counted(*stream.alone, wanted.has_value());
    return {own.boxes().size(), own.runs(), alike, status};
  }

  /// Returns what a frame adds to the statistics, but for its runs.
  static std::string counted(Decoder& decoder, bool decoded) {
    DecodeStats stats;
    decoder.count(stats, decoded, 0);
    g_autoptr(GstStructure) all = stats.structure();
    gst_structure_remove_field(all, "runs");
    g_autofree gchar* text = gst_structure_to_string(all);
    return text;
  }

  static std::vector<const GstMeta*> tensors_on(GstBuffer* frame) {
    std::vector<const GstMeta*> out;
    gpointer state = nullptr;
    while (GstMeta* meta =
               gst_buffer_iterate_meta_filtered(frame, &state, gst_tensor_meta_api_get_type()))
      out.push_back(meta);
    return out;
  }

  static void copy_meta(const GstMeta* meta, GstBuffer* to) {
    const auto* from = reinterpret_cast<const GstTensorMeta*>(meta);
    auto** tensors = g_new(GstTensor*, from->num_tensors);
    for (size_t i = 0; i < from->num_tensors; ++i) tensors[i] = gst_tensor_copy(from->tensors[i]);
    auto* copy = reinterpret_cast<GstTensorMeta*>(
        gst_buffer_add_meta(to, gst_tensor_meta_get_info(), nullptr));
    gst_tensor_meta_set(copy, static_cast<guint>(from->num_tensors), tensors);
  }

  GstElement* element_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace keepbox::test
