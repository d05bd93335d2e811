// SPDX-License-Identifier: LGPL-2.1-or-later
// Addresses of brokers, topics, and the check of properties.
#include <gtest/gtest.h>

#include <string>

#include "core/base/text.h"
#include "gst/publish/counts.h"
#include "gst/publish/mqttclient.h"
#include "gst/publish/properties.h"

namespace keepbox::test {
namespace {

TEST(BrokerAddress, HasHostPortAndTls) {
  const auto text = [](const char* address) {
    const auto out = BrokerAddress::parse(address);
    return out ? out->text() + (out->tls ? " tls" : "") : std::string();
  };
  EXPECT_EQ(text("localhost"), "localhost:1883");
  EXPECT_EQ(text("10.0.0.1:99"), "10.0.0.1:99");
  EXPECT_EQ(text("mqtt://broker"), "broker:1883");
  EXPECT_EQ(text("mqtts://broker"), "broker:8883 tls");
  EXPECT_EQ(text("mqtts://broker:1"), "broker:1 tls");
  EXPECT_EQ(text("[::1]"), "[::1]:1883");
  EXPECT_EQ(text("mqtt://[::1]:77"), "[::1]:77");
  const auto error = [](const char* address) {
    return BrokerAddress::parse(address).error().message();
  };
  for (const char* secret : {"mqtt://user:secret@host", "user:secret@host:1883",
                             "mqtts://a@secret@host/x", "http://host/?password=secret"})
    EXPECT_FALSE(error(secret).contains("secret")) << error(secret);
  EXPECT_TRUE(error("mqtt://user:x@host").starts_with("address=mqtt://...@host is not"));
  EXPECT_TRUE(error("mqtt://user:x@host").contains("the user by username= and password-file="));
  for (const char* wrong : {"", ":1883", "a:", "a:0", "a:65536", "a:b", "http://a", "[::1", "a/b",
                            "user@a", "[::1]x", "mqtt://"})
    EXPECT_EQ(text(wrong), "") << wrong;
}

TEST(TopicPattern, HasPlaceholders) {
  const TopicValues values{.source = "front", .label = "a/+#\n", .model = "", .id = "7"};
  EXPECT_EQ(TopicPattern::parse("k/{source}/{class}/{model}/{id}", "t")->of(values),
            "k/front/a____/_/7");
  EXPECT_TRUE(TopicPattern::parse("", "t")->empty());
  const TopicValues odd{.source = "\u0085x", .label = "a\uffff\ufffeé\ufdd0", .model = "\u009f"};
  EXPECT_EQ(TopicPattern::parse("{source}/{class}/{model}", "t")->of(odd), "_x/a__é_/_");
  EXPECT_FALSE(TopicPattern::parse("a\u0085", "t"));
  for (const char* wrong : {"a/#", "+/a", "{", "{stream}", "{}", "a{source", "a\nb", "\xff"})
    EXPECT_FALSE(TopicPattern::parse(wrong, "topic-boxes")) << wrong;
  EXPECT_EQ(TopicPattern::parse("a/#", "topic-boxes").error().message(),
            "topic-boxes=a/# is not a topic: it may have {source}, {class}, {model}, {id} and "
            "{name}, but "
            "not + and #. Set topic-boxes= to one such as keepbox/{source}/boxes.");
}

TEST(TopicPattern, HasALimit) {
  EXPECT_TRUE(TopicPattern::parse(std::string(65535, 'a'), "t"));
  const std::string longer(65536, 'a');
  const auto pattern = TopicPattern::parse(longer, "topic-boxes");
  ASSERT_FALSE(pattern);
  EXPECT_EQ(pattern.error().statement(),
            "topic-boxes=" + in_quotes(longer) + " has 65536 bytes, and MQTT allows 65535");
}

TEST(TopicPattern, FindsItsTopics) {
  const auto topics = TopicPattern::parse("k/{source}/n-{class}/{model}", "t");
  EXPECT_EQ(topics->filter("a/b"), "k/a_b/+/+");
  EXPECT_TRUE(topics->makes("k/a_b/n-dog/m", "a/b"));
  EXPECT_TRUE(topics->makes(topics->of({.source = "s", .label = "x/y"}), "s"));
  for (const char* other : {"k/a_b/dog/m", "k/a_b/n-/m", "k/a_b/n-dog", "k/c/n-dog/m",
                            "k/a_b/n-dog/m/x", "k/a_b/n-dog/"})
    EXPECT_FALSE(topics->makes(other, "a/b")) << other;
  EXPECT_EQ(TopicPattern::parse("n", "t")->filter("s"), "n");
  EXPECT_TRUE(TopicPattern::parse("n", "t")->makes("n", "s"));
}

TEST(Settings, AreChecked) {
  const auto error = [](PublishProps props) {
    const auto out = publish_settings(props, "e");
    return out ? std::string() : out.error().message();
  };
  PublishProps props;
  EXPECT_EQ(error(props), "");
  props.what = "boxes,count";
  EXPECT_EQ(error(props),
            "what has \"count\", which is not boxes, counts, tracks, lines or zones. Set what= to "
            "a list of these, "
            "such as boxes,counts.");
  props.what = " , ";
  EXPECT_NE(error(props).find("nothing to publish"), std::string::npos);
  props = {};
  props.tags = "{";
  EXPECT_NE(error(props).find("tags="), std::string::npos);
  props = {};
  props.password_file = "/missing";
  EXPECT_NE(error(props).find("password-file="), std::string::npos);
}

}  // namespace
}  // namespace keepbox::test
