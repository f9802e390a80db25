// Reads the signature text of callables, and checks at import that it fits the callable's function. Knows no op.
#include "bind/signature.hpp"

#include <algorithm>
#include <string_view>

#include "bind/bound.hpp"

namespace sg::bind {
namespace {

const char* alias_of(std::string_view name) {
  constexpr std::pair<std::string_view, const char*> words[] = {
      {"dim", "axis"},        {"keepdim", "keepdims"}, {"dims", "axes"},   {"size", "shape"},     {"shape", "size"},
      {"correction", "ddof"}, {"sections", "indices"}, {"min", "a_min"},   {"max", "a_max"},      {"other", "x2"},
      {"from_", "from"},      {"steps", "num"},        {"end", "stop"},    {"tensors", "arrays"}, {"src", "value"},
      {"array", "ndarray"},   {"fill_value", "value"}, {"ext_tensor", "x"}};
  for (auto& [ours, theirs] : words)
    if (ours == name) return theirs;
  return nullptr;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

[[noreturn]] void wrong(const char* callable, const std::string& what) {
  fail<Error>("row " + std::string(callable && *callable ? callable : "''"), what, "correct the row in cpp/bind");
}

// "a: int, *, b: tuple[int, int] = (0, 1)" -> "a: int", "*", "b: tuple[int, int] = (0, 1)"
std::vector<std::string_view> split(const Callable& callable) {
  const std::string_view text = callable.parameters;
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '[' || text[i] == '(')) ++depth;
    if (i < text.size() && (text[i] == ']' || text[i] == ')')) --depth;
    if (depth < 0) break;
    if (i < text.size() && (text[i] != ',' || depth)) continue;
    if (const auto part = trimmed(text.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  if (depth) wrong(callable.name, "the brackets of '" + std::string(text) + "' do not match");
  return parts;
}

// The text of one parameter, in its three pieces.
struct Piece {
  bool several;
  std::string_view name, type, fallback;
};
Piece cut(std::string_view part) {
  Piece p = {part.front() == '*', {}, {}, {}};
  if (p.several) part.remove_prefix(1);
  if (const size_t at = part.rfind('='); at != std::string_view::npos) {
    p.fallback = trimmed(part.substr(at + 1));
    part = part.substr(0, at);
  }
  const size_t colon = part.find(':');
  p.name = trimmed(part.substr(0, colon));
  if (colon != std::string_view::npos) p.type = trimmed(part.substr(colon + 1));
  return p;
}

bool is_identifier(std::string_view s) {
  constexpr auto letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !s.empty() && letter(s.front()) &&
         std::all_of(s.begin(), s.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

int count_checked(const Callable& callable) {
  int count = 0;
  for (std::string_view part : split(callable)) {
    if (part == "*") continue;
    const Piece p = cut(part);
    if (!is_identifier(p.name) || p.type.empty() || (part.find('=') != std::string_view::npos && p.fallback.empty()))
      wrong(callable.name,
            "the parameter '" + std::string(part) + "' is not of the form 'name: type' or 'name: type = 1'");
    ++count;
  }
  return count;
}

PyObject* evaluated(std::string_view text) {
  Object names(check(PyDict_New()));
  return check(PyRun_String(std::string(text).c_str(), Py_eval_input, names.get(), names.get()));
}

std::vector<Parameter> parse(const Callable& callable) {
  std::vector<Parameter> list;
  bool by_name = false;
  for (std::string_view part : split(callable)) {
    if (part == "*") {
      by_name = true;
      continue;
    }
    const Piece piece = cut(part);
    list.push_back({.name = std::string(piece.name),
                    .alias = alias_of(piece.name),
                    .several = piece.several,
                    .by_name = by_name,
                    .fallback = piece.fallback.empty() ? nullptr : evaluated(piece.fallback)});
  }
  return list;
}

PyObject* core = nullptr;

void check_words(const std::string& name, const std::string& parameters, const std::string& result,
                 const std::string& doc, int64_t takes) {
  const Body body(nullptr, static_cast<int>(takes));
  check_callable(core, {name.c_str(), body, parameters.c_str(), result.c_str(), doc.c_str(), Scope::function});
}

const Callable callables[] = {{"_check_callable", bound<check_words>,
                               "name: str, parameters: str, result: str, doc: str, takes: int", "None",
                               "Error when such a row would not be added (tests).", Scope::function}};

}  // namespace

const std::vector<Parameter>& parameters_of(const Callable& callable) {
  if (!callable.read) callable.read = new std::vector<Parameter>(parse(callable));  // for the life of the process
  return *callable.read;
}

void check_callable(PyObject* module, const Callable& callable) {
  if (!is_identifier(callable.name)) wrong(callable.name, "its name is no identifier");
  if ((callable.scope != Scope::function && PyDict_GetItemString(tensor_type->tp_dict, callable.name)) ||
      (callable.scope != Scope::method && PyDict_GetItemString(PyModule_GetDict(module), callable.name)))
    wrong(callable.name, "its name is taken");
  if (!*callable.result) wrong(callable.name, "its result is missing");
  if (!*callable.doc) wrong(callable.name, "it has no docstring");
  const int named = count_checked(callable) + (callable.scope == Scope::function ? 0 : 1);
  if (callable.body.takes >= 0 && named != callable.body.takes)
    wrong(callable.name, "its text names " + std::to_string(named) + " arguments, its function takes " +
                             std::to_string(callable.body.takes));
}

void add_callable_check(PyObject* module) {
  core = module;
  add_callables(module, callables);
}

}  // namespace sg::bind
