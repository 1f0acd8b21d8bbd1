"""Forward and backward steps of standing quadrupeds by CasADi's automatic differentiation.

usage: measure.py MODEL.json ROBOTS STEPS

The model: `bodies` (parent, kind `free` or `hinge`, axis, position, mass, com, inertia xx yy zz xy xz yz), `toes` (body,
position, radius), `home` coordinates, `servo` (kp, kv, limit), `law` (gravity, dt, friction, erp, cfm, iterations).
A step is the one that is compared with: forward dynamics, contacts of the toes by projected Gauss-Seidel sweeps over impulses,
semi-implicit Euler. It is one expression of scalars; a rollout accumulates it (`mapaccum`), and its gradient is CasADi's.
Spatial quantities are (angular, linear) about the world's origin.
"""

import json
import resource
import sys
import time

import casadi as ca
import numpy as np


def rotation(axis, angle):
    k = ca.skew(ca.DM(axis))
    return ca.SX.eye(3) + ca.sin(angle) * k + (1 - ca.cos(angle)) * (k @ k)


def rotation_of(w, x, y, z):
    return ca.vertcat(
        ca.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        ca.horzcat(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def cross_motion(v, s):
    return ca.vertcat(ca.cross(v[:3], s[:3]), ca.cross(v[3:], s[:3]) + ca.cross(v[:3], s[3:]))


def cross_force(v, f):
    return ca.vertcat(ca.cross(v[:3], f[:3]) + ca.cross(v[3:], f[3:]), ca.cross(v[:3], f[3:]))


def make_step(model):
    """x⁺ = step(x, u), with x = (q, v)."""
    bodies, law, servo = model["bodies"], model["law"], model["servo"]
    nq, nu = len(model["home"]), len(model["home"]) - 7
    nv = 6 + nu
    x, u = ca.SX.sym("x", nq + nv), ca.SX.sym("u", nu)
    q, v = x[:nq], x[nq:]

    # Poses, axes, velocities and accelerations without joint accelerations.
    gravity = ca.DM([0, 0, 0, 0, 0, -law["gravity"]])
    pose, speed, drift, inertia, force = [], [], [], [], []
    axes, owner = [], []
    for i, body in enumerate(bodies):
        if body["kind"] == "free":
            r, p = rotation_of(q[3], q[4], q[5], q[6]), q[:3]
            own = [ca.vertcat(0, 0, 0, *np.eye(3)[k]) for k in range(3)]
            own += [ca.vertcat(r[:, k], ca.cross(p, r[:, k])) for k in range(3)]
            vel, acc = ca.SX.zeros(6), -gravity
            dofs = range(6)
        else:
            r0, p0 = pose[body["parent"]]
            k = len(axes)
            r, p = r0 @ rotation(body["axis"], q[k + 1]), p0 + r0 @ ca.DM(body["position"])
            axis = r0 @ ca.DM(body["axis"])
            own, dofs = [ca.vertcat(axis, ca.cross(p, axis))], [k]
            vel, acc = speed[body["parent"]], drift[body["parent"]]
        for s, k in zip(own, dofs):
            vel = vel + s * v[k]
        for s, k in zip(own, dofs):
            if not (body["kind"] == "free" and k < 3):
                acc = acc + cross_motion(vel, s) * v[k]
        xx, yy, zz, xy, xz, yz = body["inertia"]
        about_com = r @ ca.DM([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ r.T
        c, m = ca.skew(p + r @ ca.DM(body["com"])), body["mass"]
        moment = ca.blockcat([[about_com + m * c @ c.T, m * c], [m * c.T, m * ca.SX.eye(3)]])
        pose.append((r, p)), speed.append(vel), drift.append(acc), inertia.append(moment)
        force.append(moment @ acc + cross_force(vel, moment @ vel))
        axes += own
        owner += [i] * len(own)

    # Bias force and mass matrix of the composite bodies.
    for i in reversed(range(1, len(bodies))):
        inertia[bodies[i]["parent"]] += inertia[i]
        force[bodies[i]["parent"]] += force[i]
    bias = ca.vertcat(*[ca.dot(s, force[i]) for s, i in zip(axes, owner)])
    mass = ca.SX.zeros(nv, nv)
    for k in range(nv):
        momentum, i = inertia[owner[k]] @ axes[k], owner[k]
        while i >= 0:
            for j in [j for j in range(nv) if owner[j] == i]:
                mass[k, j] = mass[j, k] = ca.dot(axes[j], momentum)
            i = bodies[i]["parent"]
    chol = ca.chol(mass)

    def solve(b):
        return ca.solve(chol, ca.solve(chol.T, b))

    # v* = v + h M⁻¹ (τ − bias)
    h = law["dt"]
    servos = servo["kp"] * (u - q[7:]) - servo["kv"] * v[6:]
    tau = ca.vertcat(ca.SX.zeros(6), ca.fmin(ca.fmax(servos, -servo["limit"]), servo["limit"]))
    free = v + h * solve(tau - bias)

    # Rows of the toes: normal and two tangents.
    jacobian, depths = [], []
    for toe in model["toes"]:
        r, p = pose[toe["body"]]
        center = p + r @ ca.DM(toe["position"])
        depth = toe["radius"] - center[2]
        point = center - ca.vertcat(0, 0, toe["radius"] - 0.5 * depth)
        moved, i = {}, toe["body"]
        while i >= 0:
            moved |= {k: axes[k][3:] + ca.cross(axes[k][:3], point) for k in range(nv) if owner[k] == i}
            i = bodies[i]["parent"]
        for direction in (2, 0, 1):
            jacobian.append(ca.horzcat(*[moved[k][direction] if k in moved else 0 for k in range(nv)]))
            depths.append(depth)
    jacobian = ca.vertcat(*jacobian)
    inverse = solve(jacobian.T)
    diagonal = [ca.dot(jacobian[i, :].T, inverse[:, i]) + law["cfm"] for i in range(len(depths))]

    # Projected Gauss-Seidel.
    impulse, velocity = [ca.SX(0)] * len(depths), free
    for _ in range(law["iterations"]):
        for i, depth in enumerate(depths):
            target = ca.fmax(law["erp"] * depth / h, 0) if i % 3 == 0 else 0
            residual = ca.dot(jacobian[i, :].T, velocity) + law["cfm"] * impulse[i] - target
            wanted = impulse[i] - residual / diagonal[i]
            bound = law["friction"] * impulse[i - i % 3]
            wanted = ca.fmax(wanted, 0) if i % 3 == 0 else ca.fmin(ca.fmax(wanted, -bound), bound)
            wanted = ca.if_else(depth > 0, wanted, 0)
            velocity = velocity + inverse[:, i] * (wanted - impulse[i])
            impulse[i] = wanted

    # q⁺ = q ⊕ h v⁺
    spin = h * velocity[3:6]
    angle = ca.sqrt(ca.dot(spin, spin) + 1e-24)
    dw, dx = ca.cos(angle / 2), ca.sin(angle / 2) / angle * spin
    w, e = q[3], q[4:7]
    turned = ca.vertcat(w * dw - ca.dot(e, dx), w * dx + dw * e + ca.cross(e, dx))
    following = ca.vertcat(q[:3] + h * velocity[:3], turned, q[7:] + h * velocity[6:], velocity)
    return ca.Function("step", [x, u], [following]), nq + nv, nu


def best(call, *arguments):
    seconds = []
    while sum(seconds) < 0.5:
        start = time.perf_counter()
        call(*arguments)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    model, robots, steps = json.load(open(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step, nx, nu = make_step(model)
    nodes = step.n_instructions()
    start = ca.repmat(ca.vertcat(*model["home"], ca.DM.zeros(nx - len(model["home"]))), 1, robots)
    controls = ca.repmat(ca.DM(model["home"][7:]), 1, robots * steps)
    if robots > 1:
        together = step.map(robots)
        x, u = ca.MX.sym("x", nx * robots), ca.MX.sym("u", nu * robots)
        after = together(ca.reshape(x, nx, robots), ca.reshape(u, nu, robots))
        step = ca.Function("together", [x, u], [ca.vec(after)])
        start, controls = ca.vec(start), ca.reshape(controls, nu * robots, steps)
    x, u = ca.MX.sym("x", nx * robots), ca.MX.sym("u", nu * robots, steps)
    end = step.mapaccum("rollout", steps)(x, u)[:, -1]
    loss = sum(end[nx * i + 2] for i in range(robots))
    forward = ca.Function("forward", [x, u], [loss], ["x", "u"], ["loss"])
    # One reverse sweep for both.
    gradient = forward.factory("gradient", ["x", "u"], ["loss", "grad:loss:x", "grad:loss:u"])
    value, _, by_control = gradient(start, controls)
    seconds, both = best(forward, start, controls), best(gradient, start, controls)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {
                "robots": robots,
                "steps": steps,
                "forward_ms": seconds / steps * 1e3,
                "backward_ms": (both - seconds) / steps * 1e3,
                "megabytes": (peak - before) / 1024,
                "instructions": nodes,
                "loss": float(value),
                "gradient": float(ca.norm_2(ca.vec(by_control))),
            }
        )
    )


if __name__ == "__main__":
    main()
