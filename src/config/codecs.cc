#include "config/codecs.h"

#include <fmt/format.h>

#include "base/text.h"

namespace muster::config {

Node Codec<std::string>::schema(Schema& schema, const Rule& rule) {
  if (rule.star) return schema.pattern("^([*]|[A-Za-z0-9_][A-Za-z0-9._-]*)$");
  if (rule.name) return schema.pattern("^[A-Za-z0-9_][A-Za-z0-9._-]*$");
  // A text may look like a number: an editor should not mind `VERSION: 1.10`.
  Tree& tree = schema.tree();
  const std::array<Node, 3> types = {tree.text("string"), tree.text("number"),
                                     tree.text("boolean")};
  return MapMaker(tree).add("type", tree.list(types)).done();
}

void Codec<bool>::read(Reader& reader, const Node& node, bool& out, const Rule&) {
  const auto scalar = reader.scalar(node, "true or false");
  if (!scalar) return;
  if (scalar->plain && (scalar->text == "true" || scalar->text == "false")) {
    out = scalar->text == "true";
    return;
  }
  reader.problem(node, fmt::format("is neither true nor false: '{}'", scalar->text.substr(0, 40)));
}

void Codec<Duration>::read(Reader& reader, const Node& node, Duration& out, const Rule& rule) {
  const auto scalar = reader.scalar(node, "a duration");
  if (!scalar) return;
  const Result<Duration> duration = parse_duration(scalar->text, "");
  if (!duration) return reader.problem(node, duration.error());
  if (duration->ms < rule.low || duration->ms > rule.high) {
    return reader.problem(
        node, duration->ms < rule.low
                  ? fmt::format("{} is below {}", scalar->text, to_text(Duration{rule.low}))
                  : fmt::format("{} is above {}", scalar->text, to_text(Duration{rule.high})));
  }
  out = *duration;
}

Node Codec<Duration>::schema(Schema& schema, const Rule&) {
  return schema.any_of({schema.pattern("^([0-9]+(ms|s|m|h|d))+$|^[0-9]+$"),
                        MapMaker(schema.tree())
                            .add("type", "integer")
                            .add("minimum", schema.tree().plain("0"))
                            .done()});
}

void QuantityCodec::read(Reader& reader, const Node& node, std::int64_t& out, const Rule& rule,
                         model::Scale scale) {
  const auto scalar = reader.scalar(node, "an amount");
  if (!scalar) return;
  const Result<std::int64_t> amount = model::parse_quantity(scalar->text, "", scale);
  if (!amount) return reader.problem(node, amount.error());
  if (*amount < rule.low || *amount > rule.high) {
    const bool low = *amount < rule.low;
    return reader.problem(node,
                          fmt::format("{} is {} {}", scalar->text, low ? "below" : "above",
                                      model::quantity_text(low ? rule.low : rule.high, scale)));
  }
  out = *amount;
}

Node QuantityCodec::write(Writer& to, std::int64_t value, model::Scale scale) {
  // Thousandths read better as a decimal number: 0.5, not 500m.
  if (scale == model::Scale::Milli && value >= 0 && value % 1000 != 0) {
    std::string text = fmt::format("{}.{:03}", value / 1000, value % 1000);
    while (text.ends_with('0')) text.pop_back();
    return to.tree.plain(text);
  }
  if (scale == model::Scale::Milli && value >= 0) {
    return to.tree.plain(std::to_string(value / 1000));
  }
  return to.tree.plain(model::quantity_text(value, scale));
}

Node QuantityCodec::schema(Schema& schema, model::Scale) {
  return schema.any_of(
      {schema.pattern("^[+]?[0-9]*[.]?[0-9]*([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$"),
       MapMaker(schema.tree())
           .add("type", "number")
           .add("minimum", schema.tree().plain("0"))
           .done()});
}

model::Scale scale_of(std::string_view resource) {
  const bool milli = resource == "cpu" || resource == "gpu" || resource.starts_with("gpu.");
  return milli ? model::Scale::Milli : model::Scale::Whole;
}

namespace {

bool is_resource(std::string_view name) {
  if (name == "cpu" || name == "memory" || name == "gpu") return true;
  if (name.starts_with("gpu.")) return name.size() > 4;
  const std::size_t slash = name.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < name.size();
}

}  // namespace

void Codec<Amounts>::read(Reader& reader, const Node& node, Amounts& out, const Rule& rule) {
  constexpr std::array<std::string_view, 3> own = {"cpu", "memory", "gpu"};
  if (!reader.expect(node, Node::Kind::Map, "a map of resources and amounts")) return;
  for (const Member& member : node.members()) {
    if (!is_resource(member.key)) {
      const std::string near = nearest(member.key.substr(0, 100), own);
      reader.problem(member, near.empty()
                                 ? fmt::format("unknown resource '{}'; use cpu, memory, gpu, "
                                               "gpu.TYPE or one with a domain, as rdma/hca",
                                               member.key.substr(0, 60))
                                 : fmt::format("unknown resource '{}'; did you mean '{}'?",
                                               member.key.substr(0, 60), near));
      continue;
    }
    const Reader::Step step(reader, member.key);
    QuantityCodec::read(reader, member.value, out.of[std::string(member.key)], rule,
                        scale_of(member.key));
  }
}

Node Codec<Amounts>::write(Writer& to, const Amounts& value, const Rule&) {
  MapMaker map(to.tree);
  for (const auto& [resource, amount] : value.of) {
    map.add(resource, QuantityCodec::write(to, amount, scale_of(resource)));
  }
  return map.done();
}

Node Codec<Amounts>::schema(Schema& schema, const Rule&) {
  Tree& tree = schema.tree();
  const Node names = MapMaker(tree).add("pattern", "^(cpu|memory|gpu|gpu[.].+|[^/]+/.+)$").done();
  return MapMaker(tree)
      .add("type", "object")
      .add("propertyNames", names)
      .add("additionalProperties", QuantityCodec::schema(schema, model::Scale::Whole))
      .done();
}

}  // namespace muster::config
