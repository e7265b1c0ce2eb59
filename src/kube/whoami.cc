#include "kube/whoami.h"

#include <future>
#include <utility>

#include "kube/json.h"

namespace muster::kube {

namespace {

namespace json = boost::json;

ApiRequest self_review() {
  return {.method = "POST",
          .path = "/apis/authentication.k8s.io/v1/selfsubjectreviews",
          .content_type = "application/json",
          .body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})"};
}

}  // namespace

void whoami_later(Client& client, std::function<void(Whoami)> done) {
  client.send_later(ApiRequest{.path = "/version"}, [&client, done = std::move(done)](
                                                        const Reply<json::value>& version) {
    Whoami found;
    if (version) found.version = text_at(*version, {"gitVersion"});
    client.send_later(self_review(), [found, done](const Reply<json::value>& review) mutable {
      if (review) found.user = text_at(*review, {"status", "userInfo", "username"});
      done(std::move(found));
    });
  });
}

Whoami whoami(Client& client) {
  std::promise<Whoami> promise;
  whoami_later(client, [&](Whoami found) { promise.set_value(std::move(found)); });
  return promise.get_future().get();
}

}  // namespace muster::kube
