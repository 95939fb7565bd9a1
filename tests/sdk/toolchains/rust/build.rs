use std::{env, fs, path::Path};

fn main() {
    let made = Path::new(&env::var("OUT_DIR").unwrap()).join("made.rs");
    fs::write(made, "pub const MADE: u32 = 42;\n").unwrap();
    println!("cargo:rerun-if-changed=rust/build.rs");
}
