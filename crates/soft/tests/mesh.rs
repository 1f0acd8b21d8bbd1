//! Meshes of soft bodies: measures, topology, and what is refused.

use std::collections::HashMap;
use std::f64::consts::PI;

use proptest::prelude::*;
use pullback_math::{Quat, Vec3};
use pullback_soft::mesh::{
    Diagonals, Gear, MeshError, Split, TetMesh, TriangleMesh, beam, box_grid, cloth_grid, disk, gear,
    icosphere, solid_icosphere, table, walker_2d,
};

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

/// Volume inside a closed surface by the divergence theorem.
fn enclosed(positions: &[Vec3<f64>], triangles: &[[usize; 3]]) -> f64 {
    triangles.iter().map(|t| t.map(|i| positions[i])).map(|[a, b, c]| a.cross(b).dot(c) / 6.0).sum()
}

/// V − E + F of the surface alone, after checking that each edge is run along once in each direction.
fn closed_euler(triangles: &[[usize; 3]]) -> i64 {
    let mut directed = HashMap::new();
    for [a, b, c] in triangles {
        for edge in [(a, b), (b, c), (c, a)] {
            *directed.entry(edge).or_insert(0) += 1;
        }
    }
    for ((a, b), count) in &directed {
        assert_eq!((*count, directed.get(&(*b, *a))), (1, Some(&1)), "edge {a}-{b}");
    }
    let mut vertices: Vec<usize> = triangles.iter().flatten().copied().collect();
    vertices.sort_unstable();
    vertices.dedup();
    vertices.len() as i64 - directed.len() as i64 / 2 + triangles.len() as i64
}

/// Checks everything that holds for any good solid; `euler` is that of its surface.
fn check_solid(name: &str, mesh: &TetMesh, euler: i64) {
    mesh.check().unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(mesh.volumes().all(|v| v > 0.0), "{name}");

    // Conforming: an interior face belongs to two elements, a face of the surface to one.
    let mut count = HashMap::new();
    for [a, b, c, d] in &mesh.tets {
        for mut face in [[*a, *b, *c], [*a, *b, *d], [*a, *c, *d], [*b, *c, *d]] {
            face.sort_unstable();
            *count.entry(face).or_insert(0) += 1;
        }
    }
    let surface = mesh.surface();
    assert_eq!(count.values().filter(|n| **n == 1).count(), surface.len(), "{name}");
    assert!(count.values().all(|n| *n == 1 || *n == 2), "{name}");
    assert_eq!(closed_euler(&surface), euler, "{name}");
    // A gap or an overlap between elements that share no face would show here.
    assert!(close(enclosed(&mesh.positions, &surface), mesh.volume()), "{name}");

    // χ of a solid is half that of its surface: V − E + F − T.
    let χ =
        mesh.positions.len() as i64 - mesh.edges().len() as i64 + count.len() as i64 - mesh.tets.len() as i64;
    assert_eq!(2 * χ, euler, "{name}");
    let mass: f64 = mesh.masses(3.0).iter().sum();
    assert!(close(mass, 3.0 * mesh.volume()) && mesh.masses(3.0).iter().all(|m| *m > 0.0), "{name}");
}

/// Checks everything that holds for any good sheet; `boundary` is the number of edges on its border.
fn check_sheet(name: &str, mesh: &TriangleMesh, euler: i64, boundary: usize) {
    mesh.check().unwrap_or_else(|e| panic!("{name}: {e}"));
    let (edges, hinges) = (mesh.edges(), mesh.hinges());
    assert_eq!(
        mesh.positions.len() as i64 - edges.len() as i64 + mesh.triangles.len() as i64,
        euler,
        "{name}"
    );
    assert_eq!(edges.len() - hinges.len(), boundary, "{name}");
    let rotations = |[a, b, c]: [usize; 3]| [[a, b, c], [b, c, a], [c, a, b]];
    for [o1, o2, start, end] in hinges {
        let at = |t: [usize; 3]| mesh.triangles.iter().position(|u| rotations(t).contains(u)).unwrap();
        assert!(at([start, end, o1]) < at([end, start, o2]), "{name}");
    }
    let mass: f64 = mesh.masses(0.2).iter().sum();
    assert!(close(mass, 0.2 * mesh.area()), "{name}");
}

