//! Files of soft meshes: Gmsh's own files read right, ours read back, broken ones refused with their place.

use std::path::PathBuf;

use proptest::prelude::*;
use pullback_math::Vec3;
use pullback_scene::mesh::{SoftMesh, parse_gmsh, parse_msh, parse_soft, read, read_soft};
use pullback_soft::mesh::{
    Diagonals, Gear, Split, TetMesh, TriangleMesh, beam, box_grid, cloth_grid, disk, gear, icosphere,
    solid_icosphere, table, walker_2d,
};
use serde_json::Value;

use crate::soft_mesh_text::{write_gmsh, write_obj};

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/gmsh").join(name)
}

/// `[vertices, elements]`, and volume or area.
fn size(mesh: &SoftMesh) -> ([usize; 2], f64) {
    match mesh {
        SoftMesh::Solid(m) => ([m.positions.len(), m.tets.len()], m.volume()),
        SoftMesh::Sheet(m) => ([m.positions.len(), m.triangles.len()], m.area()),
    }
}

/// A solid of two tetrahedra and its sheet, small enough to break byte by byte.
fn two_tets() -> TetMesh {
    let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.5, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.25]];
    let positions = positions.map(|[x, y, z]| Vec3::new(x, y, z)).to_vec();
    TetMesh { positions, tets: vec![[0, 1, 2, 3], [1, 2, 3, 4]] }
}

/// Numbers as bytes of either order.
struct Bytes(Vec<u8>, bool);

impl Bytes {
    fn raw<const N: usize>(&mut self, mut little: [u8; N]) {
        if self.1 {
            little.reverse();
        }
        self.0.extend(little);
    }
    fn ints(&mut self, values: &[i32]) {
        values.iter().for_each(|v| self.raw(v.to_le_bytes()));
    }
    fn sizes(&mut self, values: &[u64]) {
        values.iter().for_each(|v| self.raw(v.to_le_bytes()));
    }
    fn doubles(&mut self, x: &Vec3<f64>) {
        [x.x, x.y, x.z].iter().for_each(|v| self.raw(v.to_le_bytes()));
    }
    fn text(&mut self, text: &str) {
        self.0.extend(text.as_bytes());
    }
}

/// Binary 2.2 with one line, one triangle and two tags on each element.
fn binary_2(mesh: &TetMesh, big: bool) -> Vec<u8> {
    let mut out = Bytes(b"$MeshFormat\n2.2 1 8\n".to_vec(), big);
    out.ints(&[1]);
    out.text(&format!("\n$EndMeshFormat\n$Nodes\n{}\n", mesh.positions.len()));
    for (i, x) in mesh.positions.iter().enumerate() {
        out.ints(&[10 + i as i32]);
        out.doubles(x);
    }
    out.text(&format!("\n$EndNodes\n$Elements\n{}\n", 2 + mesh.tets.len()));
    out.ints(&[1, 1, 2, 1, 0, 7, 10, 11, 2, 1, 2, 2, 0, 7, 10, 11, 12, 4, mesh.tets.len() as i32, 2]);
    for (i, t) in mesh.tets.iter().enumerate() {
        out.ints(&[3 + i as i32, 0, 7]);
        out.ints(&t.map(|v| 10 + v as i32));
    }
    out.text("\n$EndElements\n");
    out.0
}

/// Binary 4.1 with the nodes in two blocks, one of them parametric.
fn binary_4(mesh: &TetMesh, big: bool) -> Vec<u8> {
    let mut out = Bytes(b"$MeshFormat\n4.1 1 8\n".to_vec(), big);
    out.ints(&[1]);
    let n = mesh.positions.len() as u64;
    out.text("\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"part\"\n$EndPhysicalNames\n$Nodes\n");
    out.sizes(&[2, n, 10, 9 + n]);
    out.ints(&[2, 1, 1]);
    out.sizes(&[2, 10, 11]);
    for x in &mesh.positions[..2] {
        out.doubles(x);
        out.sizes(&[0, 0]);
    }
    out.ints(&[3, 1, 0]);
    out.sizes(&[n - 2]);
    (2..n).for_each(|i| out.sizes(&[10 + i]));
    mesh.positions[2..].iter().for_each(|x| out.doubles(x));
    out.text("\n$EndNodes\n$Elements\n");
    out.sizes(&[2, 1 + mesh.tets.len() as u64, 1, 50]);
    out.ints(&[0, 1, 15]);
    out.sizes(&[1, 40, 10]);
    out.ints(&[3, 1, 4]);
    out.sizes(&[mesh.tets.len() as u64]);
    for (i, t) in mesh.tets.iter().enumerate() {
        out.sizes(&[41 + i as u64]);
        out.sizes(&t.map(|v| 10 + v as u64));
    }
    out.text("\n$EndElements\n");
    out.0
}

