#include "config/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "config/job_convert.h"
#include "config/job_fields.h"
#include "config/job_objects.h"

namespace muster::config {
namespace {

/// Names of arrays and the jobs made of them: [first, last).
using Groups = std::unordered_map<std::string, std::pair<std::size_t, std::size_t>>;

std::size_t bytes_of(const Submission& job) {
  std::size_t bytes = 200;  // the rest, roughly
  const auto add = [&](const std::vector<std::string>& argv,
                       const model::Environment& environment) {
    for (const std::string& word : argv) bytes += word.size();
    for (const auto& [name, value] : environment) bytes += name.size() + value.size();
  };
  bytes += job.command.objects.size();
  add(job.command.argv, job.command.environment);
  for (const model::CommandSet& set : job.command.sets) add(set.argv, set.environment);
  for (const model::CommandFile& file : job.command.files)
    bytes += file.path.size() + file.content.size();
  return bytes;
}

/// Reads the documents of one file.
class FileReader {
 public:
  FileReader(JobFile& out, const JobOptions& options)
      : out_(out), options_(options), reader_(out.problems) {}

  void read(const Parsed& parsed) {
    std::vector<const Node*> manifests;
    for (const Node& root : parsed.roots) {
      if (root.is_null()) continue;  // an empty document, as after a last `---`
      if (is_manifest(root)) {
        manifests.push_back(&root);
        continue;
      }
      read_root(root);
      if (stopped_ || reader_.problem_count() > Reader::problems_max) return;
    }
    if (!manifests.empty()) read_manifests(manifests);
    check_settings();
  }
  const Groups& groups() const { return groups_; }

 private:
  /// Plain Kubernetes manifests, of however many documents, are one job.
  void read_manifests(const std::vector<const Node*>& roots) {
    reader_.use(nullptr);
    JobDoc doc;
    const std::size_t before = reader_.problem_count();
    for (const Node* root : roots)
      Codec<RawMap>::read(reader_, *root, doc.objects.emplace_back(), {});
    if (reader_.problem_count() == before)
      add(to_submission(std::move(doc), *roots[0], reader_, options_), *roots[0]);
  }

  void read_root(const Node& root) {
    if (root.kind == Node::Kind::List) {
      read_list(root, nullptr);
      return;
    }
    const Node* jobs = root.find("jobs");
    if (jobs == nullptr) {
      read_job(root, nullptr);
      return;
    }
    ObjectReader keys(reader_, root);
    keys.pass<BatchDocument>();
    keys.finish();
    Scope scope;
    const bool is_template = read_parameters(root, scope);
    const Reader::Step step(reader_, "jobs");
    if (reader_.expect(*jobs, Node::Kind::List, "a list"))
      read_list(*jobs, is_template ? &scope : nullptr);
  }

  void read_list(const Node& list, const Scope* outer) {
    for (std::size_t i = 0; i < list.size && !stopped_; ++i) {
      if (reader_.problem_count() > Reader::problems_max) return;
      const Reader::Step step(reader_, i);
      read_job(list.items()[i], outer);
    }
  }

  void read_job(const Node& node, const Scope* outer) {
    reader_.use(outer);
    const Node* array = node.find("array");
    if (outer == nullptr && array == nullptr && node.find("parameters") == nullptr) {
      read_one(node, {});
      return;
    }
    Scope scope;
    if (outer != nullptr) scope = *outer;
    read_parameters(node, scope);
    reader_.use(&scope);
    if (array == nullptr || array->is_null()) {
      read_one(node, {});
    } else {
      read_array(node, *array, scope);
    }
    reader_.use(nullptr);
  }