#[test]
fn blocks_have_their_volume_and_counts() {
    let size = Vec3::new(0.5, 0.7, 0.9);
    for (split, per_cell) in [(Split::Five, 5), (Split::Six, 6)] {
        let mesh = box_grid(5, 5, 8, size, split).unwrap();
        assert_eq!((mesh.tets.len(), mesh.positions.len()), (200 * per_cell, 6 * 6 * 9));
        assert!(close(mesh.volume(), 0.5 * 0.7 * 0.9));
        check_solid("box", &mesh, 2);
        assert_eq!(mesh.surface().len(), 2 * 2 * (5 * 5 + 5 * 8 + 5 * 8));
    }
}

#[test]
fn a_beam_starts_at_its_root() {
    let mesh = beam(20, 2, 2, Vec3::new(2.0, 0.2, 0.2), Split::Six).unwrap();
    check_solid("beam", &mesh, 2);
    let root: Vec<usize> = (0..mesh.positions.len()).filter(|i| mesh.positions[*i].x == 0.0).collect();
    assert_eq!(root, [0, 21, 42, 63, 84, 105, 126, 147, 168]);
    assert!(
        mesh.positions.iter().all(|x| (0.0..=2.0).contains(&x.x) && x.y.abs() <= 0.1 && x.z.abs() <= 0.1)
    );
}

#[test]
fn solid_balls_fill_their_sphere() {
    let mut missing = f64::INFINITY;
    for n in [1, 2, 3, 4, 5, 6, 12] {
        let mesh = solid_icosphere(n, 0.5).unwrap();
        assert_eq!(mesh.tets.len(), 20 * n * n * n);
        assert_eq!(mesh.positions.len(), 1 + (1..=n).map(|k| 10 * k * k + 2).sum::<usize>());
        check_solid("ball", &mesh, 2);
        assert_eq!(mesh.surface().len(), 20 * n * n);
        assert_eq!(mesh.positions[0], Vec3::zero());
        assert!(mesh.surface().iter().flatten().all(|i| close(mesh.positions[*i].norm(), 0.5)));
        let left = 1.0 - mesh.volume() / (PI / 6.0);
        assert!(left > 0.0 && left < missing);
        missing = left;
        let worst = mesh.worst_aspect_ratio();
        assert!(worst < 1.7, "{n}: {worst}");
    }
    // Icosahedron with circumradius R: V = (5/12)(3 + √5) a³, a = R / sin(2π/5).
    let edge = 0.5 / (2.0 * PI / 5.0).sin();
    let exact = 5.0 / 12.0 * (3.0 + 5.0_f64.sqrt()) * edge.powi(3);
    assert!(close(solid_icosphere(1, 0.5).unwrap().volume(), exact));
}

#[test]
fn hollow_balls_are_closed() {
    for (n, vertices) in [(0, 12), (1, 42), (2, 162), (3, 642)] {
        let mesh = icosphere(n, 2.0).unwrap();
        assert_eq!((mesh.positions.len(), mesh.triangles.len()), (vertices, 20 << (2 * n)));
        check_sheet("icosphere", &mesh, 2, 0);
        assert_eq!(closed_euler(&mesh.triangles), 2);
        let volume = enclosed(&mesh.positions, &mesh.triangles);
        assert!(volume > 0.6 * 32.0 * PI / 3.0 && volume < 32.0 * PI / 3.0, "faces outward");
        assert!(mesh.worst_aspect_ratio() < 1.25);
    }
    assert!((icosphere(4, 1.0).unwrap().area() / (4.0 * PI) - 1.0).abs() < 5e-3);
}

