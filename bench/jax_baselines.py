#!/usr/bin/env python3
"""The benchmarks' programs in JAX on the CPU: jax_baselines.py [GROUP...] [--threads N] [--quick] [--json FILE]

Groups: mlp, chain, call, decompositions, loops, samples, simulation. Rows are {"group", "case", "threads", "ms"}, ms the median, or MiB where "unit" says so.
float32 (the rigid body and decompositions float64), jit, donated parameters; the process is held to N cores (default 2), which XLA's thread pool follows.
"""

import argparse
import json
import os
import statistics
import sys
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("groups", nargs="*")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--quick", action="store_true")
parser.add_argument("--json")
options = parser.parse_intermixed_args()

# Before JAX is imported: it sizes its thread pool by the cores that it may use.
cores = sorted(os.sched_getaffinity(0))
threads = min(options.threads, len(cores))
os.sched_setaffinity(0, cores[:threads])
os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}"
os.environ.setdefault("OMP_NUM_THREADS", str(threads))
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

rows = []


def record(group, case, seconds):
    rows.append({"group": group, "case": case, "threads": threads, "ms": statistics.median(seconds) * 1e3})
    print(f"{group:8} {case:44} {rows[-1]['ms']:14.6f} ms", file=sys.stderr)


def timed(f, repetitions=41, sample_ms=2.0):
    """Seconds per call of f, which waits for its result: samples of as many calls as fill sample_ms."""
    f()
    start = time.perf_counter()
    f()
    calls = max(1, int(sample_ms / 1e3 / max(time.perf_counter() - start, 1e-9)))
    samples = []
    for _ in range(max(5, repetitions // (5 if options.quick else 1))):
        start = time.perf_counter()
        for _ in range(calls):
            f()
        samples.append((time.perf_counter() - start) / calls)
    return samples


# The network of the main job.

WIDTHS = [784, 512, 256, 10]


def initial_weights(rows_, cols):
    """As mlp_eigen::initialize."""
    k = np.arange(rows_ * cols, dtype=np.float64)
    w = np.sqrt(2 / rows_) * np.sqrt(2) * np.sin(0.7 * k + 1e-3 * (k * k / rows_))
    return jnp.array(w.astype(np.float32).reshape(rows_, cols))


def loss(parameters, x, y):
    for w, b in parameters[:-1]:
        x = jax.nn.gelu(x @ w + b)
    w, b = parameters[-1]
    logits = jax.nn.log_softmax(x @ w + b)
    return -jnp.mean(jnp.take_along_axis(logits, y[:, None], axis=1))


def adam_step(state, x, y):
    parameters, m, v, t = state
    value, gradient = jax.value_and_grad(loss)(parameters, x, y)
    t = t + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, gradient)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * jnp.square(g), v, gradient)
    c1, c2 = 1 / (1 - 0.9**t), 1 / (1 - 0.999**t)
    parameters = jax.tree.map(lambda p, m, v: p - 1e-3 * (m * c1) / (jnp.sqrt(v * c2) + 1e-8), parameters, m, v)
    return (parameters, m, v, t), value


def initial_state():
    parameters = [(initial_weights(a, b), jnp.zeros(b, jnp.float32)) for a, b in zip(WIDTHS, WIDTHS[1:])]
    zeros = lambda: jax.tree.map(jnp.zeros_like, parameters)  # noqa: E731
    return parameters, zeros(), zeros(), jnp.float32(0)


def mlp():
    batch, examples = 256, 60000
    i = np.arange(examples * 784, dtype=np.float64)
    images = jnp.array((0.5 + 0.5 * np.sin(i * i)).astype(np.float32).reshape(examples, 784))
    labels = jnp.array(np.arange(examples) * 7 % 10, dtype=jnp.int32)
    step = jax.jit(adam_step, donate_argnums=0)

    state, x, y = initial_state(), images[:batch], labels[:batch]
    samples = []
    for k in range(100 if options.quick else 600):
        start = time.perf_counter()
        state, value = step(state, x, y)
        jax.block_until_ready((state, value))
        samples.append(time.perf_counter() - start)
        if k == 19:
            print(f"mlp: loss after 20 steps {float(value):.6f} (by hand: 1.764762)", file=sys.stderr)
    record("mlp", "train step, batch 256", samples[10:])

    # An epoch: shuffled minibatches gathered inside the compiled step, the partial batch at the end included.
    gather_step = jax.jit(lambda s, images, labels, k: adam_step(s, images[k], labels[k]), donate_argnums=0)
    random = np.random.default_rng(0)
    samples = []
    for epoch in range(2 if options.quick else 6):
        order = random.permutation(examples).astype(np.int32)
        start = time.perf_counter()
        for first in range(0, examples, batch):
            state, value = gather_step(state, images, labels, order[first : first + batch])
        jax.block_until_ready((state, value))
        samples.append(time.perf_counter() - start)
    record("mlp", "epoch of 60000, batch 256", samples[1:])  # the first one compiles


# Chains of pointwise operations; baselines/chains.hpp has the same ones.


