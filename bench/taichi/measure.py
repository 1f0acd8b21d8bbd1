"""Seconds per substep of MLS-MPM in Taichi on its CPU backend, forward and backward (see run.py).

The scheme of DiffTaichi and PlasticineLab: states of every substep are kept, one dense grid, which the backward sweep
computes anew; kernels differentiated by Taichi, the singular value decomposition by hand with clamped denominators. Corotated
plasticine, slip walls, no colliders. The loss is the mean squared distance of particles from a point.
"""

import json
import pathlib
import sys
import time

import numpy as np
import taichi as ti

# Repetitions of each measurement; more while they are short, until this many seconds have passed.
REPETITIONS, SECONDS = 3, 3.0

case = json.loads(pathlib.Path(sys.argv[1]).read_text())[int(sys.argv[2])]
positions, velocities, deformations = (
    np.array(case[name], np.float32) for name in ("positions", "velocities", "deformations")
)
N, GRID, STEPS, DT = len(positions), case["nodes"], case["substeps"], case["dt"]
DX, PER_DX, MARGIN, FLOOR = 1.0 / GRID, float(GRID), case["margin"], 0.05
VOLUME, MASS, PULL = case["volume"], case["volume"] * case["density"], case["gravity"] * DT
MU = case["young"] / (2 * (1 + case["poisson"]))
LAMBDA = case["young"] * case["poisson"] / ((1 + case["poisson"]) * (1 - 2 * case["poisson"]))
RADIUS, TARGET = case["yield"] / (2 * MU), case["target"]

ti.init(
    arch=ti.cpu, default_fp=ti.f32, cpu_max_num_threads=int(sys.argv[3]), log_level=ti.ERROR, fast_math=True, flatten_if=True
)


def vectors(shape):
    return ti.Vector.field(3, ti.f32, shape, needs_grad=True)


def matrices(shape):
    return ti.Matrix.field(3, 3, ti.f32, shape, needs_grad=True)


x, v = vectors((STEPS + 1, N)), vectors((STEPS + 1, N))
C, F = matrices((STEPS + 1, N)), matrices((STEPS + 1, N))
trial, U, sigma, V, push = (matrices(N) for _ in range(5))
mass = ti.field(ti.f32, (GRID,) * 3, needs_grad=True)
momentum, velocity = vectors((GRID,) * 3), vectors((GRID,) * 3)
loss = ti.field(ti.f32, (), needs_grad=True)


@ti.kernel
def clear_grid():
    for node in ti.grouped(mass):
        mass[node] = 0
        momentum[node] = [0, 0, 0]
        velocity[node] = [0, 0, 0]


@ti.kernel
def clear_bars():
    for node in ti.grouped(mass):
        mass.grad[node] = 0
        momentum.grad[node] = [0, 0, 0]
        velocity.grad[node] = [0, 0, 0]
    for p in range(N):
        zero = ti.Matrix.zero(ti.f32, 3, 3)
        trial.grad[p] = zero
        U.grad[p] = zero
        sigma.grad[p] = zero
        V.grad[p] = zero
        push.grad[p] = zero


@ti.kernel
def clear_states():
    for s, p in x:
        zero = ti.Matrix.zero(ti.f32, 3, 3)
        x.grad[s, p] = [0, 0, 0]
        v.grad[s, p] = [0, 0, 0]
        C.grad[s, p] = zero
        F.grad[s, p] = zero


@ti.kernel
def deform(s: ti.i32):
    for p in range(N):
        trial[p] = (ti.Matrix.identity(ti.f32, 3) + DT * C[s, p]) @ F[s, p]


@ti.kernel
def decompose():
    for p in range(N):
        U[p], sigma[p], V[p] = ti.svd(trial[p])


@ti.func
def apart(a):
    """Not too close to zero."""
    out = ti.max(a, 1e-6)
    if a < 0:
        out = ti.min(a, -1e-6)
    return out


@ti.kernel
def decompose_vjp():
    for p in range(N):
        values = ti.Vector([sigma[p][0, 0], sigma[p][1, 1], sigma[p][2, 2]])
        gap = ti.Matrix.zero(ti.f32, 3, 3)
        for i, j in ti.static(ti.ndrange(3, 3)):
            if ti.static(i != j):
                gap[i, j] = 1.0 / apart(values[j] ** 2 - values[i] ** 2)
        diagonal = ti.Matrix([[values[0], 0.0, 0.0], [0.0, values[1], 0.0], [0.0, 0.0, values[2]]])
        left, right = U[p].transpose() @ U.grad[p], V[p].transpose() @ V.grad[p]
        a = (gap * (left - left.transpose())) @ diagonal
        b = diagonal @ (gap * (right - right.transpose()))
        trial.grad[p] += U[p] @ (a + b + sigma.grad[p]) @ V[p].transpose()


