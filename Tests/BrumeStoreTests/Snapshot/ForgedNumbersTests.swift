import BrumeModel

import Testing

@testable import BrumeStore

/// Files whose checksums hold, and whose numbers no server has made: damage, whoever reads them first.
@Suite("Numbers that no server makes")
struct ForgedNumbersTests {
    /// The same capture, as of another commit.
    private static func forged(_ capture: DatabaseCapture, sequence: UInt64) -> DatabaseCapture {
        DatabaseCapture(
            id: capture.id, sequence: sequence, zones: capture.zones, zoneFeedFloor: capture.zoneFeedFloor,
            runs: capture.runs, subscriptions: capture.subscriptions, operations: capture.operations,
            participantOperations: capture.participantOperations, formerSubscribers: capture.formerSubscribers,
            sharedZones: capture.sharedZones, statements: capture.statements,
            rings: capture.rings, quotaBytes: capture.quotaBytes)
    }

    @Test(
        "a snapshot of a commit that positions have no room for is damage to a check, a verification and a start",
        arguments: [1 << 43, (1 << 44) - 1, 1 << 44, 1 << 45, .max] as [UInt64])
    func sequence(sequence: UInt64) throws {
        let folder = try Folder()
        try folder.makeZone()
        try folder.save("a")
        let disk = folder.disk
        try SnapshotWriter.write(Self.forged(folder.desk.database.capture(), sequence: sequence), to: disk)
        let path = SnapshotFormat.path(of: Desk.privateID, on: disk)
        #expect(try Verification(of: disk).problems.map(\.file) == [path])
        #expect(throws: StoreError.self) { try SnapshotCheck.run(path, on: disk) }
        #expect(throws: StoreError.self) { try SnapshotReader.load(Desk.privateID, epoch: 7, from: disk) }
        #expect(throws: StoreError.self) { try Folder(on: disk) }
    }

    @Test("a snapshot of the last commit that a server would make is read, and the next one is made")
    func lastSequence() throws {
        let folder = try Folder()
        try folder.makeZone()
        let last = StoreLimits.commitSequenceLimit - 1
        try SnapshotWriter.write(Self.forged(folder.desk.database.capture(), sequence: last), to: folder.disk)
        let loaded = try #require(try SnapshotReader.load(Desk.privateID, epoch: 7, from: folder.disk))
        let desk = Desk(loaded, caller: folder.desk.caller)
        try desk.save("next")
        #expect(desk.database.sequence == last + 1)
        #expect(ChangePosition.end(ofSequence: desk.database.sequence) > .start)
    }

    /// What a loader of a snapshot of commit 5 says to a header, and then to a block.
    private static func problem(
        header: (inout SnapshotHeader) -> Void = { _ in }, block: SnapshotBlock = SnapshotBlock()
    ) -> String? {
        let loader = DatabaseLoader(id: Desk.privateID, epoch: 7, sequence: 5)
        var content = SnapshotHeader(database: Desk.privateID, sequence: 5)
        header(&content)
        if let problem = loader.add(content) { return problem }
        var bytes: [UInt8] = []
        StoreCoder.encodeSnapshotBlock(block, into: &bytes)
        return bytes.withUnsafeBytes { loader.add(content: $0) }
    }

    private static func zone(
        _ incarnation: UInt64, lastChange: UInt64, floor: UInt64 = 0, earlier: UInt64? = nil
    ) -> SnapshotBlock {
        var block = SnapshotBlock()
        block.zones = [
            SnapshotZone(
                zone: incarnation, name: "one", lastChange: ChangePosition(rawValue: lastChange),
                floor: ChangePosition(rawValue: floor), clientTokens: [],
                earlierDeletion: earlier.map {
                    EarlierDeletion(position: ChangePosition(rawValue: $0), reason: .deleted)
                })
        ]
        return block
    }

    @Test("positions and runs behind the snapshot's commit, or before what they follow on, are damage")
    func positions() {
        let (second, behind) = (UInt64(2) << 20, UInt64(6) << 20)
        #expect(Self.problem(block: Self.zone(second, lastChange: second)) == nil)
        #expect(Self.problem(block: Self.zone(second, lastChange: behind)) != nil)
        #expect(Self.problem(block: Self.zone(behind, lastChange: second)) != nil)
        #expect(Self.problem(block: Self.zone(.max, lastChange: second)) != nil)
        #expect(Self.problem(block: Self.zone(second, lastChange: second, floor: second + 1)) != nil)
        #expect(Self.problem(block: Self.zone(second, lastChange: second, earlier: second)) != nil)
        #expect(Self.problem(header: { $0.zoneFeedFloor = ChangePosition(rawValue: behind) }) != nil)
        #expect(Self.problem(header: { $0.formerSubscriberFloor = 6 }) != nil)
        #expect(Self.problem(header: { $0.runs = [DatabaseRun(firstSequence: .max, id: 1)] }) != nil)
        for position in [0, behind, .max] {
            var block = SnapshotBlock()
            block.deletedZones = [
                SnapshotDeletedZone(position: ChangePosition(rawValue: position), name: "gone", reason: .deleted)
            ]
            #expect(Self.problem(block: block) != nil)
        }
        for position in [behind, .max] {
            var block = Self.zone(second, lastChange: second)
            block.tombstones = [
                SnapshotTombstone(
                    zone: second, position: ChangePosition(rawValue: position), name: "gone", type: "Note")
            ]
            #expect(Self.problem(block: block) != nil)
        }
    }

    @Test("a journal's segment or batch with a number that has no next one is damage")
    func journalNumbers() {
        let forged: [(number: UInt64, batch: UInt64)] = [
            (1, 0), (1, .max), (0, 1), (.max, 1), (1 << 62, 1), (1, 1 << 62),
        ]
        for (number, batch) in forged {
            let bytes = SegmentHeader(number: number, firstBatch: batch, salt: 9, previousCRC: 0).encoded
            #expect(throws: StoreError.self, "\(number) \(batch)") {
                try SegmentHeader(decoding: bytes, file: "file", number: number)
            }
        }
        #expect(throws: StoreError.self) {
            try JournalExtent(
                decoding: JournalExtent(oldestSegment: 1, newestSegment: 1 << 62, lastSyncedBatch: 0).encoded)
        }
    }
}
