# cmake -DINPUT=<file> -DOUTPUT=<.cc> -DFUNCTION=<Name> -P embed.cmake
# Makes a source file that defines berth::report::<Name>(), the bytes of INPUT.
file(READ "${INPUT}" hex HEX)
# Every byte escaped, 32 a line: no byte can end the literal or join the next one.
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${hex}")
string(REPEAT "\\\\x[0-9a-f][0-9a-f]" 32 line)
string(REGEX REPLACE "(${line})" "    \"\\1\"\n" lines "${bytes}")
string(REGEX REPLACE "\n(\\\\x[^\n\"]+)$" "\n    \"\\1\"\n" lines "${lines}")
if(lines MATCHES "^(\\\\x[^\n\"]+)$")
  set(lines "    \"${lines}\"\n")
endif()
get_filename_component(name "${INPUT}" NAME)
set(source "// Made from ${name}.
#include \"runtime/report/assets.h\"

namespace berth::report {
namespace {
constexpr char kBytes[] =
${lines}    \"\";
}  // namespace
std::string_view ${FUNCTION}() { return {kBytes, sizeof(kBytes) - 1}; }
}  // namespace berth::report
")
file(WRITE "${OUTPUT}" "${source}")