@ti.kernel
def stress(s: ti.i32):
    for p in range(N):
        e0 = ti.log(ti.max(sigma[p][0, 0], FLOOR))
        e1 = ti.log(ti.max(sigma[p][1, 1], FLOOR))
        e2 = ti.log(ti.max(sigma[p][2, 2], FLOOR))
        mean = (e0 + e1 + e2) / 3.0
        size = ti.sqrt((e0 - mean) ** 2 + (e1 - mean) ** 2 + (e2 - mean) ** 2 + 1e-12)
        flowed = trial[p]
        if size > RADIUS:
            k = (size - RADIUS) / size
            d0, d1, d2 = ti.exp(e0 - k * (e0 - mean)), ti.exp(e1 - k * (e1 - mean)), ti.exp(e2 - k * (e2 - mean))
            flowed = U[p] @ ti.Matrix([[d0, 0.0, 0.0], [0.0, d1, 0.0], [0.0, 0.0, d2]]) @ V[p].transpose()
        F[s + 1, p] = flowed
        J = flowed.determinant()
        tau = 2 * MU * (flowed - U[p] @ V[p].transpose()) @ flowed.transpose()
        tau += ti.Matrix.identity(ti.f32, 3) * (LAMBDA * J * (J - 1))
        push[p] = (-DT * VOLUME * 4 * PER_DX * PER_DX) * tau + MASS * C[s, p]


@ti.kernel
def scatter(s: ti.i32):
    for p in range(N):
        base = (x[s, p] * PER_DX - 0.5).cast(int)
        f = x[s, p] * PER_DX - base.cast(ti.f32)
        w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
        for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
            node = ti.Vector([i, j, k])
            weight = w[i][0] * w[j][1] * w[k][2]
            momentum[base + node] += weight * (MASS * v[s, p] + push[p] @ ((node.cast(ti.f32) - f) * DX))
            mass[base + node] += weight * MASS


@ti.kernel
def on_grid():
    for i, j, k in mass:
        if mass[i, j, k] > 1e-12:
            out = momentum[i, j, k] / mass[i, j, k] + ti.Vector([0.0, 0.0, PULL])
            if i < MARGIN:
                out[0] = ti.max(out[0], 0.0)
            if i >= GRID - MARGIN:
                out[0] = ti.min(out[0], 0.0)
            if j < MARGIN:
                out[1] = ti.max(out[1], 0.0)
            if j >= GRID - MARGIN:
                out[1] = ti.min(out[1], 0.0)
            if k < MARGIN:
                out[2] = ti.max(out[2], 0.0)
            if k >= GRID - MARGIN:
                out[2] = ti.min(out[2], 0.0)
            velocity[i, j, k] = out


@ti.kernel
def gather(s: ti.i32):
    for p in range(N):
        base = (x[s, p] * PER_DX - 0.5).cast(int)
        f = x[s, p] * PER_DX - base.cast(ti.f32)
        w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
        new_v, new_C = ti.Vector.zero(ti.f32, 3), ti.Matrix.zero(ti.f32, 3, 3)
        for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
            node = ti.Vector([i, j, k])
            weight = w[i][0] * w[j][1] * w[k][2]
            at = velocity[base + node]
            new_v += weight * at
            new_C += (4 * PER_DX * weight) * at.outer_product(node.cast(ti.f32) - f)
        v[s + 1, p], C[s + 1, p] = new_v, new_C
        x[s + 1, p] = x[s, p] + DT * new_v


@ti.kernel
def distance():
    for p in range(N):
        off = x[STEPS, p] - ti.Vector(TARGET)
        loss[None] += off.dot(off) / N


def up_to_grid(s):
    clear_grid()
    deform(s)
    decompose()
    stress(s)
    scatter(s)
    on_grid()


def forward():
    for s in range(STEPS):
        up_to_grid(s)
        gather(s)
    ti.sync()


def backward():
    clear_states()
    loss[None], loss.grad[None] = 0, 1
    distance.grad()
    for s in reversed(range(STEPS)):
        clear_bars()
        up_to_grid(s)
        gather.grad(s)
        on_grid.grad()
        scatter.grad(s)
        stress.grad(s)
        decompose_vjp()
        deform.grad(s)
    ti.sync()


def best(run) -> float:
    """Least seconds of the wall: Taichi has threads of its own."""
    run()
    least, repetitions, start = float("inf"), 0, time.perf_counter()
    while repetitions < REPETITIONS or time.perf_counter() - start < SECONDS:
        before = time.perf_counter()
        run()
        least, repetitions = min(least, time.perf_counter() - before), repetitions + 1
    return least


def start(field, value):
    whole = np.zeros((STEPS + 1, *value.shape), np.float32)
    whole[0] = value
    field.from_numpy(whole)


start(x, positions)
start(v, velocities)
start(C, np.zeros((N, 3, 3), np.float32))
start(F, deformations)
before = time.perf_counter()
forward()
backward()
first = time.perf_counter() - before
seconds = {"first": first, "forward": best(forward) / STEPS, "backward": best(backward) / STEPS}
gradient = v.grad.to_numpy()[0].astype(float).ravel().tolist()
distance()
print(json.dumps(seconds | {"loss": loss[None], "gradient": gradient}))
