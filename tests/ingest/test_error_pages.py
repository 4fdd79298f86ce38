"""Pages shown instead of an article, in the words of the services that show them; and articles."""

from __future__ import annotations

import pytest

from esdedup.ingest.error_pages import find_error_page
from esdedup.ingest.sign import Signed, prepare
from esdedup.model import Document, Failure
from esdedup.settings import Settings

ROBOTS = "a check for robots"
REFUSED = "a refusal of access"
GONE = "a page that is gone"
REGION = "a block by region"
COOKIES = "a request for cookies, scripts or consent"
FORM = "a form to register or subscribe"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "To continue, please click the box below to let us know you're not a robot. We have "
            "detected unusual activity from your computer network. Ray ID: 4f1.",
            ROBOTS,
        ),
        (
            "Checking your browser before accessing the site. DDoS protection by Example. "
            "Your IP: 192.0.2.17",
            ROBOTS,
        ),
        (
            "Unser System hat ungewöhnliche Aktivität bemerkt. Ihre IP-Adresse: 192.0.2.17. "
            "Bestätigen Sie, dass Sie kein Robot sind.",
            ROBOTS,
        ),
        (
            "Trafic inhabituel détecté. Votre adresse IP est 192.0.2.17. Prouvez que vous n'êtes "
            "pas un robot.",
            ROBOTS,
        ),
        (
            "Access Denied. You don't have permission to access this page on this server.",
            REFUSED,
        ),
        ("Acceso denegado. No tiene permiso para ver esta página. Error 403.", REFUSED),
        (
            "404 - Page not found. The page you were looking for could not be found. Please "
            "check the URL or return to the home page.",
            GONE,
        ),
        ("Fehler 404. Diese Seite wurde leider nicht gefunden. Hier geht es zur Startseite.", GONE),
        (
            "451: Unavailable due to legal reasons. We recognize you are attempting to access "
            "this website from a country in the European Economic Area, including the EU, which "
            "enforces the General Data Protection Regulation (GDPR), and access cannot be granted "
            "at this time.",
            REGION,
        ),
        (
            "Unfortunately, our website is currently unavailable in most European countries. We "
            "are engaged on the issue and committed to looking at options. Access to this site is "
            "blocked because of the GDPR.",
            REGION,
        ),
        ("Please enable JS and disable any ad blocker. This site uses cookies.", COOKIES),
        (
            "OK Wir verwenden auf unserer Webseite Cookies, um das Angebot zu verbessern. Mehr "
            "dazu in unserer Datenschutzerklärung.",
            COOKIES,
        ),
        (
            "Sitemizde size daha iyi hizmet verebilmek için çerezler kullanılmaktadır. Ayrıntılar "
            "gizlilik politikamızda. Tarayıcınızın ayarlarını değiştirebilirsiniz.",
            COOKIES,
        ),
        (
            "Oil to outperform. Registered users can read three reports, so enter your details "
            "below. The password must be at least 8 characters long. Email address First Name "
            "Last Name Organisation Job Title Telephone City",
            FORM,
        ),
    ],
)
def test_error_pages(text: str, what: str) -> None:
    assert find_error_page(text) == what


LONG = "The council of Brackwater met on Tuesday and spoke about the harbour for four hours. "


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Access denied.",  # one mark alone may be a headline
        # News about robots, addresses, cookies and passwords.
        "Google said it would replace the captcha with a box saying that the visitor is not a "
        "robot. The change reaches all sites in March. Rivals plan the same. Researchers at the "
        "university of Norvale had shown how programs read the old pictures.",
        "The regulator fined the firm under the GDPR. It had kept the IP address of every visitor "
        "for years. The fine is the largest so far. The firm will appeal, a lawyer said in a "
        "statement on Tuesday evening.",
        # A teaser, and then the offer.
        LONG * 2 + "Already a subscriber? Sign in to continue. Start your free trial.",
        LONG * 3 + "We use cookies on this website. See our privacy policy.",
        # Long enough to be read as what it is.
        "Your browser has no cookies. Enable JavaScript, and see our privacy policy. " * 25,
    ],
)
def test_articles(text: str) -> None:
    assert find_error_page(text) is None


def test_an_error_page_is_a_failure_with_its_reason() -> None:
    text = "Access denied. You do not have permission to access this page."
    document = Document(id="a", title="Ferry burns off Brackwater", text=text)
    (refused,) = prepare([document], Settings())
    assert isinstance(refused, Failure)
    assert refused.reason.startswith("this is no article but a refusal of access")
    assert refused.document == document
    (taken,) = prepare([document], Settings(refuse_notices=False))
    assert isinstance(taken, Signed)