#[test]
fn files_of_gmsh_are_read_alike_in_every_format() {
    let measures: Value =
        serde_json::from_str(&std::fs::read_to_string(golden("measures.json")).unwrap()).unwrap();
    for (shape, solid) in [("solid", true), ("sheet", false)] {
        let expected = &measures[shape];
        let mut first: Option<SoftMesh> = None;
        for format in ["41_text", "41_binary", "22_text", "22_binary"] {
            let mesh = read_soft(golden(&format!("{shape}_{format}.msh"))).unwrap();
            assert_eq!(matches!(mesh, SoftMesh::Solid(_)), solid);
            let ([vertices, elements], measure) = size(&mesh);
            assert_eq!(expected["vertices"], vertices, "{shape} {format}");
            assert_eq!(expected["elements"], elements, "{shape} {format}");
            assert!(
                (measure / expected["measure"].as_f64().unwrap() - 1.0).abs() < 1e-12,
                "{shape} {format}"
            );
            // Text rounds to 16 digits, order and topology are the same.
            match (&first, &mesh) {
                (Some(SoftMesh::Solid(a)), SoftMesh::Solid(b)) => assert_eq!(a.tets, b.tets),
                (Some(SoftMesh::Sheet(a)), SoftMesh::Sheet(b)) => assert_eq!(a.triangles, b.triangles),
                (None, _) => {}
                _ => panic!("{shape} {format}"),
            }
            first.get_or_insert(mesh);
        }
    }
}

#[test]
fn both_byte_orders_are_read() {
    let mesh = two_tets();
    for big in [false, true] {
        for bytes in [binary_2(&mesh, big), binary_4(&mesh, big)] {
            assert_eq!(parse_gmsh(&bytes, "f").unwrap(), SoftMesh::Solid(mesh.clone()));
        }
    }
}

#[test]
fn what_is_written_is_read_back() {
    let odd = Vec3::new(1e-7 / 3.0, -1e-8, 1e-7);
    let solids = [
        two_tets(),
        two_tets().scaled(odd),
        table(),
        solid_icosphere(3, 0.7).unwrap(),
        gear(&Gear::default()).unwrap(),
        box_grid(5, 5, 8, Vec3::new(0.5, 0.5, 0.8), Split::Five).unwrap(),
        beam(20, 2, 2, Vec3::new(2.0, 0.2, 0.2), Split::Six).unwrap(),
    ];
    for mesh in solids {
        let surface =
            TriangleMesh { positions: mesh.positions.clone(), triangles: mesh.surface() }.compacted();
        let mesh = SoftMesh::Solid(mesh);
        assert_eq!(parse_soft(write_gmsh(&mesh).as_bytes(), "msh", "f").unwrap(), mesh);
        assert_eq!(parse_soft(write_obj(&mesh).as_bytes(), "obj", "f").unwrap(), SoftMesh::Sheet(surface));
    }
    let sheets = [
        walker_2d(),
        icosphere(2, 0.3).unwrap(),
        disk(3, 18, 0.1).unwrap(),
        cloth_grid(7, 9, 0.7, 0.9, Diagonals::Alternating).unwrap(),
    ];
    for mesh in sheets.map(SoftMesh::Sheet) {
        assert_eq!(parse_soft(write_gmsh(&mesh).as_bytes(), "msh", "f").unwrap(), mesh);
        assert_eq!(parse_soft(write_obj(&mesh).as_bytes(), "obj", "f").unwrap(), mesh);
    }
}

/// A text file of version 2.2 with these nodes and elements.
fn text_2(nodes: &[&str], elements: &[&str]) -> String {
    format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{}\n{}\n$EndNodes\n$Elements\n{}\n{}\n$EndElements\n",
        nodes.len(),
        nodes.join("\n"),
        elements.len(),
        elements.join("\n")
    )
}

const NODES: [&str; 5] = ["1 0 0 0", "2 1 0 0", "3 0 1 0", "7 0 0 1", "9 5 5 5"];

