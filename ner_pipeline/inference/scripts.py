"""Which scripts a model reads, and whether a text is of another one.

A model that has learnt one script finds nothing in another, or nonsense, and does not tell. What becomes of
such a text, and in which language it is, is not decided here. Reads meta.json; no spaCy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any

import regex

from ner_pipeline.errors import ModelError
from ner_pipeline.inference.pipeline_files import PipelineFiles

__all__ = ["describe_mismatch", "foreign_script", "model_scripts"]

META_KEY = "ner_scripts"
"""Where a model's meta.json lists its scripts, by ISO 15924 code or by Unicode's name."""
FEW_LETTERS = 4
"""With fewer letters than this a text is of no script: `π = 3`, `5 кг` and `αβγ` are read in any language.
With as many, most of them foreign, the model can find nothing: in Chinese four letters are a sentence. It is
no reason for alarm that a text which the model does read names something foreign: most letters must be so."""
FIRST_LETTERS = 300
"""Where the samples hold few letters, so many of the whole text are looked at in their place."""
SAMPLES = 8
SAMPLE_CHARS = 250
"""A text that is longer than all samples together is looked at in so many places of so many characters."""

_TABLE = """
Adlm=Adlam Aghb=Caucasian_Albanian Ahom=Ahom Arab=Arabic Armi=Imperial_Aramaic Armn=Armenian
Avst=Avestan Bali=Balinese Bamu=Bamum Bass=Bassa_Vah Batk=Batak Beng=Bengali Bhks=Bhaiksuki
Bopo=Bopomofo Brah=Brahmi Bugi=Buginese Buhd=Buhid Cakm=Chakma Cans=Canadian_Aboriginal Cari=Carian
Cham=Cham Cher=Cherokee Chrs=Chorasmian Copt=Coptic Cpmn=Cypro_Minoan Cprt=Cypriot Cyrl=Cyrillic
Deva=Devanagari Diak=Dives_Akuru Dogr=Dogra Dsrt=Deseret Dupl=Duployan Egyp=Egyptian_Hieroglyphs
Elba=Elbasan Elym=Elymaic Ethi=Ethiopic Gara=Garay Geor=Georgian Glag=Glagolitic Gong=Gunjala_Gondi
Gonm=Masaram_Gondi Goth=Gothic Gran=Grantha Grek=Greek Gujr=Gujarati Gukh=Gurung_Khema Guru=Gurmukhi
Hang=Hangul Hani=Han Hano=Hanunoo Hatr=Hatran Hebr=Hebrew Hira=Hiragana Hluw=Anatolian_Hieroglyphs
Hmng=Pahawh_Hmong Hmnp=Nyiakeng_Puachue_Hmong Hung=Old_Hungarian Ital=Old_Italic Java=Javanese
Kali=Kayah_Li Kana=Katakana Kawi=Kawi Khar=Kharoshthi Khmr=Khmer Khoj=Khojki Kits=Khitan_Small_Script
Knda=Kannada Krai=Kirat_Rai Kthi=Kaithi Lana=Tai_Tham Laoo=Lao Latn=Latin Lepc=Lepcha Limb=Limbu
Lina=Linear_A Linb=Linear_B Lisu=Lisu Lyci=Lycian Lydi=Lydian Mahj=Mahajani Maka=Makasar Mand=Mandaic
Mani=Manichaean Marc=Marchen Medf=Medefaidrin Mend=Mende_Kikakui Merc=Meroitic_Cursive
Mero=Meroitic_Hieroglyphs Mlym=Malayalam Modi=Modi Mong=Mongolian Mroo=Mro Mtei=Meetei_Mayek
Mult=Multani Mymr=Myanmar Nagm=Nag_Mundari Nand=Nandinagari Narb=Old_North_Arabian Nbat=Nabataean
Newa=Newa Nkoo=Nko Nshu=Nushu Ogam=Ogham Olck=Ol_Chiki Onao=Ol_Onal Orkh=Old_Turkic Orya=Oriya
Osge=Osage Osma=Osmanya Ougr=Old_Uyghur Palm=Palmyrene Pauc=Pau_Cin_Hau Perm=Old_Permic Phag=Phags_Pa
Phli=Inscriptional_Pahlavi Phlp=Psalter_Pahlavi Phnx=Phoenician Plrd=Miao Prti=Inscriptional_Parthian
Rjng=Rejang Rohg=Hanifi_Rohingya Runr=Runic Samr=Samaritan Sarb=Old_South_Arabian Saur=Saurashtra
Shaw=Shavian Shrd=Sharada Sidd=Siddham Sind=Khudawadi Sinh=Sinhala Sogd=Sogdian Sogo=Old_Sogdian
Sora=Sora_Sompeng Soyo=Soyombo Sund=Sundanese Sunu=Sunuwar Sylo=Syloti_Nagri Syrc=Syriac Tagb=Tagbanwa
Takr=Takri Tale=Tai_Le Talu=New_Tai_Lue Taml=Tamil Tang=Tangut Tavt=Tai_Viet Telu=Telugu Tfng=Tifinagh
Tglg=Tagalog Thaa=Thaana Thai=Thai Tibt=Tibetan Tirh=Tirhuta Tnsa=Tangsa Todr=Todhri Toto=Toto
Tutg=Tulu_Tigalari Ugar=Ugaritic Vaii=Vai Vith=Vithkuqi Wara=Warang_Citi Wcho=Wancho Xpeo=Old_Persian
Xsux=Cuneiform Yezi=Yezidi Yiii=Yi Zanb=Zanabazar_Square
"""
_NAMES = dict(entry.split("=") for entry in _TABLE.split())
"""Every script that has letters, by its ISO 15924 code, as Unicode calls it."""

_MIXTURES = {"Hans": ["Hani"], "Hant": ["Hani"], "Jpan": ["Hani", "Hira", "Kana"], "Kore": ["Hang", "Hani"]}
"""Codes of ISO 15924 that stand for several scripts, or for a variant of one."""

_LANGUAGES = {
    "Latn": "af az ca cs da de dsb en es et eu fi fo fr ga gd hr hsb ht hu id is it la lb lg lij lt lv ms nb"
    " nl nn no pl pt ro sk sl sq sv tl tn tr vi yo",
    "Cyrl": "bg ky mk ru tt uk",
    "Grek": "el grc",
    "Arab": "ar fa ur",
    "Deva": "hi mr ne sa",
    "Ethi": "am ti",
    "Cyrl Latn": "sr",
    "Hang Hani": "ko",
    "Hani": "zh",
    "Hani Hira Kana": "ja",
    "Armn": "hy",
    "Beng": "bn",
    "Geor": "ka",
    "Gujr": "gu",
    "Hebr": "he",
    "Knda": "kn",
    "Mlym": "ml",
    "Sinh": "si",
    "Taml": "ta",
    "Telu": "te",
    "Thai": "th",
}
_SCRIPTS_OF = {
    language: tuple(scripts.split())
    for scripts, languages in _LANGUAGES.items()
    for language in languages.split()
}
"""The scripts of the languages that are written in known ones, by spaCy's code."""

