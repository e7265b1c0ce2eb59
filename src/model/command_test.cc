#include "model/command.h"

#include <gmock/gmock.h>

#include <functional>

namespace muster::model {
namespace {

using testing::HasSubstr;

Command good() {
  Command command;
  command.argv = {"sh", "-c", "true"};
  command.environment = {{"A", "1"}};
  command.working_dir = "/tmp";
  command.files = {{"bin/run.sh", "echo", true}};
  command.sets = {{"workers", {}, {}, {1000}, {1 << 20}}};
  return command;
}

TEST(Command, AGoodOneIsTaken) { EXPECT_TRUE(validate(good())); }

TEST(Command, ASetWithoutProgramTakesTheCommandsAndMayHaveItsOwn) {
  Command command = good();
  command.sets.push_back({"head", {"ray", "start"}, {}, {}, {}});
  EXPECT_EQ(command.argv_of(command.sets[0]).front(), "sh");
  EXPECT_EQ(command.argv_of(command.sets[1]).front(), "ray");
  command.argv.clear();
  EXPECT_THAT(validate(command).error().message, HasSubstr("argv: empty"));
  command.sets.erase(command.sets.begin());
  EXPECT_TRUE(validate(command));
}

TEST(Command, ASetWithoutImageTakesTheCommandsAndMayHaveItsOwn) {
  Command command = good();
  EXPECT_FALSE(needs_containers(command));
  EXPECT_TRUE(needs_default_image(command));
  command.sets.push_back(command.sets[0]);
  command.sets[1].image = "ray:2";
  EXPECT_TRUE(needs_containers(command));
  EXPECT_TRUE(needs_default_image(command));
  command.container.image = "tools:1";
  EXPECT_EQ(command.image_of(command.sets[0]), "tools:1");
  EXPECT_EQ(command.image_of(command.sets[1]), "ray:2");
  EXPECT_FALSE(needs_default_image(command));
}

TEST(Command, ObjectsNeedContainersAndNoProgram) {
  Command command;
  command.objects = "[{}]";
  command.sets.emplace_back();
  EXPECT_TRUE(validate(command));
  EXPECT_TRUE(needs_containers(command));
  EXPECT_FALSE(needs_default_image(command));
}

TEST(Command, OnlyObjectsHaveAHubAndCare) {
  Command command = good();
  command.care.keep_ended = true;
  EXPECT_THAT(validate(command).error().message, HasSubstr("care: is for jobs of objects"));
  command.care = {};
  command.hub = HubObject{"east", "v1", "ConfigMap", "team", "owner", "u-1"};
  EXPECT_THAT(validate(command).error().message, HasSubstr("hub: is for jobs of objects"));

  command = {};
  command.objects = "[{}]";
  command.sets.emplace_back();
  command.hub = HubObject{"east", "v1", "ConfigMap", "team", "owner", "u-1"};
  command.care = {.starts_when_made = true, .ready_pods = 2, .ready_within = minutes(1)};
  EXPECT_TRUE(validate(command));
  command.care.starts_when_made = false;
  EXPECT_THAT(validate(command).error().message, HasSubstr("care.ready_within"));
  command.care = {.requeue_pause = Duration{-1}};
  EXPECT_THAT(validate(command).error().message, HasSubstr("care.requeue_pause"));
  command.care = {};
  command.hub->uid.clear();
  EXPECT_THAT(validate(command).error().message, HasSubstr("hub.uid: empty"));
}

TEST(Command, EveryMistakeNamesItsField) {
  struct Case {
    const char* field;
    std::function<void(Command&)> spoil;
  };
  const std::string nul("a\0b", 3);
  const Case cases[] = {
      {"sets: empty", [](Command& c) { c.sets.clear(); }},
      {"argv: empty", [](Command& c) { c.argv.clear(); }},
      {"argv: empty", [](Command& c) { c.argv = {""}; }},
      {"argv[1]", [&](Command& c) { c.argv[1] = nul; }},
      {"sets[0].argv[1]", [&](Command& c) { c.sets[0].argv = {"x", nul}; }},
      {"environment", [](Command& c) { c.environment["A=B"] = "1"; }},
      {"environment", [](Command& c) { c.environment[""] = "1"; }},
      {"environment.A", [&](Command& c) { c.environment["A"] = nul; }},
      {"sets[0].environment", [](Command& c) { c.sets[0].environment["="] = "1"; }},
      {"sets[0].cpu", [](Command& c) { c.sets[0].cpu = {-1}; }},
      {"sets[0].memory", [](Command& c) { c.sets[0].memory = {-1}; }},
      {"sets[0].name", [&](Command& c) { c.sets[0].name = nul; }},
      {"files[0].path", [](Command& c) { c.files[0].path = "/etc/passwd"; }},
      {"files[0].path", [](Command& c) { c.files[0].path = "a/../../b"; }},
      {"files[0].path", [](Command& c) { c.files[0].path = "a//b"; }},
      {"files[0].path", [](Command& c) { c.files[0].path = ""; }},
      {"working_dir", [](Command& c) { c.working_dir = "here"; }},
      {"name, user", [&](Command& c) { c.user = nul; }},
      {"stop_grace", [](Command& c) { c.stop_grace = Duration{-1}; }},
      {"image: 'a b'", [](Command& c) { c.container.image = "a b"; }},
      {"sets[0].image", [](Command& c) { c.sets[0].image = "-x"; }},
      {"image_pull_policy", [](Command& c) { c.container.pull_policy = "Sometimes"; }},
      {"namespace", [](Command& c) { c.container.ns = "a.b"; }},
      {"service_account", [](Command& c) { c.container.service_account = "Robot"; }},
      {"pull_secrets", [](Command& c) { c.container.pull_secrets = {"ok", "a_b"}; }},
      {"mounts[0].name", [](Command& c) { c.container.mounts = {{"", "/data"}}; }},
      {"mounts[0].mountPath", [](Command& c) { c.container.mounts = {{"data", "data"}}; }},
  };
  for (const Case& c : cases) {
    Command command = good();
    c.spoil(command);
    const Status status = validate(command);
    ASSERT_FALSE(status) << c.field;
    EXPECT_THAT(status.error().message, HasSubstr(c.field));
  }
}

}  // namespace
}  // namespace muster::model
