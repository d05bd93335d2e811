// SPDX-License-Identifier: LGPL-2.1-or-later
// The parts of a decoder by themselves: intake of tensors, choice of the device, and plans.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "gst/decode/image.h"
#include "gst/decode/intake.h"
#include "gst/decode/settings.h"
#include "gst/decode/stream.h"
#include "gst/tensors/cudascope.h"
#include "gst/tensors/provenance.h"
#include "tests/gst/frames.h"

namespace keepbox {
namespace {

using test::Buffer;

/// An element with a bus, and a stream of 640 x 640 frames.
class DecoderParts : public testing::Test {
 protected:
  DecoderParts() { gst_element_set_bus(element_, bus_); }
  ~DecoderParts() override {
    gst_element_set_bus(element_, nullptr);
    gst_object_unref(bus_);
    gst_object_unref(element_);
  }

  std::string warning() {
    g_autoptr(GstMessage) message = gst_bus_pop_filtered(bus_, GST_MESSAGE_WARNING);
    if (message == nullptr) return {};
    g_autoptr(GError) error = nullptr;
    gst_message_parse_warning(message, &error, nullptr);
    return error->message;
  }

  GstBus* bus_ = gst_bus_new();
  GstElement* element_ = GST_ELEMENT(gst_object_ref_sink(gst_bin_new(nullptr)));
  DecodeStream stream_{.element = element_, .picture = {.size = {640, 640}}};
  DeviceChoice device_{element_};
};

Buffer frame_of_one_box() { return Buffer(test::frame_with({{10, 20, 110, 220, 0.9f, 2}})); }

using TensorIntakeTest = DecoderParts;
using DeviceChoiceTest = DecoderParts;
using PlannerTest = DecoderParts;

TEST_F(TensorIntakeTest, TakesWhatNoDecoderHasDecoded) {
  stream_.props.tensor_ids = "yolo-26-end2end-out";
  TensorIntake intake(stream_);
  const Buffer frame = frame_of_one_box();
  FrameTensors tensors;
  ASSERT_TRUE(intake.take(frame.get(), tensors));
  ASSERT_EQ(tensors.listed().size(), 1u);
  intake.mark_undecodable(frame.get(), tensors);
  FrameTensors again;
  const Status none = intake.take(frame.get(), again);
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().what.starts_with("All tensors on this frame were decoded"))
      << none.error().message();
}

TEST_F(TensorIntakeTest, LeavesUnlistedIdsToOthers) {
  stream_.props.tensor_ids = "another";
  TensorIntake intake(stream_);
  const Buffer frame = frame_of_one_box();
  FrameTensors tensors;
  ASSERT_TRUE(intake.take(frame.get(), tensors));
  intake.mark_undecodable(frame.get(), tensors);
  FrameTensors left;
  ASSERT_TRUE(left.list_tensors(frame.get(), TensorSelection::kUndecoded));
  EXPECT_EQ(left.listed().size(), 1u);
}

TEST_F(TensorIntakeTest, SkipsFramesThatInferenceSkipped) {
  TensorIntake intake(stream_);
  const Buffer frame = test::empty_frame();
  FrameTensors tensors;
  ASSERT_TRUE(intake.take(frame.get(), tensors));
  EXPECT_FALSE(intake.skipped());
  note_skipped(frame.get());
  ASSERT_TRUE(intake.take(frame.get(), tensors));
  EXPECT_TRUE(intake.skipped());
}

TEST_F(TensorIntakeTest, ReportsInvalidQuantization) {
  TensorIntake intake(stream_);
  const Buffer frame = frame_of_one_box();
  FrameTensors tensors;
  intake.set_quantization("0.5");
  EXPECT_TRUE(intake.take(frame.get(), tensors));
  intake.set_quantization("nothing");
  EXPECT_FALSE(intake.take(frame.get(), tensors));
}

TEST_F(DeviceChoiceTest, IsTheHostAfterAFailure) {
  const MemorySpace before = device_.wanted_memory();
  EXPECT_TRUE(device_.automatic());
  device_.leave({ErrorKind::kNoResource, "a working device", "a lost one", "see the log"});
  EXPECT_EQ(device_.wanted_memory(), MemorySpace::kSystem);
  EXPECT_NE(warning().find("see the log; this and later frames are decoded on the CPU"),
            std::string::npos);
  DecodeProps props;
  props.backend = 1;  // a set backend, and back
  device_.set_props(props);
  device_.set_props({});
  EXPECT_EQ(device_.wanted_memory(), before);
}

TEST_F(DeviceChoiceTest, AddsTheReasonToTheBackend) {
  Planner planner(stream_, device_);
  const Buffer frame = frame_of_one_box();
  FrameTensors tensors;
  ASSERT_TRUE(tensors.list_tensors(frame.get()));
  const auto planned = planner.plan(tensors);
  ASSERT_TRUE(planned) << planned.error().message();
  const auto reason = [&] {
    return device_.select(planned->plan, MemorySpace::kSystem).value().reason;
  };
  EXPECT_EQ(reason().find("not on the GPU"), std::string::npos);
  device_.set_unsupported({ErrorKind::kUnsupported, "a smaller plan", "a large one"});
  EXPECT_TRUE(reason().ends_with("; not on the GPU: expected a smaller plan, found a large one"));
  device_.avoid({ErrorKind::kNoResource, "a device", "none"});
  EXPECT_TRUE(reason().ends_with("; not on the GPU: expected a device, found none"));
  device_.retry();
  device_.forget_plan();
  EXPECT_EQ(reason().find("not on the GPU"), std::string::npos);
}

/// A device that counts how often its context is given up.
class CountingDevice final : public Device {
 public:
  explicit CountingDevice(int& cleared) : cleared_(cleared) {}
  MemorySpace memory() const override { return MemorySpace::kSystem; }
  Result<DeviceContext> ensure(GstElement*, int, const std::string&) override { return {}; }
  void adopt(const DeviceContext& context) override { cleared_ += context ? 0 : 1; }
  void offer(GstElement*, GstContext*, int) override {}
  bool answer(GstElement*, GstQuery*) override { return true; }
  Result<std::unique_ptr<Uploader>> make_uploader(const DeviceContext&) override { return {}; }

