#include "kube/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>

#include "kube/json.h"
#include "kube/list.h"
#include "kube/testing/folder.h"
#include "kube/testing/scripted_server.h"
#include "net/testing/listener.h"

namespace muster::kube {
namespace {

using net::testing::Mailbox;
using ::testing::ElementsAre;
using testing::Folder;
using ::testing::HasSubstr;
using testing::make_client;
using testing::ScriptedServer;

constexpr const char* conflict = R"({
  "kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,
  "message":"Apply failed with 1 conflict","metadata":{},
  "details":{"kind":"deployments","name":"web","causes":[
    {"reason":"FieldManagerConflict","message":"conflict with \"x\"","field":".spec.replicas"}]}})";

ApiRequest get_pod() { return get_request(resources::pods(), "ns", "p"); }

TEST(Client, TheAnswerIsTheObject) {
  ScriptedServer server;
  server.then(200, R"({"kind":"Pod","metadata":{"name":"p","namespace":"ns"}})");
  const auto client = make_client(server.access());
  const auto pod = client->send(get_pod());
  ASSERT_TRUE(pod.ok()) << pod.error().message;
  EXPECT_EQ(key_of(*pod), "ns/p");
  EXPECT_THAT(server.asked(), ElementsAre("GET /api/v1/namespaces/ns/pods/p"));
  EXPECT_EQ(server.request(0).headers.get("Accept"), "application/json");
}

TEST(Client, AnAnswerThatNobodyWantsIsNotRead) {
  ScriptedServer server;
  server.then(201, "no JSON at all").then(409, conflict);
  const auto client = make_client(server.access());
  const auto made = client->send(unread({.method = "POST", .path = "/x", .body = "{}"}));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(made->is_null());
  EXPECT_EQ(server.request(0).body, "{}");
  const auto refused = client->send(unread({.method = "POST", .path = "/x", .body = "{}"}));
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().is_conflict()) << "errors are";
}

TEST(Client, AServerBelowAPathIsReachedThere) {
  ScriptedServer server;
  server.then(200, "{}");
  Access access = server.access();
  access.cluster.server += "/k8s/clusters/c-1/";
  EXPECT_TRUE(make_client(access)->send(get_pod()).ok());
  EXPECT_THAT(server.asked(), ElementsAre("GET /k8s/clusters/c-1/api/v1/namespaces/ns/pods/p"));
}

TEST(Client, AStatusBecomesATypedError) {
  ScriptedServer server;
  server.then(409, conflict);
  const auto reply = make_client(server.access())->send({.method = "PATCH", .path = "/x"});
  ASSERT_FALSE(reply.ok());
  const ApiError& error = reply.error();
  EXPECT_TRUE(error.is_conflict());
  EXPECT_FALSE(error.is_already_exists());
  EXPECT_EQ(error.kind, "deployments");
  EXPECT_EQ(error.name, "web");
  ASSERT_EQ(error.causes.size(), 1U);
  EXPECT_EQ(error.causes[0].field, ".spec.replicas");
  EXPECT_EQ(error.to_error().fault, Fault::Conflict);
}

TEST(Client, AnAnswerThatIsNoStatusIsToldByItsFirstLine) {
  ScriptedServer server;
  server.then(404, "404 page not found\nmore");
  const auto reply = make_client(server.access())->send(get_pod());
  EXPECT_EQ(reply.error().message, "404 Not Found: 404 page not found");
  EXPECT_TRUE(reply.error().is_not_found());
}

TEST(Client, ATooBusyServerIsAskedAgainAfterTheTimeItNames) {
  ScriptedServer server;
  server.then(429, "", {{"Retry-After", "1"}}).then(200, "{}");
  const auto client = make_client(server.access());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(client->send({.method = "POST", .path = "/x", .body = "{}"}).ok());
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(server.asked().size(), 2U);
  EXPECT_EQ(server.request(1).body, "{}");
}

TEST(Client, ALongerWaitThanAllowedIsTheCallersMatter) {
  ScriptedServer server;
  server.then(429, "", {{"Retry-After", "300"}});
  const auto reply = make_client(server.access())->send(get_pod());
  ASSERT_FALSE(reply.ok());
  EXPECT_TRUE(reply.error().is_too_many_requests());
  EXPECT_EQ(reply.error().retry_after, seconds(300));
}

