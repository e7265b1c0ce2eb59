#include "config/job_codecs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "config/job_fields.h"
#include "config/time_text.h"

namespace muster::config {
namespace {

constexpr Rule word_rule = {.length_max = std::size_t{1} << 20};
constexpr std::int64_t range_max = 1'000'000;

Node string_schema(Schema& schema) { return Codec<std::string>::schema(schema, {}); }

}  // namespace

// ---- command

void Codec<RunDoc>::read(Reader& reader, const Node& node, RunDoc& out, const Rule& rule) {
  out = {};
  if (node.kind == Node::Kind::List) {
    Codec<std::vector<std::string>>::read(reader, node, out.words, rule);
    if (node.size == 0) reader.problem(node, "is empty; give the program to run");
    return;
  }
  out.shell = true;
  const std::size_t before = reader.problem_count();
  reader.text(node, out.words.emplace_back(), rule);
  if (out.words[0].empty() && reader.problem_count() == before)
    reader.problem(node, "must not be empty");
}

Node Codec<RunDoc>::write(Writer& to, const RunDoc& value, const Rule& rule) {
  if (value.shell) return to.tree.text(value.words[0]);
  return Codec<std::vector<std::string>>::write(to, value.words, rule);
}

Node Codec<RunDoc>::schema(Schema& schema, const Rule&) {
  return schema.any_of({schema.type("string"), schema.list(string_schema(schema))});
}

// ---- gpus

void Codec<GpuDoc>::read(Reader& reader, const Node& node, GpuDoc& out, const Rule&) {
  std::int64_t milli = 0;
  const std::size_t before = reader.problem_count();
  QuantityCodec::read(reader, node, milli, between(0, 16'000), model::Scale::Milli);
  if (reader.problem_count() != before) return;
  if (milli > 1000 && milli % 1000 != 0)
    return reader.problem(node, "a share is of one GPU: write 0.5, or whole GPUs");
  out.milli = milli;
}

Node Codec<GpuDoc>::write(Writer& to, const GpuDoc& value, const Rule&) {
  return QuantityCodec::write(to, value.milli, model::Scale::Milli);
}

Node Codec<GpuDoc>::schema(Schema& schema, const Rule&) {
  return QuantityCodec::schema(schema, model::Scale::Milli);
}

// ---- one word or more

void Codec<Words>::read(Reader& reader, const Node& node, Words& out, const Rule& rule) {
  if (node.is_scalar()) {
    out.list.assign(1, "");
    reader.text(node, out.list[0], rule);
    return;
  }
  if (node.kind == Node::Kind::Map) return reader.problem(node, "is a map, not a word or a list");
  Codec<std::vector<std::string>>::read(reader, node, out.list, rule);
}

Node Codec<Words>::write(Writer& to, const Words& value, const Rule& rule) {
  if (value.list.size() == 1) return to.tree.text(value.list[0]);
  return Codec<std::vector<std::string>>::write(to, value.list, rule);
}

Node Codec<Words>::schema(Schema& schema, const Rule&) {
  return schema.any_of({schema.type("string"), schema.list(string_schema(schema))});
}

// ---- a moment

void Codec<When>::read(Reader& reader, const Node& node, When& out, const Rule&) {
  const auto scalar = reader.scalar(node, "a time or a duration");
  if (!scalar) return;
  out = {};
  if (scalar->text.find('T') != std::string_view::npos) {
    const Result<Time> time = parse_time(scalar->text);
    if (!time) return reader.problem(node, time.error());
    out.at = *time;
    return;
  }
  const Result<Duration> duration = parse_duration(scalar->text, "");
  if (!duration) {
    return reader.problem(node, fmt::format("neither a time nor a duration: '{}'; write for "
                                            "example 2026-07-01T08:00:00Z or 2h",
                                            scalar->text.substr(0, 40)));
  }
  out.in = *duration;
}

Node Codec<When>::write(Writer& to, const When& value, const Rule&) {
  return to.tree.text(value.at ? time_text(*value.at) : to_text(value.in));
}

Node Codec<When>::schema(Schema& schema, const Rule& rule) {
  return schema.any_of({schema.pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+)$"),
                        Codec<Duration>::schema(schema, rule)});
}

// ---- values of templates

void Codec<ScalarDoc>::read(Reader& reader, const Node& node, ScalarDoc& out, const Rule&) {
  const auto scalar = reader.scalar(node, "a single value");
  if (!scalar) return;
  out.text = scalar->text;
  out.plain = scalar->plain;
}

Node Codec<ScalarDoc>::write(Writer& to, const ScalarDoc& value, const Rule&) {
  return value.plain ? to.tree.plain(value.text) : to.tree.text(value.text);
}

Node Codec<ScalarDoc>::schema(Schema& schema, const Rule&) { return string_schema(schema); }

namespace {

/// "1..5": both ends.
bool read_range(Reader& reader, const Node& node, AxisDoc& out) {
  const auto scalar = reader.scalar(node, "a list of values or a range like 1..5");
  if (!scalar) return false;
  const std::size_t dots = scalar->text.find("..");
  if (dots == std::string_view::npos) {
    reader.problem(node, fmt::format("neither a list nor a range: '{}'; write [a, b] or 1..5",
                                     scalar->text.substr(0, 40)));
    return false;
  }
  const auto low = parse_int(scalar->text.substr(0, dots), "", -1'000'000'000, 1'000'000'000);
  const auto high = parse_int(scalar->text.substr(dots + 2), "", -1'000'000'000, 1'000'000'000);
  if (!low || !high) {
    reader.problem(node, (low ? high : low).error());
    return false;
  }
  if (*high < *low || *high - *low >= range_max) {
    reader.problem(node, *high < *low ? "the range ends before it begins"
                                      : "the range has more than 1000000 values");
    return false;
  }
  out.low = *low;
  out.count = static_cast<std::size_t>(*high - *low + 1);
  return true;
}

}  // namespace

void Codec<OverDoc>::read(Reader& reader, const Node& node, OverDoc& out, const Rule& rule) {
  if (!reader.expect(node, Node::Kind::Map, "a map of names and values")) return;
  for (const Member& member : node.members()) {
    const Reader::Step step(reader, member.key);
    if (!is_parameter_name(member.key) || member.key == "index")
      reader.problem(member, "not a name for a value; use letters, digits and _, and not 'index'");
    AxisDoc& axis = out.axes.emplace_back();
    axis.name = member.key;
    if (member.value.kind == Node::Kind::List)
      Codec<std::vector<ScalarDoc>>::read(reader, member.value, axis.values, rule);
    else if (!read_range(reader, member.value, axis))
      continue;
    if (axis.size() == 0) reader.problem(member, "has no values");
  }
}

Node Codec<OverDoc>::write(Writer& to, const OverDoc& value, const Rule& rule) {
  MapMaker map(to.tree);
  for (const AxisDoc& axis : value.axes) {
    const std::int64_t last = axis.low + static_cast<std::int64_t>(axis.count) - 1;
    map.add(axis.name, axis.values.empty()
                           ? to.tree.text(fmt::format("{}..{}", axis.low, last))
                           : Codec<std::vector<ScalarDoc>>::write(to, axis.values, rule));
  }
  return map.done();
}

Node Codec<OverDoc>::schema(Schema& schema, const Rule&) {
  return schema.map(schema.any_of(
      {schema.pattern("^-?[0-9]+[.][.]-?[0-9]+$"), schema.list(string_schema(schema))}));
}

// ---- short and long forms

void Codec<TopologyDoc>::read(Reader& reader, const Node& node, TopologyDoc& out, const Rule&) {
  if (node.is_scalar()) return reader.text(node, out.key, word_rule);
  read_object(reader, node, out);
}

Node Codec<TopologyDoc>::write(Writer& to, const TopologyDoc& value, const Rule&) {
  return value.required ? to.tree.text(value.key) : write_object(to, value);
}

Node Codec<TopologyDoc>::schema(Schema& schema, const Rule&) {
  return schema.any_of({schema.type("string"), object_schema<TopologyDoc>(schema)});
}

namespace {

ParameterType type_of(const ScalarDoc& value) {
  if (!value.plain) return ParameterType::String;
  if (value.text == "true" || value.text == "false") return ParameterType::Boolean;
  if (parse_int(value.text, "", INT64_MIN, INT64_MAX)) return ParameterType::Integer;
  return fits_type(value.text, ParameterType::Number) ? ParameterType::Number
                                                      : ParameterType::String;
}

void check_values(Reader& reader, const Node& node, const ParameterDoc& parameter) {
  const auto check = [&](const ScalarDoc& value) {
    if (!fits_type(value.text, parameter.type))
      reader.problem(node, fmt::format("'{}' does not fit type {}", value.text.substr(0, 40),
                                       type_word(parameter.type)));
  };
  for (const ScalarDoc& choice : parameter.choices) check(choice);
  if (!parameter.standard) return;
  check(*parameter.standard);
  if (!is_choice(parameter, parameter.standard->text))
    reader.problem(node, fmt::format("the default '{}' is none of the choices",
                                     parameter.standard->text.substr(0, 40)));
}

}  // namespace

void Codec<ParameterDoc>::read(Reader& reader, const Node& node, ParameterDoc& out,
                               const Rule& rule) {
  if (node.is_scalar()) {
    Codec<ScalarDoc>::read(reader, node, out.standard.emplace(), rule);
    out.type = type_of(*out.standard);
    return;
  }
  if (node.is_null()) return;  // `name:` alone: a text that must be given
  const std::size_t before = reader.problem_count();
  read_object(reader, node, out);
  const Node* type = node.find("type");
  if (type == nullptr && out.standard) out.type = type_of(*out.standard);
  if (reader.problem_count() == before) check_values(reader, node, out);
}

Node Codec<ParameterDoc>::write(Writer& to, const ParameterDoc& value, const Rule&) {
  return write_object(to, value);
}

Node Codec<ParameterDoc>::schema(Schema& schema, const Rule&) {
  return schema.any_of(
      {string_schema(schema), schema.type("null"), object_schema<ParameterDoc>(schema)});
}

std::string_view type_word(ParameterType type) {
  return EnumNames<ParameterType>::names[static_cast<std::size_t>(type)].first;
}

bool fits_type(std::string_view text, ParameterType type) {
  switch (type) {
    case ParameterType::String:
      return true;
    case ParameterType::Boolean:
      return text == "true" || text == "false";
    case ParameterType::Integer:
      return parse_int(text, "", INT64_MIN, INT64_MAX).ok();
    case ParameterType::Number:
      break;
  }
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc{} && end == text.data() + text.size();
}

bool is_choice(const ParameterDoc& parameter, std::string_view text) {
  if (parameter.choices.empty()) return true;
  return std::any_of(parameter.choices.begin(), parameter.choices.end(),
                     [&](const ScalarDoc& choice) { return choice.text == text; });
}

PodSetDoc PodSetDoc::seeded_from(const PodDoc& job, const Node& own) {
  PodSetDoc set;
  static_cast<PodDoc&>(set) = job;
  if (own.find("command") != nullptr || own.find("script") != nullptr) {
    set.command.reset();
    set.script.reset();
  }
  return set;
}

}  // namespace muster::config
