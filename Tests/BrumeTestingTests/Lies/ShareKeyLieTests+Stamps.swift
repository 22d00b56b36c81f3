import BrumeTesting
import CloudKit
import Testing

/// A server that shows stamps otherwise than they are, of what has come into a share with a record above it.
extension ShareKeyLieTests {
    /// Ada's device moves a record into the share, and encrypts nothing anew of what is below it. Another one of hers
    /// has seen none of that.
    private func laptop(after share: LiedShare) async throws -> TestDevice {
        let ada = share.ada
        let records = ["moved", "below", "apart"].map { CKRecord(recordType: "Item", recordID: share.id($0, for: ada)) }
        for record in records { record.encryptedValues["text"] = "secret \(record.recordID.recordName)" }
        records[1].setParent(records[0])
        _ = try await ada.privateCloudDatabase.modifyRecords(saving: records, deleting: [])
        try await share.server.lie(.listsForReencryption([]), to: ada)
        records[0].setParent(share.id("root", for: ada))
        try await ada.privateCloudDatabase.save(records[0])
        #expect(try await ada.privateCloudDatabase.reencryptRecords(in: records[0].recordID.zoneID).count == 0)
        try await share.isRead("moved", by: share.bob)
        try await share.isClosed("below", by: share.bob)
        let laptop = try share.server.device(of: "ada")
        try await ada.letIn(laptop)
        return laptop
    }

    /// Lies about the stamp of a record.
    private func lies(_ id: CKRecord.ID, _ others: CKRecord.ID...) -> [ServerLie] {
        let flipped = [0, 1, 2, 18, 22, 30, 62].map { ServerLie.flipsByte($0, ofStampOf: id) }
        return flipped + [.removesStamp(of: id)] + others.map { .showsStamp(of: $0, on: id) }
    }

    private func codeOfSave(_ record: CKRecord, by device: TestDevice) async -> CKError.Code? {
        await failure { try await device.privateCloudDatabase.save(record) }?.code
    }

    @Test("encrypt nothing below a record with another stamp than its own, or with none, until it has its own")
    func movedStamp() async throws {
        try await LiedShare.run(.record) { share in
            let laptop = try await laptop(after: share)
            let (moved, below) = (share.id("moved", for: laptop), share.id("below", for: laptop))
            let before = try await share.server.dump(of: "ada", showing: .changeTags)
            let lies = lies(moved, below, share.id("item", for: laptop))
            // One is told to the device that has moved the record.
            let devices = try [share.ada] + lies.dropFirst().map { _ in try laptop.relaunched() }
            for (lie, device) in zip(lies, devices) {
                let rule = try await share.server.lie(lie, to: device)
                for name in ["moved", "below"] { try await share.isRead(name, by: device) }
                let seen = try await share.fetched("below", by: device)
                seen.encryptedValues["text"] = "secret, too"
                #expect(await codeOfSave(seen, by: device) == .accountTemporarilyUnavailable, "\(lie)")
                let new = CKRecord(recordType: "Item", recordID: share.id("new", for: device))
                new.encryptedValues["text"] = "secret new"
                new.setParent(below)
                #expect(await codeOfSave(new, by: device) == .accountTemporarilyUnavailable, "\(lie)")
                let apart = try await share.fetched("apart", by: device)
                apart.encryptedValues["text"] = "secret, too"
                apart.setParent(moved)
                #expect(await codeOfSave(apart, by: device) == .accountTemporarilyUnavailable, "\(lie)")
                if device !== share.ada {
                    let done = try await device.privateCloudDatabase.reencryptRecords(in: moved.zoneID)
                    #expect(done.failures.mapValues(\.code) == [below: .accountTemporarilyUnavailable], "\(lie)")
                }
                rule.remove()
            }
            #expect(try await share.server.dump(of: "ada", showing: .changeTags) == before, "nothing is saved")
            try await isReencrypted(share, by: try laptop.relaunched())
        }
    }

    @Test("encrypt nothing of what an app moves below a record without its stamp, until it has its own")
    func moving() async throws {
        try await LiedShare.run(.record) { share in
            let laptop = try await laptop(after: share)
            let (moved, apart) = (share.id("moved", for: laptop), share.id("apart", for: laptop))
            let lie = try await share.server.lie(.removesStamp(of: moved), to: laptop)
            let seen = try await share.fetched("apart", by: laptop)
            seen.setParent(moved)
            try await laptop.privateCloudDatabase.save(seen)
            try await share.isRead("apart", by: laptop)
            try await share.isClosed("apart", by: share.bob)
            let done = try await laptop.privateCloudDatabase.reencryptRecords(in: moved.zoneID)
            #expect(done.failures[apart]?.code == .accountTemporarilyUnavailable)
            try await share.isClosed("apart", by: share.bob)
            lie.remove()
            let truth = try await laptop.privateCloudDatabase.reencryptRecords(in: moved.zoneID)
            #expect(truth.count == 2 && truth.failures.isEmpty)
            try await share.isRead("apart", by: share.bob)
            try await share.isWhole(["root", "item", "moved", "below", "apart"], by: [laptop, share.ada, share.bob])
        }
    }

    @Test("encrypt no record anew with another stamp than its own, or with none, until it has its own")
    func ownStamp() async throws {
        try await LiedShare.run(.record) { share in
            let laptop = try await laptop(after: share)
            let (moved, below) = (share.id("moved", for: laptop), share.id("below", for: laptop))
            let before = try await share.server.dump(of: "ada", showing: .changeTags)
            for lie in lies(below, moved, share.id("item", for: laptop)) {
                let device = try laptop.relaunched()
                let rule = try await share.server.lie(lie, to: device)
                let done = try await device.privateCloudDatabase.reencryptRecords(in: moved.zoneID)
                #expect(done.failures.mapValues(\.code) == [below: .accountTemporarilyUnavailable], "\(lie)")
                for name in ["moved", "below"] { try await share.isRead(name, by: device) }
                rule.remove()
            }
            #expect(try await share.server.dump(of: "ada", showing: .changeTags) == before, "nothing is saved")
            try await isReencrypted(share, by: try laptop.relaunched())
        }
    }

    /// With the truth all is encrypted anew, and everybody reads all.
    private func isReencrypted(_ share: LiedShare, by device: TestDevice) async throws {
        let done = try await device.privateCloudDatabase.reencryptRecords(in: share.zoneID(for: device))
        #expect(done.count == 1 && done.failures.isEmpty)
        try await share.isWhole(["root", "item", "moved", "below"], by: [device, share.ada, share.bob])
    }
}
