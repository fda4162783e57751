//! Sessions by name: the runs of one user that share context.

use std::fmt;

use super::error::{Error, Result};
use super::id::shown;
use super::limits::SESSION_NAME_CHARS;

/// Whose session, and which.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Session {
    user: String,
    name: String,
}

/// The user of whoever names none: the person at this machine.
pub const LOCAL: &str = "local";

impl Session {
    /// The session called `name` of a user.
    ///
    /// # Errors
    /// `BadInput` for what cannot be a name. Other systems have names such as `telegram:4711` and `ann@example.org`.
    pub fn of(user: &str, name: &str) -> Result<Self> {
        check("user", user)?;
        check("session", name)?;
        Ok(Self {
            user: user.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Whose it is.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Its name among theirs.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// What a user is known by who has names for calls of their own; nothing for the person at this machine.
#[must_use]
pub fn client_of(user: &str) -> String {
    match user {
        LOCAL => String::new(),
        user => format!("user {user}"),
    }
}

impl fmt::Display for Session {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "session `{}`", self.name)?;
        if self.user == LOCAL {
            Ok(())
        } else {
            write!(out, " of `{}`", self.user)
        }
    }
}

fn check(what: &str, name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '@');
    let begins = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if begins && name.len() <= SESSION_NAME_CHARS && name.chars().all(fits) {
        return Ok(());
    }
    let what = format!("`{}` is no name of a {what}", shown(name));
    Err(Error::bad_input(what).hint(format!(
        "names have letters, digits and `.` `_` `-` `:` `@`, begin with a letter or digit, and have at most \
         {SESSION_NAME_CHARS} characters"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_systems_are_names() {
        for good in [
            "a",
            "telegram:4711",
            "ann@example.org",
            "3f2504e0-4f89-11d3",
            "Work.2",
        ] {
            assert!(Session::of(LOCAL, good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-a",
            "a b",
            "a/b",
            "../a",
            "é",
            "a\u{1b}[2J",
            &"a".repeat(129),
        ] {
            let error = Session::of(LOCAL, bad).unwrap_err();
            assert!(!error.message().contains('\u{1b}'));
            assert!(Session::of(bad, "a").is_err(), "{bad}");
        }
        let of = |user| Session::of(user, "a").unwrap().to_string();
        assert_eq!(
            (of(LOCAL), of("ann")),
            ("session `a`".into(), "session `a` of `ann`".into())
        );
    }
}
