//! Secrets in the keyring of a desktop: a real one on a bus of the test's own, where this machine has one; and in any
//! case what is said where there is none.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use lazaret_tests::wait::until;

use crate::station::{Ended, Station};

/// A value that appears nowhere by itself.
const CANARY: &str = "desk-9fKq27xLmV30tRz8";
const NEEDED: [&str; 4] = [
    "dbus-daemon",
    "dbus-send",
    "gnome-keyring-daemon",
    "secret-tool",
];
/// Nothing is started that is not asked for: nobody can be shown a window.
const BUS: &str = r#"<busconfig><type>session</type><listen>unix:path=PATH</listen><policy context="default">
<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>"#;

fn station() -> Station {
    Station::with("[vault]\nbackend = \"desktop\"\n")
}

fn has(program: &str) -> bool {
    Path::new("/usr/bin").join(program).exists()
}

/// Whether a keyring can be tried here. Where everything must be shown, it can: `tests/setup.sh` brings what is needed.
fn can_be_tried() -> bool {
    let can = NEEDED.iter().all(|program| has(program));
    let must = std::env::var_os("CI").is_some();
    assert!(
        can || !must,
        "a program is missing: `tests/setup.sh` says which"
    );
    can
}

/// A desktop: a bus, and a keyring on it that is open.
struct Desktop<'a> {
    station: &'a Station,
    address: String,
    bus: Child,
    keyring: Option<Child>,
}

impl<'a> Desktop<'a> {
    fn without_keyring(station: &'a Station) -> Self {
        let place = station.state().join("bus");
        let config = station.write(
            "bus.conf",
            BUS.replace("PATH", &place.display().to_string()),
        );
        let mut bus = Command::new("dbus-daemon");
        bus.arg("--config-file")
            .arg(config)
            .args(["--nofork", "--print-address"]);
        let mut bus = station
            .settle(&mut bus)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // It says where it listens once it does.
        let mut address = String::new();
        let mut said = BufReader::new(bus.stdout.take().unwrap());
        said.read_line(&mut address).unwrap();
        Self {
            station,
            address: address.trim().to_owned(),
            bus,
            keyring: None,
        }
    }

    fn open(station: &'a Station) -> Self {
        let mut desktop = Self::without_keyring(station);
        let mut keyring = Command::new("gnome-keyring-daemon");
        keyring.args(["--foreground", "--unlock", "--components=secrets"]);
        let keyring = desktop.settle(&mut keyring).stdin(Stdio::piped());
        let mut keyring = keyring
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        keyring.stdin.take().unwrap().write_all(b"pass").unwrap();
        desktop.keyring = Some(keyring);
        until("the keyring comes up", || {
            desktop.asks("secret-tool", &["search", "program", "nobody"])
        });
        desktop
    }

    fn settle<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let command = self.station.settle(command);
        command
            .env("DBUS_SESSION_BUS_ADDRESS", &self.address)
            .env("XDG_RUNTIME_DIR", self.station.state())
    }

    fn asks(&self, program: &str, arguments: &[&str]) -> bool {
        let mut command = Command::new(program);
        let command = self.settle(command.args(arguments));
        command
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .unwrap()
            .success()
    }

    fn lock(&self) {
        let service = "org.freedesktop.Secret.Service.Lock";
        let login = "array:objpath:/org/freedesktop/secrets/collection/login";
        let to = [
            "--dest=org.freedesktop.secrets",
            "/org/freedesktop/secrets",
            service,
            login,
        ];
        assert!(self.asks(
            "dbus-send",
            &[&["--session", "--print-reply"], &to[..]].concat()
        ));
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.with_input(arguments, "")
    }

    fn with_input(&self, arguments: &[&str], input: &str) -> Ended {
        let mut command = self.station.command(arguments);
        let mut child = self
            .settle(&mut command)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        // Whoever refuses at once reads nothing.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        self.station.wait(child).never(CANARY)
    }
}

impl Drop for Desktop<'_> {
    fn drop(&mut self) {
        for child in self.keyring.iter_mut().chain([&mut self.bus]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn without_a_session_nothing_is_kept_and_that_is_said() {
    let station = station();
    let kept = station.run_with_input(&["secret", "set", "github"], CANARY.as_bytes());
    let why = match has("secret-tool") {
        true => "there is no session bus",
        false => "`secret-tool`, which is not installed",
    };
    kept.ends(3).never(CANARY).says(&[
        "error: the keyring of this desktop cannot be used: ",
        why,
        "hint: keep secrets in a file: write `[vault]` with `backend = \"file\"`",
    ]);
    // Nothing is listed that is not there, and so nothing stands in the way of other work.
    station
        .run(&["secret", "list", "--json"])
        .ends(0)
        .never("github");
    station
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(0);
}

#[test]
fn a_bus_without_a_keyring_is_said() {
    let station = station();
    if !can_be_tried() {
        let kept = station.run_with_input(&["secret", "set", "github"], CANARY.as_bytes());
        kept.ends(3)
            .says(&["the keyring of this desktop cannot be used"]);
        return;
    }
    let desktop = Desktop::without_keyring(&station);
    let kept = desktop.with_input(&["secret", "set", "github"], CANARY);
    kept.ends(3)
        .says(&["nobody keeps secrets on the session bus"]);
}

#[test]
fn what_the_desktop_keeps_is_used_and_recognised() {
    let station = station();
    if !can_be_tried() {
        let kept = station.run_with_input(&["secret", "set", "github"], CANARY.as_bytes());
        kept.ends(3)
            .says(&["the keyring of this desktop cannot be used"]);
        return;
    }
    let desktop = Desktop::open(&station);
    let kept = desktop
        .with_input(&["secret", "set", "github"], CANARY)
        .ends(0);
    kept.prints(&["kept `github` (desktop)"]);
    let listed = desktop.run(&["secret", "list", "--json"]).ends(0).json();
    assert!(
        listed.to_string().contains(r#""backend":"desktop""#),
        "{listed}"
    );
    // Its value is known: whoever says it is not heard.
    let args = format!("{{\"text\":\"{CANARY}\"}}");
    desktop.run(&["call", "text.count", &args]).ends(0);
    desktop
        .run(&["runs", "show", "last"])
        .ends(0)
        .prints(&["[REDACTED]"]);
    desktop.lock();
    let ended = desktop
        .run(&["call", "text.count", r#"{"text":"a"}"#])
        .ends(3);
    ended.says(&["the secret `github` cannot be read", "it is locked"]);
    desktop
        .run(&["secret", "remove", "github"])
        .ends(3)
        .says(&["it is locked"]);
    let said = desktop
        .with_input(&["secret", "set", "other"], CANARY)
        .ends(3);
    said.says(&["it is locked", "hint: unlock it"]);
    let listed = desktop.run(&["secret", "list", "--json"]);
    assert!(!listed.out.contains("other"), "{listed}");
}
