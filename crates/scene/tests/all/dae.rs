//! Collada: every kind of face, scenes with transforms and instances, units, and files meant to do harm.

use proptest::prelude::*;
use pullback_math::Vec3;
use pullback_scene::mesh::{MeshInertia, TriangleMesh, mass_properties, parse_dae};

const CORNERS: &str = "0 0 0  1 0 0  1 1 0  0 1 0  0 0 1  1 0 1  1 1 1  0 1 1";

/// A geometry `g` of the corners of a unit cube with these primitives.
fn geometry(primitives: &str) -> String {
    format!(
        "<library_geometries><geometry id=\"g\"><mesh><source id=\"s\"><float_array id=\"f\" count=\"24\">{CORNERS}\
         </float_array><technique_common><accessor source=\"#f\" count=\"8\" stride=\"3\"><param name=\"X\"/>\
         <param name=\"Y\"/><param name=\"Z\"/></accessor></technique_common></source><vertices id=\"v\">\
         <input semantic=\"POSITION\" source=\"#s\"/></vertices>{primitives}</mesh></geometry></library_geometries>"
    )
}

fn scene(nodes: &str) -> String {
    format!(
        "<library_visual_scenes><visual_scene id=\"w\">{nodes}</visual_scene></library_visual_scenes>\
         <scene><instance_visual_scene url=\"#w\"/></scene>"
    )
}

fn read(inside: &str) -> Result<TriangleMesh, String> {
    let text = format!(
        "<?xml version=\"1.0\"?><COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\">{inside}</COLLADA>"
    );
    parse_dae(text.as_bytes(), "m.dae").map_err(|e| e.to_string())
}

/// Faces of the cube, outward.
const FACES: [[usize; 4]; 6] =
    [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]];

/// Indices with a normal, which is not read, before every corner.
fn corners(face: &[usize]) -> String {
    face.iter().map(|c| format!("9 {c} ")).collect()
}

const INPUTS: &str = "<input semantic=\"NORMAL\" source=\"#n\" offset=\"0\"/><input semantic=\"VERTEX\" source=\"#v\" offset=\"1\"/>";

fn polylist() -> String {
    let all: String = FACES.iter().map(|f| corners(f)).collect();
    format!("<polylist>{INPUTS}<vcount>4 4 4 4 4 4</vcount><p>{all}</p></polylist>")
}

fn instance(transforms: &str) -> String {
    format!("<node>{transforms}<instance_geometry url=\"#g\"/></node>")
}

fn volume(mesh: &TriangleMesh) -> f64 {
    mass_properties(mesh, MeshInertia::Exact).unwrap().volume
}

fn bounds(mesh: &TriangleMesh) -> [[f64; 3]; 2] {
    let all = || mesh.triangles.iter().flat_map(|t| mesh.corners(*t));
    let fold = |pick: fn(f64, f64) -> f64, start: f64| {
        let most = all().fold(Vec3::new(start, start, start), |m, v| m.zip(v, pick));
        [most.x, most.y, most.z]
    };
    [fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY)]
}

#[test]
fn every_kind_of_face_makes_the_same_cube() {
    let each = |tag: &str, faces: Vec<String>| format!("<{tag}>{INPUTS}{}</{tag}>", faces.concat());
    let p = |face: &[usize]| format!("<p>{}</p>", corners(face));
    let halves = || FACES.iter().flat_map(|f| [[f[0], f[1], f[2]], [f[0], f[2], f[3]]]);
    let triangles: String = halves().map(|t| corners(&t)).collect();
    let kinds = [
        polylist(),
        each("triangles", vec![format!("<p>{triangles}</p>")]),
        each("polygons", FACES.iter().map(|f| p(f)).collect()),
        each("trifans", FACES.iter().map(|f| p(f)).collect()),
        each("tristrips", FACES.iter().map(|f| p(&[f[0], f[1], f[3], f[2]])).collect()),
        // Half by half, with lines between.
        format!(
            "{}<lines count=\"1\"><p>0 1</p></lines>{}",
            each("polygons", FACES[..3].iter().map(|f| p(f)).collect()),
            each("polygons", FACES[3..].iter().map(|f| p(f)).collect())
        ),
    ];
    for primitives in kinds {
        let mesh = read(&geometry(&primitives)).unwrap();
        assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (8, 12), "{primitives}");
        assert!((volume(&mesh) - 1.0).abs() < 1e-15, "{primitives}");
    }
}

