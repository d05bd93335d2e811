// SPDX-License-Identifier: LGPL-2.1-or-later
// Sources of tensors: which are equal, and notes of frames about them.
#include "gst/tensors/provenance.h"

#include <gtest/gtest.h>

#include "gst/base/batches.h"

namespace keepbox {
namespace {

const TensorProvenance kSource{.producer = 3,
                               .geometry = {{640, 480}, {320, 320}, 2, 2, 0, 40},
                               .tiles = {{{{640, 480}, {320, 320}, 1, 1, 0, 0}, {0, 0, 320, 320}}},
                               .model = "m",
                               .file = "m.onnx",
                               .detector = "yolov8",
                               .contract = "exact",
                               .iou_threshold = 0.5f,
                               .units = Units::kPixels,
                               .labels = {"a"},
                               .labels_of = {{"t", {"b"}}}};

struct Change {
  const char* field;
  void (*make)(TensorProvenance&);
  bool decodes_the_same;  // what decodes one can decode the other
};

const Change kChanges[] = {
    {"producer", [](TensorProvenance& s) { s.producer = 4; }, true},
    {"scale", [](TensorProvenance& s) { s.geometry.scale_x = 3; }, true},
    {"tile", [](TensorProvenance& s) { s.tiles[0].area.x1 = 5; }, true},
    {"file", [](TensorProvenance& s) { s.file = "n.onnx"; }, true},
    {"held", [](TensorProvenance& s) { s.held = true; }, true},
    {"lost geometry", [](TensorProvenance& s) { s.lost_geometry = true; }, true},
    {"input", [](TensorProvenance& s) { s.geometry.model = {320, 256}; }, false},
    {"frame", [](TensorProvenance& s) { s.geometry.frame = {}; }, false},
    {"tiles", [](TensorProvenance& s) { s.tiles.clear(); }, false},
    {"model", [](TensorProvenance& s) { s.model = "n"; }, false},
    {"detector", [](TensorProvenance& s) { s.detector = ""; }, false},
    {"contract", [](TensorProvenance& s) { s.contract = ""; }, false},
    {"threshold", [](TensorProvenance& s) { s.iou_threshold = 0; }, false},
    {"units", [](TensorProvenance& s) { s.units = Units::kAuto; }, false},
    {"labels", [](TensorProvenance& s) { s.labels = {}; }, false},
    {"labels of a tensor", [](TensorProvenance& s) { s.labels_of.clear(); }, false},
    {"dynamic rows", [](TensorProvenance& s) { s.dynamic_rows = true; }, false},
    {"objects", [](TensorProvenance& s) { s.objects = true; }, false}};

SharedProvenance shared(const TensorProvenance& source) {
  return std::make_shared<const TensorProvenance>(source);
}

TEST(TensorSource, IsEqualIfAllFieldsAre) {
  const SharedProvenance one = shared(kSource);
  EXPECT_TRUE(same_source(one, shared(kSource)));
  EXPECT_TRUE(same_producer(one, shared(kSource)));
  for (const Change& each : kChanges) {
    SCOPED_TRACE(each.field);
    TensorProvenance changed = kSource;
    each.make(changed);
    EXPECT_FALSE(same_source(one, shared(changed)));
    EXPECT_EQ(same_producer(one, shared(changed)), each.decodes_the_same);
  }
  for (const auto same : {same_source, same_producer, same_element}) {
    EXPECT_TRUE(same(nullptr, nullptr));
    EXPECT_FALSE(same(one, nullptr));
    EXPECT_FALSE(same(nullptr, one));
  }
}

TEST(TensorSource, IsOfAnElementByItsNumber) {
  TensorProvenance other = kSource, unknown = kSource, renamed = kSource;
  other.producer = 4;
  unknown.producer = 0;
  renamed.model = "n";
  EXPECT_TRUE(same_element(shared(kSource), shared(renamed)));
  EXPECT_FALSE(same_element(shared(kSource), shared(other)));
  EXPECT_TRUE(same_element(shared(kSource), shared(unknown))) << "by what it declares";
  EXPECT_FALSE(same_element(shared(unknown), shared(renamed)));
  EXPECT_NE(new_producer(), new_producer());
}

TEST(TensorSource, IsKnownOfWholeFramesIfAllSizesAre) {
  EXPECT_TRUE(kSource.has_geometry());
  for (uint32_t Size::* side : {&Size::width, &Size::height})
    for (Size Letterbox::* of : {&Letterbox::frame, &Letterbox::model}) {
      TensorProvenance source = kSource;
      source.geometry.*of.*side = 0;
      EXPECT_FALSE(source.has_geometry());
    }
}

TEST(DecodedNote, GoesWithCopiesOfTheFrame) {
  const OwnedBuffer data(gst_buffer_new());
  {
    const OwnedBuffer frame(gst_buffer_new());
    note_decoded(frame.get(), nullptr);
    EXPECT_FALSE(DecodedNote(frame.get()).has(data.get()));
    for (int i = 0; i < 2; ++i) note_decoded(frame.get(), data.get());
    EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(data.get()), 2) << "once";
    const OwnedBuffer copy(gst_buffer_copy(frame.get()));
    EXPECT_TRUE(DecodedNote(copy.get()).has(data.get()));
    EXPECT_FALSE(DecodedNote(copy.get()).has(nullptr));
    EXPECT_FALSE(was_skipped(copy.get()));
    EXPECT_FALSE(DecodedNote(nullptr).has(data.get()));
  }
  EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(data.get()), 1);
}

TEST(DecodedNote, NamesTensorsThatWereSkippedOnPurpose) {
  TensorProvenance crops = kSource, other = kSource;
  crops.objects = true;
  crops.producer = 8;
  other.producer = 9;
  const auto skipped = [](const auto&... sources) {
    OwnedBuffer frame(gst_buffer_new());
    (note_skipped(frame.get(), sources), ...);
    return OwnedBuffer(gst_buffer_copy(frame.get()));
  };
  const OwnedBuffer none(gst_buffer_new()),
      frames = skipped(nullptr), named = skipped(shared(kSource)), objects = skipped(shared(crops)),
      both = skipped(shared(crops), shared(kSource));
  for (const auto& [frame, of_frame, of_objects] : {std::tuple(none.get(), false, false),
                                                    {frames.get(), true, false},
                                                    {named.get(), true, false},
                                                    {objects.get(), false, true},
                                                    {both.get(), true, true}}) {
    EXPECT_EQ(was_skipped(frame), of_frame);
    EXPECT_EQ(had_no_objects(frame), of_objects);
  }
  EXPECT_TRUE(was_skipped_by(both.get(), shared(kSource)));
  EXPECT_TRUE(was_skipped_by(both.get(), shared(crops)));
  EXPECT_FALSE(was_skipped_by(both.get(), shared(other)));
  EXPECT_FALSE(was_skipped_by(both.get(), nullptr));
  EXPECT_FALSE(was_skipped_by(none.get(), shared(kSource)));
}

}  // namespace
}  // namespace keepbox
