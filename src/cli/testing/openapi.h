// Checks JSON against docs/openapi.json: the part of JSON Schema that the document uses.
#pragma once

#include <string>
#include <vector>

#include "cli/json.h"

namespace muster::cli::testing {

class OpenApi {
 public:
  /// Reads docs/openapi.json of the source tree, where tests run.
  OpenApi();
  /// What is wrong with an answer; empty when it is as promised. `target` is method and path:
  /// "GET /jobs/7".
  std::vector<std::string> check_answer(const std::string& target, int status,
                                        const json::value& body) const;
  /// The same for one event of a stream.
  std::vector<std::string> check_event(const std::string& target, const std::string& type,
                                       const json::value& data) const;
  /// And for what is sent.
  std::vector<std::string> check_request(const std::string& target, const json::value& body) const;

 private:
  const json::value* operation(const std::string& target) const;
  const json::value& resolve(const json::value& schema) const;
  void check(const json::value& schema, const json::value& value, const std::string& path,
             std::vector<std::string>& problems) const;
  void check_object(const json::value& schema, const json::value& value, const std::string& path,
                    std::vector<std::string>& problems) const;

  json::value document_;
};

}  // namespace muster::cli::testing
