//! Mesh files and mesh inertia: formats read right, broken files refused with their place, masses by hand and
//! by MuJoCo.

use std::path::PathBuf;
use std::sync::Arc;

use pullback_math::{Mat3, Quat, SymMat3, Vec3, symmetric_eigenvalues};
use pullback_scene::mesh::{
    self, MeshFiles, MeshInertia, TriangleMesh, mass_properties, parse_msh, parse_obj, parse_stl,
    principal_axes,
};
use pullback_scene::mjcf::{ImportOptions, parse_mjcf};
use serde_json::Value;

/// A mesh in its inertial frame, as MuJoCo keeps its assets, and where that frame was.
struct InertialMesh {
    /// The mesh, centered at its center of mass and turned to its principal axes.
    mesh: TriangleMesh,
    /// Center of mass in the original frame, m.
    position: Vec3<f64>,
    /// Principal axes in the original frame: rotates vectors of the inertial frame to the original.
    orientation: Quat<f64>,
    /// Volume, m³ (area for shells, m²).
    volume: f64,
    /// Principal moments at density 1, descending.
    moments: Vec3<f64>,
}

/// Moves a mesh to its inertial frame, weighed by `kind`.
fn to_inertial_frame(mesh: &TriangleMesh, kind: MeshInertia) -> Result<InertialMesh, mesh::MeshError> {
    let weighed = mass_properties(mesh, kind)?;
    let (moments, orientation) = principal_axes(weighed.inertia);
    Ok(InertialMesh {
        mesh: mesh.in_frame(weighed.com, orientation),
        position: weighed.com,
        orientation,
        volume: weighed.volume,
        moments,
    })
}

type Parser = fn(&[u8], &str) -> Result<TriangleMesh, mesh::MeshError>;

const CORNERS: [[f64; 3]; 8] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [0.0, 2.0, 0.0],
    [1.0, 2.0, 0.0],
    [0.0, 0.0, 3.0],
    [1.0, 0.0, 3.0],
    [0.0, 2.0, 3.0],
    [1.0, 2.0, 3.0],
];
const QUADS: [[usize; 4]; 6] =
    [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];

/// A box of 1 by 2 by 3 m with a corner at the origin.
fn cuboid() -> TriangleMesh {
    let triangles = QUADS.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    TriangleMesh { vertices: CORNERS.map(|[x, y, z]| Vec3::new(x, y, z)).to_vec(), triangles }
}

fn binary_stl(mesh: &TriangleMesh, header: &[u8]) -> Vec<u8> {
    let mut bytes = header.to_vec();
    bytes.resize(80, b' ');
    bytes.extend((mesh.triangles.len() as u32).to_le_bytes());
    for t in &mesh.triangles {
        bytes.extend([0; 12]);
        for v in mesh.corners(*t) {
            bytes.extend([v.x, v.y, v.z].iter().flat_map(|c| (*c as f32).to_le_bytes()));
        }
        bytes.extend([0; 2]);
    }
    bytes
}

fn text_stl(mesh: &TriangleMesh) -> Vec<u8> {
    let mut text = String::from("solid a name with spaces\n");
    for t in &mesh.triangles {
        text += "  facet normal 0 0 0\n    outer loop\n";
        for v in mesh.corners(*t) {
            text += &format!("      vertex {:e} {} {:.3}\r\n", v.x, v.y, v.z);
        }
        text += "    endloop\n  endfacet\n";
    }
    (text + "endsolid a name with spaces\n").into_bytes()
}

fn obj() -> Vec<u8> {
    let mut text = String::from("# a box of quads\nmtllib none.mtl\no box\n");
    for [x, y, z] in CORNERS {
        text += &format!("v {x} {y} {z}\n");
    }
    text += "vn 0 0 1\nvt 0 0\ng sides\ns off\n";
    for (i, [a, b, c, d]) in QUADS.into_iter().enumerate() {
        text += &match i {
            0 => format!("f {} {} {} {}\n", a + 1, b + 1, c + 1, d + 1),
            1 => format!("f {}//1 {}//1 \\\n {}//1 {}//1 # joined\n", a + 1, b + 1, c + 1, d + 1),
            2 => format!("g lid\nf {}/1/1 {}/1/1 {}/1 {}/1\n", a + 1, b + 1, c + 1, d + 1),
            _ => format!("f -{} -{} -{} -{}\n", 8 - a, 8 - b, 8 - c, 8 - d),
        };
    }
    text.into_bytes()
}