#[test]
fn the_gear_has_teeth_and_a_hole() {
    let mesh = gear(&Gear::default()).unwrap();
    assert_eq!((mesh.positions.len(), mesh.tets.len()), (480, 1152));
    check_solid("gear", &mesh, 0);
    assert!(mesh.worst_aspect_ratio() < 2.1);
    // Ring of 48-gons plus eight teeth; arcs at the root are straight, so the polygons' areas are exact.
    let polygon = |r: f64| 24.0 * r * r * (PI / 24.0).sin();
    let ring = 0.3 * (polygon(1.0) - polygon(0.8));
    let teeth = mesh.volume() - ring;
    // Each tooth is about three chords wide and 0.3 m deep.
    let expected = 8.0 * 0.3 * 0.3 * 3.0 * 2.0 * (PI / 48.0).sin();
    assert!((teeth / expected - 1.0).abs() < 0.03, "{teeth} {expected}");
    check_solid(
        "odd gear",
        &gear(&Gear { teeth: 5, tooth_cells: 1, layers: 1, ..Gear::default() }).unwrap(),
        0,
    );
}

#[test]
fn the_table_stands_on_four_legs() {
    let mesh = table();
    assert_eq!((mesh.positions.len(), mesh.tets.len()), (204, 444));
    check_solid("table", &mesh, 2);
    assert!(close(mesh.volume(), 2.5 * 2.5 * 0.6 + 4.0 * 0.5 * 0.5 * 1.2));
    assert_eq!(mesh.positions.iter().filter(|x| x.z == 0.0).count(), 16);
    assert!(mesh.worst_aspect_ratio() < 2.3);
}

#[test]
fn the_walker_stands_on_four_feet() {
    let mesh = walker_2d();
    assert_eq!((mesh.positions.len(), mesh.triangles.len()), (74, 104));
    check_sheet("walker", &mesh, 1, 42);
    assert!(close(mesh.area(), 52.0 * 0.0625));
    assert!(mesh.positions.iter().all(|x| x.z == 0.0));
    let mut feet: Vec<f64> = mesh.positions.iter().filter(|x| x.y == 0.0).map(|x| x.x).collect();
    feet.sort_by(f64::total_cmp);
    assert_eq!(feet, [-1.25, -1.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0, 1.25]);
    let mirrored = |x: &Vec3<f64>| mesh.positions.contains(&Vec3::new(-x.x, x.y, x.z));
    assert!(mesh.positions.iter().all(mirrored));
}

#[test]
fn cloth_has_its_area_and_hinges() {
    for diagonals in [Diagonals::Parallel, Diagonals::Alternating] {
        let mesh = cloth_grid(20, 10, 2.0, 1.0, diagonals).unwrap();
        assert_eq!((mesh.positions.len(), mesh.triangles.len()), (231, 400));
        check_sheet("cloth", &mesh, 1, 60);
        // One per diagonal and one per interior grid line.
        assert_eq!(mesh.hinges().len(), 200 + 19 * 10 + 20 * 9);
        assert!(close(mesh.area(), 2.0));
        for [a, b, c] in &mesh.triangles {
            let [a, b, c] = [a, b, c].map(|i| mesh.positions[*i]);
            assert!((b - a).cross(c - a).z > 0.0);
        }
    }
}

#[test]
fn a_disk_is_a_polygon() {
    let mesh = disk(4, 24, 0.3).unwrap();
    assert_eq!((mesh.positions.len(), mesh.triangles.len()), (97, 168));
    check_sheet("disk", &mesh, 1, 24);
    assert!(close(mesh.area(), 12.0 * 0.09 * (PI / 12.0).sin()));
    assert!(mesh.triangles.iter().all(|t| {
        let [a, b, c] = t.map(|i| mesh.positions[i]);
        (b - a).cross(c - a).z > 0.0
    }));
}

#[test]
fn the_same_arguments_give_the_same_mesh() {
    assert_eq!(solid_icosphere(4, 0.7).unwrap(), solid_icosphere(4, 0.7).unwrap());
    assert_eq!(icosphere(3, 0.7).unwrap(), icosphere(3, 0.7).unwrap());
    let ball = solid_icosphere(3, 0.7).unwrap();
    assert_eq!(ball.surface(), ball.clone().surface());
    assert_eq!(icosphere(2, 1.0).unwrap().hinges(), icosphere(2, 1.0).unwrap().hinges());
}

