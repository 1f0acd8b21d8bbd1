"""Seconds per substep of MLS-MPM in Warp on its CPU device, forward and backward (see run.py).

States of every substep are kept, one dense grid, which the backward sweep computes anew; kernels and the singular value
decomposition differentiated by Warp, adjoints launched by hand. Corotated plasticine, slip walls, no colliders. The loss
is the mean squared distance of particles from a point. (Recording on a tape with one grid per substep was slower.)
"""

import json
import pathlib
import sys
import time

import numpy as np
import warp as wp

# Repetitions of each measurement; more while they are short, until this many seconds have passed.
REPETITIONS, SECONDS = 3, 3.0
# Of singular values.
FLOOR = wp.constant(0.05)


@wp.struct
class Law:
    """Constants of a case."""

    count: int
    grid: int
    margin: int
    dx: float
    dt: float
    mass: float
    push: float
    mu: float
    lame: float
    radius: float
    pull: float
    target: wp.vec3


@wp.func
def spline(f: float, i: int):
    w = 0.5 * (1.5 - f) * (1.5 - f)
    if i == 1:
        w = 0.75 - (f - 1.0) * (f - 1.0)
    if i == 2:
        w = 0.5 * (f - 0.5) * (f - 0.5)
    return w


@wp.kernel
def scatter(
    law: Law,
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    C: wp.array(dtype=wp.mat33),
    F: wp.array(dtype=wp.mat33),
    flowed_F: wp.array(dtype=wp.mat33),
    mass: wp.array3d(dtype=float),
    momentum: wp.array3d(dtype=wp.vec3),
):
    p = wp.tid()
    one = wp.identity(n=3, dtype=float)
    trial = (one + law.dt * C[p]) * F[p]
    U = wp.mat33()
    sigma = wp.vec3()
    V = wp.mat33()
    wp.svd3(trial, U, sigma, V)
    e = wp.vec3(
        wp.log(wp.max(sigma[0], FLOOR)), wp.log(wp.max(sigma[1], FLOOR)), wp.log(wp.max(sigma[2], FLOOR))
    )
    mean = (e[0] + e[1] + e[2]) / 3.0
    shear = e - wp.vec3(mean, mean, mean)
    size = wp.sqrt(wp.dot(shear, shear) + 1.0e-12)
    e = e - (wp.max(size - law.radius, 0.0) / size) * shear
    flowed = trial
    if size > law.radius:
        flowed = U * wp.diag(wp.vec3(wp.exp(e[0]), wp.exp(e[1]), wp.exp(e[2]))) * wp.transpose(V)
    flowed_F[p] = flowed
    J = wp.determinant(flowed)
    tau = 2.0 * law.mu * (flowed - U * wp.transpose(V)) * wp.transpose(flowed) + one * (law.lame * J * (J - 1.0))
    affine = law.mass * C[p] - law.push * tau
    place = x[p] / law.dx
    bi = int(place[0] - 0.5)
    bj = int(place[1] - 0.5)
    bk = int(place[2] - 0.5)
    f = place - wp.vec3(float(bi), float(bj), float(bk))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                offset = (wp.vec3(float(i), float(j), float(k)) - f) * law.dx
                w = spline(f[0], i) * spline(f[1], j) * spline(f[2], k)
                wp.atomic_add(momentum, bi + i, bj + j, bk + k, w * (law.mass * v[p] + affine * offset))
                wp.atomic_add(mass, bi + i, bj + j, bk + k, w * law.mass)


@wp.kernel
def on_grid(
    law: Law, mass: wp.array3d(dtype=float), momentum: wp.array3d(dtype=wp.vec3), velocity: wp.array3d(dtype=wp.vec3)
):
    i, j, k = wp.tid()
    m = mass[i, j, k]
    if m > 1.0e-12:
        out = momentum[i, j, k] / m
        a = out[0]
        b = out[1]
        c = out[2] + law.pull
        if i < law.margin:
            a = wp.max(a, 0.0)
        if i >= law.grid - law.margin:
            a = wp.min(a, 0.0)
        if j < law.margin:
            b = wp.max(b, 0.0)
        if j >= law.grid - law.margin:
            b = wp.min(b, 0.0)
        if k < law.margin:
            c = wp.max(c, 0.0)
        if k >= law.grid - law.margin:
            c = wp.min(c, 0.0)
        velocity[i, j, k] = wp.vec3(a, b, c)


