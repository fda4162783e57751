//! The stack: defaults < profile < system's file < user's < workspace's < variables < flags.
//!
//! All but the workspace's file are the user's own words, of which the later holds. A workspace's file comes with a
//! repository: it counts only when it is trusted, and then apart, so that [`super::resolve`] lets it tighten what the
//! user says of policy and never widen it. What is no policy (how patient runs are, how they are given up, when they
//! are folded) it says in its turn, between the user's file and the variables.

use std::path::{Path, PathBuf};

use super::absent::Absent;
use super::file::ConfigFile;
use super::layer::{Layer, Merged, Place, is, named};
use super::located::{located, only_line};
use super::profile::Profile;
use super::resolve;
use super::serve::{self, ServeRules};
use super::show::written;
use crate::edges::files::is_missing;
use crate::rules::flow::shell_word;
use crate::rules::policy::BUILT_IN;
use crate::runs::host::{Places, Setup};
use crate::words::error::{Error, Result};

/// What was read, layer by layer.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    pub(super) system: Option<(PathBuf, Layer)>,
    pub(super) user: Option<(PathBuf, Layer)>,
    /// Of a file that counts.
    pub(super) workspace: Option<(PathBuf, Layer)>,
    /// Variables and flags.
    pub(super) assigned: Vec<Layer>,
}

/// What counts, laid together.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    /// The user's own words.
    pub own: Merged,
    /// The workspace's, as far as they are policy.
    pub workspace: Merged,
    /// The profile that was chosen.
    pub profile: Option<Profile>,
    /// What a server allows.
    pub serve: ServeRules,
}

/// What a workspace says of these is no policy, and has its place among the user's own words.
fn is_preference(keys: &[String]) -> bool {
    let named = |form| keys.get(..1).is_some_and(|table| is(table, form));
    // Who is asked, and what is called, is no preference.
    let asks = !["model", "after"]
        .iter()
        .all(|key| !is(keys, &["compaction", key]));
    named(&["chain"]) || named(&["abort"]) || named(&["compaction"]) && !asks
}

impl Sources {
    /// A file that is already read.
    ///
    /// # Errors
    /// `BadInput` for a text that is none.
    pub(super) fn file(path: &Path, file: &ConfigFile) -> Result<(PathBuf, Layer)> {
        Ok((path.to_owned(), Layer::of_file(path, file)?))
    }

    /// A file that may be there.
    ///
    /// # Errors
    /// `BadInput` with line and column.
    pub(super) fn read(path: &Path) -> Result<Option<(PathBuf, Layer)>> {
        let file = ConfigFile::read_if_there(path)?;
        file.map(|file| Self::file(path, &file)).transpose()
    }

    /// What they are made of, as a host and as a stack. `folder` is what tools read where nothing is configured.
    ///
    /// # Errors
    /// `BadInput`, and the variable or flag that it is about.
    pub(super) fn setup(&self, folder: Option<&Path>, places: &Places) -> Result<(Setup, Stack)> {
        self.made(folder, places).map_err(|error| {
            let error = self.blamed(folder, places, error);
            located(&self.files(), &error).unwrap_or(error)
        })
    }

    /// The mounts whose folders are not there, and where they were said.
    pub(super) fn absent(&self, setup: &Setup) -> Vec<Absent> {
        let missing = setup.mounts.iter().filter(|(_, path)| is_missing(path));
        let absent = missing.map(|(name, path)| {
            let keys = ["mounts".to_owned(), name.to_string()];
            let table = format!("[{}]", written(&keys));
            let path = path.display().to_string();
            Absent {
                said: self.said_in(&keys, "path"),
                what: format!("{table}: `path` leads nowhere: there is no folder `{path}`"),
                fix: format!("mkdir -p {}, or correct `path`", shell_word(&path)),
                table,
            }
        });
        absent.collect()
    }

    /// The only file that says a key of a table, or else that has the table, and the line.
    fn said_in(&self, table: &[String], key: &str) -> Option<(PathBuf, usize)> {
        let files = self.files();
        let mut keys = table.to_vec();
        keys.push(key.to_owned());
        let found = only_line(&files, &keys).or_else(|| only_line(&files, table));
        found.map(|(path, line)| (path.to_owned(), line))
    }

