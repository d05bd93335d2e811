// SPDX-License-Identifier: LGPL-2.1-or-later
// Drives libmosquitto from one thread.
#include "gst/publish/mqttclient.h"

#include <glib.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <string_view>
#include <utility>

#include "core/base/infile.h"
#include "core/base/text.h"

namespace keepbox {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kConnectWithin = 10s;      // per address
constexpr auto kAnswerWithin = 10s;       // of a session that is cleaned
constexpr unsigned kInFlight = 20;        // messages without an answer
constexpr int kMaxPackets = 100;          // that are read at once
constexpr size_t kMaxRetained = 10'000;   // messages
constexpr size_t kMaxTopicBytes = 65535;  // its length has 16 bits
constexpr size_t kMaxKeyBytes = size_t{1} << 20;
constexpr const char* kOnline = "online";
constexpr const char* kOffline = "offline";

void init_library() {
  static std::once_flag once;
  std::call_once(once, mosquitto_lib_init);
}

std::string text_of(int code) {
  std::string out = code == MOSQ_ERR_ERRNO ? g_strerror(errno) : mosquitto_strerror(code);
  if (out.ends_with('.')) out.pop_back();
  return out;
}

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

Status check_file(const std::string& path, const char* property) {
  if (path.empty()) return {};
  KB_TRY(open_plain(path, "set " + std::string(property) + "= to a readable file"));
  return {};
}

/// Fails for a key that OpenSSL would ask for a pass phrase.
Status check_key(const std::string& path) {
  if (path.empty()) return {};
  KB_ASSIGN(const std::string text,
            read_text(path, kMaxKeyBytes, "set key-file= to a readable file with a private key"));
  if (!text.contains("BEGIN ENCRYPTED PRIVATE KEY") && !text.contains("Proc-Type: 4,ENCRYPTED"))
    return {};
  return reject(ErrorKind::kInvalid, "key-file=" + path + " is protected by a pass phrase",
                "remove it with openssl pkey -in KEY -out NEW, set key-file= to the new file, and "
                "let nobody else read that");
}

/// Refuses to ask for a pass phrase, because nothing may wait for a terminal.
int no_pass_phrase(char*, int, int, void*) { return -1; }

/// True if an error is that of a message, not of the connection.
bool is_of_message(int code) {
  switch (code) {
    case MOSQ_ERR_INVAL:
    case MOSQ_ERR_MALFORMED_UTF8:
    case MOSQ_ERR_NOT_SUPPORTED:
    case MOSQ_ERR_OVERSIZE_PACKET:
    case MOSQ_ERR_PAYLOAD_SIZE:
    case MOSQ_ERR_QOS_NOT_SUPPORTED:
    case MOSQ_ERR_RETAIN_NOT_SUPPORTED: return true;
    default: return false;
  }
}

}  // namespace

MqttClient::MqttClient(const MqttSettings& settings, bool clean)
    : settings_(settings), clean_(clean) {
  init_library();
  client_ = mosquitto_new(or_null(settings.client_id), !settings.has_session() || clean, this);
}

MqttClient::~MqttClient() { mosquitto_destroy(client_); }

Result<std::unique_ptr<MqttClient>> MqttClient::make(const MqttSettings& settings, bool clean) {
  std::unique_ptr<MqttClient> out(new MqttClient(settings, clean));
  if (out->client_ == nullptr)
    return reject(ErrorKind::kInvalid,
                  "client-id=" + settings.client_id + " is invalid: " + g_strerror(errno),
                  "set client-id= to UTF-8 text");
  KB_TRY(out->set_up());
  if (settings.address.tls) KB_TRY(out->set_up_tls());
  return out;
}

