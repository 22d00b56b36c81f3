/// A filter for the records to which the index of a sort key leads, made from other indexes: those that are not in it
/// do not match.
///
/// It is gathered first, at some nanoseconds an entry. So a sorted query with a condition on another field reads the
/// records of the page, and neither all that match nor all that come before the page's last.
struct OrdinalFilter {
    let set: OrdinalSet
    /// What is to be gathered: streams and ranges of indexes. The last one first.
    var sources: [ZoneScan.Source]

    var isGathered: Bool { sources.isEmpty }
}
