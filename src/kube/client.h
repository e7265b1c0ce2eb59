// A client of one API server. Requests are values (kube/requests.h); answers are JSON as it came.
//
// Threads: one I/O thread a client (its HttpClient's) does everything; callbacks run there and must
// neither wait nor call the blocking functions. All functions may be called from any thread. Every
// callback that was promised has run when the destructor returns, which must not happen on the I/O
// thread. Slow or dead API servers hold up only their own client.
//
// Retries: an answer with Retry-After (429, 503 and others) is waited for and the request sent
// again, a refused credential (401) is renewed once, reads are repeated a few times when the
// connection breaks or the server fails. A write is never repeated unless the server asked for it:
// nobody else can know whether it was done.
//
// Silence: a watch may be quiet for minutes, and a server that hangs, or a network that swallows
// everything, is as quiet. While there are streams or sockets, a client that has heard nothing for
// some seconds asks for the server's version; without any answer the streams end as failed.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kube/access.h"
#include "kube/api_error.h"
#include "kube/credentials.h"
#include "kube/requests.h"
#include "net/websocket.h"

namespace muster::kube {

struct PulseOptions {
  Duration quiet = seconds(5);    // without a byte: then it asks
  Duration timeout = seconds(4);  // of one question
  Duration lost = seconds(12);    // streams end when so long nothing was heard, in spite of asking
  Duration lost_socket = seconds(60);  // and sockets, which nobody can take up again
};

struct ClientOptions {
  std::string user_agent = "muster";
  Duration connect_timeout = seconds(10);
  Duration timeout = seconds(60);         // of one attempt
  int attempts_max = 10;                  // when the server asks for another
  int read_attempts_max = 3;              // of reads, when it fails
  Duration retry_wait_max = seconds(60);  // a longer Retry-After is given to the caller
  std::size_t requests_max = 64;  // under way at once, streams not counted; others wait in line
  CredentialOptions credentials = {};
  PulseOptions pulse = {};
};

class Client {
 public:
  using Json = boost::json::value;
  using Done = std::function<void(Reply<Json>)>;
  using StreamDone = std::function<void(Reply<Ok>)>;
  /// False ends the stream, without an error.
  using OnBytes = std::function<bool(std::string_view)>;

  /// A request under way.
  class Call {
   public:
    /// Ends it soon with an ApiError that is_cancelled; nothing if it is over. Any thread.
    void cancel() const;

   private:
    friend class Client;
    std::weak_ptr<void> state_;
  };

  static Result<std::unique_ptr<Client>> make(const Access& access,
                                              ClientOptions options = ClientOptions());
  ~Client();

  /// As it was made with.
  const Access& access() const;
  /// Other credentials and authorities, from the next request on; streams go on as they are until
  /// they end. Conflict if it is reached elsewhere, or over another proxy, than it was.
  Status renew(const Access& access);

  /// Waits for the answer.
  Reply<Json> send(ApiRequest request);
  /// done is called exactly once, on the I/O thread.
  Call send_later(ApiRequest request, Done done);

  /// An answer without end: a watch, a log. Its bytes come as they are read; on_open, which may be
  /// empty, when the server agreed: a watch may then be quiet for long.
  Call stream_later(ApiRequest request, OnBytes on_bytes, StreamDone done,
                    std::function<void()> on_open = {});
  Reply<Ok> stream(ApiRequest request, OnBytes on_bytes);

  /// exec, attach, port-forward. on_close may carry the server's refusal.
  struct SocketCallbacks {
    /// The socket to write to, and the protocol the server chose.
    std::function<void(const net::WebSocket&, const std::string& protocol)> on_open = {};
    std::function<void(std::string_view message)> on_message = {};
    std::function<void(Reply<net::WebSocketClose>)> on_close = {};
    std::function<void()> on_drained = {};
  };
  Call open_socket(ApiRequest request, std::vector<std::string> protocols,
                   SocketCallbacks callbacks);

  /// Since an answer, of whatever status, or a byte of a stream came; or since it was made.
  Duration unheard_for() const;

  /// Requests that wait in line because so many are under way.
  std::size_t waiting() const;

  /// On the I/O thread after that time; with true, and soon, when the client goes away before.
  void run_after(Duration wait, std::function<void(bool is_stopping)> function);
  bool is_io_thread() const;

 private:
  class Core;
  struct State;
  explicit Client(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace muster::kube
