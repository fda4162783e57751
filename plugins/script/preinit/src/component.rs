//! Makes a component of a module that says, in a section of its own, of which world it is.

use wasmparser::{Parser, Payload};
use wit_component::ComponentEncoder;

use crate::Result;

/// The component of this module. It must not import anything.
pub fn of(module: &[u8]) -> Result<Vec<u8>> {
    let component = ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| format!("the module is none of a component: {error:#}"))?;
    let imports = imports(&component)?;
    if imports.is_empty() {
        return Ok(component);
    }
    Err(format!(
        "the component imports {}; it must import nothing",
        imports.join(", ")
    ))
}

/// The names of what a component imports.
fn imports(component: &[u8]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(|error| format!("the component cannot be read: {error}"))? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    let import =
                        import.map_err(|error| format!("an import cannot be read: {error}"))?;
                    names.push(format!("`{}` ({:?})", import.name.name, import.ty));
                }
            }
            _ => {}
        }
    }
    Ok(names)
}
