// SPDX-License-Identifier: LGPL-2.1-or-later
// Drives libmosquitto from one thread.
#include "gst/publish/mqttbroker.h"

#include <glib.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <utility>

#include "gst/base/fileerror.h"
#include "gst/base/plainfile.h"
#include "gst/publish/reachable.h"

namespace keepbox {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kConnectWithin = 10s;  // per address
constexpr unsigned kInFlight = 20;    // messages without an answer
constexpr int kMaxPackets = 100;      // that are read at once
constexpr const char* kOnline = "online";
constexpr const char* kOffline = "offline";

void init_library() {
  static std::once_flag once;
  std::call_once(once, mosquitto_lib_init);
}

std::string text_of(int code) {
  return code == MOSQ_ERR_ERRNO ? g_strerror(errno) : mosquitto_strerror(code);
}

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

Status check_file(const std::string& path, const char* property) {
  if (path.empty()) return {};
  KB_TRY(open_plain(path, "set " + std::string(property) + "= to a readable file"));
  return {};
}

}  // namespace

MqttBroker::MqttBroker(const MqttSettings& settings) : settings_(settings) {
  init_library();
  // A broker recognises a message that is sent again only in a session that it keeps.
  const bool clean = settings.client_id.empty() || settings.qos < 2;
  client_ = mosquitto_new(or_null(settings.client_id), clean, this);
}

MqttBroker::~MqttBroker() { mosquitto_destroy(client_); }

Result<std::unique_ptr<Broker>> MqttBroker::make(const MqttSettings& settings) {
  std::unique_ptr<MqttBroker> out(new MqttBroker(settings));
  if (out->client_ == nullptr)
    return reject(ErrorKind::kInvalid,
                  "client-id=" + settings.client_id + " is invalid: " + g_strerror(errno),
                  "set client-id= to UTF-8 text");
  KB_TRY(out->set_up());
  if (settings.address.tls) KB_TRY(out->set_up_tls());
  return out;
}

Status MqttBroker::set_up() {
  mosquitto_connect_callback_set(client_, on_connect);
  mosquitto_disconnect_callback_set(client_, on_disconnect);
  mosquitto_publish_callback_set(client_, on_publish);
  mosquitto_log_callback_set(client_, on_log);
  mosquitto_max_inflight_messages_set(client_, kInFlight);
  mosquitto_int_option(client_, MOSQ_OPT_TCP_NODELAY, 1);
  int code = MOSQ_ERR_SUCCESS;
  if (!settings_.username.empty() || !settings_.password.empty())
    code =
        mosquitto_username_pw_set(client_, settings_.username.c_str(), or_null(settings_.password));
  if (code == MOSQ_ERR_SUCCESS && !settings_.availability.empty())
    code =
        mosquitto_will_set(client_, settings_.availability.c_str(),
                           static_cast<int>(std::string_view(kOffline).size()), kOffline, 1, true);
  if (code == MOSQ_ERR_SUCCESS) return {};
  return reject(ErrorKind::kInvalid,
                "MQTT does not allow this user name, password or topic: " + text_of(code),
                "check username=, password-file= and topic-availability=");
}

Status MqttBroker::set_up_tls() {
  KB_TRY(check_file(settings_.ca_file, "ca-file"));
  KB_TRY(check_file(settings_.cert_file, "cert-file"));
  KB_TRY(check_file(settings_.key_file, "key-file"));
  int code = MOSQ_ERR_SUCCESS;
  if (settings_.ca_file.empty()) code = mosquitto_int_option(client_, MOSQ_OPT_TLS_USE_OS_CERTS, 1);
  if (code == MOSQ_ERR_SUCCESS && (!settings_.ca_file.empty() || !settings_.cert_file.empty()))
    code = mosquitto_tls_set(client_, or_null(settings_.ca_file),
                             settings_.ca_file.empty() ? "/etc/ssl/certs" : nullptr,
                             or_null(settings_.cert_file), or_null(settings_.key_file), nullptr);
  if (code == MOSQ_ERR_SUCCESS && !settings_.verify_host)
    code = mosquitto_tls_insecure_set(client_, true);
  if (code == MOSQ_ERR_SUCCESS) return {};
  return reject(ErrorKind::kInvalid, "The files for TLS cannot be used: " + text_of(code),
                "set ca-file=, and both of cert-file= and key-file= or none of them");
}

/// Returns an error with the best reason that is known.
Status MqttBroker::failed(int code) {
  ready_ = false;
  if (!refused_reason_.empty()) return file_error(refused_reason_);
  // The log of libmosquitto is more exact than its codes.
  return file_error(last_log_.empty() ? text_of(code) : last_log_);
}

