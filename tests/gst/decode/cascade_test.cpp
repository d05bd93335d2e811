// SPDX-License-Identifier: LGPL-2.1-or-later
// Several models on a frame: each decoder decodes the tensors attached since the previous one.
#include <cstring>

#include "gst/tensors/provenance.h"
#include "tests/gst/frames.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::Harness;

constexpr const char* kCaps =
    "video/x-raw,format=RGB,width=192,height=108,framerate=30/1,pixel-aspect-ratio=1/1";

GstBuffer* frame() { return gst_buffer_new_allocate(nullptr, 192 * 108 * 3, nullptr); }

/// A model: a replay of one row, with or without an id.
std::string model(const test::TempDir& dir, const char* name, const test::Row& row,
                  const std::string& id) {
  const auto tensor = test::rows({row});
  const std::string path =
      dir.write(name, {reinterpret_cast<const char*>(tensor.values.data()), 24});
  return "tensorreplay loop=true dims=1,1,6 location=" + path +
         (id.empty() ? "" : " tensor-id=" + id);
}

const test::Row kPerson{10, 20, 30, 40, 0.9f, 0}, kFace{12, 22, 16, 26, 0.8f, 1},
    kEye{13, 23, 14, 24, 0.7f, 2};

std::string decoder(const std::string& more = "") {
  return " ! boxdecode detector=yolov10 " + more;
}

/// Returns the class ids of the boxes of a line.
std::vector<uint32_t> classes(Harness& h) {
  std::vector<uint32_t> out;
  const Buffer frame_out = h.run(frame());
  EXPECT_TRUE(frame_out) << h.error();
  if (frame_out)
    for (const FrameBox& box : boxes(frame_out)) out.push_back(box.class_id.value_or(99));
  return out;
}

struct Ids {
  std::string person, face, eye;
};
class Cascade : public ::testing::TestWithParam<Ids> {};

TEST_P(Cascade, GivesTheBoxesOfEachModelOnce) {
  const test::TempDir dir;
  const auto& [person, face, eye] = GetParam();
  Harness two("identity ! " + model(dir, "p", kPerson, person) + decoder() + " ! " +
                  model(dir, "f", kFace, face) + decoder(),
              kCaps);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(classes(two), (std::vector<uint32_t>{0, 1}));
  Harness three("identity ! " + model(dir, "p", kPerson, person) + decoder() + " ! " +
                    model(dir, "f", kFace, face) + decoder() + " ! " + model(dir, "e", kEye, eye) +
                    decoder(),
                kCaps);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(classes(three), (std::vector<uint32_t>{0, 1, 2}));
}

TEST_P(Cascade, SecondModelMayUseAScaledCopy) {
  const test::TempDir dir;
  const auto& [person, face, eye] = GetParam();
  Harness h("identity ! " + model(dir, "p", kPerson, person) + decoder() +
                " ! framesave ! videoconvertscale ! video/x-raw,width=64,height=64,"
                "pixel-aspect-ratio=1/1 ! " +
                model(dir, "f", kFace, face) + decoder() + " ! framerestore ! " +
                model(dir, "e", kEye, eye) + decoder(),
            kCaps);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(classes(h), (std::vector<uint32_t>{0, 1, 2}));
  const Buffer out = h.run(frame());
  EXPECT_EQ(boxes(out).at(0).box, (Box{10, 20, 30, 40}));
  EXPECT_EQ(boxes(out).at(1).box, (Box{36, 24, 48, 36}));
}

TEST_P(Cascade, FrameMayBeShared) {
  const test::TempDir dir;
  const auto& [person, face, eye] = GetParam();
  Harness h(
      "identity ! " + model(dir, "p", kPerson, person) + decoder() +
          " ! tee name=t ! queue ! fakesink async=false enable-last-sample=true t. ! identity ! " +
          model(dir, "f", kFace, face) + decoder(),
      kCaps);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(classes(h), (std::vector<uint32_t>{0, 1}));
}

INSTANTIATE_TEST_SUITE_P(WithIds, Cascade,
                         ::testing::Values(Ids{"", "", ""}, Ids{"out", "out", "out"},
                                           Ids{"person", "face", "eye"}, Ids{"", "face", ""}));

TEST(Cascades, TakeTensorsByNameInAnyOrder) {
  const test::TempDir dir;
  Harness h("identity ! " + model(dir, "p", kPerson, "person") + " ! " +
                model(dir, "f", kFace, "face") + decoder("tensor-ids=face") +
                decoder("tensor-ids=person"),
            kCaps);
  EXPECT_EQ(classes(h), (std::vector<uint32_t>{1, 0}));
}

