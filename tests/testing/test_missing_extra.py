"""Without hypothesis, the kit names the extra that installs it."""

import subprocess
import sys

CODE = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "hypothesis":
            raise ModuleNotFoundError(f"No module named {name!r}", name="hypothesis")
sys.meta_path.insert(0, Missing())
try:
    from dpkit.testing import check_plugin
except ImportError as error:
    print(type(error).__name__, error)
"""


def test_the_kit_names_its_extra():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=60, check=True)
    wanted = "MissingExtraError The conformance kit needs hypothesis, which is not installed: pip install 'dpkit[testing]'."
    assert done.stdout.strip() == wanted
