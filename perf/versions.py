"""Conditions on installed versions, as the files below ``baselines/`` write them."""

from collections.abc import Mapping
from typing import Annotated

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version
from pydantic import AfterValidator


def _specifiers(value: dict[str, str]) -> dict[str, str]:
    for specifier in value.values():
        try:
            SpecifierSet(specifier)
        except InvalidSpecifier as error:
            raise ValueError(f"expected a version specifier such as '>=9.19': {error}") from error
    return value


Versions = Annotated[dict[str, str], AfterValidator(_specifiers)]
"""Package name (or ``cudnn``) to version specifier; all must hold, and none means always."""


def hold(versions: Versions, installed: Mapping[str, str]) -> bool:
    """Whether all these packages are installed in such a version."""
    return all(
        name in installed and SpecifierSet(specifier).contains(Version(installed[name]), prereleases=True)
        for name, specifier in versions.items()
    )
