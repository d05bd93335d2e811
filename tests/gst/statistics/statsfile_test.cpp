// SPDX-License-Identifier: LGPL-2.1-or-later
// The file with statistics of elements that run, and the tracer that writes it.
#include "gst/statistics/statistics.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "gst/metas/skippedmodels.h"
#include "tests/gst/frames.h"
#include "tests/tempdir.h"

namespace keepbox::statsfile_test {
namespace {

using namespace std::chrono_literals;

/// Waits until a file is there, and removes it; false if it does not come.
bool file_comes(const std::string& path) {
  for (int i = 0; i < 1000 && !std::filesystem::exists(path); ++i)
    std::this_thread::sleep_for(10ms);
  return std::filesystem::remove(path);
}

/// Elements in a bin of a pipeline, none of which runs.
class StatsFileTest : public ::testing::Test {
 protected:
  StatsFileTest() : pipeline_(gst_pipeline_new("front")), bin_(gst_bin_new("inner")) {
    gst_object_ref_sink(pipeline_);
    gst_bin_add(GST_BIN(pipeline_), bin_);
    decoder_ = gst_element_factory_make("boxdecode", "decode");
    sink_ = gst_element_factory_make("fakesink", "sink");
    other_ = gst_element_factory_make("identity", "other");
    gst_bin_add_many(GST_BIN(bin_), decoder_, sink_, other_, nullptr);
  }
  ~StatsFileTest() override { gst_object_unref(pipeline_); }

