"""Plays a policy of the task `ant-mujoco` in MuJoCo itself and prints its returns as JSON:

    python3 reference/play_policy.py policy.onnx --episodes 20

Needs mujoco and onnxruntime. The policy is an ONNX model with input `observation` and output `action`, rows of floats.
Start, observation, reward and end are those of the task (crates/tasks/src/environments/ant_mujoco.rs): nothing is trained
here. `--random` and `--zero` play actions without a policy, to compare with.
"""

import argparse
import json
import pathlib
from collections.abc import Callable

import mujoco
import numpy as np

MODEL = pathlib.Path(__file__).resolve().parent.parent / "models/ant_gym.xml"
SUBSTEPS = 5
EPISODE = 1000
EFFORT = 0.5
ALIVE = 1.0
HEIGHTS = (0.2, 1.0)

Policy = Callable[[np.ndarray], np.ndarray]


def onnx_policy(file: str) -> Policy:
    """The mean action of a policy, as a function of what is seen."""
    import onnxruntime

    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    seen = session.get_inputs()[0].shape[-1]
    if seen != 27:
        raise SystemExit(f"{file}: the policy sees {seen} numbers, the ant shows 27; was it trained for another task?")
    return lambda observation: session.run(["action"], {"observation": observation[None].astype(np.float32)})[0][0]


def start(model: mujoco.MjModel, random: np.random.Generator) -> mujoco.MjData:
    """The model's own configuration with the task's noise."""
    data = mujoco.MjData(model)
    data.qpos += random.uniform(-0.1, 0.1, model.nq)
    data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
    data.qvel[:] = 0.1 * random.standard_normal(model.nv)
    return data


def play(model: mujoco.MjModel, policy: Policy, random: np.random.Generator) -> dict:
    """One episode."""
    data = start(model, random)
    dt = SUBSTEPS * model.opt.timestep
    total = 0.0
    for step in range(1, EPISODE + 1):
        action = np.clip(policy(np.concatenate([data.qpos[2:], data.qvel])), -1.0, 1.0)
        x = data.qpos[0]
        data.ctrl[:] = action
        mujoco.mj_step(model, data, SUBSTEPS)
        if not np.isfinite(data.qpos).all():
            break
        total += (data.qpos[0] - x) / dt - EFFORT * float(action @ action) + ALIVE
        if not HEIGHTS[0] <= data.qpos[2] <= HEIGHTS[1]:
            break
    return {"return": float(total), "steps": step, "way": float(data.qpos[0])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("policy", nargs="?", help="an ONNX file")
    kind.add_argument("--random", action="store_true", help="uniform actions")
    kind.add_argument("--zero", action="store_true", help="no action")
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    model = mujoco.MjModel.from_xml_path(str(MODEL))
    random = np.random.default_rng(options.seed)
    if options.policy:
        policy = onnx_policy(options.policy)
    elif options.random:
        policy = lambda _: random.uniform(-1.0, 1.0, model.nu)
    else:
        policy = lambda _: np.zeros(model.nu)
    episodes = [play(model, policy, random) for _ in range(options.episodes)]
    returns = np.array([episode["return"] for episode in episodes])
    print(json.dumps({
        "mujoco": mujoco.__version__,
        "policy": options.policy or ("random" if options.random else "zero"),
        "mean": float(returns.mean()),
        "deviation": float(returns.std(ddof=1)) if len(returns) > 1 else 0.0,
        "episodes": episodes,
    }))


if __name__ == "__main__":
    main()
