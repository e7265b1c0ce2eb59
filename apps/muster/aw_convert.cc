#include "apps/muster/aw_convert.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cli/options.h"
#include "config/node.h"
#include "kube/yaml.h"
#include "manifest/pod_sets.h"
#include "work/wrapped/convert.h"

namespace muster::app {
namespace {

namespace json = boost::json;

struct ConvertOptions {
  std::string file;
  std::string to;
  std::string format = "yaml";
};

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "muster: {}\n", message);
  throw CLI::RuntimeError(1);
}

std::string read_text(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  const std::ifstream in(path, std::ios::binary);
  if (!in) fail(fmt::format("cannot read {}", path));
  text << in.rdbuf();
  return text.str();
}

std::optional<work::Dialect> dialect_of(const std::string& word) {
  if (word.empty()) return std::nullopt;
  return word == "v1beta1" ? work::Dialect::V1beta1 : work::Dialect::V1beta2;
}

/// As people write manifests.
config::Parsed tree_of(const json::value& object) {
  config::Parsed parsed = config::parse_json(json::serialize(object));
  MUSTER_CHECK(parsed.roots.size() == 1, "what was made is no JSON");
  return parsed;
}

void print(const std::vector<work::Converted>& all, const std::string& format) {
  if (format == "yaml") {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const config::Parsed parsed = tree_of(all[i].object);
      fmt::print("{}{}", i == 0 ? "" : "---\n", config::to_yaml(parsed.roots[0]));
    }
    return;
  }
  json::array items;
  for (const work::Converted& one : all) items.push_back(one.object);
  const json::value whole =
      items.size() == 1
          ? items[0]
          : json::value(json::object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}});
  const config::Parsed parsed = tree_of(whole);
  fmt::print("{}\n", config::to_json(parsed.roots[0]));
}

void convert(const ConvertOptions& options) {
  const auto documents = kube::parse_yaml(read_text(options.file));
  if (!documents) fail(fmt::format("{}: {}", options.file, documents.error().message));
  const auto all = work::convert_documents(*documents, dialect_of(options.to));
  if (!all) fail(fmt::format("{}: {}", options.file, all.error().message));
  for (const work::Converted& one : *all) {
    for (const std::string& told : one.told)
      fmt::print(stderr, "{}: {}\n", manifest::title_of(one.object), told);
  }
  print(*all, options.format);
}

}  // namespace

void add_aw_convert(CLI::App& app) {
  CLI::App* command = cli::add_command(
      *app.get_subcommand("aw"), "convert",
      "Print AppWrappers in their other version, and plain objects as AppWrappers");
  command->footer(
      "Examples:\n"
      "  muster aw convert -f mcad.yaml --to v1beta2 | kubectl apply -f -\n"
      "  kubectl get appwrapper train -o yaml | muster aw convert -f -\n"
      "  muster aw convert -f job-and-service.yaml --to v1beta1\n"
      "\n"
      "Objects that are no AppWrappers become one together; a queue of Kueue becomes its queue. "
      "What\n"
      "has no counterpart is told on the standard error.");
  const auto options = std::make_shared<ConvertOptions>();
  cli::add_option(*command, "-f,--file", options->file, "YAML or JSON; -: the standard input")
      ->required();
  cli::add_option(*command, "--to", options->to,
                  "v1beta1 or v1beta2; none: the other one, and v1beta2 of plain objects")
      ->check(CLI::IsMember({"v1beta1", "v1beta2"}));
  cli::add_option(*command, "-o,--output", options->format,
                  "yaml, or json: a List if there are several")
      ->check(CLI::IsMember({"yaml", "json"}))
      ->capture_default_str();
  command->callback([options] { convert(*options); });
}

}  // namespace muster::app
