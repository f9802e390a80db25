// Einstein's sums: operands are paired from left to right, each pair one batched product of permuted views.
#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

// A letter, or a dimension of an ellipsis: kDots is the last such dimension, kDots - 1 the one before.
using Label = int;
constexpr Label kDots = 1000;

struct Term {
  Tensor x;
  std::vector<Label> labels;  // one a dimension, all different
  int find(Label l) const {
    const auto at = std::find(labels.begin(), labels.end(), l);
    return at == labels.end() ? -1 : static_cast<int>(at - labels.begin());
  }
};

[[noreturn]] void bad(const std::string& equation, const std::string& what) {
  fail<ValueError>("einsum", what + " in '" + equation + "'", "write it as 'ij,jk->ik'");
}

// "ab...c" -> labels. `dots`: how many dimensions the ellipsis stands for, known from the rank or from other terms.
std::vector<Label> labels_of(const std::string& equation, const std::string& term, int dots) {
  std::vector<Label> out;
  bool seen = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      if (seen || term.compare(i, 3, "...") != 0) bad(equation, "a misplaced '.'");
      seen = true;
      i += 2;
      for (int d = dots; d > 0; --d) out.push_back(kDots - d + 1);
    } else if (std::isalpha(static_cast<unsigned char>(term[i]))) {
      out.push_back(term[i]);
    } else {
      bad(equation, std::string("a '") + term[i] + "'");
    }
  }
  return out;
}

int letters_of(const std::string& term) {
  return static_cast<int>(std::count_if(term.begin(), term.end(), [](unsigned char c) { return std::isalpha(c); }));
}

std::vector<std::string> terms_of(const std::string& text) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

// A label that occurs twice in one operand selects the diagonal.
Term without_repeats(const std::string& equation, Term o) {
  for (int i = 0; i < static_cast<int>(o.labels.size()); ++i)
    for (int j = i + 1; j < static_cast<int>(o.labels.size()); ++j) {
      if (o.labels[i] != o.labels[j]) continue;
      if (o.x.shape()[i] != o.x.shape()[j])
        bad(equation, std::string("sizes ") + std::to_string(o.x.shape()[i]) + " and " +
                          std::to_string(o.x.shape()[j]) + " of the repeated '" + static_cast<char>(o.labels[i]) + "'");
      const Label label = o.labels[i];
      o.x = diagonal(o.x, 0, i, j);
      o.labels.erase(o.labels.begin() + j);
      o.labels.erase(o.labels.begin() + i);
      o.labels.push_back(label);
      return without_repeats(equation, std::move(o));
    }
  return o;
}

// Sums over the subscripts that neither the result nor another operand has.
template <class Needed>
Term reduced_to(Term o, Needed needed) {
  uint32_t axes = 0;
  std::vector<Label> left;
  for (int d = 0; d < static_cast<int>(o.labels.size()); ++d) {
    if (needed(o.labels[d]))
      left.push_back(o.labels[d]);
    else
      axes |= 1u << d;
  }
  if (axes) o.x = sum(o.x, axes);
  o.labels = std::move(left);
  return o;
}

Tensor arranged(const Term& o, const std::vector<Label>& first, const std::vector<Label>& second,
                const std::vector<Label>& third) {
  Dims order;
  for (const auto* list : {&first, &second, &third})
    for (Label l : *list) order.push(o.find(l));
  return permute(o.x, order);
}

// A dimension of size 1 broadcasts against a larger one, so it is dropped.
void drop_ones(Term& a, const Term& b) {
  for (int d = static_cast<int>(a.labels.size()) - 1; d >= 0; --d) {
    const int other = b.find(a.labels[d]);
    if (other < 0 || a.x.shape()[d] != 1 || b.x.shape()[other] == 1) continue;
    a.x = squeeze(a.x, d);
    a.labels.erase(a.labels.begin() + d);
  }
}

template <class Needed>
Term contracted(Term a, Term b, Needed needed) {
  drop_ones(a, b);
  drop_ones(b, a);
  a = reduced_to(std::move(a), [&](Label l) { return needed(l) || b.find(l) >= 0; });
  b = reduced_to(std::move(b), [&](Label l) { return needed(l) || a.find(l) >= 0; });
  std::vector<Label> batch, summed, rows, columns;
  int64_t batches = 1, inner = 1, m = 1, n = 1;
  Dims shape;
  for (size_t d = 0; d < a.labels.size(); ++d) {
    const Label l = a.labels[d];
    const int64_t size = a.x.shape()[static_cast<int>(d)];
    if (b.find(l) < 0) {
      rows.push_back(l);
      m *= size;
    } else if (needed(l)) {
      batch.push_back(l);
      batches *= size;
    } else {
      summed.push_back(l);
      inner *= size;
    }
  }
  for (size_t d = 0; d < b.labels.size(); ++d)
    if (a.find(b.labels[d]) < 0) {
      columns.push_back(b.labels[d]);
      n *= b.x.shape()[static_cast<int>(d)];
    }
  Term out;
  for (const auto* list : {&batch, &rows, &columns})
    for (Label l : *list) {
      out.labels.push_back(l);
      const Term& from = list == &columns ? b : a;
      shape.push(from.x.shape()[from.find(l)]);
    }
  const Tensor left = reshape(arranged(a, batch, rows, summed), {batches, m, inner});
  if (summed.empty()) {
    out.x = reshape(left * reshape(arranged(b, batch, columns, {}), {batches, 1, n}), shape);
    return out;
  }
  if (a.x.dtype() == DType::boolean && b.x.dtype() == DType::boolean)
    fail<TypeError>("einsum", "booleans have no product", "convert to float32 or int32");
  if (rows.empty() && columns.empty()) {  // no product of matrices, and accurate in pairs: as matmul of vectors
    const DType dtype = product_type("einsum", left, b.x), wide = wide_of(dtype);
    const Tensor right = reshape(arranged(b, batch, summed, {}), {batches, 1, inner});
    out.x = reshape(cast(sum(cast(left, wide) * cast(right, wide), 1u << 2), dtype), shape);
    return out;
  }
  const Tensor right = reshape(arranged(b, batch, summed, columns), {batches, inner, n});
  out.x = reshape(matmul(left, right), shape);
  return out;
}