Status MqttClient::set_up() {
  mosquitto_connect_callback_set(client_, on_connect);
  mosquitto_disconnect_callback_set(client_, on_disconnect);
  mosquitto_publish_callback_set(client_, on_publish);
  mosquitto_subscribe_callback_set(client_, on_subscribe);
  mosquitto_message_callback_set(client_, on_message);
  mosquitto_log_callback_set(client_, on_log);
  mosquitto_max_inflight_messages_set(client_, kInFlight);
  mosquitto_int_option(client_, MOSQ_OPT_TCP_NODELAY, 1);
  int code = MOSQ_ERR_SUCCESS;
  if (!settings_.username.empty() || !settings_.password.empty())
    code =
        mosquitto_username_pw_set(client_, settings_.username.c_str(), or_null(settings_.password));
  if (code == MOSQ_ERR_SUCCESS && !settings_.availability.empty() && !clean_)
    code =
        mosquitto_will_set(client_, settings_.availability.c_str(),
                           static_cast<int>(std::string_view(kOffline).size()), kOffline, 1, true);
  if (code == MOSQ_ERR_SUCCESS) return {};
  return reject(ErrorKind::kInvalid,
                "MQTT does not allow this user name, password or topic: " + text_of(code),
                "check username=, password-file= and topic-availability=");
}

Status MqttClient::set_up_tls() {
  KB_TRY(check_file(settings_.ca_file, "ca-file"));
  KB_TRY(check_file(settings_.cert_file, "cert-file"));
  KB_TRY(check_key(settings_.key_file));
  int code = MOSQ_ERR_SUCCESS;
  if (settings_.ca_file.empty()) code = mosquitto_int_option(client_, MOSQ_OPT_TLS_USE_OS_CERTS, 1);
  if (code == MOSQ_ERR_SUCCESS && (!settings_.ca_file.empty() || !settings_.cert_file.empty()))
    code = mosquitto_tls_set(
        client_, or_null(settings_.ca_file), settings_.ca_file.empty() ? "/etc/ssl/certs" : nullptr,
        or_null(settings_.cert_file), or_null(settings_.key_file), no_pass_phrase);
  if (code == MOSQ_ERR_SUCCESS && !settings_.verify_host)
    code = mosquitto_tls_insecure_set(client_, true);
  if (code == MOSQ_ERR_SUCCESS) return {};
  return reject(ErrorKind::kInvalid, "The files for TLS cannot be used: " + text_of(code),
                "set ca-file=, and both of cert-file= and key-file= or none of them");
}

/// Returns an error with the best reason that is known.
Status MqttClient::failed(int code) {
  ready = false;
  if (!refused_reason_.empty()) return file_error(refused_reason_);
  // The log of libmosquitto is more exact than its codes.
  return file_error(last_log_.empty() ? text_of(code) : last_log_);
}

Status MqttClient::connect_to(const std::string& host) {
  ready = false;
  granted = -1;
  refused_reason_.clear();
  last_log_.clear();
  const int code =
      mosquitto_connect(client_, host.c_str(), settings_.address.port, settings_.keep_alive);
  return code == MOSQ_ERR_SUCCESS ? Status() : failed(code);
}

Status MqttClient::connect(const std::atomic<bool>& left) {
  const BrokerAddress& address = settings_.address;
  // libmosquitto waits minutes for a host that does not answer.
  KB_ASSIGN(const std::string number,
            reachable_address(address.host, address.port, kConnectWithin, left));
  const Status connected = connect_to(address.tls ? address.host : number);  // of certificates
  if (left) mosquitto_disconnect(client_);  // nobody is there to keep the connection
  return connected;
}

Status MqttClient::clean_session(const std::atomic<bool>& left) {
  KB_TRY(connect(left));
  for (const auto until = Clock::now() + kAnswerWithin; !ready && !left;) {
    KB_TRY(work(-1, 100));
    if (Clock::now() >= until) return file_error("no answer");
  }
  disconnect(static_cast<int>(kAnswerWithin / 1ms));
  return {};
}

