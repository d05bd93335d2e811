// SPDX-License-Identifier: LGPL-2.1-or-later
// Connects to one address after the other without blocking.
#include "gst/publish/reachable.h"

#include <glib.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "gst/base/fileerror.h"
#include "gst/base/plainfile.h"

namespace keepbox {
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
