#include "cli/top_screen.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "cli/table.h"

namespace muster::cli {
namespace {

constexpr Time now{1'782'907'200'000};

TopView busy(int jobs) {
  TopView view;
  view.url = "http://127.0.0.1:8080";
  view.clusters = {*parse_json(
      R"({"name":"east","health":"ready","nodes":2,"nodes_usable":2,"jobs":1,
          "gpus":{"A100":{"total":8,"idle":"5500m"}}})")};
  view.queues = {*parse_json(R"({"name":"vision","waiting":3,"running":1,"use":{"gpu":"2500m"}})")};
  for (int i = 0; i < jobs; ++i) {
    json::value job = *parse_json(
        R"({"id":"j","name":"a name","user":"ada","queue":"vision","state":"Waiting","gpus":"1",
            "submitted_ms":1782907140000,"verdict":{"text":"no room"}})");
    job.as_object()["id"] = "j" + std::to_string(i);
    if (i == jobs - 1) {
      job.as_object()["state"] = "Running";
      job.as_object()["cluster"] = "east";
      job.as_object()["started_ms"] = 1782907195000;
    }
    view.jobs.push_back(job);
  }
  return view;
}

TEST(TopScreen, shows_use_and_puts_what_runs_first) {
  EXPECT_EQ(top_screen(busy(2), {.columns = 100, .rows = 30}, now),
            "muster  http://127.0.0.1:8080  2026-07-01T12:00:00Z\n"
            "jobs  3 waiting, 1 running\n"
            "GPUs  [|||||||||                     ] 31.2% of 8\n"
            "\n"
            "CLUSTER  HEALTH  NODES  JOBS  GPUS IDLE\n"
            "east     ready     2/2     1  A100 5.5/8\n"
            "\n"
            "QUEUE   WAITING  RUNNING  USE\n"
            "vision        3        1  gpu 2.5\n"
            "\n"
            "JOB  NAME    USER  QUEUE   STATE    GPUS  FOR  WHERE\n"
            "j1   a name  ada   vision  running     1   5s  east\n"
            "j0   a name  ada   vision  waiting     1   1m  no room\n");
}

TEST(TopScreen, never_has_more_lines_than_the_terminal) {
  for (const int rows : {1, 5, 12, 24}) {
    const std::string text = top_screen(busy(100), {.columns = 80, .rows = rows}, now);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), rows);
  }
}

TEST(TopScreen, says_when_it_is_not_fresh) {
  TopView view = busy(1);
  view.trouble = "cannot reach\nthe server";
  EXPECT_NE(top_screen(view, {.columns = 80, .rows = 24}, now).find("cannot reach the server\n"),
            std::string::npos);
}

TEST(TopScreen, an_empty_fleet_is_no_trouble) {
  EXPECT_EQ(top_screen({.url = "u"}, {.columns = 80, .rows = 24}, now),
            "muster  u  2026-07-01T12:00:00Z\njobs  0 waiting\n");
}

}  // namespace
}  // namespace muster::cli