TEST(Client, ReadsAreRepeatedWhenTheServerFailsAndWritesAreNot) {
  ScriptedServer server;
  server.then(500, "oops").then(500, "oops").then(200, "{}").then(500, "oops");
  const auto client = make_client(server.access());
  EXPECT_TRUE(client->send(get_pod()).ok());
  EXPECT_EQ(server.asked().size(), 3U);
  const auto written = client->send({.method = "POST", .path = "/x", .body = "{}"});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, 500);
  EXPECT_EQ(server.asked().size(), 4U);
}

TEST(Client, ARefusedTokenIsRenewedOnceAndTheRequestRepeated) {
  Folder folder;
  ScriptedServer server;
  Access access = server.access();
  access.user.token_file = folder.write("token", "old");
  server.then([&](const net::Request&, const net::Responder& answer) {
    folder.write("token", "new");
    answer.send({401, {}, ""});
  });
  server.then(200, "{}").then(401, "").then(401, "");
  const auto client = make_client(access);
  EXPECT_TRUE(client->send(get_pod()).ok());
  EXPECT_EQ(server.request(0).headers.get("Authorization"), "Bearer old");
  EXPECT_EQ(server.request(1).headers.get("Authorization"), "Bearer new");
  const auto refused = client->send(get_pod());
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().is_unauthorized());
  EXPECT_EQ(server.asked().size(), 4U);
}

TEST(Client, OtherCredentialsAreUsedFromTheNextRequestOn) {
  ScriptedServer server;
  server.then(200, "{}").then(200, "{}");
  Access access = server.access();
  access.user.token = "old";
  const auto client = make_client(access);
  EXPECT_TRUE(client->send(get_pod()).ok());
  access.user.token = "new";
  EXPECT_TRUE(client->renew(access).ok());
  EXPECT_TRUE(client->send(get_pod()).ok());
  EXPECT_EQ(server.request(0).headers.get("Authorization"), "Bearer old");
  EXPECT_EQ(server.request(1).headers.get("Authorization"), "Bearer new");
  access.cluster.server += "/elsewhere";
  const Status refused = client->renew(access);
  ASSERT_FALSE(refused.ok()) << "what is there may be another cluster";
  EXPECT_EQ(refused.error().fault, Fault::Conflict);
}

TEST(Client, AnAnswerCutOffInTheMiddleIsAnErrorNotAShortObject) {
  net::testing::Listener listener;
  Access access;
  access.cluster.server = fmt::format("http://127.0.0.1:{}", listener.port());
  const auto client = make_client(access, {.read_attempts_max = 1});
  Mailbox<Reply<Client::Json>> box;
  client->send_later(get_pod(), [&](Reply<Client::Json> reply) { box.put(std::move(reply)); });
  {
    auto peer = listener.accept();
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n");
  }
  const auto reply = box.take();
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, 0);
  EXPECT_EQ(reply.error().to_error().fault, Fault::Unavailable);
}

TEST(Client, ASlowServerIsGivenUpAfterTheTimeout) {
  ScriptedServer server;
  Mailbox<net::Responder> held;
  server.then([&](const net::Request&, const net::Responder& answer) { held.put(answer); });
  const auto client =
      make_client(server.access(), {.timeout = milliseconds(100), .read_attempts_max = 1});
  const auto reply = client->send(get_pod());
  ASSERT_FALSE(reply.ok());
  EXPECT_THAT(reply.error().message, HasSubstr("no answer in time"));
}

TEST(Client, OnlySoManyRequestsAreUnderWayAndAllAreAnswered) {
  ScriptedServer server;
  Mailbox<net::Responder> held;
  constexpr int count = 10;
  for (int i = 0; i < count; ++i) {
    server.then([&](const net::Request&, const net::Responder& answer) { held.put(answer); });
  }
  const auto client = make_client(server.access(), {.requests_max = 3});
  std::atomic<int> done = 0;
  Mailbox<int> last;
  for (int i = 0; i < count; ++i) {
    client->send_later(get_pod(), [&](const Reply<Client::Json>& reply) {
      EXPECT_TRUE(reply.ok());
      if (++done == count) last.put(1);
    });
  }
  for (int i = 0; i < count; ++i) {
    const net::Responder answer = held.take();
    EXPECT_LE(server.asked().size(), static_cast<std::size_t>(i + 3));
    answer.send({200, {}, "{}"});
  }
  last.take();
}

