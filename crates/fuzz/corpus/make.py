"""Makes the files of the corpus that are not written by hand: bytes, and texts with checksums. Run it in this folder."""
import json
import os
import struct
import zlib


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


# A tetrahedron, its faces outward.
CORNERS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def stl(header):
    body = b"".join(
        struct.pack("<12fH", 0, 0, 0, *[x for corner in face for x in CORNERS[corner]], 0) for face in FACES
    )
    return header.ljust(80, b"\0") + struct.pack("<I", len(FACES)) + body


write("stl-binary/tetrahedron.stl", stl(b"a tetrahedron"))
write("stl-binary/solid.stl", stl(b"solid in name alone"))
write("mjcf/assets/tetrahedron.stl", stl(b"a tetrahedron"))

numbers = [x for corner in CORNERS for x in corner]
faces = [i for face in FACES for i in face]
write(
    "msh/tetrahedron.msh",
    struct.pack("<4i", 4, 4, 4, 4)
    + struct.pack("<12f", *numbers)
    + struct.pack("<12f", *numbers)
    + struct.pack("<8f", *([0.5] * 8))
    + struct.pack("<12i", *faces),
)
write("msh/points.msh", struct.pack("<4i", 4, 0, 0, 0) + struct.pack("<12f", *numbers))


def png(width, height, depth, color, rows, palette=b"", interlaced=0):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">2I5B", width, height, depth, color, 0, 0, interlaced)
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    chunks = chunk(b"IHDR", header) + (chunk(b"PLTE", palette) if palette else b"")
    return b"\x89PNG\r\n\x1a\n" + chunks + chunk(b"IDAT", data) + chunk(b"IEND", b"")


gray = png(4, 3, 8, 0, [bytes([10 * i, 80, 90, 255 - i]) for i in range(3)])
write("png/gray.png", gray)
write("mjcf/assets/hills.png", gray)
write("png/rgb.png", png(2, 2, 8, 2, [bytes(6), bytes([255] * 6)]))
write("png/deep.png", png(2, 2, 16, 0, [bytes(4), bytes([255] * 4)]))
write("png/palette.png", png(4, 2, 2, 3, [b"\x1b", b"\xe4"], palette=bytes(range(12))))
write("png/alpha.png", png(2, 2, 8, 6, [bytes(range(8)), bytes(range(8, 16))]))
write("hfield/hills.bin", struct.pack("<2i", 3, 4) + struct.pack("<12f", *[0.1 * (i % 5) for i in range(12)]))


def npy(shape):
    count = shape[0] * shape[1] * shape[2]
    header = str({"descr": "<f8", "fortran_order": False, "shape": shape})
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(
        f"<{count}d", *[float(i % 3) for i in range(count)]
    )


write("npy/target.npy", npy((2, 3, 4)))
write("npy/one.npy", npy((1, 1, 1)))


def crc32c(register, data):
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
    return register


def log(lines):
    register, text = 0xFFFFFFFF, b""
    for line in lines:
        value = json.dumps(line, separators=(",", ":")).encode()
        register = crc32c(register, value)
        text += b'{"crc32c":"%08x","line":' % (register ^ 0xFFFFFFFF) + value + b"}\n"
    return text


name = {"task": "griewank", "settings": "", "seed": 0, "inputs": [], "version": "0.1.0"}
with_inputs = name | {"inputs": [{"name": "a.csv", "fingerprint": "cbf29ce484222325"}]}
episodes = [
    {"z": [0.25, -0.5], "loss": 1.5, "gradient": [0.1, 0.2]},
    {"z": [0.3, -0.4], "loss": None, "failure": "the state became NaN"},
]
write("log/begun.jsonl", log([name]))
write("log/two.jsonl", log([name] + episodes))
write("log/inputs.jsonl", log([with_inputs, {"z": [], "loss": 1e300}]))


def safetensors(tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for key, (kind, shape, content) in tensors.items():
        header[key] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


weights = {
    "actor.layers.0.weight": ("F32", [2, 3], struct.pack("<6f", *range(6))),
    "actor.layers.0.bias": ("F32", [2], struct.pack("<2f", 0.5, -0.5)),
}
write("weights/policy.safetensors", safetensors(weights, {"task": "ant", "algorithm": "sapo"}))
write("weights/empty.safetensors", safetensors({}, {}))
mixed = weights | {"random": ("U64", [1], struct.pack("<Q", 7)), "mean": ("F64", [1], struct.pack("<d", 0.5))}
meta = json.dumps({"steps": 10}, separators=(",", ":"))
register = crc32c(0xFFFFFFFF, f"3\n{meta}\n".encode())
for key, (kind, shape, content) in sorted(mixed.items()):
    register = crc32c(crc32c(register, f"{key}\n{kind}{shape}\n".encode()), content)
about = json.dumps({"epoch": 3, "meta": {"steps": 10}, "crc32c": register ^ 0xFFFFFFFF})
write("checkpoint/mixed.safetensors", safetensors(mixed, {"checkpoint": about}))
