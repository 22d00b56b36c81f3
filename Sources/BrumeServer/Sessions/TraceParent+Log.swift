internal import BrumeProtocol

extension TraceParent {
    /// What a line about the call has of its trace.
    var logFields: [(String, String)] { [("trace", traceID), ("parent", parentID)] }
}
