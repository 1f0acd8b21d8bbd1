"""Prints the n-link pendulum of the articulated adjoint paper as MJCF: python3 make_pendulum.py 5 > pendulum5.xml"""

import sys

n = int(sys.argv[1])
mass = [1.0] + [2.16] * (n - 1)
inertia = ["0.00495 0.00494 0.00222"] + ["0.00539 0.0049 0.00312"] * (n - 1)

print(f"""<mujoco model="pendulum{n}">
  <!-- Pendulum of {n} links of 0.5 m, {sum(mass):.2f} kg, hinges about x: masses (1 kg, then 2.16 kg at the far end), inertias, gravity, step and torque 10 per unit of
       control are those of diffarticulated's n-link pendulum. Written by make_pendulum.py. Zero and home lie level along +y, as there; hanging is ours. -->
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.0166666667" gravity="0 0 -9.8" integrator="Euler"/>
  <default>
    <geom type="sphere" size="0.05" contype="0" conaffinity="0"/>
    <joint type="hinge" axis="1 0 0"/>
    <motor gear="10" ctrlrange="-1 1"/>
  </default>
  <worldbody>""")
for i in range(n):
    pad = "  " * (i + 2)
    print(f"""{pad}<body name="link_{i + 1}"{' pos="0 0.5 0"' if i else ''}>
{pad}  <joint name="hinge_{i + 1}"/>
{pad}  <inertial pos="0 0.5 0" mass="{mass[i]:g}" diaginertia="{inertia[i]}"/>
{pad}  <geom name="link_{i + 1}" pos="0 0.5 0"/>""")
print("  " * (n + 2) + '<site name="tip" pos="0 0.5 0" size="0.02"/>')
for i in reversed(range(n)):
    print("  " * (i + 2) + "</body>")
print("  </worldbody>\n  <actuator>")
for i in range(n):
    print(f'    <motor name="hinge_{i + 1}" joint="hinge_{i + 1}"/>')
print(f"""  </actuator>
  <keyframe>
    <key name="home" qpos="{' '.join(['0'] * n)}"/>
    <key name="hanging" qpos="-1.57079633{' 0' * (n - 1)}"/>
  </keyframe>
</mujoco>""")
