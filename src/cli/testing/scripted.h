// A server that answers what a script says (tests/cli/server.json), and commands run against it in
// this process, with what they write caught.
//
// The script is a list of {ask, status, body} and, for streams, {ask, events: [{id, event, data}]}.
// `ask` is method and path below /api/muster/v1; a query in it must be there in the request, too.
// The first that fits answers; what fits nothing gets a 404 in the form of the contract.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/json.h"
#include "net/http_server.h"

namespace muster::cli::testing {

struct Seen {
  std::string target;  // "POST /jobs?dry_run=true"
  std::string body;
  net::Headers headers;
};

class ScriptedServer {
 public:
  explicit ScriptedServer(json::value script);
  ~ScriptedServer();
  std::string url() const { return server_->url(); }
  std::vector<Seen> seen() const;

 private:
  void answer(const net::Request& request, const net::Responder& responder);
  const json::value script_;
  mutable std::mutex mutex_;
  std::vector<Seen> seen_;  // guarded by mutex_
  std::unique_ptr<net::HttpServer> server_;
};

/// tests/cli/server.json of the source tree, where tests run.
json::value recorded_script();

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

/// A Host that catches output, has no environment but MUSTER_URL, and stands at the moment of the
/// recorded answers.
Host quiet_host(Outcome& outcome, const std::string& url);
/// As the binary would run it. The url in what is written becomes http://SERVER.
Outcome run_command(const std::string& url, std::vector<std::string> words);
Outcome run_command(const Host& host, Outcome& caught, std::vector<std::string> words);

}  // namespace muster::cli::testing
