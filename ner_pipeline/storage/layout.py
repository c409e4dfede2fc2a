"""Where everything lies under RESULTS: the one list of key names.

entities/document_set=KEY/entities.parquet     outcomes/document_set=KEY/outcomes.parquet
documents/document_set=KEY/VERSION.parquet     quarantine/document_set=KEY/quarantine.parquet
manifests/document_set=KEY.json                reports/document_set=KEY/report.html
work/document_set=KEY/VERSION-MODEL/shards/…   results that stand, whichever run computed them
work/document_set=KEY/runs/RUN/…               staged tables of one run, and what its ops told each other
work/document_set=KEY/handover/ASSET.json      what an asset told the next one
state/inbox-N.json                             state/sets/KEY.json      state/progress/KEY.json
state/dead-letters/ID                          messages of the event queue that nobody understands
"""

from __future__ import annotations

from dataclasses import dataclass

from ner_pipeline.storage.locations import S3Location

__all__ = ["Layout", "SetLayout"]


@dataclass(frozen=True, slots=True)
class SetLayout:
    """The places of one document set."""

    results: S3Location
    key: str

    def _of(self, folder: str) -> S3Location:
        return self.results / f"{folder}/document_set={self.key}"

    @property
    def entities(self) -> S3Location:
        """The published entities."""
        return self._of("entities") / "/entities.parquet"

    @property
    def outcomes(self) -> S3Location:
        """The published outcomes."""
        return self._of("outcomes") / "/outcomes.parquet"

    @property
    def quarantine(self) -> S3Location:
        """The spans that broke a rule."""
        return self._of("quarantine") / "/quarantine.parquet"

    @property
    def manifest(self) -> S3Location:
        """What is current; written last."""
        return self._of("manifests") / ".json"

    @property
    def report(self) -> S3Location:
        """The page for people."""
        return self._of("reports") / "/report.html"

    @property
    def all_documents(self) -> S3Location:
        """The folder with one table of texts for each set version that is still needed."""
        return self._of("documents") / "/"

    def documents(self, version: str) -> S3Location:
        """The texts of one set version."""
        return self.all_documents / f"{version}.parquet"

    @property
    def all_work(self) -> S3Location:
        """The folder with everything that is needed only until publication."""
        return self._of("work") / "/"

    def work(self, version: str, model_version: str) -> S3Location:
        """The folder with the shards of one computation: this set version with this model version."""
        return self.all_work / f"{version}-{model_version}/"

    def run(self, run_id: str) -> S3Location:
        """The folder of one run: what its ops tell each other, and the tables that it stages."""
        return self.all_work / f"runs/{run_id}/"

    @property
    def asset_handovers(self) -> S3Location:
        """The folder with what each asset last told the next one."""
        return self.all_work / "handover/"

    @property
    def description(self) -> S3Location:
        """Which set stands behind the key."""
        return self.results / f"state/sets/{self.key}.json"

    @property
    def progress(self) -> S3Location:
        """What the newest run of the set is doing."""
        return self.results / f"state/progress/{self.key}.json"


@dataclass(frozen=True, slots=True)
class Layout:
    """The places under one RESULTS folder."""

    results: S3Location

    def of_set(self, key: str) -> SetLayout:
        """The places of one document set."""
        return SetLayout(self.results, key)

    def inbox_state(self, tick: int) -> S3Location:
        """What the sensor knew after tick number `tick`."""
        return self.results / f"state/inbox-{tick}.json"

    def dead_letter(self, message_id: str) -> S3Location:
        """A message of the event queue that nobody understands, as it came."""
        return self.results / f"state/dead-letters/{message_id}"

    @property
    def manifests(self) -> S3Location:
        """The common beginning of all manifests."""
        return self.results / "manifests/document_set="

    @property
    def condition_probe(self) -> S3Location:
        """An empty object that shows whether the server honours conditional puts."""
        return self.results / "state/condition-probe"
