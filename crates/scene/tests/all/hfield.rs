//! Terrain in MJCF: what MuJoCo makes of it, files, and what is refused with its place.

use std::path::Path;

use pullback_articulated::{Model, Shape};
use pullback_math::Vec3;
use pullback_scene::ImportError;
use pullback_scene::mjcf::{ImportOptions, parse_mjcf, read_mjcf};

fn read(asset: &str, world: &str) -> Result<Model, ImportError> {
    let text = format!("<mujoco><asset>\n{asset}</asset><worldbody>\n{world}</worldbody></mujoco>");
    parse_mjcf(&text, None, &ImportOptions::default())
}

const GEOM: &str = "<geom type='hfield' hfield='h' pos='1 2 3'/>";

#[test]
fn elevations_are_those_mujoco_compiles() {
    let asset = "<hfield name='h' nrow='3' ncol='2' size='1 2 0.5 0.1' elevation='1 2  3 4  5 9'/>";
    let model = read(asset, GEOM).unwrap();
    let field = &model.heightfields[0];
    // mujoco 3.17: hfield_data of this very element.
    assert_eq!(field.values, [0.5, 1.0, 0.25, 0.375, 0.0, 0.125]);
    assert_eq!((field.rows, field.columns, field.base), (3, 2, 0.1));
    assert_eq!(field.size, Vec3::new(1.0, 2.0, 0.5));
    assert_eq!(model.geoms[0].shape, Shape::Heightfield { field: 0 });
    assert_eq!(field.corner(0, 1), Vec3::new(1.0, -2.0, 0.5));
    let (corners, triangles) = field.surface();
    assert_eq!((corners.len(), triangles.len()), (6, 4));
    for [a, b, c] in triangles {
        assert!((corners[b] - corners[a]).cross(corners[c] - corners[a]).z > 0.0);
    }
    // Without elevations, or with equal ones, the ground is flat at zero.
    for elevation in ["", "elevation='4 4 4 4'"] {
        let asset = format!("<hfield name='h' nrow='2' ncol='2' size='1 2 0.5 0.1' {elevation}/>");
        assert_eq!(read(&asset, GEOM).unwrap().heightfields[0].values, [0.0; 4]);
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_its_line() {
    let good = "<hfield name='h' nrow='2' ncol='2' size='1 1 1 1' elevation='0 1 2 3'/>";
    let asset = |from: &str, to: &str| good.replace(from, to);
    for (asset, world, line, part) in [
        (asset("nrow='2'", "nrow='1'"), GEOM, 2, "two of each"),
        (asset("nrow='2'", "nrow='-2'"), GEOM, 2, "negative"),
        (asset("nrow='2'", ""), GEOM, 2, "two of each"),
        (asset("nrow='2' ncol='2'", "nrow='2000000000' ncol='2000000000'"), GEOM, 2, "at most"),
        (asset("0 1 2 3", "0 1 2"), GEOM, 2, "holds 3 numbers"),
        (asset("0 1 2 3", "0 1 2 nan"), GEOM, 2, "nan"),
        (asset("0 1 2 3", "0 1 2 x"), GEOM, 2, "not a number"),
        (asset("1 1 1 1", "1 1 0 1"), GEOM, 2, "positive"),
        (asset("1 1 1 1", "1 1 1"), GEOM, 2, "size"),
        (asset("size='1 1 1 1'", ""), GEOM, 2, "needs `size`"),
        (asset("name='h'", ""), GEOM, 2, "needs a `name`"),
        (
            asset("nrow='2' ncol='2' size='1 1 1 1' elevation='0 1 2 3'", "size='1 1 1 1' file='gone.png'"),
            GEOM,
            2,
            "cannot be read",
        ),
        (asset("elevation", "altitude"), GEOM, 2, "altitude"),
        (format!("{good}{good}"), GEOM, 2, "two heightfields"),
        (asset("nrow='2' ncol='2'", "file='gone.bin'"), GEOM, 2, "keep one"),
        (good.into(), "<geom type='hfield' hfield='other'/>", 3, "no heightfield is called `other`"),
        (
            good.into(),
            "<body><joint/><geom size='1'/><body><geom type='hfield' hfield='h'/></body></body>",
            3,
            "does not move",
        ),
    ] {
        let error = read(&asset, world).expect_err(part);
        let text = error.to_string();
        assert!(text.contains(part), "`{text}` should speak of `{part}`");
        assert_eq!(error.place.line, line, "{text}");
    }
}

#[test]
fn files_are_mujocos_and_damaged_ones_are_refused() {
    let folder = std::env::temp_dir().join(format!("pullback-hfield-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let load = |folder: &Path| {
        let model = "<mujoco><asset>\n<hfield name='h' file='hills.bin' size='1 1 2 1'/></asset>
            <worldbody><geom type='hfield' hfield='h'/></worldbody></mujoco>";
        std::fs::write(folder.join("scene.xml"), model).unwrap();
        read_mjcf(&folder.join("scene.xml"), &ImportOptions::default())
    };
    let file = |rows: i32, columns: i32, values: &[f32]| {
        let mut bytes = Vec::new();
        bytes.extend(rows.to_le_bytes());
        bytes.extend(columns.to_le_bytes());
        values.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
        bytes
    };
    let good = file(2, 3, &[0.0, 1.0, 2.0, 3.0, 4.0, 8.0]);
    write("hills.bin", &good);
    // Rows of a file begin at the smallest y.
    let model = load(&folder).unwrap();
    assert_eq!(model.heightfields[0].values, [0.0, 0.125, 0.25, 0.375, 0.5, 1.0]);
    for (bytes, part) in [
        (good[..good.len() - 1].to_vec(), "bytes"),
        (good[..6].to_vec(), "too short"),
        (vec![], "too short"),
        (file(-2, 3, &[]), "negative"),
        (file(i32::MAX, i32::MAX, &[1.0]), "at most"),
        (file(1, 2, &[0.0, 1.0]), "two of each"),
        (file(2, 2, &[0.0, 1.0, f32::NAN, 2.0]), "not finite, number 3"),
    ] {
        write("hills.bin", &bytes);
        let error = load(&folder).expect_err(part);
        let text = error.to_string();
        assert!(text.contains(part) && text.contains("hills.bin"), "{text}");
        assert_eq!(error.place.line, 2, "{text}");
    }
    std::fs::remove_file(folder.join("hills.bin")).unwrap();
    let error = load(&folder).expect_err("a missing file").to_string();
    assert!(error.contains("cannot be read"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A PNG picture of 8 or 16 bits per channel.
fn picture(
    width: u32,
    color: png::ColorType,
    depth: png::BitDepth,
    palette: Option<&[u8]>,
    data: &[u8],
) -> Vec<u8> {
    let bits = if depth == png::BitDepth::Sixteen { 16 } else { 8 };
    let height = (data.len() * 8 / bits / color.samples()) as u32 / width;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if let Some(palette) = palette {
        encoder.set_palette(palette.to_vec());
    }
    encoder.write_header().unwrap().write_image_data(data).unwrap();
    bytes
}

/// MuJoCo 3.17: the first channel in eight bits, in single precision, the lowest row first.
#[test]
fn pictures_are_terrain_by_their_first_channel() {
    use png::{BitDepth, ColorType};
    let folder = std::env::temp_dir().join(format!("pullback-hfield-png-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let load = |bytes: &[u8]| {
        std::fs::write(folder.join("hills.png"), bytes).unwrap();
        let model = "<mujoco><asset>\n<hfield file='hills.png' size='1 1 2 1'/></asset>
            <worldbody><geom type='hfield' hfield='hills'/></worldbody></mujoco>";
        parse_mjcf(model, Some(&folder), &ImportOptions::default())
    };
    let gray = [10, 61, 112, 163, 214, 255];
    let third = |x: u8| f64::from((f32::from(x) - 10.0) / 245.0);
    let expected = [163, 214, 255, 10, 61, 112].map(third);
    let wide: Vec<u8> = gray.iter().flat_map(|x| [*x, 77]).collect();
    let red: Vec<u8> = gray.iter().flat_map(|x| [*x, 200, 5]).collect();
    let palette: Vec<u8> = gray.iter().flat_map(|x| [*x, 9, 9]).collect();
    for bytes in [
        picture(3, ColorType::Grayscale, BitDepth::Eight, None, &gray),
        picture(3, ColorType::Grayscale, BitDepth::Sixteen, None, &wide),
        picture(3, ColorType::GrayscaleAlpha, BitDepth::Eight, None, &wide),
        picture(3, ColorType::Rgb, BitDepth::Eight, None, &red),
        picture(3, ColorType::Indexed, BitDepth::Eight, Some(&palette), &[0, 1, 2, 3, 4, 5]),
    ] {
        let model = load(&bytes).unwrap();
        let field = &model.heightfields[0];
        assert_eq!((field.rows, field.columns), (2, 3));
        assert_eq!(field.values, expected);
        let cut = load(&bytes[..bytes.len() / 2]).expect_err("half a picture");
        assert!(cut.to_string().contains("PNG"), "{cut}");
    }
    let line = picture(6, ColorType::Grayscale, BitDepth::Eight, None, &gray);
    assert!(load(&line).expect_err("one row").to_string().contains("two of each"));
    std::fs::remove_dir_all(&folder).unwrap();
}