#[test]
fn broken_gmsh_files_name_the_place_and_the_remedy() {
    let message = |text: &str| parse_gmsh(text.as_bytes(), "f.msh").unwrap_err().to_string();
    let good = text_2(&NODES, &["1 15 2 0 1 9", "2 1 2 0 1 1 2", "3 2 2 0 1 1 2 3", "4 4 2 0 1 1 2 3 7"]);
    let mesh = parse_gmsh(good.as_bytes(), "f.msh").unwrap();
    assert_eq!(size(&mesh), ([4, 1], 1.0 / 6.0));

    let elements = |lines: &[&str]| message(&text_2(&NODES, lines));
    assert_eq!(
        elements(&["1 4 0 1 2 7 3"]),
        "f.msh: element 1: tetrahedron 0 has negative volume; swap two of its corners"
    );
    let missing = elements(&["1 2 0 1 2 3", "88 2 0 1 2 77"]);
    assert_eq!(missing, "f.msh: element 88: node 77 is not in $Nodes; save the whole mesh");
    let quadrangle = elements(&["1 2 0 1 2 3", "5 3 0 1 2 3 7"]);
    assert!(
        quadrangle.starts_with("f.msh: line 15: element 5 has type 3: it is a quadrangle"),
        "{quadrangle}"
    );
    for (kind, word) in
        [(5, "hexahedron"), (6, "prism"), (7, "pyramid"), (9, "ElementOrder"), (11, "ElementOrder")]
    {
        assert!(elements(&[&format!("1 {kind} 0 1 2 3 7")]).contains(word));
    }
    assert!(elements(&["1 4 0 1 2 3 3"]).contains("element 1: tetrahedron 0 names vertex"));
    assert!(elements(&["1 15 0 1"]).contains("no tetrahedron and no triangle"));
    assert!(elements(&["1 2 0 1 2"]).contains("line 15: `$EndElements` stands where a whole number should"));

    let replace = |from: &str, to: &str| message(&good.replace(from, to));
    assert!(replace("2.2 0 8", "4 0 8").contains("line 2: version 4 is not read; save as 4.1"));
    assert!(replace("2.2 0 8", "2.2 0 4").contains("numbers of 4 bytes"));
    assert!(replace("2.2 0 8", "2.2 2 8").contains("file type 2"));
    assert!(replace("3 0 1 0", "3 0 nan 0").contains("line 8: node 3 is not finite"));
    assert!(replace("3 0 1 0", "2 0 1 0").contains("line 8: node 2 is there twice"));
    assert!(replace("$Nodes\n5", "$Nodes\n4").contains("the counts do not fit"));
    assert!(replace("$Nodes\n5", "$Nodes\n18446744073709551615").contains("do not fit into the"));
    assert!(replace("$EndElements\n", "$EndElements\n$Nodes\n").contains("a second section $Nodes"));
    assert!(replace("$EndElements\n", "$EndElements\n$Other\n1\n").contains("has no $EndOther"));
    assert!(replace("$Nodes", "$Knots").contains("has no $EndKnots"));
    assert!(message(good.split("$Elements").next().unwrap()).contains("no section $Elements"));
}

#[test]
fn huge_counts_are_refused_at_once() {
    let mesh = two_tets();
    let (old, new) = (binary_2(&mesh, false), binary_4(&mesh, false));
    let find =
        |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).position(|w| w == text).unwrap() + text.len();
    // Number of nodes in the first block, of elements in the first block.
    for at in [find(&new, b"$Nodes\n") + 32 + 12, find(&new, b"$Elements\n") + 32 + 12] {
        for value in [u64::MAX, 1 << 40, 1 << 24] {
            let mut broken = new.clone();
            broken[at..at + 8].copy_from_slice(&value.to_le_bytes());
            let message = parse_gmsh(&broken, "f").unwrap_err().to_string();
            assert!(message.contains(&format!("{value} entries do not fit")), "{message}");
        }
    }
    // Length of the first run of elements.
    let at = find(&old, b"$Elements\n4\n") + 4;
    let mut broken = old.clone();
    broken[at..at + 4].copy_from_slice(&i32::MAX.to_le_bytes());
    assert!(parse_gmsh(&broken, "f").unwrap_err().to_string().contains("where 4 are left"));
}

#[test]
fn the_two_kinds_of_msh_are_told_apart() {
    // MuJoCo's legacy format: counts, then a triangle.
    let mut legacy: Vec<u8> = [3, 0, 0, 1].iter().flat_map(|n: &i32| n.to_le_bytes()).collect();
    let corners: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    legacy.extend(corners.iter().flat_map(|x| x.to_le_bytes()));
    legacy.extend([0, 1, 2].iter().flat_map(|i: &i32| i.to_le_bytes()));
    assert_eq!(size(&parse_soft(&legacy, "msh", "f").unwrap()), ([3, 1], 0.5));
    let gmsh = write_gmsh(&SoftMesh::Solid(two_tets()));
    assert!(parse_msh(gmsh.as_bytes(), "f").unwrap_err().to_string().contains("a mesh of Gmsh"));
    assert!(read(golden("solid_41_text.msh")).unwrap_err().to_string().contains("a mesh of Gmsh"));
    assert!(read_soft("no.vtk").unwrap_err().to_string().contains("`vtk` is not read; convert"));
    assert!(read_soft("there_is_none.msh").is_err());
}