    /// The files, each with what it says.
    fn files(&self) -> Vec<(&Path, &Layer)> {
        let files = [&self.system, &self.user, &self.workspace];
        let files = files.into_iter().flatten();
        files.map(|(path, layer)| (path.as_path(), layer)).collect()
    }

    /// The file that stands for the user's own words.
    fn own_path(&self) -> &Path {
        let files = [&self.user, &self.system];
        let first = files.into_iter().flatten().next();
        first.map_or(Path::new(""), |(path, _)| path)
    }

    fn made(&self, folder: Option<&Path>, places: &Places) -> Result<(Setup, Stack)> {
        for (_, layer) in self.files() {
            layer.check_paths()?;
        }
        for layer in &self.assigned {
            layer.check_paths()?;
        }
        let mut stack = self.stack()?;
        let (own, workspace) = (stack.own.file()?, stack.workspace.file()?);
        stack.serve = serve::rules(&[&own.serve, &workspace.serve])?;
        let mut files = vec![(self.own_path(), &own)];
        if let Some((path, _)) = &self.workspace {
            files.push((path, &workspace));
        }
        let names = self.names();
        let is_said = self.system.is_some() || self.user.is_some() || self.workspace.is_some();
        let begin = if is_said {
            resolve::empty(&names, places.clone())
        } else {
            resolve::default(folder, &names, places.clone())
        };
        let mut setup = resolve::resolve(begin, &files)?;
        setup.rules.system = stack.profile.map(Profile::system);
        Ok((setup, stack))
    }

    /// The variable, flag or file of the system without which there would be no error is what it is about.
    fn blamed(&self, folder: Option<&Path>, places: &Places, error: Error) -> Error {
        for (index, layer) in self.assigned.iter().enumerate().rev() {
            let mut others = self.clone();
            others.assigned.remove(index);
            if others.made(folder, places).is_ok() {
                let place = layer.place.to_string();
                return resolve::about_instead(&place, self.own_path(), &error);
            }
        }
        // The user's own file stands for the system's as well, unless all is well without that.
        let mut others = self.clone();
        if let (Some(_), Some((path, _))) = (&self.user, others.system.take())
            && others.made(folder, places).is_ok()
        {
            let place = path.display().to_string();
            return resolve::about_instead(&place, self.own_path(), &error);
        }
        error
    }

    fn stack(&self) -> Result<Stack> {
        let (own_profile, profile) = self.profile();
        let bundled = profile.map(Profile::layer).transpose()?;
        let mut stack = Stack {
            profile,
            ..Stack::default()
        };
        if let Some(layer) = &bundled {
            // One that only a workspace chooses tightens like the rest of its file.
            stack
                .own
                .lay(&layer.part(|keys| own_profile || is_preference(keys)));
            if !own_profile {
                stack
                    .workspace
                    .lay(&layer.part(|keys| !is_preference(keys)));
            }
        }
        if let Some((path, layer)) = &self.system {
            let folder = path.parent().unwrap_or(Path::new("/"));
            stack.own.lay_file(&layer.clone().at(folder));
        }
        if let Some((_, layer)) = &self.user {
            stack.own.lay_file(layer);
        }
        if let Some((_, layer)) = &self.workspace {
            stack
                .workspace
                .lay_file(&layer.part(|keys| !is_preference(keys)));
            stack.own.lay(&layer.part(is_preference));
        }
        for layer in &self.assigned {
            let keys = layer.keys();
            let name = named(&keys);
            // A key of a thing is a key of that thing, wherever it is defined.
            let elsewhere =
                name.is_some_and(|name| !stack.own.defines(name) && stack.workspace.defines(name));
            let into = if elsewhere {
                &mut stack.workspace
            } else {
                &mut stack.own
            };
            into.lay(layer);
        }
        Ok(stack)
    }

