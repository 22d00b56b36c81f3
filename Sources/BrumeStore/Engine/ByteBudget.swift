internal import BrumeModel

/// What the records of one request may take, in its answer and in its commit.
///
/// A small request can name many large records: its answer has to fit into a frame all the same, because what the client can't
/// read it can't get by asking again either, and its commit into memory. An item that finds no room fails by itself.
struct ByteBudget: Sendable {
    /// The rest of a frame is for what stands beside the records: errors, lengths and nesting.
    var answer = Database.completedPageBytes
    var commit = Limits.commitBytes

    /// False, and nothing is taken, when there is no room.
    mutating func takeAnswer(_ count: Int) -> Bool {
        if count > answer { return false }
        answer -= count
        return true
    }

    mutating func takeCommit(_ count: Int) -> Bool {
        if count > commit { return false }
        commit -= count
        return true
    }
}
