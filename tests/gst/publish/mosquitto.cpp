// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs mosquitto, and libmosquitto as a subscriber.
#include "tests/gst/publish/mosquitto.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

namespace keepbox::test {
namespace {

constexpr auto kPatience = 20s;

sockaddr_in local(int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  out.sin_port = htons(static_cast<uint16_t>(port));
  return out;
}

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = local(0);
  socklen_t size = sizeof address;
  bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  close(socket);
  return ntohs(address.sin_port);
}

bool accepts(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = local(port);
  const bool done =
      connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(socket);
  return done;
}

std::string program() {
  for (const char* path :
       {"/usr/sbin/mosquitto", "/usr/bin/mosquitto", "/usr/local/sbin/mosquitto"})
    if (std::filesystem::exists(path)) return path;
  return {};
}

}  // namespace

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

bool Mosquitto::is_there() { return !program().empty(); }

Mosquitto::Mosquitto(std::string config) : port_(free_port()) {
  folder_.write("mosquitto.conf", "listener " + std::to_string(port_) + " 127.0.0.1\n" + config +
                                      "user root\npersistence true\npersistence_location " +
                                      folder_.path().string() +
                                      "/\nmax_queued_messages 0\nqueue_qos0_messages "
                                      "true\nmax_inflight_messages 0\nlog_type none\n");
  start();
}

Mosquitto::~Mosquitto() { kill(); }

void Mosquitto::start() {
  const std::string path = program(), config = folder_ / "mosquitto.conf";
  process_ = fork();
  if (process_ == 0) {
    const int nowhere = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; ++i) dup2(nowhere, i);
    execl(path.c_str(), path.c_str(), "-c", config.c_str(), nullptr);
    _exit(127);
  }
  EXPECT_TRUE(eventually([this] { return accepts(port_); }));
}

void Mosquitto::stop() {
  if (process_ == 0) return;
  ::kill(process_, SIGTERM);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

void Mosquitto::kill() {
  if (process_ == 0) return;
  ::kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

void Mosquitto::freeze() { ::kill(process_, SIGSTOP); }
void Mosquitto::thaw() { ::kill(process_, SIGCONT); }

void publish_retained(int port, const std::string& topic, const std::string& payload) {
  mosquitto_lib_init();
  mosquitto* client = mosquitto_new(nullptr, true, nullptr);
  EXPECT_EQ(mosquitto_connect(client, "127.0.0.1", port, 10), MOSQ_ERR_SUCCESS);
  mosquitto_loop_start(client);
  std::atomic<bool> published = false;
  mosquitto_user_data_set(client, &published);
  mosquitto_publish_callback_set(
      client, [](mosquitto*, void* done, int) { *static_cast<std::atomic<bool>*>(done) = true; });
  EXPECT_EQ(mosquitto_publish(client, nullptr, topic.c_str(), static_cast<int>(payload.size()),
                              payload.data(), 1, true),
            MOSQ_ERR_SUCCESS);
  EXPECT_TRUE(eventually([&] { return published.load(); }));
  mosquitto_disconnect(client);
  mosquitto_loop_stop(client, true);
  mosquitto_destroy(client);
}

Subscriber::Subscriber(int port, const char* topics)
    : topics_(topics), client_(mosquitto_new("subscriber", false, this)) {
  mosquitto_lib_init();
  mosquitto_connect_callback_set(client_, on_connect);
  mosquitto_message_callback_set(client_, on_message);
  mosquitto_reconnect_delay_set(client_, 1, 1, false);
  mosquitto_subscribe_callback_set(client_, [](mosquitto*, void* self, int, int, const int*) {
    static_cast<Subscriber*>(self)->subscribed_ = true;
  });
  EXPECT_EQ(mosquitto_connect(client_, "127.0.0.1", port, 10), MOSQ_ERR_SUCCESS);
  mosquitto_loop_start(client_);
  EXPECT_TRUE(eventually([this] { return subscribed_.load(); }));
}

Subscriber::~Subscriber() {
  mosquitto_disconnect(client_);
  mosquitto_loop_stop(client_, true);
  mosquitto_destroy(client_);
}

void Subscriber::on_connect(mosquitto* client, void* self, int) {
  mosquitto_subscribe(client, nullptr, static_cast<Subscriber*>(self)->topics_, 2);
}

void Subscriber::on_message(mosquitto*, void* self, const mosquitto_message* message) {
  auto& s = *static_cast<Subscriber*>(self);
  const std::lock_guard lock(s.mutex_);
  s.received_.push_back({.topic = message->topic,
                         .payload = {static_cast<const char*>(message->payload),
                                     static_cast<size_t>(message->payloadlen)},
                         .qos = message->qos,
                         .retain = message->retain});
  s.more_.notify_all();
}

std::vector<Message> Subscriber::wait_for(size_t count) {
  std::unique_lock lock(mutex_);
  more_.wait_for(lock, kPatience, [&] { return received_.size() >= count; });
  return received_;
}

std::vector<Message> Subscriber::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

std::vector<std::string> Subscriber::payloads(const std::string& topic) const {
  std::vector<std::string> out;
  for (const Message& message : received())
    if (message.topic == topic) out.push_back(message.payload);
  return out;
}

}  // namespace keepbox::test
