// SPDX-License-Identifier: LGPL-2.1-or-later
// Addresses of brokers, topics, and the check of properties.
#include <gtest/gtest.h>

#include <string>

#include "gst/publish/brokeraddress.h"
#include "gst/publish/publishprops.h"
#include "gst/publish/topics.h"

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
  for (const char* wrong : {"", ":1883", "a:", "a:0", "a:65536", "a:b", "http://a", "[::1", "a/b",
                            "user@a", "[::1]x", "mqtt://"})
    EXPECT_EQ(text(wrong), "") << wrong;
}

TEST(TopicPattern, HasPlaceholders) {
  const TopicValues values{.source = "front", .label = "a/+#\n", .model = "", .id = "7"};
  EXPECT_EQ(TopicPattern::parse("k/{source}/{class}/{model}/{id}", "t")->of(values),
            "k/front/a____/_/7");
  EXPECT_TRUE(TopicPattern::parse("", "t")->empty());
  for (const char* wrong : {"a/#", "+/a", "{", "{stream}", "{}", "a{source", "a\nb", "\xff"})
    EXPECT_FALSE(TopicPattern::parse(wrong, "topic-boxes")) << wrong;
  EXPECT_EQ(TopicPattern::parse("a/#", "topic-boxes").error().message(),
            "topic-boxes=a/# is not a topic: it may have {source}, {class}, {model} and {id}, but "
            "not + and #. Set topic-boxes= to one such as keepbox/{source}/boxes.");
}

TEST(Settings, AreChecked) {
  const auto error = [](PublishProps props) {
    const auto out = publish_settings(props, "e");
    return out ? std::string() : out.error().message();
  };
  PublishProps props;
  EXPECT_EQ(error(props), "");
  props.what = "boxes,count";
  EXPECT_EQ(
      error(props),
      "what has \"count\", which is not boxes, counts or tracks. Set what= to a list of these, "
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