  /// Returns whether there are any. Their own text refers to nothing.
  bool read_parameters(const Node& node, Scope& scope) {
    const Node* parameters = node.find("parameters");
    if (parameters == nullptr || parameters->is_null()) return false;
    reader_.use(nullptr);
    const Reader::Step step(reader_, "parameters");
    std::map<std::string, ParameterDoc> known;
    Codec<std::map<std::string, ParameterDoc>>::read(reader_, *parameters, known, {});
    if (parameters->kind != Node::Kind::Map) return false;
    for (const Member& member : parameters->members()) {
      const Reader::Step inner(reader_, member.key);
      declared_.emplace(member.key);
      if (!is_parameter_name(member.key) || member.key == "index")
        reader_.problem(member,
                        "not a name for a value; use letters, digits and _, and not 'index'");
      bind(member, known[std::string(member.key)], scope);
    }
    return true;
  }

  void bind(const Member& at, const ParameterDoc& parameter, Scope& scope) {
    const std::string name(at.key);
    const auto given = options_.set.find(name);
    const bool plain = parameter.type != ParameterType::String;
    if (given == options_.set.end()) {
      if (!parameter.standard)
        reader_.problem(at, fmt::format("has no default: give it with --set {}=VALUE", name));
      scope.set({name, parameter.standard ? parameter.standard->text : "", plain});
      return;
    }
    const std::string& text = given->second;
    if (!fits_type(text, parameter.type)) {
      reader_.problem(at, fmt::format("--set {}={}: not of type {}", name, text.substr(0, 40),
                                      type_word(parameter.type)));
    } else if (!is_choice(parameter, text)) {
      std::vector<std::string_view> words;
      for (const ScalarDoc& choice : parameter.choices) words.push_back(choice.text);
      reader_.problem(at, fmt::format("--set {}={}: not one of {}", name, text.substr(0, 40),
                                      fmt::join(words, ", ")));
    }
    scope.set({name, text, plain});
  }

  void read_array(const Node& node, const Node& array, Scope& scope) {
    ArrayDoc doc;
    const std::size_t before = reader_.problem_count();
    {
      const Reader::Step step(reader_, "array");
      read_object(reader_, array, doc);
      if (reader_.problem_count() == before) check_array(array, doc, scope);
    }
    if (reader_.problem_count() != before) return;
    std::size_t count = doc.count ? static_cast<std::size_t>(*doc.count) : 1;
    for (const AxisDoc& axis : doc.over.axes) count *= axis.size();
    const std::size_t first = out_.jobs.size();
    for (std::size_t index = 0; index < count && !stopped_; ++index) {
      std::size_t rest = index;
      for (auto axis = doc.over.axes.rbegin(); axis != doc.over.axes.rend(); ++axis) {
        const ScalarDoc value = axis->at(rest % axis->size());
        rest /= axis->size();
        scope.set({axis->name, value.text, value.plain});
      }
      scope.set({"index", std::to_string(index), true});
      reader_.use(&scope);
      read_one(node, fmt::format("-{}", index));
      if (reader_.problem_count() != before) return;  // the others have the same problem
    }
    const Node* name = node.find("name");
    if (name != nullptr && name->is_scalar() && !Scope::has_references(name->text))
      groups_.emplace(std::string(name->text), std::pair(first, out_.jobs.size()));
  }

  void check_array(const Node& array, const ArrayDoc& doc, const Scope& scope) {
    if (doc.count.has_value() != doc.over.axes.empty()) {
      reader_.problem(array, "needs either count or over");
      return;
    }
    std::size_t count = doc.count ? static_cast<std::size_t>(*doc.count) : 1;
    for (const AxisDoc& axis : doc.over.axes) {
      if (scope.find(axis.name) != nullptr)
        reader_.problem(array, fmt::format("'{}' is a parameter too", axis.name));
      if (count <= options_.limits.jobs) count *= axis.size();
    }
    if (count > options_.limits.jobs - std::min(options_.limits.jobs, out_.jobs.size()))
      reader_.problem(array, fmt::format("more than {} jobs in all", options_.limits.jobs));
  }

