// What NumPy and SciPy call of Microsoft's complex functions and Wine 10's C library does not have (tools/windows.sh):
// by C99's formulas, with its Annex G for numbers that are not finite. A complex number is a struct there, and a long
// double is a double.
#include <math.h>

typedef struct {
  float re, im;
} F;
typedef struct {
  double re, im;
} D;

static D make(double re, double im) {
  const D z = {re, im};
  return z;
}

static D m_cexp(D z) {
  const double x = z.re, y = z.im, e = exp(x / 2);  // halves: the product may be finite where exp(x) is not
  if (y == 0) return make(exp(x), y);
  if (isfinite(y)) return make(e * cos(y) * e, e * sin(y) * e);
  if (isinf(x)) return x < 0 ? make(0, copysign(0, y)) : make(x, NAN);
  return make(NAN, NAN);
}

static D m_ccosh(D z) {
  const double x = z.re, y = z.im;
  if (y == 0) return make(cosh(x), isfinite(x) ? x * y : copysign(0, x) * y);
  if (isfinite(y))
    return isfinite(x) || isnan(x) ? make(cosh(x) * cos(y), sinh(x) * sin(y)) : make(x * x * cos(y), x * sin(y));
  if (x == 0) return make(NAN, copysign(0, x));
  return make(isinf(x) ? INFINITY : NAN, NAN);
}

static D m_csinh(D z) {
  const double x = z.re, y = z.im;
  if (y == 0) return make(sinh(x), y);
  if (isfinite(y))
    return isfinite(x) || isnan(x) ? make(sinh(x) * cos(y), cosh(x) * sin(y)) : make(x * cos(y), fabs(x) * sin(y));
  if (x == 0) return make(x, NAN);
  return make(isinf(x) ? x : NAN, NAN);
}

static D m_ctanh(D z) {
  const double x = z.re, y = z.im;
  if (isnan(x)) return make(x, y == 0 ? y : x);
  if (isinf(x)) return make(copysign(1, x), copysign(0, isfinite(y) ? sin(y) * cos(y) : y));
  if (!isfinite(y)) return make(x == 0 ? x : NAN, NAN);
  if (fabs(x) >= 22) return make(copysign(1, x), 4 * sin(y) * cos(y) * exp(-2 * fabs(x)));
  const double t = tan(y), s = sinh(x), beta = 1 + t * t, below = 1 + beta * s * s;  // Kahan's
  return make(beta * sqrt(1 + s * s) * s / below, t / below);
}

static D m_ccos(D z) { return m_ccosh(make(-z.im, z.re)); }
static D m_csin(D z) {
  const D w = m_csinh(make(-z.im, z.re));
  return make(w.im, -w.re);
}
static D m_ctan(D z) {
  const D w = m_ctanh(make(-z.im, z.re));
  return make(w.im, -w.re);
}
static D m_clog(D z) { return make(log(hypot(z.re, z.im)), atan2(z.im, z.re)); }
static D m_cpow(D z, D p) {
  const D l = m_clog(z);
  return m_cexp(make(p.re * l.re - p.im * l.im, p.re * l.im + p.im * l.re));
}

static D m_csqrt(D z) {
  const double x = z.re, y = z.im;
  if (x == 0 && y == 0) return make(0, y);
  if (isinf(y)) return make(INFINITY, y);
  if (isinf(x)) return x > 0 ? make(x, isnan(y) ? y : copysign(0, y)) : make(isnan(y) ? y : 0, copysign(x, y));
  const double t = sqrt((fabs(x) + hypot(x, y)) / 2);
  return x >= 0 ? make(t, y / (2 * t)) : make(fabs(y) / (2 * t), copysign(t, y));
}

static D wide(F z) { return make(z.re, z.im); }
static F narrow(D z) {
  const F w = {(float)z.re, (float)z.im};
  return w;
}

#define COMPLEX(name)                                         \
  F wine_##name##f(F z) { return narrow(m_##name(wide(z))); } \
  D wine_##name(D z) { return m_##name(z); }                  \
  D wine_##name##l(D z) { return m_##name(z); }
#define REAL(name, of_z)                              \
  float wine_##name##f(F z) { return (float)(of_z); } \
  double wine_##name(D z) { return of_z; }            \
  double wine_##name##l(D z) { return of_z; }
COMPLEX(cexp)
COMPLEX(ccosh)
COMPLEX(csinh)
COMPLEX(ctanh)
COMPLEX(ccos)
COMPLEX(csin)
COMPLEX(ctan)
COMPLEX(clog)
COMPLEX(csqrt)
F wine_cpowf(F z, F p) { return narrow(m_cpow(wide(z), wide(p))); }
D wine_cpow(D z, D p) { return m_cpow(z, p); }
D wine_cpowl(D z, D p) { return m_cpow(z, p); }
REAL(creal, z.re)
REAL(cimag, z.im)
REAL(carg, atan2(z.im, z.re))
REAL(cabs, hypot(z.re, z.im))
