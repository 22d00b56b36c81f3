package import BrumeModel

/// Reads all snapshots of a folder once, in pieces, while a server goes on writing new ones.
///
/// A file that is replaced meanwhile is read as it was, or as it is: a snapshot does not change under its name. So what
/// looks damaged is read a second time from its beginning, under the name, before it counts.
package struct SnapshotSweep {
    /// The result of one piece.
    package struct Step {
        /// What it cost: bytes that were read, and something for each file.
        package var cost: UInt64 = 0
        /// Files that can't be relied on.
        package var findings: [Finding] = []
    }

    package struct Finding: Sendable {
        package let path: String
        package let error: StoreError

        /// Whether the file is the database's.
        package func concerns(_ database: DatabaseID, on disk: any Disk) -> Bool {
            SnapshotFormat.path(of: database, on: disk) == path
        }
    }

    private let disk: any Disk
    /// In reverse order: the last one is the next.
    private var paths: [String]
    private var current: (path: String, check: SnapshotCheck)?
    private var isSecondLook = false
    /// Files that were read whole and are sound.
    package private(set) var soundCount = 0

    package var isDone: Bool { paths.isEmpty && current == nil }

    package init(on disk: any Disk) throws(StoreError) {
        self.disk = disk
        paths = try SnapshotFormat.paths(on: disk).reversed()
    }

    /// Closes what is open. Nothing more is read then.
    package mutating func stop() {
        current?.check.close()
        current = nil
        paths = []
    }

    /// Continues to read for about so many bytes, at most a block more.
    package mutating func step(bytes limit: UInt64) -> Step {
        var step = Step()
        while !isDone, step.cost < limit {
            if current == nil { openNext(&step) } else { readOn(&step, bytes: limit - step.cost) }
        }
        return step
    }

    private mutating func openNext(_ step: inout Step) {
        let path = paths.removeLast()
        step.cost += StoreLimits.checkedFileBytesMin
        do throws(StoreError) {
            if let check = try SnapshotCheck(path, on: disk) { current = (path, check) }
        } catch {
            fail(path, error, &step)
        }
    }

    private mutating func readOn(_ step: inout Step, bytes: UInt64) {
        guard let path = current?.path, var check = current?.check else { return }
        let before = check.byteCount
        do throws(StoreError) {
            let (end, isBeyond) = before.addingReportingOverflow(bytes)
            try check.read(upTo: isBeyond ? .max : end)
            current = check.isDone ? nil : (path, check)
            if check.isDone {
                check.close()
                soundCount += 1
                isSecondLook = false
            }
        } catch {
            check.close()
            current = nil
            fail(path, error, &step)
        }
        step.cost += check.byteCount - before
    }

    private mutating func fail(_ path: String, _ error: StoreError, _ step: inout Step) {
        if isSecondLook {
            step.findings.append(Finding(path: path, error: error))
        } else {
            paths.append(path)
        }
        isSecondLook.toggle()
    }
}
