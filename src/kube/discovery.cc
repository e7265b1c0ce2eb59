#include "kube/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "kube/json.h"

namespace muster::kube {

namespace {

namespace json = boost::json;

std::vector<std::string> texts(const json::value& from, Path keys) {
  std::vector<std::string> found;
  for (const json::value& item : items_at(from, keys)) {
    if (item.is_string()) found.emplace_back(item.get_string());
  }
  return found;
}

bool names(const Resource& resource, std::string_view word) {
  const auto& shorts = resource.short_names;
  return resource.plural == word || resource.singular == word || resource.kind == word ||
         std::find(shorts.begin(), shorts.end(), word) != shorts.end();
}

Resource aggregated(const json::value& from, const std::string& group, const std::string& version) {
  Resource resource;
  resource.group = group;
  resource.version = version;
  resource.plural = text_at(from, {"resource"});
  resource.singular = text_at(from, {"singularResource"});
  resource.kind = text_at(from, {"responseKind", "kind"});
  resource.is_namespaced = text_at(from, {"scope"}) == "Namespaced";
  resource.short_names = texts(from, {"shortNames"});
  resource.verbs = texts(from, {"verbs"});
  resource.categories = texts(from, {"categories"});
  for (const json::value& sub : items_at(from, {"subresources"})) {
    resource.subresources.emplace_back(text_at(sub, {"subresource"}));
  }
  return resource;
}

/// Asks for one document after the other and puts the answers together.
class Collector : public std::enable_shared_from_this<Collector> {
 public:
  Collector(Client& client, DiscoveryDone done, std::shared_ptr<const ApiResources> before)
      : client_(client), done_(std::move(done)), before_(std::move(before)) {}

  void start() {
    ask("/api", [](Collector& self, Reply<json::value> core) {
      if (!core) return self.done_(core.error());
      self.add_root(*core, "/api");
      self.ask("/apis", [](Collector& me, Reply<json::value> groups) {
        if (!groups) return me.done_(groups.error());
        me.add_root(*groups, "/apis");
        me.next_document();
      });
    });
  }

 private:
  using Step = void (*)(Collector&, Reply<json::value>);

  void ask(const std::string& path, Step step) {
    ApiRequest request{.path = path};
    if (path == "/api" || path == "/apis") {
      request.accept =
          "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
          "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
          "application/json";
    }
    client_.send_later(request, [self = shared_from_this(), step](Reply<json::value> reply) {
      step(*self, std::move(reply));
    });
  }

  /// An aggregated document says all; the old form names documents to read.
  void add_root(const json::value& root, const std::string& base) {
    if (text_at(root, {"kind"}) == "APIGroupDiscoveryList") {
      return add(parse_aggregated_discovery(
          root, [this](const std::string& api_version) { return silent(api_version); }));
    }
    for (const json::value& version : items_at(root, {"versions"})) {
      if (version.is_string()) documents_.push_back(base + "/" + std::string(version.get_string()));
    }
    for (const json::value& group : items_at(root, {"groups"})) {
      const std::string preferred(text_at(group, {"preferredVersion", "groupVersion"}));
      if (!preferred.empty()) documents_.push_back(base + "/" + preferred);
      for (const json::value& version : items_at(group, {"versions"})) {
        const std::string name(text_at(version, {"groupVersion"}));
        if (name != preferred) documents_.push_back(base + "/" + name);
      }
    }
  }

  void next_document() {
    if (read_ == documents_.size()) {
      return done_(std::make_shared<const ApiResources>(std::move(found_), std::move(silent_)));
    }
    ask(documents_[read_++], [](Collector& self, Reply<json::value> list) {
      if (!list && list.error().is_cancelled) return self.done_(list.error());
      const std::string& path = self.documents_[self.read_ - 1];
      if (list) self.add(parse_resource_list(*list));
      // What was removed between the two questions is gone; others only do not answer.
      if (!list && !list.error().is_not_found())
        self.add(self.silent(path.substr(path.find('/', 1) + 1)));  // of "/apis/apps/v1"
      self.next_document();
    });
  }

