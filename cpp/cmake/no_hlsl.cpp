// Keeps glslang's HLSL parser out of the module: 0.7 MB that no shader of ours reaches. A linker takes from an archive
// only what is missing, and with these two names nothing is. Where glslang names them otherwise, or was built without
// HLSL, they are not used.
#include <cstdlib>

extern "C" {
[[noreturn]] void sg_no_hlsl_parser() __asm__(
    "_ZN7glslang16HlslParseContextC1ERNS_12TSymbolTableERNS_13TIntermediateEbi8EProfileRKNS_10SpvVersionE11EShLanguageR"
    "9TInfoSinkNSt7__cxx1112basic_stringIcSt11char_traitsIcENS_14pool_allocatorIcEEEEb11EShMessages");
void sg_no_hlsl_parser() { std::abort(); }

[[noreturn]] void sg_no_hlsl_built_ins() __asm__("_ZN7glslang22TBuiltInParseablesHlslC1Ev");
void sg_no_hlsl_built_ins() { std::abort(); }
}
