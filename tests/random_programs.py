#!/usr/bin/env python3
"""Random programs, to find what nobody thought of.

  random_programs.py FIRST COUNT          writes a test of the programs of the seeds FIRST, FIRST + 1, ... to the standard output
  random_programs.py search FIRST SECONDS builds and runs such tests, three programs each, until the time is over, with the flags in CXXFLAGS
                                          and the objects (tests/reference.cpp and others) and libraries in LIBRARIES; prints what
                                          differs, does not compile, or takes long

A program is a function of a few arrays: some twenty operations, among them views, products, gathers, scatters, loops and functions under
vmap, on operands that fit; or a derivative of one. random_programs.hpp compares what it compiles to with the interpreter of
reference.hpp. Shapes are those at which passes choose: square, long, short, empty, of instances, of run-time extents. Numbers stay small:
what may grow goes through a sine. Computed numbers are compared with numbers that they are not near but by a rare accident.
"""

import os
import pathlib
import random
import subprocess
import sys
import time

RUN_TIME = "n"  # an extent that is known at run time only
MOST_AT_RUN_TIME = 3001


def number(extent):
    return MOST_AT_RUN_TIME if extent == RUN_TIME else extent


def size(shape):
    n = 1
    for extent in shape:
        n *= number(extent)
    return n


def is_static(shape):
    return RUN_TIME not in shape


def listed(items):
    return ", ".join(str(i) for i in items)


def broadcast(a, b):
    """The shape of a * b, or None."""
    if len(a) < len(b):
        a, b = b, a
    result = list(a)
    for i in range(1, len(b) + 1):
        if a[-i] != b[-i] and 1 not in (a[-i], b[-i]):
            return None
        result[-i] = b[-i] if a[-i] == 1 else a[-i]
    return tuple(result)


class Value:
    def __init__(self, name, shape, bound, is_argument=False):
        self.name, self.shape, self.bound, self.is_argument, self.uses = name, tuple(shape), bound, is_argument, 0


class Arguments:
    """What the outermost function takes: arrays first, then arrays of indices, which operations ask for."""

    def __init__(self, rng):
        self.rng, self.names, self.values, self.indices = rng, [], [], {}

    def index(self, shape, limit):
        """The name of an array of numbers below the limit."""
        known = self.indices.get((tuple(shape), limit))
        if known and self.rng.random() < 0.6:
            return known
        name = f"i{len(self.names)}"
        self.names.append(name)
        self.values.append(f"random_programs::indices<{listed(shape)}>({limit}, {len(self.names)})")
        self.indices[tuple(shape), limit] = name
        return name


THRESHOLD = "0.1234567"  # where computed numbers are not
OPERATIONS = {}  # name: (weight, function of a Body)


def operation(weight):
    def add(f):
        OPERATIONS[f.__name__] = (weight, f)
        return f
    return add


POINTWISE = [
    ("ct::sin({})", lambda b: 1), ("ct::cos({})", lambda b: 1), ("ct::tanh({})", lambda b: min(b, 1)), ("ct::exp(-ct::square({}))", lambda b: 1),
    ("1.0 / (1.0 + ct::square({}))", lambda b: 1), ("ct::square({})", lambda b: b * b), ("-{}", lambda b: b), ("ct::sqrt(1.0 + ct::square({}))", lambda b: 1 + b),
    ("2.0 * {}", lambda b: 2 * b), ("{} - 0.25", lambda b: b + 0.25), ("ct::atan({})", lambda b: 1.6), ("ct::pow({}, 3)", lambda b: b**3),
]


class Body:
    """A function body in the making. Operations add lines to it."""

    def __init__(self, rng, prefix, arguments, most_elements, weights, differentiable, outer=None):
        self.rng, self.prefix, self.arguments, self.most, self.weights, self.differentiable = rng, prefix, arguments, most_elements, weights, differentiable
        self.outer = outer  # the body around a body of a loop or of vmap
        self.element = outer.element if outer else "double"
        self.lines, self.values, self.count = [], [], 0

    def inner(self, values, most_elements, arguments=None):
        self.count += 1
        body = Body(self.rng, f"{self.prefix}{self.count}_", arguments, most_elements, self.weights, self.differentiable, self)
        body.values = values
        return body

    def name(self):
        self.count += 1
        return f"{self.prefix}{self.count}"

    def chance(self, p):
        return self.rng.random() < p

    def add(self, expression, shape, bound):
        if size(shape) > self.most or len(shape) > 4:
            return None
        if bound > 8:
            expression, bound = self.rng.choice([f"ct::sin({expression})", f"ct::tanh({expression})", f"({expression}) * {1 / bound:.4g}"]), 1
        self.lines.append(f"const auto {self.name()} = {expression};")
        value = Value(f"{self.prefix}{self.count}", shape, bound)
        self.values.append(value)
        return value

    def pick(self, fits=lambda value: True):
        """A value that fits: rather a recent one, a large one, one that nothing uses yet."""
        found = [v for v in self.values if fits(v)]
        if not found:
            return None
        weights = [(1 + 3 * (i / len(found)) ** 2) * (2 if size(v.shape) >= 4000 else 1) * (3 if v.uses == 0 else 1) for i, v in enumerate(found)]
        value = self.rng.choices(found, weights)[0]
        value.uses += 1
        return value

    def made(self):
        return [v for v in self.values if v.name.startswith(self.prefix)]

    def add_view(self, expression, shape, bound):
        """A view: as it is, or used at once."""
        r = self.rng.random()
        if r < 0.45:
            form, grown = self.rng.choice(POINTWISE)
            return self.add(form.format(expression), shape, grown(bound))
        other = self.pick(lambda v: v.shape == tuple(shape)) if r < 0.75 else None
        if other:
            form = self.rng.choice(["{} * {}", "{1} - {0}", "{1} + 0.5 * {0}"])
            return self.add(form.format(expression, other.name), shape, max(bound * other.bound, bound + other.bound))
        return self.add(expression, shape, bound)

    def grow(self, operations):
        names, weights = list(OPERATIONS), [self.weights.get(name, weight) for name, (weight, f) in OPERATIONS.items()]
        first, tries = len(self.lines), 0
        while len(self.lines) - first < operations and tries < 200:
            OPERATIONS[self.rng.choices(names, weights)[0]][1](self)
            tries += 1