  void add(std::vector<Resource> resources) {
    found_.insert(found_.end(), std::make_move_iterator(resources.begin()),
                  std::make_move_iterator(resources.end()));
  }

  /// Whoever serves it does not answer now: what was there before is taken to be there still.
  std::vector<Resource> silent(const std::string& api_version) {
    silent_.push_back(api_version);
    std::vector<Resource> known;
    if (!before_) return known;
    std::copy_if(before_->all().begin(), before_->all().end(), std::back_inserter(known),
                 [&](const Resource& one) { return one.api_version() == api_version; });
    return known;
  }

  Client& client_;
  DiscoveryDone done_;
  const std::shared_ptr<const ApiResources> before_;
  std::vector<Resource> found_;
  std::vector<std::string> silent_;
  std::vector<std::string> documents_;
  std::size_t read_ = 0;
};

}  // namespace

const Resource* ApiResources::of_kind(std::string_view api_version, std::string_view kind) const {
  const GroupVersion wanted = parse_group_version(api_version);
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Resource& resource) {
    return resource.kind == kind && resource.group == wanted.group &&
           resource.version == wanted.version;
  });
  return found == all_.end() ? nullptr : &*found;
}

const Resource* ApiResources::of_group_kind(std::string_view group, std::string_view kind) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Resource& resource) {
    return resource.kind == kind && resource.group == group;
  });
  return found == all_.end() ? nullptr : &*found;
}

bool ApiResources::is_silent(std::string_view api_version) const {
  return std::find(silent_.begin(), silent_.end(), api_version) != silent_.end();
}

const Resource* ApiResources::of_name(std::string_view name) const {
  const std::string_view word = name.substr(0, name.find('.'));
  const std::string_view rest =
      name.size() > word.size() ? name.substr(word.size() + 1) : std::string_view();
  const auto fits = [&](const Resource& resource) {
    if (!names(resource, word)) return false;
    return rest.empty() || rest == resource.group ||
           rest == resource.version + "." + resource.group;
  };
  const auto found = std::find_if(all_.begin(), all_.end(), fits);
  return found == all_.end() ? nullptr : &*found;
}

std::vector<Resource> parse_aggregated_discovery(const json::value& group_list,
                                                 const InsteadOf& instead) {
  std::vector<Resource> found;
  for (const json::value& group : items_at(group_list, {"items"})) {
    const std::string name(name_of(group));
    for (const json::value& version : items_at(group, {"versions"})) {
      const std::string number(text_at(version, {"version"}));
      const json::array& resources = items_at(version, {"resources"});
      if (instead && resources.empty() && text_at(version, {"freshness"}) == "Stale") {
        std::vector<Resource> others = instead(to_text(GroupVersion{name, number}));
        std::move(others.begin(), others.end(), std::back_inserter(found));
      }
      for (const json::value& item : resources) {
        Resource resource = aggregated(item, name, number);
        if (!resource.plural.empty() && !resource.kind.empty()) {
          found.push_back(std::move(resource));
        }
      }
    }
  }
  return found;
}

std::vector<Resource> parse_resource_list(const json::value& resource_list) {
  const GroupVersion gv = parse_group_version(text_at(resource_list, {"groupVersion"}));
  std::vector<Resource> found;
  std::vector<std::pair<std::string, std::string>> subresources;
  for (const json::value& item : items_at(resource_list, {"resources"})) {
    const std::string name(text_at(item, {"name"}));
    if (const std::size_t slash = name.find('/'); slash != std::string::npos) {
      subresources.emplace_back(name.substr(0, slash), name.substr(slash + 1));
      continue;
    }
    Resource resource;
    resource.group = gv.group;
    resource.version = gv.version;
    resource.plural = name;
    resource.singular = text_at(item, {"singularName"});
    resource.kind = text_at(item, {"kind"});
    resource.is_namespaced = flag_at(item, {"namespaced"});
    resource.short_names = texts(item, {"shortNames"});
    resource.verbs = texts(item, {"verbs"});
    resource.categories = texts(item, {"categories"});
    found.push_back(std::move(resource));
  }
  for (const auto& [plural, sub] : subresources) {
    for (Resource& resource : found) {
      if (resource.plural == plural) resource.subresources.push_back(sub);
    }
  }
  return found;
}

