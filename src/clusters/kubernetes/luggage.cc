#include "clusters/kubernetes/luggage.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <memory>
#include <utility>

#include "clusters/kubernetes/listed_objects.h"
#include "clusters/kubernetes/names.h"
#include "kube/json.h"
#include "kube/requests.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::Reply;
using kube::text_at;

constexpr int tries_most = 5;  // when others write at the same time
constexpr std::string_view contents[] = {"data", "binaryData"};

kube::Resource resource_of(const model::NamedObject& what) {
  switch (what.kind) {
    case model::NamedObject::Kind::Secret:
      return kube::resources::secrets();
    case model::NamedObject::Kind::ConfigMap:
      return kube::resources::config_maps();
    case model::NamedObject::Kind::ServiceAccount:
      return kube::resources::service_accounts();
    case model::NamedObject::Kind::VolumeClaim:
      break;
  }
  return kube::resources::persistent_volume_claims();
}

bool is_ours(const json::value& there, const json::value& ours) {
  return text_at(there, {"metadata", "labels", travelled_label}) == "true" &&
         text_at(there, {"metadata", "labels", server_label}) ==
             text_at(ours, {"metadata", "labels", server_label});
}

bool is_owned_by(const json::value& object, const json::value& root) {
  const json::array& owners = kube::items_at(object, {"metadata", "ownerReferences"});
  return std::any_of(owners.begin(), owners.end(), [&](const json::value& owner) {
    return text_at(owner, {"uid"}) == kube::uid_of(root);
  });
}

/// Nothing of it differs from what would be made now.
bool is_up_to_date(const json::value& there, const json::value& ours, const json::value& root) {
  const auto is_same = [&](std::string_view key) {
    return kube::map_at(there, {key}) == kube::map_at(ours, {key});
  };
  return is_owned_by(there, root) && std::all_of(std::begin(contents), std::end(contents), is_same);
}

/// What is there, with what the hub has now, and one more owner.
json::value renewed(json::value there, const json::value& ours, const json::value& root) {
  for (const std::string_view key : contents) {
    const json::value* held = kube::find(ours, {key});
    if (held == nullptr) there.as_object().erase(key);
    if (held != nullptr) there.as_object()[key] = *held;
  }
  if (!is_owned_by(there, root)) put_owner(there, root);
  return there;
}

class Carrying : public std::enable_shared_from_this<Carrying> {
 public:
  Carrying(kube::Client& client, std::vector<ports::Luggage::Piece> pieces, json::value root,
           OnCarried done)
      : client_(client),
        pieces_(std::move(pieces)),
        root_(std::move(root)),
        done_(std::move(done)) {}

  void next() {
    tries_ = 0;
    if (++at_ == pieces_.size()) return done_(std::move(notes_));
    if (piece().object.empty()) return look_for();
    object_ = luggage_object(piece(), root_);
    create();
  }

 private:
  const ports::Luggage::Piece& piece() const { return pieces_[at_]; }
  std::string_view ns() const { return kube::namespace_of(root_); }
  void note(std::string message) {
    notes_.push_back({to_text(piece().what), std::move(message)});
    next();
  }

  /// The hub has none of that name, or keeps it. It may have been made here by hand.
  void look_for() {
    if (piece().what.is_optional) return next();
    client_.send_later(kube::get_request(resource_of(piece().what), ns(), piece().what.name),
                       [self = shared_from_this()](const Reply<json::value>& there) {
                         if (there || there.error().is_forbidden()) return self->next();
                         if (!there.error().is_not_found()) return self->done_(there.error());
                         kube::ApiError missing = there.error();
                         missing.message = self->missing_words();
                         self->done_(std::move(missing));
                       });
  }

  std::string missing_words() const {
    const std::string what = to_text(piece().what);
    if (piece().stays.empty())
      return fmt::format(
          "{}, which its pods name, is neither in namespace {} of the hub nor in that of this "
          "cluster",
          what, ns());
    return fmt::format("{}, which its pods name, is not in namespace {} of this cluster: {}", what,
                       ns(), piece().stays);
  }

