"""Seconds per substep of Warp's semi-implicit integrator on given soft bodies, forward and backward (see run.py).

The loss is the sum of the final positions. Forward runs without a tape. Backward is `Tape.backward` over the recorded
substeps alone, down to initial positions, velocities and the materials of all elements; neither recording nor clearing the
gradients is on the clock.
"""

import json
import pathlib
import sys
import time
import warnings

import numpy as np
import warp as wp

warnings.simplefilter("ignore")
import warp.sim  # noqa: E402

# Repetitions of each measurement; more while they are short, until this many seconds have passed.
REPETITIONS, SECONDS = 5, 0.4


@wp.kernel
def sum_positions(x: wp.array(dtype=wp.vec3), total: wp.array(dtype=float)):
    p = x[wp.tid()]
    wp.atomic_add(total, 0, p[0] + p[1] + p[2])


def build(body: dict) -> wp.sim.Model:
    """Fixed particles have mass 0: Warp gives them no acceleration."""
    builder = wp.sim.ModelBuilder(up_vector=wp.vec3(0.0, 0.0, 1.0), gravity=body["gravity"])
    for position, mass in zip(body["positions"], body["masses"]):
        builder.add_particle(pos=wp.vec3(*position), vel=wp.vec3(0.0), mass=mass)
    mu, lame, damping = body["mu"], body["lambda"], body["damping"]
    for tet in body["tets"]:
        builder.add_tetrahedron(*tet, mu, lame, damping)
    for triangle in body["triangles"]:
        builder.add_triangle(*triangle, tri_ke=mu, tri_ka=lame, tri_kd=damping, tri_drag=0.0, tri_lift=0.0)
    for hinge in body["hinges"]:
        builder.add_edge(*hinge, edge_ke=body["bending"], edge_kd=0.0)
    model = builder.finalize(requires_grad=True)
    # No contact.
    model.ground = False
    model.particle_max_radius = 0.0
    return model


def best(run, prepare=lambda: None) -> float:
    """Least processor seconds of a call; `prepare` goes before each, off the clock.

    Warp's CPU device works on the calling thread, so these are the seconds of the wall on an idle machine; on a busy one they
    leave out the turns of other programs.
    """
    least, repetitions, start = float("inf"), 0, time.perf_counter()
    while repetitions < REPETITIONS or time.perf_counter() - start < SECONDS:
        prepare()
        before = time.thread_time()
        run()
        least, repetitions = min(least, time.thread_time() - before), repetitions + 1
    return least


def measure(body: dict) -> dict:
    model, steps, dt = build(body), body["steps"], body["dt"]
    states = [model.state(requires_grad=True) for _ in range(steps + 1)]
    control, integrator = model.control(), wp.sim.SemiImplicitIntegrator()
    total = wp.zeros(1, dtype=float, requires_grad=True)

    def forward():
        for now, after in zip(states, states[1:]):
            now.clear_forces()
            integrator.simulate(model, now, after, dt, control)

    forward()
    forward_seconds = best(forward)
    tape = wp.Tape()
    with tape:
        forward()
        wp.launch(sum_positions, model.particle_count, [states[-1].particle_q], [total])
    tape.backward(total)
    backward_seconds = best(lambda: tape.backward(total), tape.zero)
    seconds = {"forward": forward_seconds / steps, "backward": backward_seconds / steps}
    if not body["tets"]:
        return seconds

    # What comes out, without damping: that of volumes takes velocities against the world here (eval_tetrahedra dots the
    # gradient of J at three corners with v1, v2, v3, not with v1 - v0, ...), so that a falling body is braked by it.
    undamped = model.tet_materials.numpy()
    undamped[:, 2] = 0.0
    model.tet_materials.assign(undamped)
    tape.zero()
    forward()
    tape.backward(total)
    flat = lambda array: np.asarray(array, dtype=float).ravel().tolist()
    return seconds | {
        "positions": flat(states[-1].particle_q.numpy()),
        "position_gradient": flat(states[0].particle_q.grad.numpy()),
        "velocity_gradient": flat(states[0].particle_qd.grad.numpy()),
        "mu_gradient": flat(model.tet_materials.grad.numpy()[:, 0]),
        "lambda_gradient": flat(model.tet_materials.grad.numpy()[:, 1]),
    }


def main() -> None:
    bodies, kernels = pathlib.Path(sys.argv[1]), sys.argv[2]
    wp.config.quiet = True
    wp.config.kernel_cache_dir = kernels
    wp.init()
    wp.set_device("cpu")
    results = {body["name"]: measure(body) for body in json.loads(bodies.read_text())}
    print(json.dumps({"version": f"Warp {wp.config.version}", "bodies": results}))


if __name__ == "__main__":
    main()
