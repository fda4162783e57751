//! MCP servers whose program is not there, and lines about tools that they do not have. Of a server that nobody has read
//! nothing is known, and none is started to know it.

use std::path::Path;

use super::Look;
use crate::edges::named;
use crate::surfaces::config::mcp::path_variable;
use crate::words::id::shown;
use crate::words::near::nearest;

impl Look<'_> {
    /// All of it.
    pub(super) fn servers(&mut self) {
        self.programs();
        self.tools_of_servers();
    }

    fn programs(&mut self) {
        let file = self.file;
        for (server, table) in &file.mcp {
            let Some(program) = table.command.first() else {
                continue;
            };
            if is_there(self.path, program) {
                continue;
            }
            let line = format!("[mcp.{server}]");
            let program = shown(program);
            let (what, fix) = match program.contains('/') {
                true => (
                    format!("{line} command: there is no file `{program}`"),
                    "write the path of the program, which counts from the folder of this file",
                ),
                false => (
                    format!("{line} command: no program `{program}` is found in `PATH`"),
                    "install it, or write its full path",
                ),
            };
            self.say(&line, what, fix);
        }
    }

    fn tools_of_servers(&mut self) {
        let file = self.file;
        for (server, table) in &file.mcp {
            let mut offered = self.catalog.servers().iter();
            let Some(offered) = offered.find(|one| one.server.terms().name == *server) else {
                continue;
            };
            if offered.digest.is_none() {
                continue;
            }
            let names: Vec<&str> = offered.listed.iter().map(String::as_str).collect();
            let head = format!("[mcp.{server}]");
            let own = table.tools.keys().map(|tool| {
                let line = format!("[mcp.{server}.tools.{}]", shown(tool));
                (tool, line.clone(), line, "")
            });
            let allow = table.allow.iter().map(|tool| {
                let line = format!("{head} `allow = [\"{}\"]`", shown(tool));
                (tool, head.clone(), line, "")
            });
            let block = table.block.iter().map(|tool| {
                let line = format!("{head} `block = [\"{}\"]`", shown(tool));
                (tool, head.clone(), line, ", so it blocks nothing")
            });
            for (tool, table, line, so) in own.chain(allow).chain(block) {
                if names.contains(&tool.as_str()) {
                    continue;
                }
                let what = format!("{line} is about no tool that the server has{so}");
                let fix = match nearest(tool, names.iter().copied()) {
                    Some(near) => format!("did you mean `{}`?", shown(near)),
                    None => format!("`lazaret servers check {server}` shows what it has"),
                };
                self.say(&table, what, &fix);
            }
        }
    }
}

/// Whether a program is there that a file names: by a path, which counts from the file, or by a name that is looked for.
fn is_there(file: &str, program: &str) -> bool {
    if program.contains('/') {
        return named::is_file(&Path::new(file).with_file_name("").join(program));
    }
    let path = path_variable();
    let mut folders = path.split(':');
    folders.any(|folder| named::is_file(&Path::new(folder).join(program)))
}
