//! Robots in MJCF that the engine carries: their texts by name, in z-up SI units.
//!
//! `README.md` beside them says what each is and which published figures are behind it.

/// A model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its name: that of the file without `.xml`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! models {
    ($($constant:ident: $name:literal,)*) => {
        $(
            #[doc = concat!("`", $name, ".xml`")]
            pub const $constant: &str = include_str!(concat!("../", $name, ".xml"));
        )*
        /// All of them, by name.
        pub const MODELS: &[Model] = &[$(Model { name: $name, text: $constant },)*];
    };
}

models! {
    ACROBOT: "acrobot",
    ALLEGRO: "allegro",
    ANT: "ant",
    ANT_GYM: "ant_gym",
    ANT_RUN: "ant_run",
    ARM9: "arm9",
    CARTPOLE: "cartpole",
    CARTPOLE3: "cartpole3",
    HALF_CHEETAH: "half_cheetah",
    HAND: "hand",
    HOPPER: "hopper",
    HUMANOID: "humanoid",
    LAIKAGO: "laikago",
    MUSCLE_ARM: "muscle_arm",
    MUSCLE_HAND: "muscle_hand",
    PENDULUM5: "pendulum5",
    PUSHER: "pusher",
    RACECAR: "racecar",
    SNU: "snu",
    STACK10: "stack10",
}

/// The text of a model by its name.
pub fn find(name: &str) -> Option<&'static str> {
    MODELS.iter().find(|model| model.name == name).map(|model| model.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file is in the table and in `README.md`.
    #[test]
    fn every_model_is_listed() {
        let readme = include_str!("../README.md");
        let mut files = 0;
        for entry in std::fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let Some(name) = name.strip_suffix(".xml") else { continue };
            assert!(find(name).is_some_and(|text| text.contains("<mujoco")), "{name} is not in the table");
            assert!(readme.contains(&format!("- `{name}`:")), "{name} is not in README.md");
            files += 1;
        }
        assert_eq!(files, MODELS.len());
    }
}