void discover_later(Client& client, DiscoveryDone done,
                    std::shared_ptr<const ApiResources> before) {
  std::make_shared<Collector>(client, std::move(done), std::move(before))->start();
}

// --- the mapper --------------------------------------------------------------------------------

class RestMapper::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(Client& client, Duration pause) : client_(client), pause_(pause) {}

  Client& client() { return client_; }
  std::shared_ptr<const ApiResources> known() const {
    const std::lock_guard lock(mutex_);
    return known_;
  }

  void find(std::string_view api_version, std::string_view kind, Done done) {
    std::unique_lock lock(mutex_);
    const Resource* found = known_ ? known_->of_kind(api_version, kind) : nullptr;
    if (found != nullptr) {
      const Resource copy = *found;
      lock.unlock();
      return done(copy);
    }
    waiting_.push_back({std::string(api_version), std::string(kind), std::move(done)});
    if (std::exchange(is_asking_, true)) return;
    const bool is_first = known_ == nullptr;
    lock.unlock();
    if (is_first) return ask();
    client_.run_after(pause_, [self = shared_from_this()](bool) { self->ask(); });
  }

 private:
  struct Question {
    std::string api_version;
    std::string kind;
    Done done;
  };

  void ask() {
    discover_later(
        client_, [self = shared_from_this()](const auto& found) { self->take(found); }, known());
  }

  void take(const Reply<std::shared_ptr<const ApiResources>>& found) {
    std::vector<Question> waiting;
    {
      const std::lock_guard lock(mutex_);
      if (found) known_ = *found;
      waiting.swap(waiting_);
      is_asking_ = false;
    }
    for (const Question& question : waiting) answer(question, found);
  }

  static void answer(const Question& question,
                     const Reply<std::shared_ptr<const ApiResources>>& found) {
    if (!found) return question.done(found.error());
    const Resource* resource = (*found)->of_kind(question.api_version, question.kind);
    if (resource != nullptr) return question.done(*resource);
    ApiError error;
    error.kind = question.kind;
    if ((*found)->is_silent(question.api_version)) {
      error.code = 503;
      error.reason = "ServiceUnavailable";
      error.message = fmt::format("{}, kind {}: whoever serves it in the cluster does not answer",
                                  question.api_version, question.kind);
      return question.done(error);
    }
    error.code = 404;
    error.reason = "NotFound";
    error.message = fmt::format("{}, kind {}: the cluster does not have it; is its CRD installed?",
                                question.api_version, question.kind);
    question.done(error);
  }

  Client& client_;
  const Duration pause_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ApiResources> known_;  // guarded by mutex_, as all that follows
  std::vector<Question> waiting_;
  bool is_asking_ = false;
};

RestMapper::RestMapper(Client& client, Duration pause)
    : core_(std::make_shared<Core>(client, pause)) {}

std::shared_ptr<const ApiResources> RestMapper::known() const { return core_->known(); }

void RestMapper::find_later(std::string_view api_version, std::string_view kind, Done done) {
  core_->find(api_version, kind, std::move(done));
}

Reply<Resource> RestMapper::find(std::string_view api_version, std::string_view kind) {
  MUSTER_CHECK(!core_->client().is_io_thread(), "a callback must not wait: use find_later");
  std::promise<Reply<Resource>> promise;
  find_later(api_version, kind,
             [&](Reply<Resource> reply) { promise.set_value(std::move(reply)); });
  return promise.get_future().get();
}

}  // namespace muster::kube