  void create() {
    client_.send_later(kube::create_request(resource_of(piece().what), ns(), object_,
                                            {.field_manager = field_manager}),
                       [self = shared_from_this()](const Reply<json::value>& made) {
                         if (made) return self->next();
                         if (!made.error().is_already_exists()) return self->done_(made.error());
                         self->meet();
                       });
  }

  void meet() {
    client_.send_later(
        kube::get_request(resource_of(piece().what), ns(), piece().what.name),
        [self = shared_from_this()](const Reply<json::value>& there) {
          if (!there && there.error().is_not_found()) return self->try_again(there.error());
          if (!there && !there.error().is_forbidden()) return self->done_(there.error());
          if (!there || !is_ours(*there, self->object_))
            return self->note(
                "there is one already that is not Muster's: it is left as it is, and "
                "used instead of the hub's");
          if (is_up_to_date(*there, self->object_, self->root_)) return self->next();
          self->renew(*there);
        });
  }

  void renew(const json::value& there) {
    client_.send_later(
        kube::replace_request(resource_of(piece().what), ns(), piece().what.name,
                              renewed(there, object_, root_), {.field_manager = field_manager}),
        [self = shared_from_this()](const Reply<json::value>& put) {
          if (put) return self->next();
          const bool is_stale = put.error().is_conflict() || put.error().is_not_found();
          if (is_stale) return self->try_again(put.error());
          self->done_(put.error());
        });
  }

  /// It went, or others wrote, in between.
  void try_again(const kube::ApiError& error) {
    if (++tries_ < tries_most) return create();
    kube::ApiError busy = error;
    busy.code = 409;  // a conflict: whoever asks again is served
    done_(std::move(busy));
  }

  kube::Client& client_;
  const std::vector<ports::Luggage::Piece> pieces_;
  const json::value root_;
  const OnCarried done_;
  std::size_t at_ = static_cast<std::size_t>(-1);
  int tries_ = 0;
  json::value object_;
  std::vector<LuggageNote> notes_;
};

}  // namespace

json::value luggage_object(const ports::Luggage::Piece& piece, const json::value& made_root) {
  json::error_code wrong;
  const json::value from = json::parse(piece.object, wrong);
  const bool is_secret = piece.what.kind == model::NamedObject::Kind::Secret;
  json::value made = json::object();
  kube::set_at(made, {"apiVersion"}, "v1");
  kube::set_at(made, {"kind"}, json::string(to_text(piece.what.kind)));
  kube::set_at(made, {"metadata", "name"}, json::string(piece.what.name));
  kube::set_at(made, {"metadata", "namespace"}, json::string(kube::namespace_of(made_root)));
  kube::set_at(made, {"metadata", "labels", travelled_label}, "true");
  const auto server = text_at(made_root, {"metadata", "labels", server_label});
  if (!server.empty())
    kube::set_at(made, {"metadata", "labels", server_label}, json::string(server));
  if (is_secret && !text_at(from, {"type"}).empty())
    kube::set_at(made, {"type"}, json::string(text_at(from, {"type"})));
  for (const std::string_view key : contents) {
    if (const json::value* held = kube::find(from, {key})) kube::set_at(made, {key}, *held);
  }
  // Of an account no more than the wish to have no token: nobody's Secrets, and no rights.
  if (piece.what.kind == model::NamedObject::Kind::ServiceAccount &&
      !kube::flag_at(from, {"automountServiceAccountToken"}, true))
    kube::set_at(made, {"automountServiceAccountToken"}, false);
  put_owner(made, made_root);
  return made;
}

void carry(kube::Client& client, std::vector<ports::Luggage::Piece> pieces,
           const json::value& made_root, OnCarried done) {
  std::make_shared<Carrying>(client, std::move(pieces), made_root, std::move(done))->next();
}

}  // namespace muster::clusters
