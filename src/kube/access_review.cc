#include "kube/access_review.h"

#include <boost/json/serialize.hpp>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "kube/json.h"

namespace muster::kube {

namespace {

namespace json = boost::json;

json::value review_of(const Permission& permission) {
  json::value review = json::object();
  set_at(review, {"apiVersion"}, "authorization.k8s.io/v1");
  set_at(review, {"kind"}, "SelfSubjectAccessReview");
  const auto set = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) set_at(review, {"spec", "resourceAttributes", key}, json::string(value));
  };
  set("verb", permission.verb);
  set("group", permission.group);
  set("resource", permission.resource);
  set("subresource", permission.subresource);
  set("namespace", permission.ns);
  set("name", permission.name);
  return review;
}

struct Gathering {
  std::mutex mutex;
  std::vector<Permission> wanted;
  std::vector<bool> is_granted;  // guarded by mutex, as the next two
  std::size_t left = 0;
  std::optional<ApiError> error;
  MissingDone done;

  void take(std::size_t index, const Reply<json::value>& review) {
    {
      const std::lock_guard lock(mutex);
      if (review) is_granted[index] = flag_at(*review, {"status", "allowed"});
      if (!review && !error) error = review.error();
      if (--left > 0) return;
    }
    if (error) return done(*error);
    std::vector<Permission> missing;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!is_granted[i]) missing.push_back(wanted[i]);
    }
    done(std::move(missing));
  }
};

}  // namespace

std::string Permission::to_text() const {
  std::string text = verb + " " + resource;
  if (!group.empty()) text += "." + group;
  if (!subresource.empty()) text += "/" + subresource;
  if (!name.empty()) text += " " + name;
  if (!ns.empty()) text += " in namespace " + ns;
  return text;
}

void missing_permissions_later(Client& client, std::vector<Permission> wanted, MissingDone done) {
  const auto all = std::make_shared<Gathering>();
  all->wanted = std::move(wanted);
  all->is_granted.assign(all->wanted.size(), false);
  all->left = all->wanted.size();
  all->done = std::move(done);
  if (all->left == 0) return all->done(std::vector<Permission>());
  for (std::size_t i = 0; i < all->wanted.size(); ++i) {
    const ApiRequest request{.method = "POST",
                             .path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                             .content_type = "application/json",
                             .body = json::serialize(review_of(all->wanted[i]))};
    client.send_later(request,
                      [all, i](const Reply<json::value>& review) { all->take(i, review); });
  }
}

Reply<std::vector<Permission>> missing_permissions(Client& client, std::vector<Permission> wanted) {
  std::promise<Reply<std::vector<Permission>>> promise;
  missing_permissions_later(client, std::move(wanted), [&](Reply<std::vector<Permission>> missing) {
    promise.set_value(std::move(missing));
  });
  return promise.get_future().get();
}

}  // namespace muster::kube
