//! Paths, and who may do what with the files that they lead to.

use super::*;
use crate::rules::caller::{Budget, Known};
use crate::rules::grant::MountGrant;
use crate::rules::policy::{BUILT_IN, Mount};
use crate::words::clock::Deadline;
use crate::words::event::Surface;
use crate::words::id;

/// A policy with these mounts, and a tool that is granted some of them.
fn caller_and_policy(mounts: &[(&str, Access)], granted: &[(&str, Access)]) -> (Caller, Policy) {
    let mount = |(name, access): &(&str, Access)| {
        let mount = Mount {
            access: *access,
            workspace: false,
            room: Room::default(),
            inside: Arc::default(),
        };
        ((*name).into(), mount)
    };
    let policy = Policy {
        mounts: mounts.iter().map(mount).collect(),
        ..Policy::nothing("test")
    };
    let grant = |(name, access): &(&str, Access)| MountGrant {
        mount: (*name).into(),
        access: *access,
    };
    let grant = Grant {
        mounts: granted.iter().map(grant).collect(),
        ..Grant::default()
    };
    let caller = Caller {
        run: RunId::known("run"),
        parent: 0,
        place: id::Place::default(),
        known: Known::default(),
        surface: Surface::Cli,
        origin: Origin::Tool(ToolName::parse("box.act").unwrap()),
        reach: std::sync::Arc::new([]),
        grant: std::sync::Arc::new(grant),
        label: Label::default(),
        depth: 0,
        deadline: Deadline::after_ms(1_000),
        budget: Budget::of_calls(1),
    };
    (caller, policy)
}

fn file(path: &str, wish: FileWish) -> File {
    File {
        path: path.to_owned(),
        wish,
        label: Label::default(),
    }
}

fn check(path: &str, expected: Result<&[&str], &str>) {
    match (split(path), expected) {
        (Ok(names), Ok(expected)) => assert_eq!(names, expected, "{path}"),
        (Err(denial), Err(says)) => {
            assert!(denial.reason.contains(says), "{path}: {}", denial.reason)
        }
        (got, expected) => panic!("{path}: {got:?} is not {expected:?}"),
    }
}

#[test]
fn whoever_waits_for_a_file_has_heard_of_its_mount() {
    let mounts = [("docs", Access::Write)];
    let (caller, policy) = caller_and_policy(&mounts, &mounts);
    let awaited = |path| file(path, FileWish::Stat).awaited(&caller, &policy);
    let docs = Label::of(Policy::mount_source("docs"));
    assert_eq!(awaited("docs/a.md"), docs);
    // The names of mounts are the operator's own, and what lies in none is not looked for.
    assert_eq!(awaited("."), Label::default());
    assert_eq!(awaited("other/a.md"), Label::default());
}

#[test]
fn paths() {
    check("a/b.md", Ok(&["a", "b.md"]));
    check("./a", Ok(&["a"]));
    check("a/", Ok(&["a"]));
    check("", Ok(&[]));
    check(".", Ok(&[]));
    check("...", Ok(&["..."]));
    check("../../etc/passwd", Err("leads out"));
    check("a/../b", Err("leads out"));
    check("/etc/passwd", Err("absolute"));
    check("//etc", Err("absolute"));
    check("a//b", Err("empty name"));
    check("a/./b", Err("`.` in it"));
    check("a\0b", Err("control"));
    check("a\\..\\b", Err("backslashes"));
    check("a\nb", Err("control"));
    check(".lazaret/notes.db", Err("own folder"));
    check("a/.LAZARET/journal.db", Err("own folder"));
    check(&"x".repeat(300), Err("255 bytes"));
    check(&"x/".repeat(3000), Err("too long"));
}