    /// The profile that holds, and whether the user chose it.
    fn profile(&self) -> (bool, Option<Profile>) {
        let word = |layer: &Layer| layer.word("profile").and_then(Profile::of);
        let files = [&self.user, &self.system].into_iter().flatten();
        let own = self
            .assigned
            .iter()
            .rev()
            .chain(files.map(|(_, layer)| layer));
        let own = own.filter_map(word).next();
        let theirs = self.workspace.as_ref().and_then(|(_, layer)| word(layer));
        (own.is_some(), own.or(theirs))
    }

    /// The places, for people.
    fn names(&self) -> String {
        let files = [&self.system, &self.user, &self.workspace];
        let files = files.into_iter().flatten();
        let mut names: Vec<String> = files.map(|(path, _)| path.display().to_string()).collect();
        if names.is_empty() {
            names.push(BUILT_IN.to_owned());
        }
        let given = |is: fn(&Place) -> bool| self.assigned.iter().any(|layer| is(&layer.place));
        if given(|place| matches!(place, Place::Variable(_))) {
            names.push("the environment".to_owned());
        }
        if given(|place| matches!(place, Place::Flag(_))) {
            names.push("the command line".to_owned());
        }
        names.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(system: &str, user: &str, workspace: &str, flags: &[&str]) -> Sources {
        let file = |name: &str, text: &str| {
            let path = PathBuf::from(name).join("lazaret.toml");
            let layer = Layer::of_text(Place::File(path.clone()), text).unwrap();
            Some((path, layer))
        };
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        Sources {
            system: file("/system", system),
            user: file("/user", user),
            workspace: file("/work", workspace),
            assigned: super::super::assign::layers(&[], &flags, Path::new("/here")).unwrap(),
        }
    }

    /// What the user's own words are in the end, and the workspace's.
    #[track_caller]
    fn check(sources: &Sources, own: &str, workspace: &str) {
        let stack = sources.stack().unwrap();
        let table = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
        assert_eq!(stack.own.table(), &table(own), "own");
        assert_eq!(stack.workspace.table(), &table(workspace), "workspace");
    }

    #[test]
    fn no_header_of_one_place_goes_to_the_collector_of_another() {
        let system = "[traces]\nendpoint = \"https://a\"\nprivate = true\n[traces.headers]\nx = { secret = \"s\" }";
        let user = "[traces]\nendpoint = \"https://b\"";
        check(&sources(system, user, "", &[]), user, "");
        let flag = sources(system, "", "", &["traces.endpoint=https://b"]);
        check(&flag, user, "");
        let slower = sources(system, "", "", &["traces.batch_ms=5"]);
        let all = system.replace("private", "batch_ms = 5\nprivate");
        check(&slower, &all, "");
    }

    #[test]
    fn the_later_of_the_users_own_words_holds_and_a_workspace_stays_apart() {
        let of = |key: &str, value: u32| format!("[{key}]\nx = {value}\n");
        let both = |value| of("limits", value) + &of("chain", value);
        let given = sources(&both(1), &both(2), &both(3), &["limits.x=4"]);
        check(
            &given,
            &(of("limits", 4) + &of("chain", 3)),
            &of("limits", 3),
        );
        let given = sources(&both(1), "", "", &[]);
        check(&given, &both(1), "");
        let given = sources(&both(1), &of("limits", 2), "", &["chain.x=5"]);
        check(&given, &(of("limits", 2) + &of("chain", 5)), "");
    }

    #[test]
    fn who_writes_a_summary_is_no_workspaces_preference() {
        let said = "[compaction]\nmodel = \"m\"\nafter = [\"a.b\"]\nkeep_turns = 1\n";
        let given = sources("", "", said, &[]);
        check(
            &given,
            "compaction.keep_turns = 1",
            "compaction.model = \"m\"\ncompaction.after = [\"a.b\"]",
        );
    }

    #[test]
    fn blocks_and_grants_of_the_users_own_words_add_up() {
        let system = "block = [\"a.*\"]\n[grants.\"x.*\"]\nfetch = [\"http://a/\"]\n";
        let user = "block = [\"b.*\"]\n[grants.\"x.*\"]\nfetch = [\"http://b/\"]\n";
        let expected = "block = [\"a.*\", \"b.*\"]\n[grants.\"x.*\"]\nfetch = [\"http://a/\", \"http://b/\"]\n";
        check(&sources(system, user, "", &["block=[]"]), expected, "");
        // So do values that are vouched for in calls of one tool, and they take nothing else of it away.
        let of = |said: &str| format!("[flow.tools.\"x.y\"]\n{said}\n");
        let given = sources(
            &of("naming = \"a\"\nvouch = [\"1\"]"),
            &of("vouch = [\"2\"]"),
            &of("vouch = [\"4\"]"),
            &["flow.tools.\"x.y\".vouch=[\"3\"]"],
        );
        let vouched = "vouch = [\"1\", \"2\", \"3\"]";
        let own = of(&format!("naming = \"a\"\n{vouched}"));
        check(&given, &own, &of("vouch = [\"4\"]"));
        let (first, then) = (of("reply = \"a\"\nvouch = [\"1\"]"), of("naming = \"b\""));
        let both = of("naming = \"b\"\nvouch = [\"1\"]");
        check(&sources(&first, &then, "", &[]), &both, "");
        // A list that says what something has is said anew.
        let tools = |tools: &str| format!("[agents.a]\ntools = [{tools:?}]\n");
        let given = sources("", &tools("x.*"), "", &["agents.a.tools=[\"y.*\"]"]);
        check(&given, &tools("y.*"), "");
    }

    #[test]
    fn a_file_defines_a_thing_whole_and_a_flag_one_key_of_it() {
        let system = "[models.m]\nprovider = \"openai\"\nurl = \"u\"\nmodel = \"x\"\n";
        let user = "[models.m]\nprovider = \"scripted\"\nscript = \"s\"\n";
        let flag = ["models.m.window_tokens=5000"];
        check(
            &sources(system, user, "", &flag),
            &format!("{user}window_tokens = 5000\n"),
            "",
        );
        // Where only the workspace defines it, it is the workspace's that is changed.
        let of = |name: &str, rest: &str| format!("[models.{name}]\nscript = \"s\"\n{rest}");
        let given = sources("", &of("n", ""), &of("m", ""), &flag);
        check(&given, &of("n", ""), &of("m", "window_tokens = 5000\n"));
        let given = sources("", &of("m", ""), &of("m", ""), &flag);
        check(&given, &of("m", "window_tokens = 5000\n"), &of("m", ""));
    }

    #[test]
    fn paths_count_from_where_they_were_said() {
        let mount = |path: &str| format!("[mounts.docs]\npath = {path:?}\n");
        check(&sources(&mount("d"), "", "", &[]), &mount("/system/d"), "");
        let flag = ["mounts.docs.path=d"];
        check(&sources("", "", "", &flag), &mount("/here/d"), "");
        // The file that stands for the user's own words is looked at where it lies.
        check(&sources("", &mount("d"), "", &[]), &mount("d"), "");
    }

    #[test]
    fn a_profile_lies_below_and_whose_it_is_says_where() {
        let chosen = |word: &str| format!("profile = {word:?}\n");
        let value = |table: &Merged, keys: [&str; 2]| {
            let keys = keys.map(str::to_owned);
            table.value(&keys).and_then(toml::Value::as_integer)
        };
        let turns = ["pace", "turns"];
        let cooldown = ["chain", "cooldown_ms"];
        let stack = |user: &str, workspace: &str, flags: &[&str]| {
            sources("", user, workspace, flags).stack().unwrap()
        };
        let own = stack(&(chosen("sage") + "[pace]\nturns = 5\n"), "", &[]);
        assert_eq!(value(&own.own, turns), Some(5));
        assert_eq!(value(&own.own, cooldown), Some(60_000));
        let theirs = stack("[chain]\ncooldown_ms = 7\n", &chosen("sage"), &[]);
        assert_eq!(value(&theirs.own, turns), None);
        assert_eq!(value(&theirs.workspace, turns), Some(3));
        assert_eq!(value(&theirs.own, cooldown), Some(7));
        let both = stack(&chosen("oxydra"), &chosen("sage"), &["profile=graphorin"]);
        assert_eq!(both.profile, Some(Profile::Graphorin));
        assert_eq!(value(&both.own, turns), Some(50));
        assert_eq!(value(&both.workspace, turns), None);
    }
}