#[test]
fn cloth_files_are_checked() {
    let quad = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 9 9 9\nf 1 2 3 4\n";
    assert_eq!(size(&parse_soft(quad.as_bytes(), "obj", "f").unwrap()), ([4, 2], 1.0));
    let twice = format!("{quad}f 1 2 3\n");
    let message = parse_soft(twice.as_bytes(), "obj", "f.obj").unwrap_err().to_string();
    assert!(
        message.starts_with("f.obj: triangle 2: triangle 0 and triangle 2 lie on the same side"),
        "{message}"
    );
    let points = parse_soft(b"v 0 0 0\nv 1 0 0\n", "obj", "f").unwrap_err().to_string();
    assert!(points.contains("no element"), "{points}");
    let thin = parse_soft(b"v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", "obj", "f").unwrap_err().to_string();
    assert!(thin.contains("triangle 0 is degenerate"), "{thin}");
}

/// Every kind of file, small.
fn samples() -> Vec<Vec<u8>> {
    let (solid, sheet) = (SoftMesh::Solid(two_tets()), SoftMesh::Sheet(disk(1, 3, 1.0).unwrap()));
    vec![
        binary_2(&two_tets(), false),
        binary_2(&two_tets(), true),
        binary_4(&two_tets(), false),
        binary_4(&two_tets(), true),
        write_gmsh(&solid).into_bytes(),
        write_gmsh(&sheet).into_bytes(),
        text_2(&NODES, &["1 15 2 0 1 9", "3 2 2 0 1 1 2 3", "4 4 2 0 1 1 2 3 7"]).into_bytes(),
    ]
}

#[test]
fn truncated_files_are_errors() {
    for bytes in samples() {
        // The last line break may be missing.
        assert!(parse_gmsh(&bytes[..bytes.len() - 1], "cut").is_ok());
        for length in 0..bytes.len() - 1 {
            assert!(parse_gmsh(&bytes[..length], "cut").is_err(), "{length} of {} bytes", bytes.len());
        }
    }
}

#[test]
fn flipped_bytes_give_an_error_or_a_sound_mesh() {
    for bytes in samples() {
        for at in 0..bytes.len() {
            for flip in [0x01, 0x04, 0x10, 0x80, 0xff] {
                let mut broken = bytes.clone();
                broken[at] ^= flip;
                assert_sound(&broken);
            }
        }
    }
}

fn assert_sound(bytes: &[u8]) {
    match parse_gmsh(bytes, "broken") {
        Ok(SoftMesh::Solid(mesh)) => mesh.check().unwrap(),
        Ok(SoftMesh::Sheet(mesh)) => mesh.check().unwrap(),
        Err(error) => assert!(error.to_string().starts_with("broken: ") && error.to_string().len() < 500),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_files_give_an_error_or_a_sound_mesh(
        which in 0usize..7,
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..12),
        cut in prop::option::of((any::<usize>(), any::<usize>())),
    ) {
        let mut bytes = samples().swap_remove(which);
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        // Leave out a piece, which shifts everything after it.
        if let Some((at, length)) = cut {
            let at = at % bytes.len();
            let end = (at + length % 40).min(bytes.len());
            bytes.drain(at..end);
        }
        assert_sound(&bytes);
    }

    #[test]
    fn any_positions_survive_a_round_trip(values in prop::collection::vec(-1e6f64..1e6, 15)) {
        let mut mesh = two_tets();
        for (x, v) in mesh.positions.iter_mut().zip(values.chunks(3)) {
            *x = Vec3::new(v[0], v[1], v[2]);
        }
        // Turn each element the right way; the pair may then overlap, which is refused.
        for tet in &mut mesh.tets {
            let [a, b, c, d] = tet.map(|i| mesh.positions[i]);
            if (b - a).cross(c - a).dot(d - a) < 0.0 {
                tet.swap(2, 3);
            }
        }
        let sound = mesh.check().is_ok();
        let mesh = SoftMesh::Solid(mesh);
        match parse_gmsh(write_gmsh(&mesh).as_bytes(), "f") {
            Ok(read) => prop_assert_eq!(read, mesh),
            Err(error) => prop_assert!(!sound, "{}", error),
        }
    }
}