@wp.kernel
def gather(
    law: Law,
    x: wp.array(dtype=wp.vec3),
    velocity: wp.array3d(dtype=wp.vec3),
    new_x: wp.array(dtype=wp.vec3),
    new_v: wp.array(dtype=wp.vec3),
    new_C: wp.array(dtype=wp.mat33),
):
    p = wp.tid()
    place = x[p] / law.dx
    bi = int(place[0] - 0.5)
    bj = int(place[1] - 0.5)
    bk = int(place[2] - 0.5)
    f = place - wp.vec3(float(bi), float(bj), float(bk))
    v = wp.vec3()
    C = wp.mat33()
    for i in range(3):
        for j in range(3):
            for k in range(3):
                w = spline(f[0], i) * spline(f[1], j) * spline(f[2], k)
                at = velocity[bi + i, bj + j, bk + k]
                v += w * at
                C += (4.0 / law.dx * w) * wp.outer(at, wp.vec3(float(i), float(j), float(k)) - f)
    new_v[p] = v
    new_C[p] = C
    new_x[p] = x[p] + law.dt * v


@wp.kernel
def distance(law: Law, x: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    off = x[wp.tid()] - law.target
    wp.atomic_add(loss, 0, wp.dot(off, off) / float(law.count))


def best(run) -> float:
    """Least processor seconds of a call: Warp's CPU device works on the calling thread."""
    run()
    least, repetitions, start = float("inf"), 0, time.perf_counter()
    while repetitions < REPETITIONS or time.perf_counter() - start < SECONDS:
        before = time.thread_time()
        run()
        least, repetitions = min(least, time.thread_time() - before), repetitions + 1
    return least


def measure(case: dict) -> dict:
    law, steps, count = Law(), case["substeps"], len(case["positions"])
    law.count, law.grid, law.margin, law.dt = count, case["nodes"], case["margin"], case["dt"]
    law.dx, law.mass = 1.0 / case["nodes"], case["volume"] * case["density"]
    law.push = law.dt * case["volume"] * 4.0 / law.dx**2
    law.mu = case["young"] / (2 * (1 + case["poisson"]))
    law.lame = case["young"] * case["poisson"] / ((1 + case["poisson"]) * (1 - 2 * case["poisson"]))
    law.radius, law.pull, law.target = case["yield"] / (2 * law.mu), case["gravity"] * law.dt, wp.vec3(*case["target"])

    states = lambda kind: [wp.zeros(count, dtype=kind, requires_grad=True) for _ in range(steps + 1)]
    x, v, C, F = states(wp.vec3), states(wp.vec3), states(wp.mat33), states(wp.mat33)
    x[0].assign(np.array(case["positions"], np.float32))
    v[0].assign(np.array(case["velocities"], np.float32))
    F[0].assign(np.array(case["deformations"], np.float32))
    nodes, loss = (law.grid,) * 3, wp.zeros(1, dtype=float, requires_grad=True)
    mass = wp.zeros(nodes, dtype=float, requires_grad=True)
    momentum, velocity = (wp.zeros(nodes, dtype=wp.vec3, requires_grad=True) for _ in range(2))
    grid = (mass, momentum, velocity)

    def up_to_grid(s):
        for field in grid:
            field.zero_()
        wp.launch(scatter, count, [law, x[s], v[s], C[s], F[s]], [F[s + 1], mass, momentum])
        wp.launch(on_grid, nodes, [law, mass, momentum], [velocity])

    def forward():
        for s in range(steps):
            up_to_grid(s)
            wp.launch(gather, count, [law, x[s], velocity], [x[s + 1], v[s + 1], C[s + 1]])

    def adjoint(kernel, dim, inputs, outputs):
        bars = lambda arrays: [a.grad for a in arrays]
        adj_inputs = [law] + bars(inputs)
        wp.launch(
            kernel, dim, [law, *inputs], outputs, adj_inputs=adj_inputs, adj_outputs=bars(outputs), adjoint=True
        )

    def backward():
        for field in (*x, *v, *C, *F):
            field.grad.zero_()
        loss.zero_()
        wp.launch(distance, count, [law, x[steps]], [loss])
        loss.grad.fill_(1.0)
        adjoint(distance, count, [x[steps]], [loss])
        for s in reversed(range(steps)):
            for field in grid:
                field.grad.zero_()
            up_to_grid(s)
            adjoint(gather, count, [x[s], velocity], [x[s + 1], v[s + 1], C[s + 1]])
            adjoint(on_grid, nodes, [mass, momentum], [velocity])
            adjoint(scatter, count, [x[s], v[s], C[s], F[s]], [F[s + 1], mass, momentum])

    before = time.perf_counter()
    forward()
    backward()
    first = time.perf_counter() - before
    seconds = {"first": first, "forward": best(forward) / steps, "backward": best(backward) / steps}
    gradient = v[0].grad.numpy().astype(float).ravel().tolist()
    return seconds | {"loss": float(loss.numpy()[0]), "gradient": gradient}


def main() -> None:
    cases, kernels = pathlib.Path(sys.argv[1]), sys.argv[2]
    wp.config.quiet = True
    wp.config.kernel_cache_dir = kernels
    wp.init()
    wp.set_device("cpu")
    results = {case["name"]: measure(case) for case in json.loads(cases.read_text())}
    print(json.dumps({"version": f"Warp {wp.config.version}", "cases": results}))


if __name__ == "__main__":
    main()
