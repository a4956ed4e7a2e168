from pathlib import Path

import pytest

import gigatcp


def test_verdicts_are_objects_with_cause_evidence_cost_and_fix(capture: Path) -> None:
    analysis = gigatcp.analyze(capture)
    (connection,) = analysis.connections
    first = connection.verdicts[0]
    assert 0 < first.confidence <= 1
    assert first.evidence and first.finding
    assert first.cost_bps >= 0
    spans = sum(length for _, length, _ in connection.spans)
    assert spans == connection.duration_ns
    assert connection.sentence in str(analysis)


def test_answer_of_a_connection_has_fields_of_why_json(capture: Path) -> None:
    (connection,) = gigatcp.analyze(capture).connections
    # Fewer than ten packets with data passed.
    assert connection.outcome == "too-short"
    assert "achieved" in connection.could_be
    assert all(0 <= share <= 1 for _, share in connection.shares)
    if connection.unsure:
        assert connection.fix is None and connection.gain is None
    else:
        assert connection.cause in {verdict.cause for verdict in connection.verdicts}
        assert connection.evidence


def test_bytes_are_read_as_files_are(capture: Path) -> None:
    by_path = gigatcp.analyze(str(capture)).connections[0]
    in_memory = gigatcp.analyze(capture.read_bytes()).connections[0]
    assert in_memory.sentence == by_path.sentence


def test_packets_and_samples_are_tables(capture: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    analysis = gigatcp.analyze(capture)
    packets = pyarrow.table(analysis.packets())
    assert packets.num_rows == analysis.packet_count
    assert packets["frame"].to_pylist() == list(range(1, packets.num_rows + 1))
    data = sum(
        length
        for length, side in zip(packets["len_bytes"].to_pylist(), packets["from"].to_pylist())
        if side == "client"
    )
    assert data >= analysis.connections[0].delivered_bytes > 0
    samples = pyarrow.table(analysis.samples())
    assert 0 < samples.num_rows < packets.num_rows
    assert samples["rtt_ns"].null_count == 0
    assert packets.schema.field("rtt_ns").metadata[b"unit"] == b"ns"


def test_a_file_that_is_no_capture_is_named(tmp_path: Path) -> None:
    file = tmp_path / "no.pcap"
    file.write_text("nothing")
    with pytest.raises(gigatcp.Error, match="no.pcap"):
        gigatcp.analyze(file)
    with pytest.raises(gigatcp.Error, match="missing.pcap: No such file"):
        gigatcp.analyze(tmp_path / "missing.pcap")


def test_a_notebook_shows_answers_evidence_and_tables(capture: Path) -> None:
    analysis = gigatcp.analyze(capture)
    connection = analysis.connections[0]
    shown = analysis._repr_html_()
    assert connection.sender in shown and shown.startswith("<table>")
    assert "<th>evidence</th>" in connection._repr_html_()
    packets = analysis.packets()
    assert packets._repr_html_().count("<tr>") == 1 + min(10, len(packets))
