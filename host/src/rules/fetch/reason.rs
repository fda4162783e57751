//! Reasons for which a request to the outside is refused: a closed list, one word each.
//!
//! The word stands in the journal: as the rule of a denial where the gate said no, and at the end of the
//! message where the egress edge did, after the permit.

use crate::rules::deny;
use crate::rules::secret::{CODING, PART};
use crate::words::error::{Code, Error};
use crate::words::event::Denial;

/// Why a request to the outside is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is no request, or one that could be read in two ways.
    Malformed,
    /// No line is about the host and the port.
    HostNotGranted,
    /// A line is about the host, and not about the path.
    PathNotGranted,
    /// A line is about the place, and not with this method.
    MethodNotGranted,
    /// The address is not on the public internet, and no line says `private = true`.
    PrivateAddress,
    /// The address is one where clouds have metadata services, which no line opens.
    MetadataAddress,
    /// The name leads nowhere.
    NoSuchHost,
    /// The server's certificate is none that this system trusts: nothing was sent.
    CertificateNotTrusted,
    /// The answer is a part of one, where a secret may go.
    Part,
    /// The answer is in letters, or packed, as no secret is known, where one may go.
    Coding,
    /// There were as many requests in the last minute as there may be.
    Rate,
    /// Request or answer is bigger than it may be.
    TooBig,
}

impl Reason {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::HostNotGranted => "host_not_granted",
            Self::PathNotGranted => "path_not_granted",
            Self::MethodNotGranted => "method_not_granted",
            Self::PrivateAddress => "private_address",
            Self::MetadataAddress => "metadata_address",
            Self::NoSuchHost => "no_such_host",
            Self::CertificateNotTrusted => "certificate_not_trusted",
            Self::Part => PART,
            Self::Coding => CODING,
            Self::Rate => "rate",
            Self::TooBig => "too_big",
        }
    }

    /// A refusal by the edge, as the journal keeps it. Where a name was looked up, guests are told one and the same
    /// thing whatever was found: the answer must not be a map of the inner network.
    #[must_use]
    pub fn error(self, what: &str) -> Error {
        let code = match self {
            Self::Malformed => Code::BadInput,
            Self::HostNotGranted
            | Self::PathNotGranted
            | Self::MethodNotGranted
            | Self::PrivateAddress
            | Self::MetadataAddress
            | Self::CertificateNotTrusted
            | Self::Part
            | Self::Coding => Code::Denied,
            Self::NoSuchHost => Code::FetchFailed,
            Self::Rate => Code::OverBudget,
            Self::TooBig => Code::TooBig,
        };
        let error = Error::new(code, format!("{what} ({})", self.word()));
        match self {
            Self::PrivateAddress | Self::MetadataAddress | Self::NoSuchHost => {
                error.but_told(Error::new(Code::Denied, NOWHERE))
            }
            Self::Rate => error.retry(true),
            Self::CertificateNotTrusted => error.hint(TRUSTED),
            Self::Malformed
            | Self::HostNotGranted
            | Self::PathNotGranted
            | Self::MethodNotGranted
            | Self::Part
            | Self::Coding
            | Self::TooBig => error,
        }
    }

    /// The denial of what was to be a request and is none, for this error.
    #[must_use]
    pub fn unfit(error: &Error) -> Denial {
        let reason = if error.code() == Code::TooBig {
            Self::TooBig
        } else {
            Self::Malformed
        };
        deny(reason.word(), error.message())
    }
}

/// What a guest is told of a name that leads nowhere, or where it may not go.
const NOWHERE: &str = "the host's name leads to no address that may be reached: there is none, \
                       or it is not on the public internet";

/// What whoever has the server, or this system, can do about a certificate.
const TRUSTED: &str = "nothing switches this off: give the server a certificate that is valid for its name, or let this system \
                       trust who vouches for it: in its store of certificates, or in a file that `SSL_CERT_FILE` names";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_is_refused_for_one_of_the_reasons() {
        for (error, rule) in [
            (Error::bad_input("`GE` is no method"), "malformed"),
            (Error::too_big("the URL", 1, 2), "too_big"),
        ] {
            let denial = Reason::unfit(&error);
            assert_eq!(
                (denial.rule.as_str(), denial.reason.as_str()),
                (rule, error.message())
            );
        }
    }

    /// The next attempt would meet the same certificate.
    #[test]
    fn a_certificate_is_refused_once_with_what_can_be_done() {
        let error = Reason::CertificateNotTrusted.error("no");
        assert!(
            !error.is_retryable() && error.hints() == [TRUSTED],
            "{error:?}"
        );
        assert_eq!(error.for_guests().message(), "no (certificate_not_trusted)");
    }

    #[test]
    fn guests_cannot_tell_a_private_address_from_none() {
        let after_a_look_up = [
            Reason::PrivateAddress,
            Reason::MetadataAddress,
            Reason::NoSuchHost,
        ];
        let told = after_a_look_up.map(|reason| {
            let error = reason.error("10.0.0.1");
            assert!(
                error.message().ends_with(&format!("({})", reason.word())),
                "{error}"
            );
            let told = error.for_guests();
            assert!(told.hints().is_empty() && told.issue_list().is_empty());
            (told.code(), told.message().to_owned(), told.is_retryable())
        });
        assert!(told.iter().all(|one| one == &told[0]), "{told:?}");
        assert!(!told[0].1.contains("10.0.0.1"));
    }
}