def compute_chain(h, operations):
    for _ in range(operations // 4):
        h = h * 0.9
        h = h + 0.1
        h = jnp.sin(h)
        h = h * h
    return h


def memory_chain(h, operations):
    for _ in range(operations // 4):
        h = h * 0.9
        h = h + 0.1
        h = jnp.maximum(h, 0.2)
        h = h * 1.1
    return h


def chain():
    sizes = [("1k", 1 << 10), ("64k", 1 << 16), ("16M", 1 << 24)]
    for name, size in sizes:
        x = jnp.array((np.arange(size) % 1000).astype(np.float32) * np.float32(1e-3))
        for kind, body in ("compute", compute_chain), ("memory", memory_chain):
            for operations in 4, 20, 100:
                programs = {
                    "forward": jax.jit(lambda x, body=body, n=operations: body(x, n)),
                    "grad": jax.jit(jax.grad(lambda x, body=body, n=operations: jnp.sum(body(x, n)))),
                }
                for direction, f in programs.items():
                    samples = timed(lambda: f(x).block_until_ready(), repetitions=15 if size > 1 << 20 else 41)
                    record("chain", f"{operations} {kind} operations, {name}, {direction}", samples)


# What a call costs.


def call():
    a, b = jnp.float32(1.25), jnp.float32(0.5)
    u, v = jnp.array([0.1, 0.2, 0.3], jnp.float32), jnp.array([1.0, 2.0, 3.0], jnp.float32)
    scalars = lambda x, y: x * y + jnp.sin(x)  # noqa: E731
    vectors = lambda x, y: jnp.sum(jnp.sin(x) * y)  # noqa: E731
    for case, f, x, y in ("two scalars", scalars, a, b), ("two 3-vectors", vectors, u, v):
        compiled, gradient = jax.jit(f), jax.jit(jax.grad(f))
        record("call", case, timed(lambda: compiled(x, y).block_until_ready()))
        record("call", f"{case}, grad", timed(lambda: gradient(x, y).block_until_ready()))
    product = jax.jit(jnp.matmul)
    for dtype, m, k, n in (("float64", 4, 4, 4), ("float64", 8, 8, 8), ("float32", 16, 16, 16), ("float64", 16, 16, 16), ("float64", 32, 32, 32), ("float64", 6, 6, 1), ("float64", 12, 12, 1), ("float32", 32, 32, 1)):  # fmt: skip
        with jax.enable_x64(True):
            a, b = jnp.ones((m, k), dtype), jnp.ones((k,) if n == 1 else (k, n), dtype)
            record("call", f"[{m}, {k}] times [{k}{'' if n == 1 else f', {n}'}], {dtype}", timed(lambda: product(a, b).block_until_ready()))
    with jax.enable_x64(True):
        for n in 3, 4, 6, 12:
            i = jnp.arange(n)
            a, b = jnp.where(i[:, None] == i, float(n), 0.5 / (1 + abs(i[:, None] - i))), 0.2 * (i % 5)
            solve, cholesky, inverse = jax.jit(jnp.linalg.solve), jax.jit(jnp.linalg.cholesky), jax.jit(jnp.linalg.inv)
            record("call", f"solve, [{n}, {n}], float64", timed(lambda: solve(a, b).block_until_ready()))
            record("call", f"cholesky, [{n}, {n}], float64", timed(lambda: cholesky(a).block_until_ready()))
            record("call", f"inv, [{n}, {n}], float64", timed(lambda: inverse(a).block_until_ready()))
        eigh, svd = jax.jit(jnp.linalg.eigh), jax.jit(jnp.linalg.svd)
        for n in 3, 6:
            i = jnp.arange(n)
            a = jnp.where(i[:, None] == i, n + 2.0 * i, 0.5 / (1 + abs(i[:, None] - i)))
            record("call", f"eigh, [{n}, {n}], float64", timed(lambda: eigh(a)[1].block_until_ready()))
            record("call", f"svd, [{n}, {n}], float64", timed(lambda: svd(a)[2].block_until_ready()))


# Loops: bench/loops has the same ones.


def body_step(state, parameters):
    x, y, z, u, v, w, roll, pitch, yaw, p, q, r = state
    thrust, l, m, n, drag = parameters
    dt, gravity, ix, iy, iz = 1e-3, 9.81, 0.02, 0.03, 0.04
    sa, ca, sb, cb, sc, cc = jnp.sin(roll), jnp.cos(roll), jnp.sin(pitch), jnp.cos(pitch), jnp.sin(yaw), jnp.cos(yaw)
    return (
        x + dt * u, y + dt * v, z + dt * w,
        u + dt * (thrust * (ca * sb * cc + sa * sc) - drag * u),
        v + dt * (thrust * (ca * sb * sc - sa * cc) - drag * v),
        w + dt * (thrust * ca * cb - gravity - drag * w),
        roll + dt * (p + sa * sb / cb * q + ca * sb / cb * r),
        pitch + dt * (ca * q - sa * r),
        yaw + dt * ((sa * q + ca * r) / cb),
        p + dt * ((l + (iy - iz) * q * r) / ix - drag * p),
        q + dt * ((m + (iz - ix) * p * r) / iy - drag * q),
        r + dt * ((n + (ix - iy) * p * q) / iz - drag * r),
    )  # fmt: skip


def body_loss(parameters):
    zero = parameters[0] * 0.0
    start = (zero,) * 6 + (zero + 0.1, zero + 0.05, zero, zero + 0.2, zero, zero + 0.1)
    end, _ = jax.lax.scan(lambda s, _: (body_step(s, parameters), None), start, None, length=10000)
    return sum(s * s for s in end)


def heat_step(u, k):
    down = 0.5 * (k[1:] + k[:-1]) * (u[1:] - u[:-1])
    across = 0.5 * (k[:, 1:] + k[:, :-1]) * (u[:, 1:] - u[:, :-1])
    below, above = jnp.pad(down, ((0, 1), (0, 0))), jnp.pad(down, ((1, 0), (0, 0)))
    return u + 0.2 * (below - above + jnp.pad(across, ((0, 0), (0, 1))) - jnp.pad(across, ((0, 0), (1, 0))))


def heat_loss(k, start, seen):
    @jax.checkpoint
    def inner(u, _):
        return jax.lax.scan(lambda u, _: (heat_step(u, k), None), u, None, length=25)

    end, _ = jax.lax.scan(inner, start, None, length=20)
    return jnp.sum((end - seen) ** 2)


def network_loss(w, u, xs):
    def step(h, x):
        h = jnp.tanh(w @ h + u @ x)
        return h, jnp.sum(jnp.square(h))

    return jnp.sum(jax.lax.scan(step, jnp.zeros(512, jnp.float32), xs)[1])


def loops():
    recurrence = jax.jit(lambda a, c: jax.lax.fori_loop(0, 1000000, lambda _, c: a * c + 1.0, c))
    with jax.enable_x64(True):
        a, c = jnp.float64(0.99), jnp.float64(0.5)
        record("loops", "1,000,000 turns of a recurrence", timed(lambda: recurrence(a, c).block_until_ready()))
        parameters = tuple(jnp.float64(p) for p in (9.9, 0.001, -0.001, 0.0005, 0.1))
        for direction, f in ("forward", jax.jit(body_loss)), ("grad", jax.jit(jax.grad(body_loss))):
            record("loops", f"rigid body, 10,000 steps, {direction}", timed(lambda: jax.block_until_ready(f(parameters)), repetitions=15))

    i = jnp.arange(64 * 64, dtype=jnp.float32)
    k, u, seen = (0.5 + 0.3 * jnp.sin(0.01 * i)).reshape(64, 64), jnp.sin(0.37 * i).reshape(64, 64), jnp.zeros((64, 64), jnp.float32)
    for direction, f in ("forward", jax.jit(heat_loss)), ("grad", jax.jit(jax.grad(heat_loss))):
        case = f"heat equation, 64 x 64, 500 steps, {direction}"
        record("loops", case, timed(lambda: jax.block_until_ready(f(k, u, seen)), repetitions=25))
    network = [a * jnp.sin(1.37 * jnp.arange(m * n, dtype=jnp.float32) + b).reshape(m, n) for m, n, a, b in ((512, 512, 0.05, 0), (512, 32, 0.3, 1), (200, 32, 1, 2))]
    slope = jax.jit(jax.grad(network_loss, (0, 1)))
    record("loops", "recurrent network [512], 200 steps, grad", timed(lambda: jax.block_until_ready(slope(*network)), repetitions=25))
    used = jax.jit(jax.grad(heat_loss)).lower(k, u, seen).compile().memory_analysis()
    mib = (used.temp_size_in_bytes + used.output_size_in_bytes) / 2**20
    rows.append({"group": "loops", "case": f"{case}, peak memory", "threads": threads, "ms": mib, "unit": "MiB"})


# Simulations: bench/simulation/ has the same ones, each in its file.


def uniform(low, high, *shape):
    return jnp.array(np.random.default_rng(1).uniform(low, high, shape).astype(np.float32))


def simulated(case, f, *arguments):
    compiled = jax.jit(f)
    record("simulation", case, timed(lambda: jax.block_until_ready(compiled(*arguments)), repetitions=15))


def black_scholes():
    def call_price(s, k, t, r, sigma):
        cdf = lambda x: 0.5 + 0.5 * jax.scipy.special.erf(0.70710678118654752440 * x)  # noqa: E731
        deviation = sigma * jnp.sqrt(t)
        d1 = (jnp.log(s / k) + (r + 0.5 * sigma * sigma) * t) / deviation
        return s * cdf(d1) - k * jnp.exp(-(r * t)) * cdf(d1 - deviation)

    def greeks(s, k, t, r, sigma):
        price, (delta, by_time, rho, vega) = jax.value_and_grad(call_price, (0, 2, 3, 4))(s, k, t, r, sigma)
        return price, delta, jax.grad(jax.grad(call_price))(s, k, t, r, sigma), vega, -by_time, rho

    n = 10000000
    case = "Black-Scholes: price and 5 Greeks, 10 M options"
    options = uniform(50, 150, n), uniform(50, 150, n)[::-1], uniform(0.2, 2, n), jnp.float32(0.03), uniform(0.1, 0.5, n)
    simulated(case, jax.vmap(greeks, (0, 0, 0, None, 0)), *options)


def potential(squares):
    other = squares > 0
    sixth = (1 / jnp.where(other, squares, 1)) ** 3
    return jnp.where(other, 4 * (sixth * sixth - sixth), 0)


def lennard_jones():
    def pair_energy(a, b):
        return potential(jnp.sum(jnp.square(a - b)))

    def lattice(n, side, spacing):
        i = np.arange(n)
        return uniform(-0.1, 0.1, n, 3) + (spacing * np.stack((i % side, i // side % side, i // side // side), 1)).astype(np.float32)

    energy_with = lambda x, others: jnp.sum(jax.vmap(pair_energy, (None, 0))(x, others))  # noqa: E731
    energy_of_all = lambda x: 0.5 * jnp.sum(jax.vmap(energy_with, (0, None))(x, x))  # noqa: E731
    energy_of_lists = lambda x, lists: 0.5 * jnp.sum(jax.vmap(energy_with)(x, x[lists]))  # noqa: E731
    x = lattice(4096, 16, 1.2)
    simulated("Lennard-Jones: energy and forces, all pairs of 4,096", jax.value_and_grad(energy_of_all), x)
    own = lambda x: jax.vmap(jax.value_and_grad(energy_with), (0, None))(x, x)  # noqa: E731
    simulated("Lennard-Jones: all pairs, by each particle's own energy", own, x)

    n, most, side, cutoff, spacing = 100000, 48, 47, 2.5, 1.15
    x = lattice(n, side, spacing)
    at, index = np.asarray(x, np.float64), np.arange(n)
    lists, found = np.tile(index[:, None], (1, most)).astype(np.int32), np.zeros(n, np.int64)
    cell = np.stack((index % side, index // side % side, index // side // side), 1)
    for offset in np.stack(np.meshgrid(*(np.arange(-3, 4),) * 3), -1).reshape(-1, 3):
        other = cell + offset
        j = other @ np.array((1, side, side * side))
        i = index[np.all((other >= 0) & (other < side), 1) & (j < n) & (j != index)]
        i = i[np.sum((at[i] - at[j[i]]) ** 2, 1) <= cutoff**2]
        lists[i, found[i]] = j[i]
        found[i] += 1
    lists = jnp.array(lists)
    simulated("Lennard-Jones: energy and forces, 100,000 with 48 neighbours", jax.value_and_grad(energy_of_lists), x, lists)
    own = lambda x, lists: jax.vmap(jax.value_and_grad(energy_with))(x, x[lists])  # noqa: E731
    simulated("Lennard-Jones: neighbours, by each particle's own energy", own, x, lists)


def arm():
    lengths, offsets, tool = (0, 0, 0, 0.0825, -0.0825, 0, 0.088), (0.333, 0, 0.316, 0, 0.384, 0, 0), 0.107
    twists = (0, -1, 1, 1, -1, 1, 1)

    def carried(k, angle, point):
        cosine, sine, s = jnp.cos(angle), jnp.sin(angle), twists[k]
        x, y, z = cosine * point[0] - sine * point[1], sine * point[0] + cosine * point[1], point[2] + offsets[k]
        return jnp.stack((x + lengths[k], y, z) if s == 0 else (x + lengths[k], -s * z, s * y))

    def position(q, point):
        for k in reversed(range(7)):
            point = carried(k, q[k], point)
        return point

    def both(q):
        point = jnp.array([0, 0, tool], jnp.float32)
        by_angles, turned = jax.jacrev(position, argnums=(0, 1))(q, point)
        return jnp.concatenate((turned, position(q, point)[:, None]), axis=1), by_angles

    kinematics = jax.vmap(both)
    simulated("arm of 7 joints: frame and Jacobian, 1 M configurations", kinematics, uniform(-2, 2, 1000000, 7))


def both_ways(f):
    def program(cotangent, *arguments):
        y, pullback = jax.vjp(f, *arguments)
        return y, pullback(cotangent)

    return program


def network_rows():
    def layer_norm(x, gain, bias):
        centered = x - jnp.mean(x, axis=-1, keepdims=True)
        return centered * jax.lax.rsqrt(jnp.mean(jnp.square(centered), axis=-1, keepdims=True) + 1e-5) * gain + bias

    def head(q, k, v):
        return jax.nn.softmax(0.125 * (q @ k.T)) @ v

    x, g, row, table = uniform(-2, 2, 16384, 1024), uniform(-1, 1, 16384, 1024), uniform(-1, 1, 1024), uniform(-2, 2, 8, 512, 64)
    for size in "[16384, 1024]", "[16384, dyn 1024]":  # a program of JAX has static shapes
        simulated(f"softmax {size}, forward and backward", both_ways(jax.nn.softmax), g, x)
        simulated(f"layer norm {size}, forward and backward", both_ways(layer_norm), g, x, row, row)
    simulated("attention, 8 heads of [512, 64], forward and backward", both_ways(jax.vmap(head)), table, table, table, table)


def shallow_water():
    def step(state):
        h, m, n = state
        u, v, pressure = m / h, n / h, 0.5 * 9.81 * h * h

        def moved(x, along, across):
            right, left = lambda a: jnp.roll(a, -1, 1), lambda a: jnp.roll(a, 1, 1)
            below, above = lambda a: jnp.roll(a, -1, 0), lambda a: jnp.roll(a, 1, 0)
            change = right(along) - left(along) + below(across) - above(across)
            return 0.25 * (right(x) + left(x) + below(x) + above(x)) - 0.05 * change

        return moved(h, m, n), moved(m, m * u + pressure, m * v), moved(n, m * v, n * v + pressure)

    def adjoint(state, cotangent):
        return jax.vjp(step, state)[1](cotangent)[0]

    def loss(state):
        (h, _, _), _ = jax.lax.scan(lambda s, _: (step(s), None), state, None, length=10)
        return 0.5 * jnp.sum(jnp.square(h))

    state = uniform(0.8, 1.2, 1024, 1024), uniform(-0.2, 0.2, 1024, 1024), uniform(-0.2, 0.2, 1024, 1024)
    simulated("shallow water, 1024 x 1024, a step", step, state)
    simulated("shallow water, 1024 x 1024, the adjoint of a step", adjoint, state, state)
    simulated("shallow water, 1024 x 1024, gradient through 10 steps", jax.grad(loss), state)


def elements():
    mu, lame = 0.4, 0.6

    def material(f):
        log_volume = jnp.log(jnp.dot(f[:, 0], jnp.cross(f[:, 1], f[:, 2])))
        return 0.5 * mu * (jnp.sum(f * f) - 3) - mu * log_volume + 0.5 * lame * log_volume * log_volume

    def by_points(u, nodes, gradients, weights):
        f = jnp.eye(3, dtype=jnp.float32) + jnp.einsum("eai,eqaj->eqij", u[nodes], gradients)
        stress, tangent = jax.vmap(jax.vmap(jax.grad(material)))(f), jax.vmap(jax.vmap(jax.hessian(material)))(f)
        weighted = gradients * weights[:, :, None, None]
        forces = jnp.einsum("eqaj,eqij->eai", weighted, stress)
        stiffness = jnp.einsum("eqaikl,eqbl->eaibk", jnp.einsum("eqaj,eqijkl->eqaikl", weighted, tangent), gradients)
        return jnp.zeros_like(u).at[nodes].add(forces), stiffness

    def energy(u, gradients, weights):
        at = jax.vmap(lambda u, g: material(jnp.eye(3, dtype=jnp.float32) + u.T @ g), (None, 0))
        return jnp.sum(weights * at(u, gradients))

    def by_elements(u, nodes, gradients, weights):
        forces = jax.vmap(jax.grad(energy))(u[nodes], gradients, weights)
        return jnp.zeros_like(u).at[nodes].add(forces), jax.vmap(jax.hessian(energy))(u[nodes], gradients, weights)

    def block(w, d, h):
        e, a = np.arange(w * d * h)[:, None], np.arange(8)[None, :]
        x, y, z = e % w + (a & 1), e // w % d + (a >> 1 & 1), e // w // d + (a >> 2)
        corners = 2.0 * np.stack((a[0] & 1, a[0] >> 1 & 1, a[0] >> 2), 1) - 1
        local = np.zeros((8, 8, 3))
        for q in range(8):
            factor = 0.5 * (1 + corners * corners[q] / np.sqrt(3))
            for k in range(3):
                local[q, :, k] = corners[:, k] * factor[:, (k + 1) % 3] * factor[:, (k + 2) % 3]
        gradients = jnp.array(np.broadcast_to(local, (w * d * h, 8, 8, 3)).astype(np.float32))
        u = uniform(-0.05, 0.05, (w + 1) * (d + 1) * (h + 1), 3)
        return u, jnp.array((x + (w + 1) * (y + (d + 1) * z)).astype(np.int32)), gradients, jnp.full((w * d * h, 8), 0.125, jnp.float32)

    simulated("neo-Hookean hexahedra: 100,000, forces and stiffness", by_points, *block(50, 50, 40))
    simulated("neo-Hookean hexahedra: 4,000, Hessians of elements", by_elements, *block(20, 20, 10))


def nearest():
    def distances(queries, points):
        return jax.vmap(jax.vmap(lambda a, b: jnp.sum(jnp.square(a - b)), (None, 0)), (0, None))(queries, points)

    def distance_and_index(queries, points):
        d = distances(queries, points)
        return jnp.min(d, axis=1), jnp.argmin(d, axis=1)

    def eight_nearest(queries, points):
        closeness, indices = jax.lax.top_k(-distances(queries, points), 8)
        return -closeness, indices

    def through_index(queries, points):
        return jnp.sum(jnp.square(queries - points[jnp.argmin(distances(queries, points), axis=1)]))

    case, q, p = "nearest of 16,384 points to 2,048: ", uniform(0, 1, 2048, 3), uniform(0, 1, 16384, 3)[::-1]
    simulated(case + "distance and index", distance_and_index, q, p)
    simulated("8 " + case + "distances and indices", eight_nearest, q, p)
    simulated(case + "gradient through the minimum", jax.grad(lambda q, p: jnp.sum(jnp.min(distances(q, p), axis=1)), (0, 1)), q, p)
    simulated(case + "gradient through the index", jax.grad(through_index, (0, 1)), q, p)


def lorenz_field(s, parameters):
    x, y, z = s
    sigma, rho, beta = parameters
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


def moved(s, h, k):
    return tuple(a + h * b for a, b in zip(s, k))


def lorenz(start, parameters, steps):
    def step(_, s):
        h = 0.01
        k1 = lorenz_field(s, parameters)
        k2 = lorenz_field(moved(s, h / 2, k1), parameters)
        k3 = lorenz_field(moved(s, h / 2, k2), parameters)
        k4 = lorenz_field(moved(s, h, k3), parameters)
        return moved(moved(moved(moved(s, h / 6, k1), h / 3, k2), h / 3, k3), h / 6, k4)

    return jax.lax.fori_loop(0, steps, step, start)


def lorenz_of_state(s, p):
    def field(s):
        x, y, z = s
        return jnp.stack((p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z))

    def step(_, s):
        h = 0.01
        k1 = field(s)
        k2 = field(s + h / 2 * k1)
        k3 = field(s + h / 2 * k2)
        k4 = field(s + h * k3)
        return s + h / 6 * k1 + h / 3 * k2 + h / 3 * k3 + h / 6 * k4

    return jax.lax.fori_loop(0, 1000, step, s)


def lorenz_systems():
    n = 65536
    start = (1 + 1e-5 * jnp.arange(n, dtype=jnp.float32), jnp.ones(n, jnp.float32), jnp.full(n, 20, jnp.float32))
    chaotic = tuple(jnp.float32(p) for p in (10, 28, 8 / 3))
    mean_height = jax.value_and_grad(lambda p, s: jnp.mean(lorenz(s, p, 1000)[2]))
    simulated("65,536 Lorenz systems, 1,000 steps", lambda p, s: lorenz(s, p, 1000), chaotic, start)
    of_states = jax.vmap(lorenz_of_state, in_axes=(0, None))
    simulated("65,536 Lorenz systems, vmap of a state [3]", of_states, jnp.stack(start, axis=1), jnp.stack(chaotic))
    simulated("65,536 Lorenz systems, 1,000 steps: mean height and gradient", mean_height, chaotic, start)


def systems():
    def solution(a, b):
        return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b)

    def density(a, b):
        factor = jnp.linalg.cholesky(a)
        x = jax.scipy.linalg.solve_triangular(factor, b, lower=True)
        return 0.5 * jnp.sum(jnp.square(x)) + jnp.sum(jnp.log(jnp.diagonal(factor)))

    a, b = uniform(-1, 1, 131072, 6, 6), uniform(-1, 1, 131072, 6)
    a = jnp.tril(a) + jnp.swapaxes(jnp.tril(a, -1), 1, 2) + 6 * jnp.eye(6, dtype=a.dtype)
    simulated("131,072 systems of 6 unknowns: solutions", jax.vmap(solution), a, b)
    simulated("131,072 normal densities in 6 dimensions: value and gradient", jax.vmap(jax.value_and_grad(density, (0, 1))), a, b)


def simulation():
    for problem in (lorenz_systems, black_scholes, lennard_jones, arm, network_rows, shallow_water, elements, nearest, systems):
        problem()


# Losses over many samples, and their gradients by the weights.


def samples():
    n, features, hidden, targets = 60000, 64, 64, 8
    random = np.random.default_rng(1)
    normal = lambda scale, *shape: jnp.array((scale * random.standard_normal(shape)).astype(np.float32))  # noqa: E731
    x, y, w = normal(1, n, features), normal(1, n), normal(0.1, features)

    def squares(w, x, y):
        return jnp.mean(jnp.square(x @ w - y))

    def logistic(w, x, y):
        return jnp.mean(jax.nn.softplus(-jnp.sign(y) * (x @ w)))

    def network(parameters, x, y):
        w, b, v, c = parameters
        return jnp.mean(jnp.square(jnp.tanh(x @ w + b) @ v + c - y))

    parameters = (normal(0.1, features, hidden), normal(0.1, hidden), normal(0.1, hidden, targets), normal(0.1, targets))
    cases = [
        ("linear regression, 64 features", squares, (w, x, y)),
        ("logistic regression, 64 features", logistic, (w, x, y)),
        ("network 64-64-8, tanh", network, (parameters, x, normal(1, n, targets))),
    ]
    programs = [(name, jax.value_and_grad(f), arguments) for name, f, arguments in cases]
    programs.append(("products of pairs of 64 features", lambda x: x.T @ x, (x,)))
    for name, f, arguments in programs:
        compiled = jax.jit(f)
        record("samples", name, timed(lambda: jax.block_until_ready(compiled(*arguments))))


# Operations on arrays and small programs: bench/arrays/ has the same ones.


def message_slope():
    random = np.random.default_rng(1)
    ends = [jnp.array(random.integers(0, 5000, 40000, np.int32)) for _ in range(2)]
    slope = jax.grad(lambda x, source, target: jnp.sum(jnp.sin(jax.ops.segment_sum(x[source], target, 5000))))
    return "messages of 16 numbers along 40,000 edges, gradient", slope, (uniform(-1, 1, 5000, 16), *ends)


def bag_slope():
    words, bags = uniform(0, 0.1, 10000, 64), jnp.array(np.random.default_rng(1).integers(0, 10000, (10000, 16), np.int32))
    slope = jax.grad(lambda words, bags: jnp.sum(jnp.square(jnp.sum(words[bags], 1))))
    return "sums of 16 rows of 64 numbers, gradient", slope, (words, bags)


def relaxed():
    def turn(f, u):
        return u.at[1:-1, 1:-1].set(0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + f[1:-1, 1:-1]))

    name = "50 turns of Jacobi's iteration inside of [512, 512]"
    return name, lambda u, f: jax.lax.fori_loop(0, 50, lambda _, u: turn(f, u), u), (uniform(0.1, 1, 512, 512), uniform(0.1, 1, 512, 512))


def membrane():
    def energy(u, k):
        held = jnp.pad(u, 1)
        return jnp.sum(k * jnp.square(held[1:] - held[:-1])) + jnp.sum(jnp.square(held[:, 1:] - held[:, :-1]))

    return "gradient of the energy of a membrane [1024, 1024], zero around", jax.grad(energy), (uniform(-1, 1, 1024, 1024), jnp.float32(0.3))


def wave():
    def padded(difference, *sides):
        return jnp.pad(difference, sides)

    def step(e, h, g, c):
        h1, g1 = h + 0.5 * padded(jnp.diff(e, axis=0), (0, 1), (0, 0)), g + 0.5 * padded(jnp.diff(e, axis=1), (0, 0), (0, 1))
        return e + c * (padded(jnp.diff(h1, axis=0), (1, 0), (0, 0)) + padded(jnp.diff(g1, axis=1), (0, 0), (1, 0)))

    return "a step of a wave on staggered grids [512, 512], differences padded with zeros", step, tuple(uniform(0.1, 1, 512, 512) for _ in range(4))


def segments_of(name, reduce, run):
    ids = np.repeat(np.random.default_rng(1).integers(0, 1000, 100_000, np.int32), np.random.default_rng(2).geometric(1 / run, 100_000))[:100_000]
    return lambda: (name, lambda x, ids: reduce(x, ids, 1000), (uniform(0.1, 1, 100_000), jnp.array(ids)))


places = (
    lambda: ("the order of 100,000 integers", jnp.argsort, (jnp.array(np.random.default_rng(1).integers(-(1 << 29), 1 << 29, 100_000, np.int32)),)),
    lambda: ("100,000 numbers sorted", jnp.sort, (uniform(0.1, 1, 100_000),)),
    segments_of("sums of 100,000 numbers in 1,000 segments", jax.ops.segment_sum, 1),
    segments_of("the same in runs of about 3", jax.ops.segment_sum, 3),
    segments_of("the same in runs of about 100", jax.ops.segment_sum, 100),
    segments_of("the largest of 100,000 numbers in each of 1,000 segments", jax.ops.segment_max, 1),
)


def fitted():
    def residual(p, t, y):
        return p[0] * jnp.exp(-p[1] * t) + p[2] - y

    def step(p, t, y):
        j = jax.jacfwd(residual)(p, t, y)
        return p - jnp.linalg.solve(j.T @ j + 0.01 * jnp.eye(3, dtype=jnp.float32), j.T @ residual(p, t, y))

    fit = jax.vmap(lambda p, t, y: jax.lax.fori_loop(0, 10, lambda _, p: step(p, t, y), p), (0, None, 0))
    t = uniform(0, 3, 50)
    return "fits of 1,000 curves to 50 points, 10 steps", fit, (uniform(0.5, 1, 1000, 3), t, uniform(-0.02, 0.02, 1000, 50) + 0.75 * jnp.exp(-0.8 * t) + 0.7)


def quadratic():
    return "quadratic forms of 100,000 vectors [10]", jax.vmap(lambda x, a: x @ (a @ x), (0, None)), (uniform(0.1, 1, 100000, 10), uniform(0.1, 1, 10, 10))


def slope_of_layer():
    return "Jacobian of tanh(W x), W [512, 512], by reverse mode", jax.jacrev(lambda x, w: jnp.tanh(w @ x)), (uniform(-0.1, 0.1, 512), uniform(-0.1, 0.1, 512, 512))


def scaled_by_diagonals():
    return "a matrix [512, 512] between two diagonal ones", lambda w, d, e: jnp.diag(d) @ (w @ jnp.diag(e)), (uniform(0.1, 1, 512, 512), uniform(0.1, 1, 512), uniform(0.1, 1, 512))


def colours():
    image = jnp.array(np.random.default_rng(1).integers(0, 256, (512, 512, 3), np.uint8))
    return "colours of bytes [512, 512, 3] by a matrix [3, 3]", lambda x, m: x.astype(jnp.float32) @ m, (image, uniform(0.1, 1, 3, 3))


def mean_square():
    return "mean square of 1,000,000 uniform random numbers", lambda k: jnp.mean(jnp.square(jax.random.uniform(k, (1000000,)))), (jax.random.PRNGKey(7),)


def transposed():
    return "transpose of [1024, 1024]", jnp.transpose, (uniform(0.1, 1, 1024, 1024),)


def coordinates_to_points():
    return "coordinates [3, 100000] as points [100000, 3]", jnp.transpose, (uniform(0.1, 1, 3, 100000),)


def points_to_coordinates():
    return "points [100000, 3] as coordinates [3, 100000]", jnp.transpose, (uniform(0.1, 1, 100000, 3),)


def plus_transposed():
    return "a matrix [1024, 1024] plus the transpose of one", lambda x, c: c + x.T, (uniform(0.1, 1, 1024, 1024), uniform(0.1, 1, 1024, 1024))


def product():
    return "product of matrices [1024, 1024], beside Eigen's", jnp.matmul, (uniform(0.1, 1, 1024, 1024), uniform(0.1, 1, 1024, 1024))


def attention_of_a_token():
    def attended(q, keys, values):
        return jnp.einsum("bht,bthk->bhk", jax.nn.softmax(jnp.einsum("bhk,bthk->bht", q, keys)), values)

    cache = (8, 512, 4, 32)
    return "attention of a token over a cache [8, 512, 4, 32]", attended, (uniform(0.1, 1, 8, 4, 32), uniform(0.1, 1, *cache), uniform(0.1, 1, *cache))


def gate():
    applied = lambda g, x: jnp.einsum("ab,xby->xay", g, x)  # noqa: E731
    return "a matrix [2, 2] times the middle axis of [8192, 2, 32]", applied, (uniform(0.1, 1, 2, 2), uniform(0.1, 1, 8192, 2, 32))


def lattice():
    def product(a, b):
        a0, a1, a2, a3, b0, b1, b2, b3 = (q[..., k] for q in (a, b) for k in range(4))
        return jnp.stack((a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3, a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2, a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1, a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0), -1)

    def action(u):
        x, y = u
        around = product(product(x, jnp.roll(y, -1, 0)), product(y, jnp.roll(x, -1, 1)) * jnp.array([1.0, -1, -1, -1], jnp.float32))
        return jnp.sum(1 - around[..., 0])

    return "forces of a lattice [256, 256] of quaternions", jax.grad(action), (uniform(0.1, 1, 2, 256, 256, 4),)


def halves():
    x, y = uniform(0.1, 1, 1 << 22).astype(jnp.bfloat16), uniform(0.1, 1, 1 << 22).astype(jnp.bfloat16)
    return "2.5 x + y of 4 M bfloat16", lambda x, y: 2.5 * x + y, (x, y)


def complex_uniform(*shape):
    return (uniform(-1, 1, *shape) + 1j * uniform(-1, 1, *shape)).astype(jnp.complex64)


def squares():
    return "z^2 w + 1 of 1 M complex64", lambda z, w: z * z * w + 1, (complex_uniform(1 << 20), complex_uniform(1 << 20))


def roots():
    def turns(c):
        return jax.lax.fori_loop(0, 20, lambda _, z: 0.5 * (z + c / z), c)

    return "20 turns of Newton's method for roots of 1 M complex64", turns, (complex_uniform(1 << 20) + 1.5,)


def convolved(x, k, groups=1):
    return jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups)


def pool(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


convolution_x, convolution_kernel = uniform(0.1, 1, 4, 56, 56, 64), uniform(0.1, 1, 3, 3, 64, 64)
convolutions = (
    lambda: ("convolution [4, 56, 56, 64] to 64, 3 x 3", convolved, (convolution_x, convolution_kernel)),
    lambda: ("its derivative by x", lambda y, k: jax.vjp(lambda x: convolved(x, k), jnp.zeros_like(y))[1](y)[0], (convolution_x, convolution_kernel)),
    lambda: ("its derivative by the kernel", lambda x, y: jax.vjp(lambda k: convolved(x, k), jnp.zeros((3, 3, 64, 64)))[1](y)[0], (convolution_x, convolution_x)),
    lambda: ("convolution of each of 96 channels, [4, 56, 56, 96], 3 x 3", lambda x, k: convolved(x, k, 96), (uniform(0.1, 1, 4, 56, 56, 96), uniform(0.1, 1, 3, 3, 1, 96))),
    lambda: ("filter of 5 x 5 of an image [1024, 1024]", convolved, (uniform(0.1, 1, 1, 1024, 1024, 1), uniform(0.1, 1, 5, 5, 1, 1))),
    lambda: ("derivative of a pool of 3 x 3, 2 apart, of [4, 56, 56, 64]", lambda x, y: jax.vjp(pool, x)[1](y)[0], (convolution_x, uniform(0.1, 1, 4, 28, 28, 64))),
)


def transform_of(name, f, x):
    return lambda: (f"{name}, beside FFTW's", f, (x,))


transforms = (
    transform_of("Fourier transforms of the rows of [1024, 1024]", jnp.fft.fft, complex_uniform(1024, 1024)),
    transform_of("Fourier transforms of the rows of [10000, 64]", jnp.fft.fft, complex_uniform(10000, 64)),
    transform_of("Fourier transforms of the columns of [1024, 1024]", lambda x: jnp.fft.fft(x, axis=0), complex_uniform(1024, 1024)),
    transform_of("a Fourier transform of 1 M", jnp.fft.fft, complex_uniform(1 << 20)),
    transform_of("a Fourier transform of 4096", jnp.fft.fft, complex_uniform(4096)),
    transform_of("a Fourier transform of 1 M real numbers", jnp.fft.rfft, uniform(0.1, 1, 1 << 20)),
)


def arrays():
    for case in (bag_slope, message_slope, relaxed, membrane, wave, fitted, quadratic, slope_of_layer, scaled_by_diagonals, colours, mean_square, transposed, coordinates_to_points, points_to_coordinates, plus_transposed, product, attention_of_a_token, gate, lattice, halves, squares, roots, *convolutions, *places, *transforms):
        name, f, arguments = case()
        compiled = jax.jit(f)
        record("arrays", name, timed(lambda: jax.block_until_ready(compiled(*arguments))))


def decompositions():
    functions = {"eigh": jnp.linalg.eigh, "svd": lambda a: jnp.linalg.svd(a, full_matrices=False), "qr": jnp.linalg.qr}
    with jax.enable_x64(True):
        for name, f in functions.items():
            for n in (3, 6, 20, 200):
                count = 1_000_000 // (n * n) // (6 if n > 100 else 1)
                k, i, j = np.ogrid[:count, :n, :n]
                low = np.sin(1.7 * (k * n * n + i * n + j) + 0.3 * i * j)
                a = jnp.array(np.where(i >= j, low, np.swapaxes(low, 1, 2)))
                compiled = jax.jit(f)
                case = f"{name} of {count} matrices {n} x {n}"
                record("decompositions", case, timed(lambda: jax.block_until_ready(compiled(a)), repetitions=15))


def main():
    groups = {"arrays": arrays, "mlp": mlp, "chain": chain, "call": call, "decompositions": decompositions, "loops": loops, "samples": samples, "simulation": simulation}
    for name in options.groups or groups:
        if name in groups:
            groups[name]()
    if options.json:
        with open(options.json, "w") as out:
            json.dump(rows, out, indent=0)


main()