TEST(Cascades, ReportMissingTensorsAfterADecoder) {
  const test::TempDir dir;
  Harness h("identity ! " + model(dir, "p", kPerson, "") + decoder() + decoder(), kCaps);
  EXPECT_FALSE(h.run(frame()));
  const std::string error = h.error();
  EXPECT_NE(error.find("were decoded upstream"), std::string::npos) << error;
  EXPECT_NE(error.find("1x1x6"), std::string::npos) << error;
}

TEST(Cascades, NameTheModelOfEachBox) {
  const test::TempDir dir;
  Harness h("identity ! " + model(dir, "p", kPerson, "") + decoder("model-name=people") + " ! " +
                model(dir, "f", kFace, "") + decoder("name=faces"),
            kCaps);
  const Buffer out = h.run(frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_STREQ(g_quark_to_string(boxes(out).at(0).model), "people");
  EXPECT_STREQ(g_quark_to_string(boxes(out).at(1).model), "faces");
}

std::string written(const std::string& line, const test::TempDir& dir) {
  const std::string path = dir / "boxes.csv";
  EXPECT_EQ(test::play("videotestsrc num-buffers=2 ! video/x-raw,width=64,height=64 ! " + line +
                       " ! boxsink format=csv location=" + path),
            "");
  g_autofree gchar* text = nullptr;
  EXPECT_TRUE(g_file_get_contents(path.c_str(), &text, nullptr, nullptr));
  return text;
}

TEST(Cascades, ShowDecoderNamesIfThereAreSeveral) {
  const test::TempDir dir;
  const std::string one = model(dir, "p", kPerson, "") + decoder("name=first");
  EXPECT_EQ(written(one, dir).find("first"), std::string::npos);
  EXPECT_NE(written(model(dir, "p", kPerson, "") + decoder("name=first model-name=people"), dir)
                .find("people"),
            std::string::npos);
  // Also if the second one gets a copy without the boxes of the first.
  const std::string both = written(one + " ! framesave ! " + model(dir, "f", kFace, "") +
                                       decoder("name=second") + " ! framerestore",
                                   dir);
  EXPECT_NE(both.find("first"), std::string::npos) << both;
  EXPECT_NE(both.find("second"), std::string::npos) << both;
}

TEST(Cascades, DoNotPassRejectedTensorsOn) {
  const test::TempDir dir;
  const auto bad = test::rows({{10, 20, 30, 40, 5, 0}});
  const std::string path = dir.write("bad", {reinterpret_cast<const char*>(bad.values.data()), 24});
  for (const char* id : {"", " tensor-id=a"}) {
    Harness h("identity ! tensorreplay loop=true dims=1,1,6 location=" + path + id +
                  " ! boxdecode on-mismatch=pass tensor-ids=" + (*id != '\0' ? "a" : "\"\"") +
                  " ! " + model(dir, "f", kFace, "") + decoder(),
              kCaps);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(classes(h), (std::vector<uint32_t>{1})) << id;
  }
}

TEST(Cascades, BranchesOfATeeDecodeForThemselves) {
  const test::TempDir dir;
  const std::string error =
      test::play("videotestsrc num-buffers=3 ! video/x-raw,width=192,height=108 ! " +
                 model(dir, "p", kPerson, "") + " ! tee name=t ! queue" + decoder() +
                 " ! fakesink async=false t. ! queue" + decoder() + " ! fakesink async=false");
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  // Before 1.27 a queue after a tee makes copies without tensors.
  if (minor >= 27) {
    EXPECT_EQ(error, "");
  }
}

/// A model's outputs that a decoder does not read are not those of the next model.
TEST(CascadeOutputs, OfOneModelAreDecodedOnce) {
  Harness h("boxdecode detector=yolov8 num-classes=6 ! boxdecode detector=yolov10", test::kSmall);
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 320 * 320 * 3, nullptr);
  const auto source = std::make_shared<const TensorProvenance>(TensorProvenance{
      .producer = 7, .geometry = {{320, 320}, {320, 320}}, .units = Units::kPixels});
  const test::Tensor found = test::crowd(1), other = test::rows({kPerson});
  for (const test::Tensor* tensor : {&found, &other}) {
    GstBuffer* data = test::data_buffer(tensor->values.data(), test::bytes_of(*tensor));
    set_provenance(data, source);
    add_tensor(frame, tensor->id.c_str(), DataType::kFloat32, tensor->shape,
               GST_TENSOR_DIM_ORDER_ROW_MAJOR, data);
  }
  EXPECT_FALSE(h.run(frame));
  EXPECT_NE(h.error().find("All tensors on this frame were decoded upstream"), std::string::npos);
}

}  // namespace
}  // namespace keepbox