_LETTER = regex.compile(r"\p{L}")


def model_scripts(pipeline: PipelineFiles) -> tuple[str, ...]:
    """Give the scripts that a model reads, as its meta.json lists them, else as its language is written.

    ISO 15924 codes, sorted; none where neither is known.
    """
    if META_KEY not in pipeline.meta:
        return _SCRIPTS_OF.get(str(pipeline.meta.get("lang")), ())
    listed = pipeline.meta[META_KEY]
    place = f"{pipeline.directory / 'meta.json'}: {META_KEY} is {listed!r}"
    if not isinstance(listed, list):
        raise ModelError(f'{place}; it must be a list of scripts such as ["Latn", "Cyrl"]')
    if unknown := [script for script in listed if _key(script) not in _CODES]:
        raise ModelError(
            f"{place}; no script is called {unknown}: give ISO 15924 codes such as Latn, or names like Latin"
        )
    return tuple(sorted({code for script in listed for code in _CODES[_key(script)]}))


def foreign_script(text: str, scripts: Sequence[str]) -> str:
    """Give the name of the script that most letters of `text` are of, if most are of none of `scripts`.

    Empty where most letters are of one of them, where the text has few, and where `scripts` is empty. What
    all scripts share counts for none: digits, marks, punctuation. Of a long text a few places are looked at,
    always the same, or its first letters where those hold few.
    """
    if not scripts:
        return ""
    sample = _sample(text)
    # Nearly all texts end here, for a tenth of what it takes to count their letters.
    if len(sample) == len(text) and {"", *scripts}.issuperset(map(_script_of, set(sample))):
        return ""
    counts = _count_scripts(sample)
    if counts.total() < FEW_LETTERS:
        counts = _count_scripts(match[0] for match in islice(_LETTER.finditer(text), FIRST_LETTERS))
    foreign = {script: count for script, count in sorted(counts.items()) if script not in scripts}
    if counts.total() < FEW_LETTERS or 2 * sum(foreign.values()) <= counts.total():
        return ""
    return _name(max(foreign, key=foreign.__getitem__))


def describe_mismatch(foreign: str, scripts: Sequence[str]) -> str:
    """Say what `foreign_script` has found, for the person who uploaded the text."""
    return f"most letters are {foreign}; the model reads {', '.join(map(_name, scripts))}"


def _count_scripts(characters: Iterable[str]) -> Counter[str]:
    """Count the letters of each script; those that several share are left out."""
    counts: Counter[str] = Counter()
    for character, count in Counter(characters).items():
        counts[_script_of(character)] += count
    del counts[""]
    return counts


def _sample(text: str) -> str:
    if len(text) <= SAMPLES * SAMPLE_CHARS:
        return text
    step = (len(text) - SAMPLE_CHARS) / (SAMPLES - 1)
    starts = [int(step * number) for number in range(SAMPLES)]
    return "".join(text[start : start + SAMPLE_CHARS] for start in starts)


@lru_cache(maxsize=2**16)
def _script_of(character: str) -> str:
    """Give the code of the script of a letter; empty for one that several share, and for any other sign."""
    if not _LETTER.match(character):
        return ""
    return next((code for code, pattern in _patterns().items() if pattern.match(character)), "")


@cache
def _patterns() -> dict[str, regex.Pattern[str]]:
    """Give a pattern for the letters of each script. Made at first need: that takes a moment."""
    return {code: regex.compile(rf"\p{{Script={code}}}") for code in _NAMES}


def _name(code: str) -> str:
    return _NAMES.get(code, code).replace("_", " ")


def _key(script: Any) -> str:
    """Fold what is but a manner of writing: `Old Italic`, `old_italic`."""
    return str(script).casefold().replace("_", " ").replace("-", " ").strip()


_CODES = {_key(code): [code] for code in _NAMES}
_CODES |= {_key(name): [code] for code, name in _NAMES.items()}
_CODES |= {_key(code): scripts for code, scripts in _MIXTURES.items()}
