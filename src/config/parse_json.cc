#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <string>

#include "config/node.h"
#include "config/tree_builder.h"

namespace muster::config {
namespace {

using boost::json::error_code;
using boost::json::string_view;

std::string_view std_view(string_view text) { return {text.data(), text.size()}; }

/// Feeds the builder with Boost.JSON's events; a document costs no tree of Boost's own.
class Events {
 public:
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);

  explicit Events(TreeBuilder& builder) : builder_(builder) {}

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_array_begin(error_code& ec) { return go_on(builder_.begin(Node::Kind::List, {}), ec); }
  bool on_array_end(std::size_t, error_code& ec) { return go_on(builder_.end(), ec); }
  bool on_object_begin(error_code& ec) { return go_on(builder_.begin(Node::Kind::Map, {}), ec); }
  bool on_object_end(std::size_t, error_code& ec) { return go_on(builder_.end(), ec); }
  bool on_key_part(string_view s, std::size_t, error_code&) { return append(s); }
  bool on_key(string_view s, std::size_t, error_code& ec) {
    return go_on(builder_.key(whole(s), {}), ec);
  }
  bool on_string_part(string_view s, std::size_t, error_code&) { return append(s); }
  bool on_string(string_view s, std::size_t, error_code& ec) {
    return scalar(Node::Kind::Text, whole(s), ec);
  }
  bool on_number_part(string_view s, error_code&) { return append(s); }
  bool on_int64(std::int64_t, string_view s, error_code& ec) {
    return scalar(Node::Kind::Plain, whole(s), ec);
  }
  bool on_uint64(std::uint64_t, string_view s, error_code& ec) {
    return scalar(Node::Kind::Plain, whole(s), ec);
  }
  bool on_double(double, string_view s, error_code& ec) {
    return scalar(Node::Kind::Plain, whole(s), ec);
  }
  bool on_bool(bool b, error_code& ec) {
    return scalar(Node::Kind::Plain, b ? "true" : "false", ec);
  }
  bool on_null(error_code& ec) { return scalar(Node::Kind::Null, {}, ec); }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

 private:
  bool go_on(bool well, error_code& ec) {
    buffer_.clear();
    if (!well) ec = boost::json::make_error_code(boost::json::error::exception);
    return well;
  }
  bool scalar(Node::Kind kind, std::string_view text, error_code& ec) {
    return go_on(builder_.scalar(kind, text, {}), ec);
  }
  bool append(string_view part) {
    buffer_.append(part.data(), part.size());
    return true;
  }
  std::string_view whole(string_view last) {
    if (buffer_.empty()) return std_view(last);
    append(last);
    return buffer_;
  }

  TreeBuilder& builder_;
  std::string buffer_;
};

Problem syntax_problem(std::string_view text, std::size_t at, const error_code& ec) {
  const std::string_view before = text.substr(0, at);
  const auto lines = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {lines + 1, static_cast<std::uint32_t>(at - line_start + 1), "",
          "not JSON: " + ec.message()};
}

}  // namespace

Parsed parse_json(std::string_view text, const ParseLimits& limits) {
  Parsed parsed;
  if (text.size() > limits.bytes) {
    parsed.problems.push_back(
        {0, 0, "", fmt::format("{} bytes; at most {} are read", text.size(), limits.bytes)});
    return parsed;
  }
  TreeBuilder builder(parsed, limits);
  boost::json::parse_options options;
  options.max_depth = limits.depth + 1;  // the builder's own limit says where
  boost::json::basic_parser<Events> parser(options, builder);
  error_code ec;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && read < text.size()) ec = make_error_code(boost::json::error::extra_data);
  if (ec && parsed.problems.empty()) parsed.problems.push_back(syntax_problem(text, read, ec));
  return parsed;
}

}  // namespace muster::config