  void read_one(const Node& node, const std::string& suffix) {
    JobDoc doc;
    const std::size_t before = reader_.problem_count();
    ObjectReader from(reader_, node);
    from.read(doc);
    from.pass<TemplateDoc>();
    from.finish();
    if (reader_.problem_count() != before) return;
    const Node* name = node.find("name");
    const bool named_apart = name != nullptr && Scope::has_references(name->text);
    Submission job = to_submission(std::move(doc), node, reader_, options_);
    if (!suffix.empty() && !named_apart) {
      job.spec.name += suffix;
      job.command.name = job.spec.name;
    }
    add(std::move(job), node);
  }
  void add(Submission job, const Node& node) {
    bytes_ += bytes_of(job);
    if (out_.jobs.size() >= options_.limits.jobs) {
      stop(node, fmt::format("more than {} jobs in all", options_.limits.jobs));
    } else if (bytes_ > options_.limits.expanded_bytes) {
      stop(node,
           fmt::format("the jobs are larger than {} bytes in all", options_.limits.expanded_bytes));
    } else {
      out_.jobs.push_back(std::move(job));
    }
  }
  void stop(const Node& node, std::string message) {
    reader_.problem(node, std::move(message));
    stopped_ = true;
  }

  void check_settings() {
    for (const auto& [name, value] : options_.set) {
      if (declared_.contains(name)) continue;
      const std::vector<std::string_view> words(declared_.begin(), declared_.end());
      const std::string near = nearest(name, words);
      out_.problems.push_back(
          {0, 0, "",
           near.empty()
               ? fmt::format("--set {}: no parameter of that name in the file", name)
               : fmt::format("--set {}: no such parameter; did you mean '{}'?", name, near)});
    }
  }

  JobFile& out_;
  const JobOptions& options_;
  Reader reader_;
  Groups groups_;
  std::set<std::string, std::less<>> declared_;
  std::size_t bytes_ = 0;
  bool stopped_ = false;
};

/// Turns names of jobs of the file in depends_on into indexes. Other words are ids.
class Linker {
 public:
  Linker(JobFile& file, const Groups& groups, std::size_t limit)
      : file_(file), groups_(groups), left_(limit) {}

  void run() {
    std::vector<Submission>& jobs = file_.jobs;
    const bool any = std::any_of(jobs.begin(), jobs.end(), [](const Submission& job) {
      return !job.spec.depends_on.empty();
    });
    if (!any) return;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto [at, is_new] = names_.try_emplace(jobs[i].spec.name, i);
      if (!is_new) twice_.insert(jobs[i].spec.name);
    }
    for (std::size_t i = 0; i < jobs.size() && file_.problems.empty(); ++i) link(i);
    if (file_.problems.empty()) check_cycles();
  }

 private:
  void problem(std::size_t job, std::string_view message) {
    const Submission& at = file_.jobs[job];
    file_.problems.push_back({at.line, at.line == 0 ? 0U : 1U, "depends_on",
                              fmt::format("job '{}' {}", at.spec.name, message)});
  }

  void link(std::size_t i) {
    Submission& job = file_.jobs[i];
    std::vector<std::string> ids;
    for (std::string& word : job.spec.depends_on) {
      const auto group = groups_.find(word);
      const auto name = names_.find(word);
      if (group != groups_.end()) {
        for (std::size_t k = group->second.first; k < group->second.second; ++k) add(i, k);
      } else if (name == names_.end()) {
        ids.push_back(std::move(word));
      } else if (twice_.contains(word)) {
        problem(i, fmt::format("names '{}', and two jobs of the file are called so", word));
      } else {
        add(i, name->second);
      }
    }
    job.spec.depends_on = std::move(ids);
    std::sort(job.after.begin(), job.after.end());
    job.after.erase(std::unique(job.after.begin(), job.after.end()), job.after.end());
  }

