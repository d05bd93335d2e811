// SPDX-License-Identifier: LGPL-2.1-or-later
// Every failure of tensorinfer ends in one error with a hint, and in a pipeline that stops.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>

#include "tests/gst/infer/infer.h"

namespace keepbox {
namespace {

using test::identity_model;

/// The errors or warnings of the element named "infer".
struct Errors {
  GstMessageType wanted;
  std::mutex mutex;
  std::vector<std::string> texts;
  bool ended = false;  // by an error of any element, or by EOS
};

GstBusSyncReply note(GstBus*, GstMessage* message, gpointer data) {
  auto& errors = *static_cast<Errors*>(data);
  const std::lock_guard lock(errors.mutex);
  if (GST_MESSAGE_TYPE(message) == errors.wanted) {
    g_autoptr(GError) error = nullptr;
    const auto parse =
        errors.wanted == GST_MESSAGE_ERROR ? gst_message_parse_error : gst_message_parse_warning;
    parse(message, &error, nullptr);
    if (g_strcmp0(GST_OBJECT_NAME(GST_MESSAGE_SRC(message)), "infer") == 0)
      errors.texts.push_back(error->message);
  }
  errors.ended = errors.ended || GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR ||
                 GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
  return GST_BUS_PASS;
}

/// Returns all messages of the element while frames arrive, until the pipeline is back in NULL.
std::vector<std::string> messages_of(const std::string& props, GstMessageType wanted) {
  const std::string text =
      "videotestsrc num-buffers=3 ! video/x-raw,format=RGB,width=64,height=48 ! "
      "tensorinfer name=infer " +
      props + " ! fakesink";
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(text.c_str(), &error);
  EXPECT_EQ(error, nullptr) << error->message;
  Errors errors{.wanted = wanted};
  g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
  gst_bus_set_sync_handler(bus, note, &errors, nullptr);
  if (gst_element_set_state(pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE) {
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    EXPECT_NE(message, nullptr) << "no end in 20 s: " << props;
    if (message != nullptr) gst_message_unref(message);
  }
  EXPECT_EQ(gst_element_set_state(pipeline, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  gst_bus_set_sync_handler(bus, nullptr, nullptr, nullptr);
  gst_object_unref(pipeline);
  return errors.texts;
}

std::vector<std::string> errors_of(const std::string& props) {
  return messages_of(props, GST_MESSAGE_ERROR);
}

/// Checks that there is one error (or warning), with all these words.
void expect_error(const std::string& props, const std::vector<std::string>& words,
                  GstMessageType wanted = GST_MESSAGE_ERROR) {
  const auto errors = messages_of(props, wanted);
  ASSERT_EQ(errors.size(), 1u) << props;
  for (const std::string& word : words)
    EXPECT_NE(errors[0].find(word), std::string::npos) << "'" << word << "' in: " << errors[0];
  // States what is wrong, then what to do.
  EXPECT_TRUE(errors[0].contains(". ") || errors[0].contains("found")) << errors[0];
}

class InferErrors : public test::Inference {
 protected:
  std::string with(const test::onnx::Model& model, const std::string& more = "") {
    return "model-file=" + file(model) + " " + more;
  }
};

TEST_F(InferErrors, NoneForAWorkingModel) {
  EXPECT_TRUE(errors_of(with(identity_model({1, 3, 32, 32}))).empty());
}

TEST_F(InferErrors, MissingModelFileIsAnError) { expect_error("", {"model-file"}); }

TEST_F(InferErrors, InvalidTilesAreErrors) {
  const auto model = identity_model({1, 3, 48, 64});
  for (const char* wrong :
       {"tiles=0", "tiles=0x2", "tiles=2x2x", "tiles=x", "tiles=+whole", "tiles=2x2@", "tiles=64@1",
        "tiles=64@-0.1", "tiles=64@nan", "tiles=64+whole@0.2", "tiles=64+most"})
    expect_error(with(model, wrong), {"is not COLUMNSxROWS", wrong + 6});
  expect_error(with(model, "tiles=9x9"), {"more than 64 tiles", "9x9"});
}

TEST_F(InferErrors, ConflictingObjectSettingsAreErrors) {
  const auto model = test::identity_model({1, 3, 48, 64});
  expect_error(with(model, "regions=objects tiles=2x2"), {"tiles and regions are both set"});
  for (const char* wrong :
       {"reinfer=a", "reinfer=-1", "reinfer=30,0.2", "reinfer=30,", "reinfer=1,2,3"})
    expect_error(with(model, std::string("regions=objects ") + wrong),
                 {wrong, "is not a number of frames", "20 percent"});
  for (const char* unused :
       {"include-classes=car", "objects-of=detector", "min-size=16", "grow=1.5",
        "align=arcface-112", "reinfer=30", "reinfer=abc", "tensor-mtd=true"}) {
    const std::string name = std::string(unused).substr(0, std::string(unused).find('='));
    expect_error(with(model, unused), {name + " has no effect with regions=frame"});
  }
  EXPECT_TRUE(errors_of(with(model, "reinfer=1 grow=1 min-size=0")).empty()) << "as by default";
  expect_error(with(model, "regions=roi objects-of=detector"),
               {"objects-of has no effect with regions=roi"});
  expect_error(with(model, "regions=objects resize-mode=rect"),
               {"resize-mode=rect is not possible"});
  expect_error(with(model, "regions=objects align=/nonexistent"), {"/nonexistent"});
  const std::string file = dir_.write("points.txt", "64 48\n1 2\n3\n");
  expect_error(with(model, "regions=objects align=" + file), {"line 3", file});
}

TEST_F(InferErrors, FilesThatAreNotModelsAreErrors) {
  expect_error("model-file=" + (dir_ / "none.onnx"), {"none.onnx", "model-file"});
  expect_error("model-file=" + dir_.path().string(), {dir_.path().string(), "model-file"});
  expect_error("model-file=" + dir_.write("empty.onnx", ""), {"empty.onnx", "model-file"});
  expect_error("model-file=" + dir_.write("text.onnx", "person\nbicycle\ncar\n"),
               {"text.onnx", "model-file"});
  expect_error("model-file=" + dir_.write("best.pt", "PK\3\4 of a framework"),
               {"best.pt", "yolo export format=onnx"});
  const std::string whole = test::ultralytics_like({96, 96}).file();
  expect_error("model-file=" + dir_.write("cut.onnx", whole.substr(0, whole.size() / 2)),
               {"cut.onnx", "model-file"});
}

TEST_F(InferErrors, ModelsThatTheRuntimeRejects) {
  expect_error(with(test::too_new_model()), {"model.onnx", "opset"});
  expect_error(with(test::external_data_model()), {"model.onnx", "weights.bin"});
}

/// Models whose weights would run if another file were read.
TEST_F(InferErrors, WeightsOutsideOfTheModelsFolder) {
  std::filesystem::create_directories(dir_.path() / "model/sub");
  const std::string weights(size_t{3} * 32 * 32 * 4, '\0');
  const std::string outside = dir_.write("outside.bin", weights);
  dir_.write("model/weights.bin", weights);
  dir_.write("model/sub/weights.bin", weights);
  std::filesystem::create_symlink(outside, dir_.path() / "model/link.bin");
  std::filesystem::create_symlink("sub/weights.bin", dir_.path() / "model/inner.bin");
  const auto from = [&](const std::string& location, const char* name = "model/model.onnx") {
    test::onnx::Model model = test::external_data_model();
    model.constants[0].external_file = location;
    return "model-file=" + file(model, name);
  };
  for (const char* good : {"weights.bin", "./weights.bin", "sub/weights.bin", "inner.bin"})
    EXPECT_TRUE(errors_of(from(good)).empty()) << good;
  for (const std::string& bad :
       {outside, dir_ / "model/weights.bin", std::string("../outside.bin"), std::string("link.bin"),
        std::string("sub/../weights.bin"), std::string("sub"), std::string("none.bin")})
    expect_error(from(bad), {"model.onnx", "weights", bad.substr(0, 50)});
  expect_error(from("*/_ORT_MEM_ADDR_/*"), {"_ORT_MEM_ADDR_", "outside of its folder"});
  expect_error(from(outside, "model/model.ort"), {"model.ort"});  // not ONNX for the runtime
}

TEST_F(InferErrors, ModelsWithoutAPictureInput) {
  expect_error(with(test::text_model()), {"model.onnx", "input_ids", "1x16"});
  expect_error(with(identity_model({1, 3, 32, 32}, test::onnx::Type::kDouble)),
               {"model.onnx", "images"});
}

TEST_F(InferErrors, ModelsWithoutNumericOutputs) {
  test::onnx::Model model = identity_model({1, 3, 32, 32});
  model.outputs.clear();
  test::add_odd_outputs(model);
  expect_error(with(model), {"model.onnx", "words", "list", "nine"});
}

TEST_F(InferErrors, ProviderOptions) {
  const auto model = identity_model({1, 3, 32, 32});
  expect_error(with(model, "provider=cpu provider-options=fast"), {"provider-options", "fast"});
  expect_error(with(model, "provider=cpu provider-options=a=1,=2"), {"provider-options", "=2"});
  expect_error(with(model, "provider=cpu provider-options=arena=1"),
               {"provider-options has no effect"});
  EXPECT_TRUE(errors_of(with(model, "provider-options=arena=1")).empty())
      << "the provider is chosen automatically";
}

TEST_F(InferErrors, UnknownSizes) {
  expect_error(with(identity_model({1, 3, "height", "width"})), {"model.onnx", "input-size"});
  for (const char* wrong : {"input-size=64x", "input-size=0", "input-size=a", "input-size=-1x64"})
    expect_error(with(identity_model({1, 3, "height", "width"}), wrong),
                 {wrong, "is not WIDTHxHEIGHT"});
}

TEST_F(InferErrors, SizesThatTheModelRejects) {
  expect_error(with(identity_model({1, 3, 32, 32}), "input-size=64"),
               {"model.onnx", "a width of 32", "64", "input-size"});
}

TEST_F(InferErrors, RectanglesOfAFixedSize) {
  expect_error(with(identity_model({1, 3, 32, 32}), "resize-mode=rect"),
               {"dynamic width and height for resize-mode=rect", "1x3x32x32", "letterbox-center"});
}

TEST_F(InferErrors, OutputsThatExceedMemory) {
  expect_error(with(test::huge_model()), {"model.onnx"});
}

TEST_F(InferErrors, ComeOncePerStream) {
  const std::string caps = test::raw("RGB", 64, 48);
  test::Harness h(infer(test::huge_model()), caps);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(h.run(test::painted(caps, test::grey)));
    EXPECT_EQ(h.flow, GST_FLOW_ERROR);
  }
  EXPECT_NE(h.error(), "");
  EXPECT_EQ(h.error(), "");
}

/// These are not errors: the boxes are still correct. The start does not take minutes.
TEST_F(InferErrors, UnreadableMetadataIsAWarning) {
  test::onnx::Model model = test::ultralytics_like({96, 96});
  const std::string names = model.metadata["names"];
  model.metadata["names"] = "{0: 'disc', 1: 'ba";
  expect_error(with(model), {"model.onnx", "metadata names ignored", "label-file="},
               GST_MESSAGE_WARNING);
  model.metadata["names"] = names;
  EXPECT_TRUE(messages_of(with(model), GST_MESSAGE_WARNING).empty());
  for (int i = 0; i < 100000; ++i) model.metadata["key " + std::to_string(i)] = "value";
  const std::string set = with(model, "channel-order=rgb");
  expect_error(set, {"model.onnx", "too much metadata", "100007 keys"}, GST_MESSAGE_WARNING);
  EXPECT_TRUE(errors_of(set).empty());
}

TEST_F(InferErrors, InvalidSettings) {
  for (const char* wrong :
       {"input-mean=a", "input-mean=1,2", "input-mean=1,2,3,4", "input-mean=nan", "input-std=0",
        "input-std=1,0,1", "input-std=,", "input-std=inf"}) {
    const std::string name = std::string(wrong).substr(0, std::string(wrong).find('='));
    expect_error(with(identity_model({1, 3, 32, 32}), wrong), {name});
  }
}

TEST_F(InferErrors, MissingProviders) {
  expect_error(with(identity_model({1, 3, 32, 32}), "provider=warp"), {"warp", "provider"});
  if (access("/dev/nvidiactl", F_OK) == 0) GTEST_SKIP() << "there is a GPU";
  expect_error(with(identity_model({1, 3, 32, 32}), "provider=cuda"), {"cuda", "provider"});
}

/// Providers are chosen in any spelling; one of Debian's library is registered in capitals.
TEST_F(InferErrors, OptionsThatAnotherProviderRejects) {
  if (!(*OnnxRuntime::load())->has_provider("XnnpackExecutionProvider"))
    GTEST_SKIP() << "no ONNX Runtime with XNNPACK";
  const std::string model = with(identity_model({1, 3, 32, 32}), "provider=xnnpack ");
  EXPECT_TRUE(errors_of(model).empty());
  expect_error(model + "provider-options=intra_op_num_threads=many",
               {"provider Xnnpack", "intra_op_num_threads", "correct provider-options="});
}

TEST_F(InferErrors, InvalidRuntimes) {
  const std::string model = with(identity_model({1, 3, 32, 32}));
  constexpr const char* kVariable = "KEEPBOX_ONNXRUNTIME";
  const char* before = std::getenv(kVariable);
  const std::optional<std::string> kept =
      before != nullptr ? std::optional<std::string>(before) : std::nullopt;
  for (const std::string& wrong :
       {dir_ / "libnone.so", dir_.write("text.so", "text"), std::string("libz.so.1")}) {
    setenv(kVariable, wrong.c_str(), 1);
    expect_error(model, {wrong, kVariable});
  }
  if (kept) setenv(kVariable, kept->c_str(), 1);
  else unsetenv(kVariable);
  EXPECT_TRUE(errors_of(model).empty()) << "the right one still works";
}

/// Runs in a separate process, which has not loaded a library yet.
TEST(InferRuntime, OpenErrorHasTheCause) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto load_with = [](rlim_t files) {
    const rlimit limit{files, files};
    setrlimit(RLIMIT_NOFILE, &limit);
    const auto runtime = OnnxRuntime::load();
    const std::string message = runtime ? "loaded" : runtime.error().message();
    std::cerr << message;
    std::exit(message.contains("nstall") ? 1 : 0);
  };
  EXPECT_EXIT(load_with(3), ::testing::ExitedWithCode(0),
              "cannot be loaded .*Too many open files. Raise the limit of open files");
}

TEST_F(InferErrors, DisappearWithTheirCause) {
  const std::string path = dir_ / "late.onnx";
  GstElement* pipeline = gst_parse_launch(
      ("videotestsrc num-buffers=3 ! tensorinfer model-file=" + path + " ! fakesink").c_str(),
      nullptr);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(bus, 20 * GST_SECOND, GST_MESSAGE_ERROR);
  ASSERT_NE(message, nullptr);
  gst_message_unref(message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  file(identity_model({1, 3, 32, 32}), "late.onnx");
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered(
      bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(GST_MESSAGE_TYPE(message), GST_MESSAGE_EOS);
  gst_message_unref(message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

}  // namespace
}  // namespace keepbox
