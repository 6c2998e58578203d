"""A Dagster asset check: what was published meets its requirement; if not, nothing downstream runs."""

from pathlib import Path

from dagster import AssetCheckResult, AssetChecksDefinition, asset_check

import reissue as ri


def release_check(asset: str, release: Path, schema: Path, requirement: str = "k=5") -> AssetChecksDefinition:
    """A blocking check of the asset that writes a release."""

    @asset_check(asset=asset, blocking=True)
    def meets_requirement() -> AssetCheckResult:
        outcome = ri.check(release, schema, requirement)
        return AssetCheckResult(passed=outcome.met, metadata={"rows": outcome.rows, "groups": outcome.groups})

    return meets_requirement