#[test]
fn no_path_of_a_wish_is_too_long_and_what_is_is_not_said_again() {
    let sized = |path: usize, target: usize| {
        let target = "t".repeat(target);
        let file = File {
            path: "p".repeat(path),
            wish: FileWish::Move { target },
            label: Label::default(),
        };
        file.check_size().err().map(|denial| denial.reason)
    };
    assert_eq!(sized(PATH_BYTES, PATH_BYTES), None);
    let says = "the path is too long: at most 4096 bytes may be";
    assert_eq!(sized(PATH_BYTES + 1, 1).as_deref(), Some(says));
    assert_eq!(sized(1, PATH_BYTES + 1).as_deref(), Some(says));
}

#[test]
fn no_path_of_a_wish_has_more_names_than_may_be() {
    let deep = |names: usize| vec!["a"; names].join("/");
    let names = |path: &str| split(path).map(|names| names.len());
    for path in [deep(PATH_NAMES), format!("./{}/", deep(PATH_NAMES))] {
        assert_eq!(names(&path), Ok(PATH_NAMES), "{path}");
    }
    let says = "the path is too deep: it has 65 names, and at most 64 may be";
    let past = deep(PATH_NAMES + 1);
    let (plain, moved) = (file(&past, FileWish::List), file("a", to(&past)));
    for denied in [
        split(&past).map(drop),
        plain.check_size(),
        moved.check_size(),
    ] {
        let denial = denied.expect_err("it is too deep");
        assert_eq!((&*denial.rule, &*denial.reason), ("path", says));
    }
    for (mount, most) in [(".", PATH_NAMES), ("docs", PATH_NAMES - 1)] {
        let (_, policy) = caller_and_policy(&[(mount, Access::Read)], &[]);
        let (caller, _) = caller_and_policy(&[], &[]);
        let names = [mount, "a"].map(str::to_owned).to_vec();
        assert_eq!(
            locate(&caller, &policy, names).most_names(),
            most,
            "{mount}"
        );
    }
}

/// The place that is opened, as `MOUNT:NAMES` and `MOUNT:NAMES>MOUNT:NAMES`; or the rule that denies.
fn judged((caller, policy): &(Caller, Policy), file: &File) -> String {
    let place = |place: &Place| format!("{}:{}", place.mount, place.names.join("/"));
    match file.judge(caller, policy).map(|allowed| allowed.terms) {
        Ok(Places::Root(names)) => format!("root:{}", names.join(",")),
        Ok(Places::One(one)) => place(&one),
        Ok(Places::Two(from, to)) => format!("{}>{}", place(&from), place(&to)),
        Err(denial) => denial.rule,
    }
}

const READ: FileWish = FileWish::Read {
    offset: 0,
    length: 1,
};

fn write(mode: WriteMode) -> FileWish {
    FileWish::Write {
        bytes: Vec::new(),
        mode,
    }
}

fn to(target: &str) -> FileWish {
    FileWish::Move {
        target: target.to_owned(),
    }
}

#[test]
fn what_may_be_done_with_which_file() {
    use Access::{Create, Read, Write};
    let mounts = [("docs", Write), ("inbox", Read), ("new", Create)];
    let asked = caller_and_policy(&mounts, &mounts);
    for (path, wish, expected) in [
        ("docs/a/b.md", READ, "docs:a/b.md"),
        ("docs", FileWish::List, "docs:"),
        ("docs/a.md", write(WriteMode::Replace), "docs:a.md"),
        ("docs/a.md", FileWish::Remove, "docs:a.md"),
        ("inbox/a.md", READ, "inbox:a.md"),
        ("inbox/a.md", write(WriteMode::Create), "mount_read_only"),
        ("new/a.md", write(WriteMode::Create), "new:a.md"),
        ("new/a.md", write(WriteMode::Append), "mount_read_only"),
        ("docs/a.md", to("docs/b.md"), "docs:a.md>docs:b.md"),
        ("docs/a.md", to("new/b.md"), "mount_read_only"),
        ("docs/a.md", to("elsewhere/b.md"), "mount_not_granted"),
        ("elsewhere/a.md", READ, "mount_not_granted"),
        (".", FileWish::List, "root:docs,inbox,new"),
        (".", FileWish::Stat, "root:docs,inbox,new"),
        (".", READ, "root"),
        (".", FileWish::Remove, "root"),
    ] {
        assert_eq!(judged(&asked, &file(path, wish)), expected, "{path}");
    }
    let both = caller_and_policy(&[("a", Write), ("b", Write)], &[("a", Write), ("b", Write)]);
    assert_eq!(judged(&both, &file("a/x", to("b/x"))), "two_mounts");
    let nobody = caller_and_policy(&mounts, &[]);
    assert_eq!(
        judged(&nobody, &file(".", FileWish::List)),
        "mount_not_granted"
    );
}