def full(axis, what):
    """The index `what` along an axis, behind whole ones."""
    return "(" + listed(["ct::full_extent"] * axis + [what]) + ")"


# ---- pointwise ----


@operation(14)
def unary(body):
    x = body.pick()
    form, grown = body.rng.choice(POINTWISE)
    body.add(form.format(x.name), x.shape, grown(x.bound))


@operation(18)
def binary(body):
    x = body.pick()
    y = body.pick(lambda v: broadcast(x.shape, v.shape) is not None)
    shape = broadcast(x.shape, y.shape)
    if size(shape) > 4 * max(size(x.shape), size(y.shape)) and body.chance(0.5):
        return
    form, bound = body.rng.choice([
        ("{0} * {1}", x.bound * y.bound), ("{0} + {1}", x.bound + y.bound), ("{0} - {1}", x.bound + y.bound), ("{0} * 0.5 - {1} * 0.75", x.bound + y.bound),
        ("{0} / (2.0 + ct::square({1}))", x.bound), ("{0} * {1} + {0}", x.bound * (y.bound + 1))])
    body.add(form.format(x.name, y.name), shape, bound)


@operation(4)
def where(body):
    x = body.pick()
    y = body.pick(lambda v: broadcast(x.shape, v.shape) is not None)
    shape = broadcast(x.shape, y.shape)
    z = body.pick(lambda v: v.shape == shape) if body.chance(0.6) else None
    body.add(f"ct::where({x.name} > {THRESHOLD}, {y.name}, {z.name if z else '0.0'})", shape, max(y.bound, z.bound if z else 0))


@operation(3)
def noise(body):
    x = body.pick(lambda v: is_static(v.shape))
    if x:
        shape = "".join(f", {e}" for e in x.shape)
        body.add(f"{x.name} * (0.5 + ct::astype<{body.element}>(ct::random::uniform<float{shape}>(ct::random::key({body.rng.randrange(1000)}))))", x.shape, 1.5 * x.bound)


@operation(3)
def narrow_integers(body):
    if x := body.pick(lambda v: v.is_argument):  # whose numbers are the same everywhere
        kind = body.rng.choice(["std::uint8_t", "std::int8_t", "std::uint16_t", "std::uint32_t"])
        body.add(f"ct::astype<{body.element}>((ct::astype<{kind}>(ct::abs({x.name}) * 30.0) * 5 + 3) >> 1) * 0.01", x.shape, 2)


# ---- views and shapes ----


@operation(12)
def transpose(body):
    x = body.pick(lambda v: len(v.shape) > 1)
    if not x:
        return
    order = list(range(len(x.shape)))
    if body.chance(0.5):
        i = body.rng.randrange(len(order) - 1)
        order[i], order[i + 1] = order[i + 1], order[i]
    else:
        body.rng.shuffle(order)
    body.add_view(f"ct::transpose<{listed(order)}>({x.name})", [x.shape[i] for i in order], x.bound)


@operation(4)
def flip(body):
    if x := body.pick(lambda v: v.shape):
        body.add_view(f"ct::flip<{body.rng.randrange(len(x.shape))}>({x.name})", x.shape, x.bound)


@operation(4)
def roll(body):
    if x := body.pick(lambda v: v.shape):
        body.add_view(f"ct::roll<{body.rng.randrange(len(x.shape))}>({x.name}, {body.rng.choice([1, -1, 2, 3])})", x.shape, x.bound)


