/// What other indexes say of the records that the index of a sort key leads to: those that are not in it do not match.
///
/// Gathered first, at some nanoseconds an entry. So of a sorted query with a condition on another field the records of
/// the page are read, and not all that match, nor all that stand in front of the page's last.
struct OrdinalFilter {
    let set: OrdinalSet
    /// What is to be gathered: streams and ranges of indexes. The last one first.
    var sources: [ZoneScan.Source]

    var isGathered: Bool { sources.isEmpty }
}