/// The mount `.` is the root itself, and holds whatever no other mount is named after.
#[test]
fn the_mount_of_everything_is_opened_at_the_root() {
    use Access::{Read, Write};
    let mounts = [(".", Read), ("docs", Write)];
    let asked = caller_and_policy(&mounts, &mounts);
    for (path, expected) in [
        (".", ".:"),
        ("a/b.md", ".:a/b.md"),
        ("docs/a.md", "docs:a.md"),
    ] {
        assert_eq!(judged(&asked, &file(path, READ)), expected, "{path}");
    }
}

#[test]
fn a_mount_inside_another_one_gives_no_more_through_that() {
    use Access::{Read, Write};
    let mounts = [("all", Write), ("mail", Read), ("made", Write)];
    let (caller, mut policy) = caller_and_policy(&mounts, &mounts);
    let inner = |name: &str, access, workspace| Inside {
        mount: name.into(),
        names: vec!["in".to_owned(), name.to_owned()],
        access,
        workspace,
    };
    let inside = [inner("mail", Read, false), inner("made", Write, true)];
    if let Some(all) = policy.mounts.get_mut("all") {
        (all.inside, all.workspace) = (inside.into(), true);
    }
    let spaces = [
        "all/x",
        "all/in/x",
        "all/in/mail/x",
        "all/in/made/x",
        "made/x",
    ];
    let spaces = spaces.map(|path| workspace_of(&policy, path).is_some());
    assert_eq!(spaces, [true, true, false, true, false]);
    let own = |policy: &mut Policy, mounts: &[&str]| {
        policy.flows.classes.own_mounts = mounts.iter().map(|name| (*name).to_owned()).collect();
        policy.is_own("all")
    };
    assert!(!own(&mut policy, &["all", "mail"]) && !own(&mut policy, &["mail", "made"]));
    assert!(own(&mut policy, &["all", "mail", "made"]) && policy.is_own("mail"));
    let asked = (caller, policy);
    for (path, wish, expected) in [
        ("all/in/mail/a", READ, "all:in/mail/a"),
        ("all/in/mail/a", write(WriteMode::Create), "mount_read_only"),
        ("all/in/mail", FileWish::Remove, "mount_read_only"),
        ("all/in/mailbox", write(WriteMode::Create), "all:in/mailbox"),
        ("all/in/made/a", write(WriteMode::Replace), "all:in/made/a"),
        ("all/b", to("all/in/mail/b"), "mount_read_only"),
    ] {
        assert_eq!(judged(&asked, &file(path, wish)), expected, "{path}");
    }
    let said = lines(&asked, "all/in/mail/a", write(WriteMode::Create));
    assert_eq!(said, "[mounts.\"mail\"]\naccess = \"create\"");
}

/// The lines that would allow it.
fn lines((caller, policy): &(Caller, Policy), path: &str, wish: FileWish) -> String {
    let denied = file(path, wish).judge(caller, policy);
    denied.expect_err("it is not granted").allow.join("\n")
}

