// Which kind of file is it?
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/read_kueue.h"
#include "sim/read_traces.h"
#include "sim/workload.h"

namespace muster::sim {
namespace {

Result<std::string> slurp(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return invalid(fmt::format("{}: is a folder; name a file in it", path));
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{Fault::NotFound, fmt::format("{}: cannot be read", path)};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

Result<Workload> read_workload(const std::string& path, const ReadOptions& options) {
  const std::filesystem::path file(path);
  const std::string kind = file.extension().string();
  auto text = slurp(path);
  if (!text) return text.error();
  if (kind == ".yaml" || kind == ".yml") return read_kueue(*text, path);
  if (kind == ".trace") return read_gavel(*text, path, options.gpus, {}, options.first_jobs);
  if (kind != ".csv") {
    return invalid(
        fmt::format("{}: unknown kind of file; expected .yaml (Kueue generator), .csv (openb pod "
                    "list) or .trace (philly-gavel)",
                    path));
  }
  if (text->starts_with("sn,")) {
    return invalid(
        fmt::format("{}:1: this is a node list; give the pod list, and this with --nodes", path));
  }
  const std::string beside = (file.parent_path() / "openb_node_list_gpu_node.csv").string();
  const std::string nodes = options.nodes_file.empty() ? beside : options.nodes_file;
  auto node_text = slurp(nodes);
  if (!node_text) {
    return Error{Fault::NotFound,
                 fmt::format("{}: cannot be read; name the node list with --nodes", nodes)};
  }
  return read_openb({std::move(*text), path, std::move(*node_text), nodes});
}

}  // namespace muster::sim
