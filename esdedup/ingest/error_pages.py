"""Error pages, which a site shows instead of an article: robot checks, blocks, consent, sign-up.

A site serves the same few sentences under the addresses of different articles. Every method would
call them copies of one another, although the articles were never seen.

An error page differs from a short article about robots, cookies or subscriptions in that it speaks
to its reader about the reader's own browser, address or account, and of nothing else. Hence three
conditions: the text is short, it has two different marks of such speech, and most of its words are
in sentences with a mark. A teaser followed by an offer to subscribe stays an article.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from esdedup.text.sentences import split

# Characters, some 250 words. The longest error pages seen, sign-up forms with rules for passwords,
# have 1,200.
_LONGEST = 1_500
_MARKS_NEEDED = 2
_MOST = 0.5

# Kind of page -> marks. A mark is a pattern, preceded by strings of which one must be in the text:
# they save most of the time. A mark counts once however often it matches; variants of one statement
# and its translations are one mark.
_MARKS: dict[str, tuple[tuple[str, str], ...]] = {
    "a check for robots": (
        (
            "robot",
            r"\b(?:not|no|nicht|kein|pas|nie|non|não|niet)\b[^.!?]{0,30}\brobot"
            r"|\brobot\s+(?:değil|olmadı)|\bare you a robot",
        ),
        ("human", r"\byou(?:'re|’re| are) (?:a )?human|\bare you (?:a )?human"),
        (
            " ip |ip-a|ip a|ip:",
            r"\b(?:your|ihre|votre|tu|su|uw) ip\b|\bip[ -]?(?:address|adresse)\b|\bip adresin"
            r"|\b(?:adresse|dirección|indirizzo|endereço|adres\w*) ip\b",
        ),
        (" ip|ip:|ray id", r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"),
        (
            "unusual|suspicious|automated|gewöhnlich|inhabituel|inusual|połączeń|trafik",
            r"\b(?:unusual|suspicious|automated) (?:traffic|activity|requests|queries)"
            r"|ungewöhnliche\w* (?:aktivität|datenverkehr|anfragen)"
            r"|(?:trafic|activité) inhabituel|(?:tráfico|actividad) inusual"
            r"|(?:ilość|liczbę) połączeń|olağan ?dışı trafik",
        ),
        (
            "too many requests|checking your|ddos|ray id|captcha|security check",
            r"\btoo many requests\b|\bchecking your browser\b|\bddos protection\b|\bray id\b"
            r"|\bcomplete the security check|\bcaptcha\b",
        ),
    ),
    "a refusal of access": (
        (
            "denied|blocked|verweigert|gesperrt|refusé|bloqué|interdit|deneg|negado|negato"
            "|geweigerd|engellen|zabroni|zablok|запрещ|ограничен|заблок",
            r"\baccess (?:to this (?:page|site|resource) )?(?:has been |is |was )?"
            r"(?:denied|blocked)|zugriff (?:wurde )?(?:verweigert|gesperrt)"
            r"|accès (?:refusé|bloqué|interdit)|acceso (?:denegado|bloqueado)"
            r"|acesso (?:negado|bloqueado)|accesso negato|toegang geweigerd"
            r"|erişim(?:iniz)? engellen|dostęp (?:zabroniony|zablokowany)"
            r"|доступ (?:запрещ|ограничен|заблокирован)",
        ),
        (
            "permission|berechtigung|autorisation|permiso",
            r"\byou (?:don't|don’t|do not) have permission|\bkeine berechtigung"
            r"|\bn'avez pas (?:la permission|l'autorisation)|\bno tienes? permiso",
        ),
        ("403|401|1020", r"\b40[13] ?-? ?(?:forbidden|error)|\berror (?:code )?(?:403|1020)\b"),
    ),
    "a page that is gone": (
        (
            "not found|be found|no longer|nicht gefunden|introuvable|trouvée|no encontrada"
            "|no existe|trovata|gevonden|bulunamadı|znaleziono|istnieje",
            r"\b(?:page|article|story|content)\b[^.!?]{0,60}"
            r"(?:not found|cannot be found|could not be found|no longer (?:exist|available))"
            r"|seite[^.!?]{0,40}nicht gefunden|page (?:introuvable|non trouvée)"
            r"|página no (?:encontrada|existe)|pagina (?:non trovata|niet gevonden)"
            r"|sayfa bulunamadı|nie znaleziono strony|strona nie istnieje",
        ),
        ("404", r"\b404\b[^.!?]{0,20}(?:error|not found)|\b(?:error|fehler|erreur|hata) 404\b"),
        (
            "to the home|to our home|the url|the address|zur startseite|accueil|volver a|sayfaya",
            r"\b(?:check|verify) the (?:url|address)|\b(?:return|go back) to (?:the|our) home"
            r"|zur startseite|retour à l'accueil|volver a (?:la página de )?inicio"
            r"|ana ?sayfaya dön",
        ),
    ),
    "a block by region": (
        (
            "unavailable|not available|blocked|restricted|ihrem land|disponible|dans votre",
            r"\b(?:unavailable|not available|blocked|restricted)[^.!?]{0,40}(?:your (?:region"
            r"|country|location)|europe|european (?:union|economic area|countries))"
            r"|in ihrem land nicht verfügbar|no (?:está )?disponible en (?:su|tu) (?:país|región)"
            r"|pas (?:disponible|accessible) dans votre (?:pays|région)",
        ),
        ("legal reasons", r"\bunavailable (?:due to|for) legal reasons"),
        (
            "gdpr|dsgvo|rgpd|data protection",
            r"\b(?:gdpr|dsgvo|rgpd|general data protection regulation)\b",
        ),
        ("attempting", r"\byou are attempting to access this (?:website|site)"),
    ),
    "a request for cookies, scripts or consent": (
        (
            "cookie|javascript|java script|enable js",
            r"\b(?:enable|allow|accept|activate) (?:java ?script|js|cookies)"
            r"|(?:java ?script|cookies?)[^.!?]{0,30}(?:disabled|enabled|turned off|deaktiviert"
            r"|aktivier|désactivé|activé|activad|habilitad|etkinleştir|włącz)"
            r"|(?:aktivieren sie|activer|activez|habilit\w+|włącz\w*)[^.!?]{0,25}"
            r"(?:java ?script|cookies?)",
        ),
        (
            "cookie|çerez",
            r"\b(?:we|our (?:web)?site|this (?:web)?site|wir|unsere[rn]? (?:web)?(?:site|seite)"
            r"|diese (?:web)?(?:site|seite)|nous|ce site|nuestr\w+|este (?:sitio|site)"
            r"|utilizamos|usamos|używamy|ta strona|questo sito|deze (?:web)?site|wij)\b"
            r"[^.!?]{0,80}\bcookies?\b|\b(?:sitemiz|bu site)\w*[^.!?]{0,60}\bçerez",
        ),
        (
            "adblock|ad block|ad-block|werbeblocker|bloqueur|reklam engel",
            r"\bad[ -]?block(?:er|ing)?s?\b|\bwerbeblocker\b|\bbloqueur de publicité"
            r"|\breklam engelle",
        ),
        (
            "browser|navigateur|navegador|tarayıcınız|przeglądar",
            r"\b(?:your|ihre[nmrs]?|votre|tu|su) (?:browser|navigateur|navegador)\b"
            r"|\btarayıcınız|\b(?:twoj\w+|swojej) przeglądar",
        ),
        (
            "privacy policy|datenschutz|confidentialité|política|gizlilik|prywatności",
            r"\bprivacy policy|\bdatenschutz(?:erklärung|hinweis)|\bpolitique de confidentialité"
            r"|\bpolítica de (?:privacidad|cookies)|\bgizlilik politika|\bpolity\w+ prywatności",
        ),
    ),
    "a form to register or subscribe": (
        (
            "registered |already reg|already a |already have|bereits |déjà abonné|suscriptor"
            "|masz już|zaten ",
            r"\bregistered (?:users|readers)\b|\balready (?:registered|a (?:member|subscriber)"
            r"|have an account)|\bbereits (?:abonnent|registriert|kunde)|\bdéjà abonné"
            r"|\bya (?:eres|soy) suscriptor|\bmasz już konto|\bzaten (?:abone|üye)",
        ),
        (
            "enter your|fill in your|your account",
            r"\b(?:enter|fill in) your (?:details|e-?mail|name|password)|\byour account\b",
        ),
        (
            "free trial|trial request|probeabo|kostenlos testen|prueba gratuita|essai gratuit"
            "|ücretsiz dene",
            r"\bfree trial\b|\btrial request\b|\bprobeabo\b|\bkostenlos testen"
            r"|\bprueba gratuita|\bessai gratuit|\bücretsiz dene",
        ),
        (
            "password|passwort|mot de passe|contraseña|şifremi|hasła",
            r"\bpasswords?\b[^.!?]{0,60}(?:at least|characters)|\bforgot(?:ten)? (?:your )?passw"
            r"|\bpasswort vergessen|\bmot de passe oublié|\bolvid\w+ (?:su|tu|la) contraseña"
            r"|\bşifremi unuttum|\bnie pamiętam hasła",
        ),
        ("first name", r"\be-?mail address\b[^.!?]{0,40}\bfirst name\b|\bfirst name last name\b"),
        (
            "log in|sign in|subscribe|einloggen|anmelden|connectez|sesión|zaloguj",
            r"\b(?:log|sign) in to (?:continue|read|your)|\bsubscribe (?:now )?to (?:continue"
            r"|read)|\b(?:einloggen|anmelden), um|\bconnectez-vous pour|\binici[ae] sesión para"
            r"|\bzaloguj się,? aby",
        ),
    ),
}
_PATTERNS = [
    (kind, tuple(letters.split("|")), re.compile(pattern, re.IGNORECASE))
    for kind, marks in _MARKS.items()
    for letters, pattern in marks
]
_LETTERS = sorted({some for _, letters, _ in _PATTERNS for some in letters})


def find_error_page(text: str) -> str | None:
    """The kind of error page that this text is; None if it may be an article."""
    if len(text) > _LONGEST:
        return None
    found = list(_marks(text))
    if len(found) < _MARKS_NEEDED:
        return None
    sentences = split([text])
    places = np.sort([place for _, several in found for place in several])
    before, upto = np.searchsorted(places, [sentences.starts, sentences.ends])
    if sentences.words[upto > before].sum() <= _MOST * sentences.words.sum():
        return None
    return Counter(kind for kind, _ in found).most_common(1)[0][0]


def _marks(text: str) -> Iterator[tuple[str, list[int]]]:
    """The kind of each mark in the text, and the places where it begins."""
    folded = text.lower()
    if not any(map(folded.__contains__, _LETTERS)):  # nearly always
        return
    for kind, letters, pattern in _PATTERNS:
        if any(some in folded for some in letters):
            places = [match.start() for match in pattern.finditer(text)]
            if places:
                yield kind, places
