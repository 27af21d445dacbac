# SPDX-License-Identifier: GPL-2.0-only
"""scripts/report.py: its page, looked at in headless Chromium."""
import pathlib
import re
import sys

import pytest
from script_process import run_script

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/report.py"
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import run_directory  # noqa: E402
from clustersim.results import open_runs  # noqa: E402
from clustersim.results.page.glance import glance_of, time_text  # noqa: E402
from headless_browser import CHROMIUM, Browser  # noqa: E402

PHONE, DESKTOP = (390, 844), (1280, 900)


def report(*arguments):
    return run_script([SCRIPT, *map(str, arguments)])


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
    """Two runs, the second with half the bandwidth, a cut-off file and a name that HTML must escape."""
    base = tmp_path_factory.mktemp("report")
    fast = run_directory.write(base / "fast")
    slow = run_directory.write(base / "slow <b>&", status="stopped")
    (slow / "collectives.csv").write_text(run_directory.COLLECTIVES.replace("10.000000", "5.000000"))
    (slow / "fct.txt").write_text(run_directory.FCT[:-9])
    (slow / "EndToEnd.csv").write_text(run_directory.END_TO_END.replace(",400.000000\n", ",800.000000\n"))
    return fast, slow


@pytest.fixture(scope="module")
def page(directories, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    result = report(*directories, "-o", path)
    assert result.returncode == 0, result.stderr
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if not CHROMIUM:
        pytest.skip("chromium is not installed (scripts/setup.sh --develop)")
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def test_the_page_asks_for_nothing_but_itself(page, browser):
    browser.open(page, *DESKTOP)
    assert browser.requests() == [f"file://{page}"]
    # Nor has it anything that would: scripts, styles and pictures are in it.
    assert not re.search(r'(src|href|srcset)="(?!#|data:)', page.read_text())


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_page_fits_its_window_without_errors(page, browser, size, dark):
    browser.open(page, *size, dark=dark)
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.run("document.documentElement.scrollWidth") <= size[0]
    assert browser.errors() == []


def test_tables_show_all_their_columns_on_a_desktop(browser, tmp_path):
    """With names and numbers as long as they become, and a scroll bar beside the page."""
    topology = "AlibabaHPN_64g_8gps_DualToR_DualPlane_200Gbps_H100"
    runs = []
    for name in ("AlibabaHPN", "Clos-4to1"):
        inputs = [{"role": "workload", "path": "allToAll_EP64.txt", "sha256": ""},
                  {"role": "topology", "path": topology, "sha256": ""}]
        runs.append(run_directory.write(tmp_path / name, topology=topology, inputs=inputs, packets=800000,
                                        packet_hops=100_000_000_000, simulated_ns=1266318000.0,
                                        retransmitted_bytes=1048576))
        (runs[-1] / "topology").rename(runs[-1] / topology)
    assert report(*runs, "-o", tmp_path / "page.html").returncode == 0
    browser.open(tmp_path / "page.html", DESKTOP[0] - 15, DESKTOP[1])
    hidden = browser.run("""[...document.querySelectorAll('section .scroll')].filter(s => s.querySelector('table'))
        .map(s => s.scrollWidth - s.clientWidth)""")
    assert hidden and max(hidden) <= 0, hidden


def test_short_words_stay_in_a_line_on_a_phone(page, browser):
    """The tables scroll there: narrow columns would only make rows tall."""
    browser.open(page, *PHONE)
    broken = browser.run("""[...document.querySelectorAll('section td:not(:first-child)')]
        .filter(cell => cell.textContent.trim().length <= 20).filter(cell => {
            const text = document.createRange();
            text.selectNodeContents(cell);
            return text.getBoundingClientRect().height > 1.8 * parseFloat(getComputedStyle(cell).fontSize);
        }).map(cell => cell.textContent)""")
    assert broken == []


def test_the_check_for_errors_and_width_would_see_them(browser, tmp_path):
    """So that the test above can fail."""
    (tmp_path / "bad.html").write_text("<div style='width:2000px'>x</div><script>nothing()</script>")
    browser.open(tmp_path / "bad.html", *DESKTOP)
    assert browser.run("document.documentElement.scrollWidth") >= 2000
    assert "nothing is not defined" in str(browser.errors())


def test_colours_follow_the_reader(page, browser):
    """Text and plots have enough contrast on the paper of either theme (WCAG AA: 4.5 to 1)."""
    for dark in (False, True):
        browser.open(page, *DESKTOP, dark=dark)
        paper, ink, soft, plot = browser.run("""
            [getComputedStyle(document.documentElement).backgroundColor,
             getComputedStyle(document.querySelector('td')).color,
             getComputedStyle(document.querySelector('.note')).color,
             getComputedStyle(document.querySelector('figure svg text')).fill]""")
        assert (luminance(paper) < 0.1) == dark
        for colour in (ink, soft, plot):
            assert contrast(colour, paper) > 4.5


def luminance(colour):
    channels = [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, two):
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


COLUMN = """[...document.querySelectorAll('#utilisation tbody tr')].map(r => r.children[COLUMN].textContent)"""


def column(browser, number):
    return browser.run(COLUMN.replace("COLUMN", str(number)))


def click(browser, number):
    browser.run(f"document.querySelectorAll('#utilisation th button')[{number}].click()")


def test_a_click_on_a_head_sorts_numbers_and_words(page, browser):
    browser.open(page, *DESKTOP)
    heads = browser.run("[...document.querySelectorAll('#utilisation th')].map(h => h.innerText)")
    number = next(i for i, head in enumerate(heads) if head.startswith("max %"))
    click(browser, number)
    values = [float(text) for text in column(browser, number)]
    assert len(set(values)) > 2 and values == sorted(values, reverse=True)
    click(browser, number)
    assert [float(text) for text in column(browser, number)] == sorted(values)
    state = "document.querySelectorAll('#utilisation th')[%d].ariaSort" % number
    assert browser.run(state) == "ascending"
    click(browser, 1)
    words = column(browser, 1)
    assert words == sorted(words, key=str.lower)
    assert browser.run(state) == "none"


def test_warnings_parameters_and_names_are_shown(page, browser):
    browser.open(page, *DESKTOP)
    warnings = browser.run("document.querySelector('.warnings').innerText")
    assert "2 warnings" in warnings
    assert "the status of the run is 'stopped'" in warnings and "fct.txt:4: the file is cut off" in warnings
    assert "slow <b>&" in browser.run("document.body.innerText")
    assert "QLEN_MON_INTERVAL" in browser.run("document.querySelector('#parameters').textContent")
    assert browser.run("document.querySelectorAll('#plots svg').length") >= 4


def test_ids_are_unique_and_links_lead_to_them(page, browser):
    browser.open(page, *DESKTOP)
    twice, dead = browser.run("""(() => {
        const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
        return [ids.filter((id, i) => ids.indexOf(id) < i),
                [...document.querySelectorAll('nav a')].map(a => a.getAttribute('href').slice(1))
                    .filter(id => !ids.includes(id))];
    })()""")
    assert twice == [] and dead == []


def test_the_same_runs_give_the_same_page(directories, page, tmp_path):
    report(*directories, "-o", tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_the_first_sentence_says_which_run_is_fastest(directories):
    glance = glance_of(open_runs(directories))
    assert glance.sentences[0] == ("fast is fastest with 400 \u00b5s; slow <b>& takes 2.00 times as long.")
    fast, slow = glance.bars
    # Of the longest time, 800 us: computation 260, TP 40 and DP 100 make up the 400 us.
    assert [(part.name, part.percent) for part in fast.parts] == [
        ("computation", 32.5), ("exposed TP", 5), ("exposed DP", 12.5)]
    assert [(part.name, part.percent) for part in slow.parts][-1] == ("other", 50)
    assert slow.relative == "2.00 x"


def test_times_have_the_unit_that_suits_them():
    assert [time_text(us) for us in (0.5, 12.3456, 2746.588, 9.1e6)] == [
        "500 ns", "12.35 \u00b5s", "2.747 ms", "9.1 s"]


def test_flows_without_collectives_make_a_page_too(tmp_path):
    (tmp_path / "fct.txt").write_text(run_directory.FCT)
    result = report(tmp_path)
    assert result.returncode == 0, result.stderr
    text = (tmp_path / "report.html").read_text()
    assert "4 flows, the last done at" in text and "Slowdown of flows by size" in text


def test_many_runs_are_compared_in_plots_and_each_has_its_own_on_demand(tmp_path):
    runs = []
    for name in "abcde":
        (tmp_path / name).mkdir()
        (tmp_path / name / "fct.txt").write_text(run_directory.FCT)
        (tmp_path / name / "pfc.txt").write_text(run_directory.PFC)
        runs.append(tmp_path / name)

    def page(*arguments):
        result = report(*arguments, "-o", tmp_path / "page.html")
        assert result.returncode == 0, result.stderr
        return (tmp_path / "page.html").read_text()
    few, many, each = page(*runs[:4]), page(*runs), page(*runs, "--plots-of-each")
    compare = many.count("<figure>")
    assert compare > 0 and (few.count("<figure>"), each.count("<figure>")) == (compare + 4, compare + 5)
    assert ["Plots of single runs are left out" in text for text in (few, many, each)] == [False, True, False]


def test_a_directory_without_results_is_refused(tmp_path):
    result = report(tmp_path)
    assert result.returncode == 2 and "holds no results" in result.stderr
    assert not list(tmp_path.iterdir())
