#include "net/http.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace muster::net {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

std::string_view found(const QueryMap& map, std::string_view key) {
  const auto it = map.find(key);
  return it == map.end() ? std::string_view{} : std::string_view{it->second};
}

}  // namespace

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool has_token(std::string_view list, std::string_view token) {
  const std::vector<std::string_view> parts = split(list, ',');
  return std::any_of(parts.begin(), parts.end(), [token](std::string_view part) {
    return equals_ignoring_case(trim(part), token);
  });
}

void Headers::add(std::string name, std::string value) {
  items_.push_back({std::move(name), std::move(value)});
}

void Headers::set(std::string_view name, std::string value) {
  erase(name);
  items_.push_back({std::string(name), std::move(value)});
}

void Headers::erase(std::string_view name) {
  std::erase_if(items_,
                [name](const Header& item) { return equals_ignoring_case(item.name, name); });
}

std::string_view Headers::get(std::string_view name) const {
  for (const Header& item : items_) {
    if (equals_ignoring_case(item.name, name)) return item.value;
  }
  return {};
}

bool Headers::has(std::string_view name) const {
  return std::any_of(items_.begin(), items_.end(),
                     [name](const Header& item) { return equals_ignoring_case(item.name, name); });
}

std::string_view Request::param(std::string_view name) const { return found(params, name); }

std::string_view Request::query_value(std::string_view key) const { return found(query, key); }

std::string_view reason_phrase(int status) {
  static const std::map<int, std::string_view> phrases = {
      {100, "Continue"},
      {101, "Switching Protocols"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {422, "Unprocessable Content"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
      {507, "Insufficient Storage"},
  };
  const auto it = phrases.find(status);
  return it == phrases.end() ? "Unknown" : it->second;
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      // Bytes of broken UTF-8 would make the document unreadable; what quotes a request in an
      // error needs no more than to be recognized.
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

Response json_response(int status, Body body) {
  return {status, {{"Content-Type", "application/json"}}, std::move(body)};
}

}  // namespace muster::net