#[test]
fn a_denial_says_what_would_have_to_be_written() {
    use Access::{Read, Write};
    let grant = "[grants.\"box.act\"]\nmounts = { \"docs\" = \"read\" }";
    let known = caller_and_policy(&[("docs", Write)], &[]);
    assert_eq!(lines(&known, "docs/a", READ), grant);
    let unknown = caller_and_policy(&[], &[]);
    let asked = |mount: &str| {
        let mounts =
            format!("[mounts.\"{mount}\"]\npath = \"{mount}\"\naccess = \"read\"\n[grants");
        grant.replace("docs", mount).replace("[grants", &mounts)
    };
    // No more than the folder that it lies in.
    assert_eq!(lines(&unknown, "docs/a", READ), asked("docs"));
    assert_eq!(lines(&unknown, "docs/a/b", READ), asked("docs"));
    let all = "access = \"read\"\n# this is all of the folder";
    let root = asked(".").replace("access = \"read\"", all);
    assert_eq!(lines(&unknown, "a", READ), root);
    let writing = "[grants.\"box.act\"]\nmounts = { \"docs\" = \"write\" }";
    let append = || write(WriteMode::Append);
    let may = caller_and_policy(&[("docs", Write)], &[("docs", Read)]);
    assert_eq!(lines(&may, "docs/a", append()), writing);
    let cannot = caller_and_policy(&[("docs", Read)], &[("docs", Read)]);
    let access = "[mounts.\"docs\"]\naccess = \"write\"\n";
    assert_eq!(
        lines(&cannot, "docs/a", append()),
        format!("{access}{writing}")
    );
    // Nobody has written that mount down.
    let (caller, mut policy) = caller_and_policy(&[(".", Read)], &[(".", Read)]);
    BUILT_IN.clone_into(&mut policy.origin);
    let mut root = (caller, policy);
    for (path, mount) in [("docs/a", "docs"), ("a", ".")] {
        let said = lines(&root, path, append());
        let begins = format!("[mounts.\"{mount}\"]\npath = \"{mount}\"\naccess");
        assert!(said.starts_with(&begins), "{said}");
    }
    // Of a mount that somebody has written nothing is taken away.
    "lazaret.toml".clone_into(&mut root.1.origin);
    let said = lines(&root, "docs/a", append());
    assert!(said.starts_with("[mounts.\".\"]\naccess"), "{said}");
}

/// By what is granted alone, and no mount of everything is proposed to whoever has one.
#[test]
fn a_path_that_is_near_what_is_granted_is_named() {
    let known = [("docs", Access::Read), ("out", Access::Write)];
    let (caller, policy) = caller_and_policy(&known, &known);
    let (modest, _) = caller_and_policy(&known, &known[..1]);
    let nobody = caller_and_policy(&[], &[]).0;
    let denied = |caller: &Caller, path: &str| {
        let denied = file(path, READ).judge(caller, &policy);
        denied.expect_err("it is not granted")
    };
    for (caller, path, meant) in [
        (&caller, "dcos/log.md", Some("docs/log.md")),
        (&caller, "dcos", Some("docs")),
        (&caller, "zzz/log.md", None),
        (&caller, "log.md", None),
        (&modest, "log.md", Some("docs/log.md")),
        (&modest, "zzz/log.md", None),
        (&nobody, "log.md", None),
    ] {
        let denial = denied(caller, path);
        let said = meant.map(|meant| format!("; did you mean `{meant}`?"));
        let ends = denial.reason.ends_with(said.as_deref().unwrap_or(""));
        assert!(ends, "{path}: {}", denial.reason);
        assert_eq!(
            denial.reason.contains("did you mean"),
            meant.is_some(),
            "{path}"
        );
        let all = denial
            .allow
            .iter()
            .any(|line| line.contains("mounts.\".\""));
        assert_eq!(
            all,
            caller.grant.mounts.is_empty(),
            "{path}: {:?}",
            denial.allow
        );
    }
}

/// A file has each table once.
#[test]
fn a_table_that_is_there_is_not_to_be_written_again() {
    let (_, mut policy) = caller_and_policy(&[("docs", Access::Read)], &[]);
    let lines = [
        "[mounts.\"docs\"]",
        "access = \"write\"",
        "[grants.\"box.act\"]",
    ]
    .map(str::to_owned);
    assert_eq!(
        policy.advice(&lines),
        "in [mounts.\"docs\"], which is there already, add or change:\naccess = \"write\"\n[grants.\"box.act\"]"
    );
    BUILT_IN.clone_into(&mut policy.origin);
    assert_eq!(policy.advice(&lines), lines.join("\n"));
}