TEST(Client, APatientRequestLetsThoseInLineGoFirst) {
  ScriptedServer server;
  Mailbox<net::Responder> held;
  std::vector<std::string> order;
  const auto note = [&](const net::Request& request, const net::Responder& answer) {
    order.push_back(request.target.substr(request.target.rfind('/') + 1));
    held.put(answer);
  };
  for (int i = 0; i < 4; ++i) server.then(note);
  const auto client = make_client(server.access(), {.requests_max = 1});
  Mailbox<int> done;
  for (const char* name : {"first", "patient", "second", "third"}) {
    ApiRequest request = get_request(resources::pods(), "ns", name);
    request.is_patient = std::string_view(name) == "patient";
    client->send_later(std::move(request), [&](const Reply<Client::Json>&) { done.put(1); });
  }
  for (int i = 0; i < 4; ++i) held.take().send({200, {}, "{}"});
  for (int i = 0; i < 4; ++i) done.take();
  EXPECT_THAT(order, ElementsAre("first", "second", "third", "patient"));
}

TEST(Client, CallsUnderWayAndInLineEndAsCancelledWithTheClient) {
  ScriptedServer server;
  Mailbox<net::Responder> held;
  for (int i = 0; i < 3; ++i) {
    server.then([&](const net::Request&, const net::Responder& answer) { held.put(answer); });
  }
  auto client = make_client(server.access(), {.requests_max = 1});
  std::atomic<int> cancelled = 0;
  for (int i = 0; i < 3; ++i) {
    client->send_later(get_pod(), [&](const Reply<Client::Json>& reply) {
      if (!reply && reply.error().is_cancelled) ++cancelled;
    });
  }
  held.take();
  client.reset();
  EXPECT_EQ(cancelled, 3);
}

TEST(Client, ACallCanBeCancelledWhileItWaitsForARetry) {
  ScriptedServer server;
  server.then(429, "", {{"Retry-After", "1"}});
  const auto client = make_client(server.access());
  Mailbox<bool> box;
  const auto call = client->send_later(get_pod(), [&](const Reply<Client::Json>& reply) {
    box.put(!reply && reply.error().is_cancelled);
  });
  server.server().accesses.take();  // the first answer is given
  call.cancel();
  EXPECT_TRUE(box.take());
}

TEST(Client, AListIsReadInPages) {
  ScriptedServer server;
  server.then(200, R"({"metadata":{"resourceVersion":"7","continue":"c/1"},"items":[{"a":1}]})")
      .then(200, R"({"metadata":{"resourceVersion":"7"},"items":[{"a":2}]})");
  const auto client = make_client(server.access());
  const auto all = list_all(*client, resources::pods(), "", {.limit = 1});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->items.size(), 2U);
  EXPECT_EQ(all->resource_version, "7");
  EXPECT_THAT(server.asked(),
              ElementsAre("GET /api/v1/pods?limit=1", "GET /api/v1/pods?limit=1&continue=c%2F1"));
}

TEST(Client, AListThatExpiresInTheMiddleIsReadAgainInOnePiece) {
  ScriptedServer server;
  server.then(200, R"({"metadata":{"resourceVersion":"7","continue":"c"},"items":[{"a":1}]})")
      .then(410, R"({"kind":"Status","reason":"Expired","code":410})")
      .then(200, R"({"metadata":{"resourceVersion":"9"},"items":[{"a":2}]})");
  const auto client = make_client(server.access());
  const auto all = list_all(*client, resources::pods(), "", {.limit = 1});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->items.size(), 1U);
  EXPECT_THAT(server.asked().back(), "GET /api/v1/pods");
}

TEST(Client, ALogComesAsItIsWritten) {
  ScriptedServer server;
  server.then_stream("line 1\nline 2\n");
  const auto client = make_client(server.access());
  std::string text;
  const auto end = client->stream(log_request("ns", "p", {.container = "c", .follow = true}),
                                  [&](std::string_view bytes) {
                                    text += bytes;
                                    return true;
                                  });
  EXPECT_TRUE(end.ok());
  EXPECT_EQ(text, "line 1\nline 2\n");
  EXPECT_THAT(server.asked(),
              ElementsAre("GET /api/v1/namespaces/ns/pods/p/log?container=c&follow=true"));
}