fn msh(mesh: &TriangleMesh) -> Vec<u8> {
    let counts = [mesh.vertices.len(), 1, 2, mesh.triangles.len()];
    let mut bytes: Vec<u8> = counts.iter().flat_map(|n| (*n as i32).to_le_bytes()).collect();
    bytes.extend(mesh.vertices.iter().flat_map(|v| [v.x, v.y, v.z]).flat_map(|c| (c as f32).to_le_bytes()));
    bytes.extend([0; 12 + 16]);
    bytes.extend(mesh.triangles.iter().flatten().flat_map(|i| (*i as i32).to_le_bytes()));
    bytes
}

fn assert_is_the_cuboid(read: &TriangleMesh) {
    assert_eq!((read.vertices.len(), read.triangles.len()), (8, 12));
    let m = mass_properties(read, MeshInertia::Exact).unwrap();
    assert!((m.volume - 6.0).abs() < 1e-12);
    assert!((m.com - Vec3::new(0.5, 1.0, 1.5)).norm() < 1e-12);
    // m/12 (y² + z², z² + x², x² + y²)
    let expected = SymMat3::diagonal(Vec3::new(6.5, 5.0, 2.5));
    assert!((m.inertia - expected).to_mat3().frobenius_squared() < 1e-20, "{:?}", m.inertia);
}

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("pullback-mesh-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn each_format_reads_the_same_box() {
    let (folder, cube) = (folder(), cuboid());
    let files = [
        ("binary.stl", binary_stl(&cube, b"made by hand")),
        ("misleading.STL", binary_stl(&cube, b"solid, but binary")),
        ("text.stl", text_stl(&cube)),
        ("box.obj", obj()),
        ("box.msh", msh(&cube)),
    ];
    for (name, bytes) in files {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        assert_is_the_cuboid(&mesh::read(&path).unwrap());
    }
    let message = mesh::read(folder.join("box.gltf")).unwrap_err().to_string();
    assert!(message.contains("box.gltf") && message.contains("convert"), "{message}");
    assert!(mesh::read(folder.join("missing.stl")).unwrap_err().to_string().contains("missing.stl"));
    assert!(mesh::read(&folder).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn errors_name_file_and_place() {
    let message = |parse: Parser, bytes: &[u8]| parse(bytes, "f").unwrap_err().to_string();
    let obj = |text: &str| message(parse_obj, text.as_bytes());
    assert!(obj("v 0 0 0\nf 1 2 3\n").starts_with("f: line 2: vertex 2 of 1"));
    assert!(obj("v 0 0 0\nf 1 -2 1\n").starts_with("f: line 2: vertex -2 of 1"));
    assert!(obj("v 0 0 0\nf 0 1 1\n").contains("vertex 0"));
    assert!(obj("f -9223372036854775808 1 1\n").contains("does not exist"));
    assert!(obj("v 0 0\n").starts_with("f: line 1"));
    assert!(obj("v 0 nan 0\n").starts_with("f: line 1"));
    assert!(obj("\ncurv 1 2\n").starts_with("f: line 2: `curv`"));
    assert!(obj("").contains("no vertex"));

    let mut lying = binary_stl(&cuboid(), b"");
    lying[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(message(parse_stl, &lying).contains("announces 4294967295 triangles"));
    let mut infinite = binary_stl(&cuboid(), b"");
    infinite[84 + 50 + 12..][..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
    assert!(message(parse_stl, &infinite).starts_with("f: byte 134: triangle 1"));
    assert!(message(parse_stl, b"solid x\nfacet normal 0 0 1\nvertex 1 2 3\n").starts_with("f: line 3"));
    assert!(message(parse_stl, b"solid x\nendsolid").contains("no triangle"));

    let mut bytes = msh(&cuboid());
    bytes[0..4].copy_from_slice(&i32::MAX.to_le_bytes());
    assert!(message(parse_msh, &bytes).contains("2147483647 vertices"));
    bytes[0..4].copy_from_slice(&(-1i32).to_le_bytes());
    assert!(message(parse_msh, &bytes).starts_with("f: byte 0: a count"));
    let mut bytes = msh(&cuboid());
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(&8i32.to_le_bytes());
    assert!(message(parse_msh, &bytes).contains("names vertex 8 of 8"));
}

/// Quadrilaterals and larger polygons, convex or not, planar or not, near the origin or not.
#[test]
fn polygons_are_cut_as_in_mujoco() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/obj_polygons.json");
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert!(cases.len() >= 30);
    for (k, case) in cases.iter().enumerate() {
        let mesh = parse_obj(case["obj"].as_str().unwrap().as_bytes(), "f").unwrap();
        let ours: Vec<u64> = mesh.triangles.iter().flatten().map(|i| *i as u64).collect();
        let theirs = case["triangles"].as_array().unwrap();
        let theirs: Vec<u64> = theirs.iter().map(|i| i.as_u64().unwrap()).collect();
        assert_eq!(ours, theirs, "case {k}");
    }
    // A tangle of repeated corners ends, and soon.
    let tangled = format!("v 0 0 0\nv 1 0 0\nv 1 1 0\nf {}\n", "1 2 3 2 ".repeat(500));
    assert!(parse_obj(tangled.as_bytes(), "f").is_ok());
}

#[test]
fn truncated_and_mutated_files_never_panic() {
    let cube = cuboid();
    let files: [(Parser, Vec<u8>, bool); 4] = [
        (parse_stl, binary_stl(&cube, b"solid"), true),
        (parse_stl, text_stl(&cube), false),
        (parse_obj, obj(), false),
        (parse_msh, msh(&cube), true),
    ];
    for (parse, bytes, counted) in files {
        for length in 0..bytes.len() {
            let read = parse(&bytes[..length], "cut");
            assert!(!counted || read.is_err(), "{length} of {} bytes were accepted", bytes.len());
        }
        for at in 0..bytes.len() {
            for flip in [0x01, 0x10, 0x80, 0xff] {
                let mut broken = bytes.clone();
                broken[at] ^= flip;
                if let Ok(mesh) = parse(&broken, "mutated") {
                    for kind in
                        [MeshInertia::Legacy, MeshInertia::Exact, MeshInertia::Convex, MeshInertia::Shell]
                    {
                        let _ = to_inertial_frame(&mesh, kind);
                    }
                }
            }
        }
    }
}

#[test]
fn meshes_that_cannot_be_weighed_say_what_to_do() {
    let message = |mesh: &TriangleMesh, kind| mass_properties(mesh, kind).unwrap_err().to_string();
    let mut open = cuboid();
    open.triangles.pop();
    assert!(message(&open, MeshInertia::Exact).contains("not closed"));
    assert!(mass_properties(&open, MeshInertia::Convex).is_ok());
    let mut inward = cuboid();
    inward.triangles.iter_mut().for_each(|t| t.swap(0, 1));
    assert!(message(&inward, MeshInertia::Exact).contains("inward"));
    let flat = cuboid().scaled(Vec3::new(1.0, 1.0, 0.0));
    assert!(message(&flat, MeshInertia::Legacy).contains("no volume"));
    assert!(message(&flat, MeshInertia::Convex).contains("in a plane"));
    let point = cuboid().scaled(Vec3::zero());
    assert!(message(&point, MeshInertia::Shell).contains("no area"));
}

#[test]
fn mirrored_meshes_still_face_outward() {
    let mirrored = cuboid().scaled(Vec3::new(-2.0, 1.0, 1.0));
    let m = mass_properties(&mirrored, MeshInertia::Exact).unwrap();
    assert!((m.volume - 12.0).abs() < 1e-12 && (m.com.x + 1.0).abs() < 1e-12);
}

#[test]
fn a_shell_weighs_its_surface() {
    let m = mass_properties(&cuboid(), MeshInertia::Shell).unwrap();
    // 2 (1·2 + 2·3 + 3·1)
    assert!((m.volume - 22.0).abs() < 1e-12);
}

#[test]
fn volume_frame_and_moments_are_those_of_mujoco() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/mesh_inertia.json");
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let numbers = |v: &Value| v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>();
    let vector = |v: &Value| {
        let n = numbers(v);
        Vec3::new(n[0], n[1], n[2])
    };
    let mut worst = [0.0f64; 4];
    for (name, entry) in golden["meshes"].as_object().unwrap() {
        let mesh = TriangleMesh {
            vertices: entry["vertices"].as_array().unwrap().iter().map(vector).collect(),
            triangles: (entry["triangles"].as_array().unwrap().iter())
                .map(|t| {
                    let n = numbers(t);
                    [n[0] as usize, n[1] as usize, n[2] as usize]
                })
                .collect(),
        };
        let kinds = [
            ("legacy", MeshInertia::Legacy),
            ("exact", MeshInertia::Exact),
            ("convex", MeshInertia::Convex),
            ("shell", MeshInertia::Shell),
        ];
        for (label, kind) in kinds {
            let expected = &entry["weighed"][label];
            let ours = to_inertial_frame(&mesh, kind).unwrap();
            let volume = expected["volume"].as_f64().unwrap();
            let moments = vector(&expected["moments"]);
            let q = numbers(&expected["orientation"]);
            let turned = ours.orientation.conjugate() * Quat::new(q[0], q[1], q[2], q[3]);
            let errors = [
                (ours.volume / volume - 1.0).abs(),
                (ours.position - vector(&expected["position"])).norm() / ours.position.norm(),
                (ours.moments - moments).norm() / moments.norm(),
                // The same frame, signs of the axes included.
                2.0 * turned.vector().norm(),
            ];
            println!("{name} {label}: volume, position, moments, angle: {errors:?}");
            let rounded = (name.as_str(), label) != ("corner", "convex");
            assert!(!rounded || errors[..3].iter().all(|e| *e < 1e-14), "{name} {label}: {errors:?}");
            for (w, e) in worst.iter_mut().zip(errors) {
                *w = w.max(e);
            }
            // The mesh in its frame is weighed the same and has nothing left to turn.
            let again = mass_properties(&ours.mesh, kind).unwrap();
            let size = ours.moments.norm();
            assert!(again.com.norm() < 1e-12);
            assert!(
                (again.inertia - SymMat3::diagonal(ours.moments)).to_mat3().frobenius_squared().sqrt()
                    < 1e-10 * size
            );
        }
    }
    println!("worst: {worst:?}");
    // MuJoCo's hull program merges the nearly flat sides of the corner (1.2e-8), and its Jacobi iteration
    // stops at rotations of 1e-6 (angle 2.6e-8, second order in the moments). All else is round-off, 2e-15.
    assert!(worst[..3].iter().all(|w| *w < 2e-8) && worst[3] < 1e-7, "{worst:?}");
}

#[test]
fn a_model_with_a_scaled_mirrored_and_displaced_mesh_weighs_what_mujoco_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/mesh_inertia.json");
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let placed = &golden["placed"];
    let vector =
        |v: &Value| Vec3::new(v[0].as_f64().unwrap(), v[1].as_f64().unwrap(), v[2].as_f64().unwrap());
    let options = ImportOptions { mesh_loader: Some(Arc::new(MeshFiles)), ..ImportOptions::default() };
    let model = parse_mjcf(placed["xml"].as_str().unwrap(), None, &options).unwrap();
    let body = &model.bodies[1];
    let i = &placed["inertia"];
    let inertia = Mat3::from_rows(vector(&i[0]), vector(&i[1]), vector(&i[2]));
    let eigenvalues = |m: Mat3<f64>| symmetric_eigenvalues(SymMat3::from_mat3(m));
    let errors = [
        (body.mass / placed["mass"].as_f64().unwrap() - 1.0).abs(),
        (body.com - vector(&placed["com"])).norm(),
        (eigenvalues(body.inertia.to_mat3()) - eigenvalues(inertia)).norm() / inertia.trace(),
    ];
    // The axes carry the error of MuJoCo's Jacobi iteration, see above.
    let turned = (body.inertia.to_mat3() - inertia).frobenius_squared().sqrt() / inertia.trace();
    println!("mass, center, moments: {errors:?}, inertia {turned:e}");
    assert!(errors.iter().all(|e| *e < 1e-14) && turned < 1e-7, "{errors:?} {turned:e}");
}