/// What a person is not asked about, since no answer would do anything.
#[test]
fn a_path_in_no_mount_of_a_tool_is_known_before() {
    let (caller, policy) = caller_and_policy(&[("docs", Access::Read)], &[("docs", Access::Read)]);
    let tool = ToolName::parse("box.act").unwrap();
    let rule = |path: &str| {
        let checked = check_mount((&tool, &caller.grant), &policy, path);
        checked.map_err(|denial| denial.rule)
    };
    assert_eq!(rule("docs/a"), Ok(()));
    assert_eq!(rule("out/a"), Err("mount_not_granted".to_owned()));
    assert_eq!(rule("../a"), Err("path".to_owned()));
}

#[test]
fn what_git_takes_for_a_repository_is_one() {
    for (entries, expected) in [
        ("HEAD objects refs", true),
        ("HEAD commondir", true),
        ("HEAD objects", false),
        ("HEAD refs", false),
        ("objects refs commondir", false),
        ("HEAD", false),
        ("", false),
    ] {
        let has = |name: &str| entries.split(' ').any(|entry| entry == name);
        assert_eq!(is_repository(has), expected, "{entries}");
    }
}

#[test]
fn whoever_leaves_the_mount_out_is_told_how_paths_begin() {
    let mounts = [
        (".", Access::Read),
        ("docs", Access::Read),
        ("work", Access::Write),
    ];
    let (caller, _) = caller_and_policy(&mounts, &mounts);
    assert_eq!(
        begins(&caller.grant),
        "; granted paths begin with `docs/` or `work/`"
    );
    let (caller, _) = caller_and_policy(&mounts, &mounts[..1]);
    assert_eq!(begins(&caller.grant), "");
}

#[test]
fn a_home_is_not_read_as_a_whole_where_nothing_is_configured() {
    for (origin, mounts, says) in [
        (AT_HOME, &[][..], true),
        (AT_HOME, &[("docs", Access::Read)][..], false),
        (BUILT_IN, &[][..], false),
    ] {
        let (_, mut policy) = caller_and_policy(mounts, &[]);
        policy.origin = origin.to_owned();
        assert_eq!(in_a_home(&policy, "a.md").is_some(), says, "{origin}");
    }
}

#[test]
fn only_what_changes_a_file_passes_something_on() {
    let write = FileWish::Write {
        bytes: Vec::new(),
        mode: WriteMode::Replace,
    };
    let target = "b".to_owned();
    for (wish, expected) in [
        (FileWish::List, false),
        (FileWish::Stat, false),
        (
            FileWish::Read {
                offset: 0,
                length: 1,
            },
            false,
        ),
        (write, true),
        (FileWish::Move { target }, true),
        (FileWish::Remove, true),
        (FileWish::MakeFolder, true),
    ] {
        assert_eq!(file("a", wish.clone()).passes_on(), expected, "{wish:?}");
    }
}

#[test]
fn whoever_has_leave_for_new_files_alone_makes_none_that_is_hidden() {
    let write = FileWish::Write {
        bytes: Vec::new(),
        mode: WriteMode::Create,
    };
    for (path, wish, plain, denied) in [
        ("work/.envrc", write.clone(), true, true),
        ("work/.vscode/a", write.clone(), true, true),
        ("work/a", write.clone(), true, false),
        ("work/.envrc", FileWish::Stat, true, false),
        ("work/.envrc", write, false, false),
    ] {
        let (mut caller, policy) =
            caller_and_policy(&[("work", Access::Write)], &[("work", Access::Create)]);
        caller.grant = Arc::new(Grant {
            plain_names: plain,
            ..Grant::clone(&caller.grant)
        });
        let judged = file(path, wish).judge(&caller, &policy);
        let rule = judged.err().map(|denial| denial.rule);
        let expected = denied.then_some("flow_hidden");
        assert_eq!(rule.as_deref(), expected, "{path} {plain}");
    }
}