/// Bytes of a stream as they come, then "end: " and why it ended.
void follow(Client& client, Mailbox<std::string>& box) {
  client.stream_later(
      watch_request(resources::pods(), ""),
      [&](std::string_view bytes) {
        box.put(std::string(bytes));
        return true;
      },
      [&](const Reply<Ok>& end) { box.put("end: " + (end ? "" : end.error().message)); });
}

constexpr PulseOptions quick_pulse{
    .quiet = milliseconds(20), .timeout = milliseconds(50), .lost = milliseconds(60)};

TEST(Client, AStreamOfAServerThatHangsEndsWithTheReason) {
  Mailbox<std::string> box;
  std::optional<net::Stream> silent;
  std::vector<net::Responder> unanswered;
  ScriptedServer server;
  server.then([&](const net::Request&, const net::Responder& answer) {
    silent = answer.stream({});
    silent->send("an event");
  });
  for (int i = 0; i < 10; ++i) {
    server.then(
        [&](const net::Request&, const net::Responder& answer) { unanswered.push_back(answer); });
  }
  const auto client = make_client(server.access(), {.pulse = quick_pulse});
  follow(*client, box);
  EXPECT_EQ(box.take(), "an event");
  EXPECT_THAT(box.take(), AllOf(HasSubstr("end: nothing was heard for"), HasSubstr("127.0.0.1")));
  EXPECT_GE(client->unheard_for(), quick_pulse.lost);
  EXPECT_EQ(server.asked().at(1), "GET /version");
}

TEST(Client, AQuietStreamGoesOnWhileTheServerAnswersWhateverItSays) {
  Mailbox<std::string> box;
  std::optional<net::Stream> quiet;
  ScriptedServer server;
  server.then(
      [&](const net::Request&, const net::Responder& answer) { quiet = answer.stream({}); });
  for (int i = 0; i < 5; ++i) server.then(403, "");
  server.then([&](const net::Request&, const net::Responder& answer) {
    answer.send({200, {}, "{}"});
    quiet->send("an event, at last");
    quiet->finish();
  });
  const auto client = make_client(server.access(), {.pulse = quick_pulse});
  follow(*client, box);
  EXPECT_EQ(box.take(), "an event, at last");
  EXPECT_EQ(box.take(), "end: ");
}

TEST(Client, AProxyOfTheKubeconfigIsUsedEvenForThisMachine) {
  net::testing::Listener proxy;
  Access access;
  access.cluster.server = "http://127.0.0.1:1";
  access.cluster.proxy_url = fmt::format("http://127.0.0.1:{}", proxy.port());
  const auto client = make_client(access);
  Mailbox<bool> box;
  client->send_later(get_pod(), [&](const Reply<Client::Json>& reply) { box.put(reply.ok()); });
  auto peer = proxy.accept();
  EXPECT_THAT(peer.read_until("\r\n\r\n"), HasSubstr("GET http://127.0.0.1:1/api/v1/"));
  peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_TRUE(box.take());
}

TEST(Requests, WritesCarryTheirOptions) {
  const auto object = boost::json::parse(R"({"metadata":{"name":"a","namespace":"n"}})");
  const auto apply = apply_request(resources::jobs(), object, "muster", true);
  EXPECT_EQ(target_of(apply), "/apis/batch/v1/namespaces/n/jobs/a?fieldManager=muster&force=true");
  EXPECT_EQ(apply.content_type, "application/apply-patch+yaml");
  const auto gone = delete_request(
      resources::jobs(), "n", "a",
      {.uid = "u", .resource_version = "5", .propagation = "Foreground", .grace_seconds = 0});
  EXPECT_EQ(gone.body,
            R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u",)"
            R"("resourceVersion":"5"},"propagationPolicy":"Foreground","gracePeriodSeconds":0})");
  const auto patch = patch_request(resources::nodes(), "", "x", Patch::Json,
                                   boost::json::parse("[]"), {.dry_run = true}, "status");
  EXPECT_EQ(target_of(patch), "/api/v1/nodes/x/status?dryRun=All");
  EXPECT_EQ(patch.content_type, "application/json-patch+json");
  const auto watch =
      watch_request(resources::pods(), "n", {.label_selector = "a=b,c", .resource_version = "9"});
  EXPECT_EQ(target_of(watch),
            "/api/v1/namespaces/n/pods?watch=true&allowWatchBookmarks=true&labelSelector=a%3Db%2Cc"
            "&resourceVersion=9&timeoutSeconds=480");
}

}  // namespace
}  // namespace muster::kube
