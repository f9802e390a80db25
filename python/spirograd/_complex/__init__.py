"""Complex tensors: two real tensors of one shape, the real and the imaginary parts.

tensor.py has the class and its arithmetic, elementwise.py the functions element by element, functions.py all others and
the table that the class looks into.
"""

from . import functions as functions
from .tensor import ComplexTensor as ComplexTensor
from .tensor import ComplexType as ComplexType
from .tensor import _abs as _abs
from .tensor import angle as angle
from .tensor import cdouble as cdouble
from .tensor import cfloat as cfloat
from .tensor import complex as complex
from .tensor import complex64 as complex64
from .tensor import complex128 as complex128
from .tensor import conj as conj
from .tensor import imag as imag
from .tensor import polar as polar
from .tensor import real as real
from .tensor import view_as_complex as view_as_complex
from .tensor import view_as_real as view_as_real