#[test]
fn impossible_shapes_are_refused() {
    let cube = Vec3::new(1.0, 1.0, 1.0);
    let message = |e: MeshError| e.to_string();
    assert_eq!(
        message(box_grid(2, 0, 2, cube, Split::Six).unwrap_err()),
        "box_grid: `ny` must be at least 1"
    );
    let huge = usize::MAX / 2;
    assert!(message(box_grid(huge, huge, 1, cube, Split::Five).unwrap_err()).contains("coarser"));
    assert!(
        message(beam(1, 1, 1, Vec3::new(1.0, -1.0, 1.0), Split::Five).unwrap_err())
            .contains("`size.y` is -1")
    );
    assert!(
        message(cloth_grid(1, 1, f64::NAN, 1.0, Diagonals::Parallel).unwrap_err()).contains("`width` is NaN")
    );
    assert!(message(icosphere(1000, 1.0).unwrap_err()).contains("coarser"));
    assert!(message(icosphere(0, f64::INFINITY).unwrap_err()).contains("`radius` is inf"));
    assert!(message(solid_icosphere(0, 1.0).unwrap_err()).contains("`shells` must"));
    assert!(message(disk(2, 2, 1.0).unwrap_err()).contains("at least 3"));
    let odd = Gear { tip_radius: 0.5, ..Gear::default() };
    assert!(message(gear(&odd).unwrap_err()).contains("radii must grow"));
    let many = Gear { teeth: usize::MAX, tooth_cells: usize::MAX, ..Gear::default() };
    assert!(message(gear(&many).unwrap_err()).contains("coarser"));
}

fn unit_tet() -> TetMesh {
    let positions = vec![
        Vec3::zero(),
        Vec3::new(1.0, 0.0, 0.0),
        Vec3::new(0.0, 1.0, 0.0),
        Vec3::new(0.0, 0.0, 1.0),
        Vec3::new(1.0, 1.0, 1.0),
    ];
    TetMesh { positions, tets: vec![[0, 1, 2, 3], [1, 2, 3, 4]] }
}

#[test]
fn bad_solids_are_refused_with_the_index() {
    let refused = |change: fn(&mut TetMesh)| {
        let mut mesh = unit_tet();
        mesh.check().unwrap();
        change(&mut mesh);
        mesh.check().unwrap_err()
    };
    let kind = "tetrahedron";
    let out = MeshError::Index { kind, element: 1, vertex: 5, count: 5 };
    assert_eq!(refused(|m| m.tets[1][2] = 5), out);
    assert_eq!(refused(|m| m.tets[1][0] = 4), MeshError::Repeated { kind, element: 1, vertex: 4 });
    assert_eq!(refused(|m| m.tets[1].swap(0, 1)), MeshError::Inverted { element: 1 });
    assert_eq!(refused(|m| m.tets.truncate(1)), MeshError::Unused { vertex: 4 });
    assert_eq!(refused(|m| m.tets.clear()), MeshError::Empty);
    let sliver = refused(|m| m.positions[4] = Vec3::new(1.0, 1.0, -1.0 + 1e-7));
    assert!(matches!(sliver, MeshError::Degenerate { element: 1, measure, .. } if measure > 0.0), "{sliver}");
    assert!(matches!(refused(|m| m.positions[2].y = f64::NAN), MeshError::Position { vertex: 2, .. }));
    assert!(matches!(refused(|m| m.positions[2].y = 1e300), MeshError::Position { vertex: 2, .. }));
    let twice = refused(|m| m.tets.push([2, 1, 4, 3]));
    assert!(matches!(twice, MeshError::Overlap { first: 1, second: 2, .. }), "{twice}");
    assert!(unit_tet().scaled(Vec3::new(1e-90, 1e-90, 1e-90)).check().is_ok());
}

