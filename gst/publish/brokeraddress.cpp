// SPDX-License-Identifier: LGPL-2.1-or-later
// Splits an address into scheme, host and port.
#include "gst/publish/brokeraddress.h"

#include <string_view>

#include "gst/base/words.h"

namespace keepbox {
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

}  // namespace keepbox
