// Values of job documents with a form of their own.
#pragma once

#include <string_view>

#include "config/codecs.h"
#include "config/job_document.h"

namespace muster::config {

/// A text for the shell, or a list of words.
template <>
struct Codec<RunDoc> {
  static void read(Reader& reader, const Node& node, RunDoc& out, const Rule& rule);
  static Node write(Writer& to, const RunDoc& value, const Rule& rule);
  static Node schema(Schema& schema, const Rule& rule);
};

/// 0.5, 1, 8
template <>
struct Codec<GpuDoc> {
  static void read(Reader& reader, const Node& node, GpuDoc& out, const Rule& rule);
  static Node write(Writer& to, const GpuDoc& value, const Rule& rule);
  static Node schema(Schema& schema, const Rule& rule);
};

/// One word, or a list of them.
template <>
struct Codec<Words> {
  static void read(Reader& reader, const Node& node, Words& out, const Rule& rule);
  static Node write(Writer& to, const Words& value, const Rule& rule);
  static Node schema(Schema& schema, const Rule& rule);
};

/// "2026-07-01T08:00:00Z", or "2h" from now.
template <>
struct Codec<When> {
  static void read(Reader& reader, const Node& node, When& out, const Rule& rule);
  static Node write(Writer& to, const When& value, const Rule& rule);
  static Node schema(Schema& schema, const Rule& rule);
};

/// Any single value.
template <>
struct Codec<ScalarDoc> {
  static void read(Reader& reader, const Node& node, ScalarDoc& out, const Rule& rule);
  static Node write(Writer& to, const ScalarDoc& value, const Rule& rule);
  static Node schema(Schema& schema, const Rule& rule);
};

/// Lists of values, or ranges like 1..5, by name.
template <>
struct Codec<OverDoc> {
  static void read(Reader& reader, const Node& node, OverDoc& out, const Rule& rule);
  static Node write(Writer& to, const OverDoc& value, const Rule& rule);
  static Node schema(Schema& schema, const Rule& rule);
};

/// A key, or a map.
template <>
struct Codec<TopologyDoc> {
  static void read(Reader& reader, const Node& node, TopologyDoc& out, const Rule& rule);
  static Node write(Writer& to, const TopologyDoc& value, const Rule& rule);
  static Node schema(Schema& schema, const Rule& rule);
};

/// A default, or a map.
template <>
struct Codec<ParameterDoc> {
  static void read(Reader& reader, const Node& node, ParameterDoc& out, const Rule& rule);
  static Node write(Writer& to, const ParameterDoc& value, const Rule& rule);
  static Node schema(Schema& schema, const Rule& rule);
};

std::string_view type_word(ParameterType type);
bool fits_type(std::string_view text, ParameterType type);
bool is_choice(const ParameterDoc& parameter, std::string_view text);

}  // namespace muster::config
