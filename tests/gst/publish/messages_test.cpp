// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes the messages about frames, and their topics.
#include "gst/publish/messages.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace keepbox::test {
namespace {

using nlohmann::json;
using Texts = std::vector<std::string>;

FrameBox box_of(const char* label, std::optional<guint64> id = {}, float score = 0.5f) {
  return {
      .box = {1, 2, 3, 4}, .score = score, .label = g_quark_from_string(label), .tracking_id = id};
}

FrameBox box_by(const char* model, const char* label, std::optional<guint64> id = {}) {
  FrameBox out = box_of(label, id);
  out.model = g_quark_from_string(model);
  return out;
}

SkippedModels skipped_by(const std::vector<const char*>& models) {
  g_autoptr(GstBuffer) buffer = gst_buffer_new();
  for (const char* model : models) note_skipped_model(buffer, g_quark_from_string(model));
  return SkippedModels(buffer);
}

/// A stream of frames, 100 ms apart.
class Frames {
 public:
  explicit Frames(PublishProps props) : messages_(*publish_settings(props, "boxpublish0"), props) {}

  /// Returns the messages of the next frame as "topic payload".
  Texts add(const std::vector<FrameBox>& boxes, const std::vector<BoxLabel>& labels = {},
            const SkippedModels& skipped = {}) {
    std::vector<Message> out;
    FrameInfo info{.number = number_, .size = {10, 10}, .skipped = skipped.any()};
    if (has_timestamps) info.timestamp = time();
    for (const BoxLabel& label : labels) info.labels.add(label);
    EXPECT_TRUE(messages_.add({info, boxes, skipped, time()}, out));
    ++number_;
    return texts(out);
  }
  /// Adds a frame that models did not look at.
  Texts add_skipped(const std::vector<FrameBox>& boxes, const std::vector<const char*>& models) {
    return add(boxes, {}, skipped_by(models));
  }
  Texts restart() {
    std::vector<Message> out;
    messages_.restart(out);
    return texts(out);
  }
  std::optional<Error> take_warning() { return messages_.take_warning(); }
  Texts finish() {
    std::vector<Message> out;
    messages_.finish(out);
    return texts(out);
  }
  void go_to(int64_t frame) { number_ = frame; }
  const Message& last() const { return last_; }

  bool has_timestamps = true;

 private:
  uint64_t time() const { return static_cast<uint64_t>(number_) * 100 * GST_MSECOND; }
  Texts texts(const std::vector<Message>& messages) {
    Texts out;
    for (const Message& message : messages) out.push_back(message.topic + ' ' + message.payload);
    if (!messages.empty()) last_ = messages.back();
    return out;
  }

