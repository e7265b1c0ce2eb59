// Where a piece of a pod's output came from. The numbers stand in files: they never change.
#pragma once

#include <cstdint>

namespace muster::ports {

enum class Stream : std::uint8_t { Note, Out, Err };  // Note: said by Muster about the output

}  // namespace muster::ports