@operation(8)
def slice_(body):
    x = body.pick(lambda v: any(e != RUN_TIME and e > 1 for e in v.shape))
    if not x:
        return
    axis = body.rng.choice([i for i, e in enumerate(x.shape) if e != RUN_TIME and e > 1])
    n, shape, r = x.shape[axis], list(x.shape), body.rng.random()
    if r < 0.2:
        what = f"ct::index<{body.rng.choice([0, n - 1, n // 2, -1])}>"
        del shape[axis]
    elif r < 0.5:
        m = max(1, body.rng.choice([1, n // 2, n - 1, n // 3]))
        first = body.rng.choice([0, n - m, (n - m) // 2])
        what, shape[axis] = f"ct::range<{first}, {first + m}>", m
    elif r < 0.75:
        step, first = body.rng.choice([2, 3]), body.rng.choice([0, 1])
        what, shape[axis] = f"ct::range<{first}, {n}, {step}>", len(range(first, n, step))
    else:
        step = body.rng.choice([-1, -2])
        what, shape[axis] = f"ct::range<{n - 1}, 0, {step}>", len(range(n - 1, 0, step))
    body.add_view(x.name + full(axis, what), shape, x.bound)


@operation(5)
def reshape(body):
    x = body.pick(lambda v: v.shape and is_static(v.shape))
    if not x:
        return
    shape, r = list(x.shape), body.rng.random()
    if r < 0.3 and len(shape) > 1:
        i = body.rng.randrange(len(shape) - 1)
        shape[i:i + 2] = [shape[i] * shape[i + 1]]
    elif r < 0.6:
        i = body.rng.randrange(len(shape))
        divisors = [d for d in (2, 3, 4, 5, 8, 16, shape[i]) if d and shape[i] % d == 0]
        if not divisors:
            return
        d = body.rng.choice(divisors)
        shape[i:i + 1] = body.rng.choice([[d, shape[i] // d], [shape[i] // d, d]])
    elif r < 0.8:
        shape.reverse()
    else:
        others = [v for v in body.values if is_static(v.shape) and size(v.shape) == size(shape) and v.shape != x.shape]
        if not others:
            return
        shape = body.rng.choice(others).shape
    body.add_view(f"ct::reshape<{listed(shape)}>({x.name})", shape, x.bound)


@operation(2)
def broadcast_to(body):
    x = body.pick(lambda v: len(v.shape) < 3 and is_static(v.shape))
    if not x:
        return
    other = body.pick(lambda v: v.shape and is_static(v.shape))
    shape = (body.rng.choice(other.shape) if other else 3,) + x.shape
    body.add_view(f"ct::broadcast_to<{listed(shape)}>({x.name})", shape, x.bound)


@operation(6)
def concatenate(body):
    x = body.pick(lambda v: v.shape)
    axis = x and body.rng.randrange(len(x.shape))
    if not x or x.shape[axis] == RUN_TIME:
        return
    y = body.pick(lambda v: len(v.shape) == len(x.shape) and v.shape[axis] != RUN_TIME and all(i == axis or a == b for i, (a, b) in enumerate(zip(v.shape, x.shape))))
    second = body.rng.choice(["{}", "ct::sin({})", "2.0 * {}"]).format(y.name)
    bound, shape = max(x.bound, 2 * y.bound), list(x.shape)
    if x.shape == y.shape and body.chance(0.3):
        axis = body.rng.randrange(len(shape) + 1)
        shape.insert(axis, 2)
        body.add(f"ct::stack<{axis}>({x.name}, {second})", shape, bound)
        return
    shape[axis] += y.shape[axis]
    both = body.add(f"ct::concatenate<{axis}>({x.name}, {second})", shape, bound)
    if both and body.chance(0.4):  # a part, as large as before
        n = x.shape[axis]
        body.add(both.name + full(axis, f"ct::range<{shape[axis] - n}, {shape[axis]}>"), x.shape, bound)


@operation(3)
def pad(body):
    x = body.pick(lambda v: v.shape and is_static(v.shape))
    if not x:
        return
    low, high = [body.rng.choice([0, 0, 1, 2]) for e in x.shape], [body.rng.choice([0, 0, 1, 3]) for e in x.shape]
    if body.chance(0.3):
        j = body.rng.randrange(len(low))
        low[j], high[j] = 1, -min(1, x.shape[j])
    shape = [e + a + b for e, a, b in zip(x.shape, low, high)]
    body.add(f"ct::pad<ct::low<{listed(low)}>, ct::high<{listed(high)}>>({x.name}, {body.rng.choice(['0.0', '0.5'])})", shape, max(x.bound, 0.5))


@operation(3)
def triangle(body):
    if x := body.pick(lambda v: len(v.shape) > 1 and is_static(v.shape[-2:])):
        body.add_view(f"ct::{body.rng.choice(['tril', 'triu'])}<{body.rng.choice([0, 0, -1, 1])}>({x.name})", x.shape, x.bound)


# ---- reductions, sums along an axis, order ----


@operation(12)
def reduce(body):
    x = body.pick(lambda v: v.shape and size(v.shape) > 0)
    if not x:
        return
    axis, keeps = body.rng.randrange(len(x.shape)), body.chance(0.6)
    n, shape, tags = number(x.shape[axis]), list(x.shape), f"ct::axis<{axis}>" + (", ct::keepdims" if keeps else "")
    shape[axis:axis + 1] = [1] if keeps else []
    forms = [
        (f"ct::sum({{}}, {tags}) * {n**-0.5:.4g}", x.bound * n**0.5), (f"ct::mean({{}}, {tags})", x.bound), (f"ct::logsumexp({{}}, {tags}) * 0.1", x.bound + 1),
        (f"ct::variance({{}}, {tags})", x.bound**2), (f"ct::sum(ct::square({{}}), {tags}) * {1 / n:.4g}", x.bound**2)]
    if not body.differentiable or body.chance(0.3):
        forms += [(f"ct::max({{}}, {tags})", x.bound), (f"ct::min({{}}, {tags})", x.bound)]
    form, bound = body.rng.choice(forms)
    r = body.add(form.format(x.name), shape, bound)
    if r and keeps and body.chance(0.7):
        form = body.rng.choice(["{} - {}", "{} * {}", "ct::exp(-ct::square({} - {}))"])
        body.add(form.format(x.name, r.name), x.shape, max(x.bound * r.bound, x.bound + r.bound))


@operation(2)
def softmax(body):
    if x := body.pick(lambda v: v.shape and size(v.shape) > 0):
        body.add(f"ct::nn::softmax({x.name}, ct::axis<{body.rng.randrange(len(x.shape))}>)", x.shape, 1)


@operation(7)
def cumulate(body):
    x = body.pick(lambda v: v.shape)
    if not x:
        return
    axis, operand = body.rng.randrange(len(x.shape)), x.name
    if body.chance(0.6) and len(x.shape) > 1 and is_static(x.shape):
        views = [f"ct::flip<{body.rng.randrange(len(x.shape))}>({x.name})"]
        for i in range(len(x.shape) - 1):
            if x.shape[i] == x.shape[i + 1]:
                order = list(range(len(x.shape)))
                order[i], order[i + 1] = i + 1, i
                views += 2 * [f"ct::transpose<{listed(order)}>({x.name})"]
        operand = body.rng.choice(views)
    if body.differentiable or body.chance(0.7):
        body.add(f"ct::cumsum({operand}, ct::axis<{axis}>) * {1 / max(1, number(x.shape[axis])):.4g}", x.shape, x.bound)
    else:
        body.add(f"ct::cummax({operand}, ct::axis<{axis}>)", x.shape, x.bound)


@operation(3)
def sort(body):
    if body.differentiable and body.chance(0.9):
        return
    if x := body.pick(lambda v: v.shape and 0 < size(v.shape) < 200000):
        body.add(f"ct::sort<{body.rng.randrange(len(x.shape))}>({x.name})", x.shape, x.bound)


# ---- products ----


@operation(9)
def matmul(body):
    x = body.pick(lambda v: len(v.shape) in (2, 3) and v.shape[-1] != RUN_TIME)
    y = x and body.pick(lambda v: len(v.shape) == 2 and x.shape[-1] in v.shape and is_static(v.shape))
    if not y:
        return
    turned = y.shape[0] != x.shape[-1] or (y.shape[1] == x.shape[-1] and body.chance(0.5))
    terms, columns = x.shape[-1], y.shape[0] if turned else y.shape[1]
    if size(x.shape) * columns > 2e7:
        return
    right = f"ct::transpose({y.name})" if turned else y.name
    body.add_view(f"ct::matmul({x.name}, {right}) * {max(1, terms)**-0.5:.4g}", x.shape[:-1] + (columns,), x.bound * y.bound * max(1, terms) ** 0.5 / 1.7)


@operation(5)
def einsum(body):
    x = body.pick(lambda v: 1 <= len(v.shape) <= 3)
    y = x and body.pick(lambda v: 1 <= len(v.shape) <= 3 and set(v.shape) & set(x.shape))
    if not y:
        return
    left, right = "abc"[:len(x.shape)], ""
    for j, extent in enumerate(y.shape):
        same = [c for c, e in zip(left, x.shape) if e == extent and c not in right]
        right += body.rng.choice(same) if same and (body.chance(0.7) or extent == RUN_TIME or not set(left) & set(right)) else "efg"[j]
    extents = {**dict(zip(left, x.shape)), **dict(zip(right, y.shape))}
    if not set(left) & set(right) or size(extents.values()) > 2e7:
        return
    result = [c for c in extents if body.chance(0.3 if c in left and c in right else 0.95)]
    if body.chance(0.5):
        body.rng.shuffle(result)
    terms = size([e for c, e in extents.items() if c not in result])
    if len(result) > 3 or (terms == 1 and body.chance(0.8)):
        return
    body.add(f"ct::einsum<\"{left},{right}->{''.join(result)}\">({x.name}, {y.name}) * {max(1, terms)**-0.5:.4g}", [extents[c] for c in result],
             x.bound * y.bound * max(1, terms) ** 0.5 / 1.7)


# ---- indices ----


@operation(4)
def take(body):
    x = body.arguments and body.pick(lambda v: any(e != RUN_TIME and e > 0 for e in v.shape))
    if not x:
        return
    axis = body.rng.choice([i for i, e in enumerate(x.shape) if e != RUN_TIME and e > 0])
    shape = list(x.shape)
    shape[axis] = body.rng.choice([1, 3, shape[axis], shape[axis], 7])
    body.add_view(f"ct::take<{axis}>({x.name}, {body.arguments.index((shape[axis],), x.shape[axis])})", shape, x.bound)


@operation(4)
def gather(body):
    x = body.arguments and body.pick(lambda v: 1 <= len(v.shape) <= 3 and is_static(v.shape) and size(v.shape) > 0)
    if not x:
        return
    r, shape, index = body.rng.random(), list(x.shape), body.arguments.index
    if r < 0.45:
        axis = body.rng.randrange(len(shape))
        if body.chance(0.3):
            shape[axis] = body.rng.choice([1, 3, 7])
        body.add_view(f"ct::take_along_axis<{axis}>({x.name}, {index(shape, x.shape[axis])})", shape, x.bound)
    elif r < 0.75 or len(shape) < 2:
        m = shape[0] if body.chance(0.7) else body.rng.choice([3, shape[-1]])
        body.add_view(f"{x.name}({index((m,), shape[0])})", [m] + shape[1:], x.bound)
    else:
        m = body.rng.choice([shape[0], shape[1], 64])
        body.add_view(f"{x.name}({index((m,), shape[0])}, {index((m,), shape[1])})", [m] + shape[2:], x.bound)


@operation(5)
def scatter(body):
    x = body.arguments and body.pick(lambda v: v.shape and v.shape[0] not in (0, RUN_TIME))
    if not x:
        return
    if body.chance(0.2):
        body.add(f"ct::at({x.name}, {body.rng.randrange(x.shape[0])}).set(0.5)", x.shape, x.bound)
        return
    m = body.rng.choice([1, 3, x.shape[0], 7])
    updates = body.pick(lambda v: v.shape in ((m,) + x.shape[1:], x.shape[1:]))
    how = "add" if body.differentiable else body.rng.choice(["add", "add", "set"])
    body.add(f"ct::at({x.name}, {body.arguments.index((m,), x.shape[0])}).{how}({updates.name if updates else '0.25'})", x.shape, x.bound + 3 * (updates.bound if updates else 1))


@operation(4)
def at_run_time(body):
    """A slice at a place that is known at run time, or one that is replaced."""
    x = body.arguments and body.pick(lambda v: 1 <= len(v.shape) <= 3 and is_static(v.shape) and size(v.shape) > 0)
    if not x:
        return
    index = body.arguments.index((), 5)
    starts = listed([index] + [body.rng.choice(["0", "1", index]) for e in x.shape[1:]])
    if body.chance(0.5):
        shape = [max(1, e - body.rng.choice([0, 0, 1, 3])) for e in x.shape]
        body.add_view(f"ct::dynamic_slice<{listed(shape)}>({x.name}, {starts})", shape, x.bound)
        return
    updates = body.pick(lambda v: len(v.shape) == len(x.shape) and is_static(v.shape) and all(a <= b for a, b in zip(v.shape, x.shape)))
    body.add(f"ct::dynamic_update_slice({x.name}, {updates.name}, {starts})", x.shape, max(x.bound, updates.bound))


# ---- functions of functions ----


def next_carry(body, carry, shape):
    """What a turn of a loop makes of a carry."""
    x = body.pick(lambda v: v.shape == shape and v in body.made())
    if not x:
        return f"ct::sin({carry})"
    return body.rng.choice([f"ct::tanh({x.name})", f"ct::sin({x.name} + 0.5 * {carry})", f"{x.name} * {1 / (1 + x.bound):.4g}"])


@operation(3)
def fori_loop(body):
    x = None if body.outer else body.pick(lambda v: v.shape and is_static(v.shape))
    if not x:
        return
    y = body.pick(lambda v: is_static(v.shape) and (v.shape == x.shape or body.chance(0.2))) or x
    c, d, s, t = body.name(), body.name(), body.name(), body.name()
    turn = body.inner([Value(c, x.shape, 1), Value(d, y.shape, 1)] + [v for v in body.values if is_static(v.shape)][-3:], body.most, body.arguments)
    turn.grow(body.rng.randint(1, 5))
    first, second = next_carry(turn, c, x.shape), body.rng.choice([c if x.shape == y.shape else d, next_carry(turn, d, y.shape), next_carry(turn, d, y.shape)])
    if x.shape == y.shape and body.chance(0.3):  # they change places
        first = body.rng.choice([f"ct::sin({d})", d])
    kept = f"const auto {c} = std::get<0>({s}); const auto {d} = std::get<1>({s});"
    body.lines.append(f"const auto {t} = ct::fori_loop<0, {body.rng.choice([1, 2, 3, 5])}>([&](auto, auto {s}) {{ {kept} {' '.join(turn.lines)} "
                      f"return std::tuple({first}, {second}); }}, std::tuple(ct::sin({x.name}), ct::sin({y.name})));")
    body.add(f"std::get<0>({t})", x.shape, 1)
    body.add(f"std::get<1>({t})", y.shape, 1)


@operation(2)
def scan(body):
    x = None if body.outer else body.pick(lambda v: v.shape and number(v.shape[0]) <= 1000 and size(v.shape[1:]) <= 400)
    carry = x and body.pick(lambda v: size(v.shape) <= 400 and is_static(v.shape))
    if not carry:
        return
    c, e, t = body.name(), body.name(), body.name()
    turn = body.inner([Value(c, carry.shape, 1), Value(e, x.shape[1:], x.bound)] + [v for v in body.values if size(v.shape) <= 100 and is_static(v.shape)][:2], 400)
    turn.grow(body.rng.randint(1, 6))
    y = turn.pick(lambda v: v in turn.made())
    if not y:
        return
    body.lines.append(f"const auto {t} = ct::scan([&](auto {c}, auto {e}) {{ {' '.join(turn.lines)} return std::tuple({next_carry(turn, c, carry.shape)}, {y.name}); }}, "
                      f"{carry.name}, {x.name}{body.rng.choice(['', '', ', ct::reverse'])});")
    body.add(f"std::get<0>({t})", carry.shape, max(1, carry.bound))
    body.add(f"std::get<1>({t})", (x.shape[0],) + y.shape, y.bound)


def turns(body, count):
    """A loop of count % 4 turns."""
    x = body.pick()
    s, c = body.name(), body.name()
    turn = body.inner([Value(c, x.shape, 1)], body.most)
    turn.grow(body.rng.randint(1, 4))
    body.add(f"std::get<1>(ct::while_loop([](auto {s}) {{ return std::get<0>({s}) > 0; }}, [&](auto {s}) {{ const auto {c} = std::get<1>({s}); {' '.join(turn.lines)} "
             f"return std::tuple(std::get<0>({s}) - 1, {next_carry(turn, c, x.shape)}); }}, std::tuple({count} % 4, ct::sin({x.name}))))", x.shape, 1)


def branch(body, x, shape):
    """A function of x that returns an array of a shape; None if it found none."""
    name = body.name()
    inner = body.inner([Value(name, x.shape, x.bound)] + [v for v in body.values if size(v.shape) <= 100 and is_static(v.shape)][:2], body.most, body.arguments)
    inner.grow(body.rng.randint(1, 4))
    y = inner.pick(lambda v: v in inner.made() and (v.shape == shape or shape is None) and is_static(v.shape))
    return (f"[&](auto {name}) {{ {' '.join(inner.lines)} return {y.name}; }}", y) if y else (None, None)


@operation(2)
def cond(body):
    x = body.pick(lambda v: v.shape and is_static(v.shape) and size(v.shape) > 0)
    if not x:
        return
    f, y = branch(body, x, None)
    g = y and branch(body, x, y.shape)[0]
    if not f or not g:
        return
    chosen = body.pick(lambda v: v.shape == ()) or Value(f"{x.name}({listed(['ct::index<0>'] * len(x.shape))})", (), 1)
    body.add(f"ct::cond({chosen.name} > {THRESHOLD}, {f}, {g}, {x.name})", y.shape, y.bound)


@operation(1)
def checkpoint(body):
    x = body.pick(lambda v: is_static(v.shape))
    f, y = branch(body, x, None) if x else (None, None)
    if f:
        body.add(f"ct::checkpoint({f})({x.name})", y.shape, y.bound)


@operation(1)
def associative_scan(body):
    if x := None if body.outer else body.pick(lambda v: v.shape and is_static(v.shape) and size(v.shape) > 0):
        axis = body.rng.randrange(len(x.shape))
        body.add(f"ct::associative_scan([](auto a, auto b) {{ return {body.rng.choice(['a + b', 'ct::maximum(a, b)', 'a * ct::cos(b)'][:1 if body.differentiable else 2])}; }}, {x.name}, ct::axis<{axis}>) * {1 / x.shape[axis]:.4g}", x.shape, x.bound)


@operation(3)
def vmap(body):
    x = None if body.outer else body.pick(lambda v: len(v.shape) > 1 and size(v.shape[1:]) <= 300)
    if not x:
        return
    is_mapped = lambda v: v.shape and v.shape[0] == x.shape[0] and size(v.shape[1:]) <= 300
    operands, axes = [x], ["0"]
    for _ in range(body.rng.choice([0, 1, 1, 2])):
        y = body.pick(lambda v: v not in operands and (is_mapped(v) or size(v.shape) <= 100))
        if y:
            operands.append(y)
            axes.append("0" if is_mapped(y) and (number(y.shape[0]) >= 100 or body.chance(0.6)) else "ct::none")
    names = [body.name() for y in operands]
    element = body.inner([Value(name, y.shape[1:] if axis == "0" else y.shape, y.bound) for name, y, axis in zip(names, operands, axes)], 300,
                         body.arguments if body.chance(0.3) else None)
    if body.arguments and x.shape[0] not in (0, RUN_TIME) and body.chance(0.4):  # each has a number of its own
        table = body.pick(lambda v: v.shape and v.shape[0] not in (0, RUN_TIME) and size(v.shape[1:]) <= 300 and is_static(v.shape))
        if table:
            own = body.name()
            operands.append(Value(body.arguments.index((x.shape[0],), table.shape[0]), (), 1))
            axes.append("0")
            names.append(own)
            element.add(f"{table.name}({own})", table.shape[1:], table.bound)
            if not body.differentiable and body.chance(0.5):
                turns(element, own)
    element.grow(body.rng.choice([2, 4, 8, 16]))
    if not body.differentiable and body.chance(0.5) and len(element.made()) > 0:  # numbers have more derivatives
        last = element.pick(lambda v: v in element.made())
        element.add(f"ct::sum(ct::square({last.name})) * {1 / size(last.shape):.4g}" if size(last.shape) else "0.0", (), last.bound ** 2)
    y = element.pick(lambda v: v in element.made() and is_static(v.shape))
    if not y:
        return
    f = f"[&]({listed('auto ' + name for name in names)}) {{ {' '.join(element.lines)} return {y.name}; }}"
    form, shape, bound = "{}", y.shape, y.bound
    own = operands[0].shape[1:]
    loops = any("while_loop" in line for line in element.lines)  # through which there is no way back
    if own and not body.differentiable and size(own) <= 24 and body.chance(0.5):  # the derivative by the first
        if y.shape == ():
            derivative = body.rng.choice(["grad", "hessian", "jacfwd"])
            derivative = "jacfwd" if loops else derivative
            form, shape = f"ct::{derivative}({{}})", own + (own if derivative == "hessian" else ())
        elif size(y.shape) <= 24 and len(y.shape + own) < 4:
            form, shape = body.rng.choice(["ct::jacfwd({})", "ct::jacrev({})"]), y.shape + own
            form = "ct::jacfwd({})" if loops else form
        bound = 4 * bound
    body.add(f"ct::vmap({form.format(f)}, ct::in_axes<{listed(axes)}>)({listed(v.name for v in operands)})", (x.shape[0],) + shape, bound)


# ---- programs ----

SHAPES = {
    "square": [[(300, 300)], [(300, 300), (300,)], [(257, 257), (257, 257)], [(20, 64, 64)], [(20, 64, 64), (64, 64)], [(64, 64, 20)], [(320, 320), (320, 1)],
               [(300, 300), (300, 300), (300,)], [(270, 270), (270, 5)]],
    "long": [[(3000, 24), (9, 24, 24), (24, 24)], [(2500, 20), (20, 20), (2500, 20)], [(1000, 24), (1000, 24), (24, 24)], [(6001, 10), (10, 10), (6001,)],
             [(40, 200, 16), (16, 16)], [(7, 1000, 12), (7, 12, 12)], [(300, 24), (24, 24), (300,)], [(5000, 24), (24, 24), (24,)], [(9000, 8), (8, 8)],
             [(9000, 8), (8,)], [(100000,)], [(100000,), (100000,)], [(3000, 24), (7, 24, 24), (24,)], [(2500, 32), (32, 32), (32, 32)], [(4097, 17), (17, 17)],
             [(1000, 12), (5, 12, 12), (5, 12)], [(70000, 3), (3, 3), (3,)]],
    "run_time": [[(RUN_TIME, 24), (24, 24), (24,)], [(RUN_TIME, 8), (8, 8)], [(RUN_TIME, 24), (6, 24, 24)], [(RUN_TIME, 3), (3, 3), (3,)], [(RUN_TIME,), (3,)],
                 [(RUN_TIME, 16), (RUN_TIME, 16), (16, 16)]],
    "small": [[(0, 3), (3, 3)], [(1, 5), (5, 1), (5,)], [(3, 3), (3, 3), (3,)], [(5,), (5, 5)], [(4, 4, 4), (4, 4)], [(7,), (1,)], [(2, 0, 3), (3,)], [(1, 1), (1,)],
              [(9, 9, 3), (3,)], [(17, 16), (16, 16)]],
    "instances": [[(1000, 3), (1000, 3, 3), (3,)], [(513, 4), (513, 4)], [(2000, 3), (3, 3)], [(130, 6), (6, 6), (6,)], [(20000, 3, 3), (20000, 3)], [(40000, 2), (2, 2)],
                  [(700, 6, 4), (4, 4)], [(300, 8, 3), (300, 8, 3), (3, 3)], [(517, 12), (12, 12)], [(260, 5, 5), (5,)]],
    "turns": [[(200, 4), (4,), (4, 4)], [(50, 3, 3), (3, 3)], [(1000,), (3,)], [(300, 8), (8, 8), (8,)], [(33, 40), (40,), (40, 40)]],
}
VIEWS = dict(unary=10, binary=12, transpose=20, flip=7, roll=7, slice_=5, reshape=4, cumulate=18, reduce=9, matmul=5, sort=4, concatenate=3, scatter=2, take=2, softmax=2, triangle=2)
PRODUCTS = dict(unary=10, binary=12, einsum=14, matmul=22, transpose=6, reduce=7, softmax=3, triangle=4, where=4, slice_=3, flip=2, concatenate=3, roll=2, vmap=2, take=2, scatter=2)
INDICES = dict(unary=10, binary=12, gather=16, take=14, scatter=6, transpose=6, flip=3, at_run_time=8, softmax=5, reduce=6, vmap=3, matmul=4, cumulate=3, where=3, concatenate=3)
LOOPS = dict(unary=10, binary=12, fori_loop=18, transpose=8, flip=4, take=4, gather=3, cumulate=5, reduce=6, matmul=4, slice_=3, roll=4, scatter=4, at_run_time=4, concatenate=4)
PROFILES = [  # weight, kinds of shapes, weights of operations (others: 0.6)
    (30, ["square"], VIEWS), (28, ["long", "long", "run_time"], PRODUCTS), (8, ["square", "long", "square", "instances"], INDICES), (12, ["square", "turns", "long"], LOOPS),
    (8, ["square", "long", "run_time", "small"], {}), (14, ["instances"], dict(vmap=25)), (6, ["turns"], dict(scan=20)),
]


def loss_of(rng, outputs):
    return " + ".join(rng.choice(["ct::sum({})", "ct::sum(ct::square({}))", "ct::sum(ct::sin({}))"]).format(v.name) for v in outputs)


def program(seed):
    """The program of a seed: a function and its test."""
    rng = random.Random(seed)
    _, kinds, weights = rng.choices(PROFILES, [p[0] for p in PROFILES])[0]
    kind = rng.choice(kinds)
    shapes = rng.choice(SHAPES[kind])
    mode = rng.choices(["value", "value_and_grad", "grad", "jvp", "jvp of grad"], [8, 6.5, 4, 2, 1.5])[0]
    element = "float" if mode == "value" and rng.random() < 0.25 else "double"
    arguments = Arguments(rng)
    body = Body(rng, "v", arguments, 240000 if any(size(s) > 80000 for s in shapes) else 150000, weights and {**{name: 0.6 for name in OPERATIONS}, **weights}, mode != "value")
    body.element = element
    for j, shape in enumerate(shapes):
        arguments.names.append(f"a{j}")
        extents = [e for e in shape if e != RUN_TIME]
        arguments.values.append(f"random_programs::rows<{listed([element] + extents)}>(n, {j})" if len(extents) < len(shape) else f"between<{listed([element] + extents)}>(-1, 1, {j})")
        body.values.append(Value(f"a{j}", shape, 1, True))
    floating = listed(arguments.names)
    body.grow(rng.randint(3, 8 if mode.startswith("jvp") else 11))
    made = body.made()
    outputs = [v for v in made if v.uses == 0][:5]
    outputs += rng.sample([v for v in made if v.uses > 0], min(rng.choice([0, 1, 1, 2]), sum(v.uses > 0 for v in made)))
    rng.shuffle(outputs)

    lines = "\n  ".join(body.lines)
    parameters, f = listed("auto " + name for name in arguments.names), f"program_{seed}"
    if mode == "value":
        inside = f"{lines}\n  return std::tuple({listed(v.name for v in outputs)});"
    else:
        wrt = f"ct::wrt<{listed(range(len(shapes)))}>" if rng.random() < 0.7 else f"ct::wrt<{rng.randrange(len(shapes))}>"
        tangents = f"std::tuple({floating}), std::tuple({listed(f'ct::cos({name})' for name in floating.split(', '))})"
        result = {"value_and_grad": f"ct::value_and_grad(loss, {wrt})({floating})", "grad": f"ct::grad(loss, {wrt})({floating})", "jvp": f"ct::jvp(loss, {tangents})",
                  "jvp of grad": f"ct::jvp(ct::grad(loss, ct::wrt<0>), {tangents})"}[mode]
        inside = f"const auto loss = [&]({listed('auto ' + name for name in floating.split(', '))}) {{\n  {lines}\n  return {loss_of(rng, outputs)};\n  }};\n  return {result};"
    tolerance = "2e-4" if element == "float" else "1e-11" if mode == "value" else "1e-10"
    check = f"random_programs::check({seed}, {f}, {tolerance}, {listed(arguments.values)});"
    if kind == "run_time":
        check = f"for (const int n : {{{rng.choice(['3001, 1', '1000, 0', '2048, 17', '4097'])}}}) {check}"
    return f"/// {kind} {listed(shapes)}, {mode}\nconstexpr auto {f} = []({parameters}) {{\n  {inside}\n}};\nTEST_CASE(\"random program {seed}\") {{ {check} }}\n"


def test_of(seeds):
    unused = [f'#pragma GCC diagnostic ignored "-Wunused-{what}"' for what in ("parameter", "variable", "but-set-variable")]
    head = ['#include "random_programs.hpp"', "", *unused, "", "namespace ct = cotangent;", "using namespace checks;", "", "namespace {", ""]
    return "\n".join(head + [program(s) for s in seeds] + ["}  // namespace", ""])


def search(first, seconds):
    folder = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / "random_programs"
    folder.mkdir(exist_ok=True)
    command = [os.environ.get("CXX", "g++")] + os.environ["CXXFLAGS"].split()
    libraries = os.environ.get("LIBRARIES", "").split()

    def run(seeds):
        source, program = folder / f"{seeds[0]}.cpp", folder / f"{seeds[0]}"
        source.write_text(test_of(seeds))
        begin = time.monotonic()
        try:
            built = subprocess.run(command + [str(source), "-o", str(program)] + libraries, capture_output=True, text=True, timeout=120 * len(seeds))
            error = "\n".join(line for line in built.stderr.splitlines() if "error" in line) if built.returncode else ""
            if built.returncode == 0:
                ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=60 * len(seeds))
                error = ran.stdout[-2000:] + ran.stderr[-1000:] if ran.returncode else ""
        except subprocess.TimeoutExpired as late:
            error = f"stopped: {late}"
        program.unlink(missing_ok=True)
        if error and len(seeds) > 1:
            for s in seeds:
                run([s])
        elif error:
            print(f"{source}: {error}", flush=True)
        else:
            source.unlink()
        if (taken := time.monotonic() - begin) > 30 * len(seeds):
            print(f"seeds {listed(seeds)}: {taken:.0f} s", flush=True)

    end, seed = time.monotonic() + seconds, first
    while time.monotonic() < end:
        run(list(range(seed, seed + 3)))
        seed += 3
    print(f"{seed - first} programs from seed {first}")


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "search":
        search(int(sys.argv[2]), float(sys.argv[3]))
    elif len(sys.argv) == 3:
        print(test_of(range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2]))), end="")
    else:
        sys.exit(__doc__)