#[test]
fn nodes_place_what_they_show() {
    // Applied last to first: twice as long in x, a quarter turn about z, then a shift.
    let placed = instance("<translate>5 0 0</translate><rotate>0 0 1 90</rotate><scale>2 1 1</scale>");
    let mesh = read(&(geometry(&polylist()) + &scene(&placed))).unwrap();
    let [low, high] = bounds(&mesh);
    for (bound, expected) in low.iter().chain(&high).zip([4.0, 0.0, 0.0, 5.0, 2.0, 1.0]) {
        assert!((bound - expected).abs() < 1e-14, "{low:?} {high:?}");
    }
    // A mirror keeps the outside out: the volume stays positive.
    let mirrored = instance("<matrix>-1 0 0 0  0 1 0 0  0 0 1 3  0 0 0 1</matrix>");
    let mesh = read(&(geometry(&polylist()) + &scene(&mirrored))).unwrap();
    assert_eq!(bounds(&mesh), [[-1.0, 0.0, 3.0], [0.0, 1.0, 4.0]]);
    assert!((volume(&mesh) - 1.0).abs() < 1e-15);
    // Nodes in nodes, a node shown twice, a skin in its bind shape; what the scene does not show is left out.
    let library = format!(
        "<library_nodes><node id=\"n\"><translate>0 0 1</translate>{}</node></library_nodes>",
        instance("")
    );
    let skin = "<library_controllers><controller id=\"c\"><skin source=\"#g\"><bind_shape_matrix>1 0 0 9 0 1 0 0 0 0 1 0 \
                0 0 0 1</bind_shape_matrix></skin></controller></library_controllers>";
    let nodes = "<node><translate>3 0 0</translate><instance_node url=\"#n\"/><node><translate>3 0 0</translate>\
                 <instance_node url=\"#n\"/></node></node><node><instance_controller url=\"#c\"/></node>";
    let mesh = read(&(geometry(&polylist()) + &library + skin + &scene(nodes))).unwrap();
    assert_eq!((mesh.triangles.len(), bounds(&mesh)), (36, [[3.0, 0.0, 0.0], [10.0, 1.0, 2.0]]));
}

#[test]
fn units_are_applied_and_up_axes_are_not() {
    let asset = "<asset><unit name=\"inch\" meter=\"0.0254\"/><up_axis>Y_UP</up_axis></asset>";
    let raised = scene(&instance("<translate>0 0 1</translate>"));
    let mesh = read(&format!("{asset}{}{raised}", geometry(&polylist()))).unwrap();
    assert_eq!(bounds(&mesh), [[0.0, 0.0, 0.0254], [0.0254, 0.0254, 0.0508]]);
}

#[test]
fn broken_files_end_in_errors_with_their_line() {
    let refuse = |inside: &str, why: &str| {
        let message = read(inside).unwrap_err();
        assert!(message.starts_with("m.dae: ") && message.contains(why), "{message} is not {why}");
    };
    let primitive = |p: &str| geometry(&format!("<polylist>{INPUTS}{p}</polylist>"));
    refuse(&primitive("<vcount>3</vcount><p>0 0 0 1 0 8</p>"), "line 1: <polylist>: vertex 8 of 8");
    refuse(&primitive("<vcount>4</vcount><p>0 0 0 1 0 2</p>"), "fewer corners");
    refuse(&primitive("<vcount>3</vcount><p>0 0 0 -1 0 2</p>"), "no whole number");
    refuse(&geometry("<triangles><p>0 1 2</p></triangles>"), "needs an input of vertices");
    refuse(&polylist(), "no triangle");
    refuse(&geometry(&polylist()).replace("count=\"8\"", "count=\"4000000000\""), "announces 4000000000");
    refuse(&geometry(&polylist()).replace("stride=\"3\"", "stride=\"4000000000\""), "announces 8");
    refuse(&geometry(&polylist()).replace("0 0 0  1", "0 nan 0  1"), "`nan` is no finite number");
    refuse(&geometry(&polylist()).replace("\"#f\"", "\"#none\""), "`none` is not in the file");
    refuse(&(geometry(&polylist()) + &scene(&instance("<skew>1 0 0 0 0 1 0</skew>"))), "not read");
    refuse(&(geometry(&polylist()) + &scene(&instance("<scale>1 2</scale>"))), "2 numbers where 3");
    assert!(parse_dae(b"<x/>", "m.dae").unwrap_err().to_string().contains("not a Collada file"));
    assert!(parse_dae(b"\xff<", "m.dae").is_err());
    // A node in itself, and nodes that show the next twice, 2⁶⁰ times in all.
    let circle = "<node id=\"c\"><instance_node url=\"#c\"/></node>";
    refuse(&(geometry(&polylist()) + &scene(circle)), "circle");
    let twice = |i: usize| {
        format!("<node id=\"n{i}\">{0}{0}</node>", format!("<instance_node url=\"#n{}\"/>", i + 1))
    };
    let nodes: String = (0..60).map(twice).collect();
    refuse(&(geometry(&polylist()) + &scene(&(nodes + "<node id=\"n60\"/>"))), "more than 100000 things");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn mutated_files_never_panic(at in 0usize..4000, byte in 32u8..127, cut in 0usize..40) {
        let nodes = instance("<translate>5 0 0</translate><rotate>0 0 1 90</rotate>");
        let text = format!("<COLLADA>{}{}</COLLADA>", geometry(&polylist()), scene(&nodes));
        let at = at % text.len();
        let end = (at + cut).min(text.len());
        let _ = parse_dae(format!("{}{}{}", &text[..at], byte as char, &text[end..]).as_bytes(), "m.dae");
    }
}