Status MqttBroker::open(const std::atomic<bool>& stopping) {
  ready_ = false;
  refused_reason_.clear();
  last_log_.clear();
  const BrokerAddress& address = settings_.address;
  // libmosquitto waits minutes for a host that does not answer.
  KB_ASSIGN(const std::string number,
            reachable_address(address.host, address.port, kConnectWithin, stopping));
  const std::string& host = address.tls ? address.host : number;  // certificates have names
  const int code = mosquitto_connect(client_, host.c_str(), address.port, settings_.keep_alive);
  return code == MOSQ_ERR_SUCCESS ? Status() : failed(code);
}

Status MqttBroker::work(int wake, int timeout_ms) {
  const int socket = mosquitto_socket(client_);
  if (socket < 0) return failed(MOSQ_ERR_CONN_LOST);
  const short events = mosquitto_want_write(client_) ? POLLIN | POLLOUT : POLLIN;
  std::array<pollfd, 2> wanted{pollfd{.fd = socket, .events = events, .revents = 0},
                               pollfd{.fd = wake, .events = POLLIN, .revents = 0}};
  poll(wanted.data(), wanted.size(), timeout_ms);
  int code = MOSQ_ERR_SUCCESS;
  if ((wanted[0].revents & ~POLLOUT) != 0) code = mosquitto_loop_read(client_, kMaxPackets);
  if (code == MOSQ_ERR_SUCCESS && mosquitto_want_write(client_))
    code = mosquitto_loop_write(client_, 1);
  if (code == MOSQ_ERR_SUCCESS) code = mosquitto_loop_misc(client_);
  return code == MOSQ_ERR_SUCCESS ? Status() : failed(code);
}

Status MqttBroker::send(const Message& message, uint64_t number) {
  int id = 0;
  early_ = 0;
  const int code = mosquitto_publish(client_, &id, message.topic.c_str(),
                                     static_cast<int>(message.payload.size()),
                                     message.payload.data(), message.qos, message.retain);
  if (code != MOSQ_ERR_SUCCESS) return failed(code);
  if (early_ == id) delivered_.push_back(number);
  else given_[id] = {number, message.qos};
  return {};
}

/// Returns the messages without an answer: libmosquitto forgets them if a connection is lost.
std::vector<uint64_t> MqttBroker::take_back() {
  std::vector<uint64_t> out;
  for (const auto& [id, given] : given_)
    if (given.qos == 0) out.push_back(given.number);
  std::erase_if(given_, [](const auto& each) { return each.second.qos == 0; });
  return out;
}

void MqttBroker::publish_availability(const char* state) {
  if (settings_.availability.empty()) return;
  mosquitto_publish(client_, nullptr, settings_.availability.c_str(),
                    static_cast<int>(std::string_view(state).size()), state, 1, true);
}

void MqttBroker::close(int timeout_ms) {
  if (ready_) {
    // The will is for lost connections: a client that disconnects has to publish its own end.
    publish_availability(kOffline);
    const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
    bool disconnecting = false;
    while (Clock::now() < deadline && mosquitto_socket(client_) >= 0) {
      if (!mosquitto_want_write(client_) && !std::exchange(disconnecting, true))
        mosquitto_disconnect(client_);
      if (!work(-1, 20)) break;
    }
  }
  if (mosquitto_socket(client_) >= 0) mosquitto_disconnect(client_);
}

void MqttBroker::on_connect(mosquitto*, void* self, int code) {
  auto& broker = *static_cast<MqttBroker*>(self);
  broker.ready_ = code == 0;
  if (broker.ready_) broker.publish_availability(kOnline);
  else broker.refused_reason_ = mosquitto_connack_string(code);
}

void MqttBroker::on_disconnect(mosquitto*, void* self, int) {
  static_cast<MqttBroker*>(self)->ready_ = false;
}

void MqttBroker::on_publish(mosquitto*, void* self, int message) {
  auto& broker = *static_cast<MqttBroker*>(self);
  const auto found = broker.given_.find(message);
  if (found == broker.given_.end()) {  // with qos 0 before its number is known, or of availability
    broker.early_ = message;
    return;
  }
  broker.delivered_.push_back(found->second.number);
  broker.given_.erase(found);
}

void MqttBroker::on_log(mosquitto*, void* self, int level, const char* text) {
  if (level == MOSQ_LOG_ERR) static_cast<MqttBroker*>(self)->last_log_ = text;
}

}  // namespace keepbox
