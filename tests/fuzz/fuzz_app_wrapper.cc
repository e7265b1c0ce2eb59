// AppWrappers of anybody: what is accepted makes a job that the model takes, the same each time,
// and the list in it reads back to the same gang; what is converted is an AppWrapper of that
// dialect, of the same objects, and converting it once more changes nothing.
#include <boost/json/parse.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "kube/yaml.h"
#include "manifest/pod_sets.h"
#include "manifest/pod_shape.h"
#include "model/command.h"
#include "tests/fuzz/input.h"
#include "work/wrapped/convert.h"
#include "work/wrapped/wrapped_job.h"

namespace json = boost::json;
namespace work = muster::work;

namespace {

void check_job(const work::AppWrapper& wrapper) {
  work::WrapOptions options;
  options.hub = wrapper.uid.empty() ? "" : "hub";
  options.queue = "q";
  auto job = work::wrapped_job(wrapper, options);
  if (!job) {
    MUSTER_CHECK(!job.error().message.empty(), "an error without words");
    return;
  }
  job->spec.id = "j";
  MUSTER_CHECK(muster::model::validate(job->spec).ok(), "a job that is none");
  MUSTER_CHECK(muster::model::validate(job->command).ok(), "a command that is none");
  MUSTER_CHECK(job->command.sets.size() == job->spec.gang.sets.size(), "sets");
  const auto list = muster::manifest::read_objects(json::parse(job->command.objects));
  MUSTER_CHECK(list.ok(), "{}", list.error().message);
  const auto sets = muster::manifest::pod_sets_of(*list, {});
  MUSTER_CHECK(sets.ok() && *sets == job->spec.gang.sets, "the list is another gang");
  const auto again = work::wrapped_job(wrapper, options);
  MUSTER_CHECK(again.ok() && again->command == job->command, "another job the second time");
}

std::vector<std::string> titles(const work::AppWrapper& wrapper) {
  std::vector<std::string> all;
  for (const work::WrappedItem& item : wrapper.items)
    all.push_back(muster::manifest::title_of(item.object));
  return all;
}

void check_conversion(const json::value& object, const work::AppWrapper& wrapper) {
  for (const work::Dialect to : {work::Dialect::V1beta1, work::Dialect::V1beta2}) {
    const auto there = work::convert_app_wrapper(object, to);
    if (!there) continue;
    const auto read = work::read_app_wrapper(there->object);
    MUSTER_CHECK(read.ok(), "{}", read.error().message);
    MUSTER_CHECK(read->dialect == to && titles(*read) == titles(wrapper), "other objects");
    MUSTER_CHECK(read->priority == wrapper.priority, "another priority");
    if (wrapper.dialect == to) continue;
    const auto back = work::convert_app_wrapper(there->object, wrapper.dialect);
    MUSTER_CHECK(back.ok(), "{}", back.error().message);
    const auto again = work::convert_app_wrapper(back->object, to);
    MUSTER_CHECK(again.ok(), "{}", again.error().message);
    const auto settled = work::convert_app_wrapper(again->object, wrapper.dialect);
    MUSTER_CHECK(settled.ok() && settled->object == back->object, "it never settles");
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto documents = muster::kube::parse_yaml(text);
  if (!documents) return 0;
  for (const json::value& document : *documents) {
    const auto wrapper = work::read_app_wrapper(document);
    if (!wrapper) {
      MUSTER_CHECK(!wrapper.error().message.empty(), "an error without words");
      continue;
    }
    check_job(*wrapper);
    check_conversion(document, *wrapper);
  }
  const auto converted = work::convert_documents(*documents, std::nullopt);
  if (!converted) return 0;
  for (const work::Converted& one : *converted)
    MUSTER_CHECK(work::read_app_wrapper(one.object).ok(), "what was made does not read");
  return 0;
}