  void add(std::size_t job, std::size_t on) {
    if (left_ == 0) {
      if (file_.problems.empty()) problem(job, "has one dependency too many for a file");
      return;
    }
    --left_;
    if (job == on)
      problem(job, "cannot wait for itself");
    else
      file_.jobs[job].after.push_back(on);
  }

  /// Jobs whose dependencies are all met go; what is left waits in a circle.
  void check_cycles() {
    const std::vector<Submission>& jobs = file_.jobs;
    std::vector<std::size_t> missing(jobs.size());
    std::vector<std::vector<std::size_t>> waiting(jobs.size());
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      missing[i] = jobs[i].after.size();
      if (missing[i] == 0) ready.push_back(i);
      for (const std::size_t on : jobs[i].after) waiting[on].push_back(i);
    }
    std::size_t done = 0;
    for (; done < ready.size(); ++done) {
      for (const std::size_t next : waiting[ready[done]]) {
        if (--missing[next] == 0) ready.push_back(next);
      }
    }
    for (std::size_t i = 0; i < jobs.size() && done < jobs.size(); ++i) {
      if (missing[i] == 0) continue;
      problem(i, "waits, through others, for itself");
      return;
    }
  }

  JobFile& file_;
  const Groups& groups_;
  std::size_t left_;
  std::unordered_map<std::string, std::size_t> names_;
  std::set<std::string, std::less<>> twice_;
};

JobFile read_parsed(Parsed parsed, const JobOptions& options) {
  JobFile file;
  file.problems = std::move(parsed.problems);
  FileReader reader(file, options);
  reader.read(parsed);
  if (file.problems.empty()) {
    if (file.jobs.empty()) {
      file.problems.push_back({0, 0, "", "no job in it"});
    } else {
      Linker(file, reader.groups(), options.limits.dependencies).run();
    }
  }
  sort_by_place(file.problems);
  if (!file.ok()) file.jobs.clear();
  return file;
}

}  // namespace

JobFile read_job_file(std::string_view yaml, const JobOptions& options) {
  return read_parsed(parse_yaml(yaml, {.bytes = options.limits.bytes}), options);
}

JobFile read_job_json(std::string_view json, const JobOptions& options) {
  return read_parsed(parse_json(json, {.bytes = options.limits.bytes}), options);
}

void give_ids(std::vector<Submission>& jobs, std::span<const std::string> ids) {
  MUSTER_CHECK(jobs.size() == ids.size(), "{} ids for {} jobs", ids.size(), jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].spec.id = ids[i];
    for (const std::size_t on : jobs[i].after) jobs[i].spec.depends_on.push_back(ids[on]);
    jobs[i].after.clear();
  }
}

void complete_command(Submission& job) {
  const std::vector<model::PodSet>& sets = job.spec.gang.sets;
  for (std::size_t i = 0; i < job.command.sets.size(); ++i) job.command.sets[i].pod = sets[i].pod;
  job.command.pool = job.spec.gang.pool;
}

std::string to_yaml(const Submission& job) {
  Tree tree;
  Writer writer{tree};
  return to_yaml(write_object(writer, document_of(job)));
}

std::string to_json(const Submission& job) {
  Tree tree;
  Writer writer{tree};
  return to_json(write_object(writer, document_of(job)), JsonStyle::Compact);
}

std::string job_schema() {
  Tree tree;
  Schema schema(tree, Schema::References::Yes);
  const Node job = object_schema<JobDocument>(schema);
  const Node batch = object_schema<BatchDocument>(schema);
  return to_json(schema.document(schema.any_of({job, batch, schema.list(job)}), "Muster job file"));
}

Result<std::pair<std::string, std::string>> parse_setting(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (equals == std::string_view::npos || !is_parameter_name(name))
    return invalid(fmt::format("--set {}: write --set name=value", text.substr(0, 60)));
  return std::pair(std::string(name), std::string(text.substr(equals + 1)));
}

}  // namespace muster::config