#[test]
fn bad_sheets_are_refused_with_the_index() {
    let refused = |change: fn(&mut TriangleMesh)| {
        let mut mesh = cloth_grid(1, 1, 1.0, 1.0, Diagonals::Parallel).unwrap();
        change(&mut mesh);
        mesh.check().unwrap_err()
    };
    let kind = "triangle";
    assert_eq!(
        refused(|m| m.triangles[0][1] = 9),
        MeshError::Index { kind, element: 0, vertex: 9, count: 4 }
    );
    assert_eq!(refused(|m| m.positions.push(Vec3::zero())), MeshError::Unused { vertex: 4 });
    let facing_away = refused(|m| m.triangles[1].swap(1, 2));
    assert!(matches!(facing_away, MeshError::Overlap { first: 0, second: 1, side: "edge", .. }));
    let thin = refused(|m| m.positions[1] = Vec3::new(1e-8, 0.0, 0.0));
    assert!(matches!(thin, MeshError::Degenerate { element: 0, .. }), "{thin}");
}

#[test]
fn compacting_drops_only_unused_vertices() {
    let mut mesh = unit_tet();
    mesh.tets.remove(0);
    let small = mesh.clone().compacted();
    assert_eq!(small.positions, mesh.positions[1..]);
    assert_eq!(small.tets, [[0, 1, 2, 3]]);
    small.check().unwrap();
    let mut broken = unit_tet();
    broken.tets[0][1] = 77;
    assert!(matches!(broken.compacted().check(), Err(MeshError::Index { element: 0, .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_block_is_sound(
        nx in 1usize..5, ny in 1usize..5, nz in 1usize..5,
        x in 0.01f64..10.0, y in 0.01f64..10.0, z in 0.01f64..10.0, six: bool,
    ) {
        let split = if six { Split::Six } else { Split::Five };
        let mesh = box_grid(nx, ny, nz, Vec3::new(x, y, z), split).unwrap();
        prop_assert!(close(mesh.volume(), x * y * z));
        check_solid("any block", &mesh, 2);
    }

    #[test]
    fn any_cloth_and_disk_is_sound(nx in 1usize..8, ny in 1usize..8, alternating: bool) {
        let diagonals = if alternating { Diagonals::Alternating } else { Diagonals::Parallel };
        check_sheet("cloth", &cloth_grid(nx, ny, 1.0, 2.0, diagonals).unwrap(), 1, 2 * (nx + ny));
        check_sheet("disk", &disk(nx, ny + 2, 1.0).unwrap(), 1, ny + 2);
    }

    #[test]
    fn any_gear_is_sound(
        teeth in 2usize..7, tooth in 1usize..4, gap in 2usize..4, rim in 1usize..3, depth in 1usize..3, layers in 1usize..3,
    ) {
        let shape = Gear {
            teeth, tooth_cells: tooth, gap_cells: gap, rim_cells: rim, depth_cells: depth, layers, ..Gear::default()
        };
        let made = gear(&shape);
        prop_assert_eq!(made.is_ok(), teeth * (tooth + gap) >= 8);
        if let Ok(mesh) = made {
            check_solid("gear", &mesh, 0);
        }
    }

    #[test]
    fn moving_keeps_volume_and_scaling_multiplies_it(
        angle in -3.0f64..3.0, x in -5.0f64..5.0, sx in 0.1f64..3.0, mirror: bool,
    ) {
        let axis = Vec3::new(1.0, -2.0, 0.5).normalize();
        let turn = Quat::from_axis_angle(axis, angle);
        let sx = if mirror { -sx } else { sx };
        let mesh = table().moved(turn, Vec3::new(x, 1.0, 2.0));
        prop_assert!((mesh.volume() - table().volume()).abs() < 1e-11);
        check_solid("moved", &table().scaled(Vec3::new(sx, 2.0, 0.5)), 2);
        let ball = icosphere(1, 1.0).unwrap();
        let scaled = ball.clone().scaled(Vec3::new(sx, 2.0, 0.5));
        let expected = sx.abs() * enclosed(&ball.positions, &ball.triangles);
        prop_assert!(close(enclosed(&scaled.positions, &scaled.triangles), expected));
    }
}
