internal import BrumeStore

extension Verification {
    /// Verifies with a progress bar, of which assets are the most.
    init(
        of disk: any Disk, others: [OtherFile], title: String,
        exceptContentOf isKnown: KnownAssets = { _ in false }
    ) throws(DiskError) {
        let total = try AssetVerification.byteCount(on: disk)
        let reporter = ProgressReporter(title: title, total: Int(clamping: total), unit: "bytes")
        self = try Verification(of: disk, others: others, exceptContentOf: isKnown) { done in
            reporter.advance(to: Int(clamping: done))
        }
        reporter.finish()
    }
}

extension AssetVerification {
    /// For a line that counts records: nothing where there are no assets.
    var countText: String {
        if wholeCount == 0 { return "" }
        return ", \(CountText.text(wholeCount, "asset")) of \(ByteSize(bytes: Int(clamping: wholeByteCount)).rounded)"
    }

    /// A line for each asset that is missing or damaged.
    var problemLines: [String] {
        var lines = problems.map { problem in
            "asset:     \(problem.file) at \(problem.offset): \(problem.problem) (affects \(problem.affects))"
        }
        if furtherProblemCount > 0 { lines.append("           and \(furtherProblemCount) more") }
        return lines
    }

    /// As members of an answer in JSON.
    var members: [(String, JSONValue)] {
        [
            ("assets", .integer(Int64(wholeCount))), ("assetBytes", .integer(Int64(clamping: wholeByteCount))),
            ("assetsUnnamed", .integer(Int64(unnamedCount))),
            ("assetProblems", .integer(Int64(problems.count + furtherProblemCount))),
        ]
    }
}
