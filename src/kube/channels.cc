#include "kube/channels.h"

#include <boost/json/parse.hpp>

#include "base/text.h"
#include "kube/json.h"

namespace muster::kube {

namespace json = boost::json;

ApiRequest exec_request(const ExecOptions& options) {
  ApiRequest request = get_request(resources::pods(), options.ns, options.pod, "exec");
  const auto add = [&](std::string_view key, std::string_view value) {
    request.query.emplace_back(key, value);
  };
  for (const std::string& word : options.command) add("command", word);
  if (!options.container.empty()) add("container", options.container);
  add("stdout", "true");
  if (options.has_stdin) add("stdin", "true");
  if (options.has_tty) add("tty", "true");
  if (!options.has_tty) add("stderr", "true");
  request.accept = "*/*";
  return request;
}

ApiRequest port_forward_request(std::string_view ns, std::string_view pod, std::uint16_t port) {
  ApiRequest request = get_request(resources::pods(), ns, pod, "portforward");
  request.query.emplace_back("ports", std::to_string(port));
  request.accept = "*/*";
  return request;
}

Reply<int> exit_code_of(std::string_view status_json) {
  json::error_code wrong;
  const json::value status = json::parse(status_json, wrong);
  if (wrong || text_at(status, {"status"}).empty()) {  // the Status comes without its kind
    // The old form is a plain sentence.
    ApiError error;
    error.message = trim(status_json);
    return error;
  }
  if (text_at(status, {"status"}) == "Success") return 0;
  ApiError error = api_error_of(status);
  if (error.reason != "NonZeroExitCode") return error;
  for (const ApiError::Cause& cause : error.causes) {
    if (cause.reason != "ExitCode") continue;
    if (const auto code = parse_int(cause.message, "ExitCode", -1, 0x7fffffff)) {
      return static_cast<int>(*code);
    }
  }
  return error;
}

}  // namespace muster::kube