  StatsPlace place(double interval = 3600) {
    return {.file = path_, .source = "gate", .interval = std::chrono::duration<double>(interval)};
  }
  bool exists() const { return std::filesystem::exists(path_); }
  bool comes() const { return file_comes(path_); }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  test::TempDir dir_;
  const std::string path_ = dir_ / "front.prom";
  GstElement *pipeline_, *bin_, *decoder_ = nullptr, *sink_ = nullptr, *other_ = nullptr;
};

TEST_F(StatsFileTest, HasElementsOfThisProjectWithTheirPipeline) {
  StatsFile file(place());
  for (GstElement* each : {sink_, other_}) file.watch(each);
  file.write();
  EXPECT_FALSE(exists()) << "their properties of that name are GStreamer's";
  file.watch(decoder_);
  file.write();
  const std::string line =
      "keepbox_boxdecode_frames_total{source=\"gate\",pipeline=\"front\",element=\"decode\"} 0\n";
  EXPECT_TRUE(text().contains(line)) << text();
  EXPECT_FALSE(text().contains("sink")) << text();
  struct stat about{};
  ASSERT_EQ(stat(path_.c_str(), &about), 0);
  EXPECT_NE(about.st_mode & S_IROTH, 0u) << "another user's exporter reads it";
  EXPECT_EQ(GST_OBJECT_REFCOUNT(decoder_), 1);
  EXPECT_EQ(GST_OBJECT_REFCOUNT(pipeline_), 1);
}

/// Returns the value of the first line that begins so, NaN without one.
double value_of(const std::string& text, const std::string& begin) {
  const size_t at = text.find("\n" + begin);
  return at == std::string::npos ? NAN : std::stod(text.substr(text.find("} ", at) + 2));
}

TEST_F(StatsFileTest, HasTheAgesOfTheLastFrameAndTheLastLook) {
  StatsFile file(place());
  file.watch(decoder_);
  GstPad* pad = gst_element_get_static_pad(decoder_, "src");
  gst_pad_set_active(pad, TRUE);
  const auto push = [&](bool looked) {
    GstBuffer* frame = gst_buffer_new();
    if (!looked) note_skipped_model(frame, g_quark_from_static_string("model"));
    gst_pad_push(pad, frame);  // which ends at the pad, because it is not linked
  };
  const auto ages = [&] {
    file.write();
    return std::pair(value_of(text(), "keepbox_frame_age_seconds{"),
                     value_of(text(), "keepbox_look_age_seconds{"));
  };
  std::this_thread::sleep_for(120ms);
  auto [frame, look] = ages();
  EXPECT_GE(frame, 0.1) << "since it began to watch";
  EXPECT_EQ(frame, look);
  push(false);
  std::tie(frame, look) = ages();
  EXPECT_LT(frame, 0.1);
  EXPECT_GE(look, 0.1);
  push(true);
  std::tie(frame, look) = ages();
  EXPECT_LT(frame, 0.1);
  EXPECT_LT(look, 0.1);
  gst_object_unref(pad);
  EXPECT_EQ(GST_OBJECT_REFCOUNT(decoder_), 1);
}

TEST_F(StatsFileTest, ExplainsEachStatistic) {
  for (const char* factory : {"boxcount", "boxdecode", "tensorinfer", "boxtrack", "classdecode"}) {
    GstElement* element = gst_element_factory_make(factory, nullptr);
    if (element == nullptr) continue;  // not built
    GstStructure* stats = nullptr;
    g_object_get(element, "stats", &stats, nullptr);
    ASSERT_NE(stats, nullptr) << factory;
    for (int i = 0; i < gst_structure_n_fields(stats); ++i) {
      const char* field = gst_structure_nth_field_name(stats, static_cast<guint>(i));
      const GType type = gst_structure_get_field_type(stats, field);
      if (type == G_TYPE_STRING || type == GST_TYPE_ARRAY || type == GST_TYPE_LIST) continue;
      EXPECT_TRUE(has_stats_help(factory, field)) << factory << " " << field;
    }
    gst_structure_free(stats);
    gst_object_unref(element);
  }
}

TEST_F(StatsFileTest, FollowsAnElementIntoAnotherPipeline) {
  StatsFile file(place());
  file.watch(decoder_);
  gst_object_ref(decoder_);
  gst_bin_remove(GST_BIN(bin_), decoder_);
  GstElement* other = gst_pipeline_new("other");
  gst_bin_add(GST_BIN(other), decoder_);
  gst_object_unref(decoder_);
  file.watch(decoder_);
  file.write();
  EXPECT_TRUE(text().contains("pipeline=\"other\"")) << text();
  EXPECT_FALSE(text().contains("pipeline=\"front\"")) << text();
  std::filesystem::remove(path_);
  gst_object_unref(other);
  file.write();
  EXPECT_FALSE(exists()) << "no element is left";
}

TEST_F(StatsFileTest, IsWrittenAtIntervals) {
  StatsFile file(place(0.1));
  file.watch(decoder_);
  EXPECT_TRUE(comes());
  EXPECT_TRUE(comes());
}

TEST_F(StatsFileTest, IsWrittenOnceBeforeTheInterval) {
  {
    StatsFile file(place());
    file.watch(decoder_);
    std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(exists());
    file.write_soon();
    EXPECT_TRUE(comes());
    std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(exists());
  }
  EXPECT_FALSE(exists()) << "elements may have stopped by now";
}

/// Returns the text of all errors that the process printed.
std::string& printed() {
  static std::string text;
  return text;
}

TEST_F(StatsFileTest, PrintsTheFirstOfSeveralFailures) {
  const GPrintFunc before = g_set_printerr_handler([](const gchar* text) { printed() += text; });
  const std::string folder = dir_ / "later";
  StatsFile file({.file = folder + "/front.prom", .source = {}, .interval = 3600s});
  file.watch(decoder_);
  const auto messages_after = [&](int writes) {
    printed().clear();
    for (int i = 0; i < writes; ++i) file.write();
    size_t out = 0;
    for (size_t at = 0; (at = printed().find("Cannot write", at)) != std::string::npos; ++at) ++out;
    return out;
  };
  EXPECT_EQ(messages_after(1), 1u) << printed();
  EXPECT_EQ(messages_after(2), 0u) << printed();
  std::filesystem::create_directory(folder);
  EXPECT_EQ(messages_after(1), 0u) << printed();
  std::filesystem::remove_all(folder);
  EXPECT_EQ(messages_after(1), 1u) << printed();
  g_set_printerr_handler(before);
}

/// Runs something in a process with the tracer, whose errors have to contain a message.
void expect_traced(const std::string& params, auto run, const std::string& message) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char* before = std::getenv("GST_TRACERS");
  const std::string kept = before != nullptr ? before : "";
  setenv("GST_TRACERS", ("keepboxstats(" + params + ")").c_str(), 1);
  EXPECT_EXIT(std::exit(run() ? 0 : 1), testing::ExitedWithCode(0), message);
  if (before != nullptr) setenv("GST_TRACERS", kept.c_str(), 1);
  else unsetenv("GST_TRACERS");
}

constexpr const char* kLine =
    "! video/x-raw,width=64,height=48 ! boxtrack name=track ! fakesink async=false";

bool plays_to_the_end() {
  return test::play(std::string("videotestsrc num-buffers=5 ") + kLine).empty();
}

TEST_F(StatsFileTest, HasTheLastValuesOfATracedPipeline) {
  expect_traced("file=" + path_ + ",interval=3600", plays_to_the_end, "");
  EXPECT_TRUE(text().contains("element=\"track\"} 5\n")) << text();
}

TEST_F(StatsFileTest, HasTheFirstValuesOfATracedPipelineSoon) {
  constexpr const char* kFile = "KEEPBOX_STATS_FILE";
  setenv(kFile, path_.c_str(), 0);  // which the process has already, with a folder of its own
  const auto comes_while_it_plays = [] {
    GstElement* line =
        gst_parse_launch((std::string("videotestsrc is-live=true ") + kLine).c_str(), nullptr);
    gst_element_set_state(line, GST_STATE_PLAYING);
    return file_comes(std::getenv(kFile));
  };
  expect_traced("file=" + path_ + ",interval=3600", comes_while_it_plays, "");
  unsetenv(kFile);
}

TEST_F(StatsFileTest, IsNotWrittenByATracerWithoutAFile) {
  expect_traced("interval=3600", plays_to_the_end, "keepboxstats: file= is not set");
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

}  // namespace
}  // namespace keepbox::statsfile_test