bool among(Label l, const std::vector<Label>& labels) {
  return std::find(labels.begin(), labels.end(), l) != labels.end();
}

// Without an arrow: the ellipsis, then the letters that occur once, in alphabetical order.
std::vector<Label> implied_result(const std::string& equation, int dots) {
  std::vector<Label> out;
  for (int d = dots; d > 0; --d) out.push_back(kDots - d + 1);
  for (Label l = 'A'; l <= 'z'; ++l)
    if (std::isalpha(l) && std::count(equation.begin(), equation.end(), static_cast<char>(l)) == 1) out.push_back(l);
  return out;
}

void check_result(const std::string& text, const std::vector<Label>& result, const std::vector<Term>& list) {
  for (Label l : result) {
    if (std::count(result.begin(), result.end(), l) > 1)
      bad(text, std::string("'") + static_cast<char>(l) + "' twice in the result");
    if (std::none_of(list.begin(), list.end(), [&](const Term& o) { return o.find(l) >= 0; }))
      bad(text, std::string("'") + static_cast<char>(l) + "' of the result in no operand");
  }
}

std::string shapes_of(const std::vector<Term>& list) {
  std::string all;
  for (const Term& o : list) all += (all.empty() ? " " : ", ") + o.x.shape().str();
  return all;
}

// Sizes of a label agree, or are 1.
void check_sizes(const std::string& text, const std::vector<Term>& list) {
  for (const Term& a : list)
    for (const Term& b : list)
      for (size_t d = 0; d < a.labels.size(); ++d) {
        const int other = b.find(a.labels[d]);
        if (other < 0) continue;
        const int64_t m = a.x.shape()[static_cast<int>(d)], n = b.x.shape()[other];
        if (m != n && m != 1 && n != 1)
          fail<ValueError>("einsum",
                           std::string("'") + static_cast<char>(a.labels[d]) + "' is " + std::to_string(m) + " and " +
                               std::to_string(n) + " in '" + text + "', shapes" + shapes_of(list),
                           "a letter has one size");
      }
}

bool needed(Label l, const std::vector<Term>& list, const std::vector<Label>& result) {
  return among(l, result) || std::any_of(list.begin(), list.end(), [&](const Term& o) { return o.find(l) >= 0; });
}

// The first operand whose product with the result so far has no more dimensions than a tensor may have.
std::vector<Term>::iterator next_of(const Term& sofar, std::vector<Term>& list, const std::vector<Label>& result) {
  const auto fits = [&](const Term& next) {
    std::vector<Term> rest;
    for (const Term& o : list)
      if (&o != &next) rest.push_back(o);
    auto labels = sofar.labels;
    for (Label l : next.labels)
      if (sofar.find(l) < 0) labels.push_back(l);
    return std::count_if(labels.begin(), labels.end(), [&](Label l) { return needed(l, rest, result); }) <= kMaxRank;
  };
  const auto found = std::find_if(list.begin(), list.end(), fits);
  return found == list.end() ? list.begin() : found;
}

}  // namespace

Tensor einsum(const std::string& text, const std::vector<Tensor>& operands) {
  std::string equation;
  std::copy_if(text.begin(), text.end(), std::back_inserter(equation),
               [](unsigned char c) { return !std::isspace(c); });
  if (operands.empty()) fail<ValueError>("einsum", "no operands for '" + text + "'", "give one for each term");
  const size_t arrow = equation.find("->");
  const std::vector<std::string> terms = terms_of(equation.substr(0, arrow));
  if (terms.size() != operands.size())
    bad(text, std::to_string(terms.size()) + " term(s) for " + std::to_string(operands.size()) + " operand(s)");
  std::vector<Term> list;
  int dots = 0;
  DType type = DType::boolean;
  for (const Tensor& x : operands) type = promote(type, x.dtype());
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool has_dots = terms[i].find('.') != std::string::npos;
    const int left = operands[i].rank() - letters_of(terms[i]);
    if (left < 0 || (left > 0 && !has_dots))
      bad(text, "term '" + terms[i] + "' does not fit shape " + operands[i].shape().str());
    common_device("einsum", {&operands[0], &operands[i]});
    dots = std::max(dots, left);
    const bool truths = operands[i].dtype() == DType::boolean;  // beside numbers they are numbers
    list.push_back(
        without_repeats(text, {truths ? cast(operands[i], type) : operands[i], labels_of(text, terms[i], left)}));
  }
  const std::vector<Label> result =
      arrow == std::string::npos ? implied_result(equation, dots) : labels_of(text, equation.substr(arrow + 2), dots);
  check_result(text, result, list);
  check_sizes(text, list);
  Term sofar = std::move(list[0]);
  list.erase(list.begin());
  while (!list.empty()) {
    const auto next = next_of(sofar, list, result);
    const Term other = std::move(*next);
    list.erase(next);
    sofar = contracted(std::move(sofar), other, [&](Label l) { return needed(l, list, result); });
  }
  sofar = reduced_to(std::move(sofar), [&](Label l) { return among(l, result); });
  return arranged(sofar, result, {}, {});
}

}  // namespace sg
