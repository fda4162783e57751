//! Certificates: a server that cannot show who it is hears no request, and nothing switches that off.

use std::error::Error as Cause;

use rustls::CertificateError;

use crate::rules::fetch::reason::Reason;
use crate::words::error::Error;
use crate::words::id::shown;

/// What is wrong with a certificate, where this failure of the TLS library is about one; in words, none of them the server's.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the list of faults is open, and not ours"
)]
pub(super) fn fault(error: &(dyn Cause + 'static)) -> Option<&'static str> {
    let fault = match error.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(fault) => fault,
        rustls::Error::NoCertificatesPresented => return Some("there is none"),
        _ => return None,
    };
    Some(match fault {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "by the clock of this machine it has expired"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "by the clock of this machine it is not valid yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another name"
        }
        CertificateError::Revoked => "it was revoked",
        // Also one that the server has given itself, and one of an authority that may not vouch for this name.
        _ => "nobody vouches for it whom this system trusts with that",
    })
}

/// The refusal of whoever showed it.
pub(super) fn refused(error: &reqwest::Error, fault: &str) -> Error {
    let host = error.url().and_then(|url| url.host_str());
    let host = host.unwrap_or("the server");
    let what = format!("the certificate of {} is not trusted: {fault}", shown(host));
    Reason::CertificateNotTrusted.error(&what)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::edges::egress::below;

    /// As the HTTP library hands it on: as an error of input or output, within another one.
    #[test]
    fn a_fault_is_found_below_errors_of_input_and_output() {
        let found = |error: rustls::Error| {
            let error = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, error));
            let mut cause: Option<&(dyn Cause + 'static)> = Some(&error);
            while let Some(one) = cause {
                if let Some(fault) = fault(one) {
                    return Some(fault);
                }
                cause = below(one);
            }
            None
        };
        for (error, says) in [
            (CertificateError::Expired, "expired"),
            (CertificateError::NotValidYet, "not valid yet"),
            (CertificateError::NotValidForName, "another name"),
            (CertificateError::Revoked, "revoked"),
            (CertificateError::UnknownIssuer, "nobody vouches"),
            (CertificateError::BadEncoding, "nobody vouches"),
        ] {
            let found = found(rustls::Error::InvalidCertificate(error));
            assert!(
                found.is_some_and(|fault| fault.contains(says)),
                "{says}: {found:?}"
            );
        }
        let none = found(rustls::Error::NoCertificatesPresented);
        assert_eq!(none, Some("there is none"));
        assert_eq!(found(rustls::Error::DecryptError), None);
    }
}
