#!/usr/bin/env python3
"""The JAX side of ./bench/cuda/run: the programs of programs.cu, timed in the same way."""

import json
import statistics
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
random = np.random.default_rng(1)


def numbers(*shape, low=-1.0, high=1.0, dtype=np.float32):
    return jnp.asarray(random.uniform(low, high, shape).astype(dtype))


def measure(name, f, *arguments):
    """The median time of a call when calls follow each other without a wait, over samples of several calls."""
    f = jax.jit(f)
    jax.block_until_ready(f(*arguments))
    calls, times = 1, []
    for sample in range(25):
        start = time.perf_counter()
        for _ in range(calls):
            out = f(*arguments)
        jax.block_until_ready(out)
        took = 1e3 * (time.perf_counter() - start)
        if sample >= 4:
            times.append(took / calls)
        else:
            calls = int(min(max(20 / (took / calls), 1), 20000))
    print(json.dumps({"name": name, "ms": statistics.median(times)}), flush=True)


def chain(operations, x):
    for k in range(operations):
        x = x * 0.75 + 0.25 if k % 2 == 0 else jnp.tanh(x)
    return x


def layer_norm(x):
    centered = x - jnp.mean(x, -1, keepdims=True)
    return centered / jnp.sqrt(jnp.mean(jnp.square(centered), -1, keepdims=True) + 1e-5)


def backward(f):
    return lambda x, g: jax.vjp(f, x)[1](g)[0]


def call_price(s, k, t, r, sigma):
    def cdf(x):
        return 0.5 + 0.5 * jax.lax.erf(0.70710678 * x)

    deviation = sigma * jnp.sqrt(t)
    d1 = (jnp.log(s / k) + (r + 0.5 * sigma * sigma) * t) / deviation
    return s * cdf(d1) - k * jnp.exp(-(r * t)) * cdf(d1 - deviation)


def lorenz_field(s, p):
    (x, y, z), (sigma, rho, beta) = s, p
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


def moved(s, by, h):
    return tuple(a + h * b for a, b in zip(s, by))


def lorenz(s, p):
    def step(_, now):
        a = lorenz_field(now, p)
        b = lorenz_field(moved(now, a, 0.005), p)
        c = lorenz_field(moved(now, b, 0.005), p)
        d = lorenz_field(moved(now, c, 0.01), p)
        return moved(moved(moved(moved(now, a, 0.01 / 6), b, 0.01 / 3), c, 0.01 / 3), d, 0.01 / 6)

    return jax.lax.fori_loop(0, 1000, step, s)


def rotated(r, x):
    angle = jnp.sqrt(jnp.sum(r * r))
    c, s, w = jnp.cos(angle), jnp.sin(angle), r / angle
    return x * c + jnp.cross(w, x) * s + w * (jnp.dot(w, x) * (1 - c))


def residual(camera, x, w, feature):
    seen = rotated(camera[:3], x - camera[3:6])
    p = seen[:2] / seen[2]
    squares = jnp.sum(p * p)
    distortion = 1 + camera[9] * squares + camera[10] * squares * squares
    return w * (camera[7:9] + p * (camera[6] * distortion) - feature)


def ba_jacobian(cameras, points, w, features, camera_of, point_of):
    return jax.vmap(jax.jacrev(residual, (0, 1, 2)))(cameras[camera_of], points[point_of], w, features)


def network_loss(weights, x, y):
    w1, b1, w2, b2, w3, b3 = weights
    hidden = jax.nn.gelu(jax.nn.gelu(x @ w1 + b1) @ w2 + b2)
    return -jnp.mean(jnp.sum(y * jax.nn.log_softmax(hidden @ w3 + b3), -1))


def network_step(weights, x, y):
    return tuple(w - 0.01 * g for w, g in zip(weights, jax.grad(network_loss)(weights, x, y)))


def attention(q, k, v):
    return jax.vmap(lambda q, k, v: jax.nn.softmax(0.125 * (q @ k.T)) @ v)(q, k, v)


def heat(u):
    def step(_, v):
        return v + 0.2 * (jnp.roll(v, 1, 0) + jnp.roll(v, -1, 0) + jnp.roll(v, 1, 1) + jnp.roll(v, -1, 1) - 4.0 * v)

    return jax.lax.fori_loop(0, 100, step, u)


def main():
    # Float32 products in float32, as cuBLAS computes them for the other side.
    jax.config.update("jax_default_matmul_precision", "highest")
    print(json.dumps({"device": str(jax.devices()[0].device_kind)}), flush=True)
    x = numbers(1 << 26)
    for operations in (4, 20, 100):
        measure(f"chain of {operations}, forward", partial(chain, operations), x)
        measure(f"chain of {operations}, gradient", jax.grad(lambda v, n=operations: jnp.sum(chain(n, v))), x)
    x, g = numbers(32768, 1024), numbers(32768, 1024)
    measure("softmax, forward", jax.nn.softmax, x)
    measure("softmax, backward", backward(jax.nn.softmax), x, g)
    measure("layer norm, forward", layer_norm, x)
    measure("layer norm, backward", backward(layer_norm), x, g)
    measure("sum of rows", lambda v: jnp.sum(v, 1), x)
    measure("sum of columns", lambda v: jnp.sum(v, 0), x)
    measure("sum of all", jnp.sum, x)
    n = 1 << 24
    options = (numbers(n, low=50, high=150), numbers(n, low=50, high=150), numbers(n, low=0.2, high=2))
    greeks = jax.vmap(jax.value_and_grad(call_price, (0, 2, 3, 4)), (0, 0, 0, None, 0))
    measure("Black-Scholes with gradient", greeks, *options, jnp.float32(0.03), numbers(n, low=0.1, high=0.5))
    n = 65536
    state, p = (numbers(n), numbers(n), numbers(n, low=20, high=30)), tuple(jnp.float32(v) for v in (10, 28, 8 / 3))
    measure("Lorenz, 1000 steps", jax.vmap(lorenz, (0, None)), state, p)
    measure("Lorenz, gradient", jax.vmap(jax.grad(lambda s, p: lorenz(s, p)[2]), (0, None)), state, p)
    n, f64 = 31843, np.float64
    i = jnp.arange(n, dtype=jnp.int32)
    measure("BA Jacobian", ba_jacobian, numbers(49, 11, dtype=f64), numbers(7776, 3, low=2, high=3, dtype=f64), numbers(n, dtype=f64),
            numbers(n, 2, dtype=f64), i * 7919 % 49, i * 31 % 7776)
    weights = tuple(numbers(*shape, low=-0.05, high=0.05) for shape in ((784, 512), (512,), (512, 512), (512,), (512, 10), (10,)))
    measure("MLP training step", network_step, weights, numbers(4096, 784), numbers(4096, 10, low=0, high=0.2))
    measure("attention", attention, *(numbers(64, 1024, 64) for _ in range(3)))
    measure("2-D stencil, 100 steps", heat, numbers(4096, 4096))
    measure("small program", partial(chain, 4), numbers(512))


main()