Status MqttClient::work(int wake, int timeout_ms) {
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

Status MqttClient::send(const Message& message, uint64_t number) {
  int id = 0;
  early_ = 0;
  if (message.topic.size() > kMaxTopicBytes)
    return reject(ErrorKind::kInvalid, "the topic has " + std::to_string(message.topic.size()) +
                                           " bytes, and MQTT allows " +
                                           std::to_string(kMaxTopicBytes));
  const int code = mosquitto_publish(client_, &id, message.topic.c_str(),
                                     static_cast<int>(message.payload.size()),
                                     message.payload.data(), message.qos, message.retain);
  if (is_of_message(code)) return reject(ErrorKind::kInvalid, text_of(code));
  if (code != MOSQ_ERR_SUCCESS) {
    const Status status = failed(code);
    // With these, libmosquitto has the message, and sends it again after the next connection.
    if (message.qos == 0 || id == 0 || code == MOSQ_ERR_NOMEM) return status;
  }
  if (early_ == id) delivered.push_back(number);
  else given[id] = {number, message.qos};
  return {};
}

void MqttClient::publish_state(const std::string& topic, const std::string& state) {
  int id = 0;
  if (!topic.empty() &&
      mosquitto_publish(client_, &id, topic.c_str(), static_cast<int>(state.size()), state.data(),
                        1, true) == MOSQ_ERR_SUCCESS)
    states_.insert(id);
}

/// Waits for the answers to states, because a socket that is closed with unread bytes resets the
/// connection, and the broker may publish the will then.
void MqttClient::disconnect(int timeout_ms) {
  if (ready) {
    // The will is for lost connections: a client that disconnects has to publish its own end.
    if (!clean_) publish_state(settings_.availability, kOffline);
    const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
    bool disconnecting = false;
    while (Clock::now() < deadline && mosquitto_socket(client_) >= 0) {
      if (!mosquitto_want_write(client_) && states_.empty() && !std::exchange(disconnecting, true))
        mosquitto_disconnect(client_);
      if (!work(-1, 20)) break;
    }
  }
  if (mosquitto_socket(client_) >= 0) mosquitto_disconnect(client_);
}

Status MqttClient::subscribe(const std::string& topics) {
  granted = -1;
  const int code = mosquitto_subscribe(client_, nullptr, topics.c_str(), 0);
  if (is_of_message(code)) return reject(ErrorKind::kInvalid, text_of(code));
  return code == MOSQ_ERR_SUCCESS ? Status() : failed(code);
}

void MqttClient::unsubscribe(const std::string& topics) {
  mosquitto_unsubscribe(client_, nullptr, topics.c_str());
}

void MqttClient::on_connect(mosquitto*, void* self, int code) {
  auto& client = *static_cast<MqttClient*>(self);
  client.ready = code == 0;
  if (!client.ready) client.refused_reason_ = mosquitto_connack_string(code);
  else if (!client.clean_) client.publish_state(client.settings_.availability, kOnline);
}

void MqttClient::on_disconnect(mosquitto*, void* self, int) {
  static_cast<MqttClient*>(self)->ready = false;
}

void MqttClient::on_publish(mosquitto*, void* self, int message) {
  auto& client = *static_cast<MqttClient*>(self);
  if (client.states_.erase(message) != 0) return;
  const auto found = client.given.find(message);
  if (found == client.given.end()) {  // with qos 0 before its number is known
    client.early_ = message;
    return;
  }
  client.delivered.push_back(found->second.number);
  client.given.erase(found);
}

void MqttClient::on_subscribe(mosquitto*, void* self, int, int count, const int* granted) {
  static_cast<MqttClient*>(self)->granted = count > 0 ? granted[0] : 0;
}

void MqttClient::on_message(mosquitto*, void* self, const mosquitto_message* message) {
  auto& all = static_cast<MqttClient*>(self)->retained;
  if (!message->retain || all.size() >= kMaxRetained) return;
  all.push_back({.topic = message->topic,
                 .payload = {static_cast<const char*>(message->payload),
                             static_cast<size_t>(message->payloadlen)}});
}

void MqttClient::on_log(mosquitto*, void* self, int level, const char* text) {
  if (level != MOSQ_LOG_ERR) return;
  static_cast<MqttClient*>(self)->last_log_ = trimmed(text);
}

namespace {

constexpr int kPlainPort = 1883, kTlsPort = 8883, kHighestPort = 65535;

/// Rejects an address, without a user and a password that it may have.
std::unexpected<Error> wrong(const std::string& text) {
  const size_t at = text.rfind('@'), scheme = text.find("://");
  std::string shown = text;
  if (at != text.npos)
    shown = (scheme < at ? text.substr(0, scheme + 3) : std::string()) + "..." + text.substr(at);
  if (const size_t query = shown.find_first_of("?#"); query != shown.npos)
    shown = shown.substr(0, query + 1) + "...";
  return reject(ErrorKind::kInvalid, "address=" + shown + " is not the address of a broker",
                std::string("set address= to HOST, HOST:PORT, mqtt://HOST:PORT or "
                            "mqtts://HOST:PORT") +
                    (at != text.npos ? ", and the user by username= and password-file=" : ""));
}

}  // namespace

Result<BrokerAddress> BrokerAddress::parse(const std::string& text) {
  BrokerAddress out;
  std::string_view rest = trimmed(text);
  if (const size_t end = rest.find("://"); end != rest.npos) {
    const std::string_view scheme = rest.substr(0, end);
    if (scheme != "mqtt" && scheme != "mqtts") return wrong(text);
    out.tls = scheme == "mqtts";
    rest.remove_prefix(end + 3);
  }
  out.port = out.tls ? kTlsPort : kPlainPort;
  const bool bracket = rest.starts_with('[');
  const size_t end = bracket ? rest.find(']') : rest.find(':');
  if (bracket && end == rest.npos) return wrong(text);
  out.host = rest.substr(bracket, end == rest.npos ? end : end - bracket);
  rest = end == rest.npos ? std::string_view() : rest.substr(end + bracket);
  if (out.host.empty() || out.host.find_first_of(" /@?#") != out.host.npos) return wrong(text);
  if (rest.empty()) return out;
  if (!rest.starts_with(':') || !keepbox::parse(rest.substr(1), out.port) || out.port < 1 ||
      out.port > kHighestPort)
    return wrong(text);
  return out;
}

std::string BrokerAddress::text() const {
  const bool bracket = host.find(':') != host.npos;
  return (bracket ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSlice = 100;  // milliseconds between two checks of `stopping`

/// Waits for a connection that was begun. @return 0, or errno; ECANCELED if it is to stop.
int finish_connecting(int socket, Clock::time_point deadline, const std::atomic<bool>& stopping) {
  pollfd wanted{.fd = socket, .events = POLLOUT, .revents = 0};
  while (!stopping && Clock::now() < deadline) {
    if (poll(&wanted, 1, kSlice) <= 0) continue;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
  }
  return stopping ? ECANCELED : ETIMEDOUT;
}

int try_address(const addrinfo& address, Clock::time_point deadline,
                const std::atomic<bool>& stopping) {
  const Descriptor socket(
      ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
  if (!socket) return errno;
  if (connect(socket.number(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  return errno == EINPROGRESS ? finish_connecting(socket.number(), deadline, stopping) : errno;
}

}  // namespace

Result<std::string> reachable_address(const std::string& host, int port,
                                      std::chrono::milliseconds within,
                                      const std::atomic<bool>& stopping) {
  const auto unreachable = [&](const char* why) { return file_error(why); };
  addrinfo* found = nullptr;
  const addrinfo hints{
      .ai_flags = AI_ADDRCONFIG, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) return unreachable(gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  int error = ENOENT;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    error = try_address(*at, Clock::now() + within, stopping);
    if (error == ECANCELED)
      return reject(ErrorKind::kInterrupted, "The connection was interrupted");
    std::array<char, NI_MAXHOST> number{};
    if (error == 0 && getnameinfo(at->ai_addr, at->ai_addrlen, number.data(), number.size(),
                                  nullptr, 0, NI_NUMERICHOST) == 0)
      return std::string(number.data());
  }
  return unreachable(g_strerror(error));
}

}  // namespace keepbox