  Messages messages_;
  int64_t number_ = 0;
  Message last_;
};

/// Returns the type, id and score of the best box of each event.
Texts events(const Texts& messages) {
  Texts out;
  for (const std::string& text : messages) {
    const json event = json::parse(text.substr(text.find(' ')));
    std::string line = event["type"].get<std::string>() + ' ' + event["id"].dump();
    if (event.contains("best")) line += ' ' + event["best"]["detection"]["confidence"].dump();
    out.push_back(line);
  }
  return out;
}

TEST(Messages, AreJsonObjectsOfFrames) {
  PublishProps props;
  props.source = "front";
  Frames frames(props);
  const Texts out = frames.add({box_of("dog")});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(out[0].starts_with("keepbox/front/boxes {\"resolution\":{\"width\":10,"));
  EXPECT_TRUE(out[0].ends_with("}]}")) << "without the end of a line: " << out[0];
  EXPECT_EQ(frames.last().qos, 1);
  EXPECT_FALSE(frames.last().retain);
  EXPECT_EQ(frames.add({}).size(), 1u) << "frames without boxes too";
}

TEST(Messages, AreCompletedOnlyIfTheyArePublished) {
  PublishProps props;
  props.rate = 5;  // of 10 frames per second
  Messages messages(*publish_settings(props, "boxpublish0"), props);
  const FrameBox boxes[] = {box_of("dog")};
  std::vector<Message> out;
  size_t completed = 0;
  const auto complete = [&](FrameInfo&) {
    ++completed;
    return Status{};
  };
  for (uint64_t i = 0; i < 6; ++i)
    EXPECT_TRUE(
        messages.add({{.size = {10, 10}}, boxes, {}, i * 100 * GST_MSECOND}, out, complete));
  EXPECT_EQ(completed, 3u);
  EXPECT_EQ(out.size(), completed);
  EXPECT_TRUE(messages.add({{.size = {10, 10}}, {}, {}, 600 * GST_MSECOND}, out, complete));
  EXPECT_EQ(completed, 3u) << "there is no box";
  EXPECT_EQ(out.size(), 4u);
  const auto fails = [](FrameInfo&) -> Status { return fail(ErrorKind::kMismatch, "one", "two"); };
  EXPECT_FALSE(messages.add({{.size = {10, 10}}, boxes, {}, 800 * GST_MSECOND}, out, fails));
  EXPECT_EQ(out.size(), 5u) << "without what is missing";
}

TEST(Messages, AreNumbersThatChange) {
  PublishProps props;
  props.what = "counts";
  Frames frames(props);
  EXPECT_EQ(frames.add({}), Texts{"keepbox/boxpublish0/counts/all 0"});
  EXPECT_EQ(frames.add({box_of("dog"), box_of("cat"), box_of("dog")}),
            (Texts{"keepbox/boxpublish0/counts/all 3", "keepbox/boxpublish0/counts/cat 1",
                   "keepbox/boxpublish0/counts/dog 2"}));
  EXPECT_TRUE(frames.last().retain) << "for subscribers that come later";
  EXPECT_EQ(frames.add({box_of("dog"), box_of("dog"), box_of("cat")}), Texts{});
  EXPECT_EQ(frames.add({box_of("dog"), box_of("dog"), box_of("dog")}),
            (Texts{"keepbox/boxpublish0/counts/cat 0", "keepbox/boxpublish0/counts/dog 3"}));
}

TEST(Messages, AreAllNumbersOfEachFrameOnRequest) {
  PublishProps props;
  props.what = "counts";
  props.on_change = "";
  props.topic_counts = "n";
  Frames frames(props);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(frames.add({box_of("a"), box_of("b")}), Texts{"n 2"});
}

TEST(Messages, HaveARate) {
  PublishProps props;
  props.what = "boxes,counts";
  props.rate = 5;  // every second frame
  Frames frames(props);
  std::vector<size_t> sizes;
  for (int i = 0; i < 6; ++i) sizes.push_back(frames.add({}).size());
  EXPECT_EQ(sizes, (std::vector<size_t>{2, 0, 1, 0, 1, 0}));
  EXPECT_EQ(frames.add({}).size(), 1u);
  EXPECT_EQ(frames.add({box_of("dog")}), Texts{}) << "the rate keeps it back";
  EXPECT_EQ(frames.finish(),
            (Texts{"keepbox/boxpublish0/counts/all 1", "keepbox/boxpublish0/counts/dog 1",
                   "keepbox/boxpublish0/counts/all 0", "keepbox/boxpublish0/counts/dog 0"}))
      << "until the end, when there is nothing";
  EXPECT_EQ(frames.finish(), Texts{});
}

TEST(Messages, KeepNumbersWhileModelsSkip) {
  PublishProps props;
  props.what = "counts";
  props.topic_counts = "{class}";
  Frames frames(props);
  EXPECT_EQ(frames.add_skipped({}, {"m"}), Texts{}) << "nothing is known yet";
  EXPECT_EQ(frames.add({box_by("m", "dog"), box_by("n", "cat")}),
            (Texts{"all 2", "cat 1", "dog 1"}));
  EXPECT_EQ(frames.add_skipped({}, {"m", "n"}), Texts{});
  FrameBox held = box_by("m", "dog"), predicted = held;
  held.held = predicted.predicted = true;
  EXPECT_EQ(frames.add_skipped({held, predicted, box_by("n", "cat")}, {"m"}), Texts{});
  EXPECT_EQ(frames.add_skipped({}, {"m"}), (Texts{"all 1", "cat 0"})) << "n looked";
  EXPECT_EQ(frames.add_skipped({box_by("m", "dog"), box_by("m", "dog")}, {"n"}),
            (Texts{"all 2", "dog 2"}));
  EXPECT_EQ(frames.add({}), (Texts{"all 0", "dog 0"}));
}

/// The name of a model may change while it skips frames.
TEST(Messages, KeepNumbersUntilAModelWithAnotherNameHasLooked) {
  PublishProps props;
  props.what = "counts,tracks";
  props.topic_counts = "{class}";
  props.track_timeout = 0.3;
  Frames frames(props);
  EXPECT_EQ(frames.add({box_by("m", "dog", 7)}).size(), 3u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(frames.add_skipped({}, {"renamed"}), Texts{}) << i;
  EXPECT_EQ(frames.add({box_by("renamed", "dog")}), Texts{});
  EXPECT_EQ(frames.add({}), (Texts{"all 0", "dog 0"}));
}

TEST(Messages, PublishNoChangeWhileModelsSkip) {
  PublishProps props;
  props.on_change = "boxes";
  Frames frames(props);
  EXPECT_EQ(frames.add_skipped({}, {"m"}).size(), 0u) << "nothing is known yet";
  EXPECT_EQ(frames.add({box_by("m", "dog", 7)}).size(), 1u);
  EXPECT_EQ(frames.add_skipped({}, {"m"}).size(), 0u);
  EXPECT_EQ(frames.add({box_by("m", "dog", 7)}).size(), 0u);
  EXPECT_EQ(frames.add_skipped({box_by("n", "cat")}, {"m"}).size(), 1u) << "n looked";
  EXPECT_TRUE(json::parse(frames.last().payload)["skipped"]);
  EXPECT_EQ(frames.add_skipped({box_by("n", "cat")}, {"m"}).size(), 0u);
  EXPECT_EQ(frames.add({box_by("m", "dog", 7), box_by("n", "cat")}).size(), 1u)
      << "the last one left out the dog";
  EXPECT_EQ(frames.add({box_by("m", "dog", 7), box_by("n", "cat")}).size(), 0u);
  EXPECT_EQ(frames.add({}).size(), 1u);
}

/// A later subscriber would take the frame for one without the objects of that model.
TEST(Messages, RetainNoFrameThatAModelSkipped) {
  for (const char* on_change : {"", "boxes"}) {
    PublishProps props;
    props.on_change = on_change;
    props.retain = "boxes";
    Frames frames(props);
    EXPECT_EQ(frames.add({}).size(), 1u);
    EXPECT_TRUE(frames.last().retain);
    EXPECT_EQ(frames.add_skipped({box_by("n", "cat")}, {"m"}).size(), 1u);
    EXPECT_FALSE(frames.last().retain);
    EXPECT_EQ(frames.add({box_by("n", "cat")}).size(), 1u) << "now all have looked";
    EXPECT_TRUE(frames.last().retain);
    EXPECT_FALSE(json::parse(frames.last().payload).contains("skipped"));
  }
}

/// A rate whose frames are those that a model skips does not hide changes.
TEST(Messages, PublishAChangeOnceTheRateAllowsIt) {
  PublishProps props;
  props.on_change = "boxes";
  props.rate = 5;  // every second frame
  Frames frames(props);
  EXPECT_EQ(frames.add_skipped({}, {"m"}).size(), 0u);
  EXPECT_EQ(frames.add({box_by("m", "dog")}).size(), 1u);
  EXPECT_EQ(frames.add_skipped({}, {"m"}).size(), 0u);
  EXPECT_EQ(frames.add({box_by("m", "cat")}).size(), 1u);
}

/// The turns of a rate may all fall on frames that a model skips.
TEST(Messages, PublishTheNextFrameThatWasLookedAt) {
  PublishProps props;
  props.rate = 2.5;  // every fourth frame
  Frames frames(props);
  std::vector<int> published;
  for (int i = 0; i < 16; ++i) {
    const bool looked = i % 4 == 2;
    const Texts out = looked ? frames.add({box_by("m", "dog")}) : frames.add_skipped({}, {"m"});
    if (!out.empty()) published.push_back(i);
  }
  EXPECT_EQ(published, (std::vector<int>{2, 6, 10, 14}));
}

/// A rate is no filter of frames whose boxes a tracker expects, or another model found.
TEST(Messages, PublishSkippedFramesIfThereAreNoOthers) {
  PublishProps props;
  props.rate = 5;  // every second frame
  Frames frames(props);
  std::vector<size_t> sizes;
  for (int i = 0; i < 8; ++i) sizes.push_back(frames.add_skipped({}, {"m"}).size());
  EXPECT_EQ(sizes, (std::vector<size_t>{0, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(frames.add({}).size(), 1u);
  EXPECT_EQ(frames.add({}).size(), 0u);
  props.rate = 0;
  Frames all(props);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all.add_skipped({}, {"m"}).size(), 1u) << "no rate";
}

/// Frames that are left out do not use up the rate.
TEST(Messages, PublishTheNextFrameWithBoxes) {
  PublishProps props;
  props.rate = 5;  // every second frame
  props.write_empty = false;
  for (const char* on_change : {"", "boxes"}) {
    props.on_change = on_change;
    Frames frames(props);
    EXPECT_EQ(frames.add({}).size(), 0u);
    EXPECT_EQ(frames.add({box_by("m", "dog")}).size(), 1u) << on_change;
  }
}

TEST(Messages, ForgetBoxesOfAnotherStream) {
  PublishProps props;
  props.what = "boxes,tracks";
  props.on_change = "boxes";
  Frames frames(props);
  EXPECT_EQ(frames.add({box_of("dog", 7)}).size(), 2u);
  EXPECT_EQ(frames.add({box_of("dog", 7)}).size(), 0u);
  EXPECT_EQ(events(frames.restart()), Texts{"end 7 0.5"});
  EXPECT_EQ(frames.add({box_of("dog", 7)}).size(), 2u);
}

TEST(Messages, AreObjectsThatChange) {
  PublishProps props;
  props.on_change = "boxes";
  Frames frames(props);
  EXPECT_EQ(frames.add({}).size(), 1u);
  EXPECT_EQ(frames.add({}).size(), 0u);
  EXPECT_EQ(frames.add({box_of("dog"), box_of("dog")}).size(), 1u);
  EXPECT_EQ(frames.add({box_of("dog", {}, 0.9f), box_of("dog")}).size(), 0u);
  EXPECT_EQ(frames.add({box_of("dog")}).size(), 1u);
  EXPECT_EQ(frames.add({box_of("dog", 1)}).size(), 1u) << "now with an id";
  EXPECT_EQ(frames.add({box_of("dog", 2)}).size(), 1u);
  EXPECT_EQ(frames.add({box_of("cat", 2)}).size(), 1u);
}

TEST(Messages, AreResultsAboutWholeFramesThatChange) {
  PublishProps props;
  props.on_change = "boxes";
  Frames frames(props);
  const GQuark weather = g_quark_from_string("weather"), road = g_quark_from_string("road");
  EXPECT_EQ(frames.add({}, {{.text = "rain", .level = 0.5f}}).size(), 1u);
  EXPECT_EQ(frames.add({}, {{.text = "rain", .level = 0.9f}}).size(), 0u) << "the same result";
  EXPECT_EQ(frames.add({}, {{.text = "dry", .level = 0.9f}}).size(), 1u);
  EXPECT_EQ(frames.add({}, {{.text = "dry", .attribute = weather}}).size(), 1u);
  EXPECT_EQ(frames.add({}, {{.text = "dry", .attribute = road}}).size(), 1u);
  EXPECT_EQ(frames.add({box_of("dog")}, {{.text = "dry", .attribute = road}}).size(), 1u);
  EXPECT_EQ(frames.add({box_of("dog")}).size(), 1u) << "no result any more";
  EXPECT_EQ(frames.add({box_of("dog")}).size(), 0u);
}

TEST(Messages, AreEventsOfTracks) {
  PublishProps props;
  props.what = "tracks";
  props.track_timeout = 0.15;
  Frames frames(props);
  EXPECT_EQ(events(frames.add({box_of("dog", 7, 0.5f), box_of("cat")})), Texts{"new 7 0.5"});
  EXPECT_EQ(frames.last().topic, "keepbox/boxpublish0/tracks");
  EXPECT_FALSE(frames.last().payload.contains('\n')) << "a message is a line";
  EXPECT_EQ(events(frames.add({box_of("dog", 7, 0.25f)})), Texts{});
  EXPECT_EQ(events(frames.add({box_of("dog", 7, 0.75f)})), Texts{"update 7 0.75"});
  FrameBox held = box_of("dog", 7, 0.875f), predicted = held;
  held.held = predicted.predicted = true;
  EXPECT_EQ(events(frames.add({held})), Texts{});
  EXPECT_EQ(events(frames.add({predicted})), Texts{});
  EXPECT_EQ(events(frames.add({})), Texts{});
  EXPECT_EQ(events(frames.add({box_of("dog", 8)})), (Texts{"new 8 0.5", "end 7 0.75"}));
  const json end = json::parse(frames.last().payload);
  EXPECT_EQ(end["frames"], 5);
  EXPECT_EQ(end["label"], "dog");
  EXPECT_EQ(end["first"], 0);
  EXPECT_EQ(end["last"], 400000000);
  EXPECT_EQ(events(frames.finish()), Texts{"end 8 0.5"});
  EXPECT_EQ(events(frames.finish()), Texts{});
}

TEST(Messages, AreEventsOfTheBestMeasuredBoxes) {
  PublishProps props;
  props.what = "tracks";
  props.source = "front";
  props.track_timeout = 0.2;
  Frames frames(props);
  FrameBox held = box_of("", 7, 0.875f);
  held.held = true;
  EXPECT_EQ(events(frames.add({held})), Texts{"new 7"});
  EXPECT_EQ(frames.last().topic, "keepbox/front/tracks");
  EXPECT_EQ(events(frames.add({box_of("", 7, 0.25f)})), Texts{"update 7 0.25"});
  EXPECT_EQ(events(frames.add({box_of("", 7, 0.25f)})), Texts{}) << "not a better one";
  EXPECT_EQ(frames.add({}), Texts{});
  EXPECT_EQ(frames.add({}), Texts{}) << "the time is not over";
  EXPECT_EQ(events(frames.add({})), Texts{"end 7 0.25"});
  const json end = json::parse(frames.last().payload);
  EXPECT_EQ(end["source"], "front");
  EXPECT_EQ(end["last"], 200000000);
  EXPECT_FALSE(end.contains("label"));
}

TEST(Messages, HaveTheTimestampsThatTheirFramesHave) {
  PublishProps props;
  props.what = "tracks";
  Frames frames(props);
  frames.has_timestamps = false;
  frames.add({box_of("dog", 7)});
  json event = json::parse(frames.last().payload);
  EXPECT_FALSE(event.contains("first"));
  EXPECT_FALSE(event.contains("last"));
  frames.has_timestamps = true;
  frames.add({box_of("dog", 7, 0.75f)});
  event = json::parse(frames.last().payload);
  EXPECT_FALSE(event.contains("first"));
  EXPECT_EQ(event["last"], 100000000);
}

TEST(Messages, EndTracksWhereTimeGoesFarBack) {
  PublishProps props;
  props.what = "tracks";
  props.track_timeout = 0.5;
  Frames frames(props);
  frames.go_to(16);
  EXPECT_EQ(events(frames.add({box_of("dog", 7)})), Texts{"new 7 0.5"});
  frames.go_to(0);
  EXPECT_EQ(events(frames.add({box_of("dog", 7)})), (Texts{"end 7 0.5", "new 7 0.5"}));
  EXPECT_EQ(events(frames.add({box_of("dog", 7)})), Texts{}) << "once";
}

TEST(Messages, FollowTracksWhereTimeGoesBack) {
  PublishProps props;
  props.what = "tracks";
  props.track_timeout = 0.5;
  Frames frames(props);
  frames.go_to(15);
  EXPECT_EQ(events(frames.add({box_of("dog", 7), box_of("cat", 8)})),
            (Texts{"new 7 0.5", "new 8 0.5"}));
  frames.go_to(0);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(events(frames.add({box_of("dog", 7)})), Texts{}) << i;
  EXPECT_EQ(events(frames.add({box_of("dog", 7)})), Texts{"end 8 0.5"}) << "from the new time on";
}

TEST(Messages, EndNoTracksWhileModelsSkip) {
  PublishProps props;
  props.what = "tracks";
  props.track_timeout = 0.25;
  Frames frames(props);
  EXPECT_EQ(events(frames.add({box_by("m", "dog", 7), box_by("n", "cat", 8)})),
            (Texts{"new 7 0.5", "new 8 0.5"}));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(frames.add_skipped({}, {"m", "n"}), Texts{}) << i;
  EXPECT_EQ(frames.add({box_by("m", "dog", 7)}), Texts{}) << "one look is not the timeout";
  EXPECT_EQ(frames.add_skipped({}, {"m"}), Texts{});
  EXPECT_EQ(events(frames.add_skipped({}, {"m"})), Texts{"end 8 0.5"});
  EXPECT_EQ(frames.add({}), Texts{});
  EXPECT_EQ(frames.add({}), Texts{});
  EXPECT_EQ(events(frames.add({})), Texts{"end 7 0.5"});
}

TEST(Messages, WarnOnceOfObjectsThatAreLeftOut) {
  for (const char* what : {"tracks", "counts"}) {
    PublishProps props;
    props.what = what;
    props.topic_counts = "{id}";
    Frames frames(props);
    std::vector<FrameBox> boxes;
    for (guint64 id = 0; id < Counts::kMaxTopics; ++id) boxes.push_back(box_of("dog", id));
    frames.add({boxes.begin(), boxes.begin() + TrackEvents::kMaxTracks});
    EXPECT_FALSE(frames.take_warning());
    boxes.push_back(box_of("dog", boxes.size()));
    frames.add(boxes);
    const auto warning = frames.take_warning();
    ASSERT_TRUE(warning) << what;
    EXPECT_TRUE(warning->message().contains(what[0] == 't' ? "4096 tracks" : "10000 topics"));
    frames.add(boxes);
    EXPECT_FALSE(frames.take_warning());
  }
}

TEST(Messages, KeepImprovementsBackByTheRate) {
  PublishProps props;
  props.what = "tracks";
  props.rate = 5;
  Frames frames(props);
  EXPECT_EQ(events(frames.add({box_of("dog", 7, 0.125f)})), Texts{"new 7 0.125"});
  EXPECT_EQ(events(frames.add({box_of("dog", 7, 0.25f)})), Texts{});
  EXPECT_EQ(events(frames.add({box_of("dog", 7, 0.125f)})), Texts{"update 7 0.25"});
}

}  // namespace
}  // namespace keepbox::test
