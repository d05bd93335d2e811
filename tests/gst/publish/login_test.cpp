// SPDX-License-Identifier: LGPL-2.1-or-later
// boxpublish and brokers that require TLS, certificates or a password.
#include <cstdlib>
#include <string>

#include "tests/gst/publish/boxpublish.h"

namespace keepbox::test {
namespace {

std::string certificate(const char* name) {
  return std::string(std::getenv("KEEPBOX_SOURCE")) + "/tests/gst/publish/certs/" + name;
}

/// Returns the configuration of a broker with TLS.
std::string tls(const std::string& name, const char* more = "") {
  return "allow_anonymous true\ncafile " + certificate("authority.pem") + "\ncertfile " +
         certificate((name + ".pem").c_str()) + "\nkeyfile " +
         certificate((name + ".key").c_str()) + '\n' + more;
}

class BrokerLogin : public BoxPublish {
 protected:
  static std::string secure(const Mosquitto& broker) {
    return "mqtts://localhost:" + std::to_string(broker.port());
  }
  /// Expects that messages are delivered.
  static void expect_published(Publisher& publisher) {
    publisher.start();
    publisher.push(0, 3);
    EXPECT_TRUE(eventually([&] { return publisher.stat("published") == 3; }));
    EXPECT_EQ(publisher.message(GST_MESSAGE_WARNING), "");
  }
  /// Expects a warning, and that messages are kept.
  static void expect_refused(Publisher& publisher, const std::string& reason) {
    publisher.set("stop-timeout", "0");
    publisher.start();
    publisher.push(0, 3);
    std::string warning;
    EXPECT_TRUE(
        eventually([&] { return !(warning = publisher.message(GST_MESSAGE_WARNING)).empty(); }));
    EXPECT_NE(warning.find(reason), std::string::npos) << warning;
    EXPECT_EQ(publisher.stat("queued"), 3u);
    EXPECT_EQ(publisher.stat("connections"), 0u);
  }
};

TEST_F(BrokerLogin, ByTls) {
  Mosquitto broker(tls("broker"));
  Publisher publisher(secure(broker));
  publisher.set("ca-file", certificate("authority.pem"));
  expect_published(publisher);
}

TEST_F(BrokerLogin, NeedsAKnownAuthority) {
  Mosquitto broker(tls("broker"));
  {
    Publisher publisher(secure(broker));
    publisher.set("ca-file", certificate("stranger.pem"));
    expect_refused(publisher, "certificate verify failed");
  }
  Publisher publisher(secure(broker));
  expect_refused(publisher, "certificate verify failed");
}

TEST_F(BrokerLogin, NeedsTheNameOfTheHost) {
  Mosquitto broker(tls("elsewhere"));
  Publisher publisher(secure(broker));
  publisher.set("ca-file", certificate("authority.pem"));
  expect_refused(publisher, "certificate verify failed");
  publisher.stop();
  publisher.set("verify-host", "false");
  while (!publisher.message(GST_MESSAGE_WARNING).empty()) {
  }
  expect_published(publisher);
}

TEST_F(BrokerLogin, ByACertificate) {
  Mosquitto broker(tls("broker", "require_certificate true\n"));
  Publisher publisher(secure(broker));
  publisher.set("ca-file", certificate("authority.pem"));
  expect_refused(publisher, "");
  publisher.stop();
  publisher.set("cert-file", certificate("client.pem"));
  publisher.set("key-file", certificate("client.key"));
  while (!publisher.message(GST_MESSAGE_WARNING).empty()) {
  }
  expect_published(publisher);
}

TEST_F(BrokerLogin, SpeaksNoTlsToOthers) {
  Mosquitto plain;
  Publisher publisher(secure(plain));
  publisher.set("ca-file", certificate("authority.pem"));
  expect_refused(publisher, "");
  Mosquitto encrypted(tls("broker"));
  Publisher other(encrypted.address());
  expect_refused(other, "");
}

TEST_F(BrokerLogin, ByAPassword) {
  const TempDir folder;
  const std::string users = folder / "users";
  const std::string make = "mosquitto_passwd -b -c " + users + " camera secret";
  ASSERT_EQ(std::system(make.c_str()), 0);
  Mosquitto broker("allow_anonymous false\npassword_file " + users + '\n');
  {
    Publisher publisher(broker.address());
    expect_refused(publisher, "not authorised");
  }
  {
    Publisher publisher(broker.address());
    publisher.set("username", "camera");
    publisher.set("password-file", folder.write("password", "secret\n"));
    expect_published(publisher);
  }
  setenv("KEEPBOX_MQTT_USERNAME", "camera", 1);
  setenv("KEEPBOX_MQTT_PASSWORD", "secret", 1);
  {
    Publisher publisher(broker.address());
    expect_published(publisher);
  }
  unsetenv("KEEPBOX_MQTT_USERNAME");
  unsetenv("KEEPBOX_MQTT_PASSWORD");
}

TEST_F(BrokerLogin, NeedsFilesThatAreThere) {
  Publisher publisher("mqtts://localhost");
  publisher.set("ca-file", "/missing.pem");
  EXPECT_FALSE(publisher.can_start());
  EXPECT_NE(publisher.message(GST_MESSAGE_ERROR).find("Set ca-file= to a readable file"),
            std::string::npos);
  publisher.set("ca-file", certificate("authority.pem"));
  publisher.set("cert-file", certificate("client.pem"));
  EXPECT_FALSE(publisher.can_start());
  EXPECT_NE(publisher.message(GST_MESSAGE_ERROR).find("both of cert-file= and key-file="),
            std::string::npos);
}

TEST_F(BrokerLogin, NeedsAKeyWithoutAPassPhrase) {
  Publisher publisher("mqtts://localhost");
  publisher.set("cert-file", certificate("client.pem"));
  publisher.set("key-file", certificate("protected.key"));
  EXPECT_FALSE(publisher.can_start());
  const std::string error = publisher.message(GST_MESSAGE_ERROR);
  EXPECT_NE(error.find("is protected by a pass phrase. Remove it with openssl pkey"),
            std::string::npos)
      << error;
}

}  // namespace
}  // namespace keepbox::test