 private:
  int& cleared_;
};

TEST_F(DeviceChoiceTest, GivesUpTheContextOfAnother) {
  int cleared = 0;
  DeviceChoice choice(element_, std::make_unique<CountingDevice>(cleared));
  choice.set_props({});
  EXPECT_EQ(cleared, 0);
  DecodeProps props;
  props.device_id = 3;
  choice.set_props(props);
  EXPECT_EQ(cleared, 1);
  choice.set_props(props);
  EXPECT_EQ(cleared, 1);
  choice.stop();
  EXPECT_EQ(cleared, 2);
  EXPECT_TRUE(choice.device().answer(element_, nullptr));
}

/// Without a driver, and in builds without CUDA.
TEST(WithoutDevice, HasNoContext) {
  if (cuda_available()) GTEST_SKIP() << "there is a CUDA driver";
  const auto device = make_device();
  const auto context = device->ensure(nullptr, -1, "set backend=auto");
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().kind, ErrorKind::kNoResource);
  EXPECT_TRUE(context.error().hint.contains("set backend=auto"));
  const bool built = !context.error().what.contains("This build of keepbox has no CUDA");
  EXPECT_EQ(device->memory(), built ? MemorySpace::kCuda : MemorySpace::kSystem);
  EXPECT_FALSE(device->answer(nullptr, nullptr));
  if (!built) EXPECT_FALSE(device->make_uploader({}));
}

TEST_F(PlannerTest, PlansForOneFrame) {
  Planner planner(stream_, device_);
  test::Tensor two = test::crowd(1);
  two.values.insert(two.values.end(), two.values.begin(), two.values.end());
  two.shape = {2, two.shape[1], two.shape[2]};
  const Buffer frame = test::empty_frame();
  test::attach(frame.get(), two);
  FrameTensors tensors;
  ASSERT_TRUE(tensors.list_tensors(frame.get()));
  const auto planned = planner.plan(tensors);
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().what,
            "The tensors are of a batch of 2 frames, not of this frame alone");
}

TEST_F(PlannerTest, WarnsOnceAboutAWrongFamily) {
  Planner planner(stream_, device_);
  const Status wrong = fail(ErrorKind::kMismatch, "probabilities", "9");
  Plan plan;
  plan.basis = Basis::kShape;
  EXPECT_FALSE(planner.accept(plan, wrong));
  EXPECT_EQ(warning(), "");
  plan.basis = Basis::kSet;
  EXPECT_TRUE(planner.accept(plan, wrong));
  EXPECT_EQ(warning(), "expected probabilities, found 9");
  EXPECT_TRUE(planner.accept(plan, wrong));
  EXPECT_EQ(warning(), "");
}

TEST(MismatchKinds, AreReportedOnce) {
  Mismatches mismatches;
  const auto error = [](std::string found) {
    return Error{ErrorKind::kMismatch, "a tensor", std::move(found), ""};
  };
  EXPECT_TRUE(mismatches.add(error("1x84x8400")));
  EXPECT_FALSE(mismatches.add(error("1x85x6300")));
  EXPECT_TRUE(mismatches.add(error("none")));
  mismatches.clear();
  EXPECT_TRUE(mismatches.add(error("none")));
  for (char c = 'a'; c < 'a' + 15; ++c) EXPECT_TRUE(mismatches.add(error(std::string(1, c))));
  EXPECT_FALSE(mismatches.add(error("one too many")));
}

}  // namespace
}  // namespace keepbox
